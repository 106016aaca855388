/** The routes over a real catalog; the planner knows the statements that the bodies come to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startApi } from "../../../../faces/api/index.ts";
import {
  apiConfig,
  bothTokens,
  FakeCluster,
  operateToken,
  readToken,
} from "../../../../faces/api/testing/fake-ports.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import { sqliteFixture } from "../../../../ground/store/testing/fixtures.ts";
import type { CatalogChange } from "../core/changes.ts";
import "../error-codes.ts";
import { moveQuery } from "../store/move-rows.ts";
import { findQuery } from "../store/read-rows.ts";
import {
  addWorkers,
  drop,
  openScripted,
  physical,
  query,
  sink,
  source,
  statementOf,
} from "../testing/scripted-catalog.ts";
import { readQueriesAttention } from "./attention.ts";
import { type StreamCatalogPort, streamRoutes } from "./stream-routes.ts";

const fixture = sqliteFixture();

const known: Readonly<Record<string, CatalogChange>> = {
  'CREATE LOGICAL SOURCE IF NOT EXISTS bids(ts UINT64 NOT NULL, "odd ""name" VARSIZED) WATERMARK(ts, 5 MS)':
    { ...source("bids"), ifNotExists: true },
  "CREATE PHYSICAL SOURCE FOR bids TYPE File SET('it\\'s.csv' AS \"SOURCE\".FILE_PATH, 'CSV' AS \"PARSER\".TYPE, 'w1' AS \"SOURCE\".HOST)":
    physical("1", { placement: "w1" }),
  "CREATE SINK hot TYPE File SET('C:\\\\o.csv' AS \"SINK\".FILE_PATH, 'JSON' AS \"SINK\".OUTPUT_FORMAT)":
    sink("hot"),
  "CREATE QUERY q AS SELECT ts FROM bids INTO hot": query("q", {
    logicalSources: ["1"],
    physicalSources: ["2"],
    sinks: ["3"],
  }),
  "CREATE OR REPLACE QUERY q AS SELECT ts FROM bids INTO hot": query("q", {
    replaces: true,
    logicalSources: ["1"],
    physicalSources: ["2"],
    sinks: ["3"],
  }),
  "SELECT ts FROM bids INTO hot": query(undefined),
  "DROP LOGICAL SOURCE IF EXISTS bids": drop("logical source", "bids"),
  "DROP PHYSICAL SOURCE IF EXISTS '2'": drop("physical source", "2"),
  "DROP SINK IF EXISTS missing": drop("sink", "missing"),
  "DROP QUERY IF EXISTS 'q' SOFT": drop("query", "q", "SOFT"),
  "DROP QUERY IF EXISTS 'missing' HARD": drop("query", "missing"),
  "PAUSE QUERY 'q'": { kind: "setDesired", query: "q", desired: "PAUSED" },
  "CREATE SINK cold TYPE Void": sink("cold"),
  "DROP SINK hot": drop("sink", "hot"),
};

async function open(t: Parameters<typeof openScripted>[1]) {
  const scripted = await openScripted(fixture, t);
  await addWorkers(scripted.store, "w1", "w2");
  const { catalog } = scripted;
  const port: StreamCatalogPort = {
    execute: async ({ statements, ...more }, signal) => {
      const changes = statements.map((text) => {
        const change = known[String(text)];
        if (change !== undefined) return statementOf(change);
        throw new OperatingError("ParserError", "never", `not known: ${String(text)}`);
      });
      return await catalog.execute({ statements: changes, ...more }, signal);
    },
    read: (...args) => catalog.read(...args),
    readTogether: (objects) => catalog.readTogether(objects),
    query: (name) => catalog.query(name),
    checkpoints: (name) => catalog.checkpoints(name),
    waitFor: (...args) => catalog.waitFor(...args),
  };
  const ports = new FakeCluster().ports();
  const api = await startApi(apiConfig(bothTokens), { ...ports, routes: [streamRoutes(port)] });
  t.after(async () => {
    api.force();
    await api.close();
  });
  const call = async (method: string, path: string, body?: unknown, token = operateToken) => {
    const response = await fetch(`${api.url}/api/v1/streams/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Readonly<Record<string, unknown>>;
    return { status: response.status, answer, headers: response.headers };
  };
  return { scripted, catalog, call };
}

const columns = [
  { name: "ts", type: "UINT64", nullable: false },
  { name: 'odd "name', type: "VARSIZED" },
];

test("[SC31] bodies come to the statements that say the same, and rows are read by filters", async (t) => {
  const { call } = await open(t);
  const created = [
    await call("POST", "sources", {
      name: "bids",
      schema: columns,
      watermark: { column: "ts", bound_ms: 5 },
      if_not_exists: true,
    }),
    await call("POST", "physical-sources", {
      logical_source: "bids",
      type: "File",
      config: { FILE_PATH: "it's.csv" },
      parser: { TYPE: "CSV" },
      worker: "w1",
    }),
    await call("POST", "sinks", {
      name: "hot",
      type: "File",
      config: { FILE_PATH: "C:\\o.csv" },
      formatter: { TYPE: "JSON" },
    }),
  ];
  assert.deepEqual(
    created.map(({ status, answer }) => [status, answer.id]),
    [
      [200, "1"],
      [200, "2"],
      [200, "3"],
    ],
  );
  const itemsOf = async (path: string) => (await call("GET", path)).answer.items as object[];
  assert.equal((await itemsOf("sources?by_name=BIDS")).length, 1);
  assert.equal(
    (await itemsOf("physical-sources?for_logical=bids&on_node=w1&by_type=file")).length,
    1,
  );
  assert.equal((await itemsOf("sinks?by_type=void")).length, 0);
  assert.equal((await itemsOf("workers?with_state=ACTIVE&with_capacity=1000")).length, 2);
  const first = await call("GET", "workers?limit=1");
  assert.equal(first.answer.next_page_token, "1");
  const [second] = (await itemsOf("workers?limit=1&page_token=1")) as { worker_id: string }[];
  assert.equal(second?.worker_id, "w2");
  const { status, answer } = await call("GET", "sinks/missing");
  assert.deepEqual([status, answer.code], [404, "DoesNotExist"]);
});

test("[SC31] a query is accepted at once, or the answer waits and says how far it got", async (t) => {
  const { scripted, call } = await open(t);
  await scripted.run(source("bids"), physical("1"), sink("hot"));
  const body = { name: "q", statement: "SELECT ts FROM bids INTO hot", request_id: "r1" };
  const accepted = await call("POST", "queries", body);
  assert.equal(accepted.status, 202);
  assert.equal(accepted.answer.query_id, "4");
  assert.equal((accepted.answer.query as { state: string }).state, "PENDING");
  assert.equal((await call("POST", "queries", body)).answer.query_id, "4");
  const detail = await call("GET", "queries/q");
  assert.equal((detail.answer.deployed as object[]).length, 2);
  const one = await call("POST", "queries?wait=RUNNING&timeout=1ms", { statement: body.statement });
  assert.deepEqual([one.status, (one.answer.query as { state: string }).state], [202, "PENDING"]);
  const waiting = call("POST", "queries/q/pause?wait=DEPLOYING&timeout=1m");
  await eventually("the wish to pause", async () => {
    const { desired_state } = await scripted.catalog.query("q");
    return desired_state === "PAUSED" ? true : undefined;
  });
  await scripted.store.catalogTransaction(async (tx) => {
    const row = await findQuery(tx, "q");
    assert(row !== undefined);
    await moveQuery(tx, row, "DEPLOYING", {});
  });
  assert.equal(((await waiting).answer.query as { state: string }).state, "DEPLOYING");
  const listed = await call("GET", "queries?with_state=DEPLOYING&on_worker=w2");
  assert.equal((listed.answer.items as object[]).length, 1);
  const dropped = await call("DELETE", "queries/q?mode=soft");
  assert.equal(dropped.status, 202);
  const { desired_state, stop_mode } = dropped.answer.query as Record<string, string>;
  assert.deepEqual([desired_state, stop_mode], ["STOPPED", "SOFT"]);
  assert.deepEqual((await call("DELETE", "queries/missing")).answer, {
    query_id: null,
    name: null,
    replaced: null,
    query: null,
  });
});

test("[SC33] a query is replaced, and the answer says so", async (t) => {
  const { scripted, call } = await open(t);
  await scripted.run(source("bids"), physical("1"), sink("hot"));
  const body = { name: "q", statement: "SELECT ts FROM bids INTO hot" };
  assert.equal((await call("POST", "queries", body)).answer.replaced, null);
  const refused = await call("POST", "queries", body);
  assert.deepEqual([refused.status, refused.answer.code], [409, "AlreadyExists"]);
  const { status, answer } = await call("POST", "queries", { ...body, or_replace: true });
  assert.deepEqual([status, answer.replaced], [202, { query_id: "4", state: "PENDING" }]);
  const snapshot = await call("GET", "snapshot", undefined, readToken);
  const queries = snapshot.answer.queries as readonly object[];
  assert.deepEqual(
    queries.map((each) => (each as { superseded_by: string | null }).superseded_by),
    ["5", null],
  );
  assert.ok(queries.every((each) => (each as { is_preview: boolean }).is_preview === false));
});

test("[SC31, SC15] refusals keep their codes, and a bundle is one request", async (t) => {
  const { scripted, call } = await open(t);
  await scripted.run(source("bids"), physical("1"), sink("hot"));
  const used = await call("DELETE", "sources/bids");
  assert.deepEqual([used.status, used.answer.code], [409, "ReferencedPhysicalSourceExists"]);
  assert.deepEqual((await call("DELETE", "sinks/missing")).answer, { dropped: null });
  const gone = await call("DELETE", "physical-sources/2");
  assert.equal((gone.answer.dropped as { type: string }).type, "File");
  const statements = ["CREATE SINK cold TYPE Void", "DROP SINK hot"];
  const bundle = await call("POST", "bundles", { statements });
  assert.deepEqual(bundle.answer.answers, [
    { object: "sink", name: "cold", id: "4", status: "created" },
    { object: "sink", name: "hot", id: "3", status: "dropped" },
  ]);
  const again = await call("POST", "bundles", { statements });
  assert.deepEqual([again.status, again.answer.code], [409, "AlreadyExists"]);
  assert.equal((await call("POST", "queries", { statement: "SELECT" })).status, 400);
});

test("[SC31] reading needs the role read, changing the role operate", async (t) => {
  const { call } = await open(t);
  assert.equal((await call("GET", "queries", undefined, readToken)).status, 200);
  const statement = "SELECT ts FROM bids INTO hot";
  assert.equal((await call("POST", "queries", { statement }, readToken)).status, 403);
  assert.equal((await call("DELETE", "queries/q", undefined, readToken)).status, 403);
});

test("[SC31] overload is 429 with Retry-After", async (t) => {
  const { scripted, call } = await open(t);
  const gate = Promise.withResolvers<void>();
  scripted.afterPlan = () => gate.promise;
  const begun = [1, 2, 3, 4].map((number) => scripted.run(source(`s${number}`)));
  const refused = await call("DELETE", "sinks/missing");
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "1"]);
  gate.resolve();
  await Promise.all(begun);
});

test("[SC31] queries that failed, or do not get on, need attention", async (t) => {
  const { scripted } = await open(t);
  await scripted.run(query("stuck"), query("failed"), query("new"));
  await scripted.store.catalogTransaction(async (tx) => {
    const row = await findQuery(tx, "failed");
    assert(row !== undefined);
    const terminating = await moveQuery(tx, row, "TERMINATING", {});
    await moveQuery(tx, terminating, "FAILED", { state_reason: "w1: port taken" });
    await tx.update("queries", "1", { state_changed_at_ms: 0 });
  });
  const items = await readQueriesAttention(scripted.catalog, async () => Date.now());
  assert.deepEqual(
    items.map(({ name, severity, state, reason }) => [name, severity, state, reason]),
    [
      ["stuck", "degraded", "pending for long", "accepted; not deployed yet"],
      ["failed", "failed", "failed", "w1: port taken"],
    ],
  );
});
