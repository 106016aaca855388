/**
 * The payload of `/ws/test/{run_id}`: the whole state of a run, once a second. Field by field the
 * specification's; what is added stands at the end of each part. Rules: RU1 to RU7.
 */

import type { z } from "zod";
import { isoTime as iso } from "../../../ground/kernel/iso-time.ts";
import { availabilityOf, usualAnswersOf } from "./availability.ts";
import { type Figures, figuresOf, slowestWorker, toMs } from "./figures.ts";
import type { FinalRecord } from "./final-record.ts";
import { baselineP95Ms, type FindMaxState } from "./find-max.ts";
import { frozenOf } from "./generator-bound.ts";
import { generatorBoundReason } from "./generator-health.ts";
import { arePercentilesValid, type Latency, measuredOf } from "./latency.ts";
import type { RunRecord, WorkerRecord } from "./run-record.ts";
import {
  type EnrichmentStatus,
  healthOf,
  isTerminal,
  type RunPhase,
  type WorkerHealth,
} from "./run-state.ts";
import type { runUpdateFields } from "./run-update-schema.ts";
import type { Immutable } from "./schema-parts.ts";
import { sum } from "./statistics.ts";
import type { ServerPoll } from "./target.ts";
import type { RunVerdict } from "./verdict.ts";
import type { SeriesSnapshot, WorkerSnapshot } from "./worker-snapshot.ts";

export type RunUpdate = Immutable<z.output<typeof runUpdateFields>>;
export type FindMaxUpdate = NonNullable<RunUpdate["find_max"]>;
export type LogUpdate = RunUpdate["logs"][number];
/** Averages for trends, peaks for limits. */
export type ResourcesUpdate = RunUpdate["custom_metrics"]["resources"];
type AggregateMetrics = RunUpdate["run"]["aggregate_metrics"];
type WorkerUpdate = RunUpdate["workers"][number];
type OperationUpdate = RunUpdate["custom_metrics"]["app_ops_breakdown"][string];

export interface RunUpdateFacts
  extends Pick<
    RunRecord,
    | ("runId" | "status" | "phase" | "expectedWorkers" | "cancellationReason")
    | ("startTimeMs" | "warmupStartTimeMs" | "warmupEndTimeMs" | "stopTimeMs" | "endTimeMs")
  > {
  readonly nowMs: number;
  readonly warmupSeconds: number;
  readonly durationSeconds: number;
  readonly targetQps: number | null;
  readonly workers: readonly RunUpdateWorker[];
  readonly poll: ServerPoll | null;
  readonly findMax: FindMaxUpdate | null;
  readonly enrichmentStatus: EnrichmentStatus | null;
  readonly warnings: readonly string[];
  readonly logs: readonly LogUpdate[];
  /** The final record of a run that has ended; every figure comes from it. */
  readonly record: FinalRecord | undefined;
}

export interface RunUpdateWorker
  extends Pick<
    WorkerRecord,
    | ("workerId" | "groupId" | "status" | "phase" | "hostName")
    | ("lastHeartbeatMs" | "lastError" | "targetConnections")
  > {
  /** The newest snapshot and when it came. Undefined before the first. */
  readonly snapshot: WorkerSnapshot | undefined;
  readonly snapshotAtMs: number;
}

/** A rate covers the last second; one older than this is ignored. */
const rateMsMax = 5_000;

