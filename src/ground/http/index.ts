/** What every route needs: problems, access, paging, event streams. */
export { type AccessConfig, installAccess } from "./access.ts";
export type { ApiApp } from "./api-app.ts";
export { type AttentionItem, attentionItemSchema, type ReadAttention } from "./attention-item.ts";
export { installCompression } from "./compress.ts";
export { disconnectSignal } from "./disconnect-signal.ts";
export type { HttpContext, InstallRoutes } from "./install-routes.ts";
export { LiveFeed } from "./live-feed.ts";
export { nameQuery, namesQuery, queryFields, queryIdOf } from "./name-query.ts";
export { onlyFields } from "./only-fields.ts";
export { orRefuse, overWebSocket } from "./or-refuse.ts";
export { bodyOf, methodNotAllowed, notFound, type Problem, problemOf } from "./problem.ts";
export { routeUnder } from "./route.ts";
export { asItIs, errorSchema, pageQuerySchema } from "./schemas.ts";
export type { EventSocket } from "./socket-sink.ts";
export { defaultSseTiming, type SseChannel, type SseTiming } from "./sse-channel.ts";
export { Streams } from "./streams.ts";
