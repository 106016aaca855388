/**
 * What a run's page says when the run has ended. Counts are those of the workers' last cumulative series, which have everything; percentiles,
 * distributions and errors are of the records in the lake, exact, with the share of operations that has records.
 */
import type { EngineSession } from "../../queries/index.ts";
import { quoteText } from "../../sql/core/index.ts";
import type { Store } from "../../store/index.ts";
import { figuresOf } from "../core/figures.ts";
import type { QueryKind } from "../core/operation.ts";
import type { SeriesSnapshot } from "../core/worker-snapshot.ts";
import { type ExecutionsDeps, withExecutions } from "./with-executions.ts";

export interface LatencyFigures {
  readonly p50_ms: number;
  readonly p90_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
  readonly avg_ms: number;
  readonly min_ms: number;
  readonly max_ms: number;
}

export interface OperationFigures {
  readonly total_operations: number;
  readonly read_operations: number;
  readonly write_operations: number;
  readonly failed_operations: number;
  readonly recorded_operations: number;
  /** Of all, how many have a record; `null`: there were none. */
  readonly coverage: number | null;
  /** `null`: nothing was recorded. */
  readonly latency: LatencyFigures | null;
  readonly service: LatencyFigures | null;
}

export interface FinalFigures extends OperationFigures {
  readonly by_operation: readonly (OperationFigures & {
    readonly operation: string;
    readonly query_kind: QueryKind;
  })[];
  readonly errors_by_kind: Readonly<Record<string, number>>;
  /** Of records, the most frequent first. */
  readonly error_messages: readonly {
    readonly error_kind: string;
    readonly error_message: string | null;
    readonly count: number;
  }[];
  /** Of records: where latency was spent, and when. Bounds are a quarter of an octave apart. */
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
  /** What is not the target's own time, where enrichment says what that was. */
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
  runId: string,
  signal: AbortSignal,
): Promise<FinalFigures> {
  const series = await measuredSeries(deps.store, runId);
  const records = await withExecutions(deps, signal, (session) =>
    readRecords(session, runId, signal),
  );
  return combine(series, records ?? noRecords);
}

async function measuredSeries(store: Store, runId: string): Promise<readonly SeriesSnapshot[]> {
  const rows = await store.read(({ db }) =>
    db
      .selectFrom("worker_series")
      .selectAll()
      .where("run_id", "=", runId)
      .where("phase", "=", "MEASUREMENT")
      .orderBy("operation")
      .execute(),
  );
  return rows.map((row) => ({
    operation: row.operation,
    kind: row.query_kind as QueryKind,
    phase: "MEASUREMENT",
    step: row.step_number,
    ops: row.ops,
    rows: row.row_count,
    errors: JSON.parse(row.errors) as Readonly<Record<string, number>>,
    response: row.response,
    service: row.service,
  }));
}

interface Recorded {
  readonly count: number;
  readonly latency: LatencyFigures;
  readonly service: LatencyFigures;
}

interface Records {
  readonly all: Recorded | undefined;
  readonly byOperation: ReadonlyMap<string, Recorded>;
  readonly errorMessages: FinalFigures["error_messages"];
  readonly heatMap: FinalFigures["heat_map"];
  readonly appOverhead: FinalFigures["app_overhead"];
}

const noRecords: Records = {
  all: undefined,
  byOperation: new Map(),
  errorMessages: [],
  heatMap: { start_ms: null, bucket_seconds: 1, cells: [] },
  appOverhead: null,
};

async function readRecords(
  session: EngineSession,
  runId: string,
  signal: AbortSignal,
): Promise<Records> {
  const of = `FROM all_runs WHERE run_id = ${quoteText(runId)} AND NOT warmup`;
  const figures = ["app_elapsed_ms", "service_ms"].map(
    (name) => `quantile_cont(${name}, ${shares}), avg(${name}), min(${name}), max(${name})`,
  );
  const groups = await session.run(
    `SELECT operation, count(*), ${figures.join(", ")} ${of} GROUP BY GROUPING SETS ((), (operation))
HAVING count(*) > 0`,
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
  floor(4 * log2(greatest(app_elapsed_ms, 0.001))) AS place, count(*) ${of} GROUP BY ALL ORDER BY ALL`,
    signal,
  );
  const messages = await session.run(
    `SELECT error_kind, error_message, count(*) ${of} AND NOT success
GROUP BY ALL ORDER BY count(*) DESC, 1, 2 LIMIT ${messagesMax}`,
    signal,
  );
  const recorded = groups.map((row) => [row[0], recordedOf(row)] as const);
  return {
    all: recorded.find(([operation]) => operation === null)?.[1],
    byOperation: new Map(
      recorded.flatMap(([operation, each]) =>
        typeof operation === "string" ? [[operation, each]] : [],
      ),
    ),
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

function recordedOf(row: readonly unknown[]): Recorded {
  return { count: Number(row[1]), latency: latencyOf(row, 2), service: latencyOf(row, 6) };
}

function latencyOf(row: readonly unknown[], at: number): LatencyFigures {
  const [p50 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0] = (row[at] as readonly unknown[]).map(
    Number,
  );
  return {
    p50_ms: p50,
    p90_ms: p90,
    p95_ms: p95,
    p99_ms: p99,
    p999_ms: p999,
    avg_ms: Number(row[at + 1]),
    min_ms: Number(row[at + 2]),
    max_ms: Number(row[at + 3]),
  };
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
