/** Decides whether this process is ready, and describes its parts. */

import type { HealthBoard, PartHealth } from "../../../ground/kernel/health.ts";
import type { PartBody, ReadyBody } from "../schemas.ts";

/**
 * Ready means that this process takes requests: load balancers send them to the leader and to
 * replicas. A leader with a damaged log answers queries but takes no samples, so it is not ready.
 */
export function decideReadiness(role: ReadyBody["role"], health: HealthBoard): ReadyBody {
  const parts = health.parts().map(partBody);
  const blocker = health.blocker();
  if (blocker !== undefined) {
    return { ready: false, role, reason: `${blocker.name}: ${blocker.reason}`, parts };
  }
  if (role !== "standby") return { ready: true, role, parts };
  const store = parts.find(({ name, state }) => name === "store" && state !== "ok");
  const why = store?.reason === undefined ? "" : `; the store: ${store.reason}`;
  return { ready: false, role, reason: `this coordinator does not hold the lease${why}`, parts };
}

export function partBody({ name, state, reason, sinceMs, vital }: PartHealth): PartBody {
  return { name, state, ...(reason === undefined ? {} : { reason }), since_ms: sinceMs, vital };
}