export function buildRunUpdate(facts: RunUpdateFacts): RunUpdate {
  const { status, nowMs } = facts;
  const phase = shownPhase(facts);
  const figuresPhase: "WARMUP" | "MEASUREMENT" =
    facts.phase === "WARMUP" ? "WARMUP" : "MEASUREMENT"; // RU2
  const counted = facts.workers.filter(
    (worker) => isTerminal(status) || healthIn(worker, nowMs) !== "DEAD",
  ); // RU3
  const series = counted.map((worker) => seriesOf(worker, figuresPhase));
  const aggregate = aggregateOf(facts, counted, series);
  const elapsed = elapsedSeconds(facts);
  return {
    test_id: facts.runId,
    status,
    phase,
    timestamp: iso(nowMs),
    run: {
      run_id: facts.runId,
      status,
      phase,
      worker_count: facts.workers.length,
      elapsed_seconds: elapsed,
      timing: { elapsed_display_seconds: elapsed },
      aggregate_metrics: aggregate,
      figures_phase: figuresPhase,
    },
    timing: { elapsed_display_seconds: elapsed, ...phaseTiming(facts) },
    latency_aggregation_method: facts.expectedWorkers > 1 ? "merged_histogram" : null, // RU4
    workers: facts.workers.map((worker) => workerUpdate(worker, nowMs, figuresPhase)),
    ops: { total: aggregate.total_ops, current_per_sec: aggregate.qps },
    operations: { reads: aggregate.read_count, writes: aggregate.write_count },
    latency: {
      p50: aggregate.p50_latency_ms,
      p95: aggregate.p95_latency_ms,
      p99: aggregate.p99_latency_ms,
      avg: aggregate.avg_latency_ms,
    },
    errors: { count: aggregate.total_errors, rate: aggregate.error_rate },
    connections: { active: aggregate.active_connections, target: aggregate.target_connections },
    warehouse: facts.poll && {
      name: facts.poll.name,
      started_clusters: facts.poll.startedClusters,
      running: facts.poll.running,
      queued: facts.poll.queued,
    },
    find_max: facts.findMax,
    custom_metrics: {
      app_ops_breakdown: operationsOf(facts.record, series.flat()),
      sf_bench: facts.poll?.raw ?? {},
      resources: resourcesOf(counted),
    },
    cancellation_reason: facts.cancellationReason,
    enrichment_status: facts.enrichmentStatus,
    warnings: facts.warnings,
    logs: facts.logs,
    verdict: facts.record === undefined ? null : verdictOf(facts.record),
  };
}

/** A step's state for display. */
export function findMaxUpdate(
  state: FindMaxState,
  current: {
    readonly qps: number | null;
    readonly p95Ms: number | null;
    readonly errorRate: number | null;
  },
  changes: { readonly qpsVsPriorPct: number | null; readonly queueDetected: boolean },
  nowMs: number,
): FindMaxUpdate {
  const baseline = baselineP95Ms(state) ?? null;
  const isKnown = baseline !== null && current.p95Ms !== null && baseline > 0;
  return {
    current_step: state.step,
    target_workers: state.connections,
    baseline_p95_ms: baseline,
    current_p95_ms: current.p95Ms,
    p95_vs_baseline_pct: isKnown ? ((current.p95Ms ?? 0) / baseline - 1) * 100 : null,
    qps: current.qps,
    qps_vs_prior_pct: changes.qpsVsPriorPct,
    error_rate: current.errorRate,
    queue_detected: changes.queueDetected,
    status: state.stage === "climb" ? "STEPPING" : state.stage.toUpperCase(),
    last_updated: iso(nowMs),
  };
}

