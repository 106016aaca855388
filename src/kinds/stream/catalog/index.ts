/** The catalog of continuous queries: definitions, requests, planning before acceptance. */
import "./error-codes.ts";

export { watchedStreamTables } from "./core/tables.ts";
export { readQueriesAttention } from "./http/attention.ts";
export { previewRoute } from "./http/preview-route.ts";
export { type StreamCatalogPort, streamRoutes } from "./http/stream-routes.ts";
export { ThreadPlanner } from "./planning/thread-planner.ts";
export { createWorkerDial } from "./service/dial-worker.ts";
export { StreamCatalog } from "./service/stream-catalog.ts";
export { createLakeGuard } from "./statements/lake-guard.ts";
export { createStreamStatements } from "./statements/stream-statements.ts";
export {
  insertFragment,
  insertHeir,
  insertQuery,
  moveFragment,
  moveQuery,
  placeFragment,
  removeQuery,
} from "./store/move-rows.ts";
export { createReadLakeTables } from "./store/read-lake-tables.ts";
export { readQueryDetail } from "./store/read-rows.ts";
export { createReadSnapshot } from "./store/read-snapshot.ts";
export { readTopology, type SpeaksStreams } from "./store/read-topology.ts";
export { readWorkers } from "./store/read-workers.ts";
export { readStoredPlan } from "./store/stored-plans.ts";
