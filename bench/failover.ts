/**
 * What a fault costs, from real processes under `capstan up`, with every result checked.
 *
 *   sigkill      a worker that runs work is killed: until that work is accepted elsewhere
 *   sigstop      a worker that runs work is stopped: the same, found by its silence
 *   coordinator  the coordinator is killed: until its work is cancelled on the worker
 *   storm        small queries by eight clients while workers are killed at random: none lost
 *   busy         every core kept busy from outside and by queries: no worker found unreachable
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import {
  type Cluster,
  http,
  listQueries,
  listWorkers,
  type QueryRecord,
  sql,
  startCluster,
} from "../test/e2e/harness.ts";
import { slowSql, slowSqlAnswer } from "../test/e2e/slow-sql.ts";
import type { BenchOptions, Report } from "./report.ts";

const workerNames = ["worker-1", "worker-2"];
const pollMs = 2;

const parts: readonly [
  name: string,
  run: (cluster: Cluster, options: BenchOptions, report: Report) => Promise<void>,
][] = [
  ["sigkill", benchSigkill],
  ["sigstop", benchSigstop],
  ["coordinator", benchCoordinator],
  ["storm", benchStorm],
  ["busy", benchBusy],
];

export async function benchFailover(options: BenchOptions, report: Report): Promise<void> {
  for (const [name, run] of parts) {
    if (options.only !== undefined && options.only !== name) continue;
    report.say(`failover: ${name}`);
    const cluster = await startCluster({ workers: workerNames.length });
    try {
      await run(cluster, options, report);
    } finally {
      await cluster.stop();
    }
  }
}

async function benchSigkill(cluster: Cluster, { trials }: BenchOptions, report: Report) {
  const samples: number[] = [];
  for (let trial = 0; trial < trials; trial += 1) {
    samples.push(await timeReassignment(cluster, "SIGKILL"));
  }
  report.spread("sigkill_to_accepted_elsewhere", "ms", samples, { atMost: 1_000 });
}

async function benchSigstop(cluster: Cluster, { trials }: BenchOptions, report: Report) {
  const samples: number[] = [];
  for (let trial = 0; trial < trials; trial += 1) {
    samples.push(await timeReassignment(cluster, "SIGSTOP"));
  }
  report.spread("sigstop_to_accepted_elsewhere", "ms", samples, { atMost: 4_000 });
}

/**
 * From the signal to the work being accepted by the other worker. The answer must still be right.
 */
async function timeReassignment(cluster: Cluster, signal: "SIGKILL" | "SIGSTOP"): Promise<number> {
  await cluster.waitForWorkers("ACTIVE", workerNames);
  const seconds = 1;
  const answer = sql(cluster.url, slowSql(seconds));
  const { query_id, worker_id: victim } = await runningQuery(cluster.url);
  assert(victim !== null);
  const pid = cluster.pid(victim);
  const startedMs = performance.now();
  process.kill(pid, signal);
  try {
    await poll(async () => {
      const query = await findQuery(cluster.url, query_id);
      return query?.state === "running" && query.worker_id !== victim ? query : undefined;
    });
    const elapsedMs = performance.now() - startedMs;
    const { rows, error } = await answer;
    assert.equal(error, undefined);
    assert.deepEqual(rows, [[slowSqlAnswer(seconds)]]);
    return elapsedMs;
  } finally {
    if (signal === "SIGSTOP") process.kill(pid, "SIGCONT");
  }
}

async function benchCoordinator(cluster: Cluster, { trials }: BenchOptions, report: Report) {
  const samples: number[] = [];
  for (let trial = 0; trial < trials; trial += 1) {
    await cluster.waitForWorkers("ACTIVE", workerNames);
    const abandoned = sql(cluster.url, slowSql(30)).catch(() => undefined);
    const { worker_id: holder } = await runningQuery(cluster.url);
    assert(holder !== null);
    const monitorUrl = cluster.monitorUrl(holder);
    assert.equal(await runningWork(monitorUrl), 1);
    const startedMs = performance.now();
    cluster.kill("coordinator", "SIGKILL");
    await poll(async () => ((await runningWork(monitorUrl)) === 0 ? true : undefined));
    samples.push(performance.now() - startedMs);
    await abandoned;
  }
  report.spread("coordinator_sigkill_to_cancelled_on_worker", "ms", samples, { atMost: 1_000 });
}

