/**
 * The definitions of dynamic tables. Each function runs in the caller's catalog transaction, so
 * that its changes and those of the lake (`LakeCatalog.commitIn`) happen together or not at all. A
 * replaced table keeps its old contents until those of the new definition are published. Rules: TG1
 * to TG4.
 */

import type { TableId } from "../../../data/lake/core/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { CatalogTx, Tx } from "../../../ground/store/index.ts";
import {
  type DynamicTable,
  decideReplacementRefusal,
  formatTableName,
  type NamedColumn,
  type TargetLag,
} from "../core/index.ts";
import { pinNeeded, type SnapshotPins, unpinSources } from "./needed-snapshots.ts";
import { abandonTargets, addRequest, dropWork } from "./pending-work.ts";
import { resumeFollowers } from "./suspension.ts";
import {
  type DynamicTableRow,
  dynamicTableOf,
  groupSources,
  isStopped,
  notFailing,
  readGraph,
  readRows,
  readSources,
  requireRow,
  type SourceColumns,
} from "./table-rows.ts";

/** `tableId` is the table's id in the lake; `sources` are without duplicates. */
export interface TableDefinition
  extends Pick<
    DynamicTable,
    | "tableId"
    | "schema"
    | "name"
    | "definition"
    | "targetLag"
    | "modeWish"
    | "mode"
    | "modeReason"
    | "isVolatile"
    | "sources"
  > {
  /**
   * The columns that the definition knows of each source, in their order. Absent for all columns.
   */
  readonly sourceColumns?: SourceColumns;
  readonly initialize: "ON_CREATE" | "ON_SCHEDULE";
}

/** Throws `already_exists` when the name or the id is taken. */
export async function createDynamicTable(
  tx: CatalogTx,
  definition: TableDefinition,
): Promise<DynamicTable> {
  const dynamicTable = formatTableName(definition.schema, definition.name);
  const taken = await tx.db
    .selectFrom("dynamic_tables")
    .select("dynamic_table")
    .where("dynamic_table", "=", dynamicTable)
    .executeTakeFirst();
  if (taken !== undefined) {
    const hint = "CREATE OR REPLACE DYNAMIC TABLE takes its place.";
    const message = `there is a dynamic table ${dynamicTable}`;
    throw new OperatingError("already_exists", "never", message, { hint });
  }
  refuseSelf(dynamicTable, definition);
  const row: DynamicTableRow = {
    dynamic_table: dynamicTable,
    ...definedColumns(definition),
    ...withoutContents,
    target_snapshot: null,
    requested_at_ms: null,
    lag_missed_count: 0,
    last_refresh_state: null,
    last_refresh_action: null,
    last_refresh_at_ms: null,
    part_count: 0,
    part_done_count: 0,
    created_at_ms: await tx.nowMs(),
  };
  await tx.insert("dynamic_tables", row);
  await writeSources(tx, definition);
  if (definition.initialize === "ON_CREATE") await addRequest(tx, row, "INITIAL");
  return await readBack(tx, definition.tableId);
}

/** The state of a new definition, whatever was known of the one before. */
const withoutContents = {
  status: "INITIALIZING",
  status_reason: "",
  suspended_by: null,
  wait_reason: "",
  data_snapshot: null,
  data_time_ms: null,
  published_snapshot: null,
  late_since_ms: null,
  failures_in_a_row: 0,
  last_error: null,
  expected_duration_ms: 0,
  expected_response_ms: 0,
  ...notFailing,
} as const;

/** The columns that readers are bound to. Undefined when the caller has checked them. */
export interface ReplacedColumns {
  readonly before: readonly NamedColumn[];
  readonly after: readonly NamedColumn[];
}

/**
 * Replaces the definition under its name. `definition.tableId` may be new, if the lake needed a new
 * table. Readers then read that one, whole the first time.
 */
