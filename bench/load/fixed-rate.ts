/**
 * Latency at one rate that both can make (`pgbench -R`), from the moment that each operation was
 * due: how late a generator is itself shows here and nowhere else. By turns, on the same tables of
 * the same server.
 */
import { type BenchOptions, median, type Report } from "../report.ts";
import { LoadCluster, scale } from "./load-cluster.ts";
import { type LatencyFigures, pgbenchLatency, pgbenchVersion } from "./pgbench.ts";

const connections = 8;
const warmupSeconds = 6;

export async function benchFixedRate(
  { rounds, seconds, rate }: BenchOptions,
  report: Report,
): Promise<void> {
  const peer = pgbenchVersion();
  const ours: LatencyFigures[] = [];
  const theirs: LatencyFigures[] = [];
  const world = await LoadCluster.start();
  try {
    await world.loadData();
    const cell = { workload: "select", connections, depth: 1 } as const;
    for (let round = 0; round < rounds; round += 1) {
      ours.push(await capstanLatency(world, rate, seconds));
      if (peer === undefined) continue;
      const options = { url: world.targetUrl, scale, tables: "tpcb", seconds } as const;
      theirs.push(await pgbenchLatency(cell, rate, { ...options, seed: round + 1 }));
    }
  } finally {
    await world.stop();
  }
  const p50 = (of: readonly LatencyFigures[]) => of.map(({ p50Ms }) => p50Ms);
  const p99 = (of: readonly LatencyFigures[]) => of.map(({ p99Ms }) => p99Ms);
  const ratio = median(p50(ours)) / median(p50(theirs));
  report.figure(
    "latency_at_rate",
    peer === undefined
      ? {}
      : {
          p50_ratio: { value: ratio, atMost: 1.05 },
          p99_ms: { value: median(p99(ours)), atMost: Math.max(...p99(theirs)) },
        },
    {
      per_second: rate,
      capstan_p50_ms: p50(ours),
      pgbench_p50_ms: p50(theirs),
      capstan_p99_ms: p99(ours),
      pgbench_p99_ms: p99(theirs),
    },
  );
}

async function capstanLatency(
  world: LoadCluster,
  rate: number,
  seconds: number,
): Promise<LatencyFigures> {
  const id = await world.begin({
    templateId: "select-only",
    connections,
    settings: [`qps=${rate}`, `warmup=${warmupSeconds}`, `duration=${seconds}`],
  });
  const test = await world.ended(id, seconds * 1000 + 60_000);
  return { p50Ms: test.p50_latency_ms ?? 0, p99Ms: test.p99_latency_ms ?? 0 };
}
