/**
 * Secrets given in place are taken out of settings before anything is stored (SC9): the setting
 * then has a reference, `SECRET('owner/place')`, and the value is in `stream_secrets`, which nobody
 * watches and no request reads. What a worker is sent has the values again.
 */
import {
  namedSecretOf,
  type Plan,
  type PlanNode,
  type Settings,
  sinkDescriptors,
  sourceDescriptors,
} from "../../language/core/index.ts";

export interface Secret {
  readonly ownerId: string;
  /** Unique to the owner. */
  readonly place: string;
  readonly value: string;
}

export interface Hidden<Shown> {
  readonly shown: Shown;
  readonly secrets: readonly Secret[];
}

const reference = /^SECRET\('([^'/]+)\/([^']+)'\)$/;

interface SecretOwner {
  readonly id: string;
  readonly prefix?: string;
  /** Others whose references stay as they are: what the plan was made of. */
  readonly uses?: ReadonlySet<string>;
}

export function hideSecrets(
  kind: "source" | "sink",
  type: string,
  config: Settings,
  { id, prefix = "", uses }: SecretOwner,
): Hidden<Settings> {
  const secrets: Secret[] = [];
  const keys = secretKeys(kind, type);
  const shown = Object.entries(config).map(([key, value]): [string, Settings[string]] => {
    if (!keys.has(key.toUpperCase()) || namedSecretOf(value) !== undefined) return [key, value];
    // Any other text that looks like a reference is a value, and says nothing (SC55).
    const known = parseReference(value);
    if (known !== undefined && uses?.has(known.ownerId) === true) return [key, value];
    const place = `${prefix}${key}`;
    secrets.push({ ownerId: id, place, value: String(value) });
    return [key, `SECRET('${id}/${place}')`];
  });
  return { shown: Object.fromEntries(shown), secrets };
}

/** Settings that are the same whatever their secrets are. */
export function maskSecrets(kind: "source" | "sink", type: string, config: Settings): Settings {
  const keys = secretKeys(kind, type);
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [
      key,
      keys.has(key.toUpperCase()) ? `SECRET('/${key}')` : value,
    ]),
  );
}

/**
 * Hides those of a plan's sources and sinks, which then belong to the query, unless they are
 * references to secrets of the sources and sinks that it uses.
 */
export function hideSecretsOfPlan(
  plan: Plan,
  queryId: string,
  uses: ReadonlySet<string>,
): Hidden<Plan> {
  const secrets: Secret[] = [];
  const nodes = plan.nodes.map((node) =>
    withConfig(node, (kind, type, config) => {
      const owner = { id: queryId, prefix: `${node.id}.`, uses };
      const hidden = hideSecrets(kind, type, config, owner);
      secrets.push(...hidden.secrets);
      return hidden.shown;
    }),
  );
  return { shown: { ...plan, nodes }, secrets };
}

/** Puts the values in the place of their references, in secret settings only (SC55). */
export function revealSecretsOfPlan(
  plan: Plan,
  lookUp: (ownerId: string, place: string) => string | undefined,
): Plan {
  const nodes = plan.nodes.map((node) =>
    withConfig(node, (kind, type, config) => {
      const keys = secretKeys(kind, type);
      return Object.fromEntries(
        Object.entries(config).map(([key, value]) => {
          const { ownerId, place } = parseReference(value) ?? {};
          const isOne = ownerId !== undefined && place !== undefined;
          if (!isOne || !keys.has(key.toUpperCase())) return [key, value];
          return [key, lookUp(ownerId, place) ?? value];
        }),
      );
    }),
  );
  return { ...plan, nodes };
}

/** The owners of the secrets that a plan refers to. */
export function secretOwnersOf(plan: Plan): readonly string[] {
  const owners = new Set<string>();
  for (const { op } of plan.nodes) {
    if (op.kind !== "source" && op.kind !== "sink") continue;
    for (const value of Object.values(op.config)) {
      const { ownerId } = parseReference(value) ?? {};
      if (ownerId !== undefined) owners.add(ownerId);
    }
  }
  return [...owners];
}

/** A statement without the secrets that are written in it. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  return secrets.reduce(
    (shown, { value }) => (value === "" ? shown : shown.replaceAll(value, "***")),
    text,
  );
}

/** Settings that say what a source or sink is, and not how it is reached. */
export function withoutSecretSettings(
  kind: "source" | "sink",
  type: string,
  config: Settings,
): Settings {
  const keys = secretKeys(kind, type);
  return Object.fromEntries(Object.entries(config).filter(([key]) => !keys.has(key.toUpperCase())));
}

function secretKeys(kind: "source" | "sink", type: string): ReadonlySet<string> {
  const descriptors = kind === "source" ? sourceDescriptors : sinkDescriptors;
  const found = descriptors.find((each) => each.type.toUpperCase() === type.toUpperCase());
  const keys = (found?.settings ?? []).filter(({ secret }) => secret === true);
  return new Set(keys.map(({ key }) => key));
}

function parseReference(
  value: Settings[string] | undefined,
): { readonly ownerId: string; readonly place: string } | undefined {
  const [, ownerId, place] = typeof value === "string" ? (reference.exec(value) ?? []) : [];
  return ownerId === undefined || place === undefined ? undefined : { ownerId, place };
}

function withConfig(
  node: PlanNode,
  change: (kind: "source" | "sink", type: string, config: Settings) => Settings,
): PlanNode {
  const { op } = node;
  if (op.kind !== "source" && op.kind !== "sink") return node;
  return { ...node, op: { ...op, config: change(op.kind, op.type, op.config) } };
}
