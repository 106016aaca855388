/**
 * The consistency check: compares the `ducklake_*` tables with the specification and, where files
 * were read, with those. Pure. Returns a sentence for each problem.
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
  // Rows with cells of a wrong type cannot be compared with each other.
  if (cells.length > 0) return cells;
  return [
    ...checkSnapshots(rows),
    ...checkDefinitions(rows),
    ...checkFiles(rows),
    ...checkStatistics(rows),
    ...(facts === undefined ? [] : checkFacts(rows, facts)),
  ];
}
