/** A lake with a scheduler and workers that refresh: real files, DuckDB, catalog and time. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../../data/duckdb/index.ts";
import { startTestEngine, type TestEngine } from "../../../../data/duckdb/testing/test-engine.ts";
import {
  emptyStaging,
  LakeUpkeep,
  type ObjectStore,
  UpkeepLoop,
} from "../../../../data/lake/index.ts";
import {
  type LakeCluster,
  startLakeCluster,
} from "../../../../data/lake/statements/testing/lake-cluster.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import { RefreshLoop } from "../../core/index.ts";
import { type RefreshHistoryRecord, readRefreshHistory } from "../../store/refresh-history.ts";
import { RefreshScheduler } from "../../store/scheduler.ts";
import { lakeSourceChanges } from "../../store/source-changes.ts";
import { StoreRefreshClaims } from "../../store/store-refresh-claims.ts";
import { StoreSubtaskClaims } from "../../store/store-subtask-claims.ts";
import { createLakeRefresher } from "../lake-refresher.ts";
import { createPartRunner, readAbility } from "../refresh-parts.ts";

export interface WorkerParts {
  /** Wraps what the worker uses, to inject faults. */
  readonly objects?: (objects: ObjectStore) => ObjectStore;
  readonly engine?: (engine: Engine) => Pick<Engine, "withSession">;
  readonly stagingDir?: string;
  /** Refreshes of at least this many rows are split. */
  readonly splitRows?: number;
}

export class RefreshingLake {
  readonly cluster: LakeCluster;
  /** A directory that DuckDB may read and write. */
  readonly dir: string;
  readonly #engine: TestEngine;
  readonly #scheduler: RefreshScheduler;
  readonly #loops: RefreshLoop[] = [];

  constructor(cluster: LakeCluster, engine: TestEngine, dir: string, scheduler: RefreshScheduler) {
    this.cluster = cluster;
    this.#engine = engine;
    this.dir = dir;
    this.#scheduler = scheduler;
  }

  get rows(): LakeCluster["rows"] {
    return this.cluster.rows;
  }

  async startWorker(workerId: string, parts: WorkerParts = {}): Promise<void> {
    const { store, catalog } = this.cluster;
    const prng = createPrng(workerId);
    const stagingDir = parts.stagingDir ?? join(this.dir, "staging");
    const engine = parts.engine?.(this.#engine.engine) ?? this.#engine.engine;
    const objects = parts.objects?.(this.cluster.objects) ?? this.cluster.objects;
    const ability = readAbility();
    const deps = { catalog, engine, objects, stagingDir, prng };
    const { splitRows } = parts;
    const loop = new RefreshLoop({
      workerId,
      claims: new StoreRefreshClaims(store, {
        prng,
        pins: catalog,
        backoff: { minMs: 20, maxMs: 50 },
      }),
      parts: {
        claims: new StoreSubtaskClaims(store, { prng }),
        runner: createPartRunner(deps, ability),
      },
      refresher: createLakeRefresher({
        ...deps,
        clock: realClock,
        logger: silentLogger,
        ...(splitRows === undefined ? {} : { split: { rowsMin: splitRows, ability } }),
      }),
      onPoke: (listener) => store.onPoke(listener),
      clock: realClock,
      prng,
      logger: silentLogger,
      pollMs: 50,
    });
    this.#loops.push(loop);
    loop.start();
  }

  async stopWorkers(): Promise<void> {
    await Promise.all(this.#loops.splice(0).map((loop) => loop.stop()));
  }

  async history(dynamicTable: string): Promise<readonly RefreshHistoryRecord[]> {
    const request = { dynamicTable, limit: 100 };
    return await this.cluster.store.read((tx) => readRefreshHistory(tx, request));
  }

  /** Waits for a refresh that matches, and returns the newest. */
  async until(
    dynamicTable: string,
    matches: (record: RefreshHistoryRecord) => boolean,
  ): Promise<RefreshHistoryRecord> {
    return await eventually(`a refresh of ${dynamicTable}`, async () =>
      (await this.history(dynamicTable)).find(matches),
    );
  }

  async untilFresh(query: string, wanted: readonly (readonly unknown[])[]): Promise<void> {
    let last = "";
    await eventually(`${query}: ${JSON.stringify(wanted)}`, async () => {
      last = JSON.stringify(await this.rows(query));
      return last === JSON.stringify(wanted) ? true : undefined;
    }).catch((thrown: unknown) => {
      throw new Error(`${query} is ${last}`, { cause: thrown });
    });
  }

  /** Merges small files and returns how many times it did. */
  async compact(): Promise<number> {
    const { store, catalog, objects, manager } = this.cluster;
    const loop = new UpkeepLoop({
      upkeep: new LakeUpkeep({ store }),
      catalog,
      objects,
      manager,
      lease: () => ({ epoch: 1 }),
      clock: realClock,
      prng: createPrng("upkeep"),
      logger: silentLogger,
      limits: { mergeFilesMin: 2 },
    });
    const { compacted } = await loop.run();
    await loop.stop();
    return compacted;
  }

  async close(): Promise<void> {
    await this.stopWorkers();
    await this.#scheduler.stop();
    await this.cluster.close();
    await this.#engine.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export async function startRefreshingLake(): Promise<RefreshingLake> {
  const cluster = await startLakeCluster();
  const { store, catalog, lakeDir } = cluster;
  const dir = mkdtempSync(join(tmpdir(), "capstan-refresh-"));
  const engine = await startTestEngine({ connections: 4, readableDirs: [lakeDir, dir] });
  await emptyStaging(join(dir, "staging"));
  const lease = { name: "coordinator", holder: "c", epoch: 1 as never };
  await store.transaction(async ({ db }) => {
    await db
      .insertInto("coordinator_leases")
      .values({ ...lease, expires_at_ms: 0, api_url: "" })
      .execute();
  });
  const prng = createPrng("scheduler");
  const scheduler = new RefreshScheduler({
    store,
    claims: new StoreRefreshClaims(store, { prng, pins: catalog }),
    lake: lakeSourceChanges(catalog, cluster.objects),
    pins: catalog,
    lease: () => lease,
    clock: realClock,
    prng,
    logger: silentLogger,
  });
  scheduler.start();
  return new RefreshingLake(cluster, engine, dir, scheduler);
}
