/**
 * How a column's values are written as JSON, and which types Parquet would change. Shapes are
 * stored in the artifact, so they are plain data.
 */
import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";

export type ColumnShape =
  /** Digits, `true` or `false`: DuckDB's text is JSON. */
  | "bare"
  /** Digits too, but `to_json` would drop trailing zeros. */
  | "decimal"
  /** FLOAT and DOUBLE: digits, but NaN and the infinities are not JSON. */
  | "float"
  | "double"
  /** Text without anything to escape. */
  | "quoted"
  | "text"
  | "timestamp"
  | "timestamp_ns"
  | "timestamptz"
  | "blob"
  /** JSON from a user, perhaps over several lines. */
  | "json"
  | "variant"
  /** JSON that we wrote. */
  | "encoded"
  | { readonly list: ColumnShape }
  | { readonly struct: readonly NamedShape[] }
  | { readonly tuple: readonly ColumnShape[] }
  | { readonly map: ColumnShape }
  | { readonly union: readonly NamedShape[] };

export type NamedShape = readonly [name: string, shape: ColumnShape];

export function shapeOf(type: DuckDBType): ColumnShape {
  switch (type.typeId) {
    case DuckDBTypeId.BOOLEAN:
    case DuckDBTypeId.TINYINT:
    case DuckDBTypeId.SMALLINT:
    case DuckDBTypeId.INTEGER:
    case DuckDBTypeId.BIGINT:
    case DuckDBTypeId.HUGEINT:
    case DuckDBTypeId.UTINYINT:
    case DuckDBTypeId.USMALLINT:
    case DuckDBTypeId.UINTEGER:
    case DuckDBTypeId.UBIGINT:
    case DuckDBTypeId.UHUGEINT:
    case DuckDBTypeId.BIGNUM:
      return "bare";
    case DuckDBTypeId.DECIMAL:
      return "decimal";
    case DuckDBTypeId.FLOAT:
      return "float";
    case DuckDBTypeId.DOUBLE:
      return "double";
    case DuckDBTypeId.TIMESTAMP:
    case DuckDBTypeId.TIMESTAMP_S:
    case DuckDBTypeId.TIMESTAMP_MS:
      return "timestamp";
    case DuckDBTypeId.TIMESTAMP_NS:
      return "timestamp_ns";
    case DuckDBTypeId.TIMESTAMP_TZ:
      return "timestamptz";
    case DuckDBTypeId.DATE:
    case DuckDBTypeId.TIME:
    case DuckDBTypeId.TIME_NS:
    case DuckDBTypeId.TIME_TZ:
    case DuckDBTypeId.INTERVAL:
    case DuckDBTypeId.UUID:
    case DuckDBTypeId.BIT:
      return "quoted";
    case DuckDBTypeId.BLOB:
      return "blob";
    case DuckDBTypeId.VARIANT:
      return "variant";
    case DuckDBTypeId.VARCHAR:
      return type.alias === "JSON" ? "json" : "text";
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
      return { list: shapeOf(type.valueType) };
    case DuckDBTypeId.STRUCT:
      return structShape(type.entryNames, type.entryTypes.map(shapeOf));
    case DuckDBTypeId.MAP:
      return { map: shapeOf(type.valueType) };
    case DuckDBTypeId.UNION:
      return { union: named(type.memberTags, type.memberTypes.map(shapeOf)) };
    default:
      return "text"; // Includes ENUM and GEOMETRY.
  }
}

/** Whether Parquet would change the value or its type, so that it is stored as `encoded`. */
export function isLossy(type: DuckDBType): boolean {
  switch (type.typeId) {
    case DuckDBTypeId.HUGEINT: // Would become DOUBLE, and this too:
    case DuckDBTypeId.UHUGEINT:
    case DuckDBTypeId.BIGNUM: // VARCHAR: digits would come back in quotes.
    case DuckDBTypeId.TIME_TZ: // Without its zone.
    case DuckDBTypeId.INTERVAL: // In milliseconds.
    case DuckDBTypeId.UNION: // As a STRUCT without names.
    case DuckDBTypeId.VARIANT:
    case DuckDBTypeId.GEOMETRY:
      return true;
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
      return isLossy(type.valueType);
    case DuckDBTypeId.STRUCT:
      return isTuple(type.entryNames) || type.entryTypes.some(isLossy);
    case DuckDBTypeId.MAP:
      return isLossy(type.keyType) || isLossy(type.valueType);
    default:
      return false;
  }
}

const enumValuesShownMax = 32;

/** The type in DuckDB's notation, for messages. */
export function typeText(type: DuckDBType): string {
  if (type.alias !== undefined) return type.alias;
  const isLongEnum = type.typeId === DuckDBTypeId.ENUM && type.values.length > enumValuesShownMax;
  return isLongEnum ? "ENUM" : type.toString();
}

function structShape(names: readonly string[], shapes: readonly ColumnShape[]): ColumnShape {
  return isTuple(names) ? { tuple: shapes } : { struct: named(names, shapes) };
}

function isTuple(names: readonly string[]): boolean {
  return names.every((name) => name === "");
}

function named(names: readonly string[], shapes: readonly ColumnShape[]): readonly NamedShape[] {
  return names.map((name, index): NamedShape => [name, shapes[index] ?? "text"]);
}
