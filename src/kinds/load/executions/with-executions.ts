/** SQL over the enriched records of all runs, as the table `all_runs`. */

import type { Engine, EngineSession } from "../../../data/duckdb/index.ts";
import type { LakeCatalog, ObjectStore, TableVersion } from "../../../data/lake/index.ts";
import { tableSql, withFiles } from "../../../data/lake/index.ts";
import { enrichedSql, enrichmentTable } from "./enrichment-table.ts";
import { executionTable } from "./execution-table.ts";

export interface ExecutionsDeps {
  readonly catalog: Pick<LakeCatalog, "resolve" | "tables">;
  readonly engine: Pick<Engine, "withSession">;
  readonly objects: ObjectStore;
}

/** Undefined before anything was recorded. */
export async function withExecutions<T>(
  { catalog, engine, objects }: ExecutionsDeps,
  signal: AbortSignal,
  body: (session: EngineSession) => Promise<T>,
): Promise<T | undefined> {
  const versions = await tableVersions(catalog);
  const [executions, enrichments] = versions;
  if (executions === undefined) return undefined;
  return await withFiles(objects, versions, signal, async (localPaths) => {
    const options = { rowIds: false, localPaths };
    const plain = tableSql(executions, options);
    const sql =
      enrichments === undefined ? plain : enrichedSql(plain, tableSql(enrichments, options));
    return await engine.withSession([{ schema: "main", name: "all_runs", sql }], signal, body);
  });
}

/** Both tables, in the same snapshot. */
async function tableVersions(catalog: ExecutionsDeps["catalog"]): Promise<readonly TableVersion[]> {
  const tables = await catalog.tables();
  const has = (wanted: string): boolean =>
    tables.some(({ schema, name }) => schema === "main" && name === wanted);
  const names = [executionTable, enrichmentTable].filter(has);
  if (!names.includes(executionTable)) return [];
  const moment = { kind: "current" } as const;
  return await catalog.resolve(names.map((name) => ({ schema: "main", name, moment })));
}
