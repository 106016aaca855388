/** Where a load worker runs. Rules: HO1 and HO2. */
import type { Placement, Scenario } from "./scenario.ts";
import { isLocalHost, isLocalTarget } from "./target-host.ts";

/** One of Capstan's workers. */
export interface LoadHost {
  readonly name: string;
  readonly hostName: string;
  readonly capacity: number;
  /** How many of the run's processes it was given. */
  readonly given: number;
}

/** `here`: with the coordinator. `undefined`: nobody is left whom it could be given to. */
export type HostChoice = "here" | LoadHost | undefined;

export function placementOf({ scaling, target }: Scenario): Placement {
  if (scaling.placement !== "AUTO") return scaling.placement;
  return isLocalTarget(target) ? "COORDINATOR" : "AUTO";
}

/** `tried`: those that did not take it. */
export function decideHost(
  placement: Placement,
  hosts: readonly LoadHost[],
  tried: ReadonlySet<string> = new Set(),
): HostChoice {
  if (placement === "COORDINATOR") return "here";
  const eligible = hosts
    .filter(({ name }) => !tried.has(name))
    .filter(({ hostName }) => placement === "WORKERS" || !isLocalHost(hostName));
  const [best] = eligible.toSorted((a, b) => shareOf(a) - shareOf(b));
  if (best !== undefined) return best;
  return placement === "WORKERS" ? undefined : "here";
}

/** How full it would be. */
function shareOf({ given, capacity }: LoadHost): number {
  return (given + 1) / Math.max(1, capacity);
}
