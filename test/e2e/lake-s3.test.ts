/**
 * The lake in S3 and its catalog in Postgres: a coordinator and workers that share no directory.
 */
import assert from "node:assert/strict";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openDownloadCache } from "../../src/data/lake/objects/download-cache.ts";
import { openS3Store, type S3ObjectStore } from "../../src/data/lake/objects/s3-store.ts";
import {
  type FaultyProxy,
  startFaultyProxy,
} from "../../src/data/lake/objects/testing/faulty-proxy.ts";
import {
  type S3TestServer,
  startS3Server,
  testCredentials,
} from "../../src/data/lake/objects/testing/s3-server.ts";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { openStore, parseStoreUrl } from "../../src/ground/store/index.ts";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/ground/store/testing/embedded-postgres.ts";
import { DiskBudget } from "../../src/ground/work/core/index.ts";
import { FollowedBids } from "./followed-bids.ts";
import {
  type CapstanProcess,
  getJson,
  listWorkers,
  makeDir,
  removeDir,
  runCli,
  startProcess,
  stopEverything,
  waitFor,
} from "./harness.ts";
import { killStreams, StreamCommand } from "./stream-command.ts";

const diskLimit = "1200KB";
const env: Record<string, string> = {
  CAPSTAN_CLUSTER_TOKEN: "a-token-for-the-whole-cluster",
  AWS_ACCESS_KEY_ID: testCredentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: "a-secret-that-no-log-has",
  AWS_EC2_METADATA_DISABLED: "true",
};
const dirs: string[] = [];
const workers = new Map<string, { readonly dir: string; process: CapstanProcess }>();
let postgres: EmbeddedPostgres;
let server: S3TestServer;
let proxy: FaultyProxy;
let lake: string;
let bucket: S3ObjectStore;
let coordinator: CapstanProcess;
let url: string;

function newDir(): string {
  const dir = makeDir();
  dirs.push(dir);
  return dir;
}

function startWorker(name: string, dir: string): CapstanProcess {
  return startProcess(
    [
      ...["worker", "--name", name, "--data-dir", dir, "--join", url, "--log-format", "json"],
      ...["--disk-limit", diskLimit, "--memory-limit", "512MB", "--compute-threads", "1"],
    ],
    env,
  );
}

before(async () => {
  postgres = await startEmbeddedPostgres();
  server = await startS3Server();
  proxy = await startFaultyProxy(server.endpoint);
  const location = server.location();
  const { bucket: name, prefix } = location;
  lake = `s3://${name}/${prefix}?endpoint=${proxy.endpoint}`;
  env.CAPSTAN_STORE = await postgres.createDatabase();
  env.CAPSTAN_LAKE = lake;
  const limits = { artifactFloorBytes: 0, highRatio: 1, lowRatio: 1 };
  const cache = await openDownloadCache({
    dir: newDir(),
    budget: new DiskBudget({ capacityBytes: 1e9, ...limits }),
    clock: realClock,
    logger: silentLogger,
  });
  const credentials = testCredentials;
  bucket = await openS3Store({ ...location, clock: realClock, credentials }, cache);
  const setup = await runCli(["setup", "--data-dir", newDir()], { env });
  assert.equal(setup.code, 0, setup.stderr);
  coordinator = startProcess(
    [
      ...["coordinator", "--data-dir", newDir(), "--port", "0", "--log-format", "json"],
      ...["--keep-snapshots", "20s", "--delete-after", "1s", "--upkeep-every", "1s"],
    ],
    env,
  );
  url = await coordinator.url();
  for (const name of ["worker-1", "worker-2"]) {
    const dir = newDir();
    workers.set(name, { dir, process: startWorker(name, dir) });
  }
  await untilActive();
});
after(async () => {
  killStreams();
  await stopEverything();
  await proxy.close();
  bucket.close();
  await server.close();
  await postgres.stop();
  for (const dir of dirs) removeDir(dir);
});

