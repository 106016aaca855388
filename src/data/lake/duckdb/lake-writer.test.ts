import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { quoteName, quoteText } from "../../sql/core/index.ts";
import type { NewColumn, NewDataFile, ObjectStore, SnapshotId } from "../core/index.ts";
import { compactFiles } from "./compact.ts";
import { LakeWriter } from "./lake-writer.ts";
import { addedSql, removedSql, tableSql } from "./relation-sql.ts";
import { emptyStaging } from "./staging.ts";
import { never, openTestLake, type TestLake } from "./testing/test-lake.ts";
import { TestTable } from "./testing/test-table.ts";

let lake: TestLake;
before(async () => {
  lake = await openTestLake();
});
after(() => lake.close());

const columnsOf = (
  ...types: readonly (readonly [name: string, type: string])[]
): readonly NewColumn[] =>
  types.map(([name, type]) => ({ name, type, nullable: true, defaultValue: undefined }));

const idAndText = columnsOf(["id", "BIGINT"], ["text", "VARCHAR"]);

async function insert(
  table: TestTable,
  select: string,
  writer = lake.writer,
): Promise<readonly NewDataFile[]> {
  const added = await writer.writeRows({ select, table: table.now.table, rowIds: "fresh" }, never);
  table.change({ added });
  return added;
}

async function remove(table: TestTable, where: string, asSnapshot = false): Promise<void> {
  const { localPaths, rowIds } = table.options(table.now);
  const current = tableSql(table.now, { localPaths, rowIds });
  const select = `SELECT _file_id, _position FROM (${current}) WHERE ${where}`;
  const snapshot = asSnapshot ? { asSnapshot: table.nextSnapshot } : {};
  const request = { version: table.now, localPaths, select, ...snapshot };
  table.change(await lake.writer.writeDeletes(request, never));
}

async function schemaOf(path: string): Promise<readonly unknown[]> {
  const file = quoteText(join(lake.root, path));
  return lake.rows(
    `SELECT name, type, field_id, repetition_type FROM parquet_schema(${file}) WHERE name <> 'duckdb_schema'`,
  );
}

for (const [type, value] of [
  ["VARCHAR[]", "['abc']"],
  ["VARCHAR[][]", "[['a'], ['b', NULL]]"],
  ["MAP(VARCHAR, DOUBLE)", "MAP {'k': 1.5}"],
  ["MAP(INTEGER, VARCHAR)", "MAP {1: 'xyz'}"],
  ["STRUCT(a VARCHAR[])", "{'a': ['xyz']}"],
  ["BLOB[]", "['abc'::BLOB]"],
] as const) {
  test(`[LF24] equal values of type ${type} can be written, few and many`, async () => {
    for (const count of [1, 3, 3_000]) {
      const table = new TestTable(lake.root, columnsOf(["id", "BIGINT"], ["v", type]));
      await insert(table, `SELECT range, ${value} FROM range(${count})`);
      const { localPaths, rowIds } = table.options(table.now);
      const current = tableSql(table.now, { localPaths, rowIds });
      const same = `SELECT count(*)::INTEGER AS n FROM (${current}) WHERE v = CAST(${value} AS ${type})`;
      assert.deepEqual(await lake.rows(same), [[count]]);
    }
  });
}

