/**
 * A full refresh, from its claim to its publication, beside plain DuckDB of the same version,
 * threads, memory and Parquet settings that computes the same SELECT from the same files into one.
 * What a refresh has besides: columns of its own for the next, incremental one (`columns`),
 * statistics, a file that is on the disk when it says so, and two transactions.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { quoteText } from "../../src/data/sql/core/index.ts";
import { type BenchOptions, median, type Report } from "../report.ts";
import { LakeWorld, memoryBytes, type Spent, startStopwatch } from "./lake-world.ts";
import { definitions, fillShop, type Shape } from "./shop.ts";

const shapes: readonly Shape[] = ["merge", "keys", "joined", "windowed", "filtered"];
const atMost = 1.15;

export async function benchFull({ rows, groups, repetitions }: BenchOptions, report: Report) {
  const world = await LakeWorld.open();
  const instance = await DuckDBInstance.create(":memory:", {
    threads: String(availableParallelism()),
    memory_limit: `${memoryBytes / 1024 ** 2}MiB`,
    temp_directory: join(world.dir, "temp"),
  });
  const plain = await instance.connect();
  try {
    await fillShop(world, { rows, groups });
    for (const name of ["facts", "dims"]) {
      const paths = (await world.filesOf(name)).map(quoteText).join(", ");
      await plain.run(`CREATE VIEW ${name} AS SELECT * FROM read_parquet([${paths}])`);
    }
    for (const shape of shapes) await compareFull(world, plain, shape, repetitions, report);
  } finally {
    plain.closeSync();
    instance.closeSync();
    await world.close();
  }
}

async function compareFull(
  world: LakeWorld,
  plain: DuckDBConnection,
  shape: Shape,
  repetitions: number,
  report: Report,
): Promise<void> {
  const definition = definitions[shape];
  const create = (): Promise<void> => world.createDynamic(shape, "FULL", definition);
  await create();
  await world.refresh(shape);
  const file = quoteText(join(world.dir, "plain.parquet"));
  const copy = `COPY (${definition}) TO ${file} (FORMAT parquet, PARQUET_VERSION V2, COMPRESSION zstd, ROW_GROUP_SIZE 122880)`;
  await plain.run(copy);
  const refreshes: Spent[] = [];
  const copies: Spent[] = [];
  for (let round = 0; round < repetitions; round += 1) {
    await create();
    refreshes.push(await world.refresh(shape));
    const stopwatch = startStopwatch();
    await plain.run(copy);
    copies.push(stopwatch());
  }
  const [refresh, duckdb] = [refreshes, copies].map((spent) => ({
    ms: median(spent.map(({ ms }) => ms)),
    cpuMs: median(spent.map(({ cpuMs }) => cpuMs)),
  })) as [Spent, Spent];
  report.figure(
    `full_${shape}`,
    { ratio: { value: refresh.ms / duckdb.ms, atMost } },
    {
      refresh_ms: refresh.ms,
      duckdb_ms: duckdb.ms,
      cpu_ratio: refresh.cpuMs / duckdb.cpuMs,
      refresh_cpu_ms: refresh.cpuMs,
      duckdb_cpu_ms: duckdb.cpuMs,
      repetitions,
    },
  );
}
