/**
 * Makes a data file of the lake from columns in memory, without DuckDB: for processes that append
 * many rows of one kind and run no SQL. Only plain column types. Pure.
 */
import { assert } from "../../../ground/kernel/errors.ts";
import {
  CodedTexts,
  type ColumnSpec,
  type ColumnType,
  NumberedTexts,
  type ParquetRuntime,
  type WrittenValues,
  writeParquet,
} from "../../parquet/core/index.ts";
import type { ColumnStatistics, LakeColumn } from "../core/index.ts";

/** Values by column name, all of one length. A nullable column that is absent is NULL. */
export type ColumnsOfRows = ReadonlyMap<string, WrittenValues>;

export interface ColumnFile {
  readonly bytes: Uint8Array;
  readonly footerSize: number;
  readonly recordCount: number;
  readonly columns: readonly ColumnStatistics[];
}

const parquetTypes: ReadonlyMap<string, ColumnType> = new Map([
  ["VARCHAR", "text"],
  ["INTEGER", "int32"],
  ["BIGINT", "int64"],
  ["DOUBLE", "double"],
  ["BOOLEAN", "boolean"],
]);

/**
 * Files are written while something else is measured, and compacted later. Compressing a page
 * allocates megabytes outside the heap, which triggers garbage collections: with 65,536 rows of a
 * load test that was more than half of the CPU time.
 */
const quick = { zstdLevel: 1, compressBytesMin: 16_384 } as const;

export function encodeColumnFile(
  columns: readonly LakeColumn[],
  values: ColumnsOfRows,
  runtime: ParquetRuntime,
): ColumnFile {
  const written = columns.flatMap((column) => {
    const found = values.get(column.name);
    assert(found !== undefined || column.nullable, `column ${column.name} has values`);
    return found === undefined ? [] : [{ column, values: found }];
  });
  const recordCount = written[0]?.values.length ?? 0;
  const schema = written.map(({ column }) => specOf(column));
  const bytes = writeParquet(schema, [written.map((each) => each.values)], runtime, quick);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    bytes,
    footerSize: view.getUint32(bytes.length - 8, true),
    recordCount,
    columns: columns.map((column) =>
      statisticsOf(column.columnId, values.get(column.name), recordCount),
    ),
  };
}

function specOf({ name, type, columnId, nullable }: LakeColumn): ColumnSpec {
  const parquetType = parquetTypes.get(type);
  assert(parquetType !== undefined, `${name} is of a plain type`);
  return {
    name,
    type: parquetType,
    fieldId: columnId,
    ...(parquetType === "double" ? { encoding: "split" as const } : {}),
    ...(parquetType === "int32" || parquetType === "int64" ? { encoding: "delta" as const } : {}),
    ...(nullable && parquetType === "text" ? { nullable: true as const } : {}),
  };
}

/** An unknown bound is always safe, so texts have bounds only where all are equal. */
function statisticsOf(
  columnId: number,
  values: WrittenValues | undefined,
  recordCount: number,
): ColumnStatistics {
  const none = { columnId, sizeBytes: 0, min: undefined, max: undefined, containsNan: undefined };
  if (values === undefined) return { ...none, valueCount: 0, nullCount: recordCount };
  if (values instanceof NumberedTexts) return { ...none, valueCount: recordCount, nullCount: 0 };
  if (values instanceof CodedTexts) {
    return { ...none, valueCount: recordCount, nullCount: 0, ...textBounds(values.used()) };
  }
  if (Array.isArray(values)) {
    const texts = values as readonly (string | null)[];
    const nullCount = texts.reduce((count, text) => count + (text === null ? 1 : 0), 0);
    return { ...none, valueCount: recordCount - nullCount, nullCount, ...textBounds(texts) };
  }
  return { ...none, valueCount: recordCount, nullCount: 0, ...boundsOf(values) };
}

function textBounds(texts: readonly (string | null)[]): Pick<ColumnStatistics, "min" | "max"> {
  const [first] = texts;
  const isOne = typeof first === "string" && texts.every((text) => text === first);
  const bound = isOne && !first.includes("\0") && first.length < 64 ? first : undefined;
  return { min: bound, max: bound };
}

function boundsOf(
  values: Exclude<WrittenValues, CodedTexts | NumberedTexts>,
): Pick<ColumnStatistics, "min" | "max" | "containsNan"> {
  let [min, max] = [Infinity, -Infinity];
  let areFinite = true;
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as number;
    if (value < min) min = value;
    if (value > max) max = value;
    areFinite &&= value - value === 0;
  }
  if (values instanceof Uint8Array) {
    return {
      min: min === 0 ? "false" : "true",
      max: max === 0 ? "false" : "true",
      containsNan: undefined,
    };
  }
  const containsNan = values instanceof Float64Array ? false : undefined;
  if (!areFinite || min > max) return { min: undefined, max: undefined, containsNan: undefined };
  return { min: String(min), max: String(max), containsNan };
}
