/** Running continuous queries: connectors, hosts of fragments, checkpoints, commands. */
import "../language/index.ts";

export { EdgeHub } from "./exchange/edge-hub.ts";
export { ExchangeClient } from "./exchange/exchange-client.ts";
export { openExchangePort } from "./exchange/exchange-port.ts";
export { HereHost } from "./host/here-host.ts";
export { FragmentSet, type FragmentSetResult } from "./local/fragment-set.ts";
export { createLocalConnectors, type LocalPlaces } from "./local/local-connectors.ts";
export { LocalQuery, type LocalQueryOptions } from "./local/local-query.ts";
