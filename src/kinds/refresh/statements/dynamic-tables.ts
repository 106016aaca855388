/**
 * Statements about dynamic tables. What they change in the lake and in the store happens in one transaction.
 *
 *   DS1  A definition is parsed, bound and planned before anything is written; what is wrong with it is told.
 *   DS2  Only refreshes write to a dynamic table, and a table that dynamic tables read is not dropped.
 *   DS4  What a definition reads by name keeps its name: a table, or a column of it, that dynamic
 *        tables read is not renamed or dropped.
 *   DS5  A definition knows the columns that its sources had when it was made. Columns that are
 *        added later mean nothing to it.
 *   DS3  Who reads a table that is about to be filled for the first time waits for that.
 */

import type { EngineFor } from "../../../data/duckdb/index.ts";
import {
  type BoundTable,
  type CheckedDefinition,
  type DynamicStatement,
  type DynamicTablesPort,
  done,
  type LakeCatalog,
  type LakeTable,
  type LocalAnswer,
  type NewColumn,
  type StatementContext,
  type TableId,
  type TableVersion,
  visibleColumns,
} from "../../../data/lake/index.ts";
import {
  nameKey,
  type RefreshModeWish,
  type Statement,
  scanTokens,
  type TableRef,
  type TargetLag,
} from "../../../data/sql/core/index.ts";
import type { Clock } from "../../../ground/kernel/clock.ts";
import { assert, OperatingError, unreachable } from "../../../ground/kernel/errors.ts";
import type { CatalogTx, Store, Tx } from "../../../ground/store/index.ts";
import { type DynamicTable, formatTableName, type RefreshMode } from "../core/index.ts";
import { checkColumns, type DefinitionPlan, planDefinition } from "../refresh/definition-plan.ts";
import { seenTable } from "../refresh/read-sources.ts";
import {
  createDynamicTable,
  dropDynamicTable,
  readDynamicTables,
  rebindSources,
  replaceDynamicTable,
  requestRefresh,
  requireUnread,
  setRefreshMode,
  setTargetLag,
} from "../store/definitions.ts";
import { readOverview } from "../store/overview.ts";
import { readRefreshHistory } from "../store/refresh-history.ts";
import { resumeTable, suspendTable } from "../store/suspension.ts";
import { readSourceColumns, type SourceColumns } from "../store/table-rows.ts";
import { historyAnswer, overviewAnswer } from "./answers.ts";
import { awaitContents } from "./await-contents.ts";
import { awaitRefresh } from "./await-refresh.ts";

export interface DynamicTablesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly catalog: LakeCatalog;
  readonly engine: EngineFor<"withSession">;
}

type Of<K extends Statement["kind"]> = Extract<Statement, { readonly kind: K }>;

const historyShown = 50;

export class DynamicTables implements DynamicTablesPort {
  readonly #deps: DynamicTablesDeps;

  constructor(deps: DynamicTablesDeps) {
    this.#deps = deps;
  }

