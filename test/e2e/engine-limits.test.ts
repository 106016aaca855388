/**
 * Statements that take all memory, ignore their cancellation or crash DuckDB cost the engine's
 * process, and nothing else.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { processTree, pssBytes } from "../../src/ground/kernel/node/process-memory.ts";
import { writeData } from "./ask-cluster.ts";
import {
  type Cluster,
  getJson,
  http,
  isAlive,
  listQueries,
  listWorkers,
  onceWithin,
  sql,
  startCluster,
  stopEverything,
  waitFor,
} from "./harness.ts";
import { slowSql, slowSqlAnswer } from "./slow-sql.ts";

const limitBytes = 700 * 1024 ** 2;
const worker = "worker-1";
/** Computes for minutes within one function call, which checks no interrupt. */
const deafSql = "SELECT levenshtein(repeat('x', 200000), repeat('y', 200000))";
const isLinux = process.platform === "linux";

let cluster: Cluster;
let url: string;
before(async () => {
  cluster = await startCluster({ workers: 1, args: ["--memory-limit", String(limitBytes)] });
  url = cluster.url;
});
after(async () => {
  await cluster.stop();
  await stopEverything();
});

function enginesOf(name: string): readonly number[] {
  return processTree(cluster.pid(name)).filter((pid) => commandOf(pid).includes("engine-process"));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** The CPU time of the processes, in hundredths of a second. */
function ticksOf(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return Number(fields[11]);
  });
  return ticks.reduce((sum, each) => sum + each, 0);
}

interface Watched {
  peakBytes: number;
  /** The longest continuous time above the limit. */
  overMs: number;
}

/** Between two looks in a row, on a busy machine too. */
const lookMsMax = 300;

/** Measures a process's tree from outside, every 50 ms. */
async function watching<T>(
  name: string,
  use: () => Promise<T>,
): Promise<Watched & { readonly result: T }> {
  const watched: Watched = { peakBytes: 0, overMs: 0 };
  let overSinceMs: number | undefined;
  let lookedMs = performance.now();
  const timer = setInterval(() => {
    const pids = processTree(cluster.pid(name));
    const bytes = pids.reduce((sum, pid) => sum + (pssBytes(pid) ?? 0), 0);
    watched.peakBytes = Math.max(watched.peakBytes, bytes);
    const nowMs = performance.now();
    // After a delay of this test itself, nothing is known about the time in between.
    if (bytes <= limitBytes || nowMs - lookedMs > lookMsMax) overSinceMs = undefined;
    lookedMs = nowMs;
    if (bytes > limitBytes) {
      overSinceMs ??= nowMs;
      watched.overMs = Math.max(watched.overMs, nowMs - overSinceMs);
    }
  }, 50);
  try {
    const result = await use();
    return { ...watched, result };
  } finally {
    clearInterval(timer);
  }
}

async function incarnation(): Promise<string | undefined> {
  return (await listWorkers(url)).find(({ worker_id }) => worker_id === worker)?.incarnation;
}

/** What DuckDB allocates at once, what it allocates bit by bit, and what it counts. */
const hungry = [
  "SELECT range(1000000000)",
  "SELECT repeat('x', 2000000000)",
  "SELECT range(1000000000), 2",
  "SELECT array_to_string(range(60000000), ',')",
  "SELECT list_sort(range(100000000))",
  "SELECT list(i) FROM range(1000000000) t(i)",
];

test("[QE4] six statements that want all memory fail; the limit holds, and everybody else is answered", {
  skip: !isLinux,
}, async () => {
  const before = await incarnation();
  await onceWithin(aboveLimit, aboveMsMax, wantAllMemory);
  assert.equal(await incarnation(), before, "the worker is the same process");
});

