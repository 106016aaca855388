/**
 * What a run's page says when the run has ended. Counts are those of the workers' last cumulative
 * series, which have everything; percentiles, distributions and errors are of the records in the
 * lake, exact, with the share of operations that has records.
 */

import type { EngineSession } from "../../../data/duckdb/index.ts";
import { quoteText } from "../../../data/sql/core/index.ts";
import type { Store } from "../../../ground/store/index.ts";
import { figuresOf } from "../core/figures.ts";
import { Histogram } from "../core/histogram.ts";
import type { RunId } from "../core/ids.ts";
import { type LatencySummary, latenciesBy } from "../core/latency.ts";
import type { QueryKind } from "../core/operation.ts";
import type { SeriesSnapshot } from "../core/worker-snapshot.ts";
import type { RecordedPercentiles } from "../store/finalize-run.ts";
import { readSeries } from "../store/worker-series.ts";
import { type ExecutionsDeps, withExecutions } from "./with-executions.ts";

export interface LatencyFigures {
  readonly p50_ms: number;
  readonly p90_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
  readonly avg_ms: number;
  /** Latencies of successful operations. */
  readonly min_ms: number | null;
  readonly max_ms: number;
}

export interface OperationFigures {
  readonly total_operations: number;
  readonly read_operations: number;
  readonly write_operations: number;
  readonly failed_operations: number;
  readonly recorded_operations: number;
  /** The share of operations that have a record. Null when there were no operations. */
  readonly coverage: number | null;
  /**
   * Latencies of successes, and of unserved arrivals with the time they waited so far. Null when
   * there are none.
   */
  readonly latency: LatencyFigures | null;
  readonly service: LatencyFigures | null;
}

export interface FinalFigures extends OperationFigures {
  readonly by_operation: readonly (OperationFigures & {
    readonly operation: string;
    readonly query_kind: QueryKind;
  })[];
  readonly errors_by_kind: Readonly<Record<string, number>>;
  /** Error messages of the records, the most frequent first. */
  readonly error_messages: readonly {
    readonly error_kind: string;
    readonly error_message: string | null;
    readonly count: number;
  }[];
  /** Latencies of recorded successes over time. Bounds are a quarter of an octave apart. */
  readonly heat_map: {
    readonly start_ms: number | null;
    readonly bucket_seconds: number;
    readonly cells: readonly {
      readonly at_seconds: number;
      readonly low_ms: number;
      readonly high_ms: number;
      readonly count: number;
    }[];
  };
  /** Latency outside the target, where enrichment gives the target's own time. */
  readonly app_overhead: {
    readonly p50_ms: number;
    readonly p95_ms: number;
    readonly p99_ms: number;
  } | null;
}

export interface FinalFiguresDeps extends ExecutionsDeps {
  readonly store: Store;
}

const timeBuckets = 120;
const messagesMax = 100;
const shares = "[0.5, 0.9, 0.95, 0.99, 0.999]";

export async function finalFigures(
  deps: FinalFiguresDeps,
  runId: RunId,
  signal: AbortSignal,
): Promise<FinalFigures> {
  const series = await deps.store.read((tx) => readSeries(tx, runId, { phase: "MEASUREMENT" }));
  const records = await withExecutions(deps, signal, (session) =>
    readRecords(session, runId, series, signal),
  );
  return combine(series, records ?? noRecords);
}

interface Recorded {
  readonly count: number;
  readonly successes: number;
  /** Null when none succeeded and none waits. */
  readonly latency: LatencyFigures | null;
  readonly service: LatencyFigures | null;
}

interface Records {
  readonly all: Recorded | undefined;
  readonly byKind: ReadonlyMap<string, Recorded>;
  readonly byOperation: ReadonlyMap<string, Recorded>;
  readonly errorMessages: FinalFigures["error_messages"];
  readonly heatMap: FinalFigures["heat_map"];
  readonly appOverhead: FinalFigures["app_overhead"];
}

const noRecords: Records = {
  all: undefined,
  byKind: new Map(),
  byOperation: new Map(),
  errorMessages: [],
  heatMap: { start_ms: null, bucket_seconds: 1, cells: [] },
  appOverhead: null,
};