export async function replaceDynamicTable(
  tx: CatalogTx,
  tableId: TableId,
  definition: TableDefinition,
  columns: ReplacedColumns | undefined,
  pins?: SnapshotPins,
): Promise<DynamicTable> {
  const row = await requireRow(tx, tableId);
  const graph = await readGraph(tx);
  const cycle = graph.findCycle(tableId, definition.sources);
  if (cycle !== undefined) throw cycleRefusal(row.dynamic_table, cycle);
  refuseSelf(row.dynamic_table, definition);
  const readers = graph.readersOf(tableId).map(({ label }) => label);
  const refusal =
    columns === undefined
      ? undefined
      : decideReplacementRefusal(row.dynamic_table, columns.before, columns.after, readers);
  if (refusal !== undefined) throw refusal;
  const sameName = formatTableName(definition.schema, definition.name) === row.dynamic_table;
  if (!sameName) {
    throw new OperatingError("bad_request", "never", "a dynamic table keeps its name");
  }
  // Readers of the old contents get new targets after the new contents.
  for (const below of graph.downstreamOf(tableId)) await abandonTargets(tx, below.row);
  await dropWork(tx, row);
  await unpinSources(tx, pins, tableId);
  await tx.db.deleteFrom("dynamic_table_versions").where("table_id", "=", tableId).execute();
  await tx.db.deleteFrom("dynamic_table_sources").where("table_id", "=", tableId).execute();
  const replaced = await tx.update("dynamic_tables", row.dynamic_table, {
    ...definedColumns(definition),
    ...withoutContents,
    created_at_ms: await tx.nowMs(),
  });
  await writeSources(tx, definition);
  if (definition.tableId !== tableId) await moveReaders(tx, tableId, definition.tableId, pins);
  if (isStopped(row)) await resumeFollowers(tx, definition.tableId);
  if (definition.initialize === "ON_CREATE" && replaced !== undefined) {
    await addRequest(tx, replaced, "INITIAL");
  }
  return await readBack(tx, definition.tableId);
}

/** Removes the table, and any claim on it. Throws `reference_violated` when others read it. */
export async function dropDynamicTable(
  tx: CatalogTx,
  tableId: TableId,
  pins?: SnapshotPins,
): Promise<void> {
  const row = await requireRow(tx, tableId);
  await requireUnread(tx, tableId, row.dynamic_table);
  await dropWork(tx, row);
  await unpinSources(tx, pins, tableId);
  const { db } = tx;
  await db.deleteFrom("dynamic_table_versions").where("table_id", "=", tableId).execute();
  await db.deleteFrom("dynamic_table_sources").where("table_id", "=", tableId).execute();
  await db.deleteFrom("refresh_history").where("dynamic_table", "=", row.dynamic_table).execute();
  await tx.remove("dynamic_tables", row.dynamic_table);
}

/** Throws `reference_violated` when dynamic tables read the table. For DROP of any table. */
export async function requireUnread(tx: Tx, tableId: TableId, label: string): Promise<void> {
  const readers = await readersOf(tx, tableId);
  if (readers.length === 0) return;
  const names = readers.join(", ");
  throw new OperatingError("reference_violated", "never", `${label} is read by ${names}`, {
    hint: `Drop ${names} first.`,
  });
}

/** The names of the dynamic tables that read it directly. */
export async function readersOf({ db }: Tx, tableId: TableId): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("dynamic_table_sources as s")
    .innerJoin("dynamic_tables as d", "d.table_id", "s.table_id")
    .select("d.dynamic_table")
    .where("s.source_table_id", "=", tableId)
    .orderBy("d.table_id")
    .execute();
  return rows.map(({ dynamic_table }) => dynamic_table);
}

/** Moves the readers of a replaced table to its new id. They read it whole the first time. */
export async function moveReaders(
  tx: CatalogTx,
  from: TableId,
  to: TableId,
  pins?: SnapshotPins,
): Promise<void> {
  const graph = await readGraph(tx);
  for (const reader of graph.readersOf(from)) {
    // A refresh that reads the old table must not be published as made from the new one.
    await tx.db.deleteFrom("refresh_claims").where("dynamic_table", "=", reader.label).execute();
    await unpinSources(tx, pins, reader.tableId);
  }
  for (const below of graph.downstreamOf(from)) await abandonTargets(tx, below.row);
  await tx.db
    .updateTable("dynamic_table_sources")
    .set({ source_table_id: to, cursor_snapshot: null, failed_snapshot: null })
    .where("source_table_id", "=", from)
    .execute();
  const moved = graph.readersOf(from).map(({ tableId }) => tableId);
  await pinNeeded(tx, pins, moved); // Also for their other sources.
}

export async function setTargetLag(
  tx: CatalogTx,
  tableId: TableId,
  targetLag: TargetLag,
): Promise<void> {
  const { dynamic_table } = await requireRow(tx, tableId);
  await tx.update("dynamic_tables", dynamic_table, { target_lag_ms: lagColumn(targetLag) });
}

export type ModeChoice = Pick<TableDefinition, "modeWish" | "mode" | "modeReason">;

export async function setRefreshMode(
  tx: CatalogTx,
  tableId: TableId,
  { modeWish, mode, modeReason }: ModeChoice,
): Promise<void> {
  const { dynamic_table } = await requireRow(tx, tableId);
  await tx.update("dynamic_tables", dynamic_table, {
    mode_wish: modeWish,
    mode,
    mode_reason: modeReason,
  });
}

