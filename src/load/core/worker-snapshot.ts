/**
 * What a worker has measured since it began, as it sends it once a second: to the coordinator over HTTP, best effort, and to the store.
 *
 *   WS1  Cumulative: of two snapshots of one worker the one with the greater `sequence` says all that the other says.
 *   WS2  Figures are kept by operation, phase and step, so that measurement never has warm-up in it, and a step nothing of another.
 *   WS3  Merging takes each worker's newest and adds; the order in which they came does not matter.
 */
import type { QueryKind } from "./operation.ts";
import type { RunPhase, WorkerStatus } from "./run-state.ts";

/** `decodeHistogram` of `histogram.ts` reads it. */
export type EncodedHistogram = string;

export interface SeriesKey {
  readonly operation: string;
  readonly kind: QueryKind;
  readonly phase: Extract<RunPhase, "WARMUP" | "MEASUREMENT" | "COOLDOWN">;
  /** 0 outside of FIND_MAX. */
  readonly step: number;
}

export interface SeriesSnapshot extends SeriesKey {
  readonly ops: number;
  readonly rows: number;
  /** By kind of failure. */
  readonly errors: Readonly<Record<string, number>>;
  /** From the intended start in QPS, from the actual one otherwise; successes and failures alike. Microseconds. */
  readonly response: EncodedHistogram;
  /** From sending to the answer. */
  readonly service: EncodedHistogram;
}

export interface GeneratorHealth {
  readonly event_loop_delay_ms_p99: number;
  /** How late arrivals were sent though a connection was free: the generator's own fault. */
  readonly schedule_lag_ms_p99: number;
  readonly cpu_percent: number;
  readonly memory_percent: number;
  readonly rss_bytes: number;
  /** Arrivals that wait for a connection now. */
  readonly waiting: number;
  /** Arrivals that were given up: percentiles are invalid once there are any. */
  readonly dropped: number;
  /** Arrivals that still waited when the run ended. */
  readonly unsent: number;
}

export interface WorkerSnapshot {
  readonly run_id: string;
  /** The child's. */
  readonly test_id: string;
  readonly worker_id: string;
  readonly worker_group_id: number;
  readonly sequence: number;
  readonly status: WorkerStatus;
  readonly phase: RunPhase;
  readonly step: number;
  readonly elapsed_seconds: number;
  readonly target_connections: number;
  readonly target_qps: number | null;
  readonly active_connections: number;
  /** Over the last second. */
  readonly qps: number;
  readonly health: GeneratorHealth;
  readonly series: readonly SeriesSnapshot[];
}
