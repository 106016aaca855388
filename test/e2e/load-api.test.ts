/**
 * Load tests over the real HTTP server and the command line: every route, and everything that
 * people get wrong.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { treePssBytes } from "../../src/ground/kernel/node/process-memory.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { machine } from "../../src/ground/process/index.ts";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/ground/store/testing/embedded-postgres.ts";
import { canBoundMemory } from "../../src/ground/threads/index.ts";
import { createTargetFiles, openTarget, type RunUpdate } from "../../src/kinds/load/index.ts";
import { scenarioOf } from "../../src/kinds/load/testing/scenario.ts";
import {
  type Cluster,
  http,
  runCli,
  startCluster,
  startProcess,
  stopEverything,
  waitFor,
} from "./harness.ts";
import { proxyHost, TcpProxy } from "./tcp-proxy.ts";

type Json = Readonly<Record<string, unknown>>;
interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly text: string;
}

const secret = "hush-hush-4711";
const loadMemoryBytes = 768 * 1024 ** 2;
/** Everything that anybody was told. */
let told = "";
let cluster: Cluster;
let postgres: EmbeddedPostgres;
let postgresUrl: string;
let sqliteUrl: string;

before(async () => {
  postgres = await startEmbeddedPostgres();
  const bare = new URL(await postgres.createDatabase());
  bare.password = "";
  postgresUrl = bare.href;
  cluster = await startCluster({
    workers: 1,
    args: ["--load-memory-limit", String(loadMemoryBytes)],
  });
  sqliteUrl = `sqlite://${join(cluster.dataDir, "targets", "api.db")}`;
  await waitFor("the ready templates", async () => {
    const { body } = await ask("GET", "/api/templates");
    return (body.items as readonly unknown[]).length > 0 ? true : undefined;
  });
});
after(async () => {
  await cluster.stop();
  await stopEverything();
  await postgres.stop();
});

async function ask(method: string, path: string, body?: unknown, type?: string): Promise<Answer> {
  const response =
    type === undefined
      ? await http(`${cluster.url}${path}`, { method, ...(body === undefined ? {} : { body }) })
      : await fetch(`${cluster.url}${path}`, {
          method,
          headers: { "content-type": type },
          body: String(body),
        });
  const text = await response.text();
  told += text;
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  return { status: response.status, body: isJson ? (JSON.parse(text) as Json) : {}, text };
}

async function good(method: string, path: string, body?: unknown, type?: string): Promise<Answer> {
  const answer = await ask(method, path, body, type);
  assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
  return answer;
}

const items = ({ body }: Answer): readonly Json[] => body.items as readonly Json[];

function templateOf(
  url: string,
  changes: { target?: Json; workload?: Json; [key: string]: unknown } = {},
) {
  const { target, workload, ...rest } = changes;
  return {
    name: "api test",
    target: { url, ...target },
    workload: {
      concurrent_connections: 2,
      warmup_seconds: 0,
      duration_seconds: 1,
      think_time_ms: 5,
      operations: [
        {
          name: "count",
          kind: "RANGE_SCAN",
          percent: 100,
          statements: ["SELECT count(*) FROM items"],
        },
      ],
      ...workload,
    },
    ...rest,
  };
}

async function prepare(template: unknown, more: Json = {}): Promise<string> {
  const { body } = await good("POST", "/api/runs", { template, ...more });
  return String(body.test_id);
}

async function ended(id: string): Promise<Json> {
  return await waitFor(
    `the end of ${id}`,
    async () => {
      const { body } = await good("GET", `/api/tests/${id}`);
      const isOver = ["COMPLETED", "FAILED", "CANCELLED"].includes(String(body.status));
      const isDone = !["PENDING", "RUNNING"].includes(String(body.enrichment_status));
      return isOver && isDone ? body : undefined;
    },
    60_000,
  );
}

async function run(template: unknown, more: Json = {}): Promise<Json> {
  const id = await prepare(template, more);
  await good("POST", `/api/tests/${id}/start`);
  return await ended(id);
}

