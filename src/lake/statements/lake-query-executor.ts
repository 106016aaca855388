/** Work of kind `lake_query`: a SELECT over versions of the lake's tables, on a worker. */
import { OperatingError } from "../../kernel/errors.ts";
import type { Engine, Executor } from "../../queries/index.ts";
import type { WorkSpec } from "../../workcoord/core/index.ts";
import type { ObjectStore } from "../core/index.ts";
import { withFiles } from "../duckdb/local-files.ts";
import { tableSql } from "../duckdb/relation-sql.ts";
import type { BoundQuery } from "./bound-query.ts";

export const lakeQueryWorkKind = "lake_query";

export function lakeQueryBody(query: BoundQuery): string {
  return JSON.stringify(query);
}

export function createLakeQueryExecutor(
  engine: Pick<Engine, "executeToParquet">,
  objects: ObjectStore,
): Executor {
  return {
    async execute(work, path, signal, bytesMax) {
      const { sql, tables } = parseBody(work);
      const versions = tables.map(({ version }) => version);
      return await withFiles(objects, versions, signal, (localPaths) => {
        const relations = tables.map(({ schema, name, version }) => ({
          schema,
          name,
          sql: tableSql(version, { rowIds: false, localPaths }),
        }));
        return engine.executeToParquet(sql, path, signal, bytesMax, relations);
      });
    },
  };
}

function parseBody(work: WorkSpec): BoundQuery {
  if (work.kind !== lakeQueryWorkKind) {
    const message = `this worker cannot execute work of kind ${work.kind}`;
    throw new OperatingError("bad_request", "never", message);
  }
  return JSON.parse(work.body) as BoundQuery; // Written by a controller of the cluster: `lakeQueryBody`.
}
