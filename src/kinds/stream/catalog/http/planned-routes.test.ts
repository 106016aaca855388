/** The routes over a catalog whose statements are planned: what strangers send. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startApi } from "../../../../faces/api/index.ts";
import {
  apiConfig,
  bothTokens,
  FakeCluster,
  operateToken,
} from "../../../../faces/api/testing/fake-ports.ts";
import { sqliteFixture } from "../../../../ground/store/testing/fixtures.ts";
import { openPlanned } from "../testing/planned-catalog.ts";
import { recordRow } from "../testing/record-row.ts";
import { streamRoutes } from "./stream-routes.ts";

const fixture = sqliteFixture();

interface Answered {
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
}

async function open(t: TestContext) {
  const [planned] = await openPlanned(fixture, t);
  assert(planned !== undefined);
  const routes = [streamRoutes(planned.catalog)];
  const api = await startApi(apiConfig(bothTokens), { ...new FakeCluster().ports(), routes });
  t.after(async () => {
    api.force();
    await api.close();
  });
  const call = async (method: string, path: string, body?: unknown): Promise<Answered> => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(`${api.url}/api/v1/streams/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${operateToken}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: text }),
    });
    return { status: response.status, answer: (await response.json()) as Answered["answer"] };
  };
  await planned.run(
    "CREATE LOGICAL SOURCE bids(ts UINT64 NOT NULL)",
    `CREATE PHYSICAL SOURCE FOR bids TYPE File SET('a' AS "SOURCE".FILE_PATH)`,
    "CREATE SINK hot TYPE Void",
  );
  return { planned, call };
}

type Refusal = readonly [
  method: string,
  path: string,
  body: unknown,
  status: number,
  code: string,
  message: RegExp,
];

const create = "SELECT ts FROM bids INTO hot";
const column = { name: "a", type: "INT8" };
const refusals: readonly Refusal[] = [
  // A query is created by one statement that creates one, and nothing else is done.
  ["POST", "queries", { statement: "SHOW QUERIES" }, 400, "bad_request", /creates no query/],
  ["POST", "queries", { statement: "DROP SINK hot" }, 400, "bad_request", /creates no query/],
  ["POST", "queries", { statement: `EXPLAIN ${create}` }, 400, "bad_request", /creates no query/],
  [
    "POST",
    "queries",
    { statement: `${create}; DROP SINK hot` },
    400,
    "bad_request",
    /one query is created here, and these are 2 statements/,
  ],
  ["POST", "queries", { statement: " " }, 400, "bad_request", /creates no query/],
  [
    "POST",
    "queries",
    { name: "q", statement: `${create}; DROP SINK hot` },
    400,
    "bad_request",
    /these are 2 statements/,
  ],
  ["POST", "bundles", { statements: ["SHOW SINKS"] }, 400, "bad_request", /has no SHOW/],
  // Fields and filters that do not exist.
  ["POST", "sinks", { name: "s", typ: "Void" }, 400, "bad_request", /did you mean type\?/],
  [
    "POST",
    "sinks",
    { name: "s", type: "Void", shema: [column] },
    400,
    "bad_request",
    /there is no field "shema"; did you mean schema\?/,
  ],
  [
    "POST",
    "sources",
    { name: "s", schema: [{ ...column, nulable: false }] },
    400,
    "bad_request",
    /did you mean nullable\?/,
  ],
  ["GET", "sinks?by_nam=hot", undefined, 400, "bad_request", /did you mean by_name\?/],
  ["GET", "sinks?with_capacity=1", undefined, 400, "bad_request", /it may have .*by_type/],
  ["GET", "workers?with_state=GONE", undefined, 400, "bad_request", /"ACTIVE"\|"UNREACHABLE"/],
  ["GET", "queries?with_state=GONE", undefined, 400, "bad_request", /"PENDING"/],
  ["GET", "sinks?page_token=x", undefined, 400, "bad_request", /next_page_token/],
  ["GET", "sinks?limit=0", undefined, 400, "bad_request", /limit/],
  ["DELETE", "queries/q?mode=slowly", undefined, 400, "bad_request", /"soft"\|"hard"/],
  ["DELETE", "queries/q?mod=soft", undefined, 400, "bad_request", /did you mean mode\?/],
  ["POST", "queries?wait=DONE", { statement: create }, 400, "bad_request", /"RUNNING"/],
  ["POST", "queries?timeout=1h", { statement: create }, 400, "bad_request", /timeout/],
  ["GET", "snapshot?tables=sinks,nothing", undefined, 400, "bad_request", /no table nothing/],
  ["GET", "snapshot?tables=constructor", undefined, 400, "bad_request", /no table constructor/],
  // Bodies that are not JSON objects.
  ["POST", "sinks", "{", 400, "bad_request", /JSON/],
  ["POST", "sinks", "null", 400, "bad_request", /body/],
  ["POST", "sinks", "[]", 400, "bad_request", /body/],
  ["POST", "sinks", { name: "", type: "Void" }, 400, "bad_request", /name/],
  ["POST", "sinks", { name: "s", type: "Void", config: 7 }, 400, "bad_request", /config/],
  ["POST", "sinks", { name: "s", type: "Void", config: { A: {} } }, 400, "bad_request", /config.A/],
  ["POST", "workers", { host: "h", grpc_port: "x" }, 400, "bad_request", /grpc_port/],
  ["POST", "queries", { statement: "x".repeat(200_000) }, 400, "bad_request", /statement/],
  ["POST", "queries", { statement: "x".repeat(9_000_000) }, 413, "payload_too_large", /too large/],
  // What the language refuses keeps its code.
  ["POST", "sources", { name: "s", schema: [] }, 422, "EmptySchema", /at least one column/],
  [
    "POST",
    "sources",
    { name: "s", schema: [{ name: "a", type: "STRING" }] },
    422,
    "InvalidSchema",
    /STRING/,
  ],
  ["POST", "sources", { name: "s", schema: [column, column] }, 422, "InvalidSchema", /column a/],
  ["POST", "sinks", { name: "s", type: "Nope" }, 422, "SinkTypeDoesNotExist", /Nope/],
  [
    "POST",
    "sinks",
    { name: "s", type: "File", config: { FILE_PTH: "x" } },
    422,
    "InvalidConfig",
    /FILE_PTH/,
  ],
  ["POST", "workers", { host: "h", grpc_port: 0 }, 422, "InvalidAddress", /1 to 65535/],
  ["POST", "workers", { host: "h", grpc_port: 65_536 }, 422, "InvalidAddress", /1 to 65535/],
  [
    "POST",
    "workers",
    { host: "h", grpc_port: 1, data_port: -1 },
    422,
    "InvalidAddress",
    /1 to 65535/,
  ],
  ["POST", "workers", { host: "a b", grpc_port: 1 }, 422, "InvalidAddress", /no address/],
];

test("[SC31, SC44] what is malformed is refused by name, and nothing of it is done", async (t) => {
  const { planned, call } = await open(t);
  for (const [method, path, body, status, code, message] of refusals) {
    const shown = `${method} ${path} ${JSON.stringify(body)?.slice(0, 80)}`;
    const refused = await call(method, path, body);
    assert.deepEqual([refused.status, refused.answer.code], [status, code], shown);
    assert.match(String(refused.answer.message), message, shown);
  }
  const { logicalSources, sinks } = await planned.snapshot();
  assert.deepEqual([logicalSources.length, sinks.map(({ name }) => name)], [1, ["hot"]]);
  assert.deepEqual((await call("GET", "queries")).answer.items, []);
});

test("[SC31] the place of an error is in the statement that was sent, not in front of it", async (t) => {
  const { call } = await open(t);
  const statement = "SELECT nothing FROM bids INTO hot";
  const places = [{ statement }, { name: "a long name", statement }];
  for (const body of places) {
    const { answer } = await call("POST", "queries", body);
    assert.equal(answer.code, "BinderError");
    assert.deepEqual(answer.position, { line: 1, column: 8 });
  }
  const { answer } = await call("POST", "queries", { name: "q", statement: `\n${statement}` });
  assert.deepEqual(answer.position, { line: 2, column: 8 });
});

test("[SC90] a snapshot says the time by the clock that its rows have their times from", async (t) => {
  const { planned, call } = await open(t);
  await planned.run("CREATE SINK early TYPE Void");
  const { now_ms: nowMs, sinks } = (await call("GET", "snapshot?tables=sinks")).answer;
  const [sink] = sinks as readonly { readonly created_at_ms: number }[];
  assert.ok(sink !== undefined && sink.created_at_ms > 0);
  assert.ok(Number(nowMs) >= sink.created_at_ms, `${nowMs} before ${sink.created_at_ms}`);
});

test("[SC43] several tables are read as they were at one revision", async (t) => {
  const { planned, call } = await open(t);
  const all = (await call("GET", "snapshot")).answer;
  assert.deepEqual(
    new Set(Object.keys(all)),
    new Set([
      ...["now_ms", "physical_sources", "queries", "revision"],
      ...["sinks", "sources", "views", "workers"],
    ]),
  );
  const some = (await call("GET", "snapshot?tables=sinks,workers")).answer;
  assert.deepEqual(new Set(Object.keys(some)), new Set(["now_ms", "revision", "sinks", "workers"]));
  // Each bundle puts a source and its sink, or takes both away: a reading never has one of them.
  let isOver = false;
  const changing = (async () => {
    for (let round = 0; round < 10; round += 1) {
      await planned.run("CREATE LOGICAL SOURCE pair(a INT8)", "CREATE SINK pair TYPE Void");
      await planned.run("DROP SINK pair", "DROP LOGICAL SOURCE pair");
    }
    isOver = true;
  })();
  let last = 0;
  while (!isOver) {
    const read = (await call("GET", "snapshot?tables=sources,sinks")).answer;
    const has = (table: unknown) =>
      (table as readonly { readonly name: string }[]).some(({ name }) => name === "pair");
    assert.equal(has(read.sources), has(read.sinks));
    assert.ok(Number(read.revision) >= last);
    last = Number(read.revision);
  }
  await changing;
});

test("[SC31, SC50, SC51, SC52, SC53] savepoints are taken, listed and dropped over HTTP", async (t) => {
  const { planned, call } = await open(t);
  await planned.run("CREATE QUERY q AS SELECT ts FROM bids INTO hot");
  const asked = await call("POST", "queries/q/checkpoints?timeout=0s");
  assert.deepEqual([asked.status, asked.answer.checkpoint], [200, null]);
  await recordRow(planned.store, String(asked.answer.query_id), 4, 1);
  const [row] = (await call("GET", "queries/q/checkpoints")).answer.checkpoints as object[];
  const { kind, checkpoint, name } = row as Record<string, unknown>;
  assert.deepEqual([kind, checkpoint, name], ["SAVEPOINT", 4, "q"]);
  assert.deepEqual((await call("GET", "checkpoints")).answer.checkpoints, [row]);
  assert.equal((await call("DELETE", "queries/q/checkpoints/4")).answer.checkpoint, 4);
  assert.equal((await call("DELETE", "queries/q/checkpoints/5")).answer.checkpoint, null);
  assert.equal((await call("GET", "queries/nobody/checkpoints")).status, 404);
  const settings = { CHECKPOINTS_KEPT: 3, checkpoint_timeout: "5 MINUTE" };
  const from_checkpoint = { checkpoint: 4, query: "q" };
  const body = { name: "r", statement: `${create}; `, settings, from_checkpoint };
  const begun = await call("POST", "queries", body);
  assert.equal(begun.answer.code, "conflict", "its row has a plan without fragments");
  const { statement } = (await call("POST", "queries", { ...body, from_checkpoint: undefined }))
    .answer.query as { readonly statement: string };
  assert.match(statement, /\nSET\(3 AS "QUERY".CHECKPOINTS_KEPT, '5 MINUTE' AS "QUERY"./);
  const back = await call("POST", "queries/q/resume?from_checkpoint=4");
  assert.match(String(back.answer.message), /only a paused query/);
  assert.equal((await call("POST", "queries/q/checkpoints?wait=1s")).status, 400);
});

const created: readonly (readonly [path: string, body: object])[] = [
  ["sources", { name: "asks", schema: [column] }],
  [
    "physical-sources",
    { logical_source: "asks", type: "File", config: { FILE_PATH: "b" }, worker: "w1" },
  ],
  ["sinks", { name: "cold", type: "File", config: { FILE_PATH: "c" }, worker: "w2" }],
  ["queries", { name: "q", statement: "SELECT a FROM asks INTO cold" }],
  ["queries", { statement: "SELECT ts FROM bids INTO hot" }],
];

/** Every filter of the request table, and what it leaves. */
const filtered: readonly (readonly [path: string, want: readonly string[]])[] = [
  ["sources", ["asks", "bids"]],
  ["sources?by_name=ASKS", ["asks"]],
  ["physical-sources", ["2", "5"]],
  ["physical-sources?for_logical=asks", ["5"]],
  ["physical-sources?on_node=host-w1", ["5"]],
  ["physical-sources?on_node=w2", []],
  ["physical-sources?by_type=file", ["2", "5"]],
  ["physical-sources?by_type=TCP", []],
  ["physical-sources?by_type=File&on_node=w1&for_logical=bids", []],
  ["sinks", ["cold", "hot"]],
  ["sinks?by_name=HOT", ["hot"]],
  ["sinks?on_node=host-w2:4601", ["cold"]],
  ["sinks?by_type=void", ["hot"]],
  ["queries", ["q", "8"]],
  ["queries?by_name=Q", ["q"]],
  ["queries?by_id=8", ["8"]],
  ["queries?with_state=PENDING", ["q", "8"]],
  ["queries?with_state=RUNNING", []],
  ["queries?on_worker=w2", ["q"]],
  ["workers", ["w1", "w2"]],
  ["workers?by_name=w1", ["w1"]],
  ["workers?by_host_name=host-w2", ["w2"]],
  ["workers?with_state=ACTIVE", ["w1", "w2"]],
  ["workers?with_state=UNREACHABLE", []],
  ["workers?with_capacity=1001", []],
];
const missing = [
  "sources?by_name=no",
  "physical-sources?for_logical=no",
  "physical-sources?on_node=no",
  "sinks?by_name=no",
  "sinks?on_node=no",
  "queries?by_name=no",
  "queries?by_id=99",
  "queries?on_worker=no",
  "workers?by_name=no",
  "workers?by_host_name=no",
  ...["sources/no", "views/no", "physical-sources/99", "sinks/no", "queries/no", "workers/no"],
];

