/** Who may complete a checkpoint, and what is in its transaction. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  LakeStore,
  type ObjectStore,
  type SnapshotId,
  type TableId,
} from "../../../../data/lake/index.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import {
  type CatalogTx,
  createSharedSqlite,
  LeaseKeeper,
  openSimStore,
} from "../../../../ground/store/index.ts";
import { watchedStreamTables } from "../../catalog/index.ts";
import type { Plan } from "../../language/core/index.ts";
import { queryRow } from "../testing/views.ts";
import { objectsOf, unpinQuery } from "./kept-checkpoints.ts";
import { type RecordCheckpoint, recordCheckpoint } from "./record-checkpoint.ts";

async function fixture() {
  const clock = new VirtualClock();
  const prng = createPrng("record");
  const database = createSharedSqlite(() => clock.wallMs());
  const store = openSimStore({ database, watched: watchedStreamTables });
  const about = { name: "coordinator", holder: "one", apiUrl: "http://here" };
  const lease = new LeaseKeeper({ store, clock, prng, logger: silentLogger, ...about });
  lease.start();
  await clock.advance(100);
  const row = queryRow({ state: "RUNNING", previous_state: "DEPLOYING", epoch: 2 });
  await store.catalogTransaction((tx) => tx.insert("queries", { ...row, failures_in_a_row: 2 }));
  const settings = { parallelism: 1 };
  const deleted: string[] = [];
  const objects = {
    delete: async (paths: readonly string[]) => void deleted.push(...paths),
  } as unknown as ObjectStore;
  const given: RecordCheckpoint = {
    lake: {
      store,
      clock,
      prng,
      catalog: new LakeStore({ store, prng }),
      objects,
    },
    lease: () => lease.grant(),
    write: (body) => store.catalogTransaction(body, lease.grant()),
    queryId: "q1",
    epoch: 2,
    checkpoint: 7,
    plan: { version: 1, nodes: [], settings } as unknown as Plan,
    fragments: [
      {
        state: {
          fragment: "f0",
          nodes: [],
          positions: { 0: "10" },
          objects: [{ path: "a", sizeBytes: 12, crc32: 1 }],
        },
        prepared: new Map(),
      },
    ],
    durationMs: 3.4,
    savepoint: undefined,
  };
  const rows = () =>
    store.read(({ db }) =>
      db.selectFrom("query_checkpoints").select(["checkpoint", "epoch", "size_bytes"]).execute(),
    );
  const failures = async () =>
    await store.read(({ db }) =>
      db.selectFrom("queries").select("failures_in_a_row").executeTakeFirst(),
    );
  const taken = async () => {
    const query = await store.read(({ db }) =>
      db.selectFrom("queries").select("savepoints_taken").executeTakeFirst(),
    );
    return query?.savepoints_taken;
  };
  const pins = async () => {
    const pinned = await store.read(({ db }) =>
      db.selectFrom("lake_pins").selectAll().orderBy("cursor_name").execute(),
    );
    return pinned.map(({ cursor_name, snapshot_id }) => `${cursor_name} ${snapshot_id}`);
  };
  return { given, rows, failures, deleted, taken, pins };
}

test("[SD27] the newest checkpoint stays, and ends the row of failures", async () => {
  const { given, rows, failures } = await fixture();
  await recordCheckpoint(given);
  await recordCheckpoint({ ...given, checkpoint: 8 });
  assert.deepEqual(
    (await rows()).map((row) => ({ ...row })),
    [{ checkpoint: 8, epoch: 2, size_bytes: 12 }],
  );
  assert.equal((await failures())?.failures_in_a_row, 0);
});

test("[SD34] files of a checkpoint that its leader could not record stay for the next leader", async () => {
  const { given, deleted } = await fixture();
  const [first] = given.fragments;
  assert.ok(first !== undefined);
  const files = [{ path: "main/t/1.parquet" }];
  const about = { tableId: 1, table: "t", readSnapshot: 1, columns: [], putAtMs: 0 };
  const prepared = new Map([[3, JSON.stringify({ ...about, files })]]);
  const lost = { ...given, lease: () => undefined, fragments: [{ ...first, prepared }] };
  await assert.rejects(recordCheckpoint(lost), { code: "conflict" });
  assert.deepEqual(deleted, []);
});

test("[SD28] objects that only older checkpoints refer to are deleted", async () => {
  const { given, deleted } = await fixture();
  const withObjects = (checkpoint: number, ...paths: readonly string[]): RecordCheckpoint => {
    const objects = paths.map((path) => ({ path, sizeBytes: 1, crc32: 1 }));
    const [first] = given.fragments;
    assert.ok(first !== undefined);
    return { ...given, checkpoint, fragments: [{ ...first, state: { ...first.state, objects } }] };
  };
  await recordCheckpoint(withObjects(1, "a", "b"));
  await recordCheckpoint(withObjects(2, "b", "c"));
  assert.deepEqual(deleted, ["a"]);
  await recordCheckpoint(withObjects(3, "d"));
  assert.deepEqual(deleted, ["a", "b", "c"]);
});

test("[SD41] a savepoint stays, with its objects, until it is dropped", async () => {
  const { given, rows, deleted, taken } = await fixture();
  const of = (checkpoint: number, path: string, savepoint?: number): RecordCheckpoint => {
    const [first] = given.fragments;
    assert.ok(first !== undefined);
    const state = { ...first.state, objects: [{ path, sizeBytes: 1, crc32: 1 }] };
    return { ...given, checkpoint, savepoint, fragments: [{ ...first, state }] };
  };
  await recordCheckpoint(of(1, "a", 3));
  assert.equal(await taken(), 3);
  await recordCheckpoint(of(2, "b"));
  await recordCheckpoint(of(3, "c"));
  assert.deepEqual(
    (await rows()).map(({ checkpoint }) => checkpoint),
    [1, 3],
  );
  assert.deepEqual(deleted, ["b"]);
  await given.lake.store.catalogTransaction(async ({ db }) => {
    await db.updateTable("query_checkpoints").set({ savepoint: null }).execute();
  });
  await recordCheckpoint(of(4, "d"));
  assert.deepEqual(deleted, ["b", "a", "c"]);
});

test("[SD43] as many complete checkpoints are kept as the query says, besides savepoints", async () => {
  const { given, rows } = await fixture();
  const plan = { ...given.plan, settings: { ...given.plan.settings, checkpointsKept: 2 } };
  for (const checkpoint of [1, 2, 3, 4, 5]) {
    await recordCheckpoint({
      ...given,
      plan,
      checkpoint,
      savepoint: checkpoint === 3 ? 1 : undefined,
    });
  }
  assert.deepEqual(
    (await rows()).map(({ checkpoint }) => checkpoint),
    [3, 4, 5],
  );
});

test("[SD42] what another query has in common with it is deleted when neither refers to it", async () => {
  const { given, deleted } = await fixture();
  const { store } = given.lake;
  const of = (queryId: string, checkpoint: number, ...paths: readonly string[]) => {
    const objects = paths.map((path) => ({ path, sizeBytes: 1, crc32: 1 }));
    const [first] = given.fragments;
    assert.ok(first !== undefined);
    const fragments = [{ ...first, state: { ...first.state, objects } }];
    return { ...given, queryId, checkpoint, fragments };
  };
  await store.catalogTransaction(async (tx) => {
    const row = queryRow({ query_id: "q2", name: "q2", name_key: "Q2", epoch: 2 });
    await tx.insert("queries", { ...row, state: "RUNNING", previous_state: "DEPLOYING" });
    const plan = { statement: "", plan_version: 1, plan: "{}" };
    const plans = [
      { ...plan, query_id: "q1", state_family: null },
      { ...plan, query_id: "q2", state_family: "q1" },
    ];
    await tx.db.insertInto("query_plans").values(plans).execute();
  });
  await recordCheckpoint(of("q1", 7, "a", "b"));
  await recordCheckpoint(of("q2", 7, "a", "b")); // As the catalog begins it.
  await recordCheckpoint(of("q1", 8, "b", "c"));
  assert.deepEqual(deleted, [], "the other one refers to both");
  await recordCheckpoint(of("q2", 8, "d"));
  assert.deepEqual(deleted, ["a"]);
  const gone = await store.read((tx) => objectsOf(tx, "q1"));
  assert.deepEqual(gone, ["b", "c"]);
});

test("[SD41] snapshots of a savepoint stay pinned as long as it is kept", async () => {
  const { given, pins } = await fixture();
  const { store } = given.lake;
  const catalog = {
    pinIn: async ({ db }: CatalogTx, cursor_name: string, table: TableId, snapshot: SnapshotId) => {
      const pinned = { table_id: table, snapshot_id: snapshot, pinned_at_ms: 1 };
      await db
        .insertInto("lake_pins")
        .values({ cursor_name, ...pinned })
        .onConflict((conflict) => conflict.column("cursor_name").doUpdateSet(pinned))
        .execute();
    },
  } as unknown as LakeStore;
  const nodes = [{ id: 0, op: { kind: "source", type: "Lake" } }];
  const plan = { ...given.plan, nodes } as unknown as Plan;
  const of = (checkpoint: number, savepoint?: number): RecordCheckpoint => {
    const [first] = given.fragments;
    assert.ok(first !== undefined);
    const at = { table: 5, from: 10 + checkpoint, to: null, rowId: null };
    const state = { ...first.state, positions: { 0: JSON.stringify(at) } };
    const fragments = [{ ...first, state }];
    return { ...given, lake: { ...given.lake, catalog }, plan, checkpoint, savepoint, fragments };
  };
  await recordCheckpoint(of(1, 1));
  await recordCheckpoint(of(2));
  assert.deepEqual(await pins(), ["stream-q1-0 12", "stream-q1-at-1-0 11"]);
  // A query that rests: its newest checkpoint became a savepoint, and it goes on.
  await store.catalogTransaction(async ({ db }) => {
    await db.updateTable("query_checkpoints").set({ savepoint: 2 }).execute();
  });
  await recordCheckpoint(of(3));
  assert.deepEqual(await pins(), ["stream-q1-0 13", "stream-q1-at-1-0 11", "stream-q1-at-2-0 12"]);
  await store.catalogTransaction(async ({ db }) => {
    const freed = db.updateTable("query_checkpoints").set({ savepoint: null });
    await freed.where("checkpoint", "=", 1).execute();
  });
  await recordCheckpoint(of(4));
  assert.deepEqual(await pins(), ["stream-q1-0 14", "stream-q1-at-2-0 12"]);
  await store.catalogTransaction((tx) => unpinQuery(tx, "q1"));
  assert.deepEqual(await pins(), []);
});

test("[SD27] a checkpoint that is recorded already is not recorded again", async () => {
  const { given, rows } = await fixture();
  await recordCheckpoint({ ...given, checkpoint: 8 });
  await recordCheckpoint(given);
  assert.deepEqual(
    (await rows()).map(({ checkpoint }) => checkpoint),
    [8],
  );
});

test("[SD27] an older epoch completes nothing", async () => {
  const { given, rows, failures } = await fixture();
  await assert.rejects(recordCheckpoint({ ...given, epoch: 1 }), { code: "conflict" });
  assert.deepEqual(await rows(), []);
  assert.equal((await failures())?.failures_in_a_row, 2);
});

test("[SD27] who lost the lease completes nothing", async () => {
  const { given, rows } = await fixture();
  await assert.rejects(recordCheckpoint({ ...given, lease: () => undefined }), {
    code: "conflict",
  });
  assert.deepEqual(await rows(), []);
});
