/**
 * The types of a file, and the codec's port to its runtime. Schemas are flat. Values are REQUIRED,
 * except in nullable columns, which are only written. A column has one data page per row group.
 */

/** `int64` holds integers within the safe range, `bigint64` any; `float` is only written. */
export type ColumnType =
  | "int32"
  | "int64"
  | "bigint64"
  | "float"
  | "double"
  | "boolean"
  | "text"
  | "bytes";

/** `dictionary` and `prefix` are only written. */
export type Encoding = "plain" | "delta" | "split" | "dictionary" | "prefix";

export interface ColumnSpec {
  readonly name: string;
  readonly type: ColumnType;
  /**
   * `delta` (integers): small differences take few bits. `split` (doubles): bytes of the same
   * weight are stored together, which often compresses better. `best` (doubles): split where it
   * compresses better. Default: plain, also where values do not fit `delta`.
   */
  readonly encoding?: "plain" | "delta" | "split" | "best";
  /** Default: zstd, unless it saves nothing. */
  readonly codec?: "none" | "zstd";
  /** The id for readers that find columns by number. */
  readonly fieldId?: number;
  /** Only for texts and `PlainColumn`, and only written: values may be NULL. */
  readonly nullable?: true;
  /** Of an integer that is not signed or has fewer bits than its type: only written. */
  readonly integer?: { readonly bits: 8 | 16 | 32 | 64; readonly isSigned: boolean };
}

/** Values of one column. Booleans are bytes 0 and 1. */
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

/** Functions that the pure codec needs from its runtime. */
export interface ParquetRuntime {
  zstdCompress(bytes: Uint8Array, level: number): Uint8Array;
  /** Returns exactly `size` bytes and never allocates more; throws on other input. */
  zstdDecompress(bytes: Uint8Array, size: number): Uint8Array;
  /** The CRC-32 of gzip. */
  crc32(bytes: Uint8Array): number;
  /** Returns a reader of texts in ranges of `bytes`. */
  utf8Reader(bytes: Uint8Array): (start: number, end: number) => string;
  encodeUtf8(text: string): Uint8Array;
}

/** The least and greatest value, where the type has a reliable order. */
export interface ColumnStatistics {
  readonly min: number | bigint | undefined;
  readonly max: number | bigint | undefined;
}

export interface ChunkInfo {
  /** The offset and length of its page, including the header. */
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

/** The maximum rows of a row group. It bounds what a reader allocates before it sees the values. */
export const rowsPerGroupMax = 4 * 1024 * 1024;
/** The maximum size of a page, uncompressed. */
export const pageBytesMax = 1024 * 1024 * 1024;
