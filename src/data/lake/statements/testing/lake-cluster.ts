/** Statements over real files, HTTP, DuckDB and catalog. Only the sessions are in memory. */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert } from "../../../../ground/kernel/errors.ts";
import { type Incarnation, parseWorkerId } from "../../../../ground/kernel/ids.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { createSharedSqlite, openSimStore, type Store } from "../../../../ground/store/index.ts";
import {
  ApiWorkManager,
  createHttpArtifactFetcher,
  dispatchByKind,
  openFsArtifactSpool,
  startArtifactServer,
  WorkerWorkManager,
} from "../../../../ground/work/index.ts";
import { LoopbackPool } from "../../../../ground/work/testing/loopback-pool.ts";
import { watchedRefreshTables } from "../../../../kinds/refresh/core/tables.ts";
import { DynamicTables } from "../../../../kinds/refresh/statements/dynamic-tables.ts";
import { createSqlExecutor, type Engine, sqlWorkKind, startEngine } from "../../../duckdb/index.ts";
import { never, textOf } from "../../../duckdb/testing/test-engine.ts";
import { StatementRouter } from "../../../statements/index.ts";
import type { ObjectStore } from "../../core/index.ts";
import { emptyStaging } from "../../duckdb/staging.ts";
import { openDirectoryStore } from "../../objects/directory-store.ts";
import { LakeStore } from "../../store/lake-store.ts";
import { createLakeQueryExecutor, lakeQueryWorkKind } from "../lake-query-executor.ts";
import { LakeStatements } from "../lake-statements.ts";
import { createLakeWriteExecutor, lakeWriteWorkKind } from "../lake-write-executor.ts";
import type { ReadableRelations } from "../readable-relations.ts";
import { openUploads, type Uploads } from "../uploads.ts";

const token = "cluster-secret";

export interface LakeCluster {
  readonly catalog: LakeStore;
  readonly lakeDir: string;
  readonly statements: StatementRouter;
  readonly uploads: Uploads;
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly manager: ApiWorkManager;
  /** The worker's engine. */
  readonly engine: Engine;
  readonly stagingDir: string;
  /** The rows of the answer. */
  rows(sql: string, uploadId?: string): Promise<readonly (readonly unknown[])[]>;
  close(): Promise<void>;
}

export interface LakeClusterOptions {
  /** Default: in memory. Closed with the cluster. */
  readonly store?: Store;
  readonly memoryBytes?: number;
  readonly statementMsMax?: number;
  /** Relations of other kinds of work. */
  readonly relations?: (store: Store) => ReadableRelations;
}

export async function startLakeCluster(options: LakeClusterOptions = {}): Promise<LakeCluster> {
  const dir = mkdtempSync(join(tmpdir(), "capstan-lake-sql-"));
  const lakeDir = join(dir, "lake");
  mkdirSync(lakeDir);
  const objects = await openDirectoryStore(lakeDir);
  const inMemory = (): Store =>
    openSimStore({
      database: createSharedSqlite(() => Date.now()),
      watched: watchedRefreshTables,
    });
  const store = options.store ?? inMemory();
  const catalog = new LakeStore({ store, prng: createPrng(1) });
  const pool = new LoopbackPool();
  const engineOf = (spoolDir: string, tempDir: string, extra: readonly string[]) =>
    startEngine({
      memoryLimitBytes: options.memoryBytes ?? 512 * 1024 ** 2,
      treeLimitBytes: 4 * 1024 ** 3,
      threads: 2,
      spoolDir,
      tempDir,
      connections: 3,
      readableDirs: extra,
      clock: realClock,
      logger: silentLogger,
    });
  const fetchedDir = join(dir, "fetched");
  const engine = await engineOf(fetchedDir, join(dir, "temp"), []);
  const fetcher = await createHttpArtifactFetcher({
    token,
    dir: fetchedDir,
    clock: realClock,
    logger: silentLogger,
  });
  const manager = new ApiWorkManager({ pool, clock: realClock, logger: silentLogger, fetcher });
  const workerId = parseWorkerId("w1");
  assert(workerId !== undefined, "w1 is a name");
  const spool = await openFsArtifactSpool({
    baseDir: join(dir, "w1"),
    incarnation: "i-1" as Incarnation,
    capacityBytes: 100_000_000,
    clock: realClock,
    logger: silentLogger,
  });
  const stagingDir = join(dir, "staging");
  await emptyStaging(stagingDir);
  const working = await engineOf(spool.writeDir, join(dir, "temp-1"), [lakeDir, stagingDir]);
  const server = await startArtifactServer({
    host: "127.0.0.1",
    port: 0,
    token,
    spool,
    logger: silentLogger,
  });
  const worker = new WorkerWorkManager({
    executor: dispatchByKind({
      [sqlWorkKind]: createSqlExecutor(working),
      [lakeQueryWorkKind]: createLakeQueryExecutor(working, objects),
      [lakeWriteWorkKind]: createLakeWriteExecutor({
        engine: working,
        objects,
        stagingDir,
        prng: createPrng(2),
      }),
    }),
    spool,
    clock: realClock,
    logger: silentLogger,
    dataUrl: () => server.url,
  });
  worker.attach(pool.reporterOf(workerId));
  pool.connect(workerId, worker);
  const prng = createPrng(3);
  const uploads = await openUploads({
    dir: join(dir, "uploads"),
    clock: realClock,
    prng: createPrng(4),
  });
  const clock = realClock;
  const lakeStatements = new LakeStatements({
    store,
    catalog,
    objects,
    uploads,
    engine,
    manager,
    clock,
    prng,
    logger: silentLogger,
  });
  const dynamicTables = new DynamicTables({ store, clock, catalog, lakeStatements });
  lakeStatements.join({ guard: dynamicTables });
  if (options.relations !== undefined) lakeStatements.join({ relations: options.relations(store) });
  const statements = new StatementRouter({ clock, prng: prng.fork("query-ids") });
  for (const handler of [lakeStatements, dynamicTables]) statements.register(handler);
  return {
    catalog,
    lakeDir,
    statements,
    uploads,
    store,
    objects,
    manager,
    engine: working,
    stagingDir,
    rows: async (sql, uploadId) => {
      const timeoutMs = options.statementMsMax ?? 20_000;
      const { stream } = await statements.run(sql, { mayWrite: true, timeoutMs, uploadId }, never);
      const lines = (await textOf(stream)).trimEnd().split("\n");
      return lines.slice(1, -1).map((line) => JSON.parse(line) as readonly unknown[]);
    },
    close: async () => {
      await uploads.close();
      manager.close();
      worker.close();
      await worker.whenIdle();
      await server.close();
      await working.close();
      await spool.close();
      await fetcher.close();
      await engine.close();
      await store.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
