/** Random histories of a lake on the real catalog, compared with a plain model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { createSharedSqlite, openSimStore, type Store } from "../../../ground/store/index.ts";
import { checkLake } from "../core/check-lake.ts";
import type { FileId, SnapshotId, TableId, TableVersion } from "../core/model.ts";
import { ModelLake, type PlacedRow, type Rows, rowsOf, type Value } from "../testing/model-lake.ts";
import { LakeStore } from "./lake-store.ts";
import { readLakeRows } from "./read-lake-rows.ts";
import { LakeUpkeep } from "./upkeep.ts";

const kinds = [
  "create",
  "insert",
  "insert",
  "delete",
  "delete",
  "update",
  "update",
  "replace",
  "merge",
  "rewrite",
  "renameTable",
  "addColumn",
  "dropColumn",
  "renameColumn",
  "drop",
  "expire",
] as const;

const stepArbitrary = fc.record({
  kind: fc.constantFrom(...kinds),
  /** Selects table, rows and snapshots by remainder. */
  choice: fc.nat(1_000),
  salt: fc.nat(1_000),
  values: fc.array(fc.option(fc.integer({ min: -50, max: 50 })), { minLength: 1, maxLength: 6 }),
  withSnapshots: fc.boolean(),
});
type Step = typeof stepArbitrary extends fc.Arbitrary<infer T> ? T : never;

test("[LK1, LK2, LK10, LK20, LK30] any history: every snapshot, every change and every figure is the model's", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArbitrary, { minLength: 1, maxLength: 25 }), runHistory),
    { numRuns: Number(process.env.LAKE_HISTORIES ?? 70) },
  );
});

async function runHistory(steps: readonly Step[]): Promise<void> {
  let nowMs = 1_000_000;
  const database = createSharedSqlite(() => {
    nowMs += 1;
    return nowMs;
  });
  const store = openSimStore({ database });
  const catalog = new LakeStore({ store, prng: createPrng("model") });
  await catalog.declareDataPath("/lake");
  const lake = new ModelLake(catalog);
  for (const step of steps) await runStep(lake, store, step);
  await checkEverything(lake, store);
  await store.close();
  database.connection.close();
}

