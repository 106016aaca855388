/** Subscriptions: a snapshot, then every change once, in order, as the filter sees it. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { parseRevision, type Revision } from "../../kernel/ids.ts";
import { openFresh, openOn, type StoreFixture } from "../testing/store-fixture.ts";
import { workerRow } from "../testing/worker-row.ts";
import { type WatchOptions, watch } from "../watch/watch.ts";
import type { WorkersTable } from "./schema.ts";
import type { CatalogTx, Store } from "./store.ts";
import type { WatchEvent } from "./watch-event.ts";
import {
  type ComparisonOp,
  matchesWatch,
  type WatchCondition,
  type WatchRow,
} from "./watch-select.ts";

export function testWatch(fixture: StoreFixture): void {
  describe("watch", () => {
    test("[ST30] a SNAPSHOT, then CREATE, UPDATE and DROP, also of other stores' commits", async (t) => {
      const { store, place } = await openFresh(fixture, t);
      const other = await openOn(place, t);
      await insert(store, "w1");
      const subscriber = subscribe(store, t, { table: "workers", columns: ["capacity"] });
      assert.deepEqual(await subscriber.next(), {
        type: "SNAPSHOT",
        revision: 1,
        data: [{ worker_id: "w1", capacity: 4 }],
      });
      await insert(other, "w2");
      await store.catalogTransaction((tx) => tx.update("workers", "w2", { capacity: 9 }));
      await other.catalogTransaction((tx) => tx.remove("workers", "w1"));
      const created = { worker_id: "w2", capacity: 4 };
      const updated = { worker_id: "w2", capacity: 9 };
      assert.deepEqual(await subscriber.next(), event("CREATE", "w2", 2, created));
      assert.deepEqual(await subscriber.next(), event("UPDATE", "w2", 3, updated));
      assert.deepEqual(await subscriber.next(), {
        type: "EVENT",
        op: "DROP",
        key: "w1",
        revision: 4,
      });
    });

    test("[ST31] rows that enter or leave the filter are CREATE and DROP", async (t) => {
      const { store } = await openFresh(fixture, t);
      await insert(store, "w1");
      await insert(store, "w2", { state: "UNREACHABLE" });
      const where = [compare("state", "=", "ACTIVE")];
      const subscriber = subscribe(store, t, {
        table: "workers",
        columns: ["worker_id"],
        where,
      });
      const update = (id: string, patch: Partial<WorkersTable>): Promise<unknown> =>
        store.catalogTransaction((tx) => tx.update("workers", id, patch));
      assert.deepEqual(dataOf(await subscriber.next()), [{ worker_id: "w1" }]);
      await update("w2", { state_reason: "unseen" });
      await update("w2", { state: "ACTIVE" });
      await update("w1", { state: "UNREACHABLE" });
      await store.catalogTransaction((tx) => tx.remove("workers", "w1"));
      await store.catalogTransaction((tx) => tx.remove("workers", "w2"));
      assert.deepEqual(await subscriber.next(), event("CREATE", "w2", 4, { worker_id: "w2" }));
      assert.deepEqual(await subscriber.next(), {
        type: "EVENT",
        op: "DROP",
        key: "w1",
        revision: 5,
      });
      assert.deepEqual(await subscriber.next(), {
        type: "EVENT",
        op: "DROP",
        key: "w2",
        revision: 7,
      });
    });

    test("[ST32] resuming from a revision gives what came after it, and no snapshot", async (t) => {
      const { store } = await openFresh(fixture, t);
      for (const id of ["w1", "w2", "w3"]) await insert(store, id);
      const subscriber = subscribe(store, t, { table: "workers", fromRevision: revision(1) });
      assert.deepEqual(await subscriber.next(), event("CREATE", "w2", 2, workerRow("w2")));
      assert.deepEqual(await subscriber.next(), event("CREATE", "w3", 3, workerRow("w3")));
    });

    test("[ST33] resuming from before what is kept, or from the future, gives a new SNAPSHOT", async (t) => {
      const { store } = await openFresh(fixture, t, { changesKept: 5 });
      for (let index = 0; index < 20; index += 1) await insert(store, `w${index}`);
      for (const fromRevision of [3, 21, 1_000].map(revision)) {
        const first = await subscribe(store, t, { table: "workers", fromRevision }).next();
        assert.deepEqual([first.type, first.revision], ["SNAPSHOT", 20]);
        assert.equal(dataOf(first).length, 20);
      }
    });

    test("[ST33] a subscriber that falls behind what is kept gets a new SNAPSHOT", async (t) => {
      const { store } = await openFresh(fixture, t, { changesKept: 5 });
      const subscriber = subscribe(store, t, { table: "workers" });
      await subscriber.next();
      for (let index = 0; index < 20; index += 1) await insert(store, `w${index}`);
      const second = await subscriber.next();
      assert.deepEqual([second.type, second.revision], ["SNAPSHOT", 20]);
    });

    test("[ST35] a slow subscriber reads the log page by page and misses nothing", async (t) => {
      const { store } = await openFresh(fixture, t);
      const subscriber = subscribe(store, t, { table: "workers", columns: [] });
      await subscriber.next();
      await store.catalogTransaction(async (tx) => {
        for (let index = 0; index < 450; index += 1)
          await tx.insert("workers", workerRow(`w${index}`));
      });
      for (let index = 0; index < 450; index += 1) {
        const { revision: found } = await subscriber.next();
        assert.equal(found, index + 1);
      }
    });

    test("[ST37] an update of columns that were not selected is no event", async (t) => {
      const { store } = await openFresh(fixture, t);
      await insert(store, "w1");
      const subscriber = subscribe(store, t, { table: "workers", columns: ["state"] });
      await subscriber.next();
      await store.catalogTransaction((tx) => tx.update("workers", "w1", { capacity: 5 }));
      await store.catalogTransaction((tx) => tx.remove("workers", "w1"));
      assert.equal((await subscriber.next()).revision, 3);
    });

    test("[ST38] it ends when aborted, and fails when the store closes", async (t) => {
      const { store } = await openFresh(fixture, t);
      const stop = new AbortController();
      const aborted = watch(store, { table: "workers", signal: stop.signal });
      await aborted.next();
      const waiting = aborted.next();
      stop.abort();
      assert.deepEqual(await waiting, { done: true, value: undefined });
      const orphaned = watch(store, { table: "workers", signal: new AbortController().signal });
      await orphaned.next();
      const failing = assert.rejects(orphaned.next(), { code: "shutting_down" });
      await store.close();
      await failing;
    });

    test("[ST34] snapshot and events, replayed, are the table as the filter sees it", async (t) => {
      const { store } = await openFresh(fixture, t);
      await fc.assert(
        fc.asyncProperty(fc.array(operations, { maxLength: 12 }), filters, (batches, where) =>
          checkReplay(store, batches, where),
        ),
        { numRuns: fixture.isShared ? 15 : 150 },
      );
    });
  });
}

/** One transaction's operations. With `abort`, it is rolled back. */
interface Batch {
  readonly steps: readonly Step[];
  readonly abort: boolean;
}

