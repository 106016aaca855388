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
  /** For each range, whether the table at `to` may differ from what it was. In doubt it may. */
  mayHaveChanged(ranges: readonly SourceRange[], to: SnapshotId): Promise<readonly boolean[]>;
  /**
   * For each range, whether the table has changed, for somebody who could not make anything of it
   * before. In doubt it has not.
   */
  hasChanged(ranges: readonly SourceRange[], to: SnapshotId): Promise<readonly boolean[]>;
  /** Whether a file of the lake is there. In doubt it is not. */
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
          // A snapshot that has expired is asked about once: the next attempt reads a newer one.
          if (scan === "gone" || !scan.sameColumns) return true;
          return scan.removedMax > 0 || scan.addedMax > 0;
        },
        () => whenUnknown,
      );
  const hasChanged = changed(false); // The table is not there.
  const mayHaveChanged = changed(true); // The refresh will say what is wrong with it, by name.
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
 * Of plain tables alone: those that tables were made of, and those that failed attempts read. A
 * cursor that moved since it was asked about is in neither map: in doubt there is work to be done,
 * and no cure.
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
