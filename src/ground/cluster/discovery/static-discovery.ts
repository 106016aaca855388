import type { Discovery, Target } from "../core/index.ts";

/** A list that never changes. */
export function staticDiscovery(targets: readonly Target[]): Discovery {
  return {
    adopts: true,
    start: (onTargets) => onTargets(targets),
    stop: () => undefined,
  };
}
