/**
 * A continuous query on a cluster, over two files that a test lets grow: a join and a keyed window
 * over two workers, with a table of the lake as its sink. What has to be in the table in the end is
 * what plain DuckDB makes of the same files, so each row counts once whatever happens meanwhile.
 */
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { type Cluster, rowsOf, waitFor } from "./harness.ts";

/** Of the store's row, and where its fragments are. */
export interface PipelineBody {
  readonly query_id: string;
  readonly state: string;
  readonly state_reason: string;
  readonly epoch: number;
  readonly deployed: readonly { readonly fragment: string; readonly worker_id: string }[];
}

const rowsPerPart = 1_000;
/** Far behind all others: it closes their windows, and its own stays open. */
const lastMs = 9_000_000_000;
const recoveryMsMax = 150_000;

export class StreamPipeline {
  readonly name: string;
  readonly #cluster: Cluster;
  readonly #folder: string;
  #rows = 0;

  constructor(cluster: Cluster, name: string) {
    this.#cluster = cluster;
    this.name = name;
    this.#folder = join(cluster.dataDir, "streams");
    mkdirSync(this.#folder, { recursive: true });
    this.#append("", "");
  }

  async create(): Promise<void> {
    for (const statement of this.#statements()) await rowsOf(this.#cluster.url, statement);
  }

  /** Lets both files grow by rows of six seconds. */
  grow(): void {
    let [bids, sales] = ["", ""];
    for (const end = this.#rows + rowsPerPart; this.#rows < end; this.#rows += 1) {
      const row = this.#rows;
      for (const each of [2 * row, 2 * row + 1])
        bids += `${each % 97},${each % 1_009},${each * 3}\n`;
      sales += `${row % 89},${row % 13},${row * 6}\n`;
    }
    this.#append(bids, sales);
  }

  /** `undefined` while nobody answers. */
  async body(): Promise<PipelineBody | undefined> {
    const url = `${this.#cluster.url}/api/v1/streams/queries/${this.name}`;
    const response = await fetch(url).catch(() => undefined);
    return response?.status === 200 ? ((await response.json()) as PipelineBody) : undefined;
  }

  async until(state: string): Promise<PipelineBody> {
    let last: PipelineBody | undefined;
    return await waitFor(
      `${this.name} to be ${state}`,
      async () => {
        last = await this.body();
        return last?.state === state ? last : undefined;
      },
      recoveryMsMax,
      () => JSON.stringify(last),
    );
  }

  /** PAUSE or RESUME; whoever has to answer may die meanwhile. */
  async ask(wish: "pause" | "resume"): Promise<void> {
    const url = `${this.#cluster.url}/api/v1/streams/queries/${this.name}/${wish}`;
    const response = await fetch(url, { method: "POST" }).catch(() => undefined);
    await response?.text().catch(() => undefined);
  }

  /** Ends the query softly once everything is in the table, and compares the table. */
  async check(): Promise<number> {
    this.#append(`0,0,${lastMs}\n`, `0,1,${lastMs}\n`);
    const wanted = await this.#wanted();
    const count = `SELECT count(*), max(start) FROM ${this.name} WHERE start < ${lastMs / 2}`;
    let last = "";
    await waitFor(
      `${wanted.length} results`,
      async () => {
        const rows = await rowsOf(this.#cluster.url, count).catch(() => undefined);
        last = JSON.stringify([rows, await this.body()]);
        return Number(rows?.[0]?.[0]) >= wanted.length ? true : undefined;
      },
      recoveryMsMax,
      () => last,
    );
    await rowsOf(this.#cluster.url, `DROP QUERY ${this.name} SOFT`);
    await waitFor("the query to be gone", async () => {
      const rows = await rowsOf(this.#cluster.url, "SHOW QUERIES").catch(() => undefined);
      return rows?.every((row) => row[1] !== this.name) ? true : undefined;
    });
    const select = `SELECT start, id, n, total FROM ${this.name} WHERE start < ${lastMs / 2}`;
    const rows = await rowsOf(this.#cluster.url, `${select} ORDER BY ALL`);
    assert.deepEqual(
      rows.map((row) => row.map(Number)),
      wanted,
    );
    return wanted.length;
  }

  /** The rows of both files, with those that close the windows of all others. */
  get rowCount(): number {
    return 3 * this.#rows + 2;
  }

  #statements(): readonly string[] {
    const { name } = this;
    const file = (of: string) =>
      `TYPE File SET('${name}-${of}.csv' AS "SOURCE".FILE_PATH, TRUE AS "SOURCE".FOLLOW)`;
    return [
      `CREATE LOGICAL SOURCE ${name}_bids(id UINT64, price UINT64, ts UINT64)`,
      `CREATE PHYSICAL SOURCE FOR ${name}_bids ${file("bids")}`,
      `CREATE LOGICAL SOURCE ${name}_sales(bid UINT64, amount UINT64, at UINT64)`,
      `CREATE PHYSICAL SOURCE FOR ${name}_sales ${file("sales")}`,
      `CREATE SINK ${name} TYPE Lake SET('${name}' AS "SINK".TABLE)`,
      `CREATE QUERY ${name} AS SELECT start, id, COUNT(*) AS n, SUM(worth) AS total
         FROM (SELECT id, price * amount AS worth, ts FROM ${name}_bids
               JOIN ${name}_sales ON id = bid WINDOW TUMBLING(ts, at, SIZE 1 SEC))
         GROUP BY id WINDOW TUMBLING(ts, SIZE 4 SEC) INTO ${name}
         SET(2 AS "QUERY".PARALLELISM, '500 MS' AS "QUERY".CHECKPOINT_INTERVAL,
             '5 MINUTES' AS "QUERY".REPLACE_AFTER, '1 HOUR' AS "QUERY".IDLE_TIMEOUT)`,
    ];
  }

  #append(bids: string, sales: string): void {
    appendFileSync(this.#path("bids"), bids);
    appendFileSync(this.#path("sales"), sales);
  }

  #path(of: string): string {
    return join(this.#folder, `${this.name}-${of}.csv`);
  }

  async #wanted(): Promise<readonly (readonly number[])[]> {
    const read = (of: string, columns: string) =>
      `read_csv('${this.#path(of)}', header = false, columns = {${columns}})`;
    const instance = await DuckDBInstance.create();
    const connection = await instance.connect();
    const reader = await connection.runAndReadAll(`
      SELECT ts // 4000 * 4000 AS start, id, count(*) AS n, sum(price * amount) AS total
      FROM ${read("bids", "'id': 'BIGINT', 'price': 'BIGINT', 'ts': 'BIGINT'")}
      JOIN ${read("sales", "'bid': 'BIGINT', 'amount': 'BIGINT', 'sold': 'BIGINT'")}
        ON id = bid AND ts // 1000 = sold // 1000
      WHERE ts < ${lastMs / 2} GROUP BY ALL ORDER BY ALL`);
    const rows = reader.getRows().map((row) => row.map(Number));
    connection.closeSync();
    instance.closeSync();
    return rows;
  }
}
