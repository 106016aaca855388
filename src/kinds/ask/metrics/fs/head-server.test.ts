import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { queryIdHeader } from "../../../../ground/kernel/ids.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import {
  type RecordedLine,
  recordingLogger,
} from "../../../../ground/kernel/testing/recording-logger.ts";
import { compareText, Labels } from "../../promql/core/index.ts";
import { decodeRawSeries } from "../segments/raw-series-codec.ts";
import { batchOf, everySeries, meaningOf } from "../testing/sample-batches.ts";
import { type HeadServerOptions, parseHeadSnapshot, startHeadServer } from "./head-server.ts";
import type { MetricsDb } from "./metrics-db.ts";
import { DbFixture } from "./testing/db-fixture.ts";

const token = "secret";

async function setUp(t: TestContext, options: Partial<HeadServerOptions> = {}) {
  const fixture = new DbFixture(t);
  const db = await fixture.open();
  const server = await startHeadServer({
    db,
    host: "127.0.0.1",
    port: 0,
    token,
    logger: silentLogger,
    ...options,
  });
  t.after(async () => {
    await server.close();
    await db.close();
  });
  const ask = (body: unknown, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.url}/head/slice`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...init,
    });
  const request = (rest: object = {}) => {
    const { incarnation, appendSeq } = db.snapshot();
    const scope = { shard: 0, shardCount: 1, matchers: everySeries, minMs: null, maxMs: null };
    return { incarnation, appendSeq, ...scope, ...rest };
  };
  return { db, server, ask, request };
}

describe("the head's server", () => {
  test("[MH30] gives labels of what one of many sets means, each once, with one sample", async (t) => {
    const { db, ask, request } = await setUp(t);
    const rows = Array.from(
      { length: 10_000 },
      (_, n) =>
        [Labels.of({ __name__: "up", n: `${n}` }), { ts: 1_000 + (n % 2), value: n }] as const,
    );
    await db.append(
      batchOf([...rows, ...rows.map(([labels]) => [labels, { ts: 2_000, value: 1 }] as const)]),
    );
    const set = (value: string) => [{ name: "n", op: "=~", value }];
    const matcherSets = [set("1.*"), set("12.*"), set("nothing"), set("7")];
    const scope = { matchers: undefined, matcherSets, minMs: 0, maxMs: 1_000 };
    const found = decodeRawSeries(new Uint8Array(await (await ask(request(scope))).arrayBuffer()));
    const wanted = rows
      .filter(([, { ts }]) => ts === 1_000)
      .map(([labels]) => labels.get("n"))
      .filter((n) => n.startsWith("1") || n === "7");
    const names = found.map(({ labels }) => labels.get("n"));
    assert.deepEqual(names.sort(compareText), wanted.sort(compareText));
    assert.ok(found.every(({ samples }) => samples.count === 1));
    // Labels come in turns: an append in between is not delayed, and is not in the answer.
    const turns = db.labels({
      ...request(scope),
      snapshot: db.snapshot(),
      minMs: 0,
      maxMs: 1_000,
      matcherSets: matcherSets as never,
    });
    assert.equal(turns.next().done, false);
    await db.append(batchOf([[Labels.of({ __name__: "up", n: "1new" }), { ts: 2_500, value: 1 }]]));
    let turn = turns.next();
    while (turn.done !== true) turn = turns.next();
    assert.equal(decodeRawSeries(turn.value).length, wanted.length);
    for (const both of [{ matcherSets }, { matchers: undefined }]) {
      assert.equal((await ask(request(both))).status, 400);
    }
  });

  test("[MH14] gives slices and snapshots to holders of the token", async (t) => {
    const { db, server, ask, request } = await setUp(t);
    const rows = Array.from(
      { length: 20_000 },
      (_, ts) => [Labels.of({ __name__: "up", a: `${ts % 3}` }), { ts, value: ts }] as const,
    );
    await db.append(batchOf(rows));
    assert.equal(db.snapshot().url, server.url);
    const response = await ask(request());
    assert.equal(response.status, 200);
    const bytes = new Uint8Array(await response.arrayBuffer());
    assert.ok(bytes.length > 256 * 1024, "sent in parts");
    const wanted = decodeRawSeries(
      db.slice({
        snapshot: db.snapshot(),
        shard: 0,
        shardCount: 1,
        matchers: everySeries,
        minMs: -Infinity,
        maxMs: Infinity,
      }),
    );
    assert.deepEqual(decodeRawSeries(bytes).map(meaningOf), wanted.map(meaningOf));
    const narrow = await ask(
      request({ minMs: 5, maxMs: 8, matchers: [{ name: "a", op: "=~", value: "0|1" }] }),
    );
    const found = decodeRawSeries(new Uint8Array(await narrow.arrayBuffer()));
    assert.deepEqual(
      found.map(({ samples }) => [...samples.ts]),
      [[6], [7]],
    );
    const snapshot = await fetch(`${server.url}/head/snapshot`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.deepEqual(parseHeadSnapshot(await snapshot.text()), db.snapshot());
  });

  test("[MH14] an empty head's snapshot travels too", async (t) => {
    const { db, server } = await setUp(t);
    const snapshot = await fetch(`${server.url}/head/snapshot`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.deepEqual(parseHeadSnapshot(await snapshot.text()), db.snapshot());
  });

  test("[MH15] refuses everybody else, and what is no request", async (t) => {
    const { server, ask, request } = await setUp(t);
    const cases: readonly [name: string, response: Promise<Response>, status: number][] = [
      ["no token", ask(request(), { headers: {} }), 401],
      ["another token", ask(request(), { headers: { authorization: "Bearer other" } }), 401],
      ["another incarnation", ask(request({ incarnation: "other" })), 410],
      ["from the future", ask(request({ appendSeq: 1e9 })), 410],
      ["no JSON", ask("{"), 400],
      ["no shard", ask(request({ shard: 4, shardCount: 4 })), 400],
      ["no power of two", ask(request({ shardCount: 3 })), 400],
      ["no matcher", ask(request({ matchers: [{ name: "a", op: "~", value: "" }] })), 400],
      [
        "no regular expression",
        ask(request({ matchers: [{ name: "a", op: "=~", value: "(" }] })),
        400,
      ],
      [
        "too long",
        ask(request({ matchers: [{ name: "a", op: "=", value: "x".repeat(5_000_000) }] })),
        400,
      ],
      [
        "another path",
        fetch(`${server.url}/`, { headers: { authorization: `Bearer ${token}` } }),
        404,
      ],
    ];
    for (const [name, response, status] of cases)
      assert.equal((await response).status, status, name);
  });

  test("[MH15] slices are bounded, in size and in number", async (t) => {
    const { db, ask, request } = await setUp(t, { sliceBytesMax: 10 });
    await db.append(batchOf([[Labels.of({ __name__: "up" }), { ts: 1, value: 1 }]]));
    assert.equal((await ask(request())).status, 413);
    const none = await setUp(t, { slicesMax: 0 });
    const busy = await none.ask(none.request());
    assert.deepEqual([busy.status, busy.headers.get("retry-after")], [503, "1"]);
  });

  test("[OB14] a slice that was not sent names the query that asked for it", async (t) => {
    const lines: RecordedLine[] = [];
    const broken = new Proxy({} as MetricsDb, {
      set: () => true,
      get: (_target, name) => {
        if (name === "slice") throw new Error("no head");
        return undefined;
      },
    });
    const options = { host: "127.0.0.1", port: 0, token, logger: recordingLogger(lines) };
    const server = await startHeadServer({ ...options, db: broken });
    t.after(() => server.close());
    const scope = { shard: 0, shardCount: 1, matchers: everySeries, minMs: null, maxMs: null };
    const asked = fetch(`${server.url}/head/slice`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, [queryIdHeader]: "q-1" },
      body: JSON.stringify({ incarnation: "i", appendSeq: 1, ...scope }),
    });
    await assert.rejects(asked);
    assert.deepEqual(
      lines.map(({ fields, message }) => [fields.query_id, message]),
      [["q-1", "slice not sent: no head"]],
    );
  });
});
