/**
 * What the whole path costs for a query that costs nothing: HTTP, assignment to a worker, DuckDB,
 * Parquet artifact, fetch, checksum, rows back, acknowledgement. Beside it, in the same run and by
 * turns, the same query on DuckDB directly, and DuckDB writing and reading the same Parquet file:
 * what no path with artifacts can do without.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { sql, startCluster } from "../test/e2e/harness.ts";
import { type BenchOptions, percentile, type Report } from "./report.ts";

const text = "SELECT 42 AS answer";
const warmups = 50;

export async function benchAssign({ queries }: BenchOptions, report: Report): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "capstan-bench-"));
  const cluster = await startCluster({ workers: 2 });
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const { url } = cluster;
    const wholePath = async (): Promise<void> => {
      const { rows, error } = await sql(url, text);
      assert.equal(error, undefined);
      assert.deepEqual(rows, [[42]]);
    };
    const file = join(dir, "answer.parquet");
    const direct = (): Promise<void> => read(connection, text);
    const viaParquet = async (): Promise<void> => {
      await connection.run(`COPY (${text}) TO '${file}' (FORMAT parquet)`);
      await read(connection, `FROM '${file}'`);
    };
    const ways = [
      { metric: "whole_path", run: wholePath, samples: [] as number[] },
      { metric: "duckdb_direct", run: direct, samples: [] as number[] },
      { metric: "duckdb_parquet_write_and_read", run: viaParquet, samples: [] as number[] },
    ];
    for (let round = 0; round < queries + warmups; round += 1) {
      for (const { run, samples } of ways) {
        const startedMs = performance.now();
        await run();
        if (round >= warmups) samples.push(performance.now() - startedMs);
      }
    }
    for (const { metric, samples } of ways) report.spread(metric, "ms", samples);
    const [path, plain, parquet] = ways.map(({ samples }) =>
      percentile(
        [...samples].sort((a, b) => a - b),
        0.5,
      ),
    ) as [number, number, number];
    report.value("whole_path_minus_direct_p50", "ms", path - plain);
    report.value("whole_path_over_parquet_write_and_read_p50", "ratio", path / parquet);
  } finally {
    connection.closeSync();
    instance.closeSync();
    await cluster.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function read(connection: DuckDBConnection, statement: string): Promise<void> {
  const reader = await connection.runAndReadAll(statement);
  assert.deepEqual(reader.getRows(), [[42]]);
}
