/** Queries whose callers leave at any moment, and what they may not leave behind. */
import { readdirSync, readlinkSync } from "node:fs";
import {
  type AskCluster,
  type At,
  bothWorkers,
  metric,
  metricsOf,
  promql,
  streamed,
} from "./ask-cluster.ts";

export const stormQuery = "sum by (job) (rate(day_total[5m]))";
const slowQuery = "sum by (job) (stddev_over_time(day_total[6h]))";
const clients = 8;

export interface StormOptions {
  readonly queries: number;
  /** After how long the caller of the next query leaves. */
  readonly leaveMs: () => number;
}

/**
 * Of a cluster with `day_total` in it. Rejects when a query fails for another reason than its
 * caller's leaving.
 */
export async function queryStorm(
  { url }: AskCluster,
  day: Exclude<At, { timeMs: number }>,
  { queries, leaveMs }: StormOptions,
): Promise<{ readonly answered: number; readonly left: number }> {
  let turn = 0;
  let left = 0;
  const client = async (): Promise<void> => {
    while (turn < queries) {
      turn += 1;
      const signal = AbortSignal.timeout(leaveMs());
      try {
        await oneQuery(url, day, turn, signal);
      } catch (thrown) {
        if (!signal.aborted) throw thrown;
        left += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { answered: turn - left, left };
}

/** Light, heavy, at one moment, over a day, as events: each turn another. */
async function oneQuery(
  url: string,
  day: Exclude<At, { timeMs: number }>,
  turn: number,
  signal: AbortSignal,
): Promise<void> {
  const { endMs } = day;
  const options = { signal, lastOfConnection: true };
  const range = { ...day, stepMs: day.stepMs * (1 + (turn % 5)) };
  const kinds = [
    () => promql(url, stormQuery, range, options),
    () => promql(url, "count(day_total)", { timeMs: endMs - turn }, options),
    () => promql(url, slowQuery, range, options),
    () => streamed(url, "day_total", range, options),
    () => promql(url, "topk(3, max_over_time(day_total[1h]))", { timeMs: endMs }, options),
  ];
  await kinds[turn % kinds.length]?.();
}

/** What is under way because of queries, in words. */
export async function underWay(ask: AskCluster): Promise<string[]> {
  const counts: Record<string, number> = {
    "queries of the service": await metric(ask.url, "capstan_promql_queries_running"),
    "queries of the manager": await metric(ask.url, "capstan_queries_running"),
    "works in the queue": await metric(ask.url, "capstan_work_queue_depth"),
    "local copies": ask.fetched().length,
  };
  for (const worker of bothWorkers) {
    const url = ask.monitorUrl(worker);
    counts[`works on ${worker}`] = await metric(url, "capstan_worker_running_work");
    counts[`works waiting on ${worker}`] = await metric(url, "capstan_worker_queue_depth");
    counts[`files being written on ${worker}`] = ask.spooled(worker, "writing").length;
  }
  return Object.entries(counts).flatMap(([what, count]) =>
    count > 0 ? [`${what}: ${count}`] : [],
  );
}

/** What processes hold at a moment, as Linux and they themselves tell it, by what it is. */
export async function levelsOf(ask: AskCluster): Promise<ReadonlyMap<string, number>> {
  const levels = new Map<string, number>();
  for (const name of ["coordinator", ...bothWorkers]) {
    const metricsUrl = name === "coordinator" ? ask.url : ask.monitorUrl(name);
    // The connection that asks is open meanwhile, each time.
    const found = await metricsOf(metricsUrl);
    const pid = ask.pid(name);
    const links = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
    const sockets = links.filter((link) => link.startsWith("socket:")).length;
    levels.set(`sockets of ${name}`, sockets);
    levels.set(`other files of ${name}`, links.length - sockets);
    levels.set(`threads of ${name}`, readdirSync(`/proc/${pid}/task`).length);
    const timers = found.sum("capstan_nodejs_active_resources", { type: "Timeout" });
    levels.set(`timers of ${name}`, timers);
    levels.set(`handles of ${name}`, found.sum("capstan_nodejs_active_handles_total"));
  }
  return levels;
}

/**
 * Scrapes and whoever reads metrics come and go. Were one query in a hundred to leave something
 * behind, it would be more.
 */
const noiseMax = 4;

/** What there is more of than before, in words. Threads are all known. */
export function grownSince(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): string[] {
  return [...now].flatMap(([what, count]) => {
    const was = before.get(what) ?? 0;
    const most = what.startsWith("threads") ? was : was + noiseMax;
    return count > most ? [`${what}: ${was} before, ${count} now`] : [];
  });
}

/** A descriptor may be closed while the list is read. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
