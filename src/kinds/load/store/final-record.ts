/**
 * A run's final record in the store: columns of `test_results` for lists and SQL, and the whole of
 * it in `figures`. It is written with the run's end, and once more when the lake's records have
 * been read (FI2).
 */

import { sql } from "kysely";
import type { Tx } from "../../../ground/store/index.ts";
import { type FinalRecord, finalRecordOf, type RecordFacts } from "../core/final-record.ts";
import type { FindMaxResult } from "../core/find-max.ts";
import { finalResult } from "../core/find-max-run.ts";
import type { RunId } from "../core/ids.ts";
import { type LatencySummary, latenciesOf, latencyNames } from "../core/latency.ts";
import type { RunRecord } from "../core/run-record.ts";
import { isTerminal } from "../core/run-state.ts";
import { readWorkers } from "./run-rows.ts";
import { readSeries, readWorkerSeconds, type StoredSeries } from "./worker-series.ts";

/** The facts of a run's record at `nowMs`. */
export async function readRecordFacts(
  tx: Tx,
  run: RunRecord,
  nowMs: number,
  recorded?: ReadonlyMap<string, LatencySummary>,
): Promise<RecordFacts & { readonly series: readonly StoredSeries[] }> {
  const seconds = await readWorkerSeconds(tx, run.runId);
  const last = new Map(seconds.map((each) => [each.workerId, each]));
  const workers = await readWorkers(tx, run.runId);
  return {
    scenario: run.scenario,
    series: await readSeries(tx, run.runId, { phase: "MEASUREMENT" }),
    measuredSeconds: measuredSecondsOf(run, nowMs),
    health: seconds.filter(({ phase }) => phase === "MEASUREMENT"),
    answering: [...last.values()].map(({ answering }) => answering),
    errorExamples: Object.assign({}, ...[...last.values()].map((each) => each.errorExamples)),
    workerCount: workers.length,
    lostWorkers: workers.filter(({ status }) => status === "DEAD" || status === "FAILED").length,
    status: run.status,
    search: findMaxResultOf(run, false),
    recorded,
  };
}

/**
 * With `isBound` the generator was the bottleneck, so that nothing is confirmed. Null when no
 * search was begun.
 */
export function findMaxResultOf(
  { findMax, scenario, cancellationReason }: RunRecord,
  isBound: boolean,
): FindMaxResult | null {
  if (findMax === null) return null;
  const reason = cancellationReason ?? "the run ended before";
  return finalResult(scenario, findMax, { reason, isGeneratorBound: isBound });
}

/**
 * At most the planned time, and at most until the stop: workers count nothing that begins later
 * (LW19, LW20).
 */
export function measuredSecondsOf(
  { warmupEndTimeMs: fromMs, stopTimeMs, scenario: { workload } }: RunRecord,
  endTimeMs: number,
): number {
  if (fromMs === null) return 0;
  const isSearch = workload.loadMode === "FIND_MAX_CONCURRENCY";
  const secondsMax = isSearch ? Infinity : workload.durationSeconds;
  return Math.min(secondsMax, Math.max(0, (stopTimeMs ?? endTimeMs) - fromMs) / 1000);
}

/** Undefined when the run has not ended, or ended under an earlier version. */
async function readFinalRecord(tx: Tx, runId: RunId): Promise<FinalRecord | undefined> {
  return finalRecordIn(await readFigures(tx, runId));
}

/** The figures of a run that have no column. */
export async function readFigures({ db }: Tx, runId: RunId): Promise<StoredFigures> {
  const row = await db
    .selectFrom("test_results")
    .select("figures")
    .where("test_id", "=", runId)
    .executeTakeFirst();
  return JSON.parse(row?.figures ?? "{}") as StoredFigures;
}

export type StoredFigures = Readonly<Record<string, unknown>> & { readonly final?: FinalRecord };

export function finalRecordIn({ final }: StoredFigures): FinalRecord | undefined {
  if (final === undefined) return undefined;
  // A record of an earlier version lacks these fields.
  const { resent_requests = null, generator_frozen_ms = null, skipped_arrivals = null } = final;
  return { ...final, resent_requests, generator_frozen_ms, skipped_arrivals };
}

/** The stored record, or one computed from the current figures. */
export async function readRecord(tx: Tx, run: RunRecord, nowMs: number): Promise<FinalRecord> {
  const stored = isTerminal(run.status) ? await readFinalRecord(tx, run.runId) : undefined;
  if (stored !== undefined) return stored;
  const recorded = isTerminal(run.status) ? await olderPercentiles(tx, run.runId) : undefined;
  return finalRecordOf(await readRecordFacts(tx, run, run.endTimeMs ?? nowMs, recorded));
}

/** An earlier version kept those of the lake's records in the columns alone. */
async function olderPercentiles(
  { db }: Tx,
  runId: RunId,
): Promise<ReadonlyMap<string, LatencySummary> | undefined> {
  const row = await db
    .selectFrom("test_results")
    .select(latencyNames)
    .where("test_id", "=", runId)
    .executeTakeFirst();
  return row === undefined ? undefined : new Map([["ALL", row]]);
}

export async function writeFinalRecord(
  tx: Tx,
  runId: RunId,
  record: FinalRecord,
  more: Readonly<Record<string, unknown>>,
): Promise<void> {
  const before = await readFigures(tx, runId);
  const { slos } = record;
  await tx.db
    .updateTable("test_results")
    .set({
      total_operations: record.total_operations,
      read_operations: record.read_operations,
      write_operations: record.write_operations,
      failed_operations: record.failed_operations,
      unserved: record.unserved,
      qps: record.measured_seconds > 0 ? record.qps : null,
      ...latenciesOf(record),
      availability_pct: record.availability_pct,
      longest_silence_ms: record.longest_silence_ms,
      percentiles_valid: record.percentiles_valid ? 1 : 0,
      generator_bound: record.generator_bound ? 1 : 0,
      verdict: record.verdict,
      slo_result: slos.length === 0 ? null : JSON.stringify(slos),
      figures: JSON.stringify({ ...before, ...more, final: record }),
      updated_at_ms: sql<number>`now_ms()`,
    })
    .where("test_id", "=", runId)
    .execute();
}
