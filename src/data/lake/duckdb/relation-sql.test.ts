import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { NewColumn, SnapshotId } from "../core/index.ts";
import { compactFiles } from "./compact.ts";
import { addedSql, filesOf, removedSql, roughChangeSql, tableSql } from "./relation-sql.ts";
import { never, openTestLake, type TestLake } from "./testing/test-lake.ts";
import { TestTable } from "./testing/test-table.ts";

let lake: TestLake;
before(async () => {
  lake = await openTestLake();
});
after(() => lake.close());

async function tableOf(
  columns: Readonly<Record<string, string>>,
  ...selects: readonly string[]
): Promise<TestTable> {
  const newColumns: readonly NewColumn[] = Object.entries(columns).map(([name, type]) => ({
    name,
    type,
    nullable: true,
    defaultValue: undefined,
  }));
  const table = new TestTable(lake.root, newColumns);
  for (const select of selects) await insert(table, select);
  return table;
}

async function insert(table: TestTable, select: string): Promise<void> {
  table.change({
    added: await lake.writer.writeRows({ select, table: table.now.table, rowIds: "fresh" }, never),
  });
}

function current(table: TestTable, rowIds = true): string {
  return tableSql(table.now, table.options(table.now, rowIds));
}

async function remove(table: TestTable, where: string): Promise<void> {
  const select = `SELECT _file_id, _position FROM (${current(table)}) WHERE ${where}`;
  const { localPaths } = table.options(table.now);
  table.change(await lake.writer.writeDeletes({ version: table.now, localPaths, select }, never));
}

/** `values` are SQL expressions of the columns. */
async function update(table: TestTable, values: string, where: string): Promise<void> {
  const rows = `FROM (${current(table)}) WHERE ${where}`;
  const request = {
    select: `SELECT _row_id, ${values} ${rows}`,
    table: table.now.table,
    rowIds: "inFile",
  } as const;
  const added = await lake.writer.writeRows(request, never);
  const select = `SELECT _file_id, _position ${rows}`;
  const { localPaths } = table.options(table.now);
  table.change({
    ...(await lake.writer.writeDeletes({ version: table.now, localPaths, select }, never)),
    added,
  });
}

interface PlanNode {
  readonly name?: string;
  readonly operator_name?: string;
  readonly extra_info: Readonly<Record<string, string>>;
  readonly children: readonly PlanNode[];
  readonly total_bytes_read?: number;
}

/** The columns and filters of each `read_parquet` in the plan. */
async function scansOf(sql: string): Promise<readonly string[]> {
  const [row = []] = await lake.rows(`EXPLAIN (FORMAT json) ${sql}`);
  const visit = (node: PlanNode): readonly string[] => [
    ...(node.name?.trim() === "READ_PARQUET"
      ? [`${node.extra_info.Projections ?? ""} | ${node.extra_info.Filters ?? ""}`]
      : []),
    ...node.children.flatMap(visit),
  ];
  return (JSON.parse(String(row[1])) as readonly PlanNode[]).flatMap(visit).sort();
}

async function bytesRead(sql: string): Promise<number> {
  const [row = []] = await lake.rows(`EXPLAIN (ANALYZE, FORMAT json) ${sql}`);
  return (JSON.parse(String(row[1])) as PlanNode).total_bytes_read ?? Number.NaN;
}

const wide = "SELECT i, hash(i), md5(i::VARCHAR), i / 3 FROM range(300000) r(i)";
const wideColumns = { id: "BIGINT", h: "UBIGINT", text: "VARCHAR", third: "DOUBLE" };

test("[LF15] only the columns that a query names are read, and filters are given to the scan", async () => {
  const table = await tableOf(wideColumns, "SELECT 1, 2, 'x', 3", "SELECT 4, 5, 'y', 6");
  const query = (): string => `SELECT third FROM (${current(table)}) WHERE id > 3`;
  assert.deepEqual(await scansOf(query()), ["c4 | c1>3"]);
  await remove(table, "id = 1");
  await insert(table, "SELECT 7, 8, 'z', 9 UNION ALL SELECT 70, 8, 'z', 9");
  await remove(table, "id = 70");
  assert.deepEqual(await scansOf(query()), ["c4 | c1>3", "c4 | c1>3", "position | "]);
  assert.deepEqual(await lake.rows(`${query()} ORDER BY ALL`), [[6], [9]]);
});