/**
 * REFRESH: the tables that it reads are refreshed first, and failed ones are tried again. The
 * result is the time of the request by the database's clock; the request is satisfied when the
 * table's `dataTimeMs` is greater.
 */
export async function requestRefresh(tx: CatalogTx, tableId: TableId): Promise<number> {
  const row = await requireRow(tx, tableId);
  const graph = await readGraph(tx);
  const path = [...graph.upstreamOf(tableId).map((above) => above.row), row];
  const stuck = path.find((each) => isHeld(each));
  if (stuck !== undefined) {
    const reads = stuck === row ? "it" : `it reads ${stuck.dynamic_table}, which`;
    throw new OperatingError(
      "bad_request",
      "never",
      `${row.dynamic_table} cannot be refreshed: ${reads} is ${stuck.status}: ${stuck.status_reason}`,
      { hint: `ALTER DYNAMIC TABLE ${stuck.dynamic_table} RESUME` },
    );
  }
  for (const above of path) {
    const isOnTrial = above !== row && isStopped(above) && above.failing_since_ms !== null;
    if (isOnTrial) await addRequest(tx, above, "MANUAL");
  }
  return await addRequest(tx, row, "MANUAL");
}

/** Whether a person suspended it. A table suspended because of another is resumed with that one. */
function isHeld(row: DynamicTableRow): boolean {
  return isStopped(row) && row.failing_since_ms === null && row.suspended_by === null;
}

export async function readDynamicTables(tx: Tx): Promise<readonly DynamicTable[]> {
  const sources = groupSources(await readSources(tx));
  return (await readRows(tx)).map((row) => dynamicTableOf(row, sources.get(row.table_id)));
}

async function readBack(tx: Tx, tableId: TableId): Promise<DynamicTable> {
  return dynamicTableOf(await requireRow(tx, tableId), await readSources(tx, [tableId]));
}

/**
 * Replaces its sources by tables of the same names, after the old ones were dropped. They are read
 * whole the first time.
 */
export async function rebindSources(
  tx: CatalogTx,
  tableId: TableId,
  bound: Pick<TableDefinition, "sources" | "sourceColumns">,
  pins?: SnapshotPins,
): Promise<void> {
  const row = await requireRow(tx, tableId);
  const cycle = (await readGraph(tx)).findCycle(tableId, bound.sources);
  if (cycle !== undefined) throw cycleRefusal(row.dynamic_table, cycle);
  await dropWork(tx, row);
  await unpinSources(tx, pins, tableId);
  await tx.db.deleteFrom("dynamic_table_sources").where("table_id", "=", tableId).execute();
  await writeSources(tx, { ...bound, tableId });
}

async function writeSources(
  tx: CatalogTx,
  {
    tableId,
    sources,
    sourceColumns = new Map(),
  }: Pick<TableDefinition, "sources" | "sourceColumns" | "tableId">,
): Promise<void> {
  if (sources.length === 0) return;
  await tx.db
    .insertInto("dynamic_table_sources")
    .values(
      [...new Set(sources)].map((source) => ({
        table_id: tableId,
        source_table_id: source,
        cursor_snapshot: null,
        failed_snapshot: null,
      })),
    )
    .execute();
  const columns = [...sourceColumns].flatMap(([source, names]) =>
    names.map((name, order) => ({
      table_id: tableId,
      source_table_id: source,
      column_order: order,
      column_name: name,
    })),
  );
  if (columns.length > 0) await tx.db.insertInto("dynamic_table_columns").values(columns).execute();
}

function definedColumns(definition: TableDefinition) {
  return {
    table_id: definition.tableId as number,
    schema_name: definition.schema,
    name: definition.name,
    definition: definition.definition,
    target_lag_ms: lagColumn(definition.targetLag),
    mode_wish: definition.modeWish,
    mode: definition.mode,
    mode_reason: definition.modeReason,
    is_volatile: definition.isVolatile ? 1 : 0,
  };
}

function lagColumn(targetLag: TargetLag): number | null {
  return targetLag.kind === "downstream" ? null : targetLag.ms;
}

function refuseSelf(label: string, { tableId, sources }: TableDefinition): void {
  if (sources.includes(tableId)) throw cycleRefusal(label, [label, label]);
}

function cycleRefusal(label: string, cycle: readonly string[]): OperatingError {
  return new OperatingError(
    "bad_request",
    "never",
    `${label} would read itself: ${cycle.join(" reads ")}`,
  );
}