/** What the target's own data are. */
async function query(url: string, sql: string): Promise<readonly (readonly unknown[])[]> {
  const kind = url.startsWith("sqlite") ? "sqlite" : "postgres";
  const options = { tag: "test", files: createTargetFiles({ dataDir: cluster.dataDir }) };
  const target = await openTarget({ ...scenarioOf().target, kind, url }, null, realClock, options);
  try {
    return await target.run(sql, [], new AbortController().signal);
  } finally {
    await target.close();
  }
}

const loadSql = [
  "DROP TABLE IF EXISTS items",
  "DROP TABLE IF EXISTS resets",
  "CREATE TABLE items (id BIGINT PRIMARY KEY)",
  "CREATE TABLE resets (n BIGINT NOT NULL)",
  "INSERT INTO items VALUES (1), (2), (3)",
  "INSERT INTO resets VALUES (0)",
];
const resetSql = ["DELETE FROM items WHERE id > 3", "UPDATE resets SET n = n + 1"];

// Each has a target of its own, and mostly waits.
describe("data of targets", { concurrency: true }, () => {
  for (const kind of ["sqlite", "postgres"] as const) {
    test(`[RD1] [RD2] [RD3] ${kind}: data are loaded at Prepare, and put back by every start that asks for it`, async () => {
      const url = kind === "sqlite" ? sqliteUrl : postgresUrl;
      const target = { load_sql: loadSql, reset_sql: resetSql, reset_data: true };
      const count = async (): Promise<unknown> =>
        (await query(url, "SELECT (SELECT count(*) FROM items), (SELECT n FROM resets)"))[0]?.map(
          Number,
        );
      const id = await prepare(templateOf(url, { target }), { load_data: true });
      await query(url, "INSERT INTO items VALUES (4), (5)");
      assert.deepEqual(await count(), [5, 0], "a prepared run has reset nothing");
      const starts = await Promise.all([1, 2].map(() => ask("POST", `/api/tests/${id}/start`)));
      assert.deepEqual(
        starts.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 409],
      ); // RD3
      assert.equal((await ended(id)).status, "COMPLETED");
      assert.deepEqual(await count(), [3, 1]);
      const { body: again } = await good("POST", `/api/tests/${id}/rerun`);
      await query(url, "INSERT INTO items VALUES (4)");
      await query(url, "ALTER TABLE resets RENAME TO gone");
      const failed = await ask("POST", `/api/tests/${again.test_id}/start`);
      assert.equal(failed.status, 400, failed.text);
      assert.match(failed.text, /target\.reset_sql\[1\]/);
      const { body: still } = await good("GET", `/api/tests/${again.test_id}`);
      assert.deepEqual([still.status, still.phase], ["PREPARED", ""]); // RD2
      await query(url, "ALTER TABLE gone RENAME TO resets");
      await good("POST", `/api/tests/${again.test_id}/start`);
      await good("POST", `/api/tests/${again.test_id}/stop`);
      await ended(String(again.test_id));
      assert.deepEqual(await count(), [3, 2]);
      const plain = await run(templateOf(url, { target }), { reset_data: false });
      assert.equal(plain.status, "COMPLETED");
      assert.deepEqual(await count(), [3, 2], "the run's own word counts");
      const nothing = await ask("POST", "/api/runs", {
        template: templateOf(url),
        reset_data: true,
      });
      assert.match(nothing.text, /no reset_sql/);
    });
  }
});

/** Of everything that the cluster started. */
function clusterBytes(): number {
  return treePssBytes(cluster.pid("up")) ?? 0;
}

