/** Which fragments a plan has in some processes or threads, and who sends to whom. Pure. */
import { cutPlan, insertExchanges, type Plan, type Stage } from "../../language/core/index.ts";

export interface PlacedFragment {
  readonly name: string;
  readonly stage: Stage;
  /** Which of the places it runs at. */
  readonly place: number;
}

export interface PlacedPlan {
  readonly plan: Plan;
  readonly fragments: readonly PlacedFragment[];
  /** By the exchange's node. */
  senders(exchange: number): readonly PlacedFragment[];
  receivers(exchange: number): readonly PlacedFragment[];
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
  return {
    plan,
    fragments,
    senders: (exchange) => fragments.filter(({ stage }) => stage.sends.includes(exchange)),
    receivers: (exchange) => fragments.filter(({ stage }) => stage.receives.includes(exchange)),
  };
}
