/** Checks that cells have their column's type, and that required cells are not NULL. */

import type { LakeRows } from "./rows.ts";
import { parseSnapshotTime } from "./snapshot-time.ts";
import { isNullable, lakeTableColumns } from "./tables.ts";

const flags = new Set([
  "path_is_relative",
  "contains_null",
  "contains_nan",
  "nulls_allowed",
  "is_partition",
]);
const times = new Set(["snapshot_time", "schedule_start"]);
const uuids = new Set(["schema_uuid", "table_uuid", "view_uuid"]);
const uuidText = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function checkCells(rows: LakeRows): string[] {
  const problems: string[] = [];
  for (const [name, own] of Object.entries(rows)) {
    const table = name as keyof LakeRows;
    const columns = Object.entries(lakeTableColumns[table]);
    for (const row of own as readonly Readonly<Record<string, unknown>>[]) {
      for (const [column, type] of columns) {
        const fault = cellFault(table, column, type, row[column]);
        if (fault !== undefined) problems.push(`${table}.${column} ${fault}`);
      }
    }
  }
  return problems;
}

function cellFault(
  table: keyof LakeRows,
  column: string,
  type: "text" | "number",
  value: unknown,
): string | undefined {
  if (value === null || value === undefined) {
    return isNullable(table, column) ? undefined : "is NULL";
  }
  const shown = JSON.stringify(value);
  if (type === "number" && !Number.isSafeInteger(value)) return `is ${shown}, not a whole number`;
  if (type === "text" && typeof value !== "string") return `is ${shown}, not a text`;
  if (flags.has(column) && value !== 0 && value !== 1) return `is ${shown}, not a flag`;
  if (times.has(column) && parseSnapshotTime(String(value)) === undefined)
    return `is ${shown}, not a time`;
  if (uuids.has(column) && !uuidText.test(String(value))) return `is ${shown}, not a UUID`;
  return undefined;
}