function aggregateOf(
  facts: RunUpdateFacts,
  counted: readonly RunUpdateWorker[],
  series: readonly (readonly SeriesSnapshot[])[],
): AggregateMetrics {
  const figures = figuresOf(series.flat());
  const { service } = figures;
  const { record } = facts;
  const latency: Latency = record ?? measuredOf(figures).latency; // RU7
  const answering = counted.flatMap(({ snapshot }) => snapshot?.answering ?? []);
  const frozen = frozenOf(answering);
  const availability = record ?? availabilityOf(answering, usualAnswersOf(series.flat()));
  return {
    total_ops: figures.ops,
    qps: sum(counted.map((worker) => rateOf(worker, facts))),
    p50_latency_ms: latency.p50_latency_ms,
    p95_latency_ms: latency.p95_latency_ms,
    p99_latency_ms: latency.p99_latency_ms,
    avg_latency_ms: latency.avg_latency_ms,
    error_rate: errorRate(figures),
    total_errors: figures.errors,
    active_connections: sum(counted.map(({ snapshot }) => snapshot?.active_connections ?? 0)),
    target_connections: sum(counted.map(({ targetConnections }) => targetConnections)),
    read_count: figures.reads,
    write_count: figures.writes,
    p999_latency_ms: latency.p999_latency_ms,
    max_latency_ms: latency.max_latency_ms,
    service_p50_ms: toMs(service.percentileUs(0.5)),
    service_p99_ms: toMs(service.percentileUs(0.99)),
    errors_by_kind: figures.errorsByKind,
    // A single worker's latencies are those of the run, so they come from the record too.
    slowest_worker: series.length === 1 ? ownTail(latency) : slowestWorker(series),
    target_qps: facts.targetQps,
    min_latency_ms: latency.min_latency_ms,
    unserved: record === undefined ? figures.unserved : record.unserved,
    percentiles_valid: arePercentilesValid(latency),
    at_least: latency.at_least,
    availability_pct: availability?.availability_pct ?? null,
    longest_silence_ms: availability?.longest_silence_ms ?? null,
    resent_requests:
      record === undefined
        ? sum(answering.map(({ resent = 0 }) => resent))
        : record.resent_requests,
    generator_frozen_ms: record === undefined ? frozen.frozenMs : record.generator_frozen_ms,
    skipped_arrivals: record === undefined ? frozen.skipped : record.skipped_arrivals,
  };
}

function verdictOf({ verdict, reasons, has_broken_limits, allowances }: FinalRecord): RunVerdict {
  return { verdict, reasons, has_broken_limits, allowances };
}

function workerUpdate(
  worker: RunUpdateWorker,
  nowMs: number,
  figuresPhase: "WARMUP" | "MEASUREMENT",
): WorkerUpdate {
  const { snapshot } = worker;
  const { ops, errors, response } = figuresOf(seriesOf(worker, figuresPhase));
  const agoMs = Math.max(0, nowMs - worker.lastHeartbeatMs);
  return {
    worker_id: worker.workerId,
    worker_group_id: worker.groupId,
    status: worker.status,
    phase: worker.phase,
    health: healthIn(worker, nowMs),
    last_heartbeat: iso(worker.lastHeartbeatMs),
    last_heartbeat_ago_s: Math.floor(agoMs / 1000),
    metrics: {
      qps: nowMs - worker.snapshotAtMs > rateMsMax ? 0 : (snapshot?.qps ?? 0),
      p95_latency_ms: toMs(response.percentileUs(0.95)),
      error_count: errors,
      active_connections: snapshot?.active_connections ?? 0,
      target_connections: worker.targetConnections,
      total_ops: ops,
      cpu_percent: snapshot?.health.cpu_percent ?? null,
      memory_percent: snapshot?.health.memory_percent ?? null,
      event_loop_delay_ms: snapshot?.health.event_loop_delay_ms_p99 ?? null,
      schedule_lag_ms: snapshot?.health.schedule_lag_ms_p99 ?? null,
    },
    host_name: worker.hostName,
    last_error: worker.lastError,
  };
}

function operationsOf(
  record: FinalRecord | undefined,
  series: readonly SeriesSnapshot[],
): Readonly<Record<string, OperationUpdate>> {
  if (record !== undefined) {
    return Object.fromEntries(record.operations.map((each) => [each.operation, operationOf(each)]));
  }
  const byName = Map.groupBy(series, ({ operation }) => operation);
  const updates = [...byName].map(([operation, own]) => {
    const { ops, errors, unserved, latency } = measuredOf(figuresOf(own));
    const counts = { operation, query_kind: own[0]?.kind ?? "CUSTOM", ops, errors, unserved };
    return [operation, operationOf({ ...counts, ...latency })] as const;
  });
  return Object.fromEntries(updates);
}

function operationOf(each: OperationUpdate): OperationUpdate {
  return {
    operation: each.operation,
    query_kind: each.query_kind,
    ops: each.ops,
    errors: each.errors,
    p50_latency_ms: each.p50_latency_ms,
    p95_latency_ms: each.p95_latency_ms,
    p99_latency_ms: each.p99_latency_ms,
    unserved: each.unserved,
    at_least: each.at_least,
  };
}

