/** Ask: PromQL over Parquet. The language, the samples, and running a query; and its parts. */
export { createAskPart, createAskReplicaPart } from "./coordinator/ask-part.ts";
export type { OwnHeadSettings } from "./coordinator/own-head.ts";
export { type AskWorkerOptions, createAskWorkerPart } from "./worker-part.ts";
