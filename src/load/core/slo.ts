/**
 * Whether a run keeps what it should.
 *
 *   SO1  An objective is of one operation, of a kind, or of everything together; percentiles are of merged distributions.
 *   SO2  A limit that is reached is kept; one that is passed is not.
 *   SO3  Nothing measured: while the run goes on nothing is said; at the end the objective is missed.
 *   SO4  A run passes if every objective is kept; without objectives there is no verdict.
 */
import { type Figures, figuresOf, toMs } from "./figures.ts";
import type { SloConfig } from "./scenario.ts";
import type { SeriesSnapshot } from "./worker-snapshot.ts";

export interface SloOutcome extends SloConfig {
  readonly state: "MET" | "MISSED" | "NO_DATA";
  /** In the limit's unit; `null`: nothing was measured. */
  readonly value: number | null;
  /** `p95 of ALL is 23.1 ms; at most 20 ms are allowed`. */
  readonly text: string;
}

export interface SloResult {
  readonly verdict: "PASSED" | "FAILED" | null;
  readonly slos: readonly SloOutcome[];
}

/** `seconds`: how long the series have been measured. */
export function evaluateSlos(
  slos: readonly SloConfig[],
  series: readonly SeriesSnapshot[],
  seconds: number,
  when: "live" | "final",
): SloResult {
  const outcomes = slos.map((slo) => {
    const own = series.filter(({ operation, kind }) => isOf(slo, operation, kind)); // SO1
    return outcomeOf(slo, figuresOf(own), seconds, when);
  });
  return { verdict: verdictOf(outcomes), slos: outcomes };
}

/** SO4 */
function verdictOf(outcomes: readonly SloOutcome[]): SloResult["verdict"] {
  if (outcomes.some(({ state }) => state === "MISSED")) return "FAILED";
  const isKept = outcomes.length > 0 && outcomes.every(({ state }) => state === "MET");
  return isKept ? "PASSED" : null;
}

/** For `GuardrailFacts.missedSlos`. */
export function missedSlos({ slos }: SloResult): readonly string[] {
  return slos.filter(({ state }) => state === "MISSED").map(({ text }) => text);
}

function isOf({ of }: SloConfig, operation: string, kind: string): boolean {
  return of === "ALL" || of === operation || of === kind;
}

function outcomeOf(
  slo: SloConfig,
  figures: Figures,
  seconds: number,
  when: "live" | "final",
): SloOutcome {
  const value = valueOfMetric(slo, figures, seconds);
  const what = `${nameOf(slo)} of ${slo.of}`;
  const bound = slo.metric === "qps_min" ? "at least" : "at most";
  const unit = unitOf(slo);
  if (value === null) {
    const state = when === "final" ? "MISSED" : "NO_DATA"; // SO3
    return { ...slo, state, value, text: `${what}: nothing was measured` };
  }
  const isMet = slo.metric === "qps_min" ? value >= slo.limit : value <= slo.limit; // SO2
  const text = `${what} is ${shown(value)}${unit}; ${bound} ${slo.limit}${unit} ${bound === "at least" ? "is wanted" : "is allowed"}`;
  return { ...slo, state: isMet ? "MET" : "MISSED", value, text };
}

function valueOfMetric(
  { metric }: SloConfig,
  { ops, errors, response }: Figures,
  seconds: number,
): number | null {
  if (ops === 0) return null;
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
      return (errors / ops) * 100;
    case "qps_min":
      return seconds > 0 ? ops / seconds : null;
  }
}

function nameOf({ metric }: SloConfig): string {
  if (metric === "qps_min") return "rate";
  return metric === "error_rate_pct" ? "error rate" : metric;
}

function unitOf({ metric }: SloConfig): string {
  if (metric === "qps_min") return "/s";
  return metric === "error_rate_pct" ? " %" : " ms";
}

function shown(value: number): string {
  return Number(value.toPrecision(4)).toString();
}
