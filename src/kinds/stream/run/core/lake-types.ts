/**
 * Types of the lake's columns and of streams. Integers, floating-point numbers, BOOLEAN and VARCHAR
 * are the same in both; what streams have no type for is read as the nearest one and not written.
 * Pure. Rule: SU50.
 */
import type { LakeColumn, LakeTable as StoredTable } from "../../../../data/lake/core/index.ts";
import { quoteName } from "../../../../data/sql/core/index.ts";
import {
  type Field,
  type FilledTable,
  type LakeTable,
  notNull,
  type Schema,
  type TypeName,
} from "../../language/core/index.ts";

/** Stands before the columns of rows that were added. */
export const rowIdField: Field = { name: "_row_id", type: notNull("INT64") };

const lakeTypes: Readonly<Record<TypeName, string>> = {
  INT8: "TINYINT",
  INT16: "SMALLINT",
  INT32: "INTEGER",
  INT64: "BIGINT",
  UINT8: "UTINYINT",
  UINT16: "USMALLINT",
  UINT32: "UINTEGER",
  UINT64: "UBIGINT",
  FLOAT32: "FLOAT",
  FLOAT64: "DOUBLE",
  BOOLEAN: "BOOLEAN",
  CHAR: "VARCHAR",
  VARSIZED: "VARCHAR",
};

const streamTypes = new Map(
  Object.entries(lakeTypes).flatMap(([type, lakeType]) =>
    type === "CHAR" ? [] : [[lakeType, type as TypeName]],
  ),
);

const times = /^(DATE$|TIMESTAMP)/;
const decimals = /^DECIMAL/;

/** The type that a sink's column has in a table. */
export function lakeTypeOf(type: TypeName): string {
  return lakeTypes[type];
}

/** The type as which a stream reads a column: times as milliseconds since 1970. */
function streamTypeOf(lakeType: string): TypeName {
  if (times.test(lakeType)) return "INT64";
  if (decimals.test(lakeType)) return "FLOAT64";
  return streamTypes.get(lakeType) ?? "VARSIZED";
}

/** The value of a column in DuckDB's SQL, as a stream reads it. */
export function readSql({ name, type: lakeType }: LakeColumn, type: TypeName): string {
  const value = times.test(lakeType) ? `epoch_ms(${quoteName(name)})` : quoteName(name);
  return `CAST(${value} AS ${lakeTypes[type]})`;
}

/** A table of the lake as the binder sees it; columns that Capstan keeps for itself are hidden. */
export function lakeTableOf(
  table: Pick<StoredTable, "name" | "columns">,
  filled: FilledTable | undefined,
): LakeTable {
  const schema: Field[] = [];
  const unwritable = new Map<string, string>();
  const required = new Set<string>();
  for (const { name, type, nullable, initialDefault, defaultValue } of table.columns) {
    schema.push({ name, type: { name: streamTypeOf(type), nullable } });
    if (!streamTypes.has(type)) unwritable.set(name, type);
    if (initialDefault !== undefined || defaultValue !== undefined) required.add(name);
  }
  return { name: table.name, schema, unwritable, required, ...(filled && { filled }) };
}

/** The columns of a table for a schema, by name; `undefined` in the place of one it has not. */
export function columnsFor(
  { columns }: Pick<StoredTable, "columns">,
  schema: Schema,
): readonly (LakeColumn | undefined)[] {
  return schema.map(({ name }) =>
    columns.find((column) => column.name.toUpperCase() === name.toUpperCase()),
  );
}