test("[LF3] every field of a data file has its id, nested ones by depth, and none is required but a map's key", async () => {
  const table = new TestTable(
    lake.root,
    columnsOf(
      ["a b", "INTEGER"],
      ["s", 'STRUCT(x BIGINT[], "y z" DATE)'],
      ["m", "MAP(VARCHAR, DOUBLE)"],
      ["h", "HUGEINT"],
    ),
  );
  const [file] = await insert(
    table,
    `SELECT 1, {'x': [1], 'y z': DATE '2020-01-01'}, MAP {'k': 1.5}, 10::HUGEINT ** 3`,
  );
  assert.deepEqual(await schemaOf(file?.path ?? ""), [
    ["a b", "INT32", "1", "OPTIONAL"],
    ["s", null, "2", "OPTIONAL"],
    ["x", null, "3", "OPTIONAL"],
    ["list", null, null, "REPEATED"],
    ["element", "INT64", "4", "OPTIONAL"],
    ["y z", "INT32", "5", "OPTIONAL"],
    ["m", null, "6", "OPTIONAL"],
    ["key_value", null, null, "REPEATED"],
    ["key", "BYTE_ARRAY", "7", "REQUIRED"],
    ["value", "DOUBLE", "8", "OPTIONAL"],
    ["h", "FIXED_LEN_BYTE_ARRAY", "9", "OPTIONAL"],
  ]);
  assert.match(file?.path ?? "", /^main\/t\/ducklake-[0-9a-z]{24}\.parquet$/);
  const local = join(lake.root, file?.path ?? "");
  assert.equal((await stat(local)).size, file?.sizeBytes);
  const [[footer, compression] = []] = await lake.rows(
    `SELECT (SELECT footer_size FROM parquet_file_metadata(${quoteText(local)})), (SELECT any_value(compression) FROM parquet_metadata(${quoteText(local)}))`,
  );
  assert.equal(Number(footer), file?.footerSize);
  assert.equal(compression, "ZSTD");
});

test("[LF4] a file of updated rows has their ids at its end, a merged one their snapshots too", async () => {
  const table = new TestTable(lake.root, columnsOf(["id", "BIGINT"]));
  await insert(table, "SELECT * FROM range(3)");
  await insert(table, "SELECT * FROM range(3, 5)");
  const rowId = ["_ducklake_internal_row_id", "INT64", "2147483540", "OPTIONAL"];
  const rowSnapshot = ["_ducklake_internal_snapshot_id", "INT64", "2147483539", "OPTIONAL"];
  const id = ["id", "INT64", "1", "OPTIONAL"];
  const request = { select: "SELECT 7, 70", table: table.now.table, rowIds: "inFile" } as const;
  const [updated] = await lake.writer.writeRows(request, never);
  assert.deepEqual(await schemaOf(updated?.path ?? ""), [id, rowId]);
  assert.deepEqual(
    updated?.columns.map(({ columnId }) => columnId),
    [1],
  );
  const files = table.now.files.map(({ fileId }) => fileId);
  const change = await compactFiles({ version: table.now, files }, lake, never);
  assert.equal(change?.kind, "changeRows");
  const [merged] = change?.kind === "changeRows" ? change.added : [];
  assert.deepEqual(await schemaOf(merged?.path ?? ""), [id, rowId, rowSnapshot]);
  assert.deepEqual(merged?.rowSnapshots, { min: 2, max: 3 });
});

test("[LF6] [LF7] delete files have DuckLake's columns, positions in order, and say snapshots only where they replace", async () => {
  const table = new TestTable(lake.root, idAndText);
  const [data] = await insert(table, "SELECT i, 'x' FROM range(10) r(i)");
  await remove(table, "id IN (7, 2)", true);
  const first = table.now.files[0]?.deletes;
  const path = ["file_path", "BYTE_ARRAY", "2147483646", "OPTIONAL"];
  const position = ["pos", "INT64", "2147483645", "OPTIONAL"];
  assert.deepEqual(await schemaOf(first?.path ?? ""), [path, position]);
  assert.match(first?.path ?? "", /^main\/t\/ducklake-[0-9a-z]{24}-delete\.parquet$/);
  await remove(table, "id IN (3, 9)", true);
  const second = table.now.files[0]?.deletes;
  assert.deepEqual(await schemaOf(second?.path ?? ""), [
    path,
    position,
    ["_ducklake_internal_snapshot_id", "INT64", "2147483539", "OPTIONAL"],
  ]);
  const rows = await lake.rows(
    `FROM read_parquet(${quoteText(join(lake.root, second?.path ?? ""))})`,
  );
  assert.deepEqual(
    rows,
    [
      ["2", "3"],
      ["3", "4"],
      ["7", "3"],
      ["9", "4"],
    ].map((row) => [data?.path, ...row]),
  );
  assert.deepEqual([first?.deleteCount, second?.deleteCount, second?.beginSnapshot], [2, 4, 3]);
  await remove(table, "id = 0");
  assert.deepEqual(await schemaOf(table.now.files[0]?.deletes?.path ?? ""), [path, position]);
  assert.equal(table.now.files[0]?.deletes?.deleteCount, 5);
});

