/**
 * Which fragments a plan has, and what the host of each is told: one way for a query that is driven
 * from one process and for one on many workers. Where fragments run is decided elsewhere. Pure.
 */
import { cutPlan, insertExchanges, type Plan, type Stage } from "../../language/core/index.ts";
import type { FarEnd, FragmentSpec } from "./stream-host.ts";

export interface PlanFragment {
  /** Unique in the plan. */
  readonly name: string;
  readonly stage: Stage;
  /** Fragments of one host with different lanes run on different threads. */
  readonly lane: number;
}

export interface FragmentedPlan {
  /** With its exchanges. */
  readonly plan: Plan;
  readonly fragments: readonly PlanFragment[];
}

/** The whole plan as one fragment. */
export function wholeFragment(plan: Plan): FragmentedPlan {
  return { plan, fragments: stagesOf(plan).map((stage) => ({ name: "f0", stage, lane: 0 })) };
}

/** The plan with exchanges, cut at them. */
export function cutFragments(whole: Plan, instances: number): FragmentedPlan {
  return fragmentsOf(insertExchanges(whole), instances);
}

/**
 * The fragments of a plan that has its exchanges. Stages with keys have so many instances, one in
 * each lane, unless they are gathered; sources take lanes by turns, and the rest is in the first.
 */
export function fragmentsOf(
  plan: Plan,
  instances: number,
  isGathered: (stage: Stage) => boolean = () => false,
): FragmentedPlan {
  let turn = 0;
  const fragments = cutPlan(plan).flatMap((stage): readonly PlanFragment[] => {
    if (stage.isParallel && !isGathered(stage)) {
      return Array.from({ length: instances }, (_, lane) => ({
        name: `s${stage.id}.${lane}`,
        stage,
        lane,
      }));
    }
    const isSource = stage.nodes.some(({ op }) => op.kind === "source");
    const lane = isSource ? turn++ % instances : 0;
    return [{ name: `s${stage.id}.0`, stage, lane }];
  });
  return { plan, fragments };
}

/** The stages of a plan that has its exchanges, if it has any: else it is one stage. */
export function stagesOf(plan: Plan): readonly Stage[] {
  if (plan.nodes.some(({ op }) => op.kind === "exchange")) return cutPlan(plan);
  return [{ id: 0, nodes: plan.nodes, receives: [], sends: [], isParallel: false }];
}

export interface SpecOptions extends Pick<FragmentSpec, "restored" | "keepsState"> {
  /** The exchange port of a fragment's process; `undefined`: it is on the host of this one. */
  readonly addressOf: (other: PlanFragment) => string | undefined;
}

/** What the host of a fragment is told. */
export function specOf(
  { plan, fragments }: FragmentedPlan,
  { name, stage, lane }: PlanFragment,
  { restored, keepsState, addressOf }: SpecOptions,
): FragmentSpec {
  const ends = (
    exchanges: readonly number[],
    has: (other: Stage, exchange: number) => boolean,
  ): ReadonlyMap<number, readonly FarEnd[]> =>
    new Map(
      exchanges.map((exchange) => [
        exchange,
        fragments
          .filter((other) => has(other.stage, exchange))
          .map((other) => ({ fragment: other.name, address: addressOf(other) })),
      ]),
    );
  return {
    fragment: name,
    lane,
    nodes: stage.nodes,
    settings: plan.settings,
    out: ends(stage.sends, ({ receives }, exchange) => receives.includes(exchange)),
    in: ends(stage.receives, ({ sends }, exchange) => sends.includes(exchange)),
    restored,
    keepsState,
  };
}
