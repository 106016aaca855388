/** A sound catalog has no findings, and every planted error is found. */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { createSharedSqlite, openSimStore } from "../../../ground/store/index.ts";
import type { FileFacts, FoundFile, TableFacts } from "../core/check-file-facts.ts";
import { checkLake } from "../core/check-lake.ts";
import type { TableId } from "../core/model.ts";
import type { LakeRows } from "../core/rows.ts";
import { ModelLake } from "../testing/model-lake.ts";
import { LakeStore } from "./lake-store.ts";
import { readLakeRows } from "./read-lake-rows.ts";

describe("the consistency check", () => {
  let rows: LakeRows;
  let facts: ReadonlyMap<string, FileFacts>;
  before(async () => {
    const store = openSimStore({ database: createSharedSqlite(() => 1_000) });
    const catalog = new LakeStore({ store, prng: createPrng("check") });
    await catalog.declareDataPath("s3://bucket/lake");
    const lake = new ModelLake(catalog);
    const column = { name: "v", type: "BIGINT", nullable: true, defaultValue: undefined };
    const create = { kind: "createTable", schema: "main", orReplace: false, files: [] } as const;
    const { tableIds, columns } = await lake.commit([
      { ...create, name: "a", columns: [column] },
      { ...create, name: "b", columns: [column] },
    ]);
    const tableId = tableIds[0] as TableId;
    const table = { path: "main/a/", columns: columns[0] ?? [] };
    const added = [lake.writeFile(table, [1, 2, 3]), lake.writeFile(table, [null, 5])];
    const empty = {
      kind: "changeRows",
      tableId,
      added: [],
      deletes: [],
      ended: [],
      isCompaction: false,
    } as const;
    const { snapshot } = await lake.commit([{ ...empty, added }]);
    const version = await catalog.version(tableId, snapshot);
    const gone = lake.read(version).slice(0, 1);
    await lake.commit([{ ...empty, ...lake.writeDeletes(version, gone, undefined) }]);
    await lake.commit([{ kind: "renameTable", tableId, name: "c" }]);
    rows = await store.read(readLakeRows);
    facts = lake.facts();
    await store.close();
  });

  const tables = new Map<number, TableFacts>();

  test("[LK40] a sound catalog has no problems", () => {
    assert.deepEqual(checkLake(rows, { files: facts, tables }), []);
  });

  type Table = keyof LakeRows;
  /** Changes the row at `index` of a table. */
  function plant(table: Table, index: number, patch: object): LakeRows {
    const own = rows[table] as readonly object[];
    assert.ok(index < own.length, `${table} has a row ${index}`);
    return { ...rows, [table]: own.map((row, at) => (at === index ? { ...row, ...patch } : row)) };
  }
  function again(table: Table, index: number, patch: object): LakeRows {
    const own = rows[table] as readonly object[];
    return { ...rows, [table]: [...own, { ...own[index], ...patch }] };
  }
  function without(table: Table, index: number): LakeRows {
    const own = rows[table] as readonly object[];
    return { ...rows, [table]: own.filter((_, at) => at !== index) };
  }

  const planted: readonly [name: string, make: () => LakeRows, problem: RegExp][] = [
    [
      "a NULL",
      () => plant("ducklake_data_file", 0, { file_size_bytes: null }),
      /file_size_bytes is NULL/,
    ],
    [
      "a wrong type",
      () => plant("ducklake_snapshot", 0, { next_file_id: "x" }),
      /not a whole number/,
    ],
    ["a wrong time", () => plant("ducklake_snapshot", 0, { snapshot_time: "now" }), /not a time/],
    ["a wrong UUID", () => plant("ducklake_table", 0, { table_uuid: "x" }), /not a UUID/],
    ["a wrong flag", () => plant("ducklake_column", 0, { nulls_allowed: 2 }), /not a flag/],
    ["a version", () => plant("ducklake_metadata", 0, { value: "1.1" }), /version is 1.1/],
    ["no data path", () => without("ducklake_metadata", 4), /data_path is there 0 times/],
    [
      "time that goes back",
      () => plant("ducklake_snapshot", 4, { snapshot_time: "1970-01-01 00:00:00.000+00" }),
      /snapshot_time of snapshot 4/,
    ],
    [
      "changes that cannot be read",
      () => plant("ducklake_snapshot_changes", 1, { changes_made: "x:1" }),
      /cannot be read/,
    ],
    ["a snapshot without changes", () => without("ducklake_snapshot_changes", 1), /does not say/],
    ["changes without a snapshot", () => without("ducklake_snapshot", 2), /which is not there/],
    [
      "a row of the future",
      () => plant("ducklake_data_file", 0, { begin_snapshot: 9 }),
      /begins with 9/,
    ],
    [
      "a range backwards",
      () => plant("ducklake_data_file", 0, { end_snapshot: 1 }),
      /snapshots 2 to 1/,
    ],
    [
      "an id not given yet",
      () => plant("ducklake_data_file", 1, { data_file_id: 70 }),
      /id that was not given/,
    ],
    [
      "a table id not given yet",
      () => again("ducklake_table", 0, { table_id: 50, table_name: "z" }),
      /50 has an id/,
    ],
    [
      "one file id twice",
      () => plant("ducklake_delete_file", 0, { delete_file_id: 1 }),
      /file id 1 is there twice/,
    ],
    [
      "two tables of a name",
      () => plant("ducklake_table", 1, { table_name: "A" }),
      /two tables are named/,
    ],
    ["a table in no schema", () => plant("ducklake_table", 1, { schema_id: 9 }), /in no schema/],
    ["a table that moved", () => plant("ducklake_table", 2, { path: "x/" }), /UUID or its path/],
    ["no columns", () => without("ducklake_column", 1), /has no columns/],
    ["a column of no table", () => again("ducklake_column", 0, { table_id: 9 }), /no such table/],
    ["a column twice", () => again("ducklake_column", 0, { column_name: "w" }), /there twice/],
    ["a type", () => plant("ducklake_column", 0, { column_type: "enum" }), /has the type enum/],
    [
      "a part of nothing",
      () => again("ducklake_column", 0, { column_id: 2, parent_column: 7 }),
      /part of no column/,
    ],
    ["no schema version", () => without("ducklake_schema_versions", 0), /no schema version/],
    ["a file of no table", () => plant("ducklake_data_file", 1, { table_id: 9 }), /of no table/],
    [
      "a file older than its table",
      () => plant("ducklake_data_file", 1, { begin_snapshot: 0 }),
      /older than its table/,
    ],
    ["an empty file", () => plant("ducklake_data_file", 1, { record_count: 0 }), /has 0 rows/],
    ["a partial file", () => plant("ducklake_data_file", 1, { partial_max: 1 }), /begins after it/],
    ["shared row ids", () => plant("ducklake_data_file", 1, { row_id_start: 2 }), /share row ids/],
    [
      "row ids not given yet",
      () => plant("ducklake_table_stats", 0, { next_row_id: 4 }),
      /the next is 4/,
    ],
    [
      "two delete files",
      () => again("ducklake_delete_file", 0, { delete_file_id: 0, path: "x" }),
      /two delete files/,
    ],
    [
      "deletes of nothing",
      () => plant("ducklake_delete_file", 0, { data_file_id: 9 }),
      /of no data file/,
    ],
    [
      "too many deletes",
      () => plant("ducklake_delete_file", 0, { delete_count: 4 }),
      /deletes 4 of 3/,
    ],
    [
      "a delete file that stays when its data file ends",
      () => plant("ducklake_data_file", 0, { end_snapshot: 4 }),
      /delete file \d+ is there, its data file has ended/,
    ],
    [
      "one path twice",
      () => plant("ducklake_data_file", 1, { path: "f2.parquet" }),
      /two files are main\/a\/f2.parquet/,
    ],
    [
      "a file that is to be deleted",
      () => ({
        ...rows,
        ducklake_files_scheduled_for_deletion: [
          {
            data_file_id: 0,
            path: "main/a/f2.parquet",
            path_is_relative: 1,
            schedule_start: "1970-01-01 00:00:00+00",
          },
        ],
      }),
      /to be deleted, and in use/,
    ],
    [
      "statistics of no file",
      () => plant("ducklake_file_column_stats", 0, { data_file_id: 9 }),
      /no such file/,
    ],
    [
      "statistics of no column",
      () => plant("ducklake_file_column_stats", 0, { column_id: 9 }),
      /no such column/,
    ],
    [
      "statistics that are not there",
      () => without("ducklake_file_column_stats", 0),
      /no statistics of column v/,
    ],
    ["counts", () => plant("ducklake_file_column_stats", 0, { null_count: 1 }), /count 4 values/],
    [
      "bounds of a file",
      () => plant("ducklake_file_column_stats", 0, { min_value: "9" }),
      /is above the greatest/,
    ],
    [
      "no statistics of a table",
      () => without("ducklake_table_stats", 0),
      /files and no statistics/,
    ],
    [
      "the count of a table",
      () => plant("ducklake_table_stats", 0, { record_count: 3 }),
      /counts 3 rows/,
    ],
    [
      "bounds of a table",
      () => ({
        ...plant("ducklake_table_column_stats", 0, { max_value: "6" }),
        ducklake_delete_file: [],
      }),
      /bounds are 1 to 6/,
    ],
    [
      "NULLs of a table",
      () => ({
        ...plant("ducklake_table_column_stats", 0, { contains_null: 0 }),
        ducklake_delete_file: [],
      }),
      /there are NULLs/,
    ],
  ];
  for (const [name, make, problem] of planted) {
    test(`[LK40] planted: ${name}`, () => {
      const problems = checkLake(make(), undefined);
      assert.ok(
        problems.some((text) => problem.test(text)),
        JSON.stringify(problems),
      );
    });
  }

  const [data, deletes] = ["main/a/f2.parquet", "main/a/f5-delete.parquet"];
  const counts = { columnId: 1, valueCount: 3, nullCount: 0, containsNan: undefined };
  const numbers = { count: 3, distinctCount: 3, min: 0, max: 2 };
  const lies: readonly [name: string, path: string, patch: object, problem: RegExp][] = [
    ["rows", data, { recordCount: 4 }, /f2.parquet: the catalog says record_count: 3, .* has 4/],
    ["bytes", data, { sizeBytes: 4 }, /size: 100, the file has 4/],
    ["footer", data, { footerSize: 4 }, /footer_size: 10, the file has 4/],
    [
      "bounds",
      data,
      { columns: [{ ...counts, min: "0", max: "3" }] },
      /min of column v is 1, really 0/,
    ],
    [
      "counts",
      data,
      { columns: [{ ...counts, valueCount: 2, nullCount: 1, min: "1", max: "3" }] },
      /null_count of column v/,
    ],
    ["row ids", data, { rowIds: { ...numbers, distinctCount: 2 } }, /3 rows have 2 ids/],
    ["high row ids", data, { rowIds: { ...numbers, max: 9 } }, /0 to 9, the table's next is 5/],
    ["kind", data, { kind: "delete" }, /is not a data file/],
    ["deletes", deletes, { recordCount: 2 }, /delete_count: 1, the file has 2/],
    ["positions", deletes, { positionMax: 3 }, /beyond its data file/],
    ["negative positions", deletes, { positionMin: -1 }, /a position -1/],
    ["order", deletes, { isIncreasing: false }, /not in order/],
    ["data file", deletes, { dataPaths: ["x"] }, /is of x, the catalog says of main\/a\/f2/],
    [
      "content",
      data,
      { kind: "unreadable", why: "no footer" },
      /f2.parquet: it cannot be read: no footer/,
    ],
  ];
  for (const [name, path, patch, problem] of lies) {
    test(`[LK41] a file that differs in its ${name} is found`, () => {
      const known = facts.get(path);
      assert.ok(known !== undefined, [...facts.keys()].join());
      const files = new Map(facts).set(path, { ...known, ...patch } as FileFacts);
      const problems = checkLake(rows, { files, tables });
      assert.ok(
        problems.some((text) => problem.test(text)),
        JSON.stringify(problems),
      );
    });
  }

  test("[LK41] a delete file may name its data file by its whole path, as DuckLake's extension does", () => {
    const check = (...dataPaths: readonly string[]): string => {
      const known = { ...facts.get(deletes), dataPaths } as FileFacts;
      return checkLake(rows, { files: new Map([...facts, [deletes, known]]), tables }).join();
    };
    assert.equal(check("/srv/lake/main/a/f2.parquet"), "");
    assert.equal(check("s3://bucket/lake/main/a/f2.parquet"), "");
    assert.match(check("/srv/lake/main/a/f3.parquet"), /is of \/srv\/lake\/main\/a\/f3.parquet/);
    assert.match(check("/srv/lake/domain/a/f2.parquet"), /is of /);
  });

  test("[LK41] every figure that is shown is compared with what the files hold", () => {
    const sizeBytes = [...facts.values()].reduce((sum, file) => sum + file.sizeBytes, 0);
    const real = { rowCount: 4, sizeBytes, fileCount: 3 };
    const check = (patch: Partial<typeof real>): string =>
      checkLake(rows, {
        files: facts,
        tables,
        shown: new Map([[1, { ...real, ...patch }]]),
      }).join();
    assert.equal(check({}), "");
    assert.equal(check({ rowCount: -610 }), "table c is shown with -610 rows, really 4");
    assert.match(check({ sizeBytes: 1 }), /is shown with 1 bytes, really /);
    assert.match(check({ fileCount: 4 }), /is shown with 4 files, really 3/);
  });

  test("[LK41] a NaN that the catalog does not know is found", () => {
    const nan = plant("ducklake_file_column_stats", 0, { contains_nan: 0 });
    const column = { ...counts, min: "1", max: "3", containsNan: true };
    const known = { ...facts.get(data), columns: [column] } as FileFacts;
    const problems = checkLake(nan, { files: new Map([[data, known]]), tables });
    assert.match(problems.join(), /a NaN in column v, the catalog says none/);
  });

  test("[LK41] rows of snapshots that a merged file does not have are found", () => {
    const merged = plant("ducklake_data_file", 0, { partial_max: 3, row_id_start: null });
    const check = (rowSnapshots: object | undefined): string => {
      const known = { ...facts.get(data), rowIds: numbers, rowSnapshots } as FileFacts;
      return checkLake(merged, { files: new Map([[data, known]]), tables }).join();
    };
    assert.equal(check({ ...numbers, min: 2, max: 3 }), "");
    assert.match(check({ ...numbers, min: 1, max: 3 }), /1 to 3, the catalog says 2 to 3/);
    assert.match(check(undefined), /do not all say their snapshot/);
  });

  test("[LK41] a table that reads otherwise than its rows say is found", () => {
    const read = (rowCount: number, rowIdCount: number): string =>
      checkLake(rows, { files: facts, tables: new Map([[1, { rowCount, rowIdCount }]]) }).join();
    assert.equal(read(4, 4), "");
    assert.equal(read(5, 5), "table c reads as 5 rows, the catalog says 4");
    assert.equal(read(4, 3), "the 4 rows of table c have 3 ids");
  });

  test("[LK41] a file that is not there is found", () => {
    const files = new Map<string, FoundFile>([...facts, [data, { kind: "missing" }]]);
    assert.deepEqual(checkLake(rows, { files, tables }), ["main/a/f2.parquet is not there"]);
  });
});