async function readRecords(
  session: EngineSession,
  runId: RunId,
  series: readonly SeriesSnapshot[],
  signal: AbortSignal,
): Promise<Records> {
  const of = `FROM all_runs WHERE run_id = ${quoteText(runId)} AND NOT warmup`;
  const counts = await session.run(
    `SELECT operation, query_kind, count(*), count(*) FILTER (success) ${of}
GROUP BY GROUPING SETS ((), (query_kind), (operation)) HAVING count(*) > 0`,
    signal,
  );
  const whole = counts.find(([operation, kind]) => operation === null && kind === null);
  const { ops, errors } = figuresOf(series);
  const share = ops === errors ? 1 : Number(whole?.[3] ?? 0) / (ops - errors);
  const groups = await session.run(
    `WITH answered AS (SELECT operation, query_kind, app_elapsed_ms, service_ms, true AS is_answered ${of} AND success
  UNION ALL ${unservedSql(series, Math.min(1, share))})
SELECT operation, query_kind, quantile_cont(app_elapsed_ms, ${shares}), avg(app_elapsed_ms),
  min(app_elapsed_ms) FILTER (is_answered), max(app_elapsed_ms),
  quantile_cont(service_ms, ${shares}), avg(service_ms), min(service_ms), max(service_ms)
FROM answered GROUP BY GROUPING SETS ((), (query_kind), (operation)) HAVING count(*) > 0`,
    signal,
  );
  const [bounds] = await session.run(
    `SELECT min(start_ms), max(start_ms), quantile_cont(app_elapsed_ms - sf_total_elapsed_ms, [0.5, 0.95, 0.99]) ${of}`,
    signal,
  );
  const [startMs, endMs, overhead] = bounds ?? [];
  if (typeof startMs !== "number" || typeof endMs !== "number") return noRecords;
  const bucketSeconds = Math.max(1, Math.ceil((endMs - startMs) / 1000 / timeBuckets));
  const cells = await session.run(
    `SELECT floor((start_ms - ${startMs}) / ${bucketSeconds * 1000}) * ${bucketSeconds} AS at_seconds,
  floor(4 * log2(greatest(app_elapsed_ms, 0.001))) AS place, count(*) ${of} AND success GROUP BY ALL ORDER BY ALL`,
    signal,
  );
  const messages = await session.run(
    `SELECT error_kind, error_message, count(*) ${of} AND NOT success
GROUP BY ALL ORDER BY count(*) DESC, 1, 2 LIMIT ${messagesMax}`,
    signal,
  );
  const found = counts.map((row) => recordedOf(row, groups));
  const named = (at: 0 | 1): ReadonlyMap<string, Recorded> =>
    new Map(found.flatMap(({ key, recorded }) => (key[at] === null ? [] : [[key[at], recorded]])));
  return {
    all: found.find(({ key }) => key[0] === null && key[1] === null)?.recorded,
    byKind: named(1),
    byOperation: named(0),
    errorMessages: messages.map(([kind, message, count]) => ({
      error_kind: String(kind),
      error_message: typeof message === "string" ? message : null,
      count: Number(count),
    })),
    heatMap: {
      start_ms: startMs,
      bucket_seconds: bucketSeconds,
      cells: cells.map(([at, place, count]) => ({
        at_seconds: Number(at),
        low_ms: 2 ** (Number(place) / 4),
        high_ms: 2 ** ((Number(place) + 1) / 4),
        count: Number(count),
      })),
    },
    appOverhead: overheadOf(overhead),
  };
}

type GroupKey = readonly [operation: string | null, kind: string | null];

function recordedOf(
  row: readonly unknown[],
  groups: readonly (readonly unknown[])[],
): { readonly key: GroupKey; readonly recorded: Recorded } {
  const key = [row[0] ?? null, row[1] ?? null] as GroupKey;
  const group = groups.find((each) => (each[0] ?? null) === key[0] && (each[1] ?? null) === key[1]);
  const latency = group === undefined ? null : latencyOf(group, 2);
  const service = group === undefined ? null : latencyOf(group, 6);
  return {
    key,
    recorded: { count: Number(row[2]), successes: Number(row[3]), latency, service },
  };
}