async function untilActive(): Promise<void> {
  await waitFor(
    "both workers",
    async () => {
      const active = (await listWorkers(url)).filter(({ state }) => state === "ACTIVE");
      return active.length === 2 ? true : undefined;
    },
    120_000,
    () => [...workers.values()].map(({ process }) => process.output.slice(-2_000)).join("\n"),
  );
}

/** The rows of an answer; throws its error. */
async function sql(text: string): Promise<readonly (readonly unknown[])[]> {
  const response = await fetch(`${url}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql: text }),
  });
  const lines = (await response.text()).trimEnd().split("\n");
  const last = JSON.parse(lines.at(-1) ?? "null") as Refusal & { error?: Refusal };
  const error = response.ok ? last.error : last;
  if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code });
  return lines.slice(1, -1).map((line) => JSON.parse(line) as readonly unknown[]);
}

interface Refusal {
  readonly code: string;
  readonly message: string;
}

async function untilRows(query: string, wanted: readonly (readonly unknown[])[]): Promise<void> {
  let seen: unknown;
  await waitFor(
    query,
    async () => {
      seen = await sql(query).catch(String);
      return JSON.stringify(seen) === JSON.stringify(wanted) ? true : undefined;
    },
    60_000,
    () => `${JSON.stringify(seen)} instead of ${JSON.stringify(wanted)}`,
  );
}

async function objectsOf(prefix: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of bucket.list(prefix)) paths.push(path);
  return paths;
}

const newest = async (): Promise<number> => {
  const [[snapshot] = []] = await sql("SHOW SNAPSHOTS");
  return Number(snapshot);
};

/** Of all workers together. */
async function metric(name: string): Promise<number> {
  let sum = 0;
  for (const worker of await listWorkers(url)) {
    const at = worker.live?.facts.metrics_url ?? assert.fail("a worker says where its metrics are");
    const headers = { authorization: `Bearer ${env.CAPSTAN_CLUSTER_TOKEN}` };
    const text = await (await fetch(at, { headers })).text();
    for (const line of text.split("\n")) {
      if (line.startsWith(name)) sum += Number(line.split(" ").at(-1));
    }
  }
  return sum;
}

test("[LP1] tables, COPY and dynamic tables work over S3, without a shared directory", async () => {
  const file = join(newDir(), "orders.csv");
  const lines = Array.from({ length: 3_000 }, (_, at) => `${at},${"abc"[at % 3]},${at % 100}.50`);
  writeFileSync(file, ["id,category,amount", ...lines].join("\n"));
  const script = [
    "CREATE TABLE orders (id BIGINT, category VARCHAR, amount DECIMAL(10,2));",
    `COPY orders FROM '${file}';`,
    "CREATE DYNAMIC TABLE revenue TARGET_LAG = '1 second' AS SELECT category, sum(amount) AS revenue, count(*) AS n FROM orders GROUP BY category;",
  ];
  const done = await runCli(["sql", "-c", script.join("\n"), "--url", url]);
  assert.equal(done.code, 0, done.stderr);
  const revenue = "SELECT category, n::BIGINT FROM revenue ORDER BY category";
  await untilRows(revenue, [
    ["a", 1000],
    ["b", 1000],
    ["c", 1000],
  ]);
  const before = await newest();
  await sql("DELETE FROM orders WHERE category = 'b'");
  const past = await sql(`SELECT count(*) FROM orders AT (VERSION => ${before})`);
  assert.deepEqual(past, [[3000]]);
  await sql("UPDATE orders SET amount = 0 WHERE id < 10");
  await untilRows(revenue, [
    ["a", 1000],
    ["c", 1000],
  ]);
  assert.deepEqual(await sql("SELECT count(*), min(amount)::INT FROM orders"), [[2000, 0]]);
  assert.deepEqual(await objectsOf("uploads/"), [], "what was sent is gone when it was copied");
  assert.ok((await objectsOf("main/orders/")).length >= 2);
  const store = await openStore({
    ...parseStoreUrl(env.CAPSTAN_STORE ?? ""),
    clock: realClock,
    logger: silentLogger,
    prng: createPrng("e2e"),
  });
  try {
    const rows = await store.read(({ db }) =>
      db.selectFrom("ducklake_metadata").select("value").where("key", "=", "data_path").execute(),
    );
    assert.deepEqual(rows, [{ value: `${lake.replace(/\?.*/, "")}/` }]);
  } finally {
    await store.close();
  }
});

test("[LP2] a killed worker, restarted with an empty cache, answers the same", async () => {
  const query = "SELECT category, count(*), sum(id)::BIGINT FROM orders GROUP BY 1 ORDER BY 1";
  const wanted = await sql(query);
  const one = workers.get("worker-1") ?? assert.fail();
  one.process.kill("SIGKILL");
  await one.process.exited;
  assert.deepEqual(await sql(query), wanted);
  const copies = join(one.dir, "workers", "worker-1", "downloads");
  assert.ok(readdirSync(copies).length > 0, "it had copies");
  rmSync(copies, { recursive: true });
  one.process = startWorker("worker-1", one.dir);
  await untilActive();
  for (let round = 0; round < 4; round += 1) assert.deepEqual(await sql(query), wanted);
  await sql("INSERT INTO orders VALUES (5000, 'd', 1)");
  await untilRows("SELECT n::BIGINT FROM revenue WHERE category = 'd'", [[1]]);
});

test("[LP3] a disk too small for all files evicts them under load, and answers stay right", async () => {
  const tables = ["e1", "e2", "e3", "e4", "e5"];
  for (const name of tables) {
    // Random numbers do not compress: about 160 KB a table, and a worker keeps about 480 KB.
    await sql(
      `CREATE TABLE ${name} AS SELECT range AS id, (random() * 1e18)::BIGINT AS r FROM range(20000)`,
    );
  }
  const sums = new Map<string, string>();
  for (const name of tables) sums.set(name, JSON.stringify(await sql(sumOf(name))));
  const ask = async (lane: number): Promise<void> => {
    for (let round = 0; round < 8; round += 1) {
      const name = tables[(lane + round) % tables.length] ?? "";
      const other = tables[(lane + round * 2 + 1) % tables.length] ?? "";
      assert.equal(JSON.stringify(await sql(sumOf(name))), sums.get(name));
      const joined = `SELECT count(*) FROM ${name} AS a JOIN ${other} AS b USING (id)`;
      assert.deepEqual(await sql(joined), [[20000]]);
    }
  };
  const missesBefore = await metric('capstan_parquet_cache_lookups_total{outcome="miss"');
  await Promise.all([0, 1, 2, 3].map(ask));
  const misses =
    (await metric('capstan_parquet_cache_lookups_total{outcome="miss"')) - missesBefore;
  assert.ok(misses > tables.length * 2, `${misses} files were fetched again`);
  assert.ok((await metric("capstan_download_duration_seconds_count{")) >= misses / 2);
  const cached = await metric("capstan_parquet_cache_bytes{");
  assert.ok(cached > 0 && cached <= 2 * 480 * 1024, `${cached} bytes`);
  const all = tables.map((name) => `SELECT sum(id) AS s FROM ${name}`).join(" UNION ALL ");
  await assert.rejects(sql(`SELECT sum(s) FROM (${all})`), {
    code: "query_too_large",
    message: /reads 5 files of \d+ bytes at once, and this worker keeps \d+ at the most/,
  });
});

const sumOf = (name: string): string => `SELECT count(*), sum(r)::VARCHAR FROM ${name}`;

test("[LP4] small files are merged and what no snapshot needs leaves the bucket", async () => {
  await sql("CREATE TABLE events (id BIGINT)");
  for (let at = 0; at < 10; at += 1) await sql(`INSERT INTO events VALUES (${at})`);
  // Eight small files are merged, whenever upkeep sees them; the last two may have come after that.
  await waitFor(
    "merged files",
    async () => ((await objectsOf("main/events/")).length <= 3 ? true : undefined),
    120_000,
    () => coordinator.output.slice(-3_000),
  );
  assert.deepEqual(await sql("SELECT count(*), sum(id)::BIGINT FROM events"), [[10, 45]]);
  await sql("DROP TABLE events");
  await waitFor(
    "no file",
    async () => ((await objectsOf("main/events/")).length === 0 ? true : undefined),
    120_000,
  );
  assert.deepEqual(await sql("SELECT count(*) FROM e1"), [[20000]]);
});

test("[SU52] [SU15] a stream over S3 and Postgres, killed again and again, adds each row once", async () => {
  const folder = newDir();
  const bids = new FollowedBids(folder, "bids.csv");
  const sink = (table: string): string => `Lake('${table}' AS "SINK".TABLE)`;
  writeFileSync(join(folder, "killed.sql"), bids.statements("followed", sink("killed"), "50 MS"));
  const own = Object.fromEntries(
    Object.entries(env).filter(([name]) => name !== "CAPSTAN_CLUSTER_TOKEN"),
  );
  const start = (...args: readonly string[]): StreamCommand =>
    new StreamCommand(folder, ["run", ...args, "--data-dir", folder], own);
  const countOf = async (table: string): Promise<number> => {
    const answer = await sql(`SELECT count(*) FROM ${table}`).catch(() => [[0]]);
    return Number(answer[0]?.[0] ?? 0);
  };
  const resume = ["killed.sql", "--checkpoint", "state", "--parallelism", "2"];
  for (let kill = 0; kill < 3; kill += 1) {
    const known = await countOf("killed");
    const command = start(...resume);
    bids.grow();
    await command.until(async () => (await countOf("killed")) > known);
    command.kill("SIGKILL");
    const ended = await command.ended();
    assert.equal(ended.code, null, ended.stderr);
  }
  bids.close();
  writeFileSync(join(folder, "whole.sql"), bids.statements("whole", sink("whole"), "1 HOUR"));
  const whole = await start("whole.sql").ended();
  assert.equal(whole.code, 0, whole.stderr);
  const resultsOf = async (table: string): Promise<readonly (readonly unknown[])[]> => {
    const rows = await sql(`SELECT start, id, total, n FROM ${table} ORDER BY ALL`);
    return rows.filter(([at]) => !bids.isLast(Number(at)));
  };
  const wanted = await resultsOf("whole");
  const last = start(...resume);
  await last.until(async () => (await countOf("killed")) >= wanted.length);
  last.kill("SIGINT");
  const ended = await last.ended();
  assert.equal(ended.code, 130, ended.stderr);
  assert.deepEqual(await resultsOf("killed"), wanted);

  await sql(
    "CREATE TABLE people AS SELECT r::UBIGINT AS id, 'p' || r AS name FROM range(97) AS x(r)",
  );
  writeFileSync(
    join(folder, "read.sql"),
    `CREATE LOGICAL SOURCE results(id UINT64);
CREATE PHYSICAL SOURCE FOR results TYPE Lake SET('whole' AS "SOURCE".TABLE);
SELECT p.name AS name FROM results AS r JOIN TABLE people AS p ON r.id = p.id INTO Print();`,
  );
  const read = await start("read.sql", "--parallelism", "2").ended();
  assert.equal(read.code, 0, read.stderr);
  const names = read.stdout.trimEnd().split("\n");
  assert.equal(names.length, await countOf("whole"));
  assert.equal(new Set(names).size, 97);
});

test("[HO2] [PH1] a load test runs on the workers' machines, and its records are in the bucket", async () => {
  const target = new URL(await postgres.createDatabase());
  target.password = "";
  const ask = async (path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const response = await fetch(`${url}${path}`, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      headers: { "content-type": "application/json" },
    });
    const answer = (await response.json()) as Record<string, unknown>;
    assert.equal(response.status, 200, JSON.stringify(answer));
    return answer;
  };
  const operation = { name: "one", kind: "POINT_LOOKUP", percent: 100, statements: ["SELECT 1"] };
  const template = {
    name: "elsewhere",
    target: target.href,
    workload: {
      concurrent_connections: 4,
      warmup_seconds: 0,
      duration_seconds: 3,
      think_time_ms: 10,
      operations: [operation],
    },
    scaling: { worker_count: 2, placement: "WORKERS" },
  };
  const { test_id: id } = await ask("/api/runs", { template });
  await ask(`/api/tests/${id}/start`, {});
  const ended = await waitFor(
    "the end of the run",
    async () => {
      const run = await ask(`/api/tests/${id}`);
      return ["COMPLETED", "FAILED", "CANCELLED"].includes(String(run.status)) ? run : undefined;
    },
    60_000,
    () => coordinator.output.slice(-3_000),
  );
  assert.equal(ended.status, "COMPLETED", JSON.stringify(ended));
  for (const { dir } of workers.values()) {
    const logs = readdirSync(join(dir, "load")).filter((name) => name.endsWith(".log"));
    assert.equal(logs.length, 1, "each machine had one of the two");
  }
  const recorded = await sql(
    `SELECT count(*)::INT, count(DISTINCT worker_id)::INT FROM query_executions WHERE run_id = '${id}'`,
  );
  assert.deepEqual(recorded, [[ended.total_operations, 2]]);
  // A thousand on an idle machine.
  assert.ok(Number(ended.total_operations) > 20);
});

test("[LP5] an endpoint that goes away is said, and work goes on when it is back", async () => {
  await sql("CREATE TABLE t AS SELECT 1 AS x");
  proxy.decide(() => "refuse");
  await assert.rejects(sql("INSERT INTO t VALUES (2)"), {
    code: "store_unavailable",
    message: /s3:\/\/lake-1\/some\/lake\/main\/t\/.*socket hang up/,
  });
  proxy.decide(() => "deny");
  await assert.rejects(sql("INSERT INTO t VALUES (2)"), {
    code: "store_unavailable",
    message: /s3:\/\/lake-1\/some\/lake\/main\/t\/.*AccessDenied/,
  });
  proxy.decide(() => "none");
  await sql("INSERT INTO t VALUES (2)");
  assert.deepEqual(await sql("SELECT sum(x)::INT FROM t"), [[3]]);
});

test("[LP6] a file deleted behind its back is named with its table; others read on", async () => {
  await sql("CREATE TABLE lost AS SELECT 1 AS x");
  const [path = ""] = await objectsOf("main/lost/");
  await bucket.delete([path]);
  await assert.rejects(sql("SELECT * FROM lost"), (error: Error & { code: string }) => {
    assert.equal(error.code, "store_corrupt");
    assert.ok(error.message.includes("table main.lost cannot be read"), error.message);
    assert.ok(error.message.includes(path), error.message);
    return true;
  });
  assert.deepEqual(await sql("SELECT count(*) FROM e1"), [[20000]]);
});

const wrong = [
  { place: "s3://no-such-bucket/x?endpoint=ENDPOINT", says: /there is no such bucket/ },
  { place: "s3://key:secret@lake-1/x", says: /holds no credentials/ },
  { place: "s3://lake-1/x?endpoint=http://127.0.0.1:9", says: /ECONNREFUSED/ },
  {
    place: "s3://lake-1/x?endpoint=ENDPOINT",
    says: /there are no credentials/,
    env: { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" },
  },
];
test("[LP7] a process whose lake cannot be used says why when it starts", async () => {
  const home = newDir(); // Without profiles.
  const started = wrong.map(async ({ place, says, env: other }) => {
    const args = ["coordinator", "--name", "other", "--data-dir", newDir(), "--port", "0"];
    const at = place.replace("ENDPOINT", server.endpoint);
    const { code, stderr } = await runCli(args, {
      env: { ...env, ...other, HOME: home, CAPSTAN_LAKE: at },
    });
    assert.equal(code, 1);
    assert.match(stderr, says);
    assert.ok(!stderr.includes("secret"), stderr);
  });
  await Promise.all(started);
});

test("[LP8] no log has a credential", async () => {
  await getJson(`${url}/api/v1/status`);
  for (const { output } of [coordinator, ...[...workers.values()].map(({ process }) => process)]) {
    assert.match(output, /"lake":"s3:\/\/lake-1\/some\/lake"/);
    assert.ok(!output.includes("a-secret-that-no-log-has"));
  }
});
