/** Processes are killed, stopped and drained while they work; results stay right. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import type { ReadyBody } from "../../src/faces/api/index.ts";
import { remoteWrite } from "./ask-cluster.ts";
import { type DataSeries, remoteWriteBody } from "./ask-data.ts";
import { runFrozenLeader } from "./frozen-leader.ts";
import {
  type CapstanProcess,
  type Cluster,
  getJson,
  http,
  listQueries,
  listWorkers,
  onceWithin,
  type QueryRecord,
  runCli,
  sql,
  startCluster,
  startProcess,
  stopEverything,
  waitFor,
  wholeLines,
} from "./harness.ts";
import { slowSql, slowSqlAnswer } from "./slow-sql.ts";

let cluster: Cluster;
let url: string;
before(async () => {
  cluster = await startCluster({ workers: 2 });
  url = cluster.url;
});
after(async () => {
  await replicaProcess?.stop();
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
  const { answer, running, workerId } = await runSlowly(3, "killed");
  const before = (await listWorkers(url)).find(
    ({ worker_id }) => worker_id === workerId,
  )?.incarnation;
  cluster.kill(workerId, "SIGKILL");
  const { rows, error, summary } = await answer;
  assert.equal(error, undefined);
  assert.deepEqual(rows, [[slowSqlAnswer(3)]]);
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
  await onceWithin("noticing a stopped worker", 6_000, async () => {
    const { answer, workerId } = await runSlowly(3, "stopped");
    const pid = cluster.pid(workerId);
    cluster.kill(workerId, "SIGSTOP");
    const stoppedMs = performance.now();
    await cluster.waitForWorkers("UNREACHABLE", [workerId]);
    const noticedMs = performance.now() - stoppedMs;
    const { rows, error } = await answer;
    assert.equal(error, undefined);
    assert.deepEqual(rows, [[slowSqlAnswer(3)]]);
    process.kill(pid, "SIGCONT");
    await cluster.waitForWorkers("ACTIVE", both);
    assert.equal(cluster.pid(workerId), pid, "it was not started anew");
    return noticedMs;
  });
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
      const events = wholeLines(watch.output).filter((line) => line.startsWith("{"));
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
  const { answer, workerId } = await runSlowly(2, "drained");
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
  const { answer } = await runSlowly(2, "leaving");
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

test("[QP14] statements that wait in workers' queues are in the queue that autoscalers see", async () => {
  const slots = 2 * availableParallelism(); // Each worker has one for each core.
  const leaving = new AbortController();
  const { signal } = leaving;
  const answers = Array.from({ length: slots + 4 }, () => sql(url, slowSql(30), { signal }));
  const settled = Promise.allSettled(answers);
  const queue = async (): Promise<{ queue_depth: number; oldest_age_seconds: number }> =>
    (await (await http(`${url}/api/v1/monitor/queue`)).json()) as Awaited<ReturnType<typeof queue>>;
  await waitFor("statements to wait for slots", async () => {
    const { queue_depth, oldest_age_seconds } = await queue();
    // Workers accept at once: whatever is as old as that waits with them.
    return queue_depth > 0 && oldest_age_seconds > 1 ? true : undefined;
  });
  leaving.abort();
  await settled;
  await waitFor("nothing to wait", async () =>
    (await queue()).queue_depth === 0 ? true : undefined,
  );
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

function startBeside(command: string, name: string, more: readonly string[] = []): CapstanProcess {
  return startProcess([
    ...[command, "--name", name, "--port", "0"],
    ...["--data-dir", cluster.dataDir, "--log-format", "json"],
    ...more,
  ]);
}

test("[IN11] a standby says what its scrape configuration has no effect with, at any log level", async () => {
  const path = join(cluster.dataDir, "scrape.yml");
  writeFileSync(path, "global: {external_labels: {a: b}}\nscrape_configs: []\n");
  const args = ["--log-level", "error", "--scrape-config", path];
  const standby = startBeside("coordinator", "noted", args);
  await waitFor("the notice", async () =>
    /Scrape configuration, .*external_labels/.test(standby.output) ? true : undefined,
  );
  standby.kill("SIGTERM");
  assert.equal((await standby.exited).code, 0);
});

let replicaProcess: CapstanProcess | undefined;
let replica: string;

test("[MH21, QP17] a leader that is stopped: its successor takes samples in, a replica answers, and what it writes late is refused", async (t) => {
  replicaProcess = startBeside("query-api", "replica");
  replica = await replicaProcess.url();
  const startStandby = () => startBeside("coordinator", "second");
  t.diagnostic(await runFrozenLeader(cluster, startStandby, replica));
});

/**
 * Stops the leader again and again while it writes, until it is stopped with the store's lock.
 * `end` wakes it up or ends it.
 */
