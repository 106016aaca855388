/** The worker's part for statements: runs SELECTs, and reads and writes tables. */

import type { Prng } from "../../ground/kernel/prng.ts";
import type { Executor } from "../../ground/work/index.ts";
import { createSqlExecutor, type Engine, sqlWorkKind } from "../duckdb/index.ts";
import type { ObjectStore } from "./core/object-store.ts";
import { createLakeQueryExecutor, lakeQueryWorkKind } from "./statements/lake-query-executor.ts";
import { createLakeWriteExecutor, lakeWriteWorkKind } from "./statements/lake-write-executor.ts";

export function createStatementsWorkerPart(worker: {
  readonly engine: Engine;
  readonly objects: ObjectStore;
  readonly stagingDir: string;
  readonly prng: Prng;
}): { readonly name: string; readonly executors: Readonly<Record<string, Executor>> } {
  const { engine, objects, prng } = worker;
  const executors = {
    [sqlWorkKind]: createSqlExecutor(engine),
    [lakeQueryWorkKind]: createLakeQueryExecutor(engine, objects),
    [lakeWriteWorkKind]: createLakeWriteExecutor({ ...worker, prng: prng.fork("lake") }),
  };
  return { name: "statements", executors };
}
