/**
 * What verifying files costs at a first open: an aggregate over a table by a DuckDB that has just
 * started, with its files read whole and compared with their checksums before, beside the same
 * without. By turns.
 */
import { availableParallelism } from "node:os";
import { DuckDBInstance } from "@duckdb/node-api";
import { FileVerifier } from "../../src/data/lake/objects/file-verifier.ts";
import { quoteText } from "../../src/data/sql/core/index.ts";
import { checksumFile } from "../../src/ground/threads/index.ts";
import { type BenchOptions, median, type Report } from "../report.ts";
import { LakeWorld, startStopwatch } from "./lake-world.ts";
import { definitions, fillShop } from "./shop.ts";

export async function benchChecksums({ rows, groups, repetitions }: BenchOptions, report: Report) {
  const world = await LakeWorld.open();
  try {
    await fillShop(world, { rows, groups });
    const paths = await world.filesOf("facts");
    const wanted = new Map<string, number>();
    for (const path of paths) wanted.set(path, await checksumFile(path));
    const spent = { verified: [] as number[], plain: [] as number[] };
    for (let round = 0; round < repetitions; round += 1) {
      for (const way of ["plain", "verified"] as const) {
        spent[way].push(await firstOpen(paths, way === "verified" ? wanted : new Map()));
      }
    }
    const [verifiedMs, plainMs] = [median(spent.verified), median(spent.plain)];
    const ratio = verifiedMs / plainMs;
    report.figure("first_open_verified", {}, { ratio, verified_ms: verifiedMs, plain_ms: plainMs });
  } finally {
    await world.close();
  }
}

async function firstOpen(
  paths: readonly string[],
  wanted: ReadonlyMap<string, number>,
): Promise<number> {
  const instance = await DuckDBInstance.create(":memory:", {
    threads: String(availableParallelism()),
  });
  const connection = await instance.connect();
  try {
    const verifier = new FileVerifier();
    const stopwatch = startStopwatch();
    for (const path of paths) {
      const crc32 = wanted.get(path);
      if (crc32 !== undefined) await verifier.mismatch(path, crc32);
    }
    const files = paths.map(quoteText).join(", ");
    await connection.run(`CREATE VIEW facts AS SELECT * FROM read_parquet([${files}])`);
    await connection.run(`CREATE TABLE result AS ${definitions.merge}`);
    return stopwatch().ms;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