const greedyKinds = {
  duckdb: {
    value: "SELECT len(range(4000000000))",
    list: "SELECT length(repeat(repeat('x', 1000000), 20000))",
  },
  sqlite: {
    value: "SELECT length(randomblob(900000000))",
    list: "SELECT length(group_concat(hex(zeroblob(4000000)))) FROM (SELECT 1 UNION ALL SELECT 2), items",
  },
} as const;
for (const kind of ["duckdb", "sqlite"] as const) {
  test(`[BT1] [WP5] ${kind}: statements of a load test do not take the machine's memory, at Prepare or under load`, {
    skip: !canBoundMemory,
  }, async () => {
    const url = `${kind}://${join(cluster.dataDir, "targets", `greedy.${kind}`)}`;
    const { value, list } = greedyKinds[kind];
    const before = clusterBytes();
    let most = before;
    const looking = setInterval(() => {
      most = Math.max(most, clusterBytes());
    }, 100);
    try {
      const target = { load_sql: [...loadSql, value, list] };
      const refused = await ask("POST", "/api/runs", {
        template: templateOf(url, { target }),
        load_data: true,
      });
      assert.equal(refused.status, 422, refused.text);
      assert.equal(refused.body.code, "statement_too_large");
      assert.match(refused.text, /target\.load_sql\[6\]/);
      assert.equal((await ask("GET", "/readyz")).status, 200);
      const statements = { kind: "RANGE_SCAN", percent: 50 };
      const operations = [
        { ...statements, name: "greedy", statements: [value] },
        { ...statements, name: "count", statements: ["SELECT count(*) FROM items"] },
      ];
      const over = await run(
        templateOf(url, {
          target: { load_sql: loadSql },
          workload: { operations, duration_seconds: 2 },
        }),
        {
          load_data: true,
        },
      );
      const { errors_by_kind: errors } = over.figures as { errors_by_kind: Json };
      assert.deepEqual(Object.keys(errors), ["resources"], JSON.stringify(errors));
      assert.ok(Number(over.total_operations) > Number(over.failed_operations), "the others go on");
      // A coordinator has a tenth of the machine; nothing is exceeded by half.
      const bytesMax = 1.5 * Math.max(machine().totalBytes / 10, loadMemoryBytes);
      assert.ok(most - before < bytesMax, `${Math.round((most - before) / 1024 ** 2)} MiB`);
    } finally {
      clearInterval(looking);
    }
  });
}

test("[LH1] templates: made, read, changed, copied, exported, imported, deleted; the product's own are nobody's to change", async () => {
  const { body: made } = await good("POST", "/api/templates", templateOf(sqliteUrl));
  const path = `/api/templates/${made.template_id}`;
  assert.deepEqual((await good("GET", path)).body, made);
  const config = made.config as Json;
  const workload = { ...(config.workload as Json), duration_seconds: 9 };
  const change = { ...config, workload };
  const { body: changed } = await good("PUT", `${path}?seen_ms=${made.updated_at_ms}`, change);
  assert.equal(((changed.config as Json).workload as Json).duration_seconds, 9);
  const { text: yaml } = await good("GET", `${path}/export`);
  assert.match(yaml, /^template_name: api test$/m);
  const renamed = yaml.replace("api test", "api test, imported");
  const { body: back } = await good("POST", "/api/templates/import", renamed, "application/yaml");
  const named = { template_name: "api test, imported", template_id: back.template_id };
  assert.deepEqual(back.config, { ...(changed.config as Json), ...named });
  const { body: copy } = await good("POST", "/api/templates/demo/copy", { template_name: "mine" });
  assert.equal(copy.is_built_in, false);
  const names = items(await good("GET", "/api/templates")).map((each) => each.template_name);
  for (const name of ["api test", "api test, imported", "mine"]) assert.ok(names.includes(name));
  const bad: readonly (readonly [string, string, unknown, number, RegExp])[] = [
    ["PUT", `${path}?seen_ms=1`, change, 409, /changed/],
    ["PUT", "/api/templates/demo", change, 403, /copy/i],
    ["DELETE", "/api/templates/demo", undefined, 403, /demo/i],
    ["POST", "/api/templates", templateOf(sqliteUrl), 409, /api test/],
    ["POST", "/api/templates/nobody/copy", {}, 404, /nobody/],
    ["GET", "/api/templates/nobody/export", undefined, 404, /nobody/],
  ];
  for (const [method, place, body, status, message] of bad)
    await refused(method, place, body, status, message);
  await good("DELETE", path);
  await refused("GET", path, undefined, 404, /there is no template/);
});

