/** A run's page, from the store alone: a few short reads. */

import type { Store } from "../../../ground/store/index.ts";
import { toMs } from "../core/figures.ts";
import { Histogram } from "../core/histogram.ts";
import type { RunId } from "../core/ids.ts";
import type { EnrichmentStatus, RunPhase, RunStatus } from "../core/run-state.ts";
import type { LoadMode } from "../core/scenario.ts";
import type { SloOutcome } from "../core/slo.ts";
import type { LoadTables } from "../core/tables.ts";
import type { RunVerdict } from "../core/verdict.ts";
import { parsed } from "../store/run-rows.ts";

type Result = LoadTables["test_results"];

/** Of the parent, as lists and pages show it. Nothing in it is a secret. */
export function resultBody(row: Result) {
  const {
    figures: _,
    find_max_result,
    slo_result,
    percentiles_valid,
    generator_bound,
    verdict,
    ...rest
  } = row;
  return {
    ...rest,
    status: rest.status as RunStatus,
    load_mode: rest.load_mode as LoadMode,
    enrichment_status: rest.enrichment_status as EnrichmentStatus | null,
    percentiles_valid: percentiles_valid === 1,
    generator_bound: generator_bound === 1,
    find_max_result: parsed<unknown>(find_max_result),
    slo_result: parsed<readonly SloOutcome[]>(slo_result),
    verdict: verdict as RunVerdict["verdict"],
  };
}

export async function readResults(store: Store, runId: RunId): Promise<readonly Result[]> {
  return await store.read(({ db }) =>
    db
      .selectFrom("test_results")
      .selectAll()
      .where("run_id", "=", runId)
      .orderBy("worker_id")
      .execute(),
  );
}

/**
 * The run's seconds after `afterMs`, in order. Counts and percentiles are of the phase so far,
 * `interval_…` of the second alone.
 */
export async function readSecondRows(
  store: Store,
  runId: RunId,
  { afterMs, limit }: { readonly afterMs: number; readonly limit: number },
) {
  const rows = await store.read(({ db }) =>
    db
      .selectFrom("metrics_snapshots")
      .selectAll()
      .where("run_id", "=", runId)
      .where("timestamp_ms", ">", afterMs)
      .orderBy("timestamp_ms")
      .limit(limit)
      .execute(),
  );
  return rows.map(({ interval_response: text, ...row }) => {
    const response = text === "" ? undefined : Histogram.decode(text);
    return {
      ...row,
      phase: row.phase as RunPhase,
      interval_ops: response?.count ?? 0,
      interval_p50_ms: toMs(response?.percentileUs(0.5)),
      interval_p95_ms: toMs(response?.percentileUs(0.95)),
      interval_p99_ms: toMs(response?.percentileUs(0.99)),
    };
  });
}

/** Steps of a search for the maximum, in order. */
export async function readStepRows(store: Store, runId: RunId) {
  const rows = await store.read(({ db }) =>
    db
      .selectFrom("find_max_step_history")
      .selectAll()
      .where("run_id", "=", runId)
      .orderBy("step_number")
      .execute(),
  );
  return rows.map((row) => ({ ...row, queue_detected: row.queue_detected === 1 }));
}

/** Workers' seconds after `afterMs`, in order. */
export async function readWorkerRows(
  store: Store,
  runId: RunId,
  {
    workerId,
    afterMs,
    limit,
  }: { readonly workerId?: string; readonly afterMs: number; readonly limit: number },
) {
  const rows = await store.read(({ db }) => {
    const all = db
      .selectFrom("worker_metrics_snapshots")
      .selectAll()
      .where("run_id", "=", runId)
      .where("timestamp_ms", ">", afterMs);
    const own = workerId === undefined ? all : all.where("worker_id", "=", workerId);
    return own.orderBy("timestamp_ms").orderBy("worker_id").limit(limit).execute();
  });
  return rows.map(({ custom_metrics, ...row }) => ({
    ...row,
    custom_metrics: parsed<Record<string, unknown>>(custom_metrics) ?? {},
  }));
}

export async function readPolls(store: Store, runId: RunId, limit: number) {
  const rows = await store.read(({ db }) =>
    db
      .selectFrom("warehouse_poll_snapshots")
      .selectAll()
      .where("run_id", "=", runId)
      .orderBy("timestamp_ms", "desc")
      .limit(limit)
      .execute(),
  );
  return rows.reverse().map(({ raw_result, ...row }) => ({
    ...row,
    raw_result: parsed<Record<string, unknown>>(raw_result) ?? {},
  }));
}
