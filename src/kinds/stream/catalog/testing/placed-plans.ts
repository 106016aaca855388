/** Plans and topologies for tests of placement. */
import assert from "node:assert/strict";
import {
  defaultDialect,
  LocalCatalog,
  type Plan,
  parseStatements,
  planQuery,
} from "../../language/core/index.ts";
import type { PlacementResult } from "../core/placement/place-query.ts";
import type { Topology, TopologyWorker } from "../core/planner.ts";

export type Placed = Extract<PlacementResult, { kind: "placed" }>;

export interface PlanOptions {
  /** The workers of the physical sources; "" is any. */
  readonly sources?: readonly string[];
  readonly sink?: string;
  readonly parallelism?: number;
  readonly query?: string;
}

/** An aggregation by a key. */
export const grouped =
  "SELECT k, SUM(v) AS n, start FROM s GROUP BY k WINDOW TUMBLING(ts, SIZE 1 SEC) INTO out";
/** Two stages with keys, the second one behind the first. */
export const twice = `SELECT j, MAX(n) AS most FROM (SELECT k, j, SUM(v) AS n, start FROM s
  GROUP BY (k, j) WINDOW TUMBLING(ts, SIZE 1 SEC)) GROUP BY j WINDOW TUMBLING(start, SIZE 2 SEC) INTO out`;

export function planOf({
  sources = [""],
  sink = "",
  parallelism = 2,
  query = grouped,
}: PlanOptions): Plan {
  const on = (worker: string, section: string): string =>
    worker === "" ? "" : `, '${worker}' AS "${section}".HOST`;
  const text = `
    CREATE LOGICAL SOURCE s(k UINT64 NOT NULL, j UINT64 NOT NULL, v INT64, ts UINT64 NOT NULL);
    ${sources.map((worker, at) => `CREATE PHYSICAL SOURCE FOR s TYPE File SET('${at}.csv' AS "SOURCE".FILE_PATH${on(worker, "SOURCE")});`).join("\n")}
    CREATE SINK out TYPE File SET('out.csv' AS "SINK".FILE_PATH${on(sink, "SINK")});
    CREATE SINK nowhere TYPE Void${sink === "" ? "" : ` SET('${sink}' AS "SINK".HOST)`};
    ${query} SET(${parallelism} AS "QUERY".PARALLELISM);`;
  const catalog = new LocalCatalog(defaultDialect);
  for (const statement of parseStatements(text)) {
    if (catalog.apply(statement)) continue;
    if (statement.kind === "query") return planQuery(statement.query, catalog, defaultDialect);
  }
  throw new Error("there is a query");
}

export function worker(workerId: string, more: Partial<TopologyWorker> = {}): TopologyWorker {
  const host = `${workerId}.example`;
  const own = { workerId, label: undefined, host, grpcPort: 4611, slots: 10, slotsUsed: 0 };
  return { ...own, takesFragments: true, reason: "", ...more };
}

/** `links` such as `a>b a>c`. */
export function topology(workers: readonly (string | TopologyWorker)[], links = ""): Topology {
  return {
    workers: workers.map((one) => (typeof one === "string" ? worker(one) : one)),
    links: links.split(" ").flatMap((link) => {
      const [from, to] = link.split(">");
      return from && to ? [{ from, to }] : [];
    }),
  };
}

export function placed(result: PlacementResult): Placed {
  assert.equal(result.kind, "placed", result.kind === "failed" ? result.message : "");
  return result as Placed;
}
