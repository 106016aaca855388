/** Ask: PromQL over Parquet, with its language, its samples, its query engine and its parts. */
export { createAskPart, createAskReplicaPart } from "./coordinator/ask-part.ts";
export type { OwnHeadSettings } from "./coordinator/own-head.ts";
export { createAskWorkerPart } from "./worker-part.ts";
