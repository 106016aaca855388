/**
 * The state of a run's objectives while it is running, from the updates of each second. The
 * coordinator gives the final verdict. Pure.
 * Only what is certain is called met or missed; the rest is open until the end. A percentile over
 * several operations lies between their smallest and largest: when both are on one side of the
 * limit, so is it. A lower bound (`at_least`) beyond the limit misses it; one within does not meet
 * it.
 */
import type { OperationUpdate, RunUpdate, SloConfig } from "../../../api/gen/types.ts";

export type SloState = "met" | "missed" | "open";

export interface SloStatus {
  readonly slo: SloConfig;
  readonly state: SloState;
  /** In the limit's unit; undefined when it is not a single number. */
  readonly value: number | undefined;
  /** Whether `value` is a lower bound. */
  readonly isLeast: boolean;
}

type Measured = Pick<RunUpdate, "run" | "timing" | "custom_metrics">;

export function sloStatuses(slos: readonly SloConfig[], update: Measured): readonly SloStatus[] {
  return slos.map((slo) => {
    const values = valuesOf(slo, update);
    const [value, ...others] = values;
    if (value === undefined || values.some((each) => each === null)) {
      return { slo, state: "open", value: undefined, isLeast: false };
    }
    const isLeast = hasLeastValue(slo, update);
    const kept = values.map((each) => isKept(slo, each ?? 0));
    const isMet = kept.every(Boolean) && !isLeast;
    const state = isMet ? "met" : kept.some(Boolean) ? "open" : "missed";
    const shown = others.length === 0 ? (value ?? undefined) : undefined;
    return { slo, state, value: shown, isLeast };
  });
}

/** The objectives for this operation, its kind, or all operations. */
export function slosOfOperation(
  statuses: readonly SloStatus[],
  { operation, query_kind: kind }: Pick<OperationUpdate, "operation" | "query_kind">,
): readonly SloStatus[] {
  return statuses.filter(({ slo: { of } }) => of === operation || of === kind);
}

/** `p95 ≤ 20 ms` */
export function formatSlo({ of, metric, limit }: SloConfig): string {
  const sign = isLowerLimit(metric) ? "≥" : "≤";
  const what = names[metric] ?? metric;
  return `${of === "ALL" ? "" : `${of} `}${what} ${sign} ${limit}${sloUnit(metric)}`;
}

const names: Partial<Record<SloConfig["metric"], string>> = {
  error_rate_pct: "errors",
  qps_min: "rate",
  availability_pct: "availability",
  longest_silence: "silence",
};

export function sloUnit(metric: SloConfig["metric"]): string {
  if (metric === "qps_min") return "/s";
  return metric === "error_rate_pct" || metric === "availability_pct" ? " %" : " ms";
}

function isLowerLimit(metric: SloConfig["metric"]): boolean {
  return metric === "qps_min" || metric === "availability_pct";
}

function hasLeastValue({ of, metric }: SloConfig, update: Measured): boolean {
  const measured = of === "ALL" ? [update.run.aggregate_metrics] : operationsOf(of, update);
  return measured.some(({ at_least: names }) =>
    names.some((name) => name === `${metric}_latency_ms`),
  );
}

/** The operations that an objective covers, by name or kind. */
function operationsOf(of: string, { custom_metrics: metrics }: Measured) {
  return Object.values(metrics.app_ops_breakdown).filter(
    ({ operation, query_kind: kind, ops }) => ops > 0 && (of === operation || of === kind),
  );
}

/**
 * The value, or the values that bound it; `null` when one is unknown, empty when nothing was
 * measured.
 */
function valuesOf(slo: SloConfig, update: Measured): readonly (number | null)[] {
  const { aggregate_metrics: all, figures_phase: phase } = update.run;
  if (phase !== "MEASUREMENT" || all.total_ops === 0) return [];
  const seconds = update.timing.phase_elapsed_seconds;
  const isAll = slo.of === "ALL";
  const own = operationsOf(slo.of, update);
  const [ops, errors] = isAll
    ? [all.total_ops, all.total_errors]
    : [sum(own.map((each) => each.ops)), sum(own.map((each) => each.errors))];
  if (ops === 0) return [];
  switch (slo.metric) {
    case "error_rate_pct":
      return [(errors / ops) * 100];
    case "qps_min":
      return [seconds > 0 ? (ops - errors) / seconds : null];
    case "availability_pct":
      return [all.availability_pct];
    case "longest_silence":
      return [all.longest_silence_ms];
    case "p50":
      return isAll ? [all.p50_latency_ms] : own.map((each) => each.p50_latency_ms);
    case "p95":
      return isAll ? [all.p95_latency_ms] : own.map((each) => each.p95_latency_ms);
    case "p99":
      return isAll ? [all.p99_latency_ms] : own.map((each) => each.p99_latency_ms);
    case "p999":
      return [isAll ? all.p999_latency_ms : null];
    case "max":
      return [isAll ? all.max_latency_ms : null];
    case "avg":
      return [isAll ? all.avg_latency_ms : null];
  }
}

function isKept({ metric, limit }: SloConfig, value: number): boolean {
  return isLowerLimit(metric) ? value >= limit : value <= limit;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