/** Resolves with the time above the limit. */
async function wantAllMemory(): Promise<number> {
  let asked = 0;
  let isOver = false;
  const { peakBytes, overMs, result } = await watching(worker, async () => {
    const beside = [
      (async () => {
        while (!isOver) {
          const query = `${url}/api/v1/query?query=${encodeURIComponent("sum(vector(1)) + 1")}`;
          const { data } = await getJson<{ data: { result: [{ value: [number, string] }] } }>(
            query,
          );
          assert.equal(data.result[0]?.value[1], "2");
          asked += 1;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      })(),
      (async () => {
        while (!isOver) {
          const { rows, error } = await patiently("SELECT sum(range)::BIGINT FROM range(1000000)");
          assert.deepEqual([error, rows], [undefined, [[499_999_500_000]]]);
        }
      })(),
    ];
    const slow = patiently(slowSql(1));
    const answers = await Promise.all(hungry.map((text) => patiently(text)));
    isOver = true;
    await Promise.all(beside);
    return { answers, slow: await slow };
  });
  requireTooLarge(hungry, result.answers);
  assert.deepEqual(result.slow.rows, [[slowSqlAnswer(1)]]);
  assert.ok(asked > 0);
  requireBound(peakBytes);
  return overMs;
}

/**
 * A table function's arguments, and a LIMIT, are computed when a statement is bound: by whoever
 * wants to know its columns.
 */
const hungryToBind = [
  "DESCRIBE SELECT * FROM range(len(range(1000000000)))",
  "DESCRIBE SELECT 1 LIMIT length(repeat('x', 2000000000))",
  "DESCRIBE SELECT * FROM range(length(array_to_string(range(60000000), ',')))",
  "CREATE TABLE bound AS SELECT * FROM range(len(list_sort(range(100000000))))",
  "INSERT INTO kept SELECT * FROM range(len(range(1000000000)))",
  "CREATE DYNAMIC TABLE bound TARGET_LAG = '1 minute' AS SELECT * FROM range(len(range(1000000000)))",
];

test("[QE4] six statements that want all memory when the coordinator binds them fail, and its limit holds", {
  skip: !isLinux,
}, async () => {
  const pid = cluster.pid("coordinator");
  assert.equal((await sql(url, "CREATE TABLE kept (n BIGINT)")).error, undefined);
  await onceWithin(aboveLimit, aboveMsMax, wantAllMemoryToBind);
  assert.equal(cluster.pid("coordinator"), pid, "the coordinator is the same process");
  const metrics = await (await http(`${url}/metrics`)).text();
  assert.match(metrics, /capstan_memory_limit_bytes\{.*\} 734003200/);
});

/** Resolves with the time above the limit. */
async function wantAllMemoryToBind(): Promise<number> {
  let isOver = false;
  let asked = 0;
  const { peakBytes, overMs, result } = await watching("coordinator", async () => {
    const beside = (async () => {
      while (!isOver) {
        assert.deepEqual((await patiently("SELECT count(*)::INT FROM kept")).rows, [[0]]);
        assert.equal((await patiently("DESCRIBE SELECT n + 1 AS m FROM kept")).rows[0]?.[0], "m");
        asked += 1;
      }
    })();
    const answers = await Promise.all(hungryToBind.map(patiently));
    isOver = true;
    await beside;
    return answers;
  });
  requireTooLarge(hungryToBind, result);
  requireBound(peakBytes);
  assert.ok(asked > 0);
  return overMs;
}

test("[QP34] a PromQL query of few samples and many steps is refused; the limits of both processes hold", {
  skip: !isLinux,
}, async () => {
  const now = Date.now();
  await writeData(
    url,
    Array.from({ length: 60 }, (_, g) => ({
      labels: { __name__: "steps_of", g: String(g) },
      ts: Float64Array.of(now - 1_000),
      values: Float64Array.of(1),
    })),
  );
  const names = ["coordinator", worker];
  const pids = names.map((name) => cluster.pid(name));
  for (const op of ["count", "sum", "topk"]) {
    const of = op === "topk" ? "topk by (g) (1, steps_of)" : `${op} by (g) (steps_of)`;
    const query = `max_over_time(${of}[115d:1s])`;
    const asked = `${url}/api/v1/query?query=${encodeURIComponent(query)}`;
    await onceWithin(aboveLimit, aboveMsMax, async () => {
      const outer = await watching("coordinator", () =>
        watching(worker, async () => {
          const answers = await Promise.all([asked, asked, asked].map((each) => http(each)));
          return await Promise.all(answers.map(async (each) => [each.status, await each.text()]));
        }),
      );
      const inner = outer.result;
      for (const [status, text] of inner.result) {
        assert.ok(status === 422 || status === 503, `${query}: ${status} ${text}`);
        assert.match(String(text), /would hold \d+ bytes of memory|other queries hold the memory/);
      }
      for (const { peakBytes } of [outer, inner]) requireBound(peakBytes);
      return Math.max(outer.overMs, inner.overMs);
    });
  }
  const light = `${url}/api/v1/query?query=${encodeURIComponent("sum(steps_of)")}`;
  const { data } = await getJson<{ data: { result: [{ value: [number, string] }] } }>(light);
  assert.equal(data.result[0]?.value[1], "60");
  assert.deepEqual(
    names.map((name) => cluster.pid(name)),
    pids,
    "the processes are the same",
  );
});

function requireTooLarge(
  texts: readonly string[],
  answers: readonly Awaited<ReturnType<typeof sql>>[],
): void {
  for (const [index, { error }] of answers.entries()) {
    assert.equal(error?.code, "statement_too_large", `${texts[index]}: ${error?.message}`);
  }
}

const aboveLimit = "memory above the limit, in a row,";
const aboveMsMax = 1_000;

function requireBound(peakBytes: number): void {
  assert.ok(peakBytes < limitBytes * 1.5, `${Math.round(peakBytes / 1024 ** 2)} MiB`);
}

test("[QE5] a statement whose client left stops, also one that ignores it", {
  skip: !isLinux,
}, async () => {
  const { answer, left } = leaving(`${deafSql} -- deaf`);
  await computing("-- deaf");
  // It is not done yet when the process is given up, 2 s after the client left.
  const other = sql(url, slowSql(4));
  left();
  await assert.rejects(answer);
  assert.deepEqual((await other).rows, [[slowSqlAnswer(4)]], "its neighbour was run again");
  await waitFor("the worker to be idle", async () => {
    const [found] = await listWorkers(url);
    return found?.live?.facts.running_work === "0" ? true : undefined;
  });
  const metrics = await (await http(`${cluster.monitorUrl(worker)}/metrics`)).text();
  assert.match(metrics, /capstan_engine_lost_total\{.*reason="cancel".*\} [1-9]/);
  assert.match(metrics, /capstan_memory_tree_bytes\{.*\} \d{8}/);
});

test("[QU48] a crash of native code costs its process, and the statements in it are run again", {
  skip: !isLinux,
}, async () => {
  const before = await incarnation();
  const written = sql(url, `CREATE TABLE crashed AS ${slowSql(3)}`);
  const answer = sql(url, `${slowSql(3)} -- crashed`);
  const record = await running("-- crashed");
  const [engine] = enginesOf(worker);
  assert.ok(engine !== undefined, "the worker has an engine's process");
  const environment = readFileSync(`/proc/${engine}/environ`, "utf8");
  assert.doesNotMatch(environment, /CAPSTAN|TOKEN|SECRET/);
  process.kill(engine, "SIGSEGV");
  assert.deepEqual((await answer).rows, [[slowSqlAnswer(3)]]);
  assert.equal((await written).error, undefined, "what writes to the lake begins anew too");
  assert.deepEqual((await sql(url, "FROM crashed")).rows, [[slowSqlAnswer(3)]]);
  const after = (await listQueries(url)).find(({ query_id }) => query_id === record.query_id);
  assert.equal(after?.attempts, 1, "the worker ran it again by itself");
  assert.equal(await incarnation(), before);
});

test("[QE3] kill -9 of a worker leaves no process behind, whatever DuckDB computes", {
  skip: !isLinux,
}, async () => {
  const { answer, left } = leaving(`${deafSql} -- orphan`);
  const engines = await computing("-- orphan");
  cluster.kill(worker, "SIGKILL");
  await waitFor("its engine to end", () => (engines.some(isAlive) ? undefined : true));
  left();
  await assert.rejects(answer);
});

/** Allows for a busy machine. */
function patiently(text: string): ReturnType<typeof sql> {
  return sql(url, text, { body: { sql: text, timeout_ms: 180_000 } });
}

function leaving(text: string): { readonly answer: Promise<unknown>; left(): void } {
  const abort = new AbortController();
  const answer = sql(url, text, { signal: abort.signal });
  answer.catch(() => undefined);
  return { answer, left: () => abort.abort() };
}

/** Resolves when a worker runs the query with the marker, and its engine has it. */
async function running(marker: string) {
  return await waitFor("the query to run", async () => {
    const queries = await listQueries(url);
    const found = queries.find(
      ({ text, state, worker_id }) =>
        text.includes(marker) && state === "running" && worker_id !== null,
    );
    return found !== undefined && (!isLinux || enginesOf(worker).length > 0) ? found : undefined;
  });
}

/**
 * Resolves with the worker's engines when DuckDB is within the statement with the marker. The
 * process alone does not say that: on a busy machine it may still be starting.
 */
async function computing(marker: string): Promise<readonly number[]> {
  await running(marker);
  const engines = enginesOf(worker);
  assert.ok(engines.length > 0, "the worker has an engine's process");
  const before = ticksOf(engines);
  const wantedTicks = 50; // Starting takes about 20.
  await waitFor("DuckDB to compute", () =>
    ticksOf(engines) >= before + wantedTicks ? true : undefined,
  );
  return engines;
}
