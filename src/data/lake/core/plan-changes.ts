/**
 * Decides which parts of which files tell how a table changed between two snapshots.
 *
 * A file of both snapshots differs in its deletes and, if merged, in rows that came after `from`. A
 * file of only one counts whole. Rows that came and went in between are in neither.
 *
 * A rewrite puts new files with the same rows in the place of others. Where `from` has all of the
 * old files and `to` all of the new ones, only the deletes before and after the rewrite count.
 * Otherwise both sides are read, and equal rows cancel out.
 */
import type { ChangedFile, ChangeScan } from "./change-feed.ts";
import type { DataFile, DeleteFile, LakeTable, SnapshotId } from "./model.ts";
import { isVisible, type ReadDataFileRow, type ReadDeleteFileRow } from "./rows.ts";
import { dataFileAt, deleteFileAt } from "./table-version.ts";

export interface ChangeFacts {
  readonly from: SnapshotId;
  readonly to: SnapshotId;
  readonly before: LakeTable;
  readonly after: LakeTable;
  /** The table's files visible at any snapshot from `from` to `to`. More do no harm. */
  readonly files: readonly ReadDataFileRow[];
  readonly deletes: readonly ReadDeleteFileRow[];
  /** Snapshots in between that only rewrote files of the table. */
  readonly rewrites: readonly SnapshotId[];
}

export function planChanges(facts: ChangeFacts): ChangeScan {
  const planner = new ChangePlanner(facts);
  const { removed, added } = planner.plan();
  return {
    from: facts.from,
    to: facts.to,
    before: facts.before,
    after: facts.after,
    sameColumns: facts.before.schemaSnapshot === facts.after.schemaSnapshot,
    removed,
    added,
    isAppendOnly: removed.length === 0,
    removedMax: sum(removed.map(rowsMax)),
    addedMax: sum(added.map(rowsMax)),
  };
}

class ChangePlanner {
  readonly #facts: ChangeFacts;
  readonly #deletes: ReadonlyMap<number, readonly ReadDeleteFileRow[]>;
  readonly #removed: ChangedFile[] = [];
  readonly #added: ChangedFile[] = [];

  constructor(facts: ChangeFacts) {
    this.#facts = facts;
    this.#deletes = Map.groupBy(facts.deletes, (row) => row.data_file_id);
  }

  plan(): { readonly removed: readonly ChangedFile[]; readonly added: readonly ChangedFile[] } {
    const { from, to, files } = this.#facts;
    if (from === to) return { removed: [], added: [] };
    const rewritten = this.#planRewrites();
    for (const row of files) {
      if (rewritten.has(row)) continue;
      const [wasThere, isThere] = [isVisible(row, from), isVisible(row, to)];
      if (wasThere && isThere) this.#planKept(row);
      else if (wasThere) this.#live(this.#removed, row, from);
      else if (isThere) this.#live(this.#added, row, to);
    }
    return { removed: this.#removed, added: this.#added };
  }

  #planKept(row: ReadDataFileRow): void {
    const { from, to } = this.#facts;
    if (row.partial_max !== null && from < row.partial_max) {
      this.#live(this.#added, row, to, from);
    }
    this.#deleted(row, from, to);
  }

  /** Plans rewrites whose files are all known, and returns those files. */
  #planRewrites(): ReadonlySet<ReadDataFileRow> {
    const { from, to, files, rewrites } = this.#facts;
    const done = new Set<ReadDataFileRow>();
    for (const rewrite of rewrites) {
      const ended = files.filter((row) => row.end_snapshot === rewrite);
      const begun = files.filter(
        (row) => row.begin_snapshot === rewrite && row.partial_max === null,
      );
      const justBefore = (rewrite - 1) as SnapshotId;
      // Files rewritten after `from` may have expired meanwhile, so that rows are missing on one
      // side.
      const moved = sum(ended.map((row) => this.#liveCount(row, justBefore)));
      const isWhole =
        moved === sum(begun.map((row) => row.record_count)) &&
        ended.every((row) => isVisible(row, from) && !isPartialAt(row, from)) &&
        begun.every((row) => isVisible(row, to));
      if (!isWhole) continue;
      for (const row of ended) this.#deleted(row, from, justBefore);
      for (const row of begun) this.#deleted(row, rewrite, to);
      for (const row of [...ended, ...begun]) done.add(row);
    }
    return done;
  }

  #live(
    side: ChangedFile[],
    row: ReadDataFileRow,
    snapshot: SnapshotId,
    rowsAfter: SnapshotId | undefined = undefined,
  ): void {
    side.push({ file: this.#fileAt(row, snapshot), rowsAfter, rows: { kind: "live" } });
  }

  /** Adds the rows deleted after `from`, up to and including `to`. */
  #deleted(row: ReadDataFileRow, from: SnapshotId, to: SnapshotId): void {
    const deletes = this.#deletesAt(row, to);
    const before = this.#deletesAt(row, from);
    if (deletes === undefined || isSame(deletes, before)) return;
    const seenFrom = Math.max(from, this.#facts.from) as SnapshotId;
    const file = this.#fileAt(row, seenFrom);
    this.#removed.push({ file, rowsAfter: undefined, rows: { kind: "deleted", deletes, before } });
  }

  #deletesAt(row: ReadDataFileRow, snapshot: SnapshotId): DeleteFile | undefined {
    const rows = this.#deletes.get(row.data_file_id) ?? [];
    const visible = rows.find((candidate) => isVisible(candidate, snapshot));
    if (visible === undefined) return undefined;
    return deleteFileAt(this.#facts.after.path, visible, snapshot);
  }

  #liveCount(row: ReadDataFileRow, snapshot: SnapshotId): number {
    return row.record_count - (this.#deletesAt(row, snapshot)?.deleteCount ?? 0);
  }

  #fileAt(row: ReadDataFileRow, snapshot: SnapshotId): DataFile {
    const visible = (this.#deletes.get(row.data_file_id) ?? []).find((candidate) =>
      isVisible(candidate, snapshot),
    );
    return dataFileAt(this.#facts.after.path, row, visible, snapshot);
  }
}

function isPartialAt(row: ReadDataFileRow, snapshot: SnapshotId): boolean {
  return row.partial_max !== null && snapshot < row.partial_max;
}

function isSame(deletes: DeleteFile, before: DeleteFile | undefined): boolean {
  return before !== undefined && deletes.fileId === before.fileId && deletes.upTo === before.upTo;
}

/** An upper bound of the number of rows. */
function rowsMax({ file, rows }: ChangedFile): number {
  if (rows.kind === "live") {
    const deleted = file.deletes?.upTo === undefined ? (file.deletes?.deleteCount ?? 0) : 0;
    return file.recordCount - deleted;
  }
  const { deletes, before } = rows;
  const isOther = before !== undefined && before.fileId !== deletes.fileId;
  return deletes.deleteCount - (isOther && before.upTo === undefined ? before.deleteCount : 0);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
