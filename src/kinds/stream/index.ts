/** Continuous queries: what the processes get of them. */
export { type StreamOptions, streamKind } from "./coordinator/stream-part.ts";
export { createStreamWorkerPart, type StreamWorkerPartOptions } from "./worker/worker-part.ts";
