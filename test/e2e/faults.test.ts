/** Processes are killed, stopped and drained while they work; results stay right. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type Cluster,
  http,
  listQueries,
  listWorkers,
  type QueryRecord,
  runCli,
  sql,
  startCluster,
  startProcess,
  stopEverything,
  waitFor,
} from "./harness.ts";
import { slowSql, slowSqlAnswer } from "./slow-sql.ts";

let cluster: Cluster;
let url: string;
before(async () => {
  cluster = await startCluster({ workers: 2 });
  url = cluster.url;
});
after(async () => {
  await cluster.stop();
  await stopEverything();
});

const both = ["worker-1", "worker-2"] as const;

/** Starts a statement and resolves when a worker runs it. */
async function runSlowly(seconds: number, marker: string) {
  const answer = sql(url, `${slowSql(seconds)} -- ${marker}`);
  answer.catch(() => undefined);
  const running = await waitFor("the query to run", async () =>
    (await listQueries(url)).find(
      ({ text, state, worker_id }) =>
        text.includes(marker) && state === "running" && worker_id !== null,
    ),
  );
  return { answer, running, workerId: running.worker_id ?? "" };
}

async function recordOf(queryId: string): Promise<QueryRecord | undefined> {
  return (await listQueries(url)).find(({ query_id }) => query_id === queryId);
}

test("a worker that is killed mid-query costs nothing but time", async () => {
  const { answer, running, workerId } = await runSlowly(1.5, "killed");
  const before = (await listWorkers(url)).find(
    ({ worker_id }) => worker_id === workerId,
  )?.incarnation;
  cluster.kill(workerId, "SIGKILL");
  const { rows, error, summary } = await answer;
  assert.equal(error, undefined);
  assert.deepEqual(rows, [[slowSqlAnswer(1.5)]]);
  assert.notEqual(summary?.worker_id, undefined);
  assert.equal((await recordOf(running.query_id))?.attempts, 2);
  await cluster.waitForEvent(
    ({ event, process }) => event === "died" && process === workerId,
    "its death",
  );
  await cluster.waitForEvent(
    ({ event, process }) => event === "back" && process === workerId,
    "its return",
  );
  await cluster.waitForWorkers("ACTIVE", both);
  const after = (await listWorkers(url)).find(
    ({ worker_id }) => worker_id === workerId,
  )?.incarnation;
  assert.notEqual(after, before);
});

test("a worker that is stopped is found out, its work moves, and it comes back", async () => {
  const { answer, workerId } = await runSlowly(1.5, "stopped");
  const pid = cluster.pid(workerId);
  cluster.kill(workerId, "SIGSTOP");
  const stoppedMs = performance.now();
  await cluster.waitForWorkers("UNREACHABLE", [workerId]);
  const noticedMs = performance.now() - stoppedMs;
  const { rows, error } = await answer;
  assert.equal(error, undefined);
  assert.deepEqual(rows, [[slowSqlAnswer(1.5)]]);
  process.kill(pid, "SIGCONT");
  await cluster.waitForWorkers("ACTIVE", both);
  assert.equal(cluster.pid(workerId), pid, "it was not started anew");
  assert.ok(noticedMs < 6_000, `noticed after ${noticedMs} ms`);
});

test("[CM7] a coordinator that is killed is started again; workers cancel its work and return; a watch goes on", async () => {
  const watch = startProcess(["watch", "workers", "--url", url, "--json"]);
  await waitFor("the snapshot", () => (watch.output.includes("SNAPSHOT") ? true : undefined));
  const { answer, workerId } = await runSlowly(30, "orphan");
  const monitor = cluster.monitorUrl(workerId);
  cluster.kill("coordinator", "SIGKILL");
  await waitFor("the work to be cancelled", async () => {
    const text = await (await http(`${monitor}/metrics`)).text();
    return /capstan_worker_running_work\{[^}]*\} 0/.test(text) ? true : undefined;
  });
  await assert.rejects(answer);
  await cluster.waitForEvent(
    ({ event, process }) => event === "back" && process === "coordinator",
    "its return",
  );
  await cluster.waitForWorkers("ACTIVE", both);
  assert.equal((await sql(url, "SELECT 42")).rows[0]?.[0], 42);

  await waitFor(
    "the watch to see both workers again",
    () => {
      const events = watch.output.split("\n").filter((line) => line.startsWith("{"));
      const seen = events.map((line) => JSON.parse(line));
      const revisions = seen.map(({ revision }) => revision as number);
      assert.deepEqual(
        revisions,
        [...revisions].sort((a, b) => a - b),
        "revisions grow",
      );
      const back = seen
        .filter(({ op, data }) => op === "UPDATE" && data.state === "ACTIVE")
        .map(({ key }) => key);
      return both.every((name) => back.includes(name)) ? true : undefined;
    },
    20_000,
    () => watch.output,
  );
  assert.equal(watch.output.split("\n").filter((line) => line.includes('"SNAPSHOT"')).length, 1);
  assert.match(watch.output, /trying again/);
  assert.equal(await watch.stop("SIGINT"), 130);
});

