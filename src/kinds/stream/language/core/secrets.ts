/**
 * Settings that are secret may be references, `SECRET('name')`: in a configuration they are texts
 * of this form, in whose place the worker puts what it finds by the name. References of the
 * catalog's own have a slash in the name, which no statement can write.
 */
import { sinkDescriptors } from "./connectors/sinks.ts";
import { sourceDescriptors } from "./connectors/sources.ts";
import type { Plan, PlanNode, Settings } from "./plan.ts";

/** What a secret may be called. */
export const secretName = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}$/;

export function secretReference(name: string): string {
  return `SECRET('${name}')`;
}

/** The name in a reference; `undefined` for any other value. */
export function namedSecretOf(value: Settings[string] | undefined): string | undefined {
  const name = typeof value === "string" ? /^SECRET\('([^']*)'\)$/.exec(value)?.[1] : undefined;
  return name !== undefined && secretName.test(name) ? name : undefined;
}

/** The names of the secrets that sources and sinks refer to, in settings that are secret. */
export function secretsOf({ nodes }: Pick<Plan, "nodes">): readonly string[] {
  const names: string[] = [];
  const note = (name: string): string => {
    names.push(name);
    return name;
  };
  for (const node of nodes) withSecrets(node, note);
  return [...new Set(names)];
}

/** The node with values in the place of references. */
export function withSecrets(node: PlanNode, find: (name: string) => string): PlanNode {
  const { op } = node;
  if (op.kind !== "source" && op.kind !== "sink") return node;
  const descriptors = op.kind === "source" ? sourceDescriptors : sinkDescriptors;
  const { settings = [] } = descriptors.find(({ type }) => type === op.type) ?? {};
  const secret = new Set(settings.flatMap((each) => (each.secret === true ? [each.key] : [])));
  const config = Object.entries(op.config).map(([key, value]): [string, Settings[string]] => {
    const name = secret.has(key) ? namedSecretOf(value) : undefined;
    return [key, name === undefined ? value : find(name)];
  });
  return { ...node, op: { ...op, config: Object.fromEntries(config) } };
}
