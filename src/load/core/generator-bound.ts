/**
 * Whether the generator, not the target, was what a run measured.
 *
 *   GB1  A second is the generator's fault when a worker used up its CPU or was late with what it could have sent. A run is bound by the
 *        generator when a tenth of its seconds were.
 */
import type { GeneratorHealth } from "./worker-snapshot.ts";

const cpuPercentMax = 90;
const lagMsMax = 20;
const shareMax = 0.1;

/** One for each second and worker of MEASUREMENT. */
export function isGeneratorBound(
  seconds: readonly Pick<GeneratorHealth, "cpu_percent" | "schedule_lag_ms_p99">[],
): boolean {
  const bound = seconds.filter(
    ({ cpu_percent: cpu, schedule_lag_ms_p99: lag }) => cpu > cpuPercentMax || lag > lagMsMax,
  );
  return bound.length > 0 && bound.length >= shareMax * seconds.length;
}
