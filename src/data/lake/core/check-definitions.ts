/** Checks schemas, tables and columns. */

import { overlapping, overlaps } from "./check-snapshots.ts";
import { isLakeType } from "./column-types.ts";
import type { LakeRows } from "./rows.ts";

export function checkDefinitions(rows: LakeRows): string[] {
  return [...checkTables(rows), ...checkColumns(rows), ...checkSchemaVersions(rows)];
}

function checkTables({ ducklake_schema, ducklake_table, ducklake_column }: LakeRows): string[] {
  const problems: string[] = [];
  const schemas = new Map(ducklake_schema.map((row) => [row.schema_id, row]));
  for (const row of overlapping(ducklake_schema, (schema) => schema.schema_name.toLowerCase())) {
    problems.push(`two schemas are named ${row.schema_name} at snapshot ${row.begin_snapshot}`);
  }
  for (const row of overlapping(ducklake_table, (table) => table.table_id)) {
    problems.push(`table ${row.table_id} is there twice at snapshot ${row.begin_snapshot}`);
  }
  const nameOf = (row: { schema_id: number; table_name: string }): string =>
    `${row.schema_id}.${row.table_name.toLowerCase()}`;
  for (const row of overlapping(ducklake_table, nameOf)) {
    problems.push(`two tables are named ${row.table_name} at snapshot ${row.begin_snapshot}`);
  }
  for (const row of ducklake_table) {
    const schema = schemas.get(row.schema_id);
    if (schema === undefined) problems.push(`table ${row.table_name} is in no schema`);
    else if (!overlaps(schema, row))
      problems.push(`table ${row.table_name} is not of its schema's time`);
    if (!row.path.endsWith("/"))
      problems.push(`the path of table ${row.table_name} does not end in /`);
    const first = ducklake_table.find((other) => other.table_id === row.table_id);
    if (first?.table_uuid !== row.table_uuid || first.path !== row.path) {
      problems.push(`table ${row.table_id} has changed its UUID or its path`);
    }
    const hasColumns = ducklake_column.some(
      (column) => column.table_id === row.table_id && overlaps(column, row),
    );
    if (!hasColumns) problems.push(`table ${row.table_name} has no columns`);
  }
  return problems;
}

function checkColumns({ ducklake_table, ducklake_column }: LakeRows): string[] {
  const problems: string[] = [];
  const lives = Map.groupBy(ducklake_table, (row) => row.table_id);
  for (const row of overlapping(
    ducklake_column,
    (column) => `${column.table_id}.${column.column_id}`,
  )) {
    problems.push(`column ${row.column_id} of table ${row.table_id} is there twice`);
  }
  const nameOf = (row: {
    table_id: number;
    parent_column: number | null;
    column_name: string;
  }): string => `${row.table_id}.${row.parent_column}.${row.column_name.toLowerCase()}`;
  for (const row of overlapping(ducklake_column, nameOf)) {
    problems.push(`two columns of table ${row.table_id} are named ${row.column_name}`);
  }
  for (const row of ducklake_column) {
    const what = `column ${row.column_name} of table ${row.table_id}`;
    const versions = lives.get(row.table_id) ?? [];
    if (versions.length === 0) problems.push(`${what}: there is no such table`);
    else if (row.end_snapshot === null && versions.every((table) => table.end_snapshot !== null)) {
      problems.push(`${what} is there, its table is dropped`);
    }
    if (!isLakeType(row.column_type)) problems.push(`${what} has the type ${row.column_type}`);
    if (row.column_id < 1) problems.push(`${what} has the id ${row.column_id}`);
    if (row.parent_column === null) continue;
    const parent = ducklake_column.find(
      (other) =>
        other.table_id === row.table_id &&
        other.column_id === row.parent_column &&
        overlaps(other, row),
    );
    if (parent === undefined) problems.push(`${what} is part of no column`);
  }
  return problems;
}

function checkSchemaVersions(rows: LakeRows): string[] {
  const newest = Math.max(...rows.ducklake_snapshot.map((row) => row.schema_version));
  const versions = Map.groupBy(rows.ducklake_schema_versions, (row) => row.table_id);
  const problems = rows.ducklake_schema_versions
    .filter((row) => row.schema_version > newest)
    .map(
      (row) => `schema version ${row.schema_version} of table ${row.table_id} was not given yet`,
    );
  for (const [tableId, own] of Map.groupBy(rows.ducklake_table, (row) => row.table_id)) {
    const begin = Math.min(...own.map((row) => row.begin_snapshot));
    const known = versions.get(tableId) ?? [];
    if (!known.some((row) => row.begin_snapshot <= begin)) {
      problems.push(`table ${tableId} has no schema version from its beginning on`);
    }
  }
  return problems;
}
