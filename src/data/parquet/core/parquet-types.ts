/**
 * What a file is made of, and what the codec needs from its surroundings. Flat schemas; every value is there
 * (REQUIRED), but in texts that are written as nullable; one data page per column and row group.
 */

/** `int64` holds integers within the safe range; `bigint64` any. */
export type ColumnType = "int32" | "int64" | "bigint64" | "double" | "boolean" | "text" | "bytes";

/** `dictionary` and `prefix` are only written. */
export type Encoding = "plain" | "delta" | "split" | "dictionary" | "prefix";

export interface ColumnSpec {
  readonly name: string;
  readonly type: ColumnType;
  /**
   * `delta` (integers): small differences take few bits. `split` (doubles): bytes of the same weight stand together,
   * which often compresses better. `best` (doubles): split where it does. Default: plain. Where a column's values do not fit `delta`, plain is used.
   */
  readonly encoding?: "plain" | "delta" | "split" | "best";
  /** Default: zstd, unless that is no gain. */
  readonly codec?: "none" | "zstd";
  /** What readers that go by number and not by name find it by. */
  readonly fieldId?: number;
  /** Only texts, and only written: values may be `null`. */
  readonly nullable?: true;
}

/** Values of one column: booleans are bytes 0 and 1. */
export type ColumnValues =
  | Int32Array
  | Float64Array
  | BigInt64Array
  | Uint8Array
  | readonly string[]
  | readonly (string | null)[]
  | readonly Uint8Array[];

/** One array per column, in the order of the schema, all of the same length. */
export type RowGroupValues = readonly ColumnValues[];

/** What the pure codec cannot do itself. */
export interface ParquetRuntime {
  zstdCompress(bytes: Uint8Array, level: number): Uint8Array;
  /** Exactly `size` bytes; throws where the input is no such frame. Never allocates more than `size`. */
  zstdDecompress(bytes: Uint8Array, size: number): Uint8Array;
  /** The CRC-32 of gzip. */
  crc32(bytes: Uint8Array): number;
  /** Gives the texts of parts of `bytes`. */
  utf8Reader(bytes: Uint8Array): (start: number, end: number) => string;
  encodeUtf8(text: string): Uint8Array;
}

/** Least and greatest, where the type has an order that a reader may rely on. */
export interface ColumnStatistics {
  readonly min: number | bigint | undefined;
  readonly max: number | bigint | undefined;
}

export interface ChunkInfo {
  /** Where its page (header first) begins, and how long it is. */
  readonly offset: number;
  readonly length: number;
  readonly codec: "none" | "zstd";
  readonly statistics: ColumnStatistics;
}

export interface RowGroupInfo {
  readonly rowCount: number;
  /** One per column. */
  readonly chunks: readonly ChunkInfo[];
}

export interface ParquetFooter {
  readonly columns: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly rowCount: number;
  readonly rowGroups: readonly RowGroupInfo[];
  readonly keyValues: ReadonlyMap<string, string>;
}

/** A row group never has more rows: what a reader allocates before it has seen the values is bounded by this. */
export const rowsPerGroupMax = 4 * 1024 * 1024;
/** Of one page, uncompressed. */
export const pageBytesMax = 1024 * 1024 * 1024;
