/** Parses the statistics that COPY returns (RETURN_STATS) for the lake's catalog. Pure. */

import { assert } from "../../../ground/kernel/errors.ts";
import { quoteName } from "../../sql/core/index.ts";
import type { ColumnStatistics, LakeColumn } from "../core/index.ts";
import { type LeafField, leavesOf } from "./column-type.ts";

export interface WrittenFile {
  readonly localPath: string;
  readonly recordCount: number;
  readonly sizeBytes: number;
  readonly footerSize: number;
  /** Statistics by quoted path (`"list"."element"`), then by name. */
  readonly statistics: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** DuckLake keeps no bounds of these types; ours would be those of decimals. */
const withoutBounds = /^u?int128$/;

/** Parses a row of COPY's result, as JSON. */
export function parseWritten(row: readonly unknown[]): WrittenFile {
  const [localPath, recordCount, sizeBytes, footerSize, statistics] = row;
  assert(typeof localPath === "string", "COPY names its file");
  const columns = entriesOf(statistics).map(
    ([path, values]) =>
      [path, new Map(entriesOf(values).map(([name, value]) => [name, String(value)]))] as const,
  );
  return {
    localPath,
    recordCount: Number(recordCount),
    sizeBytes: Number(sizeBytes),
    footerSize: Number(footerSize),
    statistics: new Map(columns),
  };
}

export function columnStatistics(
  file: WrittenFile,
  columns: readonly LakeColumn[],
): readonly ColumnStatistics[] {
  return columns.flatMap(leavesOf).flatMap((leaf) => leafStatistics(file, leaf) ?? []);
}

/** Undefined where DuckDB has no statistics, as for intervals and times with a zone. */
export function leafStatistics(file: WrittenFile, leaf: LeafField): ColumnStatistics | undefined {
  const values = file.statistics.get(leaf.path.map(quoteName).join("."));
  const slots = Number(values?.get("num_values") ?? 0);
  if (values === undefined || slots === 0) return undefined;
  const nullCount = Number(values.get("null_count") ?? 0);
  const nan = values.get("has_nan");
  const isFloat = /^float(32|64)$/.test(leaf.type);
  return {
    columnId: leaf.fieldId,
    sizeBytes: Number(values.get("column_size_bytes") ?? 0),
    valueCount: slots - nullCount,
    nullCount,
    min: boundOf(leaf, values.get("min")),
    max: boundOf(leaf, values.get("max")),
    containsNan: isFloat && nan !== undefined ? nan === "true" : undefined,
  };
}

/** DuckDB truncates bounds to this many bytes, so that min() and max() would be wrong. */
const cutBytes = 256;

/** Postgres stores no text with U+0000, and an unknown bound is always safe. */
function boundOf({ type }: LeafField, bound: string | undefined): string | undefined {
  if (bound === undefined || withoutBounds.test(type) || bound.includes("\0")) return undefined;
  const bytes = type === "blob" ? bound.length / 2 : Buffer.byteLength(bound);
  return bytes < cutBytes ? bound : undefined;
}

/** The entries of a MAP in JSON. */
function entriesOf(map: unknown): readonly (readonly [key: string, value: unknown])[] {
  if (map === null) return [];
  assert(Array.isArray(map), "a MAP is a list of entries");
  return (map as readonly { readonly key: string; readonly value: unknown }[]).map(
    ({ key, value }) => [key, value],
  );
}
