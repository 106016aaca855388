/**
 * Computes refreshes as `src/kinds/refresh/refresh` does, but for DuckDB: the same reads of the
 * catalog, the same choice between full and incremental, files written one after the other, and the
 * commit. What happens to it at each step is the world's affair.
 */

import type {
  ChangeScan,
  FileId,
  LakeStore,
  LakeTable,
  NewDataFile,
  NewDeleteFile,
  TableVersion,
} from "../../src/data/lake/index.ts";
import { sleep } from "../../src/ground/kernel/clock.ts";
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type {
  ClaimedRefresh,
  DynamicTable,
  RefreshedData,
  Refresher,
  RefreshResult,
  RefreshSource,
} from "../../src/kinds/refresh/index.ts";
import type { Life } from "../engine/life.ts";
import { derive, deriveAll, parseDefinition } from "./definition.ts";
import {
  describeData,
  describeDeletes,
  type LakeFile,
  type PlacedRow,
  pathsOf,
  positionsOf,
  type ReadFile,
  readChanged,
  readRows,
} from "./lake-files.ts";
import type { ObjectLink } from "./sim-objects.ts";

export const refreshSteps = [
  "begun",
  "computed",
  "between_files",
  "written",
  "publishing",
  "published",
] as const;
export type RefreshStep = (typeof refreshSteps)[number];

export interface RefreshProbe {
  /** May end the life, as soon as this call is over, or throw `OperatingError`. */
  reached(life: Life, step: RefreshStep, claim: ClaimedRefresh): void;
  /** A source that the claim names is missing. */
  missing(life: Life, claim: ClaimedRefresh, what: string): void;
  /** Rows to be removed are not in the stored table. */
  inconsistent(life: Life, claim: ClaimedRefresh, what: string): void;
}

export interface SimRefresherDeps {
  readonly life: Life;
  readonly catalog: LakeStore;
  readonly objects: ObjectLink;
  readonly prng: Prng;
  readonly probe: RefreshProbe;
  readonly runMs: () => number;
}

interface ReadSource {
  readonly now: TableVersion;
  /** Undefined when the changes cannot be determined. */
  readonly scan: ChangeScan | undefined;
}

type Change = Parameters<LakeStore["commitIn"]>[1]["changes"][number];

export function createSimRefresher(deps: SimRefresherDeps): Refresher {
  return {
    refresh: (claim, table, signal) => new SimRefresh(deps, claim, table, signal).run(),
  };
}

class SimRefresh {
  readonly #deps: SimRefresherDeps;
  readonly #claim: ClaimedRefresh;
  readonly #table: DynamicTable;
  readonly #signal: AbortSignal;
  readonly #written: string[] = [];

  constructor(
    deps: SimRefresherDeps,
    claim: ClaimedRefresh,
    table: DynamicTable,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    this.#claim = claim;
    this.#table = table;
    this.#signal = signal;
  }

