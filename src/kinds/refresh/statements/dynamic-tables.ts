/**
 * Statements about dynamic tables. A definition is parsed, bound and planned before anything is
 * written. Changes to the lake and the store happen in one transaction. Rules: TG3, TG10, TG12,
 * TG13.
 */

import {
  type BoundTable,
  describeTable,
  type LakeCatalog,
  type LakeStatements,
  type LakeTable,
  nullableColumn,
  refuseTableName,
  type StatementScope,
  type TableGuard,
  type TableId,
  type TableVersion,
  visibleColumns,
} from "../../../data/lake/index.ts";
import {
  nameKey,
  scanTokens,
  type TableName,
  type TableRef,
  type TokenCursor,
} from "../../../data/sql/core/index.ts";
import {
  done,
  type LocalAnswer,
  type ParsedStatement,
  type StatementHandler,
} from "../../../data/statements/core/index.ts";
import type { Clock } from "../../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import type { CatalogTx, Store, Tx } from "../../../ground/store/index.ts";
import { awaitState } from "../../../ground/store/index.ts";
import {
  type DynamicStatement,
  type DynamicTable,
  dynamicHeads,
  formatTableName,
  parseDynamicStatement,
  type RefreshMode,
} from "../core/index.ts";
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
import { type CheckedDefinition, checkDefinition } from "./check-definition.ts";
import { lookForContents } from "./look-for-contents.ts";
import { lookForRefresh } from "./look-for-refresh.ts";

export interface DynamicTablesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly catalog: LakeCatalog;
  readonly lakeStatements: Pick<LakeStatements, "scope">;
}

type Of<K extends DynamicStatement["kind"]> = Extract<DynamicStatement, { readonly kind: K }>;

const historyShown = 50;

export class DynamicTables implements StatementHandler, TableGuard {
  readonly heads: readonly string[] = dynamicHeads;
  readonly #deps: DynamicTablesDeps;

  constructor(deps: DynamicTablesDeps) {
    this.#deps = deps;
  }

  parse(cursor: TokenCursor): ParsedStatement {
    const statement = parseDynamicStatement(cursor);
    return {
      role: /^(show|explain|describe)/.test(statement.kind) ? "read" : "operate",
      run: (request) => this.#answer(statement, this.#deps.lakeStatements.scope(request)),
    };
  }

  async #answer(statement: DynamicStatement, scope: StatementScope): Promise<LocalAnswer> {
    const { store } = this.#deps;
    switch (statement.kind) {
      case "create":
        return await this.#create(statement, scope);
      case "alter":
        return await this.#alter(statement, scope);
      case "refresh": {
        const { tableId } = await this.#find(statement.table, scope);
        const requestedAtMs = await store.catalogTransaction((tx) => requestRefresh(tx, tableId));
        if (!statement.wait) return done("refresh requested");
        const { timeoutMs: waitMsMax, signal } = scope.request;
        const look = (tx: Tx) => lookForRefresh(tx, { tableId, requestedAtMs, waitMsMax });
        await awaitState(this.#deps, { waitMsMax, signal, look });
        return done("refreshed");
      }
      case "show":
        return overviewAnswer(await store.read(readOverview));
      case "showHistory": {
        const { table, limit = historyShown } = statement;
        const found = table === undefined ? undefined : await this.#find(table, scope);
        const label = found && formatTableName(found.schema, found.name);
        const request = { limit, ...(label === undefined ? {} : { dynamicTable: label }) };
        return historyAnswer(await store.read((tx) => readRefreshHistory(tx, request)));
      }
      case "describe":
        return await describeTable(scope, statement.table);
      case "explain":
        return await this.#explain(await this.#find(statement.table, scope), scope);
      case "drop":
        return await this.#drop(statement, scope);
    }
  }