async function refused(
  method: string,
  path: string,
  body: unknown,
  status: number,
  message: RegExp,
  type?: string,
): Promise<void> {
  const answer = await ask(method, path, body, type);
  assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
  assert.match(answer.text, message);
  assert.equal(typeof answer.body.code, "string", answer.text);
}

test("[LH2] [OC1] [AS2] bad input is told with its place, at Prepare, and leaves nothing behind", async () => {
  const runCount = items(await good("GET", "/api/tests?limit=100")).length;
  const operation = { name: "a", percent: 90, statements: ["SELECT 1"] };
  const withSql = (...statements: readonly string[]) =>
    templateOf(postgresUrl, {
      workload: { operations: [{ ...operation, percent: 100, statements }] },
    });
  const ofEnv = (password_env: string) => templateOf(postgresUrl, { target: { password_env } });
  const closed = "postgres://me@127.0.0.1:1/x";
  const prepared: readonly (readonly [Json, number, RegExp])[] = [
    [{}, 400, /template_id or template/],
    [{ template_id: "nobody" }, 404, /nobody/],
    [{ template_id: "demo", template: templateOf(sqliteUrl) }, 400, /one of them/],
    [
      { template: templateOf(sqliteUrl, { workload: { operations: [operation] } }) },
      400,
      /adds up to 90/,
    ],
    [{ template: { ...templateOf(sqliteUrl), sloss: [] } }, 400, /did you mean slos/],
    [
      { template: templateOf(sqliteUrl, { workload: { duration: 3 } }) },
      400,
      /did you mean duration_seconds/,
    ],
    [{ template: withSql("SELECT nonsense FROM nowhere") }, 400, /nowhere/],
    [{ template: withSql("SELECT 1", "SELEC 2") }, 400, /SELEC/],
    [{ template: withSql("SELECT :id") }, 400, /id/],
    [{ template: templateOf("postgres://db.example.com/x") }, 403, /allowed_hosts/],
    [{ template: templateOf(`postgres://me:${secret}@localhost/x`) }, 400, /has a secret in it/],
    [{ template_id: "demo", target_url: `postgres://me:${secret}@localhost/x` }, 400, /secret/],
    [{ template: ofEnv("CAPSTAN_CLUSTER_TOKEN") }, 403, /Capstan's own/],
    [{ template: ofEnv("PATH") }, 403, /LOAD_TARGET_/],
    [{ template: ofEnv("LOAD_TARGET_NONE") }, 400, /no environment variable LOAD_TARGET_NONE/],
    [{ template: templateOf(closed) }, 502, /127\.0\.0\.1:1/],
    [{ template_id: "demo", settings: ["duration=abc"] }, 400, /duration_seconds/],
    [{ template_id: "demo", settings: ["durasion=3"] }, 400, /did you mean duration/],
    [{ template_id: "demo", settings: ["connections=1000000"] }, 400, /workers|connections/],
    [{ template_id: "demo", test_name: "" }, 400, /test_name/],
  ];
  for (const [body, status, message] of prepared) {
    await refused("POST", "/api/runs", body, status, message);
  }
  const asked: readonly (readonly [string, string, number, RegExp])[] = [
    ["POST", "/api/tests/from-template/nobody", 404, /nobody/],
    ...["start", "stop", "rerun", "retry-enrichment"].map(
      (what) => ["POST", `/api/tests/nobody/${what}`, 404, /there is no run/] as const,
    ),
    ...[
      "",
      "/metrics",
      "/worker-metrics",
      "/logs",
      "/query-executions",
      "/error-summary",
      "/final-figures",
      "/enrichment-status",
      "/report.html",
      "/report.json",
      "/report.xml",
      "/report.hgrm",
    ].map((what) => ["GET", `/api/tests/nobody${what}`, 404, /there is no run/] as const),
    ["GET", "/api/tests?status=DONE", 400, /COMPLETED/],
    ["GET", "/api/tests?limit=0", 400, /limit/],
    ["GET", "/api/tests?load_mode=FAST", 400, /load_mode/],
    ["GET", "/api/tests/compare?ids=nobody", 404, /nobody/],
    ["GET", "/api/tests/nobody/query-executions?order=best", 400, /order/],
  ];
  for (const [method, path, status, message] of asked) {
    await refused(method, path, method === "POST" ? {} : undefined, status, message);
  }
  const importing = "/api/templates/import";
  await refused("POST", importing, "name: [", 400, /line 1/, "application/yaml");
  await refused("POST", importing, "name: a\nname: b", 400, /line 2/, "application/yaml");
  await refused("POST", importing, {}, 400, /application\/yaml/);
  const live = await ask("POST", "/api/runs/nobody/metrics/live", {});
  assert.equal(live.status, 401, "only workers have live figures to tell");
  assert.equal(items(await good("GET", "/api/tests?limit=100")).length, runCount);
});

const failing = {
  load_sql: ["DROP TABLE IF EXISTS items", "CREATE TABLE items (id BIGINT PRIMARY KEY)"],
};
const failingOperations = [
  { name: "count", kind: "RANGE_SCAN", percent: 80, statements: ["SELECT count(*) FROM items"] },
  { name: "twice", kind: "INSERT", percent: 20, statements: ["INSERT INTO items VALUES (7)"] },
];

test("[LH3] [RV1] [LC1] what a run leaves: lists, series, logs, records, errors, reports, on every route and command", async () => {
  const template = {
    ...templateOf(postgresUrl, { target: failing, workload: { operations: failingOperations } }),
    // Whatever a busy machine makes of it: of the limits only the one for errors counts here.
    verdict: { max_error_rate_pct: 50, min_availability_pct: null, max_silence_seconds: null },
    slos: ["p95 < 30 s"],
  };
  const more = { load_data: true, password: secret, test_name: "Whole 100% run" };
  await good("POST", "/api/tests/from-template/demo");
  const done = await run(template, more);
  const id = String(done.test_id);
  assert.deepEqual(
    [done.status, done.stop_reason, done.cancellation_reason ?? null],
    ["COMPLETED", "duration_elapsed", null],
  );
  const total = Number(done.total_operations);
  const failed = Number(done.failed_operations);
  assert.ok(total > failed && failed > 0);
  assert.equal((done.children as readonly Json[]).length, 1, "a run of one worker has its child");

  const listed = async (asked: string) => items(await good("GET", `/api/tests?${asked}`));
  assert.deepEqual(
    (await listed("search=whole+100%25&limit=5")).map((each) => each.test_id),
    [id],
  );
  assert.deepEqual(await listed("search=100%25x"), []);
  const kinds = "status=COMPLETED&target_kind=postgres&load_mode=CONCURRENCY&limit=1";
  assert.equal((await listed(kinds))[0]?.test_id, id);
  const first = await good("GET", "/api/tests?limit=1");
  const rest = await listed(`limit=100&page_token=${first.body.next_page_token}`);
  assert.equal(items(first)[0]?.test_id, id);
  assert.ok(rest.length > 0);
  assert.ok(rest.every((each) => each.test_id !== id && each.worker_id === null));

  const logs = items(await good("GET", `/api/tests/${id}/logs`));
  assert.deepEqual(
    logs.map(({ sequence }) => sequence),
    logs.map((_, at) => at + 1),
  );
  assert.equal(items(await good("GET", `/api/tests/${id}/logs?after=1&limit=1`))[0]?.sequence, 2);
  const seconds = await good("GET", `/api/tests/${id}/metrics`);
  assert.ok(items(seconds).some(({ phase }) => phase === "MEASUREMENT"));
  assert.ok(Array.isArray(seconds.body.warehouse));
  const ofWorker = items(await good("GET", `/api/tests/${id}/worker-metrics?worker_id=worker-0`));
  assert.ok(ofWorker.length > 0);
  assert.deepEqual(items(await good("GET", `/api/tests/${id}/worker-metrics?worker_id=x`)), []);

  const records = `/api/tests/${id}/query-executions`;
  const wrong = items(await good("GET", `${records}?failed_only=true&limit=1000`));
  assert.ok(wrong.length === Math.min(1000, failed), `${wrong.length} of ${failed}`);
  assert.ok(wrong.every((each) => each.operation === "twice" && each.error_kind === "constraint"));
  const slow = items(await good("GET", `${records}?order=slowest&limit=2&operation=count`));
  assert.ok(Number(slow[0]?.app_elapsed_ms) >= Number(slow[1]?.app_elapsed_ms));
  const { body: errors } = await good("GET", `/api/tests/${id}/error-summary`);
  assert.deepEqual([errors.total_errors, errors.errors_by_kind], [failed, { constraint: failed }]);
  assert.doesNotMatch(JSON.stringify(errors), /\(7\)/, "no value of a row");
  const { body: figures } = await good("GET", `/api/tests/${id}/final-figures`);
  assert.deepEqual([figures.total_operations, figures.coverage], [total, 1]);
  const { body: views } = await good("GET", `/api/tests/${id}/views`);
  const minutes = views.metrics_by_minute as readonly Json[];
  assert.equal(
    minutes.reduce((sum, each) => sum + Number(each.operations), 0),
    total,
  );
  assert.deepEqual(views.cluster_breakdown, [], "Postgres has no clusters");
  const { body: enriched } = await good("GET", `/api/tests/${id}/enrichment-status`);
  assert.ok(["AGGREGATE", "SKIPPED", "FAILED"].includes(String(enriched.enrichment_status)));
  await good("POST", `/api/tests/${id}/retry-enrichment`);
  assert.equal((await ended(id)).enrichment_status, enriched.enrichment_status);

  const { body: again } = await good("POST", `/api/tests/${id}/rerun`);
  const conflict = await ask("POST", `/api/tests/${id}/start`);
  assert.deepEqual([conflict.status, conflict.body.code], [409, "conflict"]);
  await good("POST", `/api/runs/${again.test_id}/start`);
  const other = String((await ended(String(again.test_id))).test_id);
  const { body: comparison } = await good("GET", `/api/tests/compare?ids=${id},${other}`);
  assert.equal((comparison.comparisons as readonly Json[])[0]?.base_run_id, id);
  for (const [suffix, wanted] of [
    ["html", /<html/],
    ["json", /"verdict"/],
    ["xml", /<testsuite/],
    ["hgrm", /Percentile/],
  ] as const) {
    assert.match((await good("GET", `/api/tests/${id}/report.${suffix}`)).text, wanted);
  }
  await commands(id, other);
});

/** The same by the command line, with `--json` and without. */
async function commands(id: string, other: string): Promise<void> {
  const files = ["html", "junit", "hgrm"].map((each) => join(cluster.dataDir, `report.${each}`));
  const [html = "", junit = "", hgrm = ""] = files;
  const reports = ["--html", html, "--junit", junit, "--hgrm", hgrm];
  const prepared = await prepare(templateOf(postgresUrl));
  const { body: comparison } = await good("GET", `/api/tests/compare?ids=${id},${other}`);
  const [compared] = comparison.comparisons as readonly { readonly verdict: string }[];
  const verdict = compared?.verdict ?? "";
  const isWorse = verdict === "REGRESSION" ? 1 : 0;
  const anyMachine = ["--set", "warmup=0", "--set", "verdict.min_availability_pct=null"];
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["templates"], 0, /tpcb-like/],
    [["templates", "--json"], 0, /"template_id":"demo"/],
    [["list", "--search", "whole 100%"], 0, new RegExp(id)],
    [["list", "--json"], 0, new RegExp(`"test_id":"${id}"`)],
    [["report", id, ...reports], 0, /COMPLETED.*own limit: error rate at most 50 %/s],
    [["report", id, "--json"], 0, /"verdict":"PASSED"/],
    [["report", "nobody"], 1, /there is no run nobody/],
    // A machine that became busy in between makes a regression, and that is said.
    [["compare", id, other], isWorse, new RegExp(`^${verdict}`, "m")],
    [["compare", id, other, "--json"], isWorse, new RegExp(`"verdict":"${verdict}"`)],
    [["compare", id, id], 0, /^NEUTRAL/m],
    [["stop", prepared], 0, /CANCELLED/],
    [["run", "demo", "--fail-on-regression", "nobody"], 2, /there is no run nobody/],
    [["run", "demo", "--fail-on-regression", prepared], 2, /nothing succeeded in run/],
    [["stop", "nobody"], 1, /there is no run/],
    [["run", "nobody"], 2, /there is no template nobody/],
    [["run", "demo", "--set", "duration=abc"], 2, /duration_seconds/],
    [
      ["run", "demo", "--target", `postgres://me:${secret}@db.example.com/x`],
      2,
      /--allow-host db\.example\.com/,
    ],
    [
      [
        "find-max",
        "demo",
        "--set",
        "warmup=0",
        "--set",
        "start_concurrency=1",
        "--set",
        "max_concurrency=1",
        "--set",
        "step_duration_seconds=3",
        "--json",
      ],
      0,
      /"find_max"/,
    ],
  ];
  const load = async (args: readonly string[]): Promise<{ code: number | null; text: string }> => {
    const { code, stdout, stderr } = await runCli(["load", ...args, "--url", cluster.url]);
    told += stdout + stderr;
    return { code, text: `${stdout}${stderr}` };
  };
  for (const [args, code, wanted] of cases) {
    const result = await load(args);
    assert.equal(result.code, code, `${args.join(" ")}: ${result.text}`);
    assert.match(result.text, wanted);
  }
  const short = ["run", "demo", ...anyMachine, "--set", "duration=2"];
  const guarded = await load([...short, "--fail-on-regression", id]);
  const [, said = ""] = /^([A-Z]+) +\S+ against/m.exec(guarded.text) ?? [];
  assert.match(said, /^(NEUTRAL|WARNING|INCONCLUSIVE|IMPROVEMENT|REGRESSION)$/, guarded.text);
  assert.equal(guarded.code, said === "REGRESSION" ? 1 : 0, guarded.text);
  assert.ok(files.every((file) => existsSync(file)));
}

