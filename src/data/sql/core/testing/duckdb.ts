/** An in-memory DuckDB for a test file, closed at its end. */
import { after } from "node:test";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { parseSelectTree, type SelectTree } from "../select-tree.ts";

export interface TestDuckDb {
  run(sql: string): Promise<void>;
  rows(sql: string, values?: readonly string[]): Promise<readonly (readonly unknown[])[]>;
  result(sql: string): Promise<{ readonly columns: readonly string[]; readonly rows: unknown }>;
  tree(sql: string): Promise<SelectTree>;
}

export function testDuckDb(): TestDuckDb {
  // Opened at its first use, because hooks of a file do not wait for each other.
  let opened: Promise<{ instance: DuckDBInstance; connection: DuckDBConnection }> | undefined;
  const connection = async () => {
    opened ??= open();
    return (await opened).connection;
  };
  after(async () => {
    const open = await opened;
    open?.connection.closeSync();
    open?.instance.closeSync();
  });
  const rows: TestDuckDb["rows"] = async (sql, values = []) =>
    (await (await connection()).runAndReadAll(sql, [...values])).getRowsJson();
  return {
    rows,
    run: async (sql) => {
      await (await connection()).run(sql);
    },
    result: async (sql) => {
      const reader = await (await connection()).runAndReadAll(sql);
      return { columns: reader.columnNames(), rows: reader.getRowsJson() };
    },
    tree: async (sql) => {
      const [[json] = []] = await rows("SELECT json_serialize_sql($1::VARCHAR)::VARCHAR", [sql]);
      return parseSelectTree(String(json), sql);
    },
  };
}

async function open(): Promise<{ instance: DuckDBInstance; connection: DuckDBConnection }> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  return { instance, connection };
}
