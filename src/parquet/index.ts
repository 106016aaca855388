/** Parquet, as far as Capstan's own files need it, on Node. */
export {
  type ChunkInfo,
  ChunkReader,
  type ColumnSpec,
  type ColumnType,
  type ColumnValues,
  chunkBytes,
  columnIndex,
  constantOf,
  locateFooter,
  type ParquetFooter,
  type ParquetRuntime,
  type ParquetWriterOptions,
  parseFooter,
  type RowGroupInfo,
  type RowGroupValues,
  readFooter,
  rowsPerGroupMax,
  type TextColumn,
  trailerBytes,
  writeParquet,
} from "./core/index.ts";
export { parquetRuntime } from "./zlib/node-runtime.ts";
