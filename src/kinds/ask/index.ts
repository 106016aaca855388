/** Ask: PromQL over Parquet, with its language, its samples, its query engine and its parts. */
export { createAskPart, createAskReplicaPart } from "./coordinator/ask-part.ts";
export type { OwnHeadSettings } from "./coordinator/own-head.ts";
export { type AskWorkerOptions, createAskWorkerPart } from "./worker-part.ts";