test("[LF8] a file without rows left ends, with or without deletes before; deletes of nothing write nothing", async () => {
  const table = new TestTable(lake.root, idAndText);
  await insert(table, "SELECT i, 'x' FROM range(10) r(i)");
  await insert(table, "SELECT i, 'y' FROM range(10, 15) r(i)");
  await remove(table, "id < 3");
  const [first, second] = table.now.files.map(({ fileId }) => fileId);
  const { localPaths, rowIds } = table.options(table.now);
  const current = tableSql(table.now, { localPaths, rowIds });
  const all = `SELECT _file_id, _position FROM (${current})`;
  const request = { version: table.now, localPaths, select: `${all} UNION ALL ${all}` };
  assert.deepEqual(await lake.writer.writeDeletes(request, never), {
    deletes: [],
    ended: [first, second],
    moved: [],
    deletedCount: 12,
  });
  const none = { ...request, select: `${all} WHERE false` };
  assert.deepEqual(await lake.writer.writeDeletes(none, never), {
    deletes: [],
    ended: [],
    moved: [],
    deletedCount: 0,
  });
  const gone = await lake.writer.writeDeletes({ ...request, select: `SELECT ${first}, 0` }, never);
  assert.equal(gone.deletedCount, 0);
  assert.equal(gone.deletes[0]?.deleteCount, 3);
});

test("[LF22] rows that are left of many small files move into one, with their ids, and the past stays", async () => {
  const table = new TestTable(lake.root, idAndText);
  for (let file = 0; file < 5; file += 1) {
    await insert(table, `SELECT i, 'x' FROM range(${file * 10}, ${file * 10 + 10}) r(i)`);
  }
  await remove(table, "id IN (0, 11)");
  const before = table.now;
  assert.equal(before.files.filter(({ deletes }) => deletes !== undefined).length, 2);
  await remove(table, "id % 10 IN (1, 7) OR id >= 40");
  assert.deepEqual(
    table.now.files.map(({ recordCount, deletes }) => [recordCount, deletes]),
    [[8 + 9 + 8 + 8 - 2, undefined]],
  );
  const ids = (version: typeof before) =>
    lake.rows(
      `SELECT list(_row_id ORDER BY id) = list(id ORDER BY id), count(*), sum(id) FROM (${tableSql(version, table.options(version))})`,
    );
  const left = Array.from({ length: 40 }, (_, id) => id).filter(
    (id) => id % 10 !== 1 && id % 10 !== 7 && id !== 0,
  );
  const total = left.reduce((sum, id) => sum + id, 0);
  assert.deepEqual(await ids(table.now), [[true, String(left.length), String(total)]]);
  assert.deepEqual(await ids(before), [[true, "48", String(1225 - 11)]]);
  const scan = table.scan(before.snapshot, table.now.snapshot);
  const [removed, added] = [removedSql, addedSql].map((sql) => sql(scan, table.options(scan)));
  assert.deepEqual(await lake.rows(`SELECT count(*) FROM (${removed})`), [["17"]]);
  assert.deepEqual(await lake.rows(`SELECT count(*) FROM (${added})`), [["0"]]);
});

test("[LF6] [LF7] a position that is deleted already keeps its snapshot, and one deleted later than the version does not count", async () => {
  const table = new TestTable(lake.root, idAndText);
  await insert(table, "SELECT i, 'x' FROM range(10) r(i)");
  await remove(table, "id IN (1, 2)");
  await remove(table, "id = 3", true);
  const [file] = table.now.files;
  const again = {
    version: table.now,
    localPaths: table.options(table.now).localPaths,
    select: `SELECT ${file?.fileId}, unnest([2, 3, 4])`,
    asSnapshot: table.nextSnapshot,
  };
  const written = await lake.writer.writeDeletes(again, never);
  assert.deepEqual([written.deletedCount, written.deletes[0]?.deleteCount], [1, 4]);
  const local = quoteText(join(lake.root, written.deletes[0]?.path ?? ""));
  assert.deepEqual(
    await lake.rows(`SELECT pos, _ducklake_internal_snapshot_id FROM read_parquet(${local})`),
    [
      ["1", "3"],
      ["2", "3"],
      ["3", "4"],
      ["4", "5"],
    ],
  );
  const past = table.versions.get(3 as SnapshotId);
  assert.ok(past !== undefined && past.files[0]?.deletes?.upTo === 3);
  const older = await lake.writer.writeDeletes(
    {
      version: past,
      localPaths: table.options(past).localPaths,
      select: `SELECT ${file?.fileId}, 5`,
    },
    never,
  );
  assert.deepEqual([older.deletedCount, older.deletes[0]?.deleteCount], [1, 3]);
});

