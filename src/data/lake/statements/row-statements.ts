/** Statements that change rows: a worker writes the files, and one commit adds them. */
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import { nameKey, type TableName } from "../../sql/core/index.ts";
import { done, type LocalAnswer } from "../../statements/core/index.ts";
import type { TableId, TableVersion } from "../core/index.ts";
import type { BoundQuery } from "./bound-query.ts";
import { describeQuery } from "./describe.ts";
import { type ChangeParts, changeSql } from "./lake-write.ts";
import type { WriteAttempt } from "./run-write.ts";
import { columnOf, noColumn, type StatementOf, type StatementScope } from "./statement-scope.ts";

export class RowStatements {
  readonly #scope: StatementScope;

  constructor(scope: StatementScope) {
    this.#scope = scope;
  }

  async insert({ table, columns, byName, query }: StatementOf<"insert">): Promise<LocalAnswer> {
    const { written } = await this.#scope.write(async () => {
      const target = await this.#scope.writable(table);
      const bound = await this.#scope.bindFilled(query.text);
      const described = await this.#scope.describe(bound);
      const given = byName ? described : target.table.columns;
      const names = columns ?? given.map(({ name }) => name);
      for (const name of names) {
        if (columnOf(target.table, name) === undefined) noColumn(target.table, name);
      }
      if (byName) refuseTwice(names);
      if (described.length !== names.length) {
        const message = `table ${target.table.name} takes ${names.length} values here, but the query has ${described.length}`;
        throw new OperatingError("bad_sql", "never", message);
      }
      const { tableId } = target.table;
      return {
        write: { op: "insert", table: target.table, columns: names, query: bound },
        changes: changedRows(tableId),
      };
    });
    return done("inserted", written.insertedCount);
  }

  /** Keeps the end of the file's name, by which DuckDB recognizes its format. */
  async copy({ table, columns, file, options }: StatementOf<"copy">): Promise<LocalAnswer> {
    const { objects, uploads } = this.#scope.deps;
    const { uploadId } = this.#scope.request;
    if (uploadId === undefined) {
      const hint =
        "`capstan sql` sends the file by itself; over HTTP, send it to /api/v1/uploads first";
      const message = `the file ${file} was not sent with the statement`;
      throw new OperatingError("bad_request", "never", message, { hint });
    }
    await this.#scope.current(table);
    const { localPath, sizeBytes } = uploads.received(uploadId);
    const [ending = ""] = /(\.[A-Za-z0-9]{1,10}){1,2}$/.exec(file) ?? [];
    const path = `uploads/${this.#scope.request.queryId}${ending.toLowerCase()}`;
    const { crc32 } = await objects.put(path, localPath, this.#scope.signal);
    const source = { path, sizeBytes, crc32 };
    try {
      const { written } = await this.#scope.write(async () => {
        const target = await this.#scope.writable(table);
        const { tableId } = target.table;
        return {
          write: { op: "copy", table: target.table, columns, source, options: [...options] },
          changes: changedRows(tableId),
        };
      });
      const left = written.linesLeftOut ?? 0;
      const what =
        left === 0 ? "copied" : `copied; ${left === 1 ? "a line" : `${left} lines`} left out`;
      return done(what, written.insertedCount);
    } finally {
      await objects.delete([source.path]).catch(() => undefined); // Upkeep deletes what remains.
      await uploads.discard(uploadId);
    }
  }

  async change(name: TableName, parts: ChangeParts): Promise<LocalAnswer> {
    const { written } = await this.#scope.write(async () => {
      const target = await this.#scope.writable(name);
      for (const { column } of parts.set ?? []) {
        if (columnOf(target.table, column) === undefined) noColumn(target.table, column);
      }
      const sql = changeSql(target, parts);
      const bound = inFront(await this.#scope.bindFilled(sql), target);
      await describeQuery(this.#scope.deps.engine, bound, this.#scope.signal, { rowIds: true });
      const { tableId } = target.table;
      return {
        write: { op: parts.set === undefined ? "delete" : "update", query: bound },
        changes: changedRows(tableId),
      };
    });
    return parts.set === undefined
      ? done("deleted", written.deletedCount)
      : done("updated", written.insertedCount);
  }
}

function changedRows(tableId: TableId): WriteAttempt["changes"] {
  return ({ added, deletes, ended }) => [
    { kind: "changeRows", tableId, added, deletes, ended, isCompaction: false },
  ];
}

function refuseTwice(names: readonly string[]): void {
  const keys = names.map(nameKey);
  const twice = names.find((name, at) => keys.indexOf(nameKey(name)) !== at);
  if (twice === undefined) return;
  throw new OperatingError("bad_sql", "never", `the query has two columns named ${twice}`);
}

/** Puts the changed table first, under the name that the statement gives it. */
function inFront(bound: BoundQuery, target: TableVersion): BoundQuery {
  const { tableId } = target.table;
  const [changed] = bound.tables.filter(({ version }) => version.table.tableId === tableId);
  assert(changed !== undefined, "the statement reads the table that it changes");
  const others = bound.tables.filter((table) => table !== changed);
  return { sql: bound.sql, tables: [changed, ...others] };
}
