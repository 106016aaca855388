/**
 * Reads a table of the lake: the rows that it has, and then those that are added, snapshot by
 * snapshot. Rows come in the order of their ids, which compaction keeps, so that a position is a
 * snapshot and an id. Streams are append-only: updates and deletes are an error, or are not looked
 * at. Rules: SU45 to SU47.
 */
import {
  type AddedRows,
  type LakeTable,
  rowsOfVersion,
  type SnapshotId,
  type TableId,
} from "../../../../data/lake/index.ts";
import { sleep } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { batchRowsMax, type RowStore } from "../../engine/core/index.ts";
import { DialectError, type Schema, type SourceOp } from "../../language/core/index.ts";
import type { Reading, SourceReader } from "../core/connector.ts";
import { type LakePosition, parseLakePosition } from "../core/lake-position.ts";
import { rowIdField } from "../core/lake-types.ts";
import { type CsvRows, openCsvRows } from "../lake/csv-rows.ts";
import type { FragmentLake } from "../lake/fragment-lake.ts";

export interface LakeReaderOptions {
  readonly op: SourceOp;
  readonly lake: FragmentLake;
  readonly from: string | undefined;
}

/** A step of reading: everything up to the snapshot `to`. */
interface Step {
  readonly to: SnapshotId;
  readonly table: LakeTable;
  readonly groups: AddedRows[];
}

export async function openLakeReader(options: LakeReaderOptions): Promise<SourceReader> {
  const { op, lake, from } = options;
  if (from !== undefined) return new LakeReader(options, parseLakePosition(from));
  const name = String(op.config.TABLE);
  const { table, snapshot } = await lake.calls.lakeTable(name);
  const start = String(op.config.START).toLowerCase();
  const at = start === "latest" ? snapshot : Number(start);
  const position = {
    table: table.tableId,
    from: start === "earliest" ? null : at,
    to: start === "earliest" ? snapshot : null,
    rowId: null,
  };
  return new LakeReader(options, position);
}

class LakeReader implements SourceReader {
  readonly bounded: boolean;
  readonly #op: SourceOp;
  readonly #lake: FragmentLake;
  readonly #schema: Schema;
  readonly #closed = new AbortController();
  #at: LakePosition;
  #step: Step | undefined;
  #rows: CsvRows | undefined;
  /** Rows that were read and not given yet, from `#next` on. */
  #store: RowStore | undefined;
  #next = 0;
  /** Whether the step was begun again for a missing file, and nothing was read since. */
  #isFoundAnew: boolean = false;
  /** Of a bounded source: the snapshot with which it ends. */
  #until: SnapshotId | undefined;

  constructor({ op, lake }: LakeReaderOptions, at: LakePosition) {
    this.#op = op;
    this.#lake = lake;
    this.#at = at;
    this.#schema = op.columns.map((index) => op.record[index] as Schema[number]);
    this.bounded = op.config.FOLLOW !== true;
  }

