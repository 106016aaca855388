/** The manifests of deploy/kubernetes as data, and the ways to walk through them. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";

export const kubernetesDir: string = join(
  dirname(dirname(dirname(fileURLToPath(import.meta.url)))),
  "deploy",
  "kubernetes",
);

/** An object from YAML, not yet checked. */
export type Node = { readonly [key: string]: unknown };

export interface Manifest {
  /** Relative to `kubernetesDir`. */
  readonly file: string;
  readonly kind: string;
  readonly name: string;
  readonly body: Node;
}

export function readManifests(): readonly Manifest[] {
  return yamlFiles()
    .filter((file) => !file.endsWith("kustomization.yaml"))
    .flatMap((file) =>
      readDocuments(file).map((body) => ({
        file,
        kind: textAt(body, "kind"),
        name: textAt(body, "metadata", "name"),
        body,
      })),
    );
}

export function yamlFiles(): readonly string[] {
  return globSync("**/*.yaml", { cwd: kubernetesDir }).sort((a, b) => a.localeCompare(b));
}

/** `version`: kubectl reads YAML 1.1, where `on` is true and 010 is 8. */
export function readDocuments(file: string, version: "1.1" | "1.2" = "1.2"): readonly Node[] {
  const text = readFileSync(join(kubernetesDir, file), "utf8");
  return parseAllDocuments(text, { version, uniqueKeys: true }).map((document) => {
    const [error] = [...document.errors, ...document.warnings];
    if (error !== undefined) throw new Error(`${file}: ${error.message}`);
    return document.toJS() as Node;
  });
}

export function at(node: unknown, ...path: readonly (string | number)[]): unknown {
  let found = node;
  for (const key of path) found = (found as Node | undefined | null)?.[key];
  return found;
}

export function nodeAt(node: unknown, ...path: readonly (string | number)[]): Node {
  return (at(node, ...path) ?? {}) as Node;
}

export function listAt(node: unknown, ...path: readonly (string | number)[]): readonly Node[] {
  return (at(node, ...path) ?? []) as readonly Node[];
}

export function textAt(node: unknown, ...path: readonly (string | number)[]): string {
  const found = at(node, ...path);
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}

/** Every object inside `node`, including itself. */
export function* nodesWithin(node: unknown): Generator<Node> {
  if (typeof node !== "object" || node === null) return;
  if (!Array.isArray(node)) yield node as Node;
  for (const value of Object.values(node)) yield* nodesWithin(value);
}

export interface Workload {
  readonly manifest: Manifest;
  readonly labels: Node;
  readonly pod: Node;
  readonly containers: readonly Node[];
  readonly initContainers: readonly Node[];
}

export function workloadsOf(manifests: readonly Manifest[]): readonly Workload[] {
  return manifests
    .filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet")
    .map((manifest) => {
      const pod = nodeAt(manifest.body, "spec", "template", "spec");
      return {
        manifest,
        labels: nodeAt(manifest.body, "spec", "template", "metadata", "labels"),
        pod,
        containers: listAt(pod, "containers"),
        initContainers: listAt(pod, "initContainers"),
      };
    });
}

/**
 * A selector of labels, `matchLabels` and `In` (which is what is used here). An empty one matches
 * all.
 */
export function selects(selector: Node, labels: Node): boolean {
  const expressions = listAt(selector, "matchExpressions");
  return (
    Object.entries(nodeAt(selector, "matchLabels")).every(
      ([key, value]) => labels[key] === value,
    ) &&
    expressions.every((each) => {
      if (each.operator !== "In")
        throw new Error(`the operator ${each.operator} is not known here`);
      return (each.values as readonly unknown[]).includes(labels[textAt(each, "key")]);
    })
  );
}

/**
 * `args` as the container gets them, with `$(NAME)` replaced as Kubernetes does; a name that is not
 * set throws.
 */
export function expandArgs(container: Node, resolve: (name: string) => string): readonly string[] {
  const known = new Set(listAt(container, "env").map((each) => textAt(each, "name")));
  return ((container.args ?? []) as readonly string[]).map((arg) =>
    arg.replace(/\$\(([A-Z_]+)\)/g, (_, name: string) => {
      if (!known.has(name)) throw new Error(`${arg}: ${name} is not set`);
      return resolve(name);
    }),
  );
}