  async answer(statement: DynamicStatement, context: StatementContext): Promise<LocalAnswer> {
    const { store } = this.#deps;
    switch (statement.kind) {
      case "createDynamicTable":
        return await this.#create(statement, context);
      case "alterDynamicTable":
        return await this.#alter(statement, context);
      case "refreshDynamicTable": {
        const { tableId } = await this.#find(statement.table, context);
        const requestedAtMs = await store.catalogTransaction((tx) => requestRefresh(tx, tableId));
        if (statement.wait !== true) return done("refresh requested");
        const { timeoutMs: waitMsMax, signal } = context;
        await awaitRefresh(this.#deps, { tableId, requestedAtMs, waitMsMax, signal });
        return done("refreshed");
      }
      case "showDynamicTables":
        return overviewAnswer(await store.read(readOverview));
      case "showRefreshHistory": {
        const { table, limit = historyShown } = statement;
        const found = table === undefined ? undefined : await this.#find(table, context);
        const label = found && formatTableName(found.schema, found.name);
        const request = { limit, ...(label === undefined ? {} : { dynamicTable: label }) };
        return historyAnswer(await store.read((tx) => readRefreshHistory(tx, request)));
      }
      case "explainDynamicTable":
        return await this.#explain(await this.#find(statement.table, context), context);
      case "dropTable":
        return await this.#drop(statement, context);
      default:
        unreachable(statement);
    }
  }

  /** DS3. */
  async awaitContents(
    versions: readonly TableVersion[],
    waitMsMax: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const tableIds = versions.map(({ table }) => table.tableId);
    return await awaitContents(this.#deps, { tableIds, waitMsMax, signal });
  }

  /** DS2. */
  async refuseWrite(version: TableVersion): Promise<void> {
    const table = await this.#dynamic(version.table);
    if (table === undefined) return;
    const hint = `only its refreshes write to it; ALTER or DROP DYNAMIC TABLE ${table.name} changes it`;
    throw new OperatingError("bad_request", "never", `${table.name} is a dynamic table`, { hint });
  }

  /**
   * DS4: what it takes away is asked of every reader, and in the transaction whether those are all.
   */
  async alterUnread<T>(
    { table }: TableVersion,
    after: LakeTable,
    context: StatementContext,
    alter: (tx: CatalogTx) => Promise<T>,
  ): Promise<T> {
    const { store } = this.#deps;
    for (;;) {
      const readers = await store.read((tx) => readReaders(tx, table.tableId));
      const hurt: string[] = [];
      for (const { reader, columns } of readers) {
        const known = columns.get(table.tableId);
        const change = { before: seenTable(table, known), after: seenTable(after, known) };
        if (await this.#isHurt(reader, columns, change, context)) {
          hurt.push(formatTableName(reader.schema, reader.name));
        }
      }
      if (hurt.length > 0) throw readBy(table, after, hurt);
      const altered = await store.catalogTransaction(async (tx) => {
        const now = await readReaders(tx, table.tableId);
        if (keyOf(now) !== keyOf(readers)) return undefined; // Somebody else reads it now.
        return { result: await alter(tx) };
      });
      if (altered !== undefined) return altered.result;
    }
  }

  async #isHurt(
    { definition }: DynamicTable,
    columns: SourceColumns,
    { before, after }: { readonly before: LakeTable; readonly after: LakeTable },
    context: StatementContext,
  ): Promise<boolean> {
    if (nameKey(before.name) !== nameKey(after.name)) return true;
    const left = new Set(after.columns.map(({ name }) => nameKey(name)));
    const gone = before.columns.map(({ name }) => nameKey(name)).filter((key) => !left.has(key));
    if (gone.length === 0) return false;
    if (mentions(definition, gone)) return true;
    const seen = (here: LakeTable) => (table: LakeTable) =>
      table.tableId === before.tableId ? here : seenTable(table, columns.get(table.tableId));
    try {
      const was = await context.check(definition, seen(before));
      if (was.refs.some((ref) => takesAll(ref, before))) return true;
      const is = await context.check(definition, seen(after));
      return JSON.stringify(was.columns) !== JSON.stringify(is.columns);
    } catch (thrown) {
      if (thrown instanceof OperatingError && thrown.code === "bad_sql") return true;
      throw thrown;
    }
  }

  /** DS2: in the transaction that drops it. */
  async dropUnread<T>(version: TableVersion, drop: (tx: CatalogTx) => Promise<T>): Promise<T> {
    return await this.#deps.store.catalogTransaction(async (tx) => {
      await requireUnread(tx, version.table.tableId, version.table.name);
      return await drop(tx);
    });
  }

  async #create(
    statement: Of<"createDynamicTable">,
    context: StatementContext,
  ): Promise<LocalAnswer> {
    const { store, catalog } = this.#deps;
    const { table, orReplace, ifNotExists, targetLag, refreshMode, initialize, query } = statement;
    const schema = table.schema ?? "main";
    const existing = await context.find(table);
    if (existing !== undefined && ifNotExists) return done("already exists");
    const known = existing === undefined ? undefined : await this.#dynamic(existing.table);
    if (existing !== undefined && known === undefined) {
      throw new OperatingError("already_exists", "never", `there is a table ${table.name}`);
    }
    if (existing !== undefined && !orReplace) {
      throw new OperatingError(
        "already_exists",
        "never",
        `there is a dynamic table ${table.name}`,
        {
          hint: "CREATE OR REPLACE DYNAMIC TABLE takes its place",
        },
      );
    }
    const checked = await context.check(query.text); // DS1
    const plan = await this.#plan(checked, context);
    const mode = decideMode(refreshMode, plan, checked);
    // A table that is always computed whole needs no columns that tell what a change affects.
    const isWhole = plan.kind === "full" || refreshMode === "FULL";
    const columns = isWhole ? checked.columns : plan.allColumns;
    await store.catalogTransaction(async (tx) => {
      await requireLive(tx, checked.tables);
      const { tableIds } = await catalog.commitIn(tx, {
        readSnapshot: checked.snapshot,
        token: context.queryId,
        changes: [
          {
            kind: "createTable",
            schema,
            name: table.name,
            columns: columns.map(newColumn),
            files: [],
            orReplace: existing !== undefined,
          },
        ],
        author: "sql",
        message: context.text.slice(0, 200),
      });
      const [tableId] = tableIds;
      assert(tableId !== undefined, "a table that was created has an id");
      const definition = {
        tableId,
        schema,
        name: table.name,
        definition: query.text,
        targetLag,
        modeWish: refreshMode,
        ...mode,
        isVolatile: checked.isVolatile,
        ...sourcesOf(checked),
        initialize,
      };
      if (known === undefined || existing === undefined) {
        await createDynamicTable(tx, definition);
      } else {
        const before = visibleColumns(existing.table);
        const columns = { before, after: checked.columns };
        await replaceDynamicTable(tx, known.tableId, definition, columns, catalog);
      }
    });
    return done(`created, ${mode.mode}: ${mode.modeReason}`);
  }

  async #alter(
    { table, change }: Of<"alterDynamicTable">,
    context: StatementContext,
  ): Promise<LocalAnswer> {
    const { store } = this.#deps;
    const found = await this.#find(table, context);
    const { tableId } = found;
    switch (change.kind) {
      case "suspend":
        await store.catalogTransaction((tx) => suspendTable(tx, tableId, "by request"));
        return done("suspended");
      case "resume": {
        // What was dropped and made again has another id, and the same name.
        const checked = await this.#checkStored(found, context);
        const stored = (await context.find(table))?.table;
        if (stored !== undefined) {
          checkColumns({ ...stored, columns: visibleColumns(stored) }, checked.columns);
        }
        const bound = sourcesOf(checked);
        const isOther = new Set(bound.sources).symmetricDifference(new Set(found.sources)).size > 0;
        await store.catalogTransaction(async (tx) => {
          if (isOther) await rebindSources(tx, tableId, bound, this.#deps.catalog);
          await resumeTable(tx, tableId);
        });
        return done("resumed");
      }
      case "setTargetLag": {
        const targetLag: TargetLag = change.targetLag;
        await store.catalogTransaction((tx) => setTargetLag(tx, tableId, targetLag));
        return done("altered");
      }
      case "setRefreshMode": {
        const checked = await this.#checkStored(found, context);
        const stored = (await context.find(table))?.table;
        const plan = withoutHidden(await this.#plan(checked, context), stored);
        const mode = decideMode(change.refreshMode, plan, checked);
        const choice = { modeWish: change.refreshMode, ...mode };
        await store.catalogTransaction((tx) => setRefreshMode(tx, tableId, choice));
        return done(`altered, ${mode.mode}: ${mode.modeReason}`);
      }
    }
  }

  async #drop(
    { table, ifExists }: Of<"dropTable">,
    context: StatementContext,
  ): Promise<LocalAnswer> {
    const { store, catalog } = this.#deps;
    const existing = await context.find(table);
    const known = existing === undefined ? undefined : await this.#dynamic(existing.table);
    if (existing === undefined || known === undefined) {
      if (ifExists) return done("there is no such dynamic table");
      throw noSuchTable(table.name);
    }
    await store.catalogTransaction(async (tx) => {
      await dropDynamicTable(tx, known.tableId, catalog);
      await catalog.commitIn(tx, {
        readSnapshot: existing.snapshot,
        token: context.queryId,
        changes: [{ kind: "dropTable", tableId: known.tableId }],
        author: "sql",
        message: context.text.slice(0, 200),
      });
    });
    return done("dropped");
  }

  async #explain(table: DynamicTable, context: StatementContext): Promise<LocalAnswer> {
    const checked = await this.#checkStored(table, context);
    const plan = await this.#plan(checked, context);
    const rows: [string, string][] = [
      ["definition", table.definition],
      ["mode", `${table.mode} (${table.modeReason})`],
      ["asked for", table.modeWish],
      ["sources", checked.tables.map(({ version }) => version.table.name).join(", ")],
    ];
    if (plan.kind === "incremental") {
      rows.push(["strategy", `${plan.strategy}: ${plan.reason}`]);
      rows.push(["hidden columns", plan.hiddenColumns.map(({ name }) => name).join(", ")]);
    } else {
      rows.push(["not incremental", plan.reason]);
    }
    return { columns: ["property", "value"].map((name) => ({ name, type: "VARCHAR" })), rows };
  }

  /** DS5. */
  async #checkStored(
    { tableId, definition }: DynamicTable,
    context: StatementContext,
  ): Promise<CheckedDefinition> {
    const columns = await this.#deps.store.read((tx) => readSourceColumns(tx, tableId));
    return await context.check(definition, (table) => seenTable(table, columns.get(table.tableId)));
  }

  async #plan(
    { sql, tables }: CheckedDefinition,
    { queryId, signal }: StatementContext,
  ): Promise<DefinitionPlan> {
    const engine = this.#deps.engine.with({ query_id: queryId });
    return await engine.withSession([], signal, (session) =>
      planDefinition(session, sql, tables.map(named), signal),
    );
  }

  async #find(
    name: Parameters<StatementContext["find"]>[0],
    context: StatementContext,
  ): Promise<DynamicTable> {
    const version = await context.find(name);
    const found = version === undefined ? undefined : await this.#dynamic(version.table);
    if (found === undefined) throw noSuchTable(name.name);
    return found;
  }

  async #dynamic({ tableId }: LakeTable): Promise<DynamicTable | undefined> {
    const all = await this.#deps.store.read(readDynamicTables);
    return all.find((table) => table.tableId === tableId);
  }
}

