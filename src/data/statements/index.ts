/** Statements: their router, the routes that take them, and the prompt. */

export { runStatement } from "./cli/run-statement.ts";
export { createQueriesPort, type QueriesPort } from "./http/queries-port.ts";
export { queryBody } from "./http/query-bodies.ts";
export { queryRecordSchema, timeoutMsMax } from "./http/schemas.ts";
export { catalogRoutes, queryRoutes } from "./http/statement-routes.ts";
export type { UploadsPort } from "./http/uploads.ts";
export type { WatchMessage, WatchRequest } from "./http/watch-messages.ts";
export { StatementRouter } from "./statement-router.ts";
export { createSqlPart, createStatementsPart } from "./statements-part.ts";
