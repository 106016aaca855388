/** The columns of an artifact of kind `sql`, in its Parquet file's key-value metadata. */
import { OperatingError } from "../../ground/kernel/errors.ts";
import type { ColumnShape } from "./column-shape.ts";

/** In the file the columns are `c0`, `c1`, …, because a result may have two of one name. */
export interface ArtifactColumn {
  readonly name: string;
  /** The type in the query's result, in DuckDB's notation. */
  readonly type: string;
  /** The shape of the values in the file. */
  readonly shape: ColumnShape;
}

export const columnsMetadataKey = "capstan_columns";

export function columnName(index: number): string {
  return `c${index}`;
}

export function parseArtifactColumns(text: string): readonly ArtifactColumn[] {
  try {
    const columns: unknown = JSON.parse(text);
    if (Array.isArray(columns) && columns.every(isColumn)) return columns;
  } catch {
    // Reported below.
  }
  const message = "the artifact's metadata does not describe its columns";
  throw new OperatingError("artifact_corrupt", "never", message);
}

function isColumn(value: unknown): value is ArtifactColumn {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    typeof value.name === "string" &&
    "type" in value &&
    typeof value.type === "string" &&
    "shape" in value &&
    isShape(value.shape)
  );
}

const simpleShapes: ReadonlySet<unknown> = new Set<ColumnShape>([
  "bare",
  "blob",
  "decimal",
  "double",
  "encoded",
  "float",
  "json",
  "quoted",
  "text",
  "timestamp",
  "timestamp_ns",
  "timestamptz",
  "variant",
]);

function isShape(value: unknown): value is ColumnShape {
  if (typeof value !== "object" || value === null) return simpleShapes.has(value);
  if ("list" in value) return isShape(value.list);
  if ("map" in value) return isShape(value.map);
  if ("tuple" in value) return Array.isArray(value.tuple) && value.tuple.every(isShape);
  const members = "struct" in value ? value.struct : "union" in value ? value.union : undefined;
  return (
    Array.isArray(members) &&
    members.every(
      (member) => Array.isArray(member) && typeof member[0] === "string" && isShape(member[1]),
    )
  );
}
