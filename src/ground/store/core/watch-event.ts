/**
 * What a subscriber is told. A filter turns changes into others: a row that begins to match is a
 * CREATE, and one that no longer matches a DROP.
 */
import type { Revision } from "../../kernel/ids.ts";
import type { CatalogChange } from "./store.ts";
import { matchesWatch, projectWatch, type WatchRow, type WatchSelect } from "./watch-select.ts";

export type WatchEvent =
  | {
      readonly type: "SNAPSHOT";
      /** The state after this revision. Later events have higher revisions. */
      readonly revision: Revision;
      readonly data: readonly WatchRow[];
    }
  | {
      readonly type: "EVENT";
      readonly op: "CREATE" | "UPDATE" | "DROP";
      readonly key: string;
      readonly revision: Revision;
      /** The selected columns of the row. A DROP has none. */
      readonly data?: WatchRow;
    };

/** Undefined when the change is not visible to the subscriber. */
export function decideWatchEvent(
  select: WatchSelect,
  change: CatalogChange,
): WatchEvent | undefined {
  if (change.table !== select.table) return undefined;
  const before = rowBefore(change);
  const after = change.op === "DROP" ? undefined : change.row;
  const seenBefore = before !== undefined && matchesWatch(select, before);
  const seenAfter = after !== undefined && matchesWatch(select, after);
  const { key, revision } = change;
  if (!seenAfter) return seenBefore ? { type: "EVENT", op: "DROP", key, revision } : undefined;
  const data = projectWatch(select, after);
  if (!seenBefore) return { type: "EVENT", op: "CREATE", key, revision, data };
  if (sameRow(projectWatch(select, before), data)) return undefined;
  return { type: "EVENT", op: "UPDATE", key, revision, data };
}

function rowBefore(change: CatalogChange): WatchRow | undefined {
  switch (change.op) {
    case "CREATE":
      return undefined;
    case "UPDATE":
      return change.oldRow;
    case "DROP":
      return change.row;
  }
}

function sameRow(left: WatchRow, right: WatchRow): boolean {
  return Object.keys(left).every((column) => left[column] === right[column]);
}
