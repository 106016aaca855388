/**
 * What a query's state leaves open, told from the states of its fragments: a deployment that is
 * done in part, or a stop that waits for a worker which cannot be asked (SC46). Nothing stores it.
 */
import type { FragmentState, QueryState } from "./states.ts";
import { hasEnded } from "./states.ts";

export const queryDetails = ["PARTIALLY_DEPLOYED", "STOPPING_STUCK"] as const;
export type QueryDetail = (typeof queryDetails)[number];

/** How many fragments of a query are in a state, on workers that can be asked or not. */
export interface FragmentCount {
  readonly state: FragmentState;
  readonly isReachable: boolean;
  readonly count: number;
}

export function detailOf(
  state: QueryState,
  fragments: readonly FragmentCount[],
): QueryDetail | null {
  switch (state) {
    case "DEPLOYING": {
      const isDeployed = fragments.some((each) => isRunning(each.state));
      const isOpen = fragments.some((each) => !isRunning(each.state));
      return isDeployed && isOpen ? "PARTIALLY_DEPLOYED" : null;
    }
    case "STOPPING":
    case "TERMINATING": {
      const isStuck = fragments.some((each) => !each.isReachable && !hasEnded(each.state));
      return isStuck ? "STOPPING_STUCK" : null;
    }
    default:
      return null;
  }
}

function isRunning(state: FragmentState): boolean {
  return state === "RUNNING" || state === "TERMINATED";
}
