/** Which fragments a plan has, where they run, and who sends to whom. Pure. */
import { cutPlan, insertExchanges, type Plan, type Stage } from "../../language/core/index.ts";
import type { FarEnd, FragmentSpec } from "../core/stream-host.ts";

export interface PlacedFragment {
  readonly name: string;
  readonly stage: Stage;
  /** Which of the places it runs at. */
  readonly place: number;
}

export interface PlacedPlan {
  readonly plan: Plan;
  readonly fragments: readonly PlacedFragment[];
}

/** The whole plan as one fragment. */
export function placeWhole(plan: Plan): PlacedPlan {
  const stage = { id: 0, nodes: plan.nodes, receives: [], sends: [], isParallel: false };
  return { plan, fragments: [{ name: "f0", stage, place: 0 }] };
}

/** Stages with keys are at every place, sources take places by turns, the rest is at the first. */
export function placeStages(whole: Plan, placeCount: number): PlacedPlan {
  const plan = insertExchanges(whole);
  let turn = 0;
  const fragments = cutPlan(plan).flatMap((stage): readonly PlacedFragment[] => {
    if (stage.isParallel) {
      return Array.from({ length: placeCount }, (_, place) => ({
        name: `s${stage.id}.${place}`,
        stage,
        place,
      }));
    }
    const isSource = stage.nodes.some(({ op }) => op.kind === "source");
    const place = isSource ? turn++ % placeCount : 0;
    return [{ name: `s${stage.id}.0`, stage, place }];
  });
  return { plan, fragments };
}

export interface SpecOptions extends Pick<FragmentSpec, "restored" | "keepsState"> {
  /** The exchange port of a place; `undefined`: it is on the host of this fragment. */
  readonly addressOf: (place: number) => string | undefined;
}

/** What the host of a fragment is told. */
export function specOf(
  { plan, fragments }: PlacedPlan,
  { name, stage, place }: PlacedFragment,
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
          .map((other) => ({ fragment: other.name, address: addressOf(other.place) })),
      ]),
    );
  return {
    fragment: name,
    lane: place,
    nodes: stage.nodes,
    settings: plan.settings,
    out: ends(stage.sends, ({ receives }, exchange) => receives.includes(exchange)),
    in: ends(stage.receives, ({ sends }, exchange) => sends.includes(exchange)),
    restored,
    keepsState,
  };
}
