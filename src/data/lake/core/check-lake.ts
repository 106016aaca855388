/**
 * The consistency check: the `ducklake_*` tables against the specification, and, where files were looked at, against those.
 * Pure over rows and facts; what it returns are sentences about what is wrong, none if nothing is.
 */
import { checkCells } from "./check-cells.ts";
import { checkDefinitions } from "./check-definitions.ts";
import { checkFacts, type LakeFacts } from "./check-file-facts.ts";
import { checkFiles } from "./check-files.ts";
import { checkSnapshots } from "./check-snapshots.ts";
import { checkStatistics } from "./check-statistics.ts";
import type { LakeRows } from "./rows.ts";

export function checkLake(rows: LakeRows, facts?: LakeFacts): readonly string[] {
  const cells = checkCells(rows);
  // Rows whose values are not even of their type say nothing about each other.
  if (cells.length > 0) return cells;
  return [
    ...checkSnapshots(rows),
    ...checkDefinitions(rows),
    ...checkFiles(rows),
    ...checkStatistics(rows),
    ...(facts === undefined ? [] : checkFacts(rows, facts)),
  ];
}
