/** The catalog of continuous queries: definitions, requests, planning before acceptance. */
import "./error-codes.ts";

export { watchedStreamTables } from "./core/tables.ts";
export { ThreadPlanner, type ThreadPlannerOptions } from "./planning/thread-planner.ts";
export {
  insertFragment,
  moveFragment,
  moveQuery,
  placeFragment,
  removeQuery,
} from "./store/move-rows.ts";
export { createReadLakeTables } from "./store/read-lake-tables.ts";
export { createReadSnapshot, type ReadSnapshot } from "./store/read-snapshot.ts";
export { readTopology } from "./store/read-topology.ts";
export { readStoredPlan } from "./store/stored-plans.ts";
