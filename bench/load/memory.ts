/**
 * A long run, watched by somebody: what coordinator and workers hold in memory in its second minute
 * and in its last, and how what they have on disk grows.
 */
import { readdirSync, statSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type BenchOptions, median, type Report } from "../report.ts";
import { LoadCluster, residentBytesOf } from "./load-cluster.ts";

const connections = 8;
const rate = 4_000;
const warmupSeconds = 3;
const sampleMs = 2_000;
/** The median over this time, because garbage comes and goes. */
const windowMs = 30_000;
const growthMax = 1.1;
const mebibyte = 1024 ** 2;

interface Sample {
  readonly atMs: number;
  readonly bytes: Readonly<Record<string, number>>;
}

export async function benchMemory({ minutes }: BenchOptions, report: Report): Promise<void> {
  const world = await LoadCluster.start();
  try {
    await world.loadData();
    const id = await world.begin({
      templateId: "select-only",
      connections,
      settings: [`qps=${rate}`, `warmup=${warmupSeconds}`, `duration=${minutes * 60}`],
    });
    await world.waitForPhase(id, "MEASUREMENT", 60_000);
    const viewer = new WebSocket(`${world.cluster.url.replace("http", "ws")}/ws/test/${id}`, [
      "capstan",
    ]);
    const samples = await watch(world, id, minutes, report);
    viewer.close();
    const { qps } = await world.ended(id, 120_000);
    const earlyMinute = Math.min(2, minutes / 2);
    const early = windowBefore(samples, earlyMinute * 60_000);
    const late = windowBefore(samples, minutes * 60_000);
    for (const name of Object.keys(late)) {
      const growth = (late[name] ?? 0) / (early[name] ?? 0);
      report.figure(
        `resident_${name}`,
        { growth: { value: growth, atMost: growthMax } },
        {
          per_second: qps ?? 0,
          early_minute: earlyMinute,
          late_minute: minutes,
          early_mib: (early[name] ?? 0) / mebibyte,
          late_mib: (late[name] ?? 0) / mebibyte,
        },
      );
    }
  } finally {
    await world.stop();
  }
}

async function watch(
  world: LoadCluster,
  id: string,
  minutes: number,
  report: Report,
): Promise<readonly Sample[]> {
  const pids: Record<string, number> = { coordinator: world.cluster.pid("coordinator") };
  for (const [index, pid] of world.workerPids(id).entries()) pids[`load_worker_${index}`] = pid;
  const samples: Sample[] = [];
  const startedMs = performance.now();
  for (let minute = 0; ; ) {
    const atMs = performance.now() - startedMs;
    if (atMs > minutes * 60_000 - sampleMs) return samples;
    const bytes = Object.entries(pids).map(([name, pid]) => [name, residentBytesOf(pid)] as const);
    samples.push({ atMs, bytes: Object.fromEntries(bytes) });
    if (atMs >= minute * 60_000) {
      const resident = bytes.map(([name, each]) => `${name} ${mib(each)}`).join(", ");
      const disk = diskUse(world.cluster.dataDir);
      report.say(`  minute ${minute}: ${resident}; ${disk}; load ${loadavg()[0]?.toFixed(1)}`);
      minute += 1;
    }
    await pause(sampleMs);
  }
}

function windowBefore(samples: readonly Sample[], atMs: number): Readonly<Record<string, number>> {
  const own = samples.filter((sample) => sample.atMs <= atMs && sample.atMs > atMs - windowMs);
  const names = Object.keys(own[0]?.bytes ?? {});
  return Object.fromEntries(
    names.map((name) => [name, median(own.map(({ bytes }) => bytes[name] ?? 0))]),
  );
}

/** The disk use of the store and of each directory. */
function diskUse(dir: string): string {
  return readdirSync(dir, { withFileTypes: true })
    .map((entry) => [entry.name, sizeOf(join(dir, entry.name))] as const)
    .filter(([, bytes]) => bytes > mebibyte / 10)
    .map(([name, bytes]) => `${name} ${mib(bytes)}`)
    .join(", ");
}

function sizeOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

function mib(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(1)} MiB`;
}
