/**
 * A query's plan as the catalog keeps it: with its exchanges, cut into fragments. Which worker has
 * which fragment is in the fragments' rows, since that may change.
 */
import type { Plan } from "../../language/core/index.ts";

/** Of this format; a plan of a newer one is refused by name (SC11). */
export const storedPlanVersion = 1;

export interface StoredPlan {
  readonly version: number;
  /** With exchanges: `cutPlan` gives its stages. */
  readonly plan: Plan;
  readonly fragments: readonly StoredFragment[];
}

export interface StoredFragment {
  /** Unique in the plan. */
  readonly name: string;
  /** The id of its stage. */
  readonly stage: number;
  /** Fragments of one worker with different lanes run on different threads. */
  readonly lane: number;
}

/** The id of a fragment's row. */
export function fragmentIdOf(queryId: string, fragment: string): string {
  return `${queryId}/${fragment}`;
}