async function stopInTransaction(): Promise<{ end(signal: NodeJS.Signals): Promise<void> }> {
  let isOver = false;
  const writers = ["drain", "undrain"].map(async (verb) => {
    while (!isOver) {
      const path = `${url}/api/v1/workers/worker-1/${verb}`;
      await http(path, { method: "POST" }).catch(() => undefined);
    }
  });
  const probe = new DatabaseSync(join(cluster.dataDir, "store.sqlite"), { timeout: 0 });
  await waitFor("the leader to be stopped with the lock", async () => {
    cluster.kill("coordinator", "SIGSTOP");
    try {
      probe.exec("BEGIN IMMEDIATE");
    } catch (thrown) {
      assert.match((thrown as Error).message, /locked/);
      return true;
    }
    probe.exec("ROLLBACK");
    cluster.kill("coordinator", "SIGCONT");
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
    return undefined;
  });
  probe.close();
  isOver = true;
  return {
    async end(signal) {
      cluster.kill("coordinator", signal);
      await Promise.all(writers);
    },
  };
}

/** Also takes back what the writers may have left. */
async function isWritten(target: string): Promise<true | undefined> {
  const path = `${target}/api/v1/workers/worker-1/undrain`;
  const answer = await http(path, { method: "POST" }).catch(() => undefined);
  return answer?.status === 200 ? true : undefined;
}

test("[ST49] a leader that is stopped inside a transaction of SQLite: replicas answer, a standby says why it does not lead, and takes over when it wakes up", async (t) => {
  const standby = startBeside("coordinator", "third");
  const second = await standby.url();
  await waitFor("the first to lead", () => isWritten(url));
  const stopped = await stopInTransaction();
  await waitFor("the standby to say why it does not lead", async () => {
    const body = (await (await http(`${second}/readyz`)).json()) as ReadyBody;
    const store = body.parts.find(({ name, state }) => name === "store" && state === "degraded");
    const isSaid = store?.reason?.includes("another process holds its lock") === true;
    return isSaid && !body.ready ? true : undefined;
  });
  const refused = await http(`${second}/api/v1/workers/worker-1/drain`, { method: "POST" });
  assert.equal(refused.status, 503);
  assert.match(((await refused.json()) as { hint: string }).hint, /lock/);
  assert.deepEqual((await sql(replica, "SELECT 42")).rows, [[42]]);
  assert.equal((await http(`${second}/api/v1/tables`)).status, 200);
  const wokenMs = performance.now();
  await stopped.end("SIGCONT");
  const either = async () => (await isWritten(url)) ?? (await isWritten(second));
  await waitFor("a write", either);
  t.diagnostic(`written ${Math.round(performance.now() - wokenMs)} ms after it woke up`);
  await standby.stop();
});

test("[ST49] a leader that is stopped inside a transaction of SQLite and killed: its lock ends with it", async () => {
  await waitFor("the first to lead", () => isWritten(url));
  const stopped = await stopInTransaction();
  assert.deepEqual((await sql(replica, "SELECT 42")).rows, [[42]]);
  await stopped.end("SIGKILL");
  await waitFor("a write", () => isWritten(url));
  await cluster.waitForWorkers("ACTIVE", both);
});

