/**
 * How much memory a system takes: a minute after its start with nothing in it, and after every
 * query of the bench was asked four times. Proportional set size, summed over all of its processes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BenchOptions, Report } from "../report.ts";
import { CapstanSystem } from "./capstan-system.ts";
import type { PrometheusBinaries } from "./prometheus.ts";
import { PrometheusSystem } from "./prometheus-system.ts";
import { benchQueries, requestPath } from "./queries.ts";
import { type Memory, memoryOfTrees, type System, totalBytes } from "./system.ts";

const mebibyte = 1024 ** 2;
const goals = { idle: 450 * mebibyte, after: 800 * mebibyte };
/** The time after the last answer until the memory counts as settled. */
const restMs = 30_000;

export async function measureIdle(
  dir: string,
  binaries: PrometheusBinaries | undefined,
  { idleMs }: BenchOptions,
  report: Report,
): Promise<void> {
  const emptyDir = mkdtempSync(join(dir, "empty-"));
  const systems: readonly System[] = [
    new CapstanSystem(join(emptyDir, "capstan")),
    ...(binaries === undefined ? [] : [new PrometheusSystem(binaries, join(emptyDir, "peer"))]),
  ];
  try {
    for (const system of systems) await system.start();
    await sleep(idleMs);
    for (const system of systems) tell(report, `${system.name}_memory_idle`, system, goals.idle);
  } finally {
    for (const system of systems) await system.stop();
    rmSync(emptyDir, { recursive: true, force: true });
  }
}

/**
 * Starts each system again, so that only these queries count, however often the bench asked before.
 */
export async function measureAfter(
  endMs: number,
  systems: readonly System[],
  report: Report,
): Promise<void> {
  for (const system of systems) {
    await system.stop();
    await system.start();
    for (let repetition = 0; repetition < 4; repetition += 1) {
      for (const query of benchQueries) {
        const answer = await fetch(`${system.url()}${requestPath(query, endMs, repetition)}`);
        await answer.arrayBuffer();
      }
    }
    tell(report, `${system.name}_memory_after`, system, goals.after);
    await sleep(restMs);
    tell(report, `${system.name}_memory_rested`, system, goals.after);
  }
}

function tell(report: Report, metric: string, system: System, goalBytes: number): void {
  const memory = memoryOfTrees(system.rootPids());
  if (memory.length === 0) {
    report.say(`${metric}: this machine does not say (/proc/PID/smaps_rollup)`);
    return;
  }
  const bytes = totalBytes(memory);
  const mebibytes = (each: Memory): number => Math.round(each.proportionalBytes / mebibyte);
  const isOurs = system.name === "capstan";
  report.figure(metric, isOurs ? { pss_bytes: { value: bytes, atMost: goalBytes } } : {}, {
    ...(isOurs ? {} : { pss_bytes: bytes }),
    anonymous_bytes: memory.reduce((sum, { anonymousBytes }) => sum + anonymousBytes, 0),
    processes_mib: memory.map(mebibytes),
  });
}