test("[SC83] every request of the table over HTTP, with each filter, answer and absence", async (t) => {
  const { call } = await open(t);
  for (const [path, body] of created) {
    const { status, answer } = await call("POST", path, body);
    assert.equal(status, path === "queries" ? 202 : 200, JSON.stringify(answer));
  }
  for (const [path, want] of filtered) {
    const { answer } = await call("GET", path);
    assert.deepEqual((answer.items as readonly Named[]).map(nameOf), want, path);
  }
  for (const path of missing) {
    const { status, answer } = await call("GET", path);
    assert.deepEqual([status, answer.code], [404, "DoesNotExist"], path);
    assert.match(String(answer.hint), /lists what there is|There are: /, path);
  }
  const drop = async (path: string) => (await call("DELETE", path)).answer.dropped as Named | null;
  const used = await call("DELETE", "sinks/cold");
  assert.deepEqual([used.status, used.answer.code], [409, "ReferencedQueryExists"]);
  const { answer } = await call("DELETE", "queries/q");
  assert.deepEqual([answer.query_id, answer.name], ["7", "q"]);
  assert.equal((await call("DELETE", "queries/no")).answer.query_id, null);
  await call("POST", "sinks", { name: "spare", type: "Void" });
  assert.equal(nameOf((await drop("sinks/spare")) ?? {}), "spare");
  for (const path of [
    "sources/no",
    "views/no",
    "physical-sources/99",
    "sinks/spare",
    "workers/no",
  ]) {
    assert.equal(await drop(path), null, path);
  }
});

interface Named {
  readonly name?: string | null;
  readonly physical_source_id?: string;
  readonly query_id?: string;
  readonly worker_id?: string;
}

function nameOf({ name, physical_source_id: source, query_id: query, worker_id: worker }: Named) {
  return name ?? source ?? query ?? worker;
}
