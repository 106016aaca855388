/** Reads `AT (VERSION => 3)` and `AT (TIMESTAMP => '2024-05-01 12:00:00')` from DuckDB's tree. */
import { badSql } from "./bad-sql.ts";
import { isTreeNode, type TreeNode } from "./serialized-sql.ts";
import { parseTimestamp } from "./timestamps.ts";

/** A moment of a table as a statement names it. The lake's catalog resolves it to a snapshot. */
export type TableMoment =
  | { readonly kind: "current" }
  | { readonly kind: "version"; readonly snapshot: number }
  /** The newest snapshot at or before the time. */
  | { readonly kind: "time"; readonly timeMs: number };

const timeTypes: ReadonlySet<unknown> = new Set([
  "DATE",
  "TIMESTAMP",
  "TIMESTAMP WITH TIME ZONE",
  "TIMESTAMP_S",
  "TIMESTAMP_MS",
  "TIMESTAMP_NS",
]);

/** `position` is the table's, for errors. */
export function momentOf(clause: unknown, sql: string, position: number | undefined): TableMoment {
  if (!isTreeNode(clause)) return { kind: "current" };
  const { unit, expr } = clause;
  if (String(unit).toUpperCase() === "VERSION") {
    const value = constantOf(expr);
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
      const hint = "AT (VERSION => 3). SHOW SNAPSHOTS lists them.";
      throw badSql("a version is the number of a snapshot", sql, position, hint);
    }
    return { kind: "version", snapshot: value };
  }
  const { text, isDay } = timeText(expr);
  const timeMs = text === undefined ? undefined : parseTimestamp(text);
  if (timeMs === undefined) {
    const hint = "AT (TIMESTAMP => '2024-05-01 12:00:00'), in UTC, or with an offset like +02:00.";
    throw badSql("a moment is a literal date and time", sql, position, hint);
  }
  return { kind: "time", timeMs: isDay ? timeMs - modulo(timeMs, 86_400_000) : timeMs };
}

/** A text, or a text that is cast to a time. */
function timeText(expr: unknown): { text: string | undefined; isDay: boolean } {
  if (isTreeNode(expr) && expr.type === "OPERATOR_CAST" && isTreeNode(expr.cast_type)) {
    const to = expr.cast_type.id;
    if (!timeTypes.has(to)) return { text: undefined, isDay: false };
    return { text: textIn(expr.child), isDay: to === "DATE" };
  }
  return { text: textIn(expr), isDay: false };
}

function textIn(expr: unknown): string | undefined {
  const value = constantOf(expr);
  return typeof value === "string" ? value : undefined;
}

function constantOf(expr: unknown): unknown {
  if (!isTreeNode(expr) || expr.type !== "VALUE_CONSTANT" || !isTreeNode(expr.value))
    return undefined;
  const { value }: TreeNode = expr.value;
  return value;
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