async function runStep(lake: ModelLake, store: Store, step: Step): Promise<void> {
  const { catalog } = lake;
  const tables = await catalog.tables();
  const current = (await catalog.current()).snapshot;
  const table = tables[step.choice % Math.max(1, tables.length)];
  if (step.kind === "create" || table === undefined) {
    const orReplace = step.choice % 2 === 0;
    const name = `t${step.salt % 3}`;
    const taken = tables.find((other) => other.name === name);
    if (taken !== undefined && !orReplace) return;
    const columns = [{ name: "v", type: "BIGINT", nullable: true, defaultValue: undefined }];
    const numbered = columns.map((column) => ({
      ...column,
      columnId: 1,
      initialDefault: undefined,
    }));
    const path = `main/${lake.newName()}/`;
    const files = step.withSnapshots
      ? [lake.writeFile({ path, columns: numbered }, step.values)]
      : [];
    const { snapshot, tableIds } = await lake.commit([
      { kind: "createTable", schema: "main", name, columns, files, orReplace, path },
    ]);
    if (taken !== undefined) lake.expect(snapshot, taken.tableId, undefined);
    const rows = step.withSnapshots ? step.values.map((value, id) => [id, value] as const) : [];
    lake.expect(snapshot, tableIds[0] as TableId, new Map(rows));
    return;
  }
  const { tableId } = table;
  const version = await catalog.version(tableId, current);
  const placed = lake.read(version);
  const rows = rowsOf(placed);
  const same = (snapshot: SnapshotId): void => lake.expect(snapshot, tableId, rows);
  const chosen = placed.filter(({ rowId }) => (rowId * 7 + step.salt) % 3 === 0);
  const as = step.withSnapshots ? ((current + 1 + (step.choice % 3)) as SnapshotId) : undefined;
  const asSnapshot = as === undefined ? {} : { asSnapshot: as };
  switch (step.kind) {
    case "insert": {
      const files = [
        lake.writeFile(table, step.values),
        lake.writeFile(table, step.values.slice(0, 1)),
      ];
      const nextRowId = await nextRowIdOf(store, tableId);
      const added = [...step.values, ...step.values.slice(0, 1)];
      const { snapshot } = await lake.commit([rowChange(tableId, { added: files })]);
      const more = added.map((value, index) => [nextRowId + index, value] as const);
      lake.expect(snapshot, tableId, new Map([...rows, ...more]));
      return;
    }
    case "delete": {
      const { deletes, ended } = lake.writeDeletes(version, chosen, as);
      const { snapshot } = await lake.commit([rowChange(tableId, { deletes, ended })], asSnapshot);
      const gone = new Set(chosen.map(({ rowId }) => rowId));
      if (chosen.length > 0) lake.expect(snapshot, tableId, without(rows, gone));
      return;
    }
    case "update": {
      if (chosen.length === 0) return;
      const { deletes, ended } = lake.writeDeletes(version, chosen, as);
      const ids = chosen.map(({ rowId }) => rowId);
      const values = chosen.map(({ value }): Value => (value ?? 0) + 1);
      const added = [lake.writeFile(table, values, ids)];
      const { snapshot } = await lake.commit(
        [rowChange(tableId, { added, deletes, ended })],
        asSnapshot,
      );
      lake.expect(
        snapshot,
        tableId,
        new Map([...rows, ...ids.map((id, i) => [id, values[i] as Value] as const)]),
      );
      return;
    }
    case "replace": {
      const nextRowId = await nextRowIdOf(store, tableId);
      const ended = version.files.map(({ fileId }) => fileId);
      const added = [lake.writeFile(table, step.values)];
      const { snapshot } = await lake.commit([rowChange(tableId, { added, ended })]);
      lake.expect(
        snapshot,
        tableId,
        new Map(step.values.map((value, i) => [nextRowId + i, value])),
      );
      return;
    }
    case "merge": {
      const sources = await mergeable(lake, store, version);
      if (sources.length < 2) return;
      const ids = new Set(sources.map(({ fileId }) => fileId));
      const own = placed.filter(({ file }) => ids.has(file.fileId));
      const added = [writePlaced(lake, version, own, true)];
      const change = rowChange(tableId, { added, ended: [...ids], isCompaction: true });
      same((await lake.commit([change])).snapshot);
      return;
    }
    case "rewrite": {
      const sources = version.files.filter(({ fileId }) => (fileId + step.salt) % 2 === 0);
      const ids = new Set(sources.map(({ fileId }) => fileId));
      if (ids.size === 0) return;
      const own = placed.filter(({ file }) => ids.has(file.fileId));
      const added = own.length === 0 ? [] : [writePlaced(lake, version, own, false)];
      const change = rowChange(tableId, { added, ended: [...ids], isCompaction: true });
      same((await lake.commit([change])).snapshot);
      return;
    }
    case "renameTable": {
      const name = `r${step.salt % 3}`;
      if (tables.some((other) => other.name === name)) return;
      same((await lake.commit([{ kind: "renameTable", tableId, name }])).snapshot);
      return;
    }
    case "addColumn": {
      const name = `c${step.salt % 4}`;
      if (table.columns.some((column) => column.name === name)) return;
      const column = { name, type: "BIGINT", nullable: true, defaultValue: undefined };
      const change = { kind: "addColumn", tableId, column, initialDefault: undefined } as const;
      same((await lake.commit([change])).snapshot);
      return;
    }
    case "dropColumn":
    case "renameColumn": {
      const columnId = table.columns[1 + (step.salt % 3)]?.columnId;
      const name = `n${step.salt % 5}`;
      if (columnId === undefined || table.columns.some((column) => column.name === name)) return;
      const { kind } = step;
      const change =
        kind === "dropColumn" ? { kind, tableId, columnId } : { kind, tableId, columnId, name };
      same((await lake.commit([change])).snapshot);
      return;
    }
    case "drop": {
      const { snapshot } = await lake.commit([{ kind: "dropTable", tableId }]);
      lake.expect(snapshot, tableId, undefined);
      return;
    }
    case "expire":
      await expireSome(lake, store, step);
      return;
  }
}

async function expireSome(lake: ModelLake, store: Store, step: Step): Promise<void> {
  const upkeep = new LakeUpkeep({ store });
  const pinned = step.choice % 2 === 0 ? (await lake.catalog.snapshots(1))[0]?.snapshot : undefined;
  if (pinned !== undefined) await lake.catalog.pin("cursor", 1 as TableId, pinned);
  const gone = (await lake.catalog.snapshots(1_000))
    .map(({ snapshot }) => snapshot)
    .filter((snapshot) => (snapshot + step.salt) % 3 !== 0);
  await upkeep.expire(gone, 1_000_000);
  const kept = new Set<number>(
    (await lake.catalog.snapshots(1_000)).map(({ snapshot }) => snapshot),
  );
  for (const snapshot of lake.expected.keys())
    if (!kept.has(snapshot)) lake.expected.delete(snapshot);
  // Deletes scheduled files: nothing may need them.
  const { scheduled } = await upkeep.facts();
  for (const { path } of scheduled) {
    assert.ok(lake.files.delete(path) || lake.deleteFiles.delete(path), `${path} was a file`);
  }
  await upkeep.forget(scheduled.map(({ fileId }) => fileId));
}

