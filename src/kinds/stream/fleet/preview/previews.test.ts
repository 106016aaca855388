/** Previews over a real catalog and planner; the fleet is moved by hand, and the rows are given. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import type { Store } from "../../../../ground/store/index.ts";
import { sqliteFixture } from "../../../../ground/store/testing/fixtures.ts";
import { openFresh } from "../../../../ground/store/testing/store-fixture.ts";
import type { PreviewEvent, QueryRow, QueryState } from "../../catalog/core/index.ts";
import {
  createReadLakeTables,
  createReadSnapshot,
  moveFragment,
  moveQuery,
  readQueryDetail,
  removeQuery,
  StreamCatalog,
  ThreadPlanner,
} from "../../catalog/index.ts";
import { addWorkers, lease, never } from "../../catalog/testing/scripted-catalog.ts";
import type { PreviewRows } from "../../run/index.ts";
import { type PreviewLimits, Previews } from "./previews.ts";

const fixture = sqliteFixture();

interface World {
  readonly store: Store;
  readonly catalog: StreamCatalog;
  readonly previews: Previews;
  /** A second coordinator, after the first. */
  lead(): Previews;
  move(queryId: string, ...states: readonly QueryState[]): Promise<void>;
  rows(): Promise<readonly QueryRow[]>;
}

type Read = (signal: AbortSignal) => AsyncGenerator<PreviewRows>;

async function open(
  t: TestContext,
  read: Read,
  limits: Partial<PreviewLimits> = { sweepMs: 10 },
): Promise<World> {
  const { store } = await openFresh(fixture, t);
  await store.transaction(async ({ db }) => {
    const row = { ...lease, expires_at_ms: 0, api_url: "" };
    await db.insertInto("coordinator_leases").values(row).execute();
  });
  await addWorkers(store, "w1");
  const planner = new ThreadPlanner({ clock: realClock });
  t.after(() => planner.close());
  const catalog = new StreamCatalog({
    ...{ store, planner, clock: realClock, lease: () => lease },
    readSnapshot: createReadSnapshot(createReadLakeTables(async () => new Map())),
    dialWorker: async () => assert.fail("nobody is dialled"),
  });
  const statements = [
    "CREATE LOGICAL SOURCE bids(ts UINT64 NOT NULL, auction INT32)",
    `CREATE PHYSICAL SOURCE FOR bids TYPE File SET('a.csv' AS "SOURCE".FILE_PATH)`,
  ];
  await catalog.execute({ statements }, never);
  const lead = (): Previews => {
    const made = new Previews({
      ...{ store, catalog, clock: realClock, logger: silentLogger, lease: () => lease, limits },
      addressOf: (worker) => `http://${worker}`,
      read: (address, run, signal) => {
        assert.deepEqual([address, run.epoch], ["http://w1", 1]);
        return read(signal);
      },
    });
    t.after(() => made.stop());
    return made;
  };
  const rows = () => store.read(({ db }) => db.selectFrom("queries").selectAll().execute());
  return {
    ...{ store, catalog, previews: lead(), lead, rows },
    async move(queryId, ...states) {
      for (const state of states) await moveTo(store, queryId, state);
    },
  };
}

async function moveTo(store: Store, queryId: string, state: QueryState): Promise<void> {
  await store.catalogTransaction(async (tx) => {
    const row = await tx.db
      .selectFrom("queries")
      .selectAll()
      .where("query_id", "=", queryId)
      .executeTakeFirstOrThrow();
    const next = await moveQuery(tx, row, state, { state_reason: `it is ${state}` });
    if (state !== "STOPPED") return;
    const fragments = await tx.db.selectFrom("query_fragments").selectAll().execute();
    for (const fragment of fragments) await moveFragment(tx, fragment, "STOPPED");
    await removeQuery(tx, next);
  });
}

const select = { text: "SELECT ts, auction FROM bids", rowsMax: 3 };

async function* lines(...rows: readonly string[]): AsyncGenerator<PreviewRows> {
  for (const line of rows) yield { lines: [line], leftOut: 2 };
}

async function* silence(signal: AbortSignal): AsyncGenerator<PreviewRows> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
  yield* [];
}

