/** The lake: tables as Parquet files with a DuckLake catalog, and SQL over them. */

export type { ColumnsOfRows } from "./append/column-file.ts";
export { type FoundTable, findOrCreateTable } from "./append/find-table.ts";
export { GroupFile } from "./append/group-file.ts";
export { LakeAppender } from "./append/lake-appender.ts";
export { checkLakeFiles, type LakeReport } from "./check/check-lake-files.ts";
export { visibleColumns } from "./core/hidden-columns.ts";
export type {
  ChangedFile,
  ChangeScan,
  Commit,
  DataFile,
  DeleteFile,
  FileId,
  LakeCatalog,
  LakeColumn,
  LakeRows,
  LakeTable,
  NewColumn,
  NewDataFile,
  NewDeleteFile,
  ObjectStore,
  PutFile,
  SnapshotId,
  TableChange,
  TableId,
  TableVersion,
} from "./core/index.ts";
export { isLakePath } from "./core/lake-paths.ts";
export {
  type AddedRows,
  addedRowsSql,
  type RowIds,
  rowIdsOf,
  rowsOfVersion,
} from "./duckdb/feed-sql.ts";
export { LakeWriter } from "./duckdb/lake-writer.ts";
export { withFiles } from "./duckdb/local-files.ts";
export { roughChangeSql, tableSql } from "./duckdb/relation-sql.ts";
export { emptyStaging } from "./duckdb/staging.ts";
export { openDirectoryStore } from "./objects/directory-store.ts";
export { openDownloadCache } from "./objects/download-cache.ts";
export { createDownloadMetrics } from "./objects/download-metrics.ts";
export {
  decideLakePlaces,
  type LakeLocation,
  type LakePlaces,
  showLakeLocation,
} from "./objects/lake-url.ts";
export { openLakeFiles } from "./objects/open-lake-files.ts";
export type { BoundQuery, BoundTable } from "./statements/bound-query.ts";
export type { DescribedColumn } from "./statements/describe.ts";
export { LakeStatements } from "./statements/lake-statements.ts";
export { lakeWriteWorkKind } from "./statements/lake-write-executor.ts";
export {
  type OpenedRelation,
  type ReadableRelation,
  type ReadableRelations,
  rowsFile,
  type WantedRows,
} from "./statements/readable-relations.ts";
export {
  refuseReserved,
  refuseTableName,
  type StatementScope,
} from "./statements/statement-scope.ts";
export type { TableGuard } from "./statements/table-guard.ts";
export { describeTable, nullableColumn } from "./statements/table-statements.ts";
export { openUploads, type Uploads } from "./statements/uploads.ts";
export { readChecksummedFiles } from "./store/file-checksums.ts";
export { claimLake, lakeIdFile, lostStoreHint } from "./store/lake-identity.ts";
export { LakeStore } from "./store/lake-store.ts";
export { type LakeOverview, type LakeTableOverview, readLakeOverview } from "./store/overview.ts";
export { pinIn } from "./store/pin-in.ts";
export { readTables } from "./store/read-tables.ts";
export { LakeUpkeep } from "./store/upkeep.ts";
export { LakeScrub } from "./upkeep/lake-scrub.ts";
export { UpkeepLoop, type UpkeepLoopOptions } from "./upkeep/upkeep-loop.ts";
export { createStatementsWorkerPart } from "./worker-part.ts";
