/** Who does not get in. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  type Cluster,
  http,
  type listWorkers,
  makeDir,
  removeDir,
  runCli,
  startCluster,
  stopEverything,
  waitFor,
} from "./harness.ts";

const readToken = "read-0123456789abcdef";
const operateToken = "operate-0123456789abcdef";

let dir: string;
let cluster: Cluster;
let url: string;
before(async () => {
  dir = makeDir();
  const tokensFile = join(dir, "tokens");
  writeFileSync(tokensFile, `read ${readToken}\noperate ${operateToken}\n`, { mode: 0o600 });
  cluster = await startCluster({
    dataDir: dir,
    workers: 1,
    args: ["--tokens-file", tokensFile, "--log-level", "debug"],
  });
  url = cluster.url;
});
after(async () => {
  await cluster.stop();
  await stopEverything();
  removeDir(dir);
});

test("[CM1] the command line says when a token is missing, unknown or not enough", async () => {
  const as = async (token: string | undefined, ...args: string[]) =>
    await runCli([...args, "--url", url], {
      env: token === undefined ? {} : { CAPSTAN_TOKEN: token },
    });
  const missing = await as(undefined, "status");
  assert.equal(missing.code, 4);
  assert.match(missing.stderr, /a token is needed[\s\S]*CAPSTAN_TOKEN/);
  assert.equal((await as("wrong-0123456789abcdef", "status")).code, 4);
  assert.equal((await as(readToken, "status")).code, 0);
  assert.equal((await as(readToken, "sql", "-c", "SELECT 1")).code, 0);
  assert.equal((await as(readToken, "workers", "drain", "worker-1")).code, 4);
  assert.equal((await as(operateToken, "workers", "drain", "worker-1")).code, 0);
  assert.equal((await as(operateToken, "workers", "undrain", "worker-1")).code, 0);
});

test("[AP10] [AP11] a page elsewhere gets nothing from a running coordinator", async () => {
  const status = async (headers: Record<string, string>): Promise<number> => {
    const request = httpRequest(`${url}/api/v1/status`, { headers });
    request.end();
    const [response] = await once(request, "response");
    response.resume();
    return response.statusCode;
  };
  const authorization = `Bearer ${operateToken}`;
  assert.equal(await status({ authorization }), 200);
  assert.equal(await status({ authorization, host: "evil.example" }), 403);
  assert.equal(await status({ authorization, origin: "https://evil.example" }), 403);
});

test("an artifact is not served without the cluster's token", async () => {
  const { items } = (await (await http(`${url}/api/v1/workers`, { token: readToken })).json()) as {
    items: Awaited<ReturnType<typeof listWorkers>>;
  };
  const base = `http://127.0.0.1:${items[0]?.data_port}/artifacts/anything`;
  assert.equal((await http(base)).status, 401);
  assert.equal((await http(base, { token: operateToken })).status, 401);
  assert.equal((await http(base, { token: `${cluster.clusterToken()}x` })).status, 401);
  assert.equal((await http(base, { token: cluster.clusterToken() })).status, 404);
});

test("[AS2] [AS5] [QU44] nobody gets at files, variables or the spool by a load test or a query", async () => {
  const post = async (path: string, body: object): Promise<{ status: number; text: string }> => {
    const answer = await http(`${url}${path}`, { method: "POST", body, token: operateToken });
    return { status: answer.status, text: await answer.text() };
  };
  const stolen = join(dir, "stolen.txt");
  const way = `COPY (SELECT content FROM read_text('${join(dir, "tokens")}')) TO '${stolen}'`;
  const templateOf = (target: object, statement = "SELECT 1") => ({
    template: {
      name: "t",
      target,
      workload: { operations: [{ name: "a", statements: [statement] }] },
    },
    load_data: true,
  });
  const remote = "postgres://me@127.0.0.1:1/x";
  const cases: readonly (readonly [object, number])[] = [
    [templateOf({ url: "duckdb:a.db", load_sql: [way] }), 400],
    [templateOf({ url: "duckdb:a.db" }, way), 400],
    [templateOf({ url: `sqlite://${join(dir, "store.sqlite")}` }), 403],
    [templateOf({ url: `duckdb://${join(dir, "targets", "..", "x.db")}` }), 403],
    [templateOf({ url: remote, password_env: "CAPSTAN_CLUSTER_TOKEN" }), 403],
    [templateOf({ url: remote, password_env: "HOME" }), 403],
    [templateOf({ url: "http://169.254.169.254/", allowed_hosts: ["169.254.169.254"] }), 403],
  ];
  for (const [body, want] of cases) {
    const { status, text } = await post("/api/runs", body);
    assert.equal(status, want, `${JSON.stringify(body)}: ${text}`);
    assert.ok(!text.includes(operateToken));
  }
  assert.equal(existsSync(stolen), false);
  const runs = await http(`${url}/api/tests?limit=10`, { token: readToken });
  assert.deepEqual(((await runs.json()) as { items: unknown[] }).items, []);
  for (const sql of ["SELECT current_query()", "SELECT error(current_query())"]) {
    const { status, text } = await post("/api/v1/sql", { sql });
    assert.equal(status, 400, text);
    assert.ok(!text.includes(dir), text);
  }
});

/**
 * A kept connection of ours is idle, too, and may be closed in the moment in which it is used
 * again.
 */