test("[LF4] a file that says its rows' ids is believed, also where the catalog has a start for it", async () => {
  const table = new TestTable(lake.root, idAndText);
  const request = {
    select: "SELECT 41, 1, 'x'",
    table: table.now.table,
    rowIds: "inFile",
  } as const;
  table.change({ added: await lake.writer.writeRows(request, never) });
  const version = {
    ...table.now,
    files: table.now.files.map((file) => ({ ...file, rowIdStart: 7 })),
  };
  assert.deepEqual(
    await lake.rows(`SELECT _row_id FROM (${tableSql(version, table.options(version))})`),
    [["41"]],
  );
});

test("[LF9] rows stay in their order, in several files when they are too many for one", async () => {
  const columns = columnsOf(["file_row_number", "BIGINT"], ["text", "VARCHAR"], ["h", "HUGEINT"]);
  const table = new TestTable(lake.root, columns);
  await insert(table, "SELECT i, md5(i::VARCHAR), i FROM range(200000) r(i)");
  await insert(table, "SELECT i, md5(i::VARCHAR), i FROM range(200000, 400000) r(i)");
  const all = tableSql(table.now, table.options(table.now, false));
  const copy = new TestTable(lake.root, columns);
  const files = await insert(copy, all, lake.writerOf({ fileBytes: 1024 * 1024 }));
  assert.deepEqual(
    files.map(({ recordCount }) => recordCount),
    [122_880, 122_880, 122_880, 31_360],
  );
  const sql = tableSql(copy.now, copy.options(copy.now));
  assert.deepEqual(
    await lake.rows(
      `SELECT count(*), count(*) FILTER (_row_id = file_row_number AND text = md5(h::VARCHAR)) FROM (${sql})`,
    ),
    [["400000", "400000"]],
  );
  const updated = await lake.writerOf({ fileBytes: 1024 * 1024 }).writeRows(
    {
      select: `SELECT * EXCLUDE (_file_id, _position) FROM (${sql})`,
      table: copy.now.table,
      rowIds: "inFile",
    },
    never,
  );
  assert.equal(updated.length, 4);
  assert.deepEqual(await schemaOf(updated[3]?.path ?? ""), [
    ["file_row_number", "INT64", "1", "OPTIONAL"],
    ["text", "BYTE_ARRAY", "2", "OPTIONAL"],
    ["h", "FIXED_LEN_BYTE_ARRAY", "3", "OPTIONAL"],
    ["_ducklake_internal_row_id", "INT64", "2147483540", "OPTIONAL"],
  ]);
  const nothing = {
    select: "SELECT 1, 'x', 1 WHERE false",
    table: table.now.table,
    rowIds: "fresh",
  } as const;
  assert.deepEqual(await lake.writer.writeRows(nothing, never), []);
});

for (const [type, value] of [
  ["BIGINT", "1"],
  ["INTERVAL", "INTERVAL 1 DAY"],
  ["INTEGER[]", "[NULL]"],
  ["STRUCT(a INTEGER)", "{'a': NULL}"],
] as const) {
  test(`[LF12] a column of ${type} that is not nullable takes no NULL, and nothing stays of the attempt`, async () => {
    const table = new TestTable(lake.root, [
      { name: "v", type, nullable: false, defaultValue: undefined },
    ]);
    await insert(table, `SELECT ${value}`);
    const before = await objectCount();
    await assert.rejects(insert(table, `SELECT ${value} UNION ALL SELECT NULL`), (thrown) => {
      assert.ok(thrown instanceof OperatingError);
      assert.deepEqual(
        [thrown.code, thrown.message],
        ["bad_sql", 'NOT NULL constraint failed: column "v" would get a NULL'],
      );
      return true;
    });
    assert.equal(await objectCount(), before);
    assert.deepEqual(await readdir(lake.stagingDir), []);
  });
}