async function checkEverything(lake: ModelLake, store: Store): Promise<void> {
  const rows = await store.read(readLakeRows);
  assert.deepEqual(checkLake(rows, { files: lake.facts(), tables: new Map() }), []);
  const snapshots = [...lake.expected.keys()].sort((a, b) => a - b) as SnapshotId[];
  for (const to of snapshots) {
    const tables = lake.expected.get(to);
    assert(tables !== undefined);
    const found = (await lake.catalog.tables(to)).map(({ tableId }) => tableId as number);
    assert.deepEqual(
      found.sort((a, b) => a - b),
      [...tables.keys()].sort((a, b) => a - b),
    );
    for (const [id, expected] of tables) {
      const tableId = id as TableId;
      const read = rowsOf(lake.read(await lake.catalog.version(tableId, to)));
      assert.deepEqual(sorted(read), sorted(expected), `table ${id} at ${to}`);
      for (const from of snapshots) {
        if (from <= to) await checkChanges(lake, tableId, from, to, expected);
      }
    }
  }
}

async function checkChanges(
  lake: ModelLake,
  tableId: TableId,
  from: SnapshotId,
  to: SnapshotId,
  after: Rows,
): Promise<void> {
  const before = lake.expected.get(from)?.get(tableId);
  const scan = await lake.catalog.changes(tableId, from, to);
  if (before === undefined) {
    assert.equal(scan, "gone");
    return;
  }
  assert(scan !== "gone", "a snapshot that is kept can be started from");
  const what = `table ${tableId} from ${from} to ${to}`;
  const removed = scan.removed.flatMap((part) => lake.readChanged(part));
  const added = scan.added.flatMap((part) => lake.readChanged(part));
  assert.ok(removed.length <= scan.removedMax && added.length <= scan.addedMax, what);
  assert.deepEqual(minus(removed, added), sorted(difference(before, after)), `${what}: removed`);
  assert.deepEqual(minus(added, removed), sorted(difference(after, before)), `${what}: added`);
  if (scan.isAppendOnly) assert.equal(difference(before, after).size, 0, what);
}

/** Rows of one list that are not in the other, as sorted texts without duplicates. */
function minus(rows: readonly PlacedRow[], others: readonly PlacedRow[]): readonly string[] {
  const gone = new Set(others.map(textOf));
  const left = rows.map(textOf).filter((text) => !gone.has(text));
  assert.equal(new Set(left).size, left.length, "no change is told twice");
  return left.sort(byText);
}

function textOf({ rowId, value }: { rowId: number; value: Value }): string {
  return `${rowId}=${value}`;
}

function difference(rows: Rows, others: Rows): Rows {
  return new Map([...rows].filter(([id, value]) => !others.has(id) || others.get(id) !== value));
}

function sorted(rows: Rows): readonly string[] {
  return [...rows].map(([rowId, value]) => textOf({ rowId, value })).sort(byText);
}

function without(rows: Rows, ids: ReadonlySet<number>): Rows {
  return new Map([...rows].filter(([id]) => !ids.has(id)));
}

function rowChange(
  tableId: TableId,
  change: Partial<{
    added: ReturnType<ModelLake["writeFile"]>[];
    deletes: ReturnType<ModelLake["writeDeletes"]>["deletes"];
    ended: FileId[];
    isCompaction: boolean;
  }>,
) {
  const empty = { added: [], deletes: [], ended: [], isCompaction: false };
  return { kind: "changeRows", tableId, ...empty, ...change } as const;
}

function writePlaced(
  lake: ModelLake,
  version: TableVersion,
  rows: readonly PlacedRow[],
  withSnapshots: boolean,
) {
  return lake.writeFile(
    version.table,
    rows.map(({ value }) => value),
    rows.map(({ rowId }) => rowId),
    withSnapshots ? rows.map(({ snapshot }) => snapshot) : undefined,
  );
}

/** Files with the current columns that no snapshot has deletes of. */
async function mergeable(lake: ModelLake, store: Store, version: TableVersion) {
  const { files } = await new LakeUpkeep({ store }).facts();
  const fit = new Set(
    files
      .filter((file) => file.row.table_id === version.table.tableId)
      .filter((file) => file.hasCurrentColumns && !file.hasDeletes)
      .map((file) => file.row.data_file_id),
  );
  assert(lake.files.size > 0 || fit.size === 0);
  return version.files.filter(({ fileId }) => fit.has(fileId));
}

async function nextRowIdOf(store: Store, tableId: TableId): Promise<number> {
  const row = await store.read(({ db }) =>
    db
      .selectFrom("ducklake_table_stats")
      .select("next_row_id")
      .where("table_id", "=", tableId)
      .executeTakeFirst(),
  );
  return row?.next_row_id ?? 0;
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
