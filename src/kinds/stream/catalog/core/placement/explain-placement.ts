/** Why a query cannot be placed, in the words of whoever wants it placed. */
import type { FragmentedPlan } from "../../../run/core/index.ts";
import type { Topology } from "../planner.ts";
import type { Pin, Pins } from "./pins.ts";
import { reachOf } from "./reach.ts";
import { WorkerSet } from "./worker-set.ts";

export interface PlacementFailure {
  readonly code:
    | "PlacementError"
    | "InsufficientCapacity"
    | "WorkerDoesNotExistForPhysical"
    | "WorkerDoesNotExistForSink";
  readonly message: string;
  readonly hint: string | undefined;
}

const namedMax = 10;

export function explainPlacement(
  { plan, fragments }: FragmentedPlan,
  pins: Pins,
  topology: Topology,
): PlacementFailure {
  const own = pins.of(plan.nodes);
  return (
    noTaker(own, topology) ??
    fragments
      .map(({ stage }) => apart(pins.of(stage.nodes), topology))
      .find((found) => found !== undefined) ??
    unreached(own, topology) ??
    noSlots(
      fragments.map(({ stage }) => pins.of(stage.nodes)),
      topology,
    ) ?? {
      code: "PlacementError",
      message: `no workers with free slots were found that the links connect as the ${fragments.length} fragments of the query need it`,
      hint: "SHOW WORKERS has the links and the free slots. Declare more links, or let sources and sinks run on any worker.",
    }
  );
}

function noTaker(own: readonly Pin[], { workers }: Topology): PlacementFailure | undefined {
  for (const { op, worker } of own) {
    const one = workers[worker];
    if (one === undefined || one.takesFragments) continue;
    return placementError(
      `the ${op.kind} ${op.name} is placed on ${one.workerId}, which takes no fragments: ${one.reason}`,
      undefined,
    );
  }
  if (workers.some(({ takesFragments }) => takesFragments)) return undefined;
  if (workers.length === 0) {
    return placementError("there is no worker", "Start one, or add one with CREATE WORKER.");
  }
  const reasons = workers.map(({ workerId, reason }) => `${workerId}: ${reason}`);
  return placementError(`no worker takes fragments (${listed(reasons, "; ")})`, undefined);
}

/** What has to be in one fragment names different workers. */
function apart(own: readonly Pin[], { workers }: Topology): PlacementFailure | undefined {
  const [first, ...others] = own;
  const other = others.find(({ worker }) => worker !== first?.worker);
  if (first === undefined || other === undefined) return undefined;
  return placementError(
    `the ${nameOf(first, workers)} and the ${nameOf(other, workers)} have to be on one worker`,
    "A sink for malformed records runs where its source runs: leave its placement out, or give each worker one of its own.",
  );
}

/** A pair of a source and a sink without a way, or sources that have no worker in common. */
function unreached(own: readonly Pin[], topology: Topology): PlacementFailure | undefined {
  const { workers } = topology;
  const takers = [...workers.keys()].filter((one) => workers[one]?.takesFragments === true);
  const reach = reachOf(topology)?.along(WorkerSet.of(workers.length, takers));
  if (reach === undefined) return undefined;
  const sources = own.filter(({ op }) => op.kind === "source");
  const sinks = own.filter(({ op }) => op.kind === "sink");
  const hint =
    "Declare links from worker to worker on the way (the setting PEERS of CREATE WORKER), or place them elsewhere.";
  for (const source of sources) {
    const sink = sinks.find(({ worker }) => !reach.from(source.worker).has(worker));
    if (sink === undefined) continue;
    const message = `the ${nameOf(source, workers)} cannot reach the ${nameOf(sink, workers)}: no links lead there`;
    return placementError(message, hint);
  }
  let common: WorkerSet | undefined;
  for (const source of sources) {
    const reached = reach.from(source.worker).and(WorkerSet.of(workers.length, takers));
    const both = common?.and(reached) ?? reached;
    if (both.count > 0) {
      common = both;
      continue;
    }
    const before = sources.slice(0, sources.indexOf(source));
    const message = `no worker is reached by both the ${nameOf(source, workers)} and ${listed(
      before.map((one) => `the ${nameOf(one, workers)}`),
      ", ",
    )}`;
    return placementError(message, hint);
  }
  return undefined;
}

/** `needs` has what each fragment names. */
function noSlots(
  needs: readonly (readonly Pin[])[],
  { workers }: Topology,
): PlacementFailure | undefined {
  const hint = "Drop queries, or start a worker with more slots.";
  for (const [place, { workerId, slots, slotsUsed }] of workers.entries()) {
    const wanted = needs.filter((pins) => pins.some(({ worker }) => worker === place)).length;
    const free = slots - slotsUsed;
    if (wanted <= free) continue;
    const message = `the query needs ${counted(wanted, "stream slot")} of the worker ${workerId}, which has ${free} free of ${slots}`;
    return { code: "InsufficientCapacity", message, hint };
  }
  const takers = workers.filter(({ takesFragments }) => takesFragments);
  const free = takers.map(({ slots, slotsUsed }) => slots - slotsUsed);
  const all = free.reduce((sum, count) => sum + count, 0);
  if (needs.length <= all) return undefined;
  const each = takers.map(({ workerId, slots }, at) => `${workerId} ${free[at]} of ${slots}`);
  const missing = needs.length - all;
  const message = `the query needs ${counted(needs.length, "stream slot")}, and ${all} are free (${listed(each, ", ")}): ${missing} ${missing === 1 ? "is" : "are"} missing`;
  return { code: "InsufficientCapacity", message, hint };
}

function placementError(message: string, hint: string | undefined): PlacementFailure {
  return { code: "PlacementError", message, hint };
}

function nameOf({ op, worker }: Pin, workers: Topology["workers"]): string {
  return `${op.kind} ${op.name} on ${workers[worker]?.workerId}`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function listed(names: readonly string[], separator: string): string {
  const more = names.length - namedMax;
  if (more <= 0) return names.join(separator);
  return `${names.slice(0, namedMax).join(separator)}${separator}and ${more} more`;
}
