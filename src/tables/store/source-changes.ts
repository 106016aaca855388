/** What the scheduler asks the lake. */
import type { LakeCatalog, SnapshotId, SnapshotInfo, TableId } from "../../lake/core/index.ts";

export interface SourceRange {
  readonly tableId: TableId;
  readonly from: SnapshotId;
}

export interface SourceChanges {
  current(): Promise<Pick<SnapshotInfo, "snapshot">>;
  /** For each range, whether the table at `to` may differ from what it was. In doubt it may. */
  mayHaveChanged(ranges: readonly SourceRange[], to: SnapshotId): Promise<readonly boolean[]>;
}

export function lakeSourceChanges(lake: Pick<LakeCatalog, "current" | "changes">): SourceChanges {
  return {
    current: () => lake.current(),
    mayHaveChanged: (ranges, to) =>
      Promise.all(
        ranges.map(async ({ tableId, from }) => {
          try {
            const scan = await lake.changes(tableId, from, to);
            if (scan === "gone" || !scan.sameColumns) return true;
            return scan.removedMax > 0 || scan.addedMax > 0;
          } catch {
            return true; // The refresh will say what is wrong with it, by name.
          }
        }),
      ),
  };
}