  /** Waits for the first contents of a table that is about to be filled (TG10). */
  async awaitContents(
    versions: readonly TableVersion[],
    waitMsMax: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const tableIds = versions.map(({ table }) => table.tableId);
    const look = (tx: Tx) => lookForContents(tx, tableIds);
    return await awaitState(this.#deps, { waitMsMax, signal, look });
  }

  /** Only refreshes write to a dynamic table. */
  async refuseWrite(version: TableVersion): Promise<void> {
    const table = await this.#dynamic(version.table);
    if (table === undefined) return;
    const hint = `only its refreshes write to it; ALTER or DROP DYNAMIC TABLE ${table.name} changes it`;
    throw new OperatingError("bad_request", "never", `${table.name} is a dynamic table`, { hint });
  }

  /**
   * Asks every reader whether it uses what the change removes (TG3, TG12). The transaction checks
   * that no reader was added since.
   */
  async checkChange(
    { table }: TableVersion,
    after: LakeTable | undefined,
    scope: StatementScope,
  ): Promise<(tx: CatalogTx) => Promise<boolean>> {
    const { store } = this.#deps;
    if (after === undefined) {
      const isUnread = async (tx: Tx): Promise<boolean> => {
        await requireUnread(tx, table.tableId, table.name);
        return true;
      };
      await store.read(isUnread);
      return isUnread;
    }
    const readers = await store.read((tx) => readReaders(tx, table.tableId));
    const hurt: string[] = [];
    for (const { reader, columns } of readers) {
      const known = columns.get(table.tableId);
      const change = { before: seenTable(table, known), after: seenTable(after, known) };
      if (await isHurt(reader, columns, change, scope)) {
        hurt.push(formatTableName(reader.schema, reader.name));
      }
    }
    if (hurt.length > 0) throw readBy(table, after, hurt);
    return async (tx) => keyOf(await readReaders(tx, table.tableId)) === keyOf(readers);
  }

  async #create(statement: Of<"create">, scope: StatementScope): Promise<LocalAnswer> {
    const { store, catalog } = this.#deps;
    const { table, orReplace, ifNotExists, targetLag, refreshMode, initialize, query } = statement;
    refuseTableName(table.name);
    const schema = table.schema ?? "main";
    const existing = await scope.find(table);
    if (existing !== undefined && ifNotExists) return done("already exists");
    const known = existing === undefined ? undefined : await this.#dynamic(existing.table);
    if (existing !== undefined && known === undefined) {
      throw new OperatingError("already_exists", "never", `there is a table ${table.name}`);
    }
    if (existing !== undefined && !orReplace) {
      const hint = "CREATE OR REPLACE DYNAMIC TABLE takes its place";
      const message = `there is a dynamic table ${table.name}`;
      throw new OperatingError("already_exists", "never", message, { hint });
    }
    const checked = await checkDefinition(scope, query.text);
    const plan = await planOf(checked, scope);
    const mode = decideMode(refreshMode, plan, checked);
    // A table that is always computed whole needs no hidden columns.
    const isWhole = plan.kind === "full" || refreshMode === "FULL";
    const columns = isWhole ? checked.columns : plan.allColumns;
    await store.catalogTransaction(async (tx) => {
      await requireLive(tx, checked.tables);
      const created = {
        kind: "createTable" as const,
        schema,
        name: table.name,
        columns: columns.map(nullableColumn),
        files: [],
        orReplace: existing !== undefined,
      };
      const { tableIds } = await catalog.commitIn(tx, scope.commitOf(checked, [created]));
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
        isVolatile: checked.volatileParts.length > 0,
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

  async #alter({ table, change }: Of<"alter">, scope: StatementScope): Promise<LocalAnswer> {
    const { store } = this.#deps;
    const found = await this.#find(table, scope);
    const { tableId } = found;
    switch (change.kind) {
      case "suspend":
        await store.catalogTransaction((tx) => suspendTable(tx, tableId, "by request"));
        return done("suspended");
      case "resume": {
        // A table that was dropped and created again has the same name and another id.
        const checked = await this.#checkStored(found, scope);
        const stored = (await scope.find(table))?.table;
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
        const { targetLag } = change;
        await store.catalogTransaction((tx) => setTargetLag(tx, tableId, targetLag));
        return done("altered");
      }
      case "setRefreshMode": {
        const checked = await this.#checkStored(found, scope);
        const stored = (await scope.find(table))?.table;
        const plan = withoutHidden(await planOf(checked, scope), stored);
        const mode = decideMode(change.refreshMode, plan, checked);
        const choice = { modeWish: change.refreshMode, ...mode };
        await store.catalogTransaction((tx) => setRefreshMode(tx, tableId, choice));
        return done(`altered, ${mode.mode}: ${mode.modeReason}`);
      }
    }
  }

  async #drop({ table, ifExists }: Of<"drop">, scope: StatementScope): Promise<LocalAnswer> {
    const { store, catalog } = this.#deps;
    const existing = await scope.find(table);
    const known = existing === undefined ? undefined : await this.#dynamic(existing.table);
    if (existing === undefined || known === undefined) {
      if (ifExists) return done("there is no such dynamic table");
      throw noSuchTable(table.name);
    }
    await store.catalogTransaction(async (tx) => {
      await dropDynamicTable(tx, known.tableId, catalog);
      const drop = { kind: "dropTable", tableId: known.tableId } as const;
      await catalog.commitIn(tx, scope.commitOf(existing, [drop]));
    });
    return done("dropped");
  }

  async #explain(table: DynamicTable, scope: StatementScope): Promise<LocalAnswer> {
    const checked = await this.#checkStored(table, scope);
    const plan = await planOf(checked, scope);
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

  /** Checks a stored definition against the source columns that it knows (TG13). */
  async #checkStored(
    { tableId, definition }: DynamicTable,
    scope: StatementScope,
  ): Promise<CheckedDefinition> {
    const columns = await this.#deps.store.read((tx) => readSourceColumns(tx, tableId));
    const seen = (table: LakeTable) => seenTable(table, columns.get(table.tableId));
    return await checkDefinition(scope, definition, seen);
  }