function sourcesOf({ tables }: CheckedDefinition): {
  readonly sources: readonly TableId[];
  readonly sourceColumns: SourceColumns;
} {
  const sourceColumns = new Map(
    tables.map(({ version: { table } }) => [
      table.tableId,
      visibleColumns(table).map(({ name }) => name),
    ]),
  );
  return { sources: [...sourceColumns.keys()], sourceColumns };
}

interface Reader {
  readonly reader: DynamicTable;
  readonly columns: SourceColumns;
}

async function readReaders(tx: Tx, tableId: TableId): Promise<readonly Reader[]> {
  const readers: Reader[] = [];
  for (const reader of await readDynamicTables(tx)) {
    if (!reader.sources.includes(tableId)) continue;
    readers.push({ reader, columns: await readSourceColumns(tx, reader.tableId) });
  }
  return readers;
}

function keyOf(readers: readonly Reader[]): string {
  return JSON.stringify(readers.map(({ reader }) => [reader.tableId, reader.definition]));
}

/** Whether one of the names stands in it. A column of that name of another table counts, too. */
function mentions(definition: string, keys: readonly string[]): boolean {
  return scanTokens(definition).tokens.some(({ kind, text, value }) => {
    if (kind !== "word" && kind !== "quotedName") return false;
    return keys.includes(nameKey(value ?? text));
  });
}