test("[LF13] whole numbers of 128 bits keep every digit, or are refused", async () => {
  const table = new TestTable(lake.root, columnsOf(["v", "HUGEINT"], ["u", "UHUGEINT[]"]));
  await insert(
    table,
    "SELECT -12345678901234567890123456789012345678::HUGEINT, [9007199254740993::UHUGEINT]",
  );
  assert.deepEqual(await lake.rows(tableSql(table.now, table.options(table.now, false))), [
    ["-12345678901234567890123456789012345678", ["9007199254740993"]],
  ]);
  await assert.rejects(
    insert(table, "SELECT 170141183460469231731687303715884105727::HUGEINT, NULL"),
    /Could not cast/,
  );
});

test("[LF19] intervals have milliseconds, and times with a zone are in UTC", async () => {
  const table = new TestTable(
    lake.root,
    columnsOf(["i", "INTERVAL"], ["t", "TIME WITH TIME ZONE"]),
  );
  await insert(table, "SELECT INTERVAL '1.234567 seconds', '12:00:00+02'::TIMETZ");
  const rows = await lake.rows(
    `SELECT i::VARCHAR, t::VARCHAR FROM (${tableSql(table.now, table.options(table.now))})`,
  );
  assert.deepEqual(rows, [["00:00:01.234", "10:00:00+00"]]);
});

test("[LF14] what a killed process left in the staging directory goes, and nothing else", async () => {
  const directory = await mkdtemp(join(tmpdir(), "capstan-staging-"));
  await mkdir(join(directory, "write-abc123", "rows"), { recursive: true });
  await mkdir(join(directory, "other"));
  await emptyStaging(directory);
  assert.deepEqual(await readdir(directory), ["other"]);
  await rm(directory, { recursive: true });
});

test("[LF14] when an upload fails, what was uploaded goes, and so does what was staged", async () => {
  let puts = 0;
  const objects: ObjectStore = {
    kind: lake.objects.kind,
    put: (path, localFile, signal) => {
      puts += 1;
      return puts > 2
        ? Promise.reject(new OperatingError("disk_full", "backoff", "full"))
        : lake.objects.put(path, localFile, signal);
    },
    fetch: (file, signal) => lake.objects.fetch(file, signal),
    checksum: (path) => lake.objects.checksum(path),
    reserve: (files, signal) => lake.objects.reserve(files, signal),
    stat: (path) => lake.objects.stat(path),
    list: (prefix) => lake.objects.list(prefix),
    delete: (paths) => lake.objects.delete(paths),
  };
  const { duckdb, stagingDir } = lake;
  const writer = new LakeWriter({
    duckdb,
    objects,
    stagingDir,
    prng: createPrng("failing"),
    fileBytes: 1024 * 1024,
  });
  const table = new TestTable(lake.root, idAndText);
  const before = await objectCount();
  await assert.rejects(
    insert(table, "SELECT i, md5(i::VARCHAR) FROM range(800000) r(i)", writer),
    /full/,
  );
  assert.ok(puts > 2);
  assert.equal(await objectCount(), before);
  assert.deepEqual(await readdir(stagingDir), []);
});

async function objectCount(): Promise<number> {
  const objects = [];
  for await (const object of lake.objects.list("")) objects.push(object.path);
  return objects.length;
}

test("[LF2] names of DuckDB's own columns are names like any other", async () => {
  const names = ["file_index", "file_row_number", "filename", "f", "c1", "row_id"];
  const table = new TestTable(
    lake.root,
    names.map((name) => ({ name, type: "VARCHAR", nullable: true, defaultValue: undefined })),
  );
  await insert(table, `SELECT ${names.map(quoteText).join(", ")}`);
  await insert(table, `SELECT ${names.map(quoteText).join(", ")}`);
  await remove(
    table,
    `${quoteName("file_index")} = 'file_index' AND _position = 0 AND _row_id = 1`,
  );
  assert.deepEqual(await lake.rows(tableSql(table.now, table.options(table.now, false))), [names]);
});
