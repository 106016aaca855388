/** The contract of commits: atomic, once per token, conflicts by what both changed. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { sql } from "kysely";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { makeOlderSchemaDir } from "../../../ground/store/testing/schema-dirs.ts";
import { openOn, type StoreFixture } from "../../../ground/store/testing/store-fixture.ts";
import type { TableChange } from "../core/commit.ts";
import type { SnapshotId, TableId } from "../core/model.ts";
import {
  create,
  idColumn,
  named,
  newFile,
  newName,
  openCatalog,
  rowChange,
} from "../testing/open-catalog.ts";
import { LakeStore } from "./lake-store.ts";
import { readLakeOverview } from "./overview.ts";
import { readLakeRows } from "./read-lake-rows.ts";

export function testLakeCommits(fixture: StoreFixture): void {
  const open = (t: TestContext) => openCatalog(fixture, t);
  describe(`commits to the lake on ${fixture.dialect}`, { concurrency: 3 }, () => {
    test("[LK5] what a commit refuses leaves nothing", async (t) => {
      const { catalog, commit, createOrders, store } = await open(t);
      const { snapshot } = await createOrders();
      const before = await store.read(readLakeRows);
      const changes = [create("fresh"), create("ORDERS")];
      await assert.rejects(commit(changes), { code: "already_exists", retry: "never" });
      await assert.rejects(commit([create("t", { schema: "nowhere" })]), { code: "not_found" });
      const odd = { ...idColumn, type: "ENUM('a')" };
      await assert.rejects(commit([create("t", { columns: [odd] })]), { code: "unsupported" });
      assert.deepEqual(await store.read(readLakeRows), before);
      assert.equal((await catalog.current()).snapshot, snapshot);
    });

    test("[LK7] of those who take one name at a time exactly one gets it", async (t) => {
      const { catalog, commit, store } = await open(t);
      const second = new LakeStore({ store, prng: createPrng("second") });
      const { snapshot: readSnapshot } = await catalog.current();
      const names = ["orders", "ORDERS", "Orders"];
      const attempts = Array.from({ length: 9 }, (_, at) => {
        const said = { readSnapshot, token: `t-${at}`, author: "", message: "" };
        const changes = [create(names[at % 3] ?? "")];
        return (at % 2 === 0 ? catalog : second).commit({ ...said, changes });
      });
      const outcomes = await Promise.allSettled(attempts);
      const lost = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
      assert.equal(lost.length, 8);
      for (const reason of lost) assert.equal(reason.code, "already_exists");
      assert.equal((await catalog.tables()).length, 1);
      const [table] = await catalog.tables();
      assert(table !== undefined);
      // Replacing drops that very table, so the second of two has to look again.
      const replace = (name: string) =>
        commit([{ kind: "dropTable", tableId: table.tableId }, create(name)], { readSnapshot });
      await replace("orders");
      await assert.rejects(
        commit([{ kind: "dropTable", tableId: table.tableId }, create("orders")], {
          readSnapshot: (readSnapshot + 1) as SnapshotId,
        }),
        { code: "conflict", retry: "backoff" },
      );
    });

    test("[LK5] a commit in a transaction that fails is not there", async (t) => {
      const { catalog, store } = await open(t);
      const commit = {
        readSnapshot: 0 as SnapshotId,
        token: "t",
        changes: [create("a")],
        author: "",
        message: "",
      };
      const failing = store.transaction(async (tx) => {
        await catalog.commitIn(tx, commit);
        throw new OperatingError("cancelled", "never", "no");
      });
      await assert.rejects(failing, { code: "cancelled" });
      assert.deepEqual(await catalog.tables(), []);
      assert.equal((await catalog.commit(commit)).snapshot, 1);
    });

    test("[LK6] a token commits once, and gives what it gave", async (t) => {
      const { catalog, commit } = await open(t);
      const changes = [create("orders", { files: [newFile("main/orders/", [1])] })];
      const first = await commit(changes, { token: "same", readSnapshot: 0 as SnapshotId });
      await commit([create("other")]);
      const again = await commit(changes, { token: "same", readSnapshot: 0 as SnapshotId });
      assert.deepEqual(again, JSON.parse(JSON.stringify(first)));
      assert.equal((await catalog.current()).snapshot, 2);
      assert.equal((await catalog.tables()).length, 2);
    });

    test("[LK6] a commit of nothing is the newest snapshot", async (t) => {
      const { commit, createOrders } = await open(t);
      const { tableId, snapshot } = await createOrders();
      assert.equal((await commit([rowChange(tableId, {})])).snapshot, snapshot);
    });

    test("[LK7] rows that others added are no conflict", async (t) => {
      const { commit, createOrders, deletes, check, catalog } = await open(t);
      const { tableId, snapshot: readSnapshot, first, second } = await createOrders();
      const added = () => [newFile("main/orders/", [11])];
      await commit([rowChange(tableId, { added: added() })], { readSnapshot });
      await commit([rowChange(tableId, { deletes: [deletes(first, 1)] })], { readSnapshot });
      await commit([rowChange(tableId, { ended: [second] })], { readSnapshot });
      await commit([rowChange(tableId, { added: added() })], { readSnapshot });
      await commit([{ kind: "renameTable", tableId, name: "sales" }], { readSnapshot });
      const { snapshot } = await commit([rowChange(tableId, { added: added() })], { readSnapshot });
      const version = await catalog.version(tableId, snapshot);
      assert.deepEqual(
        version.files.map(({ rowIdStart }) => rowIdStart),
        [0, 10, 11, 12],
      );
      await check();
    });

    const rivals: readonly [name: string, rival: Rival, mine: Rival][] = [
      ["deletes of one file", "delete", "delete"],
      ["a file that ended", "end", "delete"],
      ["a file that has deletes by now", "delete", "end"],
      ["a file that was rewritten", "rewrite", "delete"],
      ["deletes of what is rewritten", "delete", "rewrite"],
      ["two rewrites", "rewrite", "rewrite"],
      ["rows of changed columns", "alter", "insert"],
      ["deletes under changed columns", "alter", "delete"],
      ["columns changed twice", "alter", "alter"],
      ["rows of a dropped table", "drop", "insert"],
      ["a table dropped twice", "drop", "drop"],
      ["a name given twice", "rename", "rename"],
    ];
    type Rival = "insert" | "delete" | "end" | "rewrite" | "alter" | "drop" | "rename";
    for (const [name, rival, mine] of rivals) {
      test(`[LK7] conflict: ${name}`, async (t) => {
        const { commit, createOrders, deletes, check } = await open(t);
        const { tableId, snapshot: readSnapshot, first } = await createOrders();
        const changeOf = (kind: Rival): TableChange => {
          switch (kind) {
            case "insert":
              return rowChange(tableId, { added: [newFile("main/orders/", [1])] });
            case "delete":
              return rowChange(tableId, { deletes: [deletes(first, 2)] });
            case "end":
              return rowChange(tableId, { ended: [first] });
            case "rewrite": {
              const added = [newFile("main/orders/", [1, 2, 3, 4, 5], "inFile")];
              return rowChange(tableId, { added, ended: [first], isCompaction: true });
            }
            case "alter":
              return { kind: "renameColumn", tableId, columnId: 1, name: newName() };
            case "drop":
              return { kind: "dropTable", tableId };
            case "rename":
              return { kind: "renameTable", tableId, name: newName() };
          }
        };
        await commit([changeOf(rival)], { readSnapshot });
        const refused = commit([changeOf(mine)], { readSnapshot });
        await assert.rejects(refused, { code: "conflict", retry: "backoff" });
        await check();
      });
    }

    for (const way of ["rewritten", "emptied", "dropped"] as const) {
      test(`[LK16] a delete file ends with its data file: ${way}`, async (t) => {
        const { catalog, commit, createOrders, deletes, check, store } = await open(t);
        const { tableId, first } = await createOrders();
        const deleted = await commit([rowChange(tableId, { deletes: [deletes(first, 2)] })]);
        const rest = newFile("main/orders/", [3, 4, 5], "inFile");
        const ended = rowChange(tableId, { ended: [first] });
        const changes: Record<typeof way, TableChange> = {
          rewritten: { ...ended, ...{ added: [rest], isCompaction: true } },
          emptied: ended,
          dropped: { kind: "dropTable", tableId },
        };
        const { snapshot } = await commit([changes[way]]);
        const rows = await store.read(readLakeRows);
        assert.deepEqual(
          rows.ducklake_delete_file.map((row) => [row.data_file_id, row.end_snapshot]),
          [[first, snapshot]],
        );
        const counts = (await store.read(readLakeOverview)).tables.map(({ rowCount }) => rowCount);
        assert.deepEqual(counts, { rewritten: [8], emptied: [5], dropped: [] }[way]);
        const then = await catalog.version(tableId, deleted.snapshot);
        assert.equal(then.files[0]?.deletes?.deleteCount, 2, "the past has its deletes");
        await check();
      });
    }

    test("[LK16] setup ends delete files that stayed open, and only those", async (t) => {
      const place = await fixture.createPlace();
      const schemaDir = makeOlderSchemaDir(7);
      await place.setup({ schemaDir });
      const older = await place.open({ schemaDir });
      const dataFile = (id: number, begin: number, end: number | null) =>
        sql`INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, end_snapshot, path, path_is_relative, file_format, record_count, file_size_bytes)
            VALUES (${id}, 1, ${begin}, ${end}, ${`${id}.parquet`}, 1, 'parquet', 10, 100)`;
      const deleteFile = (id: number, of: number, begin: number, end: number | null) =>
        sql`INSERT INTO ducklake_delete_file (delete_file_id, table_id, begin_snapshot, end_snapshot, data_file_id, path, path_is_relative, format, delete_count, file_size_bytes)
            VALUES (${id}, 1, ${begin}, ${end}, ${of}, ${`${id}.parquet`}, 1, 'parquet', 3, 50)`;
      await older.transaction(async ({ db }) => {
        const rows = [
          ...[dataFile(0, 1, 5), dataFile(1, 1, null), dataFile(2, 1, 6)],
          ...[deleteFile(10, 0, 2, 3), deleteFile(11, 0, 3, null)],
          ...[deleteFile(12, 1, 2, null), deleteFile(13, 2, 2, 9)],
        ];
        for (const row of rows) await row.execute(db);
      });
      await older.close();
      await place.setup();
      const store = await openOn(place, t);
      const ends = await store.read(readLakeRows);
      assert.deepEqual(
        ends.ducklake_delete_file
          .map((row) => [row.delete_file_id, row.end_snapshot])
          .sort(([a], [b]) => Number(a) - Number(b)),
        [
          [10, 3],
          [11, 5],
          [12, null],
          [13, 6],
        ],
      );
    });

    test("[LK8, LK14] a commit takes the snapshot that its files name, or none", async (t) => {
      const { catalog, commit, createOrders, deletes, check } = await open(t);
      const { tableId, first } = await createOrders();
      await commit([rowChange(tableId, { deletes: [deletes(first, 1)] })]);
      const more = { ...deletes(first, 3), hasRowSnapshots: true };
      const asSnapshot = 7 as SnapshotId;
      const done = await commit([rowChange(tableId, { deletes: [more] })], { asSnapshot });
      assert.equal(done.snapshot, 7);
      const at = async (snapshot: number) =>
        (await catalog.version(tableId, snapshot as SnapshotId)).files[0]?.deletes;
      const now = await at(7);
      assert.deepEqual([now?.beginSnapshot, now?.upTo, now?.hasRowSnapshots], [2, undefined, true]);
      assert.equal((await at(2))?.upTo, 2);
      assert.equal(await at(1), undefined);
      await assert.rejects(commit([create("late")], { asSnapshot }), { code: "conflict" });
      assert.equal((await commit([create("next")])).snapshot, 8);
      const { timeMs } = (await catalog.snapshots(10)).find(({ snapshot }) => snapshot === 2) ?? {};
      const moment = { kind: "time", timeMs } as const;
      const [then] = await catalog.resolve([named("orders", { moment })]);
      assert.ok(
        then !== undefined && [2, 7].includes(then.snapshot),
        "a gap is not taken for expired",
      );
      await check();
    });

    test("[LK9] commits of many at once take turns: all are there, ids and snapshots without a gap", async (t) => {
      const { catalog, place, createOrders, check } = await open(t);
      const { tableId, snapshot: readSnapshot } = await createOrders();
      const others = await Promise.all([1, 2, 3].map(() => openOn(place, t)));
      const catalogs = [
        catalog,
        ...others.map((store, index) => new LakeStore({ store, prng: createPrng(index) })),
      ];
      const commits = Array.from({ length: 24 }, (_, index) => {
        const changes =
          index % 4 === 3
            ? [create(newName())]
            : [rowChange(tableId, { added: [newFile("main/orders/", [index, index])] })];
        const base = { readSnapshot, token: newName(), changes, author: "", message: "" };
        return (catalogs[index % catalogs.length] as LakeStore).commit(base);
      });
      const done = (await Promise.all(commits)).map(({ snapshot }) => snapshot as number);
      assert.deepEqual(
        done.sort((a, b) => a - b),
        Array.from({ length: 24 }, (_, index) => 2 + index),
      );
      const version = await catalog.version(tableId, 25 as SnapshotId);
      assert.equal(version.files.length, 20);
      await check();
    });

    test("[LK9] of many who delete from one file at once, one does", async (t) => {
      const { place, createOrders, deletes, check } = await open(t);
      const { tableId, snapshot: readSnapshot, first } = await createOrders();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 6 }, async (_, index) => {
          const catalog = new LakeStore({ store: await openOn(place, t), prng: createPrng(index) });
          const changes = [rowChange(tableId, { deletes: [deletes(first, 1 + (index % 3))] })];
          const base = { readSnapshot, token: newName(), changes, author: "", message: "" };
          return await catalog.commit(base);
        }),
      );
      assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") assert.equal(outcome.reason.code, "conflict");
      }
      await check();
    });

    test("[LK11] a commit is not before the newest snapshot, though another writer's clock is ahead", async (t) => {
      const { catalog, commit, store, check } = await open(t);
      const ahead = "2999-01-01 00:00:00.123456+00";
      await store.transaction(async ({ db }) => {
        await db.updateTable("ducklake_snapshot").set({ snapshot_time: ahead }).execute();
      });
      await commit([create("orders")]);
      const [newest, before] = await catalog.snapshots(2);
      assert.equal((newest?.timeMs ?? 0) - (before?.timeMs ?? 0), 1);
      await check();
    });

    test("[LK10] what a snapshot changed is written as DuckLake writes it", async (t) => {
      const { commit, store, check } = await open(t);
      const name = 'we"ird,x';
      const files = [newFile("main/weird/", [1])];
      const { tableIds } = await commit([create(name, { files })]);
      const tableId = tableIds[0] as TableId;
      await commit([{ kind: "renameTable", tableId, name: "plain" }]);
      await commit([
        { kind: "renameColumn", tableId, columnId: 1, name: "x" },
        { kind: "dropTable", tableId },
      ]);
      const rows = await store.read(readLakeRows);
      assert.deepEqual(
        rows.ducklake_snapshot_changes.map((row) => row.changes_made),
        [
          'created_schema:"main"',
          'created_table:"main"."we""ird,x",inserted_into_table:1',
          'created_table:"main"."plain"',
          "dropped_table:1,altered_table:1",
        ],
      );
      assert.deepEqual(
        rows.ducklake_snapshot.map((row) => row.schema_version),
        [0, 1, 2, 3],
      );
      await check();
    });
  });
}
