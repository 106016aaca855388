/** Random tables and histories, compared at every version and change with a model in memory. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc, { type GeneratorValue } from "fast-check";
import { quoteName } from "../../sql/core/index.ts";
import type { LakeColumn, NewColumn, SnapshotId, TableVersion } from "../core/index.ts";
import { compactFiles } from "./compact.ts";
import type { LakeWriter } from "./lake-writer.ts";
import { addedSql, removedSql, tableSql } from "./relation-sql.ts";
import { columnName, literalOf, typeNames } from "./testing/random-values.ts";
import { never, openTestLake, type TestLake } from "./testing/test-lake.ts";
import { TestTable } from "./testing/test-table.ts";

let lake: TestLake;
let writer: LakeWriter;
before(async () => {
  lake = await openTestLake("la[k]e *'s");
  writer = lake.writerOf({ movedFilesMin: 2 });
});
after(() => lake.close());

/** Row ids mapped to values in DuckDB's notation, by column id. */
type Rows = ReadonlyMap<string, ReadonlyMap<number, string | null>>;

class History {
  readonly table: TestTable;
  readonly model = new Map<SnapshotId, Rows>();
  readonly #random: GeneratorValue;
  #nextRowId = 0;

  constructor(random: GeneratorValue) {
    this.#random = random;
    this.table = new TestTable(lake.root, this.#newColumns(this.#below(4) + 1, []));
    this.model.set(1 as SnapshotId, new Map());
  }

  get rows(): Rows {
    return this.model.get(this.table.now.snapshot) ?? new Map();
  }

  async step(): Promise<string> {
    const kind = this.#random(
      fc.constantFrom,
      "insert",
      "insert",
      "delete",
      "delete",
      "update",
      "alter",
      "compact",
      "compact",
    );
    switch (kind) {
      case "insert":
        await this.#insert();
        break;
      case "delete":
        await this.#delete();
        break;
      case "update":
        await this.#update();
        break;
      case "alter":
        await this.#alter();
        break;
      default:
        await this.#compact();
    }
    return kind;
  }

  async #insert(): Promise<void> {
    const { columns } = this.table.now.table;
    const count = this.#below(6) + 1;
    const lines = Array.from(
      { length: count },
      () => `(${columns.map((column) => this.#literal(column)).join(", ")})`,
    );
    const select = `SELECT * FROM (VALUES ${lines.join(", ")}) -- the end`;
    const rows = new Map(this.rows);
    for (const values of await this.#texts(`${select}\n`, columns.length)) {
      rows.set(
        String(this.#nextRowId),
        new Map(columns.map(({ columnId }, at) => [columnId, values[at] ?? null])),
      );
      this.#nextRowId += 1;
    }
    const added = await lake.writer.writeRows(
      { select, table: this.table.now.table, rowIds: "fresh" },
      never,
    );
    this.#committed({ added }, rows);
  }

  async #delete(): Promise<void> {
    const ids = this.#someRowIds();
    const written = await writer.writeDeletes(this.#deletesOf(ids), never);
    assert.equal(written.deletedCount, ids.length);
    const rows = new Map(this.rows);
    for (const id of ids) rows.delete(id);
    if (ids.length > 0) this.#committed(written, rows);
  }

  async #update(): Promise<void> {
    const ids = this.#someRowIds();
    const { columns } = this.table.now.table;
    const changed = columns[this.#below(columns.length)];
    if (ids.length === 0 || changed === undefined) return;
    const literal = this.#literal(changed);
    const values = columns.map((column) => (column === changed ? literal : quoteName(column.name)));
    const select = `SELECT _row_id, ${values.join(", ")} FROM (${this.#current()}) WHERE _row_id IN (${ids.join(", ")})`;
    const added = await lake.writer.writeRows(
      { select, table: this.table.now.table, rowIds: "inFile" },
      never,
    );
    const written = await writer.writeDeletes(this.#deletesOf(ids), never);
    const [[text = null] = []] = await this.#texts(`SELECT ${literal}`, 1);
    const rows = new Map(this.rows);
    for (const id of ids)
      rows.set(id, new Map([...(rows.get(id) ?? []), [changed.columnId, text]]));
    this.#committed({ ...written, added }, rows);
  }

  async #alter(): Promise<void> {
    const { columns } = this.table.now.table;
    const at = this.#below(columns.length);
    const rows = new Map(this.rows);
    const kind = this.#random(fc.constantFrom, "add", "drop", "rename");
    if (kind === "add") {
      const [column] = this.#newColumns(1, columns);
      const initialDefault = this.#literal(column as NewColumn);
      const [[text = null] = []] = await this.#texts(`SELECT ${initialDefault}`, 1);
      this.table.alter([...columns, { ...(column as NewColumn), initialDefault }]);
      const columnId = this.table.now.table.columns.at(-1)?.columnId ?? 0;
      for (const [id, row] of rows) rows.set(id, new Map([...row, [columnId, text]]));
    } else if (kind === "drop" && columns.length > 1) {
      this.table.alter(columns.toSpliced(at, 1));
    } else {
      const [{ name = "" } = {}] = this.#newColumns(1, columns);
      this.table.alter(columns.map((column, each) => (each === at ? { ...column, name } : column)));
    }
    this.model.set(this.table.now.snapshot, rows);
  }

  async #compact(): Promise<void> {
    const version = this.table.now;
    const files = version.files.filter(() => this.#below(4) > 0).map(({ fileId }) => fileId);
    const change = await compactFiles({ version, files }, lake, never);
    if (change?.kind === "changeRows") this.#committed(change, this.rows);
  }

