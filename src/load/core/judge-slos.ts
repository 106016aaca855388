/**
 * Objectives, and whether they are met.
 *
 *   SL1  Latencies are response times of merged distributions; rates are of the time that was measured.
 *   SL2  An objective about something of which nothing was answered is missed, except that there were no errors.
 */
import { type Figures, toMs } from "./figures.ts";
import type { SloConfig } from "./scenario.ts";

export interface SloVerdict extends SloConfig {
  /** `null`: nothing was answered. */
  readonly value: number | null;
  readonly met: boolean;
}

/** `of`: what the objective's `of` names. */
export function judgeSlos(
  slos: readonly SloConfig[],
  of: (name: string) => Figures,
  seconds: number,
): readonly SloVerdict[] {
  return slos.map((slo) => {
    const value = measuredBy(slo, of(slo.of), seconds);
    if (value === null) return { ...slo, value, met: slo.metric === "error_rate_pct" }; // SL2
    return {
      ...slo,
      value,
      met: slo.metric === "qps_min" ? value >= slo.limit : value <= slo.limit,
    };
  });
}

export function describeMiss({ of, metric, value, limit }: SloVerdict): string {
  const found = value === null ? "nothing was answered" : `is ${value.toFixed(1)}`;
  const bound = metric === "qps_min" ? "at least" : "at most";
  return `SLO ${metric} of ${of} ${found}; ${bound} ${limit} was promised`;
}

function measuredBy({ metric }: SloConfig, figures: Figures, seconds: number): number | null {
  const { ops, errors, response } = figures;
  switch (metric) {
    case "p50":
      return toMs(response.percentileUs(0.5));
    case "p95":
      return toMs(response.percentileUs(0.95));
    case "p99":
      return toMs(response.percentileUs(0.99));
    case "p999":
      return toMs(response.percentileUs(0.999));
    case "max":
      return toMs(response.maxUs);
    case "avg":
      return toMs(response.meanUs);
    case "error_rate_pct":
      return ops === 0 ? null : (errors / ops) * 100;
    case "qps_min":
      return seconds <= 0 ? null : (ops - errors) / seconds;
  }
}