function ownTail({ p95_latency_ms, p99_latency_ms }: Latency): ReturnType<typeof slowestWorker> {
  return { p95_latency_ms, p99_latency_ms };
}

function resourcesOf(workers: readonly RunUpdateWorker[]): ResourcesUpdate {
  const health = workers.flatMap(({ snapshot }) => snapshot?.health ?? []);
  const peak = (values: readonly number[]): number | null =>
    values.length === 0 ? null : Math.max(...values);
  const average = (values: readonly number[]): number | null =>
    values.length === 0 ? null : sum(values) / values.length;
  const cpu = health.map(({ cpu_percent: percent }) => percent);
  const memory = health.map(({ memory_percent: percent }) => percent);
  return {
    cpu_percent_avg: average(cpu),
    cpu_percent_peak: peak(cpu),
    memory_percent_avg: average(memory),
    memory_percent_peak: peak(memory),
    schedule_lag_ms_peak: peak(health.map(({ schedule_lag_ms_p99: lag }) => lag)),
    event_loop_delay_ms_peak: peak(health.map(({ event_loop_delay_ms_p99: delay }) => delay)),
    waiting: sum(health.map(({ waiting }) => waiting)),
    dropped: sum(health.map(({ dropped }) => dropped)),
    generator_bound_reason: health.flatMap((each) => generatorBoundReason(each) ?? [])[0] ?? null,
  };
}

function seriesOf({ snapshot }: RunUpdateWorker, phase: string): readonly SeriesSnapshot[] {
  return snapshot?.series.filter((each) => each.phase === phase) ?? [];
}

function rateOf(
  { snapshot, snapshotAtMs }: RunUpdateWorker,
  { nowMs, status }: RunUpdateFacts,
): number {
  if (isTerminal(status) || nowMs - snapshotAtMs > rateMsMax) return 0;
  return snapshot?.qps ?? 0;
}

function healthIn({ status, lastHeartbeatMs }: RunUpdateWorker, nowMs: number): WorkerHealth {
  if (status === "DEAD" || status === "FAILED") return "DEAD";
  return status === "COMPLETED" ? "HEALTHY" : healthOf(nowMs - lastHeartbeatMs);
}

/** RU6 */
function shownPhase({ status, phase, enrichmentStatus }: RunUpdateFacts): RunPhase {
  const isEnriching = enrichmentStatus === "PENDING" || enrichmentStatus === "RUNNING";
  return status === "COMPLETED" && isEnriching ? "PROCESSING" : phase;
}

/** RU5 */
function elapsedSeconds({ startTimeMs, endTimeMs, nowMs }: RunUpdateFacts): number {
  if (startTimeMs === null) return 0;
  return Math.max(0, (endTimeMs ?? nowMs) - startTimeMs) / 1000;
}

function phaseTiming(
  facts: RunUpdateFacts,
): Pick<RunUpdate["timing"], "phase_duration_seconds" | "phase_elapsed_seconds"> {
  const { phase, nowMs, warmupStartTimeMs, warmupEndTimeMs, startTimeMs, stopTimeMs } = facts;
  const since = (fromMs: number | null, toMs: number, seconds: number | null) => ({
    phase_elapsed_seconds: fromMs === null ? 0 : Math.max(0, toMs - fromMs) / 1000,
    phase_duration_seconds: seconds,
  });
  if (phase === "WARMUP") return since(warmupStartTimeMs, nowMs, facts.warmupSeconds);
  if (phase === "MEASUREMENT") return since(warmupEndTimeMs, nowMs, facts.durationSeconds);
  if (phase === "PREPARING") return since(startTimeMs, nowMs, null);
  return since(stopTimeMs, facts.endTimeMs ?? nowMs, null);
}

function errorRate({ ops, errors }: Figures): number {
  return ops === 0 ? 0 : errors / ops;
}
