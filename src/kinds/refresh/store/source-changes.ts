/** What the scheduler asks the lake. */
import type {
  LakeCatalog,
  ObjectStore,
  SnapshotId,
  SnapshotInfo,
  TableId,
} from "../../../data/lake/core/index.ts";
import type { ScheduledTable, ScheduleState } from "../core/index.ts";

export interface SourceRange {
  readonly tableId: TableId;
  readonly from: SnapshotId;
}

export interface SourceChanges {
  current(): Promise<Pick<SnapshotInfo, "snapshot">>;
  /** Whether each range's table may have changed up to `to`. True when that is unknown. */
  mayHaveChanged(ranges: readonly SourceRange[], to: SnapshotId): Promise<readonly boolean[]>;
  /**
   * Whether each range's table has changed since a failed attempt read it. False when that is
   * unknown.
   */
  hasChanged(ranges: readonly SourceRange[], to: SnapshotId): Promise<readonly boolean[]>;
  /** Whether a lake file exists. False when that is unknown. */
  isThere(path: string): Promise<boolean>;
}

export function lakeSourceChanges(
  lake: Pick<LakeCatalog, "current" | "changes">,
  objects: Pick<ObjectStore, "stat">,
): SourceChanges {
  const changed =
    (whenUnknown: boolean) =>
    ({ tableId, from }: SourceRange, to: SnapshotId): Promise<boolean> =>
      lake.changes(tableId, from, to).then(
        (scan) => {
          // An expired snapshot is asked about once: the next attempt reads a newer one.
          if (scan === "gone" || !scan.sameColumns) return true;
          return scan.removedMax > 0 || scan.addedMax > 0;
        },
        () => whenUnknown,
      );
  const hasChanged = changed(false); // The table does not exist.
  const mayHaveChanged = changed(true); // The refresh will report the missing table by name.
  return {
    current: () => lake.current(),
    hasChanged: (ranges, to) => Promise.all(ranges.map((range) => hasChanged(range, to))),
    mayHaveChanged: (ranges, to) => Promise.all(ranges.map((range) => mayHaveChanged(range, to))),
    isThere: async (path) => {
      try {
        return (await objects.stat(path)) !== undefined;
      } catch {
        return false;
      }
    },
  };
}

/**
 * Asks about plain tables only: those of the cursors, and those that failed attempts read. A cursor
 * that moved since is in neither map. Then the table is refreshed, and no cure is assumed.
 */
export async function askForChanges(
  lake: SourceChanges,
  tables: readonly ScheduledTable[],
  to: SnapshotId,
): Promise<Pick<ScheduleState, "mayHaveChanged" | "hasChanged" | "isThere">> {
  const dynamic = new Set(tables.map(({ tableId }) => tableId));
  const ask = async (
    known: readonly ReadonlyMap<TableId, SnapshotId | undefined>[],
    question: SourceChanges["hasChanged"],
  ): Promise<ReadonlyMap<string, boolean>> => {
    const ranges = new Map<string, SourceRange>();
    for (const [tableId, from] of known.flatMap((each) => [...each])) {
      if (from === undefined || from === to || dynamic.has(tableId)) continue;
      ranges.set(`${tableId}@${from}`, { tableId, from });
    }
    const answers = await question([...ranges.values()], to);
    return new Map(
      [...ranges.keys()].flatMap((key, index) => {
        const answer = answers[index];
        return answer === undefined ? [] : [[key, answer]];
      }),
    );
  };
  const made = tables.map(({ cursors }) => cursors);
  const failing = tables.flatMap((table) => table.failing ?? []);
  const changed = await ask(made, (ranges) => lake.mayHaveChanged(ranges, to));
  const cured = await ask(
    failing.map(({ readSnapshots }) => readSnapshots),
    (ranges) => lake.hasChanged(ranges, to),
  );
  const there = new Set<string>();
  for (const path of new Set(failing.flatMap(({ missingPath }) => missingPath ?? []))) {
    if (await lake.isThere(path)) there.add(path);
  }
  return {
    mayHaveChanged: (source, from) => from !== to && (changed.get(`${source}@${from}`) ?? true),
    hasChanged: (source, from) => from !== to && (cured.get(`${source}@${from}`) ?? false),
    isThere: (path) => there.has(path),
  };
}
