/** DuckDB with one thread, for the same questions over the same files in one batch. */
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { type Spent, startStopwatch } from "../tables/lake-world.ts";
import type { NexmarkFiles } from "./nexmark-events.ts";
import { batchTables, type NexmarkQuery, readCsv } from "./nexmark-queries.ts";

export class DuckdbAnswers {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(files: NexmarkFiles): Promise<DuckdbAnswers> {
    const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
    const connection = await instance.connect();
    for (const statement of batchTables(files)) await connection.run(statement);
    return new DuckdbAnswers(instance, connection);
  }

  /** All columns of the result are computed, and nothing is done with them, as by a Void sink. */
  async run({ batch }: NexmarkQuery): Promise<Spent & { readonly rows: number }> {
    const stopwatch = startStopwatch();
    const result = await this.#connection.stream(batch);
    let rows = 0;
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) break;
      rows += chunk.rowCount;
    }
    return { ...stopwatch(), rows };
  }

  /** Compares our rows, in a CSV file, with DuckDB's; says what differs, if anything does. */
  async differences({ batch, result }: NexmarkQuery, path: string): Promise<string | undefined> {
    const columns = result.split(", ").map((column) => {
      const [name, type] = column.split(" ");
      return `'${name}': '${type}'`;
    });
    const run = (sql: string): Promise<unknown> => this.#connection.run(sql);
    await run(`CREATE OR REPLACE TEMP TABLE theirs AS ${batch}`);
    await run(
      `CREATE OR REPLACE TEMP TABLE ours AS SELECT * FROM ${readCsv(path, columns.join(", "))}`,
    );
    const differing = async (one: string, other: string): Promise<readonly unknown[]> => {
      const found = await this.#connection.runAndReadAll(
        `SELECT count(*), any_value(row) FROM (FROM ${one} EXCEPT ALL FROM ${other}) AS row`,
      );
      return found.getRowsJson()[0] ?? [];
    };
    const [missing, aMissing] = await differing("theirs", "ours");
    const [extra, anExtra] = await differing("ours", "theirs");
    await run("DROP TABLE theirs");
    await run("DROP TABLE ours");
    if (Number(missing) === 0 && Number(extra) === 0) return undefined;
    return `${missing} rows are missing (${JSON.stringify(aMissing)}), ${extra} are wrong (${JSON.stringify(anExtra)})`;
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}
