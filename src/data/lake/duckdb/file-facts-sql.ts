/** SELECTs of the facts in a file's footer and values. Pure. */
import { quoteText } from "../../sql/core/index.ts";
import type { LakeColumn } from "../core/index.ts";
import { leavesOf } from "./column-type.ts";
import {
  deletedPathColumn,
  deletedPositionColumn,
  rowIdColumn,
  rowSnapshotColumn,
} from "./internal-columns.ts";
import { columnField, internalField } from "./scan-sql.ts";
import { pathList } from "./sql-text.ts";

/** A row for each leaf field, in the order of columns: footer size, field id, slots, NULLs. */
export function footerSql(localPath: string): string {
  const path = quoteText(localPath);
  return `WITH leaves AS (
  SELECT field_id, row_number() OVER (ORDER BY column_id) - 1 AS leaf FROM parquet_schema(${path}) WHERE type IS NOT NULL)
SELECT (SELECT any_value(footer_size) FROM parquet_file_metadata(${path})), leaves.field_id, sum(chunk.num_values), sum(chunk.stats_null_count)
FROM leaves LEFT JOIN parquet_metadata(${path}) AS chunk ON chunk.column_id = leaves.leaf GROUP BY leaves.field_id`;
}

/** Facts of an integer column: count, distinct count, least and greatest. */
const numberFacts = (name: string): string =>
  `count(${name}), count(DISTINCT ${name}), min(${name}), max(${name})`;

/** Facts of a column: value count, least and greatest as texts, NaN. */
export const columnFactsWidth = 4;

/**
 * One row: the row count, four facts of row ids and of row snapshots, then those of each column.
 * Every value is read.
 */
export function dataFactsSql(localPath: string, columns: readonly LakeColumn[]): string {
  const fields = [
    ...columns.map((column) => columnField({ ...column, initialDefault: undefined })),
    internalField(rowIdColumn.fieldId, "row_id"),
    internalField(rowSnapshotColumn.fieldId, "row_snapshot"),
  ];
  const selected = [
    "count(*)",
    numberFacts("f.row_id"),
    numberFacts("f.row_snapshot"),
    ...columns.map(factsOfColumn),
  ];
  return `SELECT ${selected.join(",\n")}\nFROM ${readFile(localPath, fields)} AS f`;
}

function factsOfColumn(column: LakeColumn): string {
  const value = `f.c${column.columnId}`;
  switch (boundsOf(column)) {
    case "none": // Nested, or no order that the catalog knows: read all the same.
      return `count(${value}), NULL, NULL, bit_xor(hash(${value})) IS NULL AND NULL`;
    case "float": {
      const real = `FILTER (NOT isnan(${value}))`;
      return `count(${value}), min(${value}) ${real}::VARCHAR, max(${value}) ${real}::VARCHAR, coalesce(bool_or(isnan(${value})), false)`;
    }
    case "blob":
      return `count(${value}), hex(min(${value})), hex(max(${value})), NULL`;
    case "text":
      return `count(${value}), min(${value}::VARCHAR), max(${value}::VARCHAR), NULL`;
    case "plain":
      return `count(${value}), min(${value})::VARCHAR, max(${value})::VARCHAR, NULL`;
  }
}

function boundsOf(column: LakeColumn): "none" | "float" | "blob" | "text" | "plain" {
  const [leaf, ...others] = leavesOf(column);
  if (leaf === undefined || others.length > 0 || leaf.path.length > 1) return "none";
  if (/^(interval|timetz|u?int128)$/.test(leaf.type)) return "none";
  if (/^float/.test(leaf.type)) return "float";
  if (leaf.type === "blob") return "blob";
  return leaf.type === "json" ? "text" : "plain";
}

/** One row: count, least and greatest position, their order, data files, snapshot facts. */
export function deleteFactsSql(localPath: string): string {
  const fields = [
    `${deletedPathColumn.fieldId}: {name: 'path', type: 'VARCHAR', default_value: NULL}`,
    internalField(deletedPositionColumn.fieldId, "position"),
    internalField(rowSnapshotColumn.fieldId, "row_snapshot"),
  ];
  return `WITH positions AS (
  SELECT p.*, lag(p.position) OVER (ORDER BY p.file_row_number) AS before FROM ${readFile(localPath, fields)} AS p)
SELECT count(f.position), coalesce(min(f.position), 0), coalesce(max(f.position), 0), coalesce(bool_and(f.before < f.position), true),
  list(DISTINCT coalesce(f.path, 'no file')), ${numberFacts("f.row_snapshot")}
FROM positions AS f`;
}

function readFile(localPath: string, fields: readonly string[]): string {
  return `read_parquet(${pathList([localPath])}, hive_partitioning = false, schema = MAP {${fields.join(", ")}})`;
}