test("[LH4] a target that drops connections: counted by kind, the run goes on, or its guardrail fails it", async () => {
  const proxied = new URL(postgresUrl);
  proxied.hostname = proxyHost;
  const proxy = await TcpProxy.start(Number(proxied.port));
  try {
    const start = async (seconds: number, guardrails: Json): Promise<string> => {
      const workload = { duration_seconds: seconds, think_time_ms: 0 };
      const id = await prepare(templateOf(proxied.href, { workload, guardrails }), {
        password: secret,
      });
      await good("POST", `/api/tests/${id}/start`);
      await waitFor("load", async () => {
        const { live } = (await good("GET", `/api/tests/${id}`)).body as { live?: RunUpdate };
        return (live?.ops.total ?? 0) > 0 ? true : undefined;
      });
      return id;
    };
    const cutRun = async (seconds: number) => {
      const id = await start(seconds, {});
      proxy.cut();
      const through = await ended(id);
      assert.equal(through.status, "COMPLETED");
      const { body } = await good("GET", `/api/tests/${id}/error-summary`);
      return { through, errors: body.errors_by_kind as Record<string, number> };
    };
    // On a slow machine the run may be over before it is cut: then a longer one is.
    let { through, errors } = await cutRun(6);
    if (Object.keys(errors).length === 0) ({ through, errors } = await cutRun(40));
    const { connection = 0, ...others } = errors;
    assert.ok(connection > 0);
    assert.deepEqual(others, {});
    assert.ok(Number(through.total_operations) > connection);

    const guarded = await start(60, { max_error_rate_pct: 1, grace_seconds: 1 });
    proxy.close(); // Refused from now on.
    const failed = await ended(guarded);
    assert.equal(failed.status, "FAILED");
    const { live } = failed as { live?: RunUpdate };
    assert.match(String(live?.cancellation_reason), /^Guardrail triggered: .*error/i);
  } finally {
    proxy.close();
  }
});