test("a worker that drains finishes its work and takes no more", async () => {
  const { answer, workerId } = await runSlowly(1, "drained");
  const other = both.find((name) => name !== workerId);
  assert.equal((await runCli(["workers", "drain", workerId, "--url", url])).code, 0);
  await waitFor("it to drain", async () => {
    const found = (await listWorkers(url)).find(({ worker_id }) => worker_id === workerId);
    return found?.draining === true && !found.accepting_work ? true : undefined;
  });
  for (let query = 0; query < 6; query += 1) {
    assert.equal((await sql(url, `SELECT ${query}`)).summary?.worker_id, other);
  }
  assert.equal((await answer).summary?.worker_id, workerId);
  assert.equal((await runCli(["workers", "undrain", workerId, "--url", url])).code, 0);
  await waitFor("it to take work again", async () => {
    const found = (await listWorkers(url)).find(({ worker_id }) => worker_id === workerId);
    return found?.accepting_work === true ? true : undefined;
  });
});

test("a worker that is asked to end finishes its work first", async () => {
  const worker = startProcess(
    ["worker", "--join", url, "--name", "leaver", "--data-dir", cluster.dataDir],
    { CAPSTAN_CLUSTER_TOKEN: cluster.clusterToken() },
  );
  await cluster.waitForWorkers("ACTIVE", ["leaver"]);
  for (const name of both) await runCli(["workers", "drain", name, "--url", url]);
  await waitFor("only the leaver to take work", async () => {
    const workers = await listWorkers(url);
    return workers.every(
      ({ worker_id, accepting_work }) => accepting_work === (worker_id === "leaver"),
    )
      ? true
      : undefined;
  });
  const { answer } = await runSlowly(1, "leaving");
  worker.kill("SIGTERM");
  assert.equal((await answer).summary?.worker_id, "leaver");
  assert.deepEqual(await worker.exited, { code: 0, signal: null });
  await cluster.waitForWorkers("UNREACHABLE", ["leaver"]);
  assert.equal((await runCli(["workers", "drop", "leaver", "--url", url])).code, 0);
  for (const name of both) await runCli(["workers", "undrain", name, "--url", url]);
});

test("a statement that nobody can run yet waits for a worker", async () => {
  for (const name of both) await runCli(["workers", "drain", name, "--url", url]);
  await waitFor("nobody to take work", async () =>
    (await listWorkers(url)).some(({ accepting_work }) => accepting_work) ? undefined : true,
  );
  const answer = sql(url, "SELECT 42");
  const queue = await waitFor("it to queue", async () => {
    const body = (await (await http(`${url}/api/v1/monitor/queue`)).json()) as {
      queue_depth: number;
    };
    return body.queue_depth === 1 ? body : undefined;
  });
  assert.equal(queue.queue_depth, 1);
  for (const name of both) await runCli(["workers", "undrain", name, "--url", url]);
  assert.deepEqual((await answer).rows, [[42]]);
});

test("[CM9] a child that is asked to end by somebody else is started again; a dropped worker is not", async () => {
  const own = await startCluster({ workers: 1 });
  own.kill("coordinator", "SIGTERM");
  await own.waitForEvent(
    ({ event, process }) => event === "back" && process === "coordinator",
    "its return",
  );
  await own.waitForWorkers("ACTIVE", ["worker-1"]);
  const change = async (verb: string): Promise<number | null> =>
    (await runCli(["workers", verb, "worker-1", "--url", own.url])).code;
  await waitFor("the drain", async () => ((await change("drain")) === 0 ? true : undefined));
  await waitFor("the drop", async () => ((await change("drop")) === 0 ? true : undefined));
  await own.waitForEvent(
    ({ event, process }) => event === "dropped" && process === "worker-1",
    "its end",
  );
  assert.ok(!own.events.some(({ event, process }) => event === "died" && process === "worker-1"));
  assert.equal(await own.stop(), 0);
});