async function benchStorm(cluster: Cluster, { queries }: BenchOptions, report: Report) {
  const clients = 8;
  const killsMin = 20; // A thousand small queries alone would be over after a few.
  let kills = 0;
  let next = 0;
  let wrong = 0;
  const latenciesMs: number[] = [];
  const runClient = async (): Promise<void> => {
    while (next < queries || kills < killsMin) {
      const number = next;
      next += 1;
      const startedMs = performance.now();
      const text = `SELECT sum(i) * ${number} AS answer FROM range(1000) t(i)`;
      const { rows, error } = await sql(cluster.url, text);
      latenciesMs.push(performance.now() - startedMs);
      if (error !== undefined || Number(rows[0]?.[0]) !== 499_500 * number) {
        wrong += 1;
        report.say(`  query ${number}: ${error?.code ?? `answered ${JSON.stringify(rows)}`}`);
      }
    }
  };
  const running = Promise.all(Array.from({ length: clients }, runClient));
  let done = false;
  void running.finally(() => {
    done = true;
  });
  while (!done) {
    await pause(100 + Math.random() * 700);
    const name = workerNames[Math.floor(Math.random() * workerNames.length)] as string;
    const alive = (await listWorkers(cluster.url)).filter(({ state }) => state === "ACTIVE");
    if (done || alive.length < 2) continue; // With none left there is nothing to move work to.
    cluster.kill(name, "SIGKILL");
    kills += 1;
  }
  await running;
  report.value("storm_queries", "count", latenciesMs.length);
  report.value("storm_kills", "count", kills);
  report.value("storm_queries_lost_or_wrong", "count", wrong, { atMost: 0 });
  report.spread("storm_query_latency", "ms", latenciesMs);
}

async function benchBusy(cluster: Cluster, { busySeconds }: BenchOptions, report: Report) {
  const endMs = performance.now() + busySeconds * 1_000;
  const spinners = Array.from({ length: availableParallelism() }, startSpinner);
  const watching = new AbortController();
  const failures = countFailures(cluster.url, watching.signal);
  let queries = 0;
  const runClient = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const { rows, error } = await sql(cluster.url, slowSql(0.5));
      assert.equal(error, undefined);
      assert.deepEqual(rows, [[slowSqlAnswer(0.5)]]);
      queries += 1;
    }
  };
  try {
    await Promise.all([runClient(), runClient(), runClient(), runClient()]);
  } finally {
    for (const spinner of spinners) spinner.kill("SIGKILL");
    watching.abort();
  }
  report.value("busy_seconds", "s", busySeconds);
  report.value("busy_queries", "count", queries);
  report.value("busy_false_failures", "count", await failures, { atMost: 0 });
}

/** How often a worker was written UNREACHABLE, read from the change log until `signal`. */
async function countFailures(url: string, signal: AbortSignal): Promise<number> {
  let failures = 0;
  try {
    const response = await http(`${url}/api/v1/watch?table=workers`, { signal });
    assert.equal(response.status, 200);
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      failures += decoder.decode(chunk, { stream: true }).match(/"UNREACHABLE"/g)?.length ?? 0;
    }
    throw new Error("the subscription ended early");
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
  return failures;
}

function startSpinner(): ChildProcess {
  return spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" });
}

async function runningQuery(url: string): Promise<QueryRecord> {
  return await poll(async () => {
    const queries = await listQueries(url);
    return queries.find(({ state, worker_id }) => state === "running" && worker_id !== null);
  });
}

async function findQuery(url: string, queryId: string): Promise<QueryRecord | undefined> {
  return (await listQueries(url)).find(({ query_id }) => query_id === queryId);
}

/** The worker's own gauge of work that it is executing. */
async function runningWork(monitorUrl: string): Promise<number> {
  const text = await (await http(`${monitorUrl}/metrics`)).text();
  const line = /^capstan_worker_running_work(?:\{[^}]*\})? (\d+)$/m.exec(text);
  assert(line !== null, "the worker shows how much work it runs");
  return Number(line[1]);
}

async function poll<T>(ask: () => Promise<T | undefined>): Promise<T> {
  const deadlineMs = performance.now() + 20_000;
  while (performance.now() < deadlineMs) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined) return answer;
    await pause(pollMs);
  }
  throw new Error("waited 20 s in vain");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
