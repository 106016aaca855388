/** What a run's page, its report and its summary are made of. Whoever reads a run from the store makes one of these; the rest is pure. */

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
  /** Every figure; of MEASUREMENT. While the run goes on: so far. */
  readonly record: FinalRecord;
  /** For charts: successes, and unserved arrivals by how long they waited at least. */
  readonly response: Histogram;
  /** Warm-up too; in order. */
  readonly seconds: readonly ReportSecond[];
  readonly find_max: {
    readonly result: FindMaxResult | null;
    readonly steps: readonly ReportStep[];
  } | null;
}

export interface ReportSecond {
  /** At its end. */
  readonly elapsed_seconds: number;
  readonly phase: RunPhase;
  /** How long it truly was. */
  readonly seconds: number;
  /** That ended. */
  readonly ops: number;
  readonly errors: number;
  readonly active_connections: number;
  /** Of successes. */
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
