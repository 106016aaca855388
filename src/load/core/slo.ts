/**
 * Whether a run keeps what it should.
 *
 *   SO1  An objective is of one operation, of a kind, or of everything together; percentiles are of merged distributions.
 *   SO2  A limit that is reached is kept; one that is passed is not. Latencies are response times; the rate is of operations that succeeded.
 *   SO3  Nothing measured: while the run goes on nothing is said; at the end the objective is missed.
 *   SO4  A run passes if every objective is kept; without objectives there is no verdict.
 */
import { type Figures, toMs } from "./figures.ts";
import type { SloConfig } from "./scenario.ts";

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

/** `of`: what an objective's `of` names (`figuresFor`), measured for `seconds`. */
export function evaluateSlos(
  slos: readonly SloConfig[],
  of: (name: string) => Figures,
  seconds: number,
  when: "live" | "final",
): SloResult {
  const outcomes = slos.map((slo) => outcomeOf(slo, of(slo.of), seconds, when)); // SO1
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
      return seconds > 0 ? (ops - errors) / seconds : null;
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