test("[LF15] row groups that cannot match are not read, with deletes and without", async () => {
  const table = await tableOf(wideColumns, wide);
  const [file] = table.now.files;
  assert.ok(file !== undefined && file.sizeBytes > 4_000_000);
  const query = (): string => `SELECT * FROM (${current(table)}) WHERE id BETWEEN 10 AND 20`;
  const half = file.sizeBytes / 2;
  assert.ok((await bytesRead(query())) < half);
  await remove(table, "id % 1000 = 15");
  assert.ok((await bytesRead(query())) < half);
  assert.equal((await lake.rows(query())).length, 10);
});

/** The plan's operators, each with its value of `fact`. */
async function planOf(sql: string, fact: string): Promise<readonly string[]> {
  const [row = []] = await lake.rows(`EXPLAIN (FORMAT json) ${sql}`);
  const visit = (node: PlanNode): readonly string[] => [
    ...(fact in node.extra_info ? [`${node.name?.trim()} ${node.extra_info[fact]}`] : []),
    ...node.children.flatMap(visit),
  ];
  return (JSON.parse(String(row[1])) as readonly PlanNode[]).flatMap(visit);
}

test("[LF20] DuckDB knows how many rows there are, and a large file that is read alone is read once", async () => {
  const table = await tableOf(wideColumns, wide);
  await lake.duckdb.run("CREATE OR REPLACE TEMP TABLE wanted AS SELECT 7 AS id", never);
  const query = (): string =>
    `SELECT t.* FROM (${current(table)}) AS t SEMI JOIN wanted AS w ON t.id IS NOT DISTINCT FROM w.id`;
  const scans = await planOf(query(), "Estimated Cardinality");
  assert.ok(scans.includes("READ_PARQUET 300000"), scans.join());
  // The hash table is not built from the large table.
  assert.deepEqual(await planOf(query(), "Join Type"), ["HASH_JOIN SEMI"]);
  const counts = (): string => `SELECT count(*), count(DISTINCT _row_id) FROM (${current(table)})`;
  assert.deepEqual(await lake.rows(counts()), [["300000", "300000"]]);
  await remove(table, "id % 3 = 0");
  assert.deepEqual(await lake.rows(counts()), [["200000", "200000"]]);
  assert.deepEqual(await planOf(query(), "Join Type"), ["HASH_JOIN SEMI", "HASH_JOIN ANTI"]);
  assert.equal((await lake.rows(query())).length, 1);
});

test("[LF23] a large file of the table's present columns is read by name, with its statistics; others by field id", async () => {
  const isNamed = (table: TestTable): boolean =>
    current(table, false).includes("hive_partitioning = false) AS f");
  const rows = "SELECT i, i % 7, 'n' || i FROM range(200000) r(i)";
  const table = await tableOf({ id: "BIGINT", k: "INTEGER", name: "VARCHAR" }, rows);
  const sums = (): string =>
    `SELECT count(*), sum(id)::BIGINT, max(k)::BIGINT FROM (${current(table, false)})`;
  assert.ok(isNamed(table));
  assert.deepEqual(await lake.rows(sums()), [["200000", "19999900000", "6"]]);
  await remove(table, "id < 100000");
  assert.ok(isNamed(table));
  assert.deepEqual(await lake.rows(sums()), [["100000", "14999950000", "6"]]);
  const [id, k, name] = table.now.table.columns;
  assert.ok(id && k && name);
  // `k` and `id` swap names, so only field ids tell them apart.
  table.alter([{ ...id, name: "k" }, { ...k, name: "id" }, name]);
  assert.ok(!isNamed(table));
  assert.deepEqual(await lake.rows(sums()), [["100000", "299999", "199999"]]);

  const odd = await tableOf({ file_index: "BIGINT" }, "FROM range(200000)");
  assert.ok(!isNamed(odd));
  assert.deepEqual(await lake.rows(`SELECT max(file_index) FROM (${current(odd, false)})`), [
    ["199999"],
  ]);
  const wide = await tableOf({ sum: "HUGEINT" }, "FROM range(200000)");
  assert.ok(!isNamed(wide), "it is a DECIMAL in the file");
});