  async read(): Promise<Reading> {
    try {
      while (!this.#closed.signal.aborted) {
        const reading = this.#give() ?? (await this.#readMore());
        if (reading !== undefined) return reading;
      }
    } catch (thrown) {
      if (!this.#closed.signal.aborted) throw this.#translate(thrown);
    }
    return { kind: "end" };
  }

  position(): string {
    return JSON.stringify(this.#at);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#rows?.close();
  }

  /** The next rows of those in memory. */
  #give(): Reading | undefined {
    const store = this.#store;
    if (store === undefined) return undefined;
    const end = Math.min(store.rowCount, this.#next + batchRowsMax);
    const [ids, ...columns] = store.columns(this.#next, end);
    const rowCount = end - this.#next;
    const last = ids?.kind === "fixed" ? ids.values[rowCount - 1] : undefined;
    this.#at = { ...this.#at, rowId: Number(last) };
    this.#next = end;
    if (end === store.rowCount) this.#store = undefined;
    return { kind: "rows", batch: { rowCount, columns, selection: undefined } };
  }

  /** `undefined`: there may be something now. */
  async #readMore(): Promise<Reading | undefined> {
    if (this.#rows !== undefined) {
      this.#store = await this.#rows.next();
      this.#next = 0;
      if (this.#store !== undefined) return undefined;
      await this.#rows.close();
      this.#rows = undefined;
    }
    const step = this.#step;
    const group = step?.groups.shift();
    if (step !== undefined && group !== undefined) {
      await this.#spool(step, group);
      return undefined;
    }
    if (this.#step !== undefined) {
      this.#at = { ...this.#at, from: this.#step.to, to: null, rowId: null };
      this.#step = undefined;
    }
    return await this.#look();
  }

  /** Upkeep may have merged files since the step began, and deleted them: they are found anew. */
  async #spool({ table, to: snapshot }: Step, group: AddedRows): Promise<void> {
    const { signal } = this.#closed;
    const afterRowId = this.#at.rowId ?? undefined;
    const wanted = { rows: group, table, snapshot, schema: this.#schema, afterRowId };
    try {
      const spooled = await this.#lake.calls.lakeSpoolAdded(wanted, signal);
      this.#rows = await openCsvRows(spooled, [rowIdField, ...this.#schema]);
      this.#isFoundAnew = false;
    } catch (thrown) {
      const isMissing = thrown instanceof OperatingError && thrown.code === "store_corrupt";
      if (!isMissing || this.#isFoundAnew) throw thrown;
      this.#isFoundAnew = true;
      this.#step = await this.#begin(snapshot);
    }
  }

  /** Looks for what was added since. */
  async #look(): Promise<Reading | undefined> {
    const { calls, clock } = this.#lake;
    const now = this.#until ?? (await calls.lakeSnapshot(undefined));
    if (this.bounded) this.#until = now;
    const { from } = this.#at;
    if (from === null || from < now) {
      this.#step = await this.#begin(now);
      return undefined;
    }
    if (this.bounded) return { kind: "end" };
    await sleep(clock, Number(this.#op.config.POLL_INTERVAL), this.#closed.signal);
    return { kind: this.#closed.signal.aborted ? "end" : "idle" };
  }

  async #begin(now: SnapshotId): Promise<Step> {
    const { from, to: begun, rowId } = this.#at;
    const tableId = this.#at.table as TableId;
    const to = (from === null ? (begun ?? now) : now) as SnapshotId;
    const { rows, table } =
      from === null
        ? await this.#wholeTable(tableId, to)
        : await this.#changes(tableId, from as SnapshotId, to);
    this.#at = { ...this.#at, to };
    const wanted = { rows, table, snapshot: to, afterRowId: rowId ?? undefined };
    const groups = await this.#lake.calls.lakeCut(wanted, this.#closed.signal);
    return { to, table, groups: [...groups] };
  }

  async #wholeTable(
    tableId: TableId,
    snapshot: SnapshotId,
  ): Promise<{ readonly rows: AddedRows; readonly table: LakeTable }> {
    const version = await this.#lake.calls.lakeVersion({ table: tableId, snapshot });
    return { rows: rowsOfVersion(version), table: version.table };
  }

  async #changes(
    tableId: TableId,
    from: SnapshotId,
    to: SnapshotId,
  ): Promise<{ readonly rows: AddedRows; readonly table: LakeTable }> {
    const scan = await this.#lake.calls.lakeChanges({ table: tableId, from, to });
    const name = String(this.#op.config.TABLE);
    if (scan === "gone") throw gone(name, from);
    if (!scan.isAppendOnly && this.#op.config.ON_CHANGE !== "ignore") throw changed(name, from, to);
    const { added, removed, after: table } = scan;
    return { rows: { columns: table.columns, added, removed }, table };
  }

  #translate(thrown: unknown): unknown {
    const isLost = thrown instanceof OperatingError && thrown.code === "not_found";
    if (!isLost) return thrown;
    const { to, from } = this.#at;
    if (from === null && to !== null) return gone(String(this.#op.config.TABLE), to);
    return new DialectError(4002, `the table ${this.#op.config.TABLE} is gone: ${thrown.message}`);
  }
}

function gone(table: string, snapshot: number): DialectError {
  return new DialectError(
    4002,
    `the table ${table} cannot be read on from snapshot ${snapshot}: it has expired, or is older than the table`,
    {
      hint: 'A cursor keeps its snapshot for 14 days at most. Start without the checkpoint, with "SOURCE".START.',
    },
  );
}

function changed(table: string, from: number, to: number): DialectError {
  return new DialectError(
    4002,
    `rows of the table ${table} were updated or deleted between snapshots ${from} and ${to}, and a stream only takes what is added`,
    { hint: "To leave such changes out: SET('ignore' AS \"SOURCE\".ON_CHANGE)." },
  );
}
