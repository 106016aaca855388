/** The health of a process's parts as a gauge: 1 for a part's current state, 0 for the others. */
import type { HealthBoard, HealthState } from "../kernel/health.ts";
import type { Metrics } from "./metrics.ts";

const states: readonly HealthState[] = ["ok", "degraded", "failed"];

export function showHealth(metrics: Metrics, health: HealthBoard): void {
  metrics.gauges(
    "part_health",
    "1 for the state that a part of the process is in, 0 for the others.",
    ["part", "state"],
    () =>
      health.parts().flatMap(({ name, state: current }) =>
        states.map((state) => ({
          labels: { part: name, state },
          value: state === current ? 1 : 0,
        })),
      ),
  );
}
