/**
 * Statements over the lake, from a person's text to an answer: SELECTs and changes of rows run on workers; what tables there
 * are is the catalog's business alone.
 *
 *   ST1  Whatever does not parse, bind or fit is told before anything is written.
 *   ST2  A statement that changes something needs `mayWrite`.
 */

import type { Clock } from "../../kernel/clock.ts";
import { assert, OperatingError } from "../../kernel/errors.ts";
import { parseQueryId, type QueryId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import { type Prng, randomText } from "../../kernel/prng.ts";
import {
  type ApiWorkManager,
  type Engine,
  runRows,
  runSql,
  type SqlResult,
} from "../../queries/index.ts";
import {
  isVolatile,
  nameKey,
  parseSelectTree,
  parseStatement,
  quoteName,
  type Statement,
  type TableName,
  tableRefs,
  volatilePartsOf,
} from "../../sql/core/index.ts";
import { isReservedColumn, visibleColumns } from "../core/hidden-columns.ts";
import type {
  Commit,
  LakeCatalog,
  LakeTable,
  NewColumn,
  ObjectStore,
  TableVersion,
} from "../core/index.ts";
import { tableDirectory } from "../core/lake-paths.ts";
import { type BoundQuery, bindQuery } from "./bound-query.ts";
import { describeColumns, describeQuery } from "./describe.ts";
import type { DynamicTablesPort, StatementContext } from "./dynamic-tables-port.ts";
import { lakeQueryBody, lakeQueryWorkKind } from "./lake-query-executor.ts";
import { type ChangeParts, changeSql } from "./lake-write.ts";
import { answerLocally, done, type LocalAnswer } from "./local-answer.ts";
import { runWrite, type WriteAttempt } from "./run-write.ts";
import type { Uploads } from "./uploads.ts";

export interface LakeStatementsDeps {
  readonly catalog: LakeCatalog;
  readonly objects: Pick<ObjectStore, "delete" | "put">;
  readonly uploads: Pick<Uploads, "discard" | "received">;
  readonly dynamicTables: DynamicTablesPort;
  readonly engine: Pick<Engine, "openRows" | "openSession" | "parse">;
  readonly manager: Pick<ApiWorkManager, "get" | "open" | "run">;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
}

export interface StatementOptions {
  readonly timeoutMs?: number | undefined;
  readonly queryId?: QueryId;
  readonly mayWrite: boolean;
  /** The file of a COPY. */
  readonly uploadId?: string | undefined;
}

type Of<K extends Statement["kind"]> = Extract<Statement, { readonly kind: K }>;

const timeoutMsDefault = 60_000;
const defaultSchema = "main";
const snapshotsShown = 100;

export class LakeStatements {
  readonly #deps: LakeStatementsDeps;

  constructor(deps: LakeStatementsDeps) {
    this.#deps = deps;
  }

  async run(text: string, options: StatementOptions, signal: AbortSignal): Promise<SqlResult> {
    const statement = parseStatement(text);
    if (statement.kind === "query") {
      return await this.#query(text, statement.query.text, options, signal);
    }
    const { clock } = this.#deps;
    const startedMs = clock.nowMs();
    if (!isReading(statement) && !options.mayWrite) throw mayNotWrite(); // ST2
    const run = new StatementRun(this.#deps, text, options, signal);
    const answer = await run.answer(statement);
    return answerLocally(run.queryId, answer, clock.nowMs() - startedMs);
  }

  /** `text` is the person's, comments and all. */
  async #query(
    text: string,
    sql: string,
    options: StatementOptions,
    signal: AbortSignal,
  ): Promise<SqlResult> {
    const { catalog, engine } = this.#deps;
    const bound = await bindQuery({ catalog, parse: (each) => engine.parse(each, signal) }, sql);
    const { queryId, timeoutMs } = options;
    const asked = {
      ...(queryId === undefined ? {} : { queryId }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    if (bound.tables.length === 0) return await runSql(this.#deps, text, asked, signal);
    const work = {
      kind: lakeQueryWorkKind,
      body: lakeQueryBody(bound),
      text,
      affinityKey: `lake ${bound.tables[0]?.version.table.tableId}`,
    };
    return await runRows(this.#deps, work, asked, signal);
  }
}

function isReading({ kind }: Statement): boolean {
  return kind.startsWith("show") || kind.startsWith("describe") || kind.startsWith("explain");
}

class StatementRun {
  readonly queryId: QueryId;
  readonly #deps: LakeStatementsDeps;
  readonly #text: string;
  readonly #options: StatementOptions;
  readonly #signal: AbortSignal;

  constructor(
    deps: LakeStatementsDeps,
    text: string,
    options: StatementOptions,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    this.#text = text;
    this.#options = options;
    this.#signal = signal;
    this.queryId = options.queryId ?? newQueryId(deps.prng);
  }

  async answer(statement: Exclude<Statement, { readonly kind: "query" }>): Promise<LocalAnswer> {
    switch (statement.kind) {
      case "showTables":
        return await this.#showTables();
      case "showSnapshots":
        return await this.#showSnapshots();
      case "describeTable":
        return await this.#describeTable(statement.table);
      case "createTable":
        return await this.#createTable(statement);
      case "dropTable":
        if (statement.dynamic) break;
        return await this.#dropTable(statement);
      case "alterTable":
        return await this.#alterTable(statement);
      case "insert":
        return await this.#insert(statement);
      case "copy":
        return await this.#copy(statement);
      case "update":
        return await this.#change(statement.table, {
          alias: statement.alias,
          set: statement.set.map(({ column, value }) => ({ column, value: value.text })),
          from: statement.from?.text,
          where: statement.where?.text,
        });
      case "delete":
        return await this.#change(statement.table, {
          alias: statement.alias,
          set: undefined,
          from: statement.using?.text,
          where: statement.where?.text,
        });
      case "explain":
        throw new OperatingError("bad_sql", "never", "EXPLAIN of a query is not supported");
      default:
        break;
    }
    return await this.#deps.dynamicTables.answer(statement, this.#context());
  }

  #context(): StatementContext {
    const { catalog, engine } = this.#deps;
    return {
      queryId: this.queryId,
      text: this.#text,
      signal: this.#signal,
      find: (name) => this.#find(name),
      check: async (definition) => {
        const { snapshot } = await catalog.current();
        const tree = parseSelectTree(await engine.parse(definition, this.#signal), definition);
        const past = tableRefs(tree).find(({ at }) => at.kind !== "current");
        if (past !== undefined) {
          const message = `a dynamic table reads its sources as they are now, not AT another moment: ${past.name}`;
          throw new OperatingError("bad_sql", "never", message);
        }
        const bound = await this.#bind(definition);
        const columns = await describeQuery(engine, bound, this.#signal);
        refuseReserved(columns.map(({ name }) => name));
        const volatileParts = volatilePartsOf(tree);
        return { ...bound, snapshot, columns, isVolatile: isVolatile(tree), volatileParts };
      },
    };
  }

  async #showTables(): Promise<LocalAnswer> {
    const tables = await this.#deps.catalog.tables();
    return {
      columns: ["schema", "name", "columns"].map((name) => ({ name, type: "VARCHAR" })),
      rows: tables.map((table) => [
        table.schema,
        table.name,
        visibleColumns(table)
          .map((column) => `${column.name} ${column.type}`)
          .join(", "),
      ]),
    };
  }

  async #showSnapshots(): Promise<LocalAnswer> {
    const snapshots = await this.#deps.catalog.snapshots(snapshotsShown);
    return {
      columns: [
        { name: "snapshot_id", type: "BIGINT" },
        { name: "snapshot_time", type: "VARCHAR" },
        { name: "schema_version", type: "BIGINT" },
      ],
      rows: snapshots.map(({ snapshot, timeMs, schemaVersion }) => [
        snapshot,
        new Date(timeMs).toISOString(),
        schemaVersion,
      ]),
    };
  }

  async #describeTable(table: TableName): Promise<LocalAnswer> {
    const { table: found } = await this.#current(table);
    return {
      columns: ["column_name", "column_type", "null", "default"].map((name) => ({
        name,
        type: "VARCHAR",
      })),
      rows: visibleColumns(found).map(({ name, type, nullable, defaultValue }) => [
        name,
        type,
        nullable ? "YES" : "NO",
        defaultValue ?? null,
      ]),
    };
  }

  async #createTable(statement: Of<"createTable">): Promise<LocalAnswer> {
    const { catalog, engine, prng } = this.#deps;
    const { table, orReplace, ifNotExists, columns, query } = statement;
    refuseReserved(columns?.map(({ name }) => name) ?? []);
    const schema = table.schema ?? defaultSchema;
    const existing = await this.#find(table);
    if (ifNotExists && existing !== undefined) return done("already exists");
    if (existing !== undefined && orReplace) {
      await this.#deps.dynamicTables.refuseWrite(existing);
      await this.#deps.dynamicTables.dropUnread(existing, async () => undefined);
    }
    const change = { kind: "createTable" as const, schema, name: table.name, orReplace };
    if (query === undefined) {
      assert(columns !== undefined, "a table has columns or a query");
      const wanted = columns.map(
        (column): NewColumn => ({
          name: column.name,
          type: column.type.text,
          nullable: column.nullable,
          defaultValue: column.defaultValue?.text,
        }),
      );
      const described = await describeColumns(engine, wanted, this.#signal);
      const created = wanted.map((column, index) => ({
        ...column,
        type: described[index]?.type ?? column.type,
      }));
      const { snapshot } = await catalog.current();
      await catalog.commit({
        readSnapshot: snapshot,
        token: this.queryId,
        changes: [{ ...change, columns: created, files: [] }],
        author: "sql",
        message: this.#text.slice(0, 200),
      });
      return done("created");
    }
    const directory = tableDirectory(schema, table.name, randomText(prng, 12));
    let created: readonly NewColumn[] = [];
    const { written, committed } = await this.#write(async () => {
      const bound = await this.#bind(query.text);
      const described = await describeQuery(engine, bound, this.#signal);
      refuseReserved(described.map(({ name }) => name));
      created = described.map(({ name, type }) => ({
        name,
        type,
        nullable: true,
        defaultValue: undefined,
      }));
      const target = created.map((column, index) => ({
        ...column,
        columnId: index + 1,
        initialDefault: undefined,
      }));
      return {
        write: {
          op: "insert",
          table: { path: directory, columns: target },
          columns: created.map(({ name }) => name),
          query: bound,
        },
        changes: ({ added }) => [{ ...change, columns: created, files: added }],
      };
    });
    if (committed === undefined) {
      const { snapshot } = await catalog.current();
      await catalog.commit({
        readSnapshot: snapshot,
        token: `${this.queryId}-empty`,
        changes: [{ ...change, columns: created, files: [] }],
        author: "sql",
        message: this.#text.slice(0, 200),
      });
    }
    return done("created", written.insertedCount);
  }

  async #dropTable({ table, ifExists }: Of<"dropTable">): Promise<LocalAnswer> {
    const found = ifExists ? await this.#find(table) : await this.#current(table);
    if (found === undefined) return done("there is no such table");
    const { catalog, dynamicTables } = this.#deps;
    await dynamicTables.refuseWrite(found);
    const { tableId } = found.table;
    await dynamicTables.dropUnread(found, (tx) =>
      catalog.commitIn(tx, this.#commitOf(found, [{ kind: "dropTable", tableId }])),
    );
    return done("dropped");
  }

  async #alterTable({ table, change }: Of<"alterTable">): Promise<LocalAnswer> {
    const found = await this.#current(table);
    await this.#deps.dynamicTables.refuseWrite(found);
    const { tableId } = found.table;
    switch (change.kind) {
      case "renameTable":
        await this.#commit(found, [{ kind: "renameTable", tableId, name: change.to }]);
        return done("renamed");
      case "addColumn": {
        const { column, ifNotExists } = change;
        refuseReserved([column.name]);
        if (ifNotExists && columnOf(found.table, column.name) !== undefined) return done("exists");
        if (!column.nullable) {
          const hint = "add it without NOT NULL, and fill it";
          const message = "a column that is added may have NULLs in the rows that exist";
          throw new OperatingError("bad_sql", "never", message, { hint });
        }
        const wanted: NewColumn = {
          name: column.name,
          type: column.type.text,
          nullable: true,
          defaultValue: column.defaultValue?.text,
        };
        const [described] = await describeColumns(this.#deps.engine, [wanted], this.#signal);
        const added = { ...wanted, type: described?.type ?? wanted.type };
        const initialDefault = wanted.defaultValue;
        await this.#commit(found, [{ kind: "addColumn", tableId, column: added, initialDefault }]);
        return done("altered");
      }
      case "dropColumn": {
        const column = columnOf(found.table, change.column);
        if (column === undefined && change.ifExists) return done("there is no such column");
        const { columnId } = column ?? noColumn(found.table, change.column);
        await this.#commit(found, [{ kind: "dropColumn", tableId, columnId }]);
        return done("altered");
      }
      case "renameColumn": {
        refuseReserved([change.to]);
        const { columnId } =
          columnOf(found.table, change.column) ?? noColumn(found.table, change.column);
        const renamed = { kind: "renameColumn" as const, tableId, columnId, name: change.to };
        await this.#commit(found, [renamed]);
        return done("altered");
      }
    }
  }

  async #insert({ table, columns, query }: Of<"insert">): Promise<LocalAnswer> {
    const { written } = await this.#write(async () => {
      const target = await this.#writable(table);
      const names = columns ?? target.table.columns.map(({ name }) => name);
      for (const name of names) {
        if (columnOf(target.table, name) === undefined) noColumn(target.table, name);
      }
      const bound = await this.#bind(query.text);
      const described = await describeQuery(this.#deps.engine, bound, this.#signal);
      if (described.length !== names.length) {
        const message = `table ${target.table.name} takes ${names.length} values here, but the query has ${described.length}`;
        throw new OperatingError("bad_sql", "never", message);
      }
      const { tableId } = target.table;
      return {
        write: { op: "insert", table: target.table, columns: names, query: bound },
        changes: ({ added }) => [
          { kind: "changeRows", tableId, added, deletes: [], ended: [], isCompaction: false },
        ],
      };
    });
    return done("inserted", written.insertedCount);
  }

  /** DuckDB knows a file's format by the end of its name. */
  async #copy({ table, columns, file, options }: Of<"copy">): Promise<LocalAnswer> {
    const { objects, uploads } = this.#deps;
    const { uploadId } = this.#options;
    if (uploadId === undefined) {
      const hint =
        "`capstan sql` sends the file by itself; over HTTP, send it to /api/v1/uploads first";
      const message = `the file ${file} was not sent with the statement`;
      throw new OperatingError("bad_request", "never", message, { hint });
    }
    await this.#current(table);
    const { localPath, sizeBytes } = uploads.received(uploadId);
    const [ending = ""] = /(\.[A-Za-z0-9]{1,10}){1,2}$/.exec(file) ?? [];
    const source = { path: `uploads/${this.queryId}${ending.toLowerCase()}`, sizeBytes };
    await objects.put(source.path, localPath, this.#signal);
    try {
      const { written } = await this.#write(async () => {
        const target = await this.#writable(table);
        const { tableId } = target.table;
        return {
          write: { op: "copy", table: target.table, columns, source, options: [...options] },
          changes: ({ added }) => [
            { kind: "changeRows", tableId, added, deletes: [], ended: [], isCompaction: false },
          ],
        };
      });
      return done("copied", written.insertedCount);
    } finally {
      await objects.delete([source.path]).catch(() => undefined); // Swept, if it stays.
      await uploads.discard(uploadId);
    }
  }

  async #change(name: TableName, parts: ChangeParts): Promise<LocalAnswer> {
    const { written } = await this.#write(async () => {
      const target = await this.#writable(name);
      for (const { column } of parts.set ?? []) {
        if (columnOf(target.table, column) === undefined) noColumn(target.table, column);
      }
      const sql = changeSql(target, parts);
      const bound = inFront(await this.#bind(sql), target);
      await describeQuery(this.#deps.engine, bound, this.#signal, { rowIds: true });
      const { tableId } = target.table;
      return {
        write: { op: parts.set === undefined ? "delete" : "update", query: bound },
        changes: ({ added, deletes, ended }) => [
          { kind: "changeRows", tableId, added, deletes, ended, isCompaction: false },
        ],
      };
    });
    return parts.set === undefined
      ? done("deleted", written.deletedCount)
      : done("updated", written.insertedCount);
  }

  /** It is judged against what the lake was before it read anything. */
  async #write(
    prepare: () => Promise<Omit<WriteAttempt, "readSnapshot">>,
  ): ReturnType<typeof runWrite> {
    const { catalog } = this.#deps;
    const request = {
      queryId: this.queryId,
      text: this.#text,
      deadlineMs: this.#options.timeoutMs ?? timeoutMsDefault,
      attempt: async () => {
        const { snapshot: readSnapshot } = await catalog.current();
        return { ...(await prepare()), readSnapshot };
      },
    };
    return await runWrite(this.#deps, request, this.#signal);
  }

  async #bind(sql: string): Promise<BoundQuery> {
    const { catalog, engine } = this.#deps;
    return await bindQuery({ catalog, parse: (text) => engine.parse(text, this.#signal) }, sql);
  }

  async #commit(version: TableVersion, changes: Commit["changes"]): Promise<void> {
    await this.#deps.catalog.commit(this.#commitOf(version, changes));
  }

  #commitOf({ snapshot }: TableVersion, changes: Commit["changes"]): Commit {
    return {
      readSnapshot: snapshot,
      token: this.queryId,
      changes,
      author: "sql",
      message: this.#text.slice(0, 200),
    };
  }

  /** Not of a dynamic table: those are their refreshes' alone. */
  async #writable(name: TableName): Promise<TableVersion> {
    const found = await this.#current(name);
    await this.#deps.dynamicTables.refuseWrite(found);
    return found;
  }

  async #current({ schema, name }: TableName): Promise<TableVersion> {
    const moment = { kind: "current" as const };
    const [found] = await this.#deps.catalog.resolve([{ schema, name, moment }]);
    assert(found !== undefined, "what is asked for is found, or refused");
    return found;
  }

  async #find(name: TableName): Promise<TableVersion | undefined> {
    try {
      return await this.#current(name);
    } catch (thrown) {
      if (thrown instanceof OperatingError && thrown.code === "not_found") return undefined;
      throw thrown;
    }
  }
}

