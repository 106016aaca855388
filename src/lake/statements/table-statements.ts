/** Statements about what tables there are, and what columns they have. */
import { assert, OperatingError } from "../../kernel/errors.ts";
import { randomText } from "../../kernel/prng.ts";
import type { TableName } from "../../sql/core/index.ts";
import { visibleColumns } from "../core/hidden-columns.ts";
import type { NewColumn } from "../core/index.ts";
import { tableDirectory } from "../core/lake-paths.ts";
import { describeColumns, describeQuery } from "./describe.ts";
import { done, type LocalAnswer } from "./local-answer.ts";
import {
  columnOf,
  noColumn,
  refuseReserved,
  type StatementOf,
  type StatementScope,
} from "./statement-scope.ts";

const defaultSchema = "main";
const snapshotsShown = 100;

export class TableStatements {
  readonly #scope: StatementScope;

  constructor(scope: StatementScope) {
    this.#scope = scope;
  }

  async showTables(): Promise<LocalAnswer> {
    const tables = await this.#scope.deps.catalog.tables();
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

  async showSnapshots(): Promise<LocalAnswer> {
    const snapshots = await this.#scope.deps.catalog.snapshots(snapshotsShown);
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

  async describeTable(table: TableName): Promise<LocalAnswer> {
    const { table: found } = await this.#scope.current(table);
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

  async createTable(statement: StatementOf<"createTable">): Promise<LocalAnswer> {
    const { catalog, engine, prng } = this.#scope.deps;
    const { table, orReplace, ifNotExists, columns, query } = statement;
    refuseReserved(columns?.map(({ name }) => name) ?? []);
    const schema = table.schema ?? defaultSchema;
    const existing = await this.#scope.find(table);
    if (ifNotExists && existing !== undefined) return done("already exists");
    if (existing !== undefined && orReplace) {
      await this.#scope.deps.dynamicTables.refuseWrite(existing);
      await this.#scope.deps.dynamicTables.dropUnread(existing, async () => undefined);
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
      const described = await describeColumns(engine, wanted, this.#scope.signal);
      const created = wanted.map((column, index) => ({
        ...column,
        type: described[index]?.type ?? column.type,
      }));
      await this.#scope.commit(await catalog.current(), [
        { ...change, columns: created, files: [] },
      ]);
      return done("created");
    }
    const directory = tableDirectory(schema, table.name, randomText(prng, 12));
    let created: readonly NewColumn[] = [];
    const { written, committed } = await this.#scope.write(async () => {
      const bound = await this.#scope.bind(query.text);
      const described = await describeQuery(engine, bound, this.#scope.signal);
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
      // It has no rows: nothing was committed yet.
      await this.#scope.commit(await catalog.current(), [
        { ...change, columns: created, files: [] },
      ]);
    }
    return done("created", written.insertedCount);
  }

  async dropTable({ table, ifExists }: StatementOf<"dropTable">): Promise<LocalAnswer> {
    const found = ifExists ? await this.#scope.find(table) : await this.#scope.current(table);
    if (found === undefined) return done("there is no such table");
    const { catalog, dynamicTables } = this.#scope.deps;
    await dynamicTables.refuseWrite(found);
    const { tableId } = found.table;
    await dynamicTables.dropUnread(found, (tx) =>
      catalog.commitIn(tx, this.#scope.commitOf(found, [{ kind: "dropTable", tableId }])),
    );
    return done("dropped");
  }

  async alterTable({ table, change }: StatementOf<"alterTable">): Promise<LocalAnswer> {
    const found = await this.#scope.current(table);
    await this.#scope.deps.dynamicTables.refuseWrite(found);
    const { tableId } = found.table;
    switch (change.kind) {
      case "renameTable":
        await this.#scope.commit(found, [{ kind: "renameTable", tableId, name: change.to }]);
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
        const [described] = await describeColumns(
          this.#scope.deps.engine,
          [wanted],
          this.#scope.signal,
        );
        const added = { ...wanted, type: described?.type ?? wanted.type };
        const initialDefault = wanted.defaultValue;
        await this.#scope.commit(found, [
          { kind: "addColumn", tableId, column: added, initialDefault },
        ]);
        return done("altered");
      }
      case "dropColumn": {
        const column = columnOf(found.table, change.column);
        if (column === undefined && change.ifExists) return done("there is no such column");
        const { columnId } = column ?? noColumn(found.table, change.column);
        await this.#scope.commit(found, [{ kind: "dropColumn", tableId, columnId }]);
        return done("altered");
      }
      case "renameColumn": {
        refuseReserved([change.to]);
        const { columnId } =
          columnOf(found.table, change.column) ?? noColumn(found.table, change.column);
        const renamed = { kind: "renameColumn" as const, tableId, columnId, name: change.to };
        await this.#scope.commit(found, [renamed]);
        return done("altered");
      }
    }
  }
}
