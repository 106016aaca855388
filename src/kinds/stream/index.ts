/** Continuous queries: what the processes get of them. */
export { watchedStreamTables } from "./catalog/index.ts";
export {
  createStreamPart,
  type StreamOptions,
  type StreamPartOptions,
} from "./coordinator/stream-part.ts";
export { streamChannel } from "./fleet/index.ts";
export { createStreamWorkerPart, type StreamWorkerPartOptions } from "./worker/worker-part.ts";
