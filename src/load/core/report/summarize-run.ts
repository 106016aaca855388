/** A run in plain numbers, for `--json` and for whoever reads it later. */
import { toMs } from "../figures.ts";
import type { Histogram } from "../histogram.ts";
import type { RunReport } from "./run-report.ts";

export interface LatencySummary {
  readonly p50_latency_ms: number | null;
  readonly p90_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly p999_latency_ms: number | null;
  readonly avg_latency_ms: number | null;
  readonly min_latency_ms: number | null;
  readonly max_latency_ms: number | null;
}

export function summarizeLatency(histogram: Histogram): LatencySummary {
  const at = (share: number): number | null => toMs(histogram.percentileUs(share));
  return {
    p50_latency_ms: at(0.5),
    p90_latency_ms: at(0.9),
    p95_latency_ms: at(0.95),
    p99_latency_ms: at(0.99),
    p999_latency_ms: at(0.999),
    avg_latency_ms: toMs(histogram.meanUs),
    min_latency_ms: toMs(histogram.minUs),
    max_latency_ms: toMs(histogram.maxUs),
  };
}

export type SummarizedRun = ReturnType<typeof summarizeRun>;

export function summarizeRun(report: RunReport) {
  const { figures, scenario } = report;
  return {
    run_id: report.run_id,
    test_name: report.test_name,
    template_name: scenario.template_name,
    status: report.status,
    cancellation_reason: report.cancellation_reason,
    verdict: report.slo.verdict,
    started_at: report.started_at,
    ended_at: report.ended_at,
    measured_seconds: report.measured_seconds,
    worker_count: report.worker_count,
    load_mode: scenario.workload.load_mode,
    total_operations: figures.ops,
    read_operations: figures.reads,
    write_operations: figures.writes,
    failed_operations: figures.errors,
    error_rate_pct: figures.ops === 0 ? 0 : (figures.errors / figures.ops) * 100,
    errors_by_kind: figures.errors_by_kind,
    qps: figures.qps,
    ...summarizeLatency(figures.response),
    operations: report.operations.map(({ response, ...operation }) => ({
      ...operation,
      ...summarizeLatency(response),
    })),
    slos: report.slo.slos,
    find_max: report.find_max?.result ?? null,
    find_max_steps: report.find_max?.steps ?? [],
    generator_bound: report.generator_bound,
    percentiles_valid: report.percentiles_valid,
    warnings: report.warnings,
    configuration: scenario,
  };
}