/**
 * Unserved arrivals as rows with the time they waited. When only a share of operations was
 * recorded, the same share of arrivals.
 */
function unservedSql(series: readonly SeriesSnapshot[], share: number): string {
  const values = series.flatMap(({ operation, kind, censored }) =>
    [...(Histogram.decode(censored)?.buckets() ?? [])].map(({ lowUs, highUs, count }) => {
      const ms = (lowUs + highUs - 1) / 2000;
      return `(${quoteText(operation)}, ${quoteText(kind)}, ${ms}, ${Math.round(count * share)})`;
    }),
  );
  if (values.length === 0) values.push("('', '', 0.0, 0)");
  return `SELECT operation, query_kind, ms::DOUBLE, NULL, false FROM
  (SELECT operation, query_kind, ms, unnest(range(copies)) FROM (VALUES ${values.join(", ")}) u (operation, query_kind, ms, copies))`;
}

function latencyOf(row: readonly unknown[], at: number): LatencyFigures | null {
  const percentiles = row[at];
  if (!Array.isArray(percentiles)) return null;
  const [p50 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0] = percentiles.map(Number);
  const [avg, min, max] = [row[at + 1], row[at + 2], row[at + 3]];
  return {
    p50_ms: p50,
    p90_ms: p90,
    p95_ms: p95,
    p99_ms: p99,
    p999_ms: p999,
    avg_ms: Number(avg),
    min_ms: min === null || min === undefined ? null : Number(min),
    max_ms: Number(max),
  };
}

/** Percentiles for the run's final record. Undefined when nothing was recorded. */
export async function recordedPercentiles(
  deps: FinalFiguresDeps,
  runId: RunId,
  signal: AbortSignal,
): Promise<RecordedPercentiles | undefined> {
  const series = await deps.store.read((tx) => readSeries(tx, runId, { phase: "MEASUREMENT" }));
  const records = await withExecutions(deps, signal, (session) =>
    readRecords(session, runId, series, signal),
  );
  if (records?.all === undefined) return undefined;
  const named: readonly (readonly [string, Recorded])[] = [
    ...records.byKind,
    ...records.byOperation,
    ["ALL", records.all],
  ];
  return {
    recordCount: records.all.count,
    successCount: records.all.successes,
    latency: new Map(
      named.flatMap(([name, { latency }]) =>
        latency === null ? [] : [[name, summaryOf(latency)] as const],
      ),
    ),
  };
}

function summaryOf(latency: LatencyFigures): LatencySummary {
  return latenciesBy((name) => latency[name.replace("_latency", "") as keyof LatencyFigures]);
}

function overheadOf(found: unknown): FinalFigures["app_overhead"] {
  if (!Array.isArray(found)) return null;
  const [p50 = 0, p95 = 0, p99 = 0] = found.map(Number);
  return { p50_ms: p50, p95_ms: p95, p99_ms: p99 };
}

function combine(series: readonly SeriesSnapshot[], records: Records): FinalFigures {
  const byOperation = Map.groupBy(series, ({ operation }) => operation);
  return {
    ...operationFigures(series, records.all),
    by_operation: [...byOperation].map(([operation, own]) => ({
      operation,
      query_kind: own[0]?.kind ?? "CUSTOM",
      ...operationFigures(own, records.byOperation.get(operation)),
    })),
    errors_by_kind: figuresOf(series).errorsByKind,
    error_messages: records.errorMessages,
    heat_map: records.heatMap,
    app_overhead: records.appOverhead,
  };
}

function operationFigures(
  series: readonly SeriesSnapshot[],
  recorded: Recorded | undefined,
): OperationFigures {
  const { ops, reads, writes, errors } = figuresOf(series);
  const count = recorded?.count ?? 0;
  return {
    total_operations: ops,
    read_operations: reads,
    write_operations: writes,
    failed_operations: errors,
    recorded_operations: count,
    coverage: ops === 0 ? null : count / ops,
    latency: recorded?.latency ?? null,
    service: recorded?.service ?? null,
  };
}
