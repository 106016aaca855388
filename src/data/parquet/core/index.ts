/** The Parquet codec for Capstan's own files. Pure. */
export { CodedTexts } from "./coded-texts.ts";
export {
  type EncodedColumn,
  encodeColumn,
  type GivenColumn,
  type WrittenValues,
} from "./encode-column.ts";
export { NumberedTexts } from "./numbered-texts.ts";
export { type BytesColumn, PackedBytes } from "./packed-bytes.ts";
export {
  type ColumnSpec,
  type ColumnType,
  type ColumnValues,
  type ParquetFooter,
  type ParquetRuntime,
  rowsPerGroupMax,
} from "./parquet-types.ts";
export type { TextColumn } from "./plain.ts";
export {
  boundsOfBoth,
  type ColumnBounds,
  PlainColumn,
  plainBooleans,
  plainNumbers,
  plainTexts,
} from "./plain-column.ts";
export {
  ChunkReader,
  chunkBytes,
  columnIndex,
  constantOf,
  locateFooter,
  parseFooter,
  readFooter,
  trailerBytes,
} from "./read-parquet.ts";
export { ParquetEncoder, writeParquet } from "./write-parquet.ts";
