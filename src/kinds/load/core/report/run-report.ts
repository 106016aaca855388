/**
 * The data of a run's page, report and summary. The reader of the store builds it; everything else
 * is pure.
 */

import type { FinalRecord } from "../final-record.ts";
import type { FindMaxResult, StepOutcome } from "../find-max.ts";
import type { Histogram } from "../histogram.ts";
import type { RunPhase, RunStatus } from "../run-state.ts";
import type { Scenario } from "../scenario.ts";

export interface RunReport {
  readonly run_id: string;
  readonly test_name: string;
  readonly status: RunStatus;
  readonly cancellation_reason: string | null;
  /** ISO 8601. */
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly worker_count: number;
  readonly scenario: Scenario;
  /** Every figure of MEASUREMENT; while the run is active, the figures so far. */
  readonly record: FinalRecord;
  /**
   * Response times for charts: successes, and unserved arrivals with the time they have waited so
   * far.
   */
  readonly response: Histogram;
  /** All seconds in order, including warm-up. */
  readonly seconds: readonly ReportSecond[];
  readonly find_max: {
    readonly result: FindMaxResult | null;
    readonly steps: readonly ReportStep[];
  } | null;
}

export interface ReportSecond {
  /** The elapsed time at the end of this second. */
  readonly elapsed_seconds: number;
  readonly phase: RunPhase;
  /** The true length, in seconds. */
  readonly seconds: number;
  /** Operations that ended in this second. */
  readonly ops: number;
  readonly errors: number;
  readonly active_connections: number;
  /** Response times of successful operations. */
  readonly response: Histogram;
}

export interface ReportStep {
  readonly step_number: number;
  readonly connections: number;
  readonly qps: number;
  readonly p95_latency_ms: number | null;
  readonly error_rate_pct: number;
  readonly outcome: StepOutcome | null;
  readonly reason: string;
}