test("[ST49] a process that is stopped inside a transaction of SQLite: all is readable, and /readyz says why nothing is written", async () => {
  const path = join(cluster.dataDir, "store.sqlite");
  const code = `const { DatabaseSync } = require("node:sqlite");
    new DatabaseSync(process.argv[1], { timeout: 60000 }).exec("BEGIN IMMEDIATE");
    process.stdout.write("begun\\n"); setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ["-e", code, path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await once(holder.stdout, "data");
    holder.kill("SIGSTOP");
    await waitFor("the store to be told as degraded", async () => {
      const { parts, ready } = await getJson<ReadyBody>(`${url}/readyz`).catch(() => notReady);
      if (!ready) return undefined; // Until the waiting renewal was given up: then it is readable.
      const store = parts.find(({ name, state }) => name === "store" && state === "degraded");
      return store?.reason?.includes("another process holds its lock") === true ? true : undefined;
    });
    assert.deepEqual((await sql(url, "SELECT 42")).rows, [[42]]);
    assert.equal((await http(`${url}/api/v1/tables`)).status, 200);
    const refused = await http(`${url}/api/v1/workers/worker-1/drain`, { method: "POST" });
    assert.equal(refused.status, 503);
    const { code: refusal, hint } = (await refused.json()) as { code: string; hint: string };
    assert.ok(["store_busy", "not_leader"].includes(refusal), refusal);
    assert.match(hint, /lock/);
  } finally {
    holder.kill("SIGKILL");
  }
  await waitFor("the store to be well", async () => {
    const { ready, parts } = await getJson<ReadyBody>(`${url}/readyz`).catch(() => notReady);
    return ready && parts.every(({ state }) => state === "ok") ? true : undefined;
  });
});

const vanishedTemplate = {
  name: "vanished",
  target: { url: "sqlite:vanished.db", load_sql: ["SELECT 1"] },
  workload: { operations: [{ name: "a", statements: ["SELECT 1"] }] },
};

test("[PR13] [ST58] a data directory that vanishes makes the coordinator not ready, and nothing is acknowledged until it is back", async () => {
  const moved = `${cluster.dataDir}-moved`;
  const write = async (): Promise<number> =>
    await remoteWrite(url, remoteWriteBody([sampleNow("vanished")]));
  await waitFor("a write", async () => ((await write()) === 204 ? true : undefined));
  renameSync(cluster.dataDir, moved);
  try {
    assert.notEqual(await write(), 204);
    const reason = await waitFor("it to be not ready", async () => {
      const response = await http(`${url}/readyz`);
      const { parts } = (await response.json()) as ReadyBody;
      // Its log may notice first, and then is a reason of its own.
      const part = parts.find(({ name, state }) => name === "data_dir" && state === "failed");
      return response.status === 503 ? part?.reason : undefined;
    });
    assert.match(reason, /data directory is gone/);
    assert.notEqual(await write(), 204);
    // Nor is a change of the store, which would go into a file that nobody finds again.
    const changes: readonly (readonly [string, object])[] = [
      ["/api/v1/sql", { sql: "CREATE TABLE vanished (a INTEGER)" }],
      ["/api/v1/sql", { sql: "INSERT INTO vanished VALUES (1)" }],
      ["/api/runs", { template: vanishedTemplate }],
      ["/api/templates", vanishedTemplate],
    ];
    for (const [path, body] of changes) {
      const answer = await http(`${url}${path}`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      });
      const text = await answer.text();
      assert.ok(answer.status >= 400, `${path}: ${answer.status} ${text}`);
      assert.ok(!text.includes(cluster.dataDir), text);
    }
    assert.ok(!existsSync(cluster.dataDir), "nothing is made in its place");
  } finally {
    renameSync(moved, cluster.dataDir);
  }
  await waitFor("it to be ready again", async () => {
    const { ready } = await getJson<ReadyBody>(`${url}/readyz`).catch(() => notReady);
    return ready && (await write()) === 204 ? true : undefined;
  });
});

test("[MH11, MH23] one flipped bit in the log: named, refused with its hint, the segments are read, and repair mends it", async () => {
  const walDir = join(cluster.dataDir, "lake", "wal");
  const write = async (): Promise<Response> =>
    await fetch(`${url}/api/v1/write`, {
      method: "POST",
      body: remoteWriteBody([sampleNow("flipped")]),
      headers: { "content-type": "application/x-protobuf", "content-encoding": "snappy" },
    });
  await waitFor("two writes", async () => {
    return (await write()).status === 204 && (await write()).status === 204 ? true : undefined;
  });
  const name = readdirSync(walDir)
    .filter((each) => each.endsWith(".wal"))
    .sort()
    .at(-1) as string;
  flipBit(join(walDir, name), 20);
  cluster.kill("coordinator", "SIGKILL");

  const reason = await waitFor("the log to be told as damaged", async () => {
    const response = await http(`${url}/readyz`).catch(() => undefined);
    const ready = response === undefined ? notReady : ((await response.json()) as ReadyBody);
    return ready.parts.find((part) => part.name === "metrics_log" && part.state === "failed")
      ?.reason;
  });
  assert.match(reason, new RegExp(`${name} at byte 0, .* records? after it are good`));
  assert.equal((await http(`${url}/readyz`)).status, 503);
  const plain = await http(`${url}/-/ready`);
  assert.equal(plain.status, 503);
  assert.match(await plain.text(), /not ready .*metrics_log/);
  const refused = await write();
  assert.equal(refused.status, 500);
  const query = new URLSearchParams({ query: "vector(1) or flipped" });
  const answer = await waitFor("an answer", async () => {
    const body = await getJson<{ status: string; warnings?: string[] }>(
      `${url}/api/v1/query?${query}`,
    ).catch(() => undefined);
    return body?.status === "success" ? body : undefined;
  });
  assert.match(answer.warnings?.[0] ?? "", /the newest samples are missing: .*damaged/);

  const repaired = await runCli(["metrics", "repair", "--data-dir", cluster.dataDir]);
  assert.equal(repaired.code, 0, repaired.stderr);
  assert.match(repaired.stdout, new RegExp(`${name} at byte 0`));
  await waitFor("samples to be taken in again", async () => {
    const { parts } = await getJson<ReadyBody>(`${url}/readyz`).catch(() => notReady);
    const isWell = parts.every(({ state }) => state === "ok");
    return isWell && (await write()).status === 204 ? true : undefined;
  });
});

/** In its place: the coordinator may append to the file at any time. */
function flipBit(path: string, at: number): void {
  const file = openSync(path, "r+");
  try {
    const byte = Buffer.alloc(1);
    assert.equal(readSync(file, byte, 0, 1, at), 1);
    byte.writeUInt8(byte.readUInt8() ^ 16);
    writeSync(file, byte, 0, 1, at);
  } finally {
    closeSync(file);
  }
}

const notReady: ReadyBody = { ready: false, role: "leader", parts: [] };

function sampleNow(name: string): DataSeries {
  return {
    labels: { __name__: name },
    ts: Float64Array.of(Date.now()),
    values: Float64Array.of(1),
  };
}
