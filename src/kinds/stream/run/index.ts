/** Running continuous queries: connectors, hosts of fragments, checkpoints, commands. */
import "../language/index.ts";

export { readCheckpoint } from "./checkpoint/read-checkpoint.ts";
export { storeState } from "./checkpoint/store-state.ts";
export { EdgeHub } from "./exchange/edge-hub.ts";
export { ExchangeClient } from "./exchange/exchange-client.ts";
export { openExchangePort } from "./exchange/exchange-port.ts";
export { serveExchange } from "./exchange/exchange-server.ts";
export { HereHost } from "./host/here-host.ts";
export { unlimitedMemory } from "./host/stream-memory.ts";
export { StreamPool, type StreamPoolOptions } from "./host/stream-pool.ts";
export { answerCalls } from "./lake/answer-calls.ts";
export { commitPrepared } from "./lake/commit-prepared.ts";
export type { StreamLake } from "./lake/stream-lake.ts";
export { FragmentSet, type FragmentSetResult } from "./local/fragment-set.ts";
export { createLocalConnectors } from "./local/local-connectors.ts";
export { LocalQuery } from "./local/local-query.ts";
export { PreviewOutlets } from "./preview/preview-outlets.ts";
export {
  type PreviewRows,
  readPreview,
} from "./preview/read-preview.ts";
export { servePreviews } from "./preview/serve-previews.ts";
export { openSystemReader } from "./sources/system-reader.ts";
