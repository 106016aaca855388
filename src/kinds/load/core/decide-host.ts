/** Where a load worker runs. Rules: HO1 and HO2. */
import type { Placement, Scenario } from "./scenario.ts";
import { isLocalHost, isLocalTarget } from "./target-host.ts";

/** One of Capstan's workers. */
export interface LoadHost {
  readonly name: string;
  readonly hostName: string;
  readonly capacity: number;
  /** The number of the run's processes assigned to it. */
  readonly given: number;
}

/** `here` is the coordinator's machine. Undefined when no host is left to try. */
export type HostChoice = "here" | LoadHost | undefined;

export function placementOf({ scaling, target }: Scenario): Placement {
  if (scaling.placement !== "AUTO") return scaling.placement;
  return isLocalTarget(target) ? "COORDINATOR" : "AUTO";
}

/** `tried` are the hosts that did not take the process. */
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

/** The share of the host's capacity that would be used. */
function shareOf({ given, capacity }: LoadHost): number {
  return (given + 1) / Math.max(1, capacity);
}
