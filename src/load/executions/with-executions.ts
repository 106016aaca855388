/** SQL over the records of all runs, as the table `all_runs`. */
import type { LakeCatalog, ObjectStore, TableVersion } from "../../lake/index.ts";
import { tableSql, withFiles } from "../../lake/index.ts";
import type { Engine, EngineSession } from "../../queries/index.ts";
import { executionTable } from "./execution-table.ts";

export interface ExecutionsDeps {
  readonly catalog: Pick<LakeCatalog, "resolve" | "tables">;
  readonly engine: Pick<Engine, "openSession">;
  readonly objects: ObjectStore;
}

/** `undefined`: nobody has recorded anything yet. */
export async function withExecutions<T>(
  { catalog, engine, objects }: ExecutionsDeps,
  signal: AbortSignal,
  body: (session: EngineSession) => Promise<T>,
): Promise<T | undefined> {
  const version = await tableVersion(catalog);
  if (version === undefined) return undefined;
  return await withFiles(objects, [version], signal, async (localPaths) => {
    const sql = tableSql(version, { rowIds: false, localPaths });
    const session = await engine.openSession([{ schema: "main", name: "all_runs", sql }], signal);
    try {
      return await body(session);
    } finally {
      await session.close();
    }
  });
}

async function tableVersion(catalog: ExecutionsDeps["catalog"]): Promise<TableVersion | undefined> {
  const tables = await catalog.tables();
  if (!tables.some(({ schema, name }) => schema === "main" && name === executionTable)) {
    return undefined;
  }
  const moment = { kind: "current" } as const;
  const [version] = await catalog.resolve([{ schema: "main", name: executionTable, moment }]);
  return version;
}
