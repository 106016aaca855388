/**
 * Which fragments a query has and on which workers they run: a pure function of the plan and the
 * topology. Rules: SC22, SC23.
 *
 * A plan without parallelism whose sources and sinks are at one place is one fragment. Any other is
 * cut at its exchanges, and the instances of a stage with keys are on the workers that all of their
 * senders reach: on one, if links lead to no other. Where no link leads to any, such a stage runs
 * once, and fragments on the way pass rows on.
 */
import { insertExchanges, type Plan } from "../../../language/core/index.ts";
import {
  type FragmentedPlan,
  fragmentsOf,
  type PlanFragment,
  wholeFragment,
} from "../../../run/core/index.ts";
import type { PlacedFragment } from "../changes.ts";
import type { Topology } from "../planner.ts";
import { type StoredPlan, storedPlanVersion } from "../stored-plan.ts";
import { assignWorkers } from "./assign-workers.ts";
import { explainPlacement, type PlacementFailure } from "./explain-placement.ts";
import { Pins, pinsOf } from "./pins.ts";
import { reachOf } from "./reach.ts";
import { insertRelays } from "./relays.ts";
import { WorkerSet } from "./worker-set.ts";

export interface PlacedPlan {
  readonly plan: StoredPlan;
  /** In the order of the plan's fragments. */
  readonly placement: readonly PlacedFragment[];
}

export type PlacementResult =
  | ({ readonly kind: "placed" } & PlacedPlan)
  | ({ readonly kind: "failed" } & PlacementFailure);

/** Sources and sinks name their workers by the setting PLACEMENT. */
export function placeQuery(plan: Plan, topology: Topology): PlacementResult {
  const pins = pinsOf(plan, topology);
  if (!(pins instanceof Pins)) return { kind: "failed", ...pins };
  const { parallelism } = plan.settings;
  if (parallelism === 1 && pins.workersOf(plan.nodes).size <= 1) {
    const whole = wholeFragment(plan);
    return tryFragments(whole, pins, topology) ?? failed(whole, pins, topology);
  }
  const exchanged = insertExchanges(plan);
  const spread = fragmentsOf(exchanged, parallelism);
  const gathered = fragmentsOf(exchanged, parallelism, () => true);
  return (
    tryFragments(spread, pins, topology) ??
    tryRelays(gathered, pins, topology) ??
    failed(spread, pins, topology)
  );
}

function tryFragments(
  cut: FragmentedPlan,
  pins: Pins,
  topology: Topology,
): PlacementResult | undefined {
  const workers = assignWorkers({
    ...problemOf(cut, pins, topology),
    reach: reachOf(topology),
  });
  if (workers === undefined) return undefined;
  return placed(cut, (_, at) => workers[at] ?? 0, pins, topology);
}

function tryRelays(
  cut: FragmentedPlan,
  pins: Pins,
  topology: Topology,
): PlacementResult | undefined {
  const reach = reachOf(topology);
  if (reach === undefined) return undefined;
  const problem = problemOf(cut, pins, topology);
  const takers = WorkerSet.of(
    topology.workers.length,
    [...problem.slots.keys()].filter((worker) => (problem.slots[worker] ?? 0) > 0),
  );
  const workers = assignWorkers({ ...problem, reach: reach.along(takers) });
  if (workers === undefined) return undefined;
  const relayed = insertRelays(cut, workers, problem.slots, reach);
  if (relayed === undefined) return undefined;
  const fragments = fragmentsOf(relayed.plan, cut.plan.settings.parallelism, () => true);
  return placed(fragments, ({ stage }) => relayed.workerOf(stage), pins, topology);
}

function problemOf(
  { fragments }: FragmentedPlan,
  pins: Pins,
  { workers }: Topology,
): Omit<Parameters<typeof assignWorkers>[0], "reach"> {
  const takers = WorkerSet.of(
    workers.length,
    [...workers.keys()].filter((worker) => workers[worker]?.takesFragments === true),
  );
  return {
    slots: workers.map(({ slots, slotsUsed }) => slots - slotsUsed),
    fragments: fragments.map(({ stage }) => {
      const own = pins.workersOf(stage.nodes);
      const isApart = own.size > 1;
      const allowed = own.size === 0 ? takers : takers.and(WorkerSet.of(workers.length, own));
      return {
        stage: stage.id,
        allowed: isApart ? none(workers.length) : allowed,
        needsSlot: true,
      };
    }),
    edges: edgesOf(fragments),
  };
}

function none(size: number): WorkerSet {
  return WorkerSet.of(size, []);
}

/** From which stage to which there are exchanges. */
export function edgesOf(
  fragments: readonly Pick<PlanFragment, "stage">[],
): readonly (readonly [from: number, to: number])[] {
  const stages = new Map(fragments.map(({ stage }) => [stage.id, stage]));
  const receivers = new Map(
    [...stages.values()].flatMap(({ id, receives }) => receives.map((one) => [one, id] as const)),
  );
  return [...stages.values()].flatMap(({ id, sends }) =>
    sends.map((exchange) => [id, receivers.get(exchange) ?? id] as const),
  );
}

function placed(
  { plan, fragments }: FragmentedPlan,
  workerOf: (fragment: PlanFragment, at: number) => number,
  pins: Pins,
  { workers }: Topology,
): PlacementResult {
  return {
    kind: "placed",
    plan: {
      version: storedPlanVersion,
      plan,
      fragments: fragments.map(({ name, stage, lane }) => ({ name, stage: stage.id, lane })),
    },
    placement: fragments.map((fragment, at) => ({
      fragment: fragment.name,
      workerId: workers[workerOf(fragment, at)]?.workerId ?? "",
      isPinned: pins.workersOf(fragment.stage.nodes).size > 0,
    })),
  };
}

function failed(cut: FragmentedPlan, pins: Pins, topology: Topology): PlacementResult {
  return { kind: "failed", ...explainPlacement(cut, pins, topology) };
}