  async #find(name: TableName, scope: StatementScope): Promise<DynamicTable> {
    const version = await scope.find(name);
    const found = version === undefined ? undefined : await this.#dynamic(version.table);
    if (found === undefined) throw noSuchTable(name.name);
    return found;
  }

  async #dynamic({ tableId }: LakeTable): Promise<DynamicTable | undefined> {
    const all = await this.#deps.store.read(readDynamicTables);
    return all.find((table) => table.tableId === tableId);
  }
}

async function isHurt(
  { definition }: DynamicTable,
  columns: SourceColumns,
  { before, after }: { readonly before: LakeTable; readonly after: LakeTable },
  scope: StatementScope,
): Promise<boolean> {
  if (nameKey(before.name) !== nameKey(after.name)) return true;
  const left = new Set(after.columns.map(({ name }) => nameKey(name)));
  const gone = before.columns.map(({ name }) => nameKey(name)).filter((key) => !left.has(key));
  if (gone.length === 0) return false;
  if (mentions(definition, gone)) return true;
  const seen = (here: LakeTable) => (table: LakeTable) =>
    table.tableId === before.tableId ? here : seenTable(table, columns.get(table.tableId));
  try {
    const was = await checkDefinition(scope, definition, seen(before));
    if (was.refs.some((ref) => takesAll(ref, before))) return true;
    const is = await checkDefinition(scope, definition, seen(after));
    return JSON.stringify(was.columns) !== JSON.stringify(is.columns);
  } catch (thrown) {
    if (thrown instanceof OperatingError && thrown.code === "bad_sql") return true;
    throw thrown;
  }
}

async function planOf(
  { sql, tables }: CheckedDefinition,
  { deps, signal }: StatementScope,
): Promise<DefinitionPlan> {
  return await deps.engine.withSession([], signal, (session) =>
    planDefinition(session, sql, tables.map(named), signal),
  );
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

/** Whether the definition mentions one of the names, even as another table's column. */
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

/** A table that was created for full refreshes has no hidden columns. */
function withoutHidden(plan: DefinitionPlan, stored: LakeTable | undefined): DefinitionPlan {
  if (plan.kind === "full" || stored === undefined) return plan;
  if (stored.columns.length === plan.allColumns.length) return plan;
  const reason = "it was created with REFRESH_MODE = FULL; CREATE OR REPLACE makes it anew";
  return { kind: "full", reason };
}

function decideMode(
  wish: DynamicTable["modeWish"],
  plan: DefinitionPlan,
  { volatileParts }: CheckedDefinition,
): { readonly mode: RefreshMode; readonly modeReason: string } {
  const isVolatile = volatileParts.length > 0;
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

/** In the transaction that adds the reader: a concurrent DROP looks for readers in its own. */
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
