/** Tables, dynamic tables and their refreshes as the API shows them. */

import {
  type LakeOverview,
  type LakeTableOverview,
  visibleColumns,
} from "../../../data/lake/index.ts";
import { formatTableName, type LagPoint } from "../core/index.ts";
import type { TableOverview } from "../store/overview.ts";
import type { RefreshHistoryRecord } from "../store/refresh-history.ts";
import type { DynamicTableBody, LagBody, RefreshBody, TableBody } from "./table-schemas.ts";

/** Everything that the bodies are made of, read at one moment. */
export interface TablesView {
  readonly nowMs: number;
  readonly snapshot: number;
  readonly tables: readonly TableBody[];
  readonly dynamicTables: readonly {
    readonly overview: TableOverview;
    readonly body: DynamicTableBody;
  }[];
  /** The two parts of each name, by the table's one-text name. */
  readonly words: ReadonlyMap<string, { readonly schema: string; readonly name: string }>;
}

export function viewOf(
  nowMs: number,
  lake: LakeOverview,
  overviews: readonly TableOverview[],
): TablesView {
  const nameOf = new Map(
    lake.tables.map(({ tableId, schema, name }) => [tableId, formatTableName(schema, name)]),
  );
  const dynamic = new Set(overviews.map(({ tableId }) => tableId));
  const readersOf = Map.groupBy(
    overviews.flatMap(({ label, sources }) => sources.map((source) => ({ source, label }))),
    ({ source }) => source,
  );
  const readers = (tableId: TableOverview["tableId"]): string[] =>
    (readersOf.get(tableId) ?? []).map(({ label }) => label).sort();
  const sourcesOf = ({ sources }: TableOverview): DynamicTableBody["sources"] =>
    sources.flatMap((source) => {
      const name = nameOf.get(source);
      if (name === undefined) return []; // Dropped by another writer.
      return [{ name, kind: dynamic.has(source) ? ("dynamic" as const) : ("plain" as const) }];
    });
  return {
    nowMs,
    snapshot: lake.snapshot,
    tables: lake.tables.map((table) => ({
      ...tableBody(table),
      kind: dynamic.has(table.tableId) ? ("dynamic" as const) : ("plain" as const),
      readers: readers(table.tableId),
    })),
    dynamicTables: overviews.map((overview) => ({
      overview,
      body: {
        ...dynamicTableBody(overview),
        sources: sourcesOf(overview),
        readers: readers(overview.tableId),
      },
    })),
    words: new Map(
      lake.tables.map(({ schema, name }) => [formatTableName(schema, name), { schema, name }]),
    ),
  };
}

function tableBody(table: LakeTableOverview): Omit<TableBody, "kind" | "readers"> {
  return {
    name: formatTableName(table.schema, table.name),
    schema: table.schema,
    table_id: table.tableId,
    columns: visibleColumns(table).map(({ name, type, nullable, defaultValue }) => ({
      name,
      type,
      nullable,
      default: defaultValue ?? null,
    })),
    row_count: table.rowCount,
    size_bytes: table.sizeBytes,
    file_count: table.fileCount,
    changed_snapshot: table.changedSnapshot,
  };
}

function dynamicTableBody(table: TableOverview): Omit<DynamicTableBody, "sources" | "readers"> {
  const { targetLag, lastRefresh } = table;
  return {
    name: table.label,
    schema: table.schema,
    table_id: table.tableId,
    status: table.status,
    status_reason: table.statusReason,
    wait_reason: table.waitReason,
    activity: table.activity,
    refreshed_by: table.refreshedBy ?? null,
    lag_ms: table.lagMs ?? null,
    target_lag_ms: targetLag.kind === "time" ? targetLag.ms : null,
    effective_target_lag_ms: table.effectiveLagMs ?? null,
    late_since_ms: table.lateSinceMs ?? null,
    lag_missed_count: table.lagMissedCount,
    mode: table.mode,
    mode_wish: table.modeWish,
    mode_reason: table.modeReason,
    is_volatile: table.isVolatile,
    last_refresh:
      lastRefresh === undefined
        ? null
        : {
            state: lastRefresh.state,
            action: lastRefresh.action ?? null,
            at_ms: lastRefresh.atMs,
          },
    last_error: table.lastError ?? null,
    failures_in_a_row: table.failuresInARow,
    next_due_ms: table.nextDueMs ?? null,
    expected_duration_ms: table.expectedDurationMs,
    data_snapshot: table.dataSnapshot ?? null,
    data_time_ms: table.dataTimeMs ?? null,
    created_at_ms: table.createdAtMs,
  };
}

export function refreshBody(record: RefreshHistoryRecord): RefreshBody {
  return {
    number: record.number,
    state: record.state,
    action: record.action ?? null,
    trigger: record.trigger,
    attempt: record.attempt,
    repeats: record.repeats,
    started_at_ms: record.startedAtMs,
    ended_at_ms: record.endedAtMs,
    data_time_ms: record.dataTimeMs ?? null,
    source_snapshot: record.sourceSnapshot ?? null,
    snapshot: record.snapshot ?? null,
    rows_inserted: record.rowsInserted,
    rows_deleted: record.rowsDeleted,
    reason: record.reason,
    part_count: record.partCount,
    worker_count: record.workerCount,
    worker_id: record.workerId === "" ? null : record.workerId,
    error: record.error === undefined ? null : { ...record.error },
  };
}

export function lagBody(
  { effectiveLagMs }: TableOverview,
  points: readonly LagPoint[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): LagBody {
  return {
    now_ms: toMs,
    from_ms: fromMs,
    effective_target_lag_ms: effectiveLagMs ?? null,
    points: points.map(({ atMs, lagMs, isEstimated }) => ({
      at_ms: atMs,
      lag_ms: lagMs,
      estimated: isEstimated,
    })),
  };
}
