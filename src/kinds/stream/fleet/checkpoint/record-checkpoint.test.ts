/** Who may complete a checkpoint, and what is in its transaction. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LakeStore, type ObjectStore } from "../../../../data/lake/index.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import { createSharedSqlite, LeaseKeeper, openSimStore } from "../../../../ground/store/index.ts";
import { watchedStreamTables } from "../../catalog/index.ts";
import type { Plan } from "../../language/core/index.ts";
import { queryRow } from "../testing/views.ts";
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
  };
  const rows = () =>
    store.read(({ db }) =>
      db.selectFrom("query_checkpoints").select(["checkpoint", "epoch", "size_bytes"]).execute(),
    );
  const failures = async () =>
    await store.read(({ db }) =>
      db.selectFrom("queries").select("failures_in_a_row").executeTakeFirst(),
    );
  return { given, rows, failures, deleted };
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