interface Step {
  readonly kind: "insert" | "update" | "remove";
  readonly id: string;
  readonly state: "ACTIVE" | "UNREACHABLE";
  readonly capacity: number;
}

const states = ["ACTIVE", "UNREACHABLE"] as const;
const capacities = [0, 1, 2, 3];

const operations: fc.Arbitrary<Batch> = fc.record({
  abort: fc.boolean(),
  steps: fc.array(
    fc.record({
      kind: fc.constantFrom("insert" as const, "update" as const, "remove" as const),
      id: fc.constantFrom("a", "b", "c", "d"),
      state: fc.constantFrom(...states),
      capacity: fc.constantFrom(...capacities),
    }),
    { maxLength: 5 },
  ),
});

type Where = readonly WatchCondition[];

const filters = fc.constantFrom<Where>(
  [],
  [compare("state", "=", "ACTIVE")],
  [compare("capacity", ">", 1), compare("state", "!=", "UNREACHABLE")],
  [{ kind: "in", column: "capacity", values: [0, 2] }],
  [compare("worker_id", "!=", "a"), compare("capacity", "<=", 2)],
);

function compare(column: string, op: ComparisonOp, value: string | number): WatchCondition {
  return { kind: "compare", column, op, value };
}

async function checkReplay(store: Store, batches: readonly Batch[], where: Where): Promise<void> {
  const columns = ["worker_id", "state", "capacity"];
  const select = { table: "workers", key: "worker_id", columns, where } as const;
  const stop = new AbortController();
  const subscriber = watch(store, { ...select, signal: stop.signal });
  const replica = new Map<string, WatchRow>();
  const pull = async (): Promise<WatchEvent> => {
    const next = await subscriber.next();
    assert.ok(next.done !== true);
    apply(replica, next.value);
    return next.value;
  };
  await pull();
  for (const batch of batches) await perform(store, batch);
  // A last row that the filter shows, so that there is an event to wait for.
  const [state, capacity] = states
    .flatMap((s) => capacities.map((c) => [s, c] as const))
    .find(([s, c]) => matchesWatch(select, { ...workerRow("end", { state: s, capacity: c }) })) as [
    "ACTIVE" | "UNREACHABLE",
    number,
  ];
  await store.catalogTransaction(async (tx) => {
    await tx.remove("workers", "end");
    await tx.insert("workers", workerRow("end", { state, capacity }));
  });
  const last = await currentRevision(store);
  while ((await pull()).revision < last);
  stop.abort();
  const rows = await store.read(({ db }) =>
    db.selectFrom("workers").select(["worker_id", "state", "capacity"]).execute(),
  );
  const expected = rows.filter((row) => matchesWatch(select, row)).map((row) => ({ ...row }));
  const byId = (left: WatchRow, right: WatchRow): number =>
    String(left.worker_id) < String(right.worker_id) ? -1 : 1;
  assert.deepEqual([...replica.values()].sort(byId), expected.sort(byId));
}

