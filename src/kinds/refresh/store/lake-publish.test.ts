/** Claims and the scheduler with the real catalog of the lake: one commit, exact changes, pins. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  LakeStore,
  type SnapshotId,
  type TableChange,
  type TableId,
} from "../../../data/lake/index.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { createSharedSqlite, openSimStore } from "../../../ground/store/index.ts";
import type { ClaimedRefresh } from "../core/index.ts";
import { watchedRefreshTables } from "../core/tables.ts";
import { createDynamicTable, dropDynamicTable } from "./definitions.ts";
import { RefreshScheduler } from "./scheduler.ts";
import { lakeSourceChanges } from "./source-changes.ts";
import { StoreRefreshClaims } from "./store-refresh-claims.ts";
import { definition } from "./testing/tables-fixture.ts";

const clock = new VirtualClock();
const store = openSimStore({
  database: createSharedSqlite(() => clock.wallMs()),
  watched: watchedRefreshTables,
});
const lake = new LakeStore({ store, prng: createPrng("lake") });
const claims = new StoreRefreshClaims(store, { prng: createPrng("claims"), pins: lake });
let files = 0;
const paths = new Map<TableId, string>();

function rows(tableId: TableId): TableChange {
  files += 1;
  const statistics = { columnId: 1, sizeBytes: 8, valueCount: 1, nullCount: 0 };
  const column = { ...statistics, min: "1", max: "1", containsNan: undefined };
  const path = `${paths.get(tableId)}f${files}.parquet`;
  const file = { path, recordCount: 1, sizeBytes: 100, footerSize: 10 };
  const added = [{ ...file, columns: [column], rowIds: "fresh" as const }];
  return { kind: "changeRows", tableId, added, deletes: [], ended: [], isCompaction: false };
}

async function commit(change: TableChange) {
  const { snapshot } = await lake.current();
  files += 1;
  const about = { author: "test", message: "", token: `t${files}`, readSnapshot: snapshot };
  return await lake.commit({ ...about, changes: [change] });
}

async function createLakeTable(name: string): Promise<TableId> {
  const column = { name: "id", type: "BIGINT", nullable: true, defaultValue: undefined };
  const created = await commit({
    kind: "createTable",
    schema: "main",
    name,
    columns: [column],
    files: [],
    orReplace: false,
  });
  const [tableId] = created.tableIds;
  assert.ok(tableId !== undefined);
  const { table } = await lake.version(tableId, created.snapshot);
  paths.set(tableId, table.path);
  return tableId;
}

async function publish(claim: ClaimedRefresh) {
  const changes = [rows(claim.tableId)];
  const about = { author: claim.workerId, message: "refresh", token: `refresh-${claim.token}` };
  return await claims.publish(claim, {
    action: "INCREMENTAL",
    rowsInserted: 1,
    rowsDeleted: 0,
    commit: (tx) => lake.commitIn(tx, { ...about, changes, readSnapshot: claim.targetSnapshot }),
  });
}

async function claimOne(): Promise<ClaimedRefresh | undefined> {
  return (await claims.claim({ workerId: "w1", limit: 1 })).claimed[0];
}

async function pins(): Promise<string[]> {
  const found = await store.read(({ db }) =>
    db.selectFrom("lake_pins").selectAll().orderBy("cursor_name").execute(),
  );
  return found.map((pin) => `${pin.table_id}@${pin.snapshot_id}`);
}

test("[TC6, TS8, TS16] the lake's commit is the publication's; unchanged sources are seen; what is needed is pinned", async () => {
  const orders = await createLakeTable("orders");
  const top = await createLakeTable("top");
  const best = await createLakeTable("best");
  await commit(rows(orders));
  const lag = { targetLag: { kind: "time", ms: 10_000 } } as const;
  await store.catalogTransaction(async (tx) => {
    await createDynamicTable(tx, definition(top, [orders], { name: "top", ...lag }));
    await createDynamicTable(tx, definition(best, [top, orders], { name: "best", ...lag }));
  });
  await store.transaction(({ db }) =>
    db
      .insertInto("coordinator_leases")
      .values({ name: "c", holder: "h", epoch: 1, expires_at_ms: 0, api_url: "" })
      .execute(),
  );
  const scheduler = new RefreshScheduler({
    store,
    claims,
    pins: lake,
    lake: lakeSourceChanges(lake, { stat: async () => undefined }),
    lease: () => ({ name: "c", holder: "h", epoch: 1 as never }),
    clock,
    prng: createPrng("scheduler"),
    logger: silentLogger,
  });
  scheduler.start();
  await clock.advance(100);
  const target = (await lake.current()).snapshot;

  const first = await claimOne();
  assert.equal(first?.tableId, top);
  const published = await publish(first);
  assert.deepEqual(published, { kind: "published", snapshot: target + 1 });
  assert.deepEqual(await publish(first), { kind: "claim_lost" }, "nothing is committed twice");
  assert.equal((await lake.current()).snapshot, target + 1);
  const second = await claimOne();
  assert.deepEqual(
    second?.sources.map(({ tableId, to }) => [tableId, to]),
    [
      [orders, target],
      [top, target + 1],
    ],
  );
  assert.ok(second !== undefined);
  await publish(second);
  assert.deepEqual(await pins(), [
    `${orders}@${target}`,
    `${orders}@${target}`,
    `${top}@${target + 1}`,
  ]);

  await clock.advance(60_000);
  assert.equal(await claimOne(), undefined, "nothing changed: NO_DATA");
  const newest = (await lake.current()).snapshot;
  assert.equal(newest, target + 2);
  assert.deepEqual(await pins(), [
    `${orders}@${newest}`,
    `${orders}@${newest}`,
    `${top}@${newest}`,
  ]);

  const changed = (await commit(rows(orders))).snapshot;
  await clock.advance(10_000);
  const third = await claimOne();
  assert.deepEqual(third?.sources, [
    { tableId: orders, isDynamic: false, from: newest, to: changed },
  ]);
  const feed = await lake.changes(orders, newest, changed as SnapshotId);
  assert.ok(feed !== "gone" && feed.addedMax === 1);
  assert.ok(third !== undefined);
  await publish(third);
  assert.deepEqual(
    (await pins()).slice(1),
    [`${orders}@${newest}`, `${orders}@${changed}`, `${top}@${newest}`, `${top}@${changed + 1}`],
    "what best was made of, and what it is to be made of",
  );
  const fourth = await claimOne();
  assert.deepEqual(
    fourth?.sources.map(({ from, to }) => [from, to]),
    [
      [newest, changed],
      [newest, changed + 1],
    ],
  );
  assert.ok(fourth !== undefined);
  await publish(fourth);
  await store.catalogTransaction(async (tx) => {
    await dropDynamicTable(tx, best, lake);
    await dropDynamicTable(tx, top, lake);
  });
  assert.deepEqual(await pins(), []);
  await scheduler.stop();
});
