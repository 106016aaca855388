import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { WorkerPool } from "../../../../ground/cluster/index.ts";
import { parseIncarnation, parseWorkerId } from "../../../../ground/kernel/ids.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { bearerOf, isBearer } from "../../../../ground/kernel/node/cluster-token.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import type { LeaseGrant } from "../../../../ground/store/index.ts";
import { sqliteFixture } from "../../../../ground/store/testing/fixtures.ts";
import { openFresh } from "../../../../ground/store/testing/store-fixture.ts";
import { startArtifactServer } from "../../../../ground/work/index.ts";
import { insertQuery, moveQuery } from "../../catalog/store/move-rows.ts";
import { addWorkers, lease } from "../../catalog/testing/scripted-catalog.ts";
import { CoordinatorRows } from "../worker/coordinator-rows.ts";
import { CoordinatorStreams } from "./coordinator-streams.ts";
import { serveStreams } from "./serve-streams.ts";

const token = "secret";

/** A coordinator's streams behind its data port, and a worker that reads them. */
async function open(t: TestContext, workerToken = token) {
  const { store } = await openFresh(sqliteFixture(), t);
  const listeners: Parameters<WorkerPool["listen"]>[0][] = [];
  const pool: WorkerPool = {
    listen: (listener) => {
      listeners.push(listener);
      return () => listeners.splice(listeners.indexOf(listener), 1);
    },
    send: () => false,
  };
  let grant: LeaseGrant | undefined = lease;
  const streams = new CoordinatorStreams({
    ...{ store, pool, clock: realClock, series: "c1" },
    lease: () => grant,
  });
  streams.start();
  const server = await startArtifactServer({
    ...{ host: "127.0.0.1", port: 0, token, logger: silentLogger },
    spool: { stat: () => undefined },
    http2: (stream, headers) =>
      serveStreams(stream, headers, {
        rows: (asked) => streams.rows(asked),
        isAllowed: ({ authorization }) => isBearer(authorization, token),
      }),
  });
  const worker = new CoordinatorRows({
    headers: { authorization: bearerOf(workerToken) },
    clock: realClock,
  });
  t.after(async () => {
    worker.close();
    streams.stop();
    await server.close();
  });
  const read = async (stream: string, after?: string) => {
    const { lines, at } = await worker.rows({ stream, after, coordinator: server.url });
    const rows = lines.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    return { rows: rows as Record<string, unknown>[], at };
  };
  return {
    ...{ store, listeners, server, read, worker },
    stepDown: () => {
      grant = undefined;
    },
  };
}

const w1 = parseWorkerId("w1") ?? assert.fail();

test("[SD82] heartbeats are numbered, and go on from a place", async (t) => {
  const { listeners, read } = await open(t);
  const [listener] = listeners;
  const incarnation = parseIncarnation("i-1") ?? assert.fail();
  const admission = { accepting: true, draining: false };
  listener?.workerUp?.({ workerId: w1, incarnation, admission, channels: new Map() });
  listener?.workerHeartbeat?.(w1, 3);
  const start = await read("heartbeats");
  assert.deepEqual(start.rows, []);
  for (const rtt of [1.5, 2]) listener?.workerHeartbeat?.(w1, rtt);
  const next = await read("heartbeats", start.at);
  assert.deepEqual(
    next.rows.map(({ sequence, worker_id, incarnation: run, round_trip_ms }) => [
      ...[sequence, worker_id, run, round_trip_ms],
    ]),
    [
      [1, "w1", "i-1", 1.5],
      [2, "w1", "i-1", 2],
    ],
  );
  assert.deepEqual(await read("heartbeats", start.at), next);
  const other = await read("heartbeats", "another-coordinator:77");
  assert.equal(other.rows.length, 3);
});

test("[SD83] query_events has each change of a state once, by revision", async (t) => {
  const { store, read } = await open(t);
  await addWorkers(store, "w1");
  const { at } = await read("query_events");
  await store.catalogTransaction(async (tx) => {
    const query = { query_id: "7", name: "q", name_key: "Q" };
    await insertQuery(tx, { ...query, guarantee: "exactly once", is_preview: 0 });
  });
  const waiting = read("query_events", at);
  const created = await waiting;
  await store.catalogTransaction(async (tx) => {
    const row = await tx.db.selectFrom("queries").selectAll().executeTakeFirstOrThrow();
    await moveQuery(tx, row, "DEPLOYING", { state_reason: "because", epoch: 1 });
    await tx.update("queries", "7", { state_reason: "for another reason" });
  });
  const deployed = await read("query_events", created.at);
  const told = [...created.rows, ...deployed.rows].map((row) => [
    ...[row.query_name, row.from_state, row.to_state, row.reason],
  ]);
  assert.deepEqual(
    told.map(([name, from, to]) => [name, from, to]),
    [
      ["q", null, "PENDING"],
      ["q", "PENDING", "DEPLOYING"],
    ],
  );
  assert.equal(told[1]?.[3], "because");
  assert.deepEqual((await read("query_events", at)).rows, [...created.rows, ...deployed.rows]);
  await store.transaction(async ({ db }) => {
    await db
      .updateTable("catalog_revision")
      .set(({ ref }) => ({ trimmed_revision: ref("revision") }))
      .execute();
  });
  await assert.rejects(read("query_events", at), (thrown: Error & { retry?: string }) => {
    assert.match(thrown.message, /events of queries behind revision \d+ are no longer kept/);
    return thrown.retry === "never";
  });
});

test("[SD84] a coordinator that does not lead, or is gone, fails its readers after some seconds", async (t) => {
  const { read, server, stepDown, worker } = await open(t);
  const { at } = await read("heartbeats");
  stepDown();
  await assert.rejects(read("heartbeats"), { code: "leader_unreachable", retry: "backoff" });
  assert.deepEqual(await read("heartbeats", at), { rows: [], at });
  await server.close();
  worker.close();
  const startedMs = performance.now();
  await assert.rejects(
    async () => {
      for (;;) await read("heartbeats", at);
    },
    { code: "leader_unreachable" },
  );
  assert.ok(performance.now() - startedMs > 3_000);
});

test("[SD84] strangers and unknown streams get nothing", async (t) => {
  const stranger = await open(t, "another");
  await assert.rejects(stranger.read("heartbeats"), /status 401/);
  const known = await open(t);
  await assert.rejects(known.read("nothing"), /status 404/);
});