/** The table that changes comes first, under the name that the statement has for it. */
function inFront(bound: BoundQuery, target: TableVersion): BoundQuery {
  const { tableId } = target.table;
  const [changed] = bound.tables.filter(({ version }) => version.table.tableId === tableId);
  assert(changed !== undefined, "the statement reads the table that it changes");
  const others = bound.tables.filter((table) => table !== changed);
  return { sql: bound.sql, tables: [changed, ...others] };
}

function columnOf(table: LakeTable, name: string): LakeTable["columns"][number] | undefined {
  return table.columns.find((column) => nameKey(column.name) === nameKey(name));
}

function noColumn(table: LakeTable, name: string): never {
  const names = table.columns.map((column) => quoteName(column.name)).join(", ");
  const message = `table ${table.name} has no column ${quoteName(name)}`;
  throw new OperatingError("bad_sql", "never", message, { hint: `its columns are ${names}` });
}

function refuseReserved(names: readonly string[]): void {
  const name = names.find(isReservedColumn);
  if (name === undefined) return;
  throw new OperatingError("bad_sql", "never", `no column can be named ${name}: Capstan uses it`);
}

function mayNotWrite(): OperatingError {
  const hint = "ask with a token of the role `operate`";
  return new OperatingError("forbidden", "never", "this token may only read", { hint });
}

function newQueryId(prng: Prng): QueryId {
  const queryId = parseQueryId(`q-${randomText(prng, 16)}`);
  assert(queryId !== undefined, "a query's id has the form of one");
  return queryId;
}