test("[OC4] [AS1] a password is in no answer, no log, no file that the product wrote", async () => {
  assert.ok(told.length > 10_000);
  assert.ok(!told.includes(secret), "an answer or an output has it");
  const files = readdirSync(cluster.dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  assert.ok(
    files.some((file) => file.endsWith(".log")) && files.some((file) => /store/.test(file)),
  );
  const having = files.filter((file) => readFileSync(file).includes(secret));
  assert.deepEqual(having, []);
});

for (const [signal, exitCode] of [
  ["SIGINT", 130],
  ["SIGTERM", 1],
] as const) {
  test(`[LC3] [LC5] ${signal} stops the run, and the command ends when the run has`, async () => {
    const settings = ["--set", "duration=120", "--set", "warmup=0", "--set", "connections=1"];
    const command = startProcess(["load", "run", "demo", ...settings, "--url", cluster.url]);
    const id = await waitFor(
      "its run",
      () => /^(\w+) started;/m.exec(command.output)?.[1],
      undefined,
      () => command.output,
    );
    await waitFor("load", () => (/RUNNING/.test(command.output) ? true : undefined));
    command.kill(signal);
    const { code } = await command.exited;
    assert.equal(code, exitCode, command.output);
    assert.match(command.output, /stopping…/);
    const page = `${cluster.url}/load/runs/${id}`;
    assert.ok(command.output.includes(`started; ${page}\n`), command.output);
    const shown = await fetch(page, { headers: { accept: "text/html" } });
    assert.ok(shown.status === 200 || shown.status === 404); // 404: the dashboard was not built.
    assert.match(command.output, /PREPARING +\d+ s {2}waiting for /);
    const { body } = await good("GET", `/api/tests/${id}`);
    assert.deepEqual([body.status, body.stop_reason], ["CANCELLED", "user_requested"]);
    const { live } = body as { live?: RunUpdate };
    assert.equal(live?.cancellation_reason, "User requested cancellation");
  });
}

test("[LC4] [KT5] settings that are refused are wrong usage; a file's pools are its run's", async () => {
  const run = (...args: string[]) =>
    startProcess(["load", "run", ...args, "--url", cluster.url]).exited;
  assert.equal((await run("demo", "--set", "duration=soon")).code, 2);
  assert.equal((await run("demo", "--set", "nonsense=1")).code, 2);
  const file = join(cluster.dataDir, "pools.yaml");
  const lines = (values: string): string => `
name: Pools
target: sqlite:pools.db
workload:
  duration_seconds: 2
  warmup_seconds: 0
  concurrent_connections: 1
  operations:
    - name: pick
      kind: POINT_LOOKUP
      percent: 100
      statements: ["SELECT :city"]
      parameters: { city: { kind: pool, pool: cities } }
verdict: { min_availability_pct: null } # The machine may be busy.
pools:
  cities: ${values}
`;
  writeFileSync(file, lines("[]"));
  assert.equal((await run(file)).code, 2);
  writeFileSync(file, "name: [");
  assert.equal((await run(file)).code, 2);
  writeFileSync(file, lines("[Bern, Basel]"));
  const command = startProcess(["load", "run", file, "--url", cluster.url]);
  const { code } = await command.exited;
  assert.equal(code, 0, command.output);
});