  #committed(change: Parameters<TestTable["change"]>[0], rows: Rows): void {
    this.table.change(change);
    this.model.set(this.table.now.snapshot, rows);
  }

  #current(): string {
    return tableSql(this.table.now, this.table.options(this.table.now));
  }

  #deletesOf(ids: readonly string[]): Parameters<typeof lake.writer.writeDeletes>[0] {
    const select = `SELECT _file_id, _position FROM (${this.#current()}) WHERE _row_id IN (${["-1", ...ids].join(", ")})`;
    const asSnapshot = this.#random(fc.boolean) ? { asSnapshot: this.table.nextSnapshot } : {};
    const { localPaths } = this.table.options(this.table.now);
    return { version: this.table.now, localPaths, select, ...asSnapshot };
  }

  #someRowIds(): readonly string[] {
    const all = this.#below(4) === 0;
    return [...this.rows.keys()].filter(() => all || this.#below(2) === 0);
  }

  #newColumns(count: number, beside: readonly { readonly name: string }[]): readonly NewColumn[] {
    const taken = new Set(beside.map(({ name }) => name.toLowerCase()));
    return Array.from({ length: count }, () => {
      let name = this.#random(() => columnName);
      while (taken.has(name.toLowerCase())) name += "_";
      taken.add(name.toLowerCase());
      const type = this.#random(fc.constantFrom, ...typeNames);
      return { name, type, nullable: true, defaultValue: undefined };
    });
  }

  #literal({ type }: Pick<LakeColumn, "type">): string {
    return `CAST(${this.#random(literalOf, type)} AS ${type})`;
  }

  #below(bound: number): number {
    return this.#random(fc.integer, { min: 0, max: bound - 1 });
  }

  /** The values of a SELECT in DuckDB's notation, before any file is written. */
  async #texts(select: string, width: number): Promise<readonly (readonly (string | null)[])[]> {
    const names = Array.from({ length: width }, (_, at) => `v${at}`);
    const casts = names.map((name) => `CAST(${name} AS VARCHAR)`).join(", ");
    return (await lake.rows(
      `SELECT ${casts} FROM (${select}) AS r(${names.join(", ")})`,
    )) as readonly (readonly (string | null)[])[];
  }
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Sorted lines of a row id and its values. */
async function linesOf(sql: string, columns: readonly LakeColumn[]): Promise<readonly string[]> {
  const casts = columns.map(({ name }) => `CAST(${quoteName(name)} AS VARCHAR)`);
  const rows = await lake.rows(`SELECT _row_id, ${casts.join(", ")} FROM (${sql})`);
  return rows.map((row) => JSON.stringify(row)).toSorted(byText);
}

function modelLines(rows: Rows, columns: readonly LakeColumn[]): readonly string[] {
  return [...rows]
    .map(([id, row]) =>
      JSON.stringify([id, ...columns.map(({ columnId }) => row.get(columnId) ?? null)]),
    )
    .toSorted(byText);
}

async function assertVersion(history: History, version: TableVersion): Promise<void> {
  const { columns } = version.table;
  const options = history.table.options(version);
  const want = modelLines(history.model.get(version.snapshot) ?? new Map(), columns);
  assert.deepEqual(await linesOf(tableSql(version, options), columns), want);
  const described = await lake.rows(`DESCRIBE ${tableSql(version, { ...options, rowIds: false })}`);
  assert.deepEqual(
    described.map(([name, type]) => [name, type]),
    columns.map(({ name, type }) => [name, type]),
  );
}

async function assertChange(history: History, from: SnapshotId, to: SnapshotId): Promise<void> {
  const scan = history.table.scan(from, to);
  const { columns } = scan.after;
  const before = new Set(modelLines(history.model.get(from) ?? new Map(), columns));
  const now = new Set(modelLines(history.model.get(to) ?? new Map(), columns));
  // A row older than a column has its default, which the row at `to` shows if it still exists.
  const options = history.table.options(scan);
  if (scan.sameColumns) {
    assert.deepEqual(
      await linesOf(removedSql(scan, options), columns),
      [...before].filter((line) => !now.has(line)),
    );
    assert.deepEqual(
      await linesOf(addedSql(scan, options), columns),
      [...now].filter((line) => !before.has(line)),
    );
  } else {
    const ids = (lines: readonly string[]): readonly string[] =>
      lines.map((line) => (JSON.parse(line) as string[])[0] ?? "");
    const [removed, added] = [
      ids(await linesOf(removedSql(scan, options), columns)),
      ids(await linesOf(addedSql(scan, options), columns)),
    ];
    const old = history.model.get(from) ?? new Map();
    const left = [...old.keys()]
      .filter((id) => !removed.includes(id))
      .concat(added)
      .toSorted(byText);
    assert.deepEqual(left, [...(history.model.get(to) ?? new Map()).keys()].toSorted(byText));
  }
}

test("[LF1] [LF2] [LF4] [LF5] [LF10] [LF17] any history reads as it was written, at every snapshot, and its changes are exact", async () => {
  const stepsOf: string[] = [];
  await fc.assert(
    fc.asyncProperty(fc.gen(), fc.integer({ min: 3, max: 9 }), async (random, steps) => {
      const history = new History(random);
      for (let at = 0; at < steps; at += 1) {
        stepsOf.push(await history.step());
        await assertVersion(history, history.table.now);
      }
      for (const version of history.table.versions.values()) await assertVersion(history, version);
      const last = history.table.now.snapshot;
      for (let from = 1; from < last; from += 1) {
        await assertChange(history, from as SnapshotId, last);
        await assertChange(history, from as SnapshotId, (from + 1) as SnapshotId);
      }
    }),
    { numRuns: Number(process.env.LAKE_RUNS ?? 25), endOnFailure: true },
  );
});
