/** Statements that define tables and their columns. */
import { assert, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { randomText } from "../../../ground/kernel/prng.ts";
import type { TableName } from "../../sql/core/index.ts";
import { done, type LocalAnswer } from "../../statements/core/index.ts";
import { assignColumnIds } from "../core/column-types.ts";
import { visibleColumns } from "../core/hidden-columns.ts";
import type { Commit, Committed, LakeTable, NewColumn, TableChange } from "../core/index.ts";
import { tableDirectory } from "../core/lake-paths.ts";
import { type DescribedColumn, describeColumns } from "./describe.ts";
import {
  columnOf,
  noColumn,
  refuseReserved,
  refuseTableName,
  type StatementOf,
  type StatementScope,
} from "./statement-scope.ts";

const defaultSchema = "main";
const snapshotsShown = 100;
const replaceAttemptsMax = 8;

interface Replacing {
  readonly drops: readonly TableChange[];
  readonly commit: (commit: Commit) => Promise<Committed>;
}

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

  async createTable(statement: StatementOf<"createTable">): Promise<LocalAnswer> {
    const { table, ifNotExists } = statement;
    if (ifNotExists && (await this.#scope.find(table)) !== undefined) return done("already exists");
    try {
      return await this.#createTable(statement);
    } catch (thrown) {
      if (ifNotExists && isTaken(thrown)) return done("already exists"); // Created meanwhile.
      throw thrown;
    }
  }

  async #createTable(statement: StatementOf<"createTable">): Promise<LocalAnswer> {
    const { engine, prng } = this.#scope.deps;
    const { table, orReplace, columns, query } = statement;
    refuseTableName(table.name);
    refuseReserved(columns?.map(({ name }) => name) ?? []);
    const schema = table.schema ?? defaultSchema;
    const change = { kind: "createTable" as const, schema, name: table.name, orReplace: false };
    if (query === undefined) {
      assert(columns !== undefined, "a table has columns or a query");
      const created = await describeColumns(engine, columns, this.#scope.signal);
      await this.#create(statement, { ...change, columns: created, files: [] });
      return done("created");
    }
    const directory = tableDirectory(schema, table.name, randomText(prng, 12));
    let created: readonly NewColumn[] = [];
    const { written, committed } = await this.#scope.write(async () => {
      const { drops, commit } = await this.#replacing(table, orReplace);
      const bound = await this.#scope.bindFilled(query.text);
      const described = await this.#scope.describe(bound);
      refuseReserved(described.map(({ name }) => name));
      created = described.map(nullableColumn);
      const columnIds = assignColumnIds(created);
      const target = created.map((column, index) => ({
        ...column,
        columnId: columnIds[index] ?? 0,
        initialDefault: undefined,
      }));
      return {
        write: {
          op: "insert",
          table: { path: directory, columns: target },
          columns: created.map(({ name }) => name),
          query: bound,
        },
        changes: ({ added }) => [...drops, { ...change, columns: created, files: added }],
        commit,
      };
    });
    if (committed === undefined) {
      // The query gave no rows, so nothing was committed yet.
      await this.#create(statement, { ...change, columns: created, files: [] });
    }
    return done("created", written.insertedCount);
  }

  /** Creates an empty table. The table to replace may have been dropped or replaced meanwhile. */
  async #create(
    { table, orReplace }: StatementOf<"createTable">,
    change: TableChange,
  ): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const read = await this.#scope.deps.catalog.current();
      const { drops, commit } = await this.#replacing(table, orReplace);
      try {
        await commit(this.#scope.commitOf(read, [...drops, change]));
        return;
      } catch (thrown) {
        const isConflict = thrown instanceof OperatingError && thrown.code === "conflict";
        if (!isConflict || attempt >= replaceAttemptsMax) throw thrown;
      }
    }
  }

  /**
   * The table that OR REPLACE drops in the same commit, if nobody reads it by then. Another table
   * that takes the name meanwhile is not replaced.
   */
  async #replacing(table: TableName, orReplace: boolean): Promise<Replacing> {
    const { catalog } = this.#scope.deps;
    const existing = orReplace ? await this.#scope.find(table) : undefined;
    if (existing === undefined) {
      const commitNew = (commit: Commit): Promise<Committed> => catalog.commit(commit);
      return {
        drops: [],
        commit: orReplace ? (commit) => begunAnew(commitNew(commit)) : commitNew,
      };
    }
    await this.#scope.refuseWrite(existing);
    await this.#scope.checkChange(existing, undefined); // Before anything is written.
    const { tableId } = existing.table;
    return {
      drops: [{ kind: "dropTable", tableId }],
      commit: (commit) => this.#scope.commitUnread(existing, undefined, commit),
    };
  }

  async dropTable({ table, ifExists }: StatementOf<"dropTable">): Promise<LocalAnswer> {
    const found = ifExists ? await this.#scope.find(table) : await this.#scope.current(table);
    if (found === undefined) return done("there is no such table");
    await this.#scope.refuseWrite(found);
    const { tableId } = found.table;
    const commit = this.#scope.commitOf(found, [{ kind: "dropTable", tableId }]);
    await this.#scope.commitUnread(found, undefined, commit);
    return done("dropped");
  }

  async alterTable({ table, change }: StatementOf<"alterTable">): Promise<LocalAnswer> {
    const found = await this.#scope.writable(table);
    const { tableId } = found.table;
    /** Commits a change that may remove what others read. */
    const commit = async (change: TableChange, after: Partial<LakeTable>): Promise<void> => {
      const commit = this.#scope.commitOf(found, [change]);
      await this.#scope.commitUnread(found, { ...found.table, ...after }, commit);
    };
    switch (change.kind) {
      case "renameTable":
        refuseTableName(change.to);
        await commit({ kind: "renameTable", tableId, name: change.to }, { name: change.to });
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
        const { engine } = this.#scope.deps;
        const [added] = await describeColumns(engine, [column], this.#scope.signal);
        assert(added !== undefined, "one column is described as one");
        const initialDefault = added.defaultValue;
        await this.#scope.commit(found, [
          { kind: "addColumn", tableId, column: added, initialDefault },
        ]);
        return done("altered");
      }
      case "dropColumn": {
        const column = columnOf(found.table, change.column);
        if (column === undefined && change.ifExists) return done("there is no such column");
        const { columnId } = column ?? noColumn(found.table, change.column);
        await commit(
          { kind: "dropColumn", tableId, columnId },
          { columns: found.table.columns.filter((each) => each.columnId !== columnId) },
        );
        return done("altered");
      }
      case "renameColumn": {
        refuseReserved([change.to]);
        const { columnId } =
          columnOf(found.table, change.column) ?? noColumn(found.table, change.column);
        const renamed = { kind: "renameColumn" as const, tableId, columnId, name: change.to };
        const columns = found.table.columns.map((each) =>
          each.columnId === columnId ? { ...each, name: change.to } : each,
        );
        await commit(renamed, { columns });
        return done("altered");
      }
    }
  }
}

/** A column of a query's result as a column of a new table. */
export function nullableColumn({ name, type }: DescribedColumn): NewColumn {
  return { name, type, nullable: true, defaultValue: undefined };
}

export async function describeTable(scope: StatementScope, name: TableName): Promise<LocalAnswer> {
  const { table } = await scope.current(name);
  return {
    columns: ["column_name", "column_type", "null", "default"].map((name) => ({
      name,
      type: "VARCHAR",
    })),
    rows: visibleColumns(table).map(({ name, type, nullable, defaultValue }) => [
      name,
      type,
      nullable ? "YES" : "NO",
      defaultValue ?? null,
    ]),
  };
}

function isTaken(thrown: unknown): boolean {
  return thrown instanceof OperatingError && thrown.code === "already_exists";
}

/** Turns a lost race for the name into a new attempt. */
async function begunAnew(commit: Promise<Committed>): Promise<Committed> {
  try {
    return await commit;
  } catch (thrown) {
    if (!isTaken(thrown)) throw thrown;
    throw new OperatingError("conflict", "backoff", messageOf(thrown), { cause: thrown });
  }
}
