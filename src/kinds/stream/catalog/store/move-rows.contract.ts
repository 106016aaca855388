/** Changes of states, on both stores. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CatalogTx, Store } from "../../../../ground/store/index.ts";
import { openFresh, type StoreFixture } from "../../../../ground/store/testing/store-fixture.ts";
import { workerRow } from "../../../../ground/store/testing/worker-row.ts";
import {
  fragmentStates,
  fragmentTransitions,
  noState,
  queryStates,
  queryTransitions,
} from "../core/states.ts";
import type { FragmentRow, QueryRow } from "../core/tables.ts";
import {
  insertFragment,
  moveFragment,
  moveQuery,
  placeFragment,
  removeQuery,
} from "./move-rows.ts";

export function testMovedRows(fixture: StoreFixture): void {
  describe("states of queries and fragments", () => {
    test("[SC1] the store has the transitions of the program", async (t) => {
      const { store } = await openFresh(fixture, t);
      const [queries, fragments] = await store.read(async ({ db }) => [
        await db.selectFrom("query_transitions").selectAll().execute(),
        await db.selectFrom("query_fragment_transitions").selectAll().execute(),
      ]);
      assert.deepEqual(sorted(queries), sorted(pairsOf(queryTransitions)));
      assert.deepEqual(sorted(fragments), sorted(pairsOf(fragmentTransitions)));
    });

    test("[SC1] a query goes by legal transitions only", async (t) => {
      const { store } = await openFresh(fixture, t);
      for (const from of queryStates) {
        for (const to of queryStates) {
          const row = await putQuery(store, from);
          const move = store.catalogTransaction((tx) => moveQuery(tx, row, to, {}));
          if (from === to || queryTransitions[from].includes(to)) {
            assert.equal((await move).state, to);
          } else await assert.rejects(move, { code: "reference_violated" });
          await clear(store);
        }
      }
    });

    test("[SC1] a fragment goes by legal transitions only", async (t) => {
      const { store } = await openFresh(fixture, t);
      await addWorker(store, "w1");
      for (const from of fragmentStates) {
        for (const to of fragmentStates) {
          const row = await putFragment(store, from);
          const move = store.catalogTransaction((tx) => moveFragment(tx, row, to));
          if (from === to || fragmentTransitions[from].includes(to)) {
            assert.equal((await move).state, to);
          } else await assert.rejects(move, { code: "reference_violated" });
          await clear(store);
        }
      }
    });

    test("[SC2] a slot is taken once and given back once, whatever the way out", async (t) => {
      const { store } = await openFresh(fixture, t);
      await addWorker(store, "w1");
      await addWorker(store, "w2");
      const row = await putFragment(store, "PENDING");
      assert.deepEqual(await slotsUsed(store), { w1: 1 });
      const failed = await store.catalogTransaction((tx) => moveFragment(tx, row, "FAILED"));
      assert.deepEqual(await slotsUsed(store), { w1: 0 });
      await store.catalogTransaction((tx) => moveFragment(tx, failed, "FAILED"));
      assert.deepEqual(await slotsUsed(store), { w1: 0 });
      const place = { workerId: "w2", epoch: 2, reason: "again" };
      const again = await store.catalogTransaction((tx) => placeFragment(tx, failed, place));
      assert.deepEqual(await slotsUsed(store), { w1: 0, w2: 1 });
      const next = { workerId: "w1", epoch: 3, reason: "again" };
      const moved = await store.catalogTransaction((tx) => placeFragment(tx, again, next));
      assert.deepEqual(await slotsUsed(store), { w1: 1, w2: 0 });
      await store.catalogTransaction((tx) => moveFragment(tx, moved, "TERMINATED"));
      assert.deepEqual(await slotsUsed(store), { w1: 0, w2: 0 });
    });

    test("[SC2] a worker has as many slots as it has", async (t) => {
      const { store } = await openFresh(fixture, t);
      await addWorker(store, "w1");
      await store.transaction(({ db }) =>
        db
          .insertInto("stream_workers")
          .values({ worker_id: "w1", label: null, slots: 1, slots_used: 0 })
          .execute(),
      );
      await putFragment(store, "PENDING");
      const second = store.catalogTransaction((tx) => insertFragment(tx, fragmentOf("q1", "f1")));
      await assert.rejects(second, { code: "InsufficientCapacity" });
      assert.deepEqual(await slotsUsed(store), { w1: 1 });
    });

    test("[SC3] each change is in the history, and stays there", async (t) => {
      const { store } = await openFresh(fixture, t);
      const row = await putQuery(store, "PENDING");
      await store.catalogTransaction(async (tx) => {
        const stopping = await moveQuery(tx, row, "STOPPING", { state_reason: "dropped" });
        const stopped = await moveQuery(tx, stopping, "STOPPED", { state_reason: "confirmed" });
        await removeQuery(tx, stopped);
      });
      const history = await store.read(({ db }) =>
        db.selectFrom("query_history").selectAll().orderBy("number").execute(),
      );
      assert.deepEqual(
        history.map(({ number, from_state, to_state, reason }) => [
          number,
          from_state,
          to_state,
          reason,
        ]),
        [
          [1, "PENDING", "STOPPING", "dropped"],
          [2, "STOPPING", "STOPPED", "confirmed"],
          [3, "STOPPED", null, "confirmed"],
        ],
      );
    });
  });
}

function pairsOf(transitions: Readonly<Record<string, readonly string[]>>): object[] {
  return Object.entries(transitions).flatMap(([from_state, states]) =>
    states.map((to_state) => ({ from_state, to_state })),
  );
}

function sorted(pairs: readonly object[]): string[] {
  return pairs.map((pair) => JSON.stringify(pair, ["from_state", "to_state"])).sort();
}

/** A state before each other one, by a legal transition. */
function before(transitions: Readonly<Record<string, readonly string[]>>, state: string): string {
  const found = Object.keys(transitions).find((from) => transitions[from]?.includes(state));
  return found ?? noState;
}

