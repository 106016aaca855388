/** Whether a run meets its objectives. Rules: SO1 to SO4. */
import type { Availability } from "./availability.ts";
import type { Measured } from "./latency.ts";
import type { SloConfig } from "./scenario.ts";

export interface SloOutcome extends SloConfig {
  readonly state: "MET" | "MISSED" | "NO_DATA";
  /** In the limit's unit. Null when nothing was measured. */
  readonly value: number | null;
  /** For example `p95 of ALL is 23.1 ms; at most 20 ms is allowed`. */
  readonly text: string;
}

export interface SloResult {
  readonly verdict: "PASSED" | "FAILED" | null;
  readonly slos: readonly SloOutcome[];
}

/** The run-wide figures that objectives need. */
export interface SloSpan {
  readonly seconds: number;
  /** Null while unknown. */
  readonly availability: Availability | null;
}

/** `of` returns the figures that an objective's `of` names (`figuresFor`). */
export function evaluateSlos(
  slos: readonly SloConfig[],
  of: (name: string) => Measured,
  span: SloSpan,
  when: "live" | "final",
): SloResult {
  const outcomes = slos.map((slo) => outcomeOf(slo, of(slo.of), span, when)); // SO1
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

/** Whether the limit is a minimum. */
export function isLowerLimit(metric: SloConfig["metric"]): boolean {
  return metric === "qps_min" || metric === "availability_pct";
}

function outcomeOf(
  slo: SloConfig,
  measured: Measured,
  span: SloSpan,
  when: "live" | "final",
): SloOutcome {
  const { value, isLeast, most } = valueOfMetric(slo, measured, span);
  const what = `${nameOf(slo)} of ${slo.of}`;
  const unit = unitOf(slo);
  if (value === null) {
    const state = when === "final" ? "MISSED" : "NO_DATA"; // SO3
    const why = measured.errors > 0 ? "nothing succeeded" : "nothing was measured";
    return { ...slo, state, value, text: `${what}: ${why}` };
  }
  const isLower = isLowerLimit(slo.metric);
  const rule = isLower ? `minimum ${slo.limit}${unit}` : `at most ${slo.limit}${unit} is allowed`;
  const isReached = isLower ? value >= slo.limit : value <= slo.limit; // SO2
  const isMet = isReached && (!isLeast || (most !== null && most <= slo.limit));
  const least = isLeast
    ? `at least ${shown(value)}${unit}, unserved arrivals counted`
    : `${shown(value)}${unit}`;
  return { ...slo, state: isMet ? "MET" : "MISSED", value, text: `${what} is ${least}; ${rule}` };
}

interface MetricValue {
  readonly value: number | null;
  /** The value is a lower bound; the upper bound is `most`. */
  readonly isLeast: boolean;
  readonly most: number | null;
}

function valueOfMetric(
  { metric }: SloConfig,
  { ops, errors, unserved, latency, most }: Measured,
  { seconds, availability }: SloSpan,
): MetricValue {
  const exact = (value: number | null): MetricValue => ({ value, isLeast: false, most: value });
  switch (metric) {
    case "error_rate_pct":
      return exact(ops === 0 ? null : (errors / ops) * 100);
    case "qps_min":
      return exact(ops + unserved === 0 || seconds <= 0 ? null : (ops - errors) / seconds);
    case "availability_pct":
      return exact(availability?.availability_pct ?? null);
    case "longest_silence":
      return exact(availability?.longest_silence_ms ?? null);
    default: {
      const name = `${metric}_latency_ms` as const;
      return {
        value: latency[name],
        isLeast: latency.at_least.includes(name),
        most: most[name],
      };
    }
  }
}

function nameOf({ metric }: SloConfig): string {
  const names: Partial<Record<SloConfig["metric"], string>> = {
    qps_min: "rate",
    error_rate_pct: "error rate",
    availability_pct: "availability",
    longest_silence: "longest silence",
  };
  return names[metric] ?? metric;
}

function unitOf({ metric }: SloConfig): string {
  if (metric === "qps_min") return "/s";
  return metric === "error_rate_pct" || metric === "availability_pct" ? " %" : " ms";
}

/** Four digits are enough for people. */
export function shown(value: number): string {
  return Number(value.toPrecision(4)).toString();
}
