/** What a person gets from `capstan up` and the commands beside it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import {
  type Cluster,
  getJson,
  http,
  isAlive,
  listQueries,
  listWorkers,
  makeDir,
  removeDir,
  runCli,
  sql,
  startCluster,
  startProcess,
  stopEverything,
  waitFor,
} from "./harness.ts";
import { slowSql } from "./slow-sql.ts";
import { type SpanCollector, startSpanCollector } from "./span-collector.ts";

let cluster: Cluster;
let url: string;
let collector: SpanCollector;
before(async () => {
  collector = await startSpanCollector();
  cluster = await startCluster({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    args: ["--log-level", "debug"],
  });
  url = cluster.url;
});
after(async () => {
  await cluster.stop();
  await stopEverything();
  collector.close();
});

const cli = async (...args: readonly string[]) => await runCli([...args, "--url", url]);

test("the API answers, and both workers are there", async () => {
  assert.equal((await http(`${url}/healthz`)).status, 200);
  assert.deepEqual(await getJson(`${url}/readyz`), { ready: true, role: "leader" });
  const workers = await listWorkers(url);
  assert.deepEqual(
    workers.map(({ worker_id }) => worker_id),
    ["worker-1", "worker-2"],
  );
  for (const { state, live } of workers) {
    assert.equal(state, "ACTIVE");
    assert.equal(live?.session, true);
  }
  const facts = await waitFor("facts", async () => {
    const [first] = await listWorkers(url);
    return first?.live?.facts.cpu_ratio === undefined ? undefined : first.live.facts;
  });
  for (const key of [
    "memory_bytes",
    "event_loop_delay_ms",
    "queue_depth",
    "running_work",
    "spool_free_bytes",
  ]) {
    assert.ok(facts[key] !== undefined, key);
  }
});

test("a statement goes to a worker and its rows come back", async () => {
  const answer = await sql(url, "SELECT 42 AS answer");
  assert.equal(answer.status, 200, JSON.stringify(answer.error));
  assert.deepEqual(answer.rows, [[42]]);
  assert.match(answer.summary?.worker_id ?? "", /^worker-[12]$/);
  assert.match(answer.queryId ?? "", /^q-/);
});

test("[OB4] [OB6] what a query did can be followed: spans of both processes, metrics and logs", async () => {
  const { queryId, summary } = await sql(url, "SELECT 'traced'");
  const ofQuery = await waitFor("its spans", () => {
    const found = collector.spans.filter(({ attributes }) =>
      attributes.some(({ key, value }) => key === "query_id" && value.stringValue === queryId),
    );
    return found.length === 2 ? found : undefined;
  });
  const query = ofQuery.find(({ name }) => name === "query sql");
  const work = ofQuery.find(({ name }) => name === "work sql");
  assert.equal(query?.service, "capstan-coordinator");
  assert.equal(work?.service, "capstan-worker");
  assert.equal(work.traceId, query.traceId);
  assert.equal(work.parentSpanId, query.spanId);
  assert.ok(cluster.log("coordinator").includes(`"query_id":"${queryId}"`));
  assert.ok(cluster.log(summary?.worker_id ?? "").includes(`"query_id":"${queryId}"`));

  const metrics = await (await http(`${url}/metrics`)).text();
  assert.match(metrics, /capstan_control_streams_active\{[^}]*\} 2\n/);
  assert.match(metrics, /capstan_work_accepted_total\{[^}]*\} [1-9]/);
  assert.match(metrics, /capstan_query_duration_seconds_count\{[^}]*outcome="done"[^}]*\} [1-9]/);
  assert.match(metrics, /capstan_artifact_fetch_seconds_count\{[^}]*\} [1-9]/);
  const worker = await (
    await http(`${cluster.monitorUrl(summary?.worker_id ?? "")}/metrics`)
  ).text();
  assert.match(worker, /capstan_work_runtime_seconds_count\{[^}]*outcome="done"[^}]*\} [1-9]/);
});

test("a hundred thousand rows come whole and in order", async () => {
  const answer = await sql(
    url,
    "SELECT range AS n, 'row ' || range AS text FROM range(100000) ORDER BY n",
  );
  assert.equal(answer.summary?.row_count, 100_000);
  assert.equal(answer.rows.length, 100_000);
  assert.deepEqual(answer.rows.at(-1), [99_999, "row 99999"]);
});

test("a statement that is wrong says where", async () => {
  const answer = await sql(url, "SELEC 1");
  assert.equal(answer.status, 400);
  assert.equal(answer.error?.code, "bad_sql");
  assert.match(answer.error?.message ?? "", /SELEC/);
  for (const text of [
    "SELECT 1; SELECT 2",
    "CREATE INDEX i ON t (a)",
    "SELECT * FROM read_csv('/etc/passwd')",
  ]) {
    const refused = await sql(url, text);
    assert.equal(refused.status, 400, text);
  }
});

test("a statement that takes too long is told so", async () => {
  const response = await http(`${url}/api/v1/sql`, {
    method: "POST",
    body: { sql: slowSql(60), timeout_ms: 300 },
  });
  assert.equal(response.status, 504);
  assert.equal(((await response.json()) as { code: string }).code, "deadline_exceeded");
});

test("a client that leaves, and an operator, cancel a query on its worker", async () => {
  for (const how of ["leave", "operator"] as const) {
    const leave = new AbortController();
    const marker = `-- ${how}`;
    const asked = sql(url, `${slowSql(60)} ${marker}`, { signal: leave.signal });
    asked.catch(() => undefined);
    const running = await waitFor("the query to run", async () =>
      (await listQueries(url)).find(
        ({ text, state, worker_id }) =>
          text.includes(marker) && state === "running" && worker_id !== null,
      ),
    );
    if (how === "leave") leave.abort();
    else await getJson(`${url}/api/v1/queries/${running.query_id}`, { method: "DELETE" });
    await waitFor("the query to be cancelled", async () => {
      const record = (await listQueries(url)).find(({ query_id }) => query_id === running.query_id);
      return record?.state === "cancelled" ? true : undefined;
    });
    await waitFor("the worker to be idle", async () => {
      const text = await (
        await http(`${cluster.monitorUrl(running.worker_id ?? "")}/metrics`)
      ).text();
      return /capstan_worker_running_work\{[^}]*\} 0/.test(text) ? true : undefined;
    });
    if (how === "operator") assert.equal((await asked).error?.code, "cancelled");
  }
});

test("[CM6] the command line shows every digit, and JSON as it was sent", async () => {
  const big = "9223372036854775807";
  const shown = await cli(
    "sql",
    "-c",
    `SELECT ${big} AS big, 12345678901234567890.123456789::DECIMAL(38,9) AS d`,
  );
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, new RegExp(`${big} +12345678901234567890\\.123456789`));
  assert.match(shown.stderr, /1 row in/);
  const json = await cli("sql", "--json", "-c", `SELECT ${big} AS big`);
  assert.ok(json.stdout.split("\n").includes(`[${big}]`), json.stdout);
  const script = await runCli(["sql", "--url", url], { input: "SELECT 1 AS a; SELECT ';' AS b;" });
  assert.match(script.stdout, /a\n1\nb\n;\n/);
});

test("[CM1] [CM8] failures have their exit status and one clear line", async () => {
  const wrong = await cli("sql", "-c", "SELEC 1");
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /^error: .*SELEC/);
  assert.equal(wrong.stdout, "");
  const json = await cli("sql", "--json", "-c", "SELEC 1");
  assert.equal(JSON.parse(json.stderr).code, "bad_sql");
  const unknown = await cli("workers", "drain", "nobody");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /there is no worker "?nobody"?/);
  assert.equal((await runCli(["sql", "--nonsense"])).code, 2);
  assert.equal((await runCli(["nonsense"])).code, 2);
  assert.equal((await runCli(["up", "--port", "99999"])).code, 2);
  const away = await runCli(["status", "--url", "http://127.0.0.1:1"]);
  assert.equal(away.code, 3);
  assert.match(away.stderr, /^error: cannot reach Capstan at http:\/\/127\.0\.0\.1:1/);
});

test("[CM3] status and workers read well, and are JSON when asked", async () => {
  const status = await cli("status");
  assert.equal(status.code, 0, status.stderr);
  assert.match(status.stdout, /Workers +2 active\n/);
  assert.match(status.stdout, /Role +leader\n/);
  assert.equal(JSON.parse((await cli("status", "--json")).stdout).role, "leader");
  const workers = await cli("workers");
  assert.match(workers.stdout, /^NAME +STATE +WORK/);
  assert.match(workers.stdout, /\nworker-1 +ACTIVE +accepting/);
  assert.equal(JSON.parse((await cli("workers", "--json")).stdout).length, 2);
  const watched = await cli(
    "watch",
    "SELECT worker_id, state FROM workers",
    "--count",
    "1",
    "--json",
  );
  const snapshot = JSON.parse(watched.stdout);
  assert.equal(snapshot.type, "SNAPSHOT");
  assert.deepEqual(snapshot.data[0], { worker_id: "worker-1", state: "ACTIVE" });
  assert.equal((await cli("watch", "secrets")).code, 1);
});

test("[CM11] a second up on the same directory is refused, and the first goes on", async () => {
  const second = await runCli(["up", "--port", "0", "--data-dir", cluster.dataDir]);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /^error: another process is using /);
  assert.equal((await sql(url, "SELECT 1")).status, 200);
});

test("a port that is in use is named, with the flag that changes it", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const dir = makeDir();
  const refused = await runCli([
    "coordinator",
    "--port",
    String(port),
    "--data-dir",
    cluster.dataDir,
    "--name",
    "c2",
  ]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, new RegExp(`port ${port} on 127\\.0\\.0\\.1 is in use`));
  assert.match(refused.stderr, /--port/);
  server.close();
  removeDir(dir);
});

test("the store must be set up, and not by a newer version", async () => {
  const dir = makeDir();
  const absent = await runCli(["coordinator", "--port", "0", "--data-dir", dir]);
  assert.equal(absent.code, 1);
  assert.match(absent.stderr, /capstan setup/);
  assert.equal((await runCli(["setup", "--data-dir", dir])).code, 0);
  assert.match((await runCli(["setup", "--data-dir", dir])).stdout, /up to date/);
  const store = new DatabaseSync(join(dir, "store.sqlite"));
  store.exec("INSERT INTO schema_version (version, applied_at_ms) VALUES (9999, 0)");
  store.close();
  for (const args of [["up", "--port", "0"], ["coordinator", "--port", "0"], ["setup"]]) {
    const newer = await runCli([...args, "--data-dir", dir]);
    assert.equal(newer.code, 1, args.join(" "));
    assert.match(newer.stderr, /9999/, args.join(" "));
  }
  writeFileSync(join(dir, "LAYOUT"), "7\n");
  const layout = await runCli(["up", "--port", "0", "--data-dir", dir]);
  assert.equal(layout.code, 1);
  assert.match(layout.stderr, /layout/);
  removeDir(dir);
});

test("[CM12] [CM10] a second start is quick, Ctrl-C ends everything, and nothing is left", async () => {
  const dir = makeDir();
  const first = await startCluster({ dataDir: dir });
  assert.equal(await first.stop(), 0);
  const startMs = performance.now();
  const second = await startCluster({ dataDir: dir });
  const tookMs = performance.now() - startMs;
  const pids = Object.values(second.pids());
  assert.equal(pids.length, 4);
  assert.equal((await sql(second.url, "SELECT 42")).status, 200);
  assert.equal(await second.stop(), 0);
  for (const pid of pids) assert.ok(!isAlive(pid), `process ${pid} is left`);
  assert.ok(second.events.some(({ event }) => event === "stopped"));
  assert.ok(!second.events.some(({ event }) => event === "died" || event === "killed"));
  removeDir(dir);
  // Under 3 s on an idle machine; here other tests share its cores.
  assert.ok(tookMs < 15_000, `a second start took ${tookMs} ms`);
});

test("[PR9] children end when their supervisor is killed, and the next up takes over", async () => {
  const dir = makeDir();
  const first = await startCluster({ dataDir: dir, workers: 1 });
  const { up, ...children } = first.pids();
  assert.ok(up !== undefined);
  process.kill(up, "SIGKILL");
  await waitFor("the children to end", () =>
    Object.values(children).some(isAlive) ? undefined : true,
  );
  const second = await startCluster({ dataDir: dir, workers: 1 });
  assert.equal((await sql(second.url, "SELECT 42")).status, 200);
  await second.stop();
  removeDir(dir);
});

test("[PR11] what npm start started ends when npm is told to end", async () => {
  const dir = makeDir();
  const args = ["start", "--", "--json", "--port", "0", "--workers", "1", "--data-dir", dir];
  const npm = spawn("npm", args, { cwd: join(import.meta.dirname, "..", ".."), stdio: "ignore" });
  const upFile = join(dir, "up.json");
  const pids = await waitFor("the processes to start", () => {
    if (!existsSync(upFile)) return undefined;
    const { processes } = JSON.parse(readFileSync(upFile, "utf8"));
    const found = Object.values(processes as Record<string, { pid: number; url?: string }>);
    const isReady = found.length === 2 && found.every((process) => process.url !== undefined);
    return isReady ? found.map(({ pid }) => pid) : undefined;
  });
  npm.kill("SIGTERM");
  await waitFor("the processes to end", () => (pids.some(isAlive) ? undefined : true));
  await waitFor("up to tidy up after itself", () => (existsSync(upFile) ? undefined : true));
  removeDir(dir);
});

test("a worker that is dropped ends, and is not started again", async () => {
  const worker = startProcess(
    [
      "worker",
      "--join",
      url,
      "--name",
      "extra",
      "--data-dir",
      cluster.dataDir,
      "--log-format",
      "json",
    ],
    { CAPSTAN_CLUSTER_TOKEN: cluster.clusterToken() },
  );
  await cluster.waitForWorkers("ACTIVE", ["extra"]);
  const busy = await cli("workers", "drop", "extra");
  assert.equal(busy.code, 1, busy.stdout);
  assert.equal((await cli("workers", "drain", "extra")).code, 0);
  await waitFor("it to drain", async () => {
    const found = (await listWorkers(url)).find(({ worker_id }) => worker_id === "extra");
    return found?.draining === true ? true : undefined;
  });
  assert.equal((await cli("workers", "drop", "extra")).code, 0);
  assert.deepEqual(await worker.exited, { code: 0, signal: null });
  assert.ok(!(await listWorkers(url)).some(({ worker_id }) => worker_id === "extra"));
});

test("[OB2] no log of any process contains the cluster's token", () => {
  const token = cluster.clusterToken();
  for (const name of ["coordinator", "worker-1", "worker-2"]) {
    const log = cluster.log(name);
    assert.ok(log.length > 0, name);
    assert.ok(!log.includes(token), `${name} logged the cluster's token`);
  }
  assert.ok(!readFileSync(join(cluster.dataDir, "up.json"), "utf8").includes(token));
});