async function perform(store: Store, { steps, abort }: Batch): Promise<void> {
  const change = store.catalogTransaction(async (tx) => {
    for (const step of steps) await performStep(tx, step);
    if (abort) throw new Error("aborted");
  });
  await change.catch((error: unknown) => assert.match(String(error), /aborted/));
}

async function performStep(tx: CatalogTx, step: Step): Promise<void> {
  const { id, state, capacity } = step;
  const exists = await tx.db
    .selectFrom("workers")
    .select("worker_id")
    .where("worker_id", "=", id)
    .executeTakeFirst();
  if (step.kind === "remove") await tx.remove("workers", id);
  else if (step.kind === "update") await tx.update("workers", id, { state, capacity });
  else if (exists === undefined) await tx.insert("workers", workerRow(id, { state, capacity }));
}

/** Applies an event as a subscriber does, and asserts that it is possible. */
function apply(replica: Map<string, WatchRow>, event: WatchEvent): void {
  if (event.type === "SNAPSHOT") {
    replica.clear();
    for (const row of event.data) replica.set(String(row.worker_id), row);
    return;
  }
  assert.equal(replica.has(event.key), event.op !== "CREATE", `${event.op} ${event.key}`);
  if (event.op === "DROP") replica.delete(event.key);
  else if (event.data !== undefined) replica.set(event.key, event.data);
}

interface Subscriber {
  next(): Promise<WatchEvent>;
}

function subscribe(
  store: Store,
  t: TestContext,
  options: Omit<WatchOptions, "signal">,
): Subscriber {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const events = watch(store, { ...options, signal: stop.signal });
  return {
    next: async () => {
      const next = await events.next();
      assert.ok(next.done !== true, "the subscription goes on");
      return normal(next.value);
    },
  };
}

/** Rows as plain objects: SQLite returns them without a prototype. */
function normal(event: WatchEvent): WatchEvent {
  return JSON.parse(JSON.stringify(event)) as WatchEvent;
}

function event(op: string, key: string, at: number, data: object): unknown {
  return { type: "EVENT", op, key, revision: at, data };
}

function dataOf(event: WatchEvent): readonly unknown[] {
  return event.type === "SNAPSHOT" ? event.data : [];
}

function insert(store: Store, id: string, overrides: Partial<WorkersTable> = {}): Promise<void> {
  return store.catalogTransaction((tx) => tx.insert("workers", workerRow(id, overrides)));
}

async function currentRevision(store: Store): Promise<number> {
  const row = await store.read(({ db }) =>
    db.selectFrom("catalog_revision").select("revision").executeTakeFirstOrThrow(),
  );
  return row.revision;
}

function revision(value: number): Revision {
  const parsed = parseRevision(value);
  assert.ok(parsed !== undefined);
  return parsed;
}