test("[LF18] a table without rows has its columns and their types", async () => {
  const table = await tableOf({
    'a"b': "DECIMAL(10,2)",
    s: 'STRUCT("select" INTEGER[], m MAP(VARCHAR, DATE))',
  });
  const types = await lake.rows(`DESCRIBE ${current(table)}`);
  assert.deepEqual(
    types.map(([name, type]) => `${name} ${type}`),
    [
      "_row_id BIGINT",
      "_file_id BIGINT",
      "_position BIGINT",
      'a"b DECIMAL(10,2)',
      's STRUCT("select" INTEGER[], m MAP(VARCHAR, DATE))',
    ],
  );
  assert.deepEqual(await lake.rows(current(table, false)), []);
});

test("[LF4] [LF5] rows have the ids that they were given, across files of every kind", async () => {
  const table = await tableOf(
    { id: "BIGINT" },
    "FROM range(5)",
    "FROM range(5, 10)",
    "FROM range(10, 13)",
  );
  await remove(table, "id IN (1, 6, 7)");
  await update(table, "id + 100", "id IN (2, 8)");
  const rows = await lake.rows(`SELECT _row_id, id FROM (${current(table)}) ORDER BY ALL`);
  assert.deepEqual(
    rows.map(([rowId, id]) => `${rowId}:${id}`).join(" "),
    "0:0 2:102 3:3 4:4 5:5 8:108 9:9 10:10 11:11 12:12",
  );
  const places = await lake.rows(
    `SELECT _file_id, _position FROM (${current(table)}) WHERE id = 9`,
  );
  assert.deepEqual(places, [[String(table.now.files[1]?.fileId), "4"]]);
  const needed = filesOf(table.now).map(({ path }) => path);
  assert.equal(needed.length, 6);
  assert.equal(new Set(needed).size, 6);
});

test("[LF16] changes of a table that only grew read its new files, and compare nothing", async () => {
  const table = await tableOf({ id: "BIGINT", text: "VARCHAR" }, "SELECT 1, 'a'", "SELECT 2, 'b'");
  const scan = table.scan(2 as SnapshotId, 3 as SnapshotId);
  assert.ok(scan.isAppendOnly);
  const options = table.options(scan);
  assert.deepEqual(
    filesOf(scan).map(({ path }) => path),
    [table.now.files[1]?.path],
  );
  assert.doesNotMatch(addedSql(scan, options), /JOIN/);
  assert.deepEqual(await lake.rows(addedSql(scan, options)), [["1", "2", "b"]]);
  assert.deepEqual(await lake.rows(removedSql(scan, options)), []);
});

test("[LF21] a rough change may have a row on both sides, reads only what is asked for, and adds up", async () => {
  const table = await tableOf(
    { id: "BIGINT", text: "VARCHAR" },
    "SELECT i, 'a' FROM range(9) r(i)",
  );
  await update(table, "id, CASE WHEN id = 1 THEN 'b' ELSE text END", "id IN (1, 2)");
  await remove(table, "id = 3");
  const [from, to] = [2 as SnapshotId, 4 as SnapshotId];
  const scan = table.scan(from, to);
  const { added, removed } = roughChangeSql(scan, table.options(scan));
  assert.deepEqual(await lake.rows(`SELECT id FROM (${removed}) ORDER BY id`), [
    ["1"],
    ["2"],
    ["3"],
  ]);
  assert.deepEqual(await lake.rows(`SELECT id, text FROM (${added}) ORDER BY id`), [
    ["1", "b"],
    ["2", "a"],
  ]);
  const before = table.versions.get(from);
  assert.ok(before !== undefined);
  const columns = "SELECT _row_id, id, text FROM";
  const old = `${columns} (${tableSql(before, table.options(before))})`;
  const sum = `((${old}) EXCEPT ALL (${columns} (${removed}))) UNION ALL (${columns} (${added}))`;
  const now = `${columns} (${current(table)})`;
  assert.deepEqual(await lake.rows(`(${sum}) EXCEPT ALL (${now})`), []);
  assert.deepEqual(await lake.rows(`(${now}) EXCEPT ALL (${sum})`), []);
  assert.deepEqual(await scansOf(`SELECT _row_id FROM (${removed})`), ["position | ", "row_id | "]);
  // In a replaced file all rows would be on both sides.
  const whole = await tableOf({ id: "BIGINT" }, "SELECT 1");
  await update(whole, "id", "true");
  const replaced = whole.scan(2 as SnapshotId, 3 as SnapshotId);
  const exact = roughChangeSql(replaced, whole.options(replaced));
  assert.deepEqual(await lake.rows(exact.added), []);
  assert.deepEqual(await lake.rows(exact.removed), []);
});

