/**
 * What a worker has measured since it began, as it sends it once a second: to the coordinator over
 * HTTP, best effort, and to the store. Rules: WS1 to WS3.
 */
import type { WorkerTarget } from "./control-events.ts";
import type { QueryKind } from "./operation.ts";
import type { RunPhase, WorkerStatus } from "./run-state.ts";
import type { WorkerIdentity } from "./worker-control.ts";

/** `decodeHistogram` of `histogram.ts` reads it. */
export type EncodedHistogram = string;

export interface SeriesKey {
  readonly operation: string;
  readonly kind: QueryKind;
  readonly phase: Extract<RunPhase, "WARMUP" | "MEASUREMENT" | "COOLDOWN">;
  /** 0 outside FIND_MAX. */
  readonly step: number;
}

export interface SeriesSnapshot extends SeriesKey {
  /** Operations that ended: successes and failures. */
  readonly ops: number;
  readonly rows: number;
  /** Counts by kind of failure. */
  readonly errors: Readonly<Record<string, number>>;
  /**
   * Response times of successes in microseconds: from the intended start in QPS mode, otherwise
   * from the actual one.
   */
  readonly response: EncodedHistogram;
  /** Times of successes from sending to the answer. */
  readonly service: EncodedHistogram;
  /**
   * Times of failures, from the same start as `response`. Null when an earlier version counted them
   * in `response`.
   */
  readonly failed: EncodedHistogram | null;
  /** Arrivals that were due and have no answer: given up, or waiting for more than a second. */
  readonly unserved: number;
  /** How long each of those has waited so far. */
  readonly censored: EncodedHistogram;
}

/** When the target answered in MEASUREMENT. Cumulative. */
export interface Answering {
  readonly measured_ms: number;
  /**
   * Stretches of 100 ms and more in which something was wanted of the target and nothing succeeded.
   * Microseconds.
   */
  readonly silences: EncodedHistogram;
  /**
   * The silences in which a connection could not be opened. Undefined in rows of an earlier
   * version.
   */
  readonly outages?: EncodedHistogram;
  /**
   * For a closed loop: the total time of its connections, and their stalls (SI5) of a second and
   * more by operation, in microseconds.
   */
  readonly connection_ms?: number;
  readonly stalls?: Readonly<Record<string, EncodedHistogram>>;
  /** Requests that were sent again (HT5); rows of an earlier version have no number. */
  readonly resent?: number;
  /**
   * How long the generator itself did not run (SI6), and the arrivals that came due then (GE10);
   * rows of an earlier version have neither.
   */
  readonly frozen_ms?: number;
  readonly skipped?: number;
}

export interface GeneratorHealth {
  readonly event_loop_delay_ms_p99: number;
  readonly event_loop_delay_ms_mean: number;
  /** How late arrivals were sent although a connection was free: the generator's own delay. */
  readonly schedule_lag_ms_p99: number;
  readonly schedule_lag_ms_p95: number;
  /**
   * Latencies of the same second's successes, which lateness is judged against. Null when nothing
   * succeeded.
   */
  readonly latency_ms_p50: number | null;
  readonly latency_ms_p95: number | null;
  readonly cpu_percent: number;
  readonly memory_percent: number;
  readonly rss_bytes: number;
  /** Arrivals that wait for a connection now. */
  readonly waiting: number;
  /** Arrivals that were given up. Percentiles are invalid once there are any. */
  readonly dropped: number;
  /** Arrivals that still waited when the run ended. */
  readonly unsent: number;
}

/** The health of the process. */
export type ProcessHealth = Pick<
  GeneratorHealth,
  | "event_loop_delay_ms_p99"
  | "event_loop_delay_ms_mean"
  | "cpu_percent"
  | "memory_percent"
  | "rss_bytes"
>;

export interface WorkerSnapshot {
  readonly run_id: string;
  /** The test id of the worker's row. */
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
  /** The rate of the last second. */
  readonly qps: number;
  readonly health: GeneratorHealth;
  readonly answering: Answering;
  /** The target's first message for each kind of failure. */
  readonly error_examples: Readonly<Record<string, string>>;
  readonly series: readonly SeriesSnapshot[];
  /**
   * In a step of a search, the responses of the last second alone, so that a second can be left out
   * (FM7).
   */
  readonly step_response: EncodedHistogram | null;
}

/** The snapshot of a worker that never measured. */
export function emptySnapshot(
  worker: WorkerIdentity,
  status: WorkerStatus,
  phase: RunPhase,
  target: WorkerTarget,
  process: ProcessHealth,
): WorkerSnapshot {
  const lags = { schedule_lag_ms_p99: 0, schedule_lag_ms_p95: 0 };
  const latencies = { latency_ms_p50: null, latency_ms_p95: null };
  return {
    run_id: worker.runId,
    test_id: worker.testId,
    worker_id: worker.workerId,
    worker_group_id: worker.groupId,
    sequence: 1,
    status,
    phase,
    step: 0,
    elapsed_seconds: 0,
    target_connections: target.connections,
    target_qps: target.qps,
    active_connections: 0,
    qps: 0,
    health: { ...process, ...lags, ...latencies, waiting: 0, dropped: 0, unsent: 0 },
    answering: { measured_ms: 0, silences: "" },
    error_examples: {},
    series: [],
    step_response: null,
  };
}
