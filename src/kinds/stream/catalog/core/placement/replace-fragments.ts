/**
 * New workers for fragments of a query that is in the catalog. Its plan stays, and so do the
 * fragments that have a worker: only links and slots of the topology decide. Rules: SC22, SC23.
 */
import { stagesOf } from "../../../run/core/index.ts";
import type { FragmentToPlace, Topology } from "../planner.ts";
import type { StoredPlan } from "../stored-plan.ts";
import { type AssignFragment, assignWorkers } from "./assign-workers.ts";
import { edgesOf } from "./place-query.ts";
import { reachOf } from "./reach.ts";
import { WorkerSet } from "./worker-set.ts";

export type Replacement =
  | { readonly kind: "placed"; readonly fragments: readonly FragmentToPlace[] }
  /** For people. */
  | { readonly kind: "none"; readonly reason: string };

/**
 * Other workers for the fragments of workers that are lost. Those that are pinned stay where they
 * are, as do all that are elsewhere. `fragments` of the result are those that move.
 */
export function replaceFragments(
  stored: StoredPlan,
  fragments: readonly FragmentToPlace[],
  topology: Topology,
  lost: ReadonlySet<string>,
): Replacement {
  const moves = fragments.map((one) => one.is_pinned === 0 && lost.has(one.worker_id));
  const isGone = ({ workerId }: { readonly workerId: string }): boolean => lost.has(workerId);
  const result = assign(stored, fragments, topology, (at, takers) =>
    moves[at] === true ? without(takers, topology.workers, isGone) : undefined,
  );
  if (result.kind === "none") return result;
  return { ...result, fragments: result.fragments.filter((_, at) => moves[at] === true) };
}

/** Workers for all fragments of a query that holds no slots. Those that are pinned do not move. */
export function placeAgain(
  stored: StoredPlan,
  fragments: readonly FragmentToPlace[],
  topology: Topology,
): Replacement {
  return assign(stored, fragments, topology, (at, takers) => {
    const one = fragments[at];
    if (one?.is_pinned !== 1) return takers;
    const place = topology.workers.findIndex(({ workerId }) => workerId === one.worker_id);
    return takers.and(WorkerSet.of(topology.workers.length, place === -1 ? [] : [place]));
  });
}

/** `allowedOf`: where the fragment may go; `undefined`: it stays and has its slot already. */
function assign(
  stored: StoredPlan,
  fragments: readonly FragmentToPlace[],
  topology: Topology,
  allowedOf: (at: number, takers: WorkerSet) => WorkerSet | undefined,
): Replacement {
  const { workers } = topology;
  const size = workers.length;
  const takers = WorkerSet.of(
    size,
    [...workers.keys()].filter((place) => workers[place]?.takesFragments === true),
  );
  const places = new Map(workers.map(({ workerId }, place) => [workerId, place]));
  const stages = stagesOf(stored.plan);
  const stageOf = new Map(stored.fragments.map(({ name, stage }) => [name, stage]));
  const wanted = fragments.map(({ fragment, worker_id }, at): AssignFragment => {
    const stage = stageOf.get(fragment) ?? 0;
    const allowed = allowedOf(at, takers);
    if (allowed !== undefined) return { stage, allowed, needsSlot: true };
    const place = places.get(worker_id);
    return {
      stage,
      allowed: WorkerSet.of(size, place === undefined ? [] : [place]),
      needsSlot: false,
    };
  });
  const assigned = assignWorkers({
    slots: workers.map(({ slots, slotsUsed }) => slots - slotsUsed),
    fragments: wanted,
    edges: edgesOf(stages.map((stage) => ({ stage }))),
    reach: reachOf(topology),
  });
  if (assigned === undefined)
    return { kind: "none", reason: reasonOf(fragments, wanted, topology) };
  return {
    kind: "placed",
    fragments: fragments.map((one, at) => ({
      ...one,
      worker_id: workers[assigned[at] ?? 0]?.workerId ?? one.worker_id,
    })),
  };
}

function without(
  takers: WorkerSet,
  workers: Topology["workers"],
  isGone: (worker: Topology["workers"][number]) => boolean,
): WorkerSet {
  return WorkerSet.of(
    workers.length,
    [...takers].filter((place) => {
      const worker = workers[place];
      return worker !== undefined && !isGone(worker);
    }),
  );
}

function reasonOf(
  fragments: readonly FragmentToPlace[],
  wanted: readonly AssignFragment[],
  { workers }: Topology,
): string {
  const moving = fragments.filter((_, at) => wanted[at]?.needsSlot === true);
  for (const [at, { allowed, needsSlot }] of wanted.entries()) {
    if (!needsSlot || allowed.count > 0) continue;
    const { fragment, worker_id } = fragments[at] as FragmentToPlace;
    const worker = workers.find(({ workerId }) => workerId === worker_id);
    const why = worker?.reason ? ` (${worker_id}: ${worker.reason})` : "";
    return fragments[at]?.is_pinned === 1
      ? `the fragment ${fragment} runs on ${worker_id} only, which takes no fragments${why}`
      : `no other worker takes the fragment ${fragment}${why}`;
  }
  const open = WorkerSet.union(
    workers.length,
    wanted.filter(({ needsSlot }) => needsSlot).map(({ allowed }) => allowed),
  );
  const free = [...open].map((place) => {
    const { slots = 0, slotsUsed = 0 } = workers[place] ?? {};
    return slots - slotsUsed;
  });
  const all = free.reduce((sum, count) => sum + count, 0);
  if (all < moving.length) {
    return `${moving.length} stream slots are needed on other workers, and ${all} are free`;
  }
  return "no worker with free slots has links to and from the query's other fragments";
}
