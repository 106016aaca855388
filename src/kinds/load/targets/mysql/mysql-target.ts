/** MySQL or MariaDB under test, by mysql2. */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { Target } from "../../core/target.ts";
import { SessionTarget } from "../session/session-target.ts";
import { openMysqlSession } from "./mysql-session.ts";
import { mysqlPlace, parseMysqlUrl } from "./parse-mysql-url.ts";
import { queryServerPoll, queryStatementFigures } from "./server-queries.ts";

/** Throws `bad_request` for an invalid URL. Connects to nothing yet. */
export function createMysqlTarget(url: string, clock: Clock): Target {
  const address = parseMysqlUrl(url);
  return new SessionTarget(
    {
      kind: "mysql",
      capabilities: {
        depthMax: 1, // The protocol has no pipelining.
        pollsServer: true,
        enrichment: "aggregate",
        transactions: true,
      },
      place: mysqlPlace(address),
      connectMsMax: address.connectMsMax,
      open: () => openMysqlSession(address),
      pollServer: queryServerPoll,
      statementFigures: queryStatementFigures,
    },
    clock,
  );
}
