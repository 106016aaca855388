/** What a run's page, its report and its summary are made of. Whoever reads a run from the store makes one of these; the rest is pure. */

import type { FindMaxResult, StepOutcome } from "../find-max.ts";
import type { Histogram } from "../histogram.ts";
import type { QueryKind } from "../operation.ts";
import type { RunPhase, RunStatus } from "../run-state.ts";
import type { Scenario } from "../scenario.ts";
import type { SloResult } from "../slo.ts";

export interface RunReport {
  readonly run_id: string;
  readonly test_name: string;
  readonly status: RunStatus;
  readonly cancellation_reason: string | null;
  /** ISO 8601. */
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** Of MEASUREMENT. */
  readonly measured_seconds: number;
  readonly worker_count: number;
  readonly scenario: Scenario;
  /** Of MEASUREMENT. */
  readonly figures: ReportFigures;
  readonly operations: readonly ReportOperation[];
  /** Warm-up too; in order. */
  readonly seconds: readonly ReportSecond[];
  readonly slo: SloResult;
  readonly find_max: {
    readonly result: FindMaxResult | null;
    readonly steps: readonly ReportStep[];
  } | null;
  readonly generator_bound: boolean;
  readonly percentiles_valid: boolean;
  readonly warnings: readonly string[];
}

export interface ReportFigures {
  readonly ops: number;
  readonly reads: number;
  readonly writes: number;
  readonly errors: number;
  readonly errors_by_kind: Readonly<Record<string, number>>;
  readonly qps: number;
  readonly response: Histogram;
  readonly service: Histogram;
}

export interface ReportOperation {
  readonly operation: string;
  readonly query_kind: QueryKind;
  readonly ops: number;
  readonly errors: number;
  readonly response: Histogram;
}

export interface ReportSecond {
  /** At its end. */
  readonly elapsed_seconds: number;
  readonly phase: RunPhase;
  readonly ops: number;
  readonly errors: number;
  readonly active_connections: number;
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
