/** The Parquet codec for Capstan's own files, on Node. */
export {
  ChunkReader,
  CodedTexts,
  type ColumnSpec,
  type ColumnValues,
  chunkBytes,
  columnIndex,
  constantOf,
  locateFooter,
  NumberedTexts,
  type ParquetFooter,
  parseFooter,
  readFooter,
  rowsPerGroupMax,
  type TextColumn,
  trailerBytes,
  type WrittenValues,
  writeParquet,
} from "./core/index.ts";
export { parquetRuntime } from "./zlib/node-runtime.ts";
