/** Continuous queries: what the processes get of them. */
export { watchedStreamTables } from "./catalog/index.ts";
export { createStreamPart } from "./coordinator/stream-part.ts";
