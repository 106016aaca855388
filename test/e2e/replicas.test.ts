/** More than one process that answers, and Postgres under them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { ReadyBody } from "../../src/faces/api/index.ts";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/ground/store/testing/embedded-postgres.ts";
import { runFrozenLeader } from "./frozen-leader.ts";
import {
  type CapstanProcess,
  type Cluster,
  getJson,
  http,
  listWorkers,
  makeDir,
  removeDir,
  sql,
  startCluster,
  startProcess,
  stopEverything,
  waitFor,
} from "./harness.ts";

let postgres: EmbeddedPostgres;
let store: string;
let cluster: Cluster;
let url: string;
const dirs: string[] = [];
const started: CapstanProcess[] = [];
before(async () => {
  postgres = await startEmbeddedPostgres();
  store = await postgres.createDatabase();
  cluster = await startCluster({ workers: 2, store });
  url = cluster.url;
});
after(async () => {
  await stopEverything();
  await postgres.stop();
  for (const dir of dirs) removeDir(dir);
});

function start(...args: readonly string[]): CapstanProcess {
  const dir = makeDir();
  dirs.push(dir);
  const process = startProcess(
    [...args, "--port", "0", "--data-dir", dir, "--log-format", "json"],
    { CAPSTAN_STORE: store, CAPSTAN_CLUSTER_TOKEN: cluster.clusterToken() },
  );
  started.push(process);
  return process;
}

test("on Postgres a statement goes the same way", async () => {
  const { store: shown } = await getJson<{ store: { dialect: string } }>(`${url}/api/v1/status`);
  assert.equal(shown.dialect, "postgres");
  const answer = await sql(url, "SELECT range FROM range(100000)");
  assert.equal(answer.summary?.row_count, 100_000);
});

test("on Postgres a killed worker comes back", async () => {
  const incarnation = async (): Promise<string | undefined> =>
    (await listWorkers(url)).find(({ worker_id }) => worker_id === "worker-1")?.incarnation;
  const before = await incarnation();
  cluster.kill("worker-1", "SIGKILL");
  assert.deepEqual((await sql(url, "SELECT 42")).rows, [[42]]);
  // How long it is shown as unreachable depends on how fast the machine starts another.
  await waitFor("another worker-1", async () =>
    (await incarnation()) === before ? undefined : true,
  );
  await cluster.waitForWorkers("ACTIVE", ["worker-1", "worker-2"]);
});

test("a query-api replica answers through its own sessions and changes nothing", async () => {
  const replica = await start("query-api").url();
  const { role } = await waitFor("all of it to be well", async () => {
    const body = (await (await http(`${replica}/readyz`)).json()) as ReadyBody;
    return body.ready && body.parts.every(({ state }) => state === "ok") ? body : undefined;
  });
  assert.equal(role, "query_api");
  await waitFor("its sessions", async () =>
    (await listWorkers(replica)).every(({ live }) => live?.session === true) ? true : undefined,
  );
  assert.deepEqual((await sql(replica, "SELECT 42")).rows, [[42]]);
  const refused = await http(`${replica}/api/v1/workers/worker-1/drain`, { method: "POST" });
  assert.equal(refused.status, 503);
  const body = (await refused.json()) as { code: string; hint: string };
  assert.equal(body.code, "not_leader");
  assert.ok(body.hint.includes(url), body.hint);
});

test("a replica with a list of workers needs no store", async () => {
  const workers = await getJson<{ items: { host_name: string; grpc_port: number }[] }>(
    `${url}/api/v1/workers`,
  );
  const list = workers.items
    .map(({ host_name, grpc_port }) => `${host_name}:${grpc_port}`)
    .join(",");
  const replica = await start(
    "query-api",
    "--discover",
    `static:${list}`,
    "--store",
    "sqlite:/nonexistent/x",
  ).url();
  await waitFor("its sessions", async () =>
    (await listWorkers(replica)).filter(({ state }) => state === "ACTIVE").length === 2
      ? true
      : undefined,
  );
  assert.deepEqual((await sql(replica, "SELECT 42")).rows, [[42]]);
  assert.equal((await http(`${replica}/api/v1/watch?table=workers`)).status, 501);
});

test("[MH21] on Postgres, too, a stopped leader's successor takes samples in, and what the old one writes late is refused", async (t) => {
  const metricsDir = join(cluster.dataDir, "lake");
  t.diagnostic(
    await runFrozenLeader(cluster, () =>
      start("coordinator", "--name", "third", "--metrics-dir", metricsDir),
    ),
  );
});

test("a standby says who leads, and takes over when the leader is gone", async () => {
  const standby = await start("coordinator", "--name", "second").url();
  const ready = await http(`${standby}/readyz`);
  assert.equal(ready.status, 503);
  assert.equal(((await ready.json()) as { role: string }).role, "standby");
  const refused = await http(`${standby}/api/v1/sql`, {
    method: "POST",
    body: { sql: "SELECT 1" },
  });
  assert.equal(refused.status, 503);
  const { code, hint } = (await refused.json()) as { code: string; hint: string };
  assert.equal(code, "not_leader");
  assert.ok(hint.includes(url), hint);

  // The supervisor would start it again, and it would take its own lease back: so it is stopped,
  // not killed.
  cluster.kill("coordinator", "SIGSTOP");
  await waitFor("the standby to lead", async () => {
    const { role } = await getJson<{ role: string }>(`${standby}/api/v1/status`);
    return role === "leader" ? true : undefined;
  });
  await waitFor("its workers", async () => {
    const workers = await listWorkers(standby);
    return workers.length > 0 && workers.every(({ state }) => state === "ACTIVE")
      ? true
      : undefined;
  });
  assert.deepEqual((await sql(standby, "SELECT 42")).rows, [[42]]);

  // Two coordinators believe to lead for a moment; only one does.
  cluster.kill("coordinator", "SIGCONT");
  await waitFor("the old leader to stand by", async () => {
    const { role } = await getJson<{ role: string }>(`${url}/api/v1/status`);
    return role === "standby" ? true : undefined;
  });
  const drained = await http(`${url}/api/v1/workers/worker-1/drain`, { method: "POST" });
  assert.equal(drained.status, 503);
  assert.deepEqual((await sql(standby, "SELECT 42")).rows, [[42]]);
});