async function putQuery(store: Store, state: QueryRow["state"]): Promise<QueryRow> {
  const row: QueryRow = {
    query_id: "q1",
    name: "one",
    name_key: "ONE",
    state,
    previous_state: before(queryTransitions, state),
    desired_state: "RUNNING",
    stop_mode: null,
    epoch: 1,
    state_reason: "",
    error_code: null,
    error_number: null,
    error_worker_id: null,
    guarantee: "exactly once",
    failures_in_a_row: 0,
    is_preview: 0,
    savepoints_asked: 0,
    savepoints_taken: 0,
    superseded_by: null,
    created_at_ms: 1,
    state_changed_at_ms: 1,
  };
  await store.catalogTransaction((tx) => tx.insert("queries", row));
  return row;
}

function fragmentOf(query_id: string, fragment: string) {
  return { query_id, fragment, worker_id: "w1", is_pinned: 0, epoch: 1 };
}

/** Inserted as PENDING, and brought to the state as the store allows it. */
async function putFragment(store: Store, state: FragmentRow["state"]): Promise<FragmentRow> {
  await putQuery(store, "DEPLOYING");
  return await store.catalogTransaction(async (tx) => {
    await insertFragment(tx, fragmentOf("q1", "f0"));
    const row = await readFragment(tx);
    return state === "PENDING" ? row : await moveFragment(tx, row, state);
  });
}

async function readFragment({ db }: CatalogTx): Promise<FragmentRow> {
  return await db.selectFrom("query_fragments").selectAll().executeTakeFirstOrThrow();
}

async function addWorker(store: Store, id: string): Promise<void> {
  await store.catalogTransaction((tx) => tx.insert("workers", workerRow(id)));
}

async function clear(store: Store): Promise<void> {
  await store.catalogTransaction(async (tx) => {
    const fragments = await tx.db.selectFrom("query_fragments").selectAll().execute();
    for (const { fragment_id } of fragments) await tx.remove("query_fragments", fragment_id);
    await tx.remove("queries", "q1");
  });
}

async function slotsUsed(store: Store): Promise<Record<string, number>> {
  const rows = await store.read(({ db }) =>
    db.selectFrom("stream_workers").selectAll().orderBy("worker_id").execute(),
  );
  return Object.fromEntries(rows.map(({ worker_id, slots_used }) => [worker_id, slots_used]));
}