async function all(events: AsyncGenerator<PreviewEvent>): Promise<readonly PreviewEvent[]> {
  const seen: PreviewEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

async function untilDropped({ rows }: World): Promise<void> {
  await eventually("the query is dropped", async () => {
    const [row] = await rows();
    return row?.desired_state === "STOPPED" || undefined;
  });
}

const kinds = (events: readonly PreviewEvent[]): readonly string[] =>
  events.map((event) => (event.kind === "end" ? `end: ${event.reason}` : event.kind));

test("[SD70, SC60, SC91] a preview shows its rows and drops its query, which is a marked one", async (t) => {
  const world = await open(t, () => lines("[1,2]", "[3,4]"));
  const { queryId, columns, events } = await world.previews.open(select, never);
  assert.deepEqual(columns, [
    { name: "ts", type: "UINT64" },
    { name: "auction", type: "INT32" },
  ]);
  const [row] = await world.rows();
  assert.deepEqual([row?.query_id, row?.is_preview, row?.guarantee], [queryId, 1, "at most once"]);
  const shownAs = await world.store.read((tx) => readQueryDetail(tx, queryId));
  assert.equal(shownAs.is_preview, true);
  const slots = await world.store.read(({ db }) =>
    db.selectFrom("stream_workers").selectAll().execute(),
  );
  assert.equal(slots[0]?.slots_used, 1);
  const shown = all(events);
  await world.move(queryId, "DEPLOYING", "RUNNING");
  const seen = await shown;
  assert.deepEqual(kinds(seen), ["rows", "rows", "end: ended"]);
  const end = seen.at(-1);
  assert.ok(end?.kind === "end");
  assert.deepEqual([end.rowCount, end.leftOut, end.workerId], [2, 2, "w1"]);
  await untilDropped(world);
  assert.equal(world.previews.count, 0);
});

test("[SD70] it ends with its limit, and with its time", async (t) => {
  const world = await open(t, () => lines("[1]", "[2]", "[3]", "[4]"), { shownMsMax: 300_000 });
  const { queryId, events } = await world.previews.open(select, never);
  const shown = all(events);
  await world.move(queryId, "DEPLOYING", "RUNNING");
  assert.deepEqual(kinds(await shown), ["rows", "rows", "rows", "end: limit"]);
  const late = await open(t, silence, { shownMsMax: 100 });
  const other = await late.previews.open(select, never);
  await late.move(other.queryId, "DEPLOYING", "RUNNING");
  assert.deepEqual(kinds(await all(other.events)), ["end: time"]);
  await untilDropped(late);
});

test("[SD70] a preview that somebody drops says so", async (t) => {
  const world = await open(t, silence);
  const { queryId, events } = await world.previews.open(select, never);
  const shown = all(events);
  await world.move(queryId, "DEPLOYING", "RUNNING");
  await world.catalog.execute({ statements: [`DROP QUERY ${queryId}`] }, never);
  assert.deepEqual(kinds(await shown), ["end: dropped"]);
});

for (const [name, states, why] of [
  ["fails", ["DEPLOYING", "TERMINATING"], /it is TERMINATING/],
  ["is deployed again", ["DEPLOYING", "RUNNING", "DEPLOYING"], /it is DEPLOYING/],
] as const) {
  test(`[SD71] a preview whose query ${name} ends with the reason`, async (t) => {
    const world = await open(t, silence);
    const { queryId, events } = await world.previews.open(select, never);
    const shown = all(events);
    const refused = assert.rejects(shown, why);
    await world.move(queryId, ...states);
    await refused;
    await untilDropped(world);
  });
}

test("[SD71] a reader that breaks off waits for the reason", async (t) => {
  const broken = Promise.withResolvers<void>();
  const world = await open(t, async function* () {
    yield { lines: ["[1]"], leftOut: 0 };
    await broken.promise;
    throw new OperatingError("worker_unreachable", "backoff", "it broke off");
  });
  const { queryId, events } = await world.previews.open(select, never);
  const shown = assert.rejects(all(events), /it is DEPLOYING/);
  await world.move(queryId, "DEPLOYING", "RUNNING");
  broken.resolve();
  await world.move(queryId, "DEPLOYING");
  await shown;
});

test("[SD72] a client that leaves takes its query with it, whenever that is", async (t) => {
  const world = await open(t, silence);
  const before = new AbortController();
  await world.previews.open(select, before.signal);
  before.abort();
  await untilDropped(world);
  const [{ query_id = "" } = {}] = await world.rows();
  await world.move(query_id, "STOPPING", "STOPPED");
  const during = new AbortController();
  const { queryId, events } = await world.previews.open(select, during.signal);
  const shown = all(events);
  await world.move(queryId, "DEPLOYING", "RUNNING");
  during.abort();
  assert.deepEqual(await shown, []);
  await untilDropped(world);
});

test("[SD72] whoever leads next drops what nobody looks at, and nothing else", async (t) => {
  const world = await open(t, silence);
  const { queryId } = await world.previews.open(select, never);
  const statements = [
    "CREATE SINK void TYPE Void",
    "CREATE QUERY kept AS SELECT ts FROM bids INTO void",
  ];
  await world.catalog.execute({ statements }, never);
  const next = world.lead();
  const own = await next.open(select, never);
  next.start();
  await eventually("the first is dropped", async () => {
    const row = (await world.rows()).find(({ query_id }) => query_id === queryId);
    return row?.desired_state === "STOPPED" || undefined;
  });
  const left = (await world.rows()).filter(({ desired_state }) => desired_state === "RUNNING");
  assert.deepEqual(
    new Set(left.map(({ name, query_id }) => name ?? query_id)),
    new Set([own.queryId, "kept"]),
  );
});

test("[SD70] one preview too many is refused", async (t) => {
  const world = await open(t, silence, { previewsMax: 1 });
  await world.previews.open(select, never);
  await assert.rejects(world.previews.open(select, never), { code: "TooManyRequests" });
  assert.equal((await world.rows()).length, 1);
});

test("[SC60] what a preview reads is not dropped before it, and bundles have none", async (t) => {
  const world = await open(t, silence);
  const { queryId } = await world.previews.open(select, never);
  const drop = world.catalog.execute({ statements: ["DROP PHYSICAL SOURCE 2"] }, never);
  await assert.rejects(drop, {
    code: "ReferencedQueryExists",
    message: `the physical source 2 is used by the preview ${queryId}, which is PENDING`,
    hint: `Drop what uses it first: DROP QUERY ${queryId}.`,
  });
  const bundle = ["CREATE SINK void TYPE Void", "PREVIEW SELECT ts FROM bids"];
  await assert.rejects(world.catalog.execute({ statements: bundle }, never), /stands alone/);
});