const equalValues = [
  ["DOUBLE", "'nan'::DOUBLE", "'nan'::DOUBLE"],
  ["DOUBLE", "0.0", "'-0.0'::DOUBLE"],
  ["VARCHAR", "NULL", "NULL"],
  ["INTEGER[]", "[1, NULL]", "[1, NULL]"],
  [
    "STRUCT(a DOUBLE, b STRUCT(c INTEGER)[])",
    "{'a': 'nan'::DOUBLE, 'b': [{'c': NULL}, NULL]}",
    "{'a': 'nan'::DOUBLE, 'b': [{'c': NULL}, NULL]}",
  ],
  ["INTERVAL", "INTERVAL 1 MONTH", "INTERVAL 1 MONTH"],
] as const;
for (const [type, before, now] of equalValues) {
  test(`[LF10] a ${type} that is written anew and is equal did not change`, async () => {
    const table = await tableOf({ v: type }, `SELECT ${before}`);
    await update(table, now, "true");
    const scan = table.scan(2 as SnapshotId, 3 as SnapshotId);
    assert.deepEqual(await lake.rows(removedSql(scan, table.options(scan))), []);
    assert.deepEqual(await lake.rows(addedSql(scan, table.options(scan))), []);
  });
}

const otherValues = [
  ["INTERVAL", "INTERVAL 30 DAY", "INTERVAL 1 MONTH"],
  ["INTERVAL[]", "[INTERVAL 30 DAY]", "[INTERVAL 1 MONTH]"],
  ["VARCHAR", "''", "NULL"],
  ["INTEGER[]", "[NULL]", "[]"],
  ["STRUCT(a INTEGER)", "{'a': NULL}", "NULL"],
  ["DOUBLE", "'nan'::DOUBLE", "'inf'::DOUBLE"],
] as const;
for (const [type, before, now] of otherValues) {
  test(`[LF10] from ${before} to ${now} is a change of ${type}`, async () => {
    const table = await tableOf({ v: type }, `SELECT ${before}`);
    await update(table, now, "true");
    const scan = table.scan(2 as SnapshotId, 3 as SnapshotId);
    const [removed, added] = [
      await lake.rows(removedSql(scan, table.options(scan))),
      await lake.rows(addedSql(scan, table.options(scan))),
    ];
    assert.deepEqual(
      [removed.length, added.length, removed[0]?.[0], added[0]?.[0]],
      [1, 1, "0", "0"],
    );
  });
}

test("[LF1] [LF10] both sides of a change have the columns of its end", async () => {
  const table = await tableOf({ id: "BIGINT", old: "VARCHAR" }, "SELECT i, 'x' FROM range(3) r(i)");
  const [id] = table.now.table.columns;
  assert.ok(id !== undefined);
  table.alter([
    { ...id, name: "key" },
    {
      name: "extra",
      type: "DATE",
      nullable: true,
      defaultValue: undefined,
      initialDefault: "DATE '2020-02-29'",
    },
  ]);
  await update(table, "key + 10, extra", "key = 1");
  await update(table, "key, extra", "key = 2");
  const scan = table.scan(2 as SnapshotId, table.now.snapshot);
  assert.deepEqual(await lake.rows(removedSql(scan, table.options(scan))), [
    ["1", "1", "2020-02-29"],
  ]);
  assert.deepEqual(await lake.rows(addedSql(scan, table.options(scan))), [
    ["1", "11", "2020-02-29"],
  ]);
});

test("[LF17] files older than a dropped column are rewritten, not merged: the past still has it", async () => {
  const table = await tableOf({ id: "BIGINT", old: "VARCHAR" }, "SELECT 1, 'a'", "SELECT 2, 'b'");
  table.alter(table.now.table.columns.slice(0, 1));
  const files = table.now.files.map(({ fileId }) => fileId);
  const change = await compactFiles({ version: table.now, files }, lake, never);
  assert.ok(change?.kind === "changeRows");
  assert.deepEqual(
    [change.added.length, change.added[0]?.rowSnapshots, change.ended],
    [1, undefined, files],
  );
  table.change(change);
  assert.deepEqual(await lake.rows(`SELECT _row_id, id FROM (${current(table)})`), [
    ["0", "1"],
    ["1", "2"],
  ]);
  const past = table.versions.get(3 as SnapshotId);
  assert.ok(past !== undefined);
  assert.deepEqual(await lake.rows(tableSql(past, table.options(past, false))), [
    ["1", "a"],
    ["2", "b"],
  ]);
});