/** Whether a definition reads, in this place, all columns of the table without naming them. */
function takesAll(ref: TableRef, { schema, name, columns }: LakeTable): boolean {
  if (nameKey(ref.name) !== nameKey(name)) return false;
  if (nameKey(ref.schema ?? "main") !== nameKey(schema)) return false;
  if (ref.isWhole) return true;
  const called = nameKey(ref.alias ?? ref.name);
  return ref.isValue && !columns.some((column) => nameKey(column.name) === called);
}

function readBy(before: LakeTable, after: LakeTable, readers: readonly string[]): OperatingError {
  const left = new Set(after.columns.map(({ name }) => name));
  const column = before.columns.find(({ name }) => !left.has(name))?.name;
  const what = column === undefined ? before.name : `column ${column} of ${before.name}`;
  const names = readers.join(", ");
  return new OperatingError("reference_violated", "never", `${what} is read by ${names}`, {
    hint: `Drop ${names} first, or CREATE OR REPLACE DYNAMIC TABLE with a definition without it.`,
  });
}

function named({ version: { table } }: BoundTable) {
  return { schema: table.schema, name: table.name, table };
}

function newColumn({ name, type }: { readonly name: string; readonly type: string }): NewColumn {
  return { name, type, nullable: true, defaultValue: undefined };
}

