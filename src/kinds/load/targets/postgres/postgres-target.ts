/** Postgres under test: connections for load, and sessions beside them for everything else. */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { Target } from "../../core/target.ts";
import { PooledTarget } from "../session/pooled-target.ts";
import { openSession } from "./open-session.ts";
import { parsePostgresUrl } from "./parse-postgres-url.ts";
import { PostgresConnection } from "./postgres-connection.ts";
import { QuerySession } from "./query-session.ts";
import { queryServerPoll, queryStatementFigures } from "./server-queries.ts";

/** Throws `bad_request` for an invalid URL. Connects to nothing yet. */
export function createPostgresTarget(url: string, clock: Clock): Target {
  const address = parsePostgresUrl(url);
  return new PooledTarget({
    kind: "postgres",
    capabilities: {
      depthMax: 256,
      pollsServer: true,
      enrichment: "aggregate",
      transactions: true,
    },
    open: async (signal) =>
      new QuerySession(await openSession(address, clock, signal, { keepsRows: true }), address),
    connect: async (depth, signal, onOver) => {
      const session = await openSession(address, clock, signal, { keepsRows: false });
      return new PostgresConnection(session, address, depth, onOver);
    },
    pollServer: queryServerPoll,
    statementFigures: queryStatementFigures,
  });
}
