/** The part of a coordinator or query-api with the routes of statements. */

import type { InstallRoutes } from "../../ground/http/index.ts";
import type { Clock } from "../../ground/kernel/clock.ts";
import type { Prng } from "../../ground/kernel/prng.ts";
import type { Tracing } from "../../ground/observe/index.ts";
import type { Store } from "../../ground/store/index.ts";
import type { ControllerNode, Leadership } from "../../ground/work/index.ts";
import type { Engine } from "../duckdb/index.ts";
import { runSql } from "../duckdb/index.ts";
import type { StatementHandler } from "./core/index.ts";
import type { QueriesPort } from "./http/queries-port.ts";
import { createQueriesPort } from "./http/queries-port.ts";
import { catalogRoutes, queryRoutes } from "./http/statement-routes.ts";
import type { UploadsPort } from "./http/uploads.ts";
import { watchCatalog } from "./http/watch-catalog.ts";

/** A statement that never ends. Another route takes it. */
const watchStatement: StatementHandler = {
  heads: ["WATCH"],
  parse(cursor) {
    throw cursor.fail(
      "WATCH is not supported",
      "It never ends, so it has an address of its own: GET /api/v1/watch?select=…. capstan sql asks there by itself.",
    );
  },
};

/** For a process that has tables. */
export function createStatementsPart(context: {
  readonly queries: QueriesPort;
  readonly uploads: UploadsPort;
  readonly store: Store;
}) {
  const { queries, uploads, store } = context;
  const catalog = catalogRoutes(uploads, {
    watch: (request, signal) => watchCatalog(store, request, signal),
  });
  const routes: InstallRoutes = async (app, http) => {
    await queryRoutes(queries)(app, http);
    await catalog(app, http);
  };
  return { name: "statements", routes, statements: watchStatement };
}

/** For a process without tables: SELECTs that read none. */
export function createSqlPart(context: {
  readonly node: ControllerNode;
  readonly leadership: Leadership;
  readonly engine: Engine;
  readonly tracing: Tracing;
  readonly clock: Clock;
  readonly prng: Prng;
}) {
  const { node, leadership, tracing } = context;
  const deps = { ...context, manager: node.manager, prng: context.prng.fork("queries") };
  const queries = createQueriesPort({
    manager: node.manager,
    statements: { run: (sql, options, signal) => runSql(deps, sql, options, signal) },
    tracing,
    checkLeads: () => leadership.check(),
  });
  return { name: "statements", routes: queryRoutes(queries) };
}