/** A table that was made to be refreshed in full has no columns for anything else. */
function withoutHidden(plan: DefinitionPlan, stored: LakeTable | undefined): DefinitionPlan {
  if (plan.kind === "full" || stored === undefined) return plan;
  if (stored.columns.length === plan.allColumns.length) return plan;
  const reason = "it was created with REFRESH_MODE = FULL; CREATE OR REPLACE makes it anew";
  return { kind: "full", reason };
}

function decideMode(
  wish: RefreshModeWish,
  plan: DefinitionPlan,
  { isVolatile, volatileParts }: CheckedDefinition,
): { readonly mode: RefreshMode; readonly modeReason: string } {
  const reason = isVolatile ? `it uses ${volatileParts.join(", ")}` : plan.reason;
  if (wish === "FULL") return { mode: "FULL", modeReason: "as asked for" };
  if (plan.kind === "incremental" && !isVolatile)
    return { mode: "INCREMENTAL", modeReason: reason };
  if (wish === "AUTO") return { mode: "FULL", modeReason: reason };
  const hint = "REFRESH_MODE = AUTO or FULL refreshes it whole";
  throw new OperatingError("bad_sql", "never", `it cannot be refreshed incrementally: ${reason}`, {
    hint,
  });
}

function noSuchTable(name: string): OperatingError {
  const hint = "SHOW DYNAMIC TABLES lists those that there are";
  return new OperatingError("not_found", "never", `there is no dynamic table ${name}`, { hint });
}

/** In the transaction that makes it a reader of them: whoever drops one asks for its readers in his own. */
async function requireLive({ db }: CatalogTx, tables: CheckedDefinition["tables"]): Promise<void> {
  for (const { version } of tables) {
    const { tableId, name, columns } = version.table;
    const live = await db
      .selectFrom("ducklake_table")
      .select("table_name")
      .where("table_id", "=", tableId)
      .where("end_snapshot", "is", null)
      .executeTakeFirst();
    const there = await db
      .selectFrom("ducklake_column")
      .select("column_name")
      .where("table_id", "=", tableId)
      .where("end_snapshot", "is", null)
      .execute();
    const names = new Set(there.map(({ column_name }) => column_name));
    if (live?.table_name === name && columns.every((column) => names.has(column.name))) continue;
    const what = live === undefined ? "dropped" : "altered";
    throw new OperatingError("conflict", "backoff", `table ${name} was ${what} meanwhile`);
  }
}
