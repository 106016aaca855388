/** The contract of the lake's catalog: reads and upkeep. Commits have their own suite. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { StoreFixture } from "../../../ground/store/testing/store-fixture.ts";
import type { SnapshotId, TableId } from "../core/model.ts";
import {
  create,
  idColumn,
  named,
  newFile,
  openCatalog,
  rowChange,
} from "../testing/open-catalog.ts";
import { testLakeCommits } from "./lake-commit.contract.ts";
import { readLakeOverview } from "./overview.ts";
import { readLakeRows } from "./read-lake-rows.ts";
import { LakeUpkeep } from "./upkeep.ts";

export function testLakeCatalog(fixture: StoreFixture): void {
  const open = (t: TestContext) => openCatalog(fixture, t);
  describe(`the lake's catalog on ${fixture.dialect}`, { concurrency: 3 }, () => {
    test("[LK1] a new lake is empty, and in order", async (t) => {
      const { catalog, check } = await open(t);
      assert.deepEqual(await catalog.current(), { snapshot: 0, timeMs: 0, schemaVersion: 0 });
      assert.deepEqual(await catalog.tables(), []);
      await check();
    });

    test("[LK1] a table is found by its name in any case, with its columns and files", async (t) => {
      const { catalog, commit, check } = await open(t);
      const columns = [
        idColumn,
        { name: "Price", type: "decimal( 10 , 2 )", nullable: false, defaultValue: "0" },
        {
          name: "tags",
          type: "STRUCT(a INT, b VARCHAR[])[]",
          nullable: true,
          defaultValue: undefined,
        },
        { name: "note", type: "text", nullable: true, defaultValue: "'it''s'" },
      ];
      const { tableIds, columns: given } = await commit([create("Orders", { columns })]);
      const [version] = await catalog.resolve([named("ORDERS", { schema: "Main" })]);
      assert.ok(version !== undefined);
      assert.deepEqual(version.table.columns, given[0]);
      assert.equal(version.table.tableId, tableIds[0]);
      assert.equal(version.table.path, "main/Orders/");
      assert.deepEqual(
        version.table.columns.map(({ columnId, type, defaultValue }) => [
          columnId,
          type,
          defaultValue,
        ]),
        [
          [1, "BIGINT", undefined],
          [2, "DECIMAL(10,2)", "0"],
          [3, "STRUCT(a INTEGER, b VARCHAR[])[]", undefined],
          [8, "VARCHAR", "'it''s'"],
        ],
      );
      await check();
    });

    test("[LK3] a name that is not there is refused with those like it", async (t) => {
      const { catalog, commit } = await open(t);
      await commit([create("orders"), create("customers")]);
      const refused = catalog.resolve([named("ordres")]);
      await assert.rejects(refused, { code: "not_found", message: /ordres/, hint: /orders/ });
      await assert.rejects(catalog.version(99 as TableId, 1 as SnapshotId), { code: "not_found" });
    });

    test("[LK2] a table is as it was: by version, by time, and by name of then", async (t) => {
      const { catalog, commit, createOrders } = await open(t);
      const { tableId, snapshot, first } = await createOrders();
      const { timeMs } = await catalog.current();
      const renamed = await commit([{ kind: "renameTable", tableId, name: "sales" }]);
      await commit([rowChange(tableId, { ended: [first] })]);
      const count = async (name: string, moment: object): Promise<number | undefined> =>
        (await catalog.resolve([named(name, { moment })]))[0]?.files.length;
      assert.equal(await count("sales", { kind: "current" }), 1);
      assert.equal(await count("sales", { kind: "version", snapshot: renamed.snapshot }), 2);
      assert.equal(await count("orders", { kind: "version", snapshot }), 2);
      // Of commits within one millisecond the newest counts.
      const [then] = (await catalog.snapshots(9)).filter((info) => info.timeMs <= timeMs);
      const nameThen = then?.snapshot === snapshot ? "orders" : "sales";
      assert.equal(
        await count(nameThen, { kind: "time", timeMs }),
        (await catalog.version(tableId, then?.snapshot ?? snapshot)).files.length,
      );
      await assert.rejects(count("orders", { kind: "current" }), { code: "not_found" });
      await assert.rejects(count("orders", { kind: "version", snapshot: 99 }), {
        hint: /newest is/,
      });
    });

    test("[LK15] the overview counts rows that are there, bytes and files", async (t) => {
      const { store, commit, createOrders, deletes } = await open(t);
      const { tableId, first, second } = await createOrders();
      await commit([create("empty")]);
      await commit([rowChange(tableId, { deletes: [deletes(first, 2)] })]);
      const last = await commit([rowChange(tableId, { ended: [second] })]);
      const { snapshot, tables } = await store.read(readLakeOverview);
      assert.equal(snapshot, last.snapshot);
      assert.deepEqual(
        tables.map((table) => [
          table.name,
          table.rowCount,
          table.sizeBytes,
          table.fileCount,
          table.changedSnapshot,
        ]),
        [
          ["empty", 0, 0, 0, snapshot - 2],
          ["orders", 3, 150, 2, snapshot],
        ],
      );
    });

    test("[LK4] columns come, go and change their name; ids stay", async (t) => {
      const { catalog, commit, createOrders, check } = await open(t);
      const { tableId, snapshot } = await createOrders();
      const column = { ...idColumn, name: "note", type: "VARCHAR", defaultValue: "'x'" };
      await commit([{ kind: "addColumn", tableId, column, initialDefault: "'x'" }]);
      await commit([{ kind: "renameColumn", tableId, columnId: 1, name: "order_id" }]);
      await commit([{ kind: "dropColumn", tableId, columnId: 2 }]);
      const again = await commit([{ kind: "addColumn", tableId, column, initialDefault: "7" }]);
      const { table } = await catalog.version(tableId, again.snapshot);
      assert.deepEqual(
        table.columns.map(({ columnId, name, initialDefault }) => [columnId, name, initialDefault]),
        [
          [1, "order_id", undefined],
          [3, "note", "'7'"],
        ],
      );
      assert.equal(table.schemaSnapshot, again.snapshot);
      assert.deepEqual((await catalog.version(tableId, snapshot)).table.columns.length, 1);
      const refused = commit([{ kind: "addColumn", tableId, column, initialDefault: undefined }]);
      await assert.rejects(refused, { code: "already_exists" });
      const volatile = { ...column, name: "at" };
      await assert.rejects(
        commit([{ kind: "addColumn", tableId, column: volatile, initialDefault: "now()" }]),
        { code: "bad_request" },
      );
      await check();
    });

    test("[LK20] changes: what was added, deleted and rewritten, in parts of files", async (t) => {
      const { catalog, commit, createOrders, deletes } = await open(t);
      const { tableId, snapshot: from, first } = await createOrders();
      await commit([rowChange(tableId, { added: [newFile("main/orders/", [11])] })]);
      const appended = await catalog.changes(tableId, from, 2 as SnapshotId);
      assert.ok(appended !== "gone");
      assert.deepEqual(
        [appended.isAppendOnly, appended.addedMax, appended.removedMax],
        [true, 1, 0],
      );
      await commit([rowChange(tableId, { deletes: [deletes(first, 2)] })]);
      const both = await catalog.changes(tableId, from, 3 as SnapshotId);
      assert.ok(both !== "gone");
      assert.deepEqual([both.isAppendOnly, both.addedMax, both.removedMax], [false, 1, 2]);
      const added = [newFile("main/orders/", [3, 4, 5], "inFile")];
      await commit([rowChange(tableId, { added, ended: [first], isCompaction: true })]);
      const compacted = await catalog.changes(tableId, 3 as SnapshotId, 4 as SnapshotId);
      assert.ok(compacted !== "gone");
      assert.deepEqual(
        [compacted.added, compacted.removed, compacted.isAppendOnly],
        [[], [], true],
      );
      assert.equal(
        await catalog.changes(tableId, 0 as SnapshotId, from),
        "gone",
        "it was not there",
      );
      await assert.rejects(catalog.changes(tableId, from, 99 as SnapshotId), { code: "not_found" });
      await assert.rejects(catalog.changes(tableId, 4 as SnapshotId, from), {
        code: "bad_request",
      });
    });

    test("[LK21, LK32] a pinned snapshot does not expire, for a while; then changes from it are gone", async (t) => {
      const { catalog, commit, createOrders, store, check } = await open(t);
      const { tableId, snapshot: from, first } = await createOrders();
      const { snapshot: to } = await commit([rowChange(tableId, { ended: [first] })]);
      const upkeep = new LakeUpkeep({ store });
      await catalog.pin("cursor", tableId, from);
      const kept = await upkeep.expire([0, from, to] as SnapshotId[], 60_000);
      assert.deepEqual(kept, { snapshots: 1, files: 0, tables: 0 });
      assert.notEqual(await catalog.changes(tableId, from, to), "gone");
      await catalog.unpin("cursor");
      const expired = await upkeep.expire([from, to], 60_000);
      assert.deepEqual(expired, { snapshots: 1, files: 1, tables: 0 });
      assert.equal(await catalog.changes(tableId, from, to), "gone");
      await assert.rejects(catalog.pin("cursor", tableId, from), { code: "not_found" });
      await check();
    });

    test("[LK31] a dropped table goes with its last snapshot, its files once they are deleted", async (t) => {
      const { catalog, commit, createOrders, store, check } = await open(t);
      const { tableId, snapshot } = await createOrders();
      const dropped = await commit([{ kind: "dropTable", tableId }]);
      const upkeep = new LakeUpkeep({ store });
      assert.equal((await catalog.version(tableId, snapshot)).files.length, 2);
      const expired = await upkeep.expire([snapshot, dropped.snapshot], 0);
      assert.deepEqual(expired, { snapshots: 1, files: 2, tables: 1 });
      const { scheduled } = await upkeep.facts();
      assert.ok(scheduled.every(({ path }) => path.startsWith("main/orders/")));
      const { referenced } = await upkeep.orphanFacts();
      assert.ok(
        scheduled.every(({ path }) => referenced.has(path)),
        "still known, hence no orphan",
      );
      await upkeep.forget(scheduled.map(({ fileId }) => fileId));
      assert.deepEqual((await upkeep.facts()).scheduled, []);
      const rows = await store.read(readLakeRows);
      assert.equal(rows.ducklake_column.length + rows.ducklake_data_file.length, 0);
      assert.equal(rows.ducklake_file_column_stats.length + rows.ducklake_table_stats.length, 0);
      await check();
    });

    test("[LK34] files of a commit under way are nobody's orphans", async (t) => {
      const { catalog, commit, store } = await open(t);
      const upkeep = new LakeUpkeep({ store });
      await catalog.announce("commit-1", 60_000);
      await catalog.announce("commit-2", 60_000);
      assert.deepEqual((await upkeep.orphanFacts()).liveTokens.toSorted(), [
        "commit-1",
        "commit-2",
      ]);
      const first = await commit([create("a")], { token: "commit-1" });
      assert.deepEqual((await upkeep.orphanFacts()).liveTokens, ["commit-2"]);
      await catalog.announce("commit-1", 60_000);
      assert.equal((await commit([create("a")], { token: "commit-1" })).snapshot, first.snapshot);
      await catalog.announce("commit-2", -1);
      assert.deepEqual((await upkeep.orphanFacts()).liveTokens, []);
      await upkeep.forgetTokens();
    });
  });
  testLakeCommits(fixture);
}
