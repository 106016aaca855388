/**
 * How much of pgbench's rate the Postgres client alone reaches: closed loops with seeded random
 * keys, in as many processes as pgbench has threads, by turns with pgbench on the same server.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../../src/ground/store/testing/embedded-postgres.ts";
import { type BenchOptions, median, type Report } from "../report.ts";
import { scale } from "./load-cluster.ts";
import {
  type Cell,
  makePgbenchTables,
  pgbenchRate,
  pgbenchVersion,
  type RateFigures,
} from "./pgbench.ts";
import type { ClientOrder, ClientResult } from "./postgres-client-process.ts";

const processCount = 2;

export async function benchClient(options: BenchOptions, report: Report): Promise<void> {
  if (pgbenchVersion() === undefined) {
    report.say("load: client is skipped: pgbench, which makes its tables, is not on the PATH");
    return;
  }
  const postgres = await startEmbeddedPostgres(["shared_buffers=512MB", "max_wal_size=4GB"]);
  try {
    const url = await postgres.createDatabase();
    makePgbenchTables(url, scale);
    for (const workload of ["select", "tpcb"] as const) {
      for (const connections of [8, 16]) {
        for (const depth of [1, 8]) {
          await compare(url, { workload, connections, depth }, options, report);
        }
      }
    }
  } finally {
    await postgres.stop();
  }
}

async function compare(
  url: string,
  cell: Cell,
  { rounds, seconds }: BenchOptions,
  report: Report,
): Promise<void> {
  const ours: RateFigures[] = [];
  const theirs: RateFigures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    ours.push(await clientRate(url, cell, seconds, round));
    const options = { url, scale, tables: "pgbench", seconds } as const;
    theirs.push(await pgbenchRate(cell, { ...options, seed: round + 1 }));
  }
  const ratios = ours.map(({ perSecond }, at) => perSecond / (theirs[at]?.perSecond ?? Number.NaN));
  const { workload, connections, depth } = cell;
  report.figure(
    `client_${workload}`,
    {},
    {
      connections,
      depth,
      ratio: median(ratios),
      client_per_second: median(ours.map(({ perSecond }) => perSecond)),
      pgbench_per_second: median(theirs.map(({ perSecond }) => perSecond)),
      ratios,
      client_cpu_us: median(ours.map(({ cpuMicroseconds }) => cpuMicroseconds)),
      pgbench_cpu_us: median(theirs.map(({ cpuMicroseconds }) => cpuMicroseconds)),
    },
  );
}

async function clientRate(
  url: string,
  cell: Cell,
  seconds: number,
  round: number,
): Promise<RateFigures> {
  const script = join(import.meta.dirname, "postgres-client-process.ts");
  const children: ChildProcess[] = [];
  for (let index = 0; index < processCount; index += 1) {
    const child = fork(script);
    const order: ClientOrder = {
      url,
      workload: cell.workload,
      connections: cell.connections / processCount,
      depth: cell.depth,
      seconds,
      warmupCount: cell.workload === "select" ? 30_000 : 3000,
      scale,
      seed: `${round}-${index}`,
    };
    child.send(order);
    children.push(child);
  }
  await Promise.all(children.map((child) => once(child, "message"))); // They are warm.
  const results = children.map(async (child) => {
    child.send("go");
    const [result] = (await once(child, "message")) as [ClientResult];
    await once(child, "exit");
    return result;
  });
  return summed(await Promise.all(results));
}

function summed(results: readonly ClientResult[]): RateFigures {
  const count = results.reduce((sum, result) => sum + result.count, 0);
  const cpu = results.reduce((sum, result) => sum + result.cpuMicroseconds, 0);
  const perSecond = results.reduce((sum, result) => sum + result.count / result.seconds, 0);
  return { perSecond, cpuMicroseconds: cpu / count };
}
