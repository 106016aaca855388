/** A commit while it is planned: ids handed out, tables as changed so far, rows to write. */
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import { type ChangeEntry, formatChanges } from "./change-text.ts";
import type { Commit, Committed } from "./commit.ts";
import type { CommitFacts, CommitRows, TableFacts } from "./commit-rows.ts";
import type { LakeColumn, SnapshotId, TableId } from "./model.ts";
import { formatSnapshotTime } from "./snapshot-time.ts";
import { columnsAt } from "./table-version.ts";
import { WorkingTable } from "./working-table.ts";

export interface CommitPlan {
  /** Undefined when the commit changes nothing; `committed` then names the newest snapshot. */
  readonly rows: CommitRows | undefined;
  readonly committed: Committed;
}

/** How far ahead a commit may name its own snapshot. */
const snapshotsAheadMax = 1_000_000;

export class CommitPlanner {
  readonly facts: CommitFacts;
  readonly readSnapshot: SnapshotId;
  readonly snapshot: SnapshotId;
  readonly timeText: string;
  readonly rows: CommitRows;
  readonly entries: ChangeEntry[] = [];
  readonly created: TableId[] = [];
  /** Data files that a change of this commit has used. Each is used at most once. */
  readonly touchedFiles = new Set<number>();
  isSchemaChange: boolean = false;
  readonly #commit: Commit;
  readonly #tables = new Map<number, WorkingTable>();
  #nextCatalogId: number;
  #nextFileId: number;

  constructor(commit: Commit, facts: CommitFacts) {
    const { head } = facts;
    this.#commit = commit;
    this.facts = facts;
    this.readSnapshot = commit.readSnapshot;
    this.snapshot = snapshotOf(commit, head.snapshot_id);
    this.timeText = formatSnapshotTime(facts.timeMs);
    this.#nextCatalogId = head.next_catalog_id;
    this.#nextFileId = head.next_file_id;
    this.rows = emptyRows();
  }

  /** Called once, after every change is planned. */
  finish(): CommitPlan {
    if (this.entries.length === 0) {
      const snapshot = this.facts.head.snapshot_id as SnapshotId;
      return { rows: undefined, committed: { snapshot, tableIds: [], columns: [] } };
    }
    const schemaVersion = this.facts.head.schema_version + (this.isSchemaChange ? 1 : 0);
    for (const table of this.#tables.values()) table.finish(this.rows, schemaVersion);
    this.rows.snapshots.push({
      snapshot_id: this.snapshot,
      snapshot_time: this.timeText,
      schema_version: schemaVersion,
      next_catalog_id: this.#nextCatalogId,
      next_file_id: this.#nextFileId,
    });
    this.rows.snapshotChanges.push({
      snapshot_id: this.snapshot,
      changes_made: formatChanges(this.entries),
      author: this.#commit.author === "" ? null : this.#commit.author,
      commit_message: this.#commit.message === "" ? null : this.#commit.message,
      commit_extra_info: extraInfo(this.facts.head.snapshot_id, this.snapshot),
    });
    const columns = this.created.map((id) => this.#columnsOf(id));
    return {
      rows: this.rows,
      committed: { snapshot: this.snapshot, tableIds: this.created, columns },
    };
  }

  takeCatalogId(): number {
    this.#nextCatalogId += 1;
    return this.#nextCatalogId - 1;
  }

  takeFileId(): number {
    this.#nextFileId += 1;
    return this.#nextFileId - 1;
  }

  /** Keeps the file's checksum, if its author knows it. */
  keepChecksum(fileId: number, crc32: number | undefined): void {
    if (crc32 === undefined) return;
    const checked_at_ms = this.facts.timeMs;
    this.rows.checksums.push({ file_id: fileId, crc32, checked_at_ms, damage: null });
  }

  /** A table that exists now and existed at the author's `readSnapshot`. */
  table(tableId: TableId): WorkingTable {
    const known = this.#tables.get(tableId);
    if (known !== undefined) {
      if (known.isDropped)
        throw new OperatingError("not_found", "never", `table ${known.name} is gone`);
      return known;
    }
    const facts = this.facts.tables.get(tableId);
    if (facts === undefined) throw noTable(tableId);
    const { end_snapshot: end, table_name: name } = facts.table;
    if (end !== null && end > this.readSnapshot)
      throw conflict(`table ${name} was dropped meanwhile`);
    if (end !== null) throw noTable(tableId);
    return this.addTable(facts);
  }

  addTable(facts: TableFacts): WorkingTable {
    const table = new WorkingTable(facts, this.snapshot);
    this.#tables.set(facts.table.table_id, table);
    return table;
  }

  /** The table of that name as the commit sees it. Names are compared without regard to case. */
  tableNamed(schemaId: number, name: string): WorkingTable | undefined {
    const wanted = name.toLowerCase();
    for (const table of this.#tables.values()) {
      if (!table.isDropped && table.schemaId === schemaId && table.name.toLowerCase() === wanted) {
        return table;
      }
    }
    for (const facts of this.facts.tables.values()) {
      const { table } = facts;
      if (table.end_snapshot !== null || this.#tables.has(table.table_id)) continue;
      if (table.schema_id === schemaId && table.table_name.toLowerCase() === wanted) {
        return this.addTable(facts);
      }
    }
    return undefined;
  }

  #columnsOf(id: TableId): readonly LakeColumn[] {
    const table = this.#tables.get(id);
    assert(table !== undefined, "a table that was created is known");
    return columnsAt(table.columnRows(), this.snapshot);
  }
}

/** Names the predecessor where numbers are skipped, so that the gap does not look expired. */
function extraInfo(head: number, snapshot: number): string | null {
  return snapshot === head + 1 ? null : JSON.stringify({ follows: head });
}

function snapshotOf({ asSnapshot }: Commit, head: number): SnapshotId {
  if (asSnapshot === undefined) return (head + 1) as SnapshotId;
  if (asSnapshot <= head) throw conflict(`snapshot ${asSnapshot} is taken: the newest is ${head}`);
  assert(asSnapshot <= head + snapshotsAheadMax, `snapshot ${asSnapshot} is near ${head}`);
  return asSnapshot;
}

export function conflict(what: string): OperatingError {
  return new OperatingError("conflict", "backoff", what, {
    hint: "somebody else changed it at the same time: it is computed again from what is there now",
  });
}

function noTable(tableId: TableId): OperatingError {
  return new OperatingError("not_found", "never", `there is no table with id ${tableId}`);
}

function emptyRows(): CommitRows {
  return {
    snapshots: [],
    snapshotChanges: [],
    tables: [],
    columns: [],
    dataFiles: [],
    fileStats: [],
    deleteFiles: [],
    checksums: [],
    schemaVersions: [],
    scheduled: [],
    endedTables: [],
    endedColumns: [],
    endedFiles: [],
    endedDeletes: [],
    removedFiles: [],
    removedDeletes: [],
    tableStats: [],
    columnStats: [],
  };
}
