/**
 * How much of pgbench's rate whole Capstan runs reach, and what either spends in CPU time for an
 * operation: by turns, on the same tables of the same server. Only ratios mean something: whoever
 * else uses the machine slows both.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type BenchOptions, median, type Report } from "../report.ts";
import { cpuSecondsOf, LoadCluster, scale } from "./load-cluster.ts";
import { type Cell, pgbenchRate, pgbenchVersion, type RateFigures } from "./pgbench.ts";

/** The first records are written after five seconds, by code that never ran before. */
const warmupSeconds = 6;
const goals: Readonly<Record<number, number>> = { 1: 0.8, 8: 1 };

export async function benchRates(options: BenchOptions, report: Report): Promise<void> {
  const world = await LoadCluster.start();
  try {
    await world.loadData();
    for (const workload of ["select", "tpcb"] as const) {
      for (const connections of [8, 16]) {
        for (const depth of [1, 8]) {
          const cell = { workload, connections, depth };
          if (options.cell !== undefined && !nameOf(cell).includes(options.cell)) continue;
          await compare(world, cell, options, report);
        }
      }
    }
  } finally {
    await world.stop();
  }
}

function nameOf({ workload, connections, depth }: Cell): string {
  return `${workload}_c${connections}_d${depth}`;
}

async function compare(
  world: LoadCluster,
  cell: Cell,
  { rounds, seconds }: BenchOptions,
  report: Report,
): Promise<void> {
  const ours: RateFigures[] = [];
  const theirs: RateFigures[] = [];
  const peer = pgbenchVersion();
  for (let round = 0; round < rounds; round += 1) {
    ours.push(await capstanRate(world, cell, seconds));
    if (peer === undefined) continue;
    const options = { url: world.targetUrl, scale, tables: "tpcb", seconds } as const;
    theirs.push(await pgbenchRate(cell, { ...options, seed: round + 1 }));
  }
  const { connections, depth } = cell;
  const ratios = theirs.map(({ perSecond }, at) => (ours[at]?.perSecond ?? 0) / perSecond);
  const goal = goals[depth];
  report.figure(
    `rate_${nameOf(cell)}`,
    peer === undefined || goal === undefined
      ? {}
      : { ratio: { value: median(ratios), atLeast: goal } },
    {
      connections,
      depth,
      capstan_per_second: median(ours.map(({ perSecond }) => perSecond)),
      pgbench_per_second: median(theirs.map(({ perSecond }) => perSecond)),
      ratios,
      capstan_cpu_us: median(ours.map(({ cpuMicroseconds }) => cpuMicroseconds)),
      pgbench_cpu_us: median(theirs.map(({ cpuMicroseconds }) => cpuMicroseconds)),
    },
  );
}

/**
 * CPU time is that of the middle of MEASUREMENT: starting and ending a process is not an
 * operation's.
 */
async function capstanRate(
  world: LoadCluster,
  { workload, connections, depth }: Cell,
  seconds: number,
): Promise<RateFigures> {
  const id = await world.begin({
    templateId: workload === "select" ? "select-only" : "tpcb-like",
    connections,
    settings: [`warmup=${warmupSeconds}`, `duration=${seconds}`, `pipeline_depth=${depth}`],
  });
  await world.waitForPhase(id, "MEASUREMENT", 60_000);
  const pids = world.workerPids(id);
  const from = { cpu: cpuOf(pids), atMs: performance.now() };
  await pause(seconds * 800);
  const cpu = cpuOf(pids) - from.cpu;
  const elapsed = (performance.now() - from.atMs) / 1000;
  const { qps } = await world.ended(id, seconds * 1000 + 60_000);
  return { perSecond: qps ?? 0, cpuMicroseconds: (cpu * 1e6) / elapsed / (qps ?? 0) };
}

function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
}