  async run(): Promise<RefreshResult> {
    const { catalog } = this.#deps;
    this.#reached("begun");
    const { snapshot } = await catalog.current();
    const stored = await catalog.version(this.#table.tableId, snapshot);
    const sources: ReadSource[] = [];
    for (const source of this.#claim.sources) sources.push(await this.#read(source));
    const scans = sources.flatMap(({ scan }) => scan ?? []);
    const isKnown = this.#table.dataSnapshot !== undefined && scans.length === sources.length;
    const changedMax = scans.reduce((sum, scan) => sum + scan.addedMax + scan.removedMax, 0);
    if (isKnown && changedMax === 0) return { action: "NO_DATA" };
    try {
      return await this.#compute(stored, sources, isKnown);
    } catch (thrown) {
      await this.#discard();
      throw thrown;
    }
  }

  async #read({ tableId, from, to }: RefreshSource): Promise<ReadSource> {
    const { catalog } = this.#deps;
    const now = await this.#needed(`table ${tableId} at ${to}`, () => catalog.version(tableId, to));
    if (from === undefined) return { now, scan: undefined };
    const scan = await catalog.changes(tableId, from, to);
    return { now, scan: scan === "gone" || !scan.sameColumns ? undefined : scan };
  }

  async #compute(
    stored: TableVersion,
    sources: readonly ReadSource[],
    isKnown: boolean,
  ): Promise<RefreshedData> {
    const { life, objects, prng, runMs } = this.#deps;
    const changes = sources.flatMap(({ scan }) => [
      ...(scan?.added ?? []),
      ...(scan?.removed ?? []),
    ]);
    const paths = pathsOf([stored, ...sources.map(({ now }) => now)], isKnown ? changes : []);
    const files = await this.#needed("a file", () => objects.fetchAll(paths));
    const read: ReadFile = (path) => files.get(path) as LakeFile;
    await sleep(life, runMs(), this.#signal);
    this.#signal.throwIfAborted();
    this.#reached("computed");
    const { modeWish } = this.#table;
    const isIncremental = isKnown && modeWish !== "FULL" && prng.next() < 0.7;
    const { change, rowsInserted, rowsDeleted } = isIncremental
      ? await this.#writeChange(stored, sources, read)
      : await this.#writeWhole(stored, sources, read);
    this.#reached("written");
    return {
      action: isIncremental ? "INCREMENTAL" : "FULL",
      rowsInserted,
      rowsDeleted,
      commit: async (tx) => {
        const { tableId, token, workerId } = this.#claim;
        this.#reached("publishing");
        return await this.#deps.catalog.commitIn(tx, {
          readSnapshot: stored.snapshot,
          token: `refresh-${tableId}-${token}`,
          changes: [change],
          author: workerId,
          message: "",
        });
      },
    };
  }

  async #writeWhole(stored: TableVersion, sources: readonly ReadSource[], read: ReadFile) {
    const definition = parseDefinition(this.#table.definition);
    const rows = sources.map(({ now }) => readRows(now, read).map(({ value }) => value));
    const values = deriveAll(definition, rows);
    const added = await this.#writeRows(stored.table, values);
    const ended = stored.files.map(({ fileId }) => fileId);
    const rowsDeleted = readRows(stored, read).length;
    return this.#change(stored, added, [], ended, values.length, rowsDeleted);
  }

  async #writeChange(stored: TableVersion, sources: readonly ReadSource[], read: ReadFile) {
    const definition = parseDefinition(this.#table.definition);
    const came: number[] = [];
    const went: number[] = [];
    for (const { scan } of sources) {
      const { added, removed } = differenceOf(scan, read);
      came.push(...added.flatMap(({ value }) => derive(definition, value) ?? []));
      went.push(...removed.flatMap(({ value }) => derive(definition, value) ?? []));
    }
    const { deletes, ended } = await this.#writeDeletes(stored, went, read);
    const added = await this.#writeRows(stored.table, came);
    return this.#change(stored, added, deletes, ended, came.length, went.length);
  }

  async #writeDeletes(stored: TableVersion, values: readonly number[], read: ReadFile) {
    const rows = [...readRows(stored, read)];
    const gone = new Map<FileId, number[]>();
    for (const value of values) {
      const index = rows.findIndex((row) => row.value === value);
      const [row] = index < 0 ? [] : rows.splice(index, 1);
      if (row === undefined) {
        this.#deps.probe.inconsistent(this.#deps.life, this.#claim, `there is no row ${value}`);
        continue;
      }
      gone.set(row.fileId, [...(gone.get(row.fileId) ?? []), row.position]);
    }
    const deletes: NewDeleteFile[] = [];
    const ended: FileId[] = [];
    for (const file of stored.files) {
      const own = gone.get(file.fileId);
      if (own === undefined) continue;
      const positions = [...positionsOf(file.deletes, read), ...own].sort((a, b) => a - b);
      if (positions.length === file.recordCount) {
        ended.push(file.fileId);
        continue;
      }
      const content = { kind: "delete", positions } as const;
      const path = await this.#put(stored.table, content);
      deletes.push(describeDeletes(path, file.fileId, content));
    }
    return { deletes, ended };
  }

  /** In up to three files. */
  async #writeRows(table: LakeTable, values: readonly number[]): Promise<readonly NewDataFile[]> {
    const count = Math.min(values.length, 1 + this.#deps.prng.below(3));
    const added: NewDataFile[] = [];
    for (let index = 0; index < count; index += 1) {
      const from = Math.floor((values.length * index) / count);
      const own = values.slice(from, Math.floor((values.length * (index + 1)) / count));
      const content = {
        kind: "data",
        values: own,
        rowIds: undefined,
        snapshots: undefined,
      } as const;
      const path = await this.#put(table, content);
      added.push(describeData(path, table, content));
    }
    return added;
  }

  async #put(table: LakeTable, file: LakeFile): Promise<string> {
    if (this.#written.length > 0) this.#reached("between_files");
    const path = this.#deps.objects.newPath(table);
    // Noted first, because a put that failed may have left the file.
    this.#written.push(path);
    await this.#deps.objects.write(path, file);
    this.#signal.throwIfAborted();
    return path;
  }

  #change(
    { table: { tableId } }: TableVersion,
    added: readonly NewDataFile[],
    deletes: readonly NewDeleteFile[],
    ended: readonly FileId[],
    rowsInserted: number,
    rowsDeleted: number,
  ) {
    const isCompaction = false;
    const change: Change = { kind: "changeRows", tableId, added, deletes, ended, isCompaction };
    return { change, rowsInserted, rowsDeleted };
  }

  #reached(step: RefreshStep): void {
    this.#deps.probe.reached(this.#deps.life, step, this.#claim);
  }

  async #needed<T>(what: string, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (thrown) {
      const isMissing = thrown instanceof OperatingError && thrown.code === "not_found";
      const { life, probe } = this.#deps;
      if (isMissing) probe.missing(life, this.#claim, `${what}: ${thrown.message}`);
      throw thrown;
    }
  }

  async #discard(): Promise<void> {
    if (this.#written.length === 0) return;
    await this.#deps.objects.delete(this.#written).catch(() => undefined);
  }
}

/** Removes rows that are on both sides. */
function differenceOf(scan: ChangeScan | undefined, read: ReadFile) {
  const key = ({ rowId, value }: PlacedRow): string => `${rowId}:${value}`;
  const added = (scan?.added ?? []).flatMap((changed) => readChanged(changed, read));
  const removed = (scan?.removed ?? []).flatMap((changed) => readChanged(changed, read));
  const inAdded = new Set(added.map(key));
  const inRemoved = new Set(removed.map(key));
  return {
    added: added.filter((row) => !inRemoved.has(key(row))),
    removed: removed.filter((row) => !inAdded.has(key(row))),
  };
}