async function onceMore<T>(ask: () => Promise<T>): Promise<T> {
  return await ask().catch(ask);
}

test("[AP39] [PR8] a thousand sockets that say nothing keep nobody out, of the API and of a worker", async () => {
  const { items } = (await (await http(`${url}/api/v1/workers`, { token: readToken })).json()) as {
    items: Awaited<ReturnType<typeof listWorkers>>;
  };
  const ports = [Number(new URL(url).port), items[0]?.data_port ?? 0];
  const sockets: Socket[] = [];
  try {
    for (const port of ports) {
      for (let n = 0; n < 1_000; n += 1) {
        const socket = connect(port, "127.0.0.1");
        socket.on("error", () => undefined);
        sockets.push(socket);
      }
    }
    assert.equal((await onceMore(() => http(`${url}/healthz`))).status, 200);
    const status = await onceMore(() => http(`${url}/api/v1/status`, { token: readToken }));
    assert.equal(status.status, 200);
    const answer = await onceMore(() =>
      http(`${url}/api/v1/sql`, { method: "POST", body: { sql: "SELECT 42" }, token: readToken }),
    );
    assert.match(await answer.text(), /42/);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

const workerArgs = (name: string, dataDir: string): string[] => [
  ...["worker", "--join", url, "--name", name, "--data-dir", dataDir, "--log-format", "json"],
];

test("a worker with the wrong cluster token is refused and says why", async () => {
  const own = makeDir();
  const wrong = await runCli(workerArgs("impostor", own), {
    env: { CAPSTAN_CLUSTER_TOKEN: "not-the-token-of-this-cluster" },
  });
  assert.equal(wrong.code, 4);
  assert.match(wrong.stderr, /this token is not known here/);
  const none = await runCli(workerArgs("impostor", own));
  assert.equal(none.code, 4);
  assert.match(none.stderr, /a worker needs the cluster's token/);
  assert.ok(!`${wrong.stdout}${wrong.stderr}`.includes("not-the-token-of-this-cluster"));
  removeDir(own);
});

test("of two workers with one name the second is refused, and the first goes on", async () => {
  const own = makeDir();
  const env = { CAPSTAN_CLUSTER_TOKEN: cluster.clusterToken() };
  // A name belongs to a worker that is there; a busy machine may have lost sight of it.
  await waitFor("the first to be active", async () => {
    const answer = await http(`${url}/api/v1/workers`, { token: readToken });
    const { items } = (await answer.json()) as { items: Awaited<ReturnType<typeof listWorkers>> };
    return items[0]?.state === "ACTIVE" ? true : undefined;
  });
  const [elsewhere, here] = await Promise.all([
    runCli(workerArgs("worker-1", own), { env }),
    runCli(workerArgs("worker-1", dir), { env }),
  ]);
  assert.equal(elsewhere.code, 1);
  assert.match(elsewhere.stderr, /^error: .*worker-1/);
  assert.equal(here.code, 1);
  assert.match(here.stderr, /^error: another process is using /);
  const body = { sql: "SELECT 1" };
  const answer = await http(`${url}/api/v1/sql`, { method: "POST", body, token: readToken });
  assert.equal(answer.status, 200);
  await answer.text();
  removeDir(own);
});

test("[AP5] binding elsewhere than loopback needs tokens", async () => {
  const own = makeDir();
  for (const command of ["up", "coordinator", "query-api"]) {
    const refused = await runCli([command, "--host", "0.0.0.0", "--port", "0", "--data-dir", own]);
    assert.equal(refused.code, 1, command);
    assert.match(
      refused.stderr,
      /^error: refusing to bind the API to 0\.0\.0\.0 without tokens/,
      command,
    );
  }
  removeDir(own);
});

test("[OB2] [AP13] no log contains a token", () => {
  for (const name of ["coordinator", "worker-1"]) {
    const log = cluster.log(name);
    assert.ok(log.includes('"msg"'));
    for (const secret of [readToken, operateToken, cluster.clusterToken()]) {
      assert.ok(!log.includes(secret), `${name} logged a secret`);
    }
  }
});
