/**
 * Grouping and the hash join alone: 2 M rows with 180,000 keys, in memory, without files and
 * parsers, beside JavaScript's Map over typed arrays and DuckDB over a table in memory. The number
 * of groups and of pairs is compared.
 */
import { existsSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import type { Report } from "../report.ts";
import { startStopwatch } from "../tables/lake-world.ts";
import { MemoryEvents } from "./memory-events.ts";
import { readCsv } from "./nexmark-queries.ts";
import { runStream } from "./stream-run.ts";

const rowCount = 2_000_000;
const keyCount = 180_000;
const rounds = 3;

interface Keys {
  readonly path: string;
  readonly keys: Float64Array;
}

/** What one of the three took and found. */
interface Found {
  readonly cpuMs: number;
  readonly rows: number;
}

interface Shape {
  readonly name: string;
  readonly stream: string;
  readonly batch: string;
  readonly map: (facts: Float64Array, sides: Float64Array) => number;
}

const shapes: readonly Shape[] = [
  {
    name: "grouping",
    stream: "SELECT k, COUNT(*) AS n FROM facts GROUP BY k WINDOW TUMBLING(at, SIZE 1 DAY)",
    batch: "SELECT k, count(*) FROM facts GROUP BY k",
    map: countInMap,
  },
  {
    name: "hash_join",
    stream: `SELECT k, v, w FROM (SELECT k, v, at FROM facts)
      INNER JOIN (SELECT k AS side, v AS w, at AS side_at FROM sides)
      ON k = side WINDOW TUMBLING(at, side_at, SIZE 1 DAY)`,
    batch: "SELECT facts.k, facts.v, sides.v FROM facts JOIN sides ON facts.k = sides.k",
    map: joinByMap,
  },
];

export async function benchKeyedLoops(directory: string, report: Report): Promise<void> {
  const prng = createPrng("keyed loops");
  const facts = write(join(directory, "facts.csv"), rowCount, () => prng.below(keyCount));
  const sides = write(join(directory, "sides.csv"), keyCount, (row) => row);
  const memory = new MemoryEvents();
  const statements = `${source("facts", facts.path)}\n${source("sides", sides.path)}`;
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  const columns = "'k': 'BIGINT', 'v': 'BIGINT', 'at': 'BIGINT'";
  for (const [name, { path }] of Object.entries({ facts, sides })) {
    await connection.run(`CREATE TABLE ${name} AS SELECT * FROM ${readCsv(path, columns)}`);
  }
  const runDuckdb = async (sql: string): Promise<Found> => {
    const stopwatch = startStopwatch();
    const result = await connection.stream(sql);
    let rows = 0;
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) break;
      rows += chunk.rowCount;
    }
    return { cpuMs: stopwatch().cpuMs, rows };
  };
  for (const { name, stream, batch, map } of shapes) {
    const [ours, maps, theirs]: [Found[], Found[], Found[]] = [[], [], []];
    for (let round = 0; round < rounds; round += 1) {
      const run = await runStream(`${statements}\n${stream} INTO Void();`, { memory });
      ours.push({ cpuMs: run.cpuMs, rows: run.rowsOut });
      const stopwatch = startStopwatch();
      const rows = map(facts.keys, sides.keys);
      maps.push({ cpuMs: stopwatch().cpuMs, rows });
      theirs.push(await runDuckdb(batch));
    }
    const counts = new Set([...ours, ...maps, ...theirs].map(({ rows }) => rows));
    const problem = `different numbers of rows: ${[...counts].join(", ")}`;
    report.check(`${name}_rows`, counts.size === 1 ? undefined : problem);
    const rate = (runs: readonly Found[]): number =>
      rowCount / 1_000 / Math.min(...runs.map(({ cpuMs }) => cpuMs));
    report.figure(
      name,
      {},
      {
        ...{ rows: rowCount, keys: keyCount, million_per_cpu_s: rate(ours) },
        ...{ map_million_per_cpu_s: rate(maps), duckdb_million_per_cpu_s: rate(theirs) },
        load: loadavg()[0],
      },
    );
  }
  connection.closeSync();
  instance.closeSync();
}

function source(name: string, path: string): string {
  return `CREATE LOGICAL SOURCE ${name}(k INT64 NOT NULL, v INT64 NOT NULL, at UINT64 NOT NULL);
CREATE PHYSICAL SOURCE FOR ${name} TYPE File SET('${path}' AS "SOURCE".FILE_PATH, 'CSV' AS PARSER.TYPE);`;
}

/** All rows belong to one day. */
function write(path: string, count: number, keyOf: (row: number) => number): Keys {
  const keys = Float64Array.from({ length: count }, (_, row) => keyOf(row));
  if (existsSync(path)) return { path, keys };
  const lines: string[] = [];
  for (const [row, key] of keys.entries()) lines.push(`${key},${row},${row}\n`);
  writeFileSync(path, lines.join(""));
  return { path, keys };
}

function countInMap(facts: Float64Array): number {
  const counts = new Map<number, number>();
  for (const key of facts) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts.size;
}

/** Gathers the pairs in arrays, as a join has to hand them on. */
function joinByMap(facts: Float64Array, sides: Float64Array): number {
  const rowOf = new Map<number, number>();
  for (const [row, key] of sides.entries()) rowOf.set(key, row);
  const [left, right] = [new Int32Array(facts.length), new Int32Array(facts.length)];
  let pairs = 0;
  for (let row = 0; row < facts.length; row += 1) {
    const found = rowOf.get(facts[row] as number);
    if (found === undefined) continue;
    left[pairs] = row;
    right[pairs] = found;
    pairs += 1;
  }
  return pairs;
}
