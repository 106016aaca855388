/**
 * What a query begins with that is created FROM CHECKPOINT: the state of its operators and the
 * positions of its sources, if both plans keep the same state. Its sinks begin anew, but for those
 * of the query that it replaces, which go on where the checkpoint was taken. Pure. Rule: SC52.
 */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { keyGroupCount } from "../../engine/core/index.ts";
import type { Plan, PlanNode } from "../../language/core/index.ts";
import { checkManifest, type Manifest, type ManifestFragment } from "../../run/core/index.ts";
import { withoutSecretSettings } from "./secrets.ts";
import type { StoredPlan } from "./stored-plan.ts";

export interface StateToTake {
  readonly manifest: Manifest;
  /** Of the query that the checkpoint was taken of. */
  readonly from: Plan;
  readonly to: StoredPlan;
  /** The new query takes the place of that one. */
  readonly replaces: boolean;
  /** The checkpoint, for people. */
  readonly label: string;
}

/** Throws `conflict`, which says what differs. */
export function takeOverState({ manifest, from, to, replaces, label }: StateToTake): Manifest {
  const { planHash } = manifest;
  const { parallelism } = to.plan.settings;
  checkManifest(manifest, { planHash, parallelism, keyGroups: keyGroupCount });
  const difference = differenceOf(from, to.plan);
  if (difference !== undefined) throw refused(label, difference);
  const names = new Set(to.fragments.map(({ name }) => name));
  const same = manifest.fragments.filter(({ fragment }) => names.has(fragment));
  if (same.length !== manifest.fragments.length || same.length !== names.size) {
    const count = manifest.fragments.length;
    throw refused(label, `it is of ${count} fragments, and the query is cut into others`);
  }
  const kept = new Set(replaces ? sameSinks(from, to.plan) : []);
  const begunAnew = to.plan.nodes.flatMap(({ id, op }) =>
    op.kind === "sink" && !kept.has(`${id}`) ? [`${id}`] : [],
  );
  const fragments = manifest.fragments.map((each) => withoutPositions(each, begunAnew));
  return { ...manifest, fragments };
}

/** `undefined`: both plans keep the same state, whatever their sinks are. */
function differenceOf(from: Plan, to: Plan): string | undefined {
  if (from.version !== to.version) return "it was taken of a plan of another format";
  const at = to.nodes.findIndex((node, nth) => textOf(node) !== textOf(from.nodes[nth]));
  const node = to.nodes[at === -1 ? to.nodes.length : at] ?? from.nodes[to.nodes.length];
  if (node === undefined) return undefined;
  const { op } = node;
  const what = op.kind === "source" || op.kind === "sink" ? `${op.kind} ${op.name}` : op.kind;
  return `the queries differ in their step ${node.id}, ${what}`;
}

function textOf(node: PlanNode | undefined): string | undefined {
  if (node === undefined) return undefined;
  const { op } = node;
  if (op.kind === "sink") return textWithSortedKeys({ ...node, op: op.kind });
  if (op.kind !== "source") return textWithSortedKeys(node);
  const config = withoutSecretSettings("source", op.type, op.config);
  return textWithSortedKeys({ ...node, op: { ...op, config } });
}

/** A plan that was made from rows has its keys in another order than one of the same bundle. */
function textWithSortedKeys(value: object): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (each === null || typeof each !== "object" || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([one], [two]) => (one < two ? -1 : 1)));
  });
}

/** The sinks that are the same in both plans. */
function sameSinks(from: Plan, to: Plan): readonly string[] {
  const textOfSink = ({ op }: PlanNode): string =>
    op.kind === "sink"
      ? textWithSortedKeys({ ...op, config: withoutSecretSettings("sink", op.type, op.config) })
      : "";
  return to.nodes.flatMap((node, at) => {
    const other = from.nodes[at];
    const isSame = other !== undefined && textOfSink(node) === textOfSink(other);
    return node.op.kind === "sink" && isSame ? [`${node.id}`] : [];
  });
}

function withoutPositions(fragment: ManifestFragment, nodes: readonly string[]): ManifestFragment {
  const positions = Object.entries(fragment.positions).filter(([node]) => !nodes.includes(node));
  return { ...fragment, positions: Object.fromEntries(positions) };
}

function refused(label: string, why: string): OperatingError {
  const message = `${label} cannot be gone on from: ${why}`;
  const hint = "Its state fits a query of the same sources, expressions and parallelism only.";
  return new OperatingError("conflict", "never", message, { hint });
}
