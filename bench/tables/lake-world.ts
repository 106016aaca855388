/**
 * A lake with dynamic tables in this process: real files in a directory, a real SQLite store, the
 * workers' own DuckDB engine and refresher, statements by the text. Refreshes are driven one by
 * one, so that each can be timed: from the claim to its publication.
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filesOf } from "../../src/data/lake/duckdb/relation-sql.ts";
import {
  type LakeCluster,
  startLakeCluster,
} from "../../src/data/lake/statements/testing/lake-cluster.ts";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../src/ground/kernel/node/system-random.ts";
import { openStore, type Store, setupStore } from "../../src/ground/store/index.ts";
import { decideRefreshes, type Refresher } from "../../src/kinds/refresh/core/index.ts";
import { watchedRefreshTables } from "../../src/kinds/refresh/core/tables.ts";
import { createLakeRefresher, StoreRefreshClaims } from "../../src/kinds/refresh/index.ts";
import { requestRefresh } from "../../src/kinds/refresh/store/definitions.ts";
import {
  applyDecision,
  readScheduledTables,
} from "../../src/kinds/refresh/store/schedule-state.ts";

export interface TimedRefresh extends Spent {
  readonly action: "FULL" | "INCREMENTAL" | "NO_DATA";
}

/** Time of the whole process: on a shared machine CPU time says more than the clock. */
export interface Spent {
  readonly ms: number;
  readonly cpuMs: number;
}

export function startStopwatch(): () => Spent {
  const startedMs = performance.now();
  const usage = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(usage);
    return { ms: performance.now() - startedMs, cpuMs: (user + system) / 1000 };
  };
}

const never = new AbortController().signal;
const statementMsMax = 600_000;
const historyRows = 500;
/** The memory of the lake, and of plain DuckDB. */
export const memoryBytes = 6 * 1024 ** 3;

export class LakeWorld {
  readonly #dir: string;
  readonly #cluster: LakeCluster;
  readonly #claims: StoreRefreshClaims;
  readonly #refresher: Refresher;

  private constructor(dir: string, cluster: LakeCluster) {
    this.#dir = dir;
    this.#cluster = cluster;
    const prng = createSystemPrng();
    const { catalog, engine, objects, stagingDir } = cluster;
    this.#claims = new StoreRefreshClaims(cluster.store, { prng, pins: catalog });
    this.#refresher = createLakeRefresher({
      catalog,
      engine,
      objects,
      stagingDir,
      prng,
      logger: silentLogger,
      clock: realClock,
    });
  }

  static async open(): Promise<LakeWorld> {
    const dir = mkdtempSync(join(tmpdir(), "capstan-bench-"));
    const store = await openFileStore(join(dir, "control.db"));
    return new LakeWorld(dir, await startLakeCluster({ store, memoryBytes, statementMsMax }));
  }

  get dir(): string {
    return this.#dir;
  }

  /** Runs a statement and returns its rows. */
  sql(text: string): Promise<readonly (readonly unknown[])[]> {
    return this.#cluster.rows(text);
  }

  /** Replaces an existing table, so that its next refresh is its first. */
  async createDynamic(name: string, mode: string, definition: string): Promise<void> {
    await this.sql(
      `CREATE OR REPLACE DYNAMIC TABLE ${name} TARGET_LAG = '24 hours' REFRESH_MODE = ${mode} INITIALIZE = ON_SCHEDULE AS ${definition}`,
    );
  }

  /** Refreshes the table to the newest snapshot. */
  async refresh(name: string): Promise<TimedRefresh> {
    await this.#target(name);
    const stopwatch = startStopwatch();
    const { claimed } = await this.#claims.claim({ workerId: "bench", limit: 1 });
    const [claim] = claimed;
    assert(claim !== undefined && claim.table.name === name, `${name} can be claimed`);
    const result = await this.#refresher.refresh(claim, claim.table, never);
    assert(result.action !== "SPLIT", "one worker splits nothing");
    const outcome = await this.#claims.publish(claim, result);
    assert.equal(outcome.kind, "published");
    return { ...stopwatch(), action: result.action };
  }

  /** Equal for equal rows in any order. */
  async fingerprint(name: string): Promise<string> {
    const [row] = await this.sql(
      `SELECT count(*), sum(hash(t)::HUGEINT)::VARCHAR FROM ${name} AS t`,
    );
    return JSON.stringify(row);
  }

  /** Local paths of the table's files. */
  async filesOf(name: string): Promise<readonly string[]> {
    const { catalog, lakeDir } = this.#cluster;
    const moment = { kind: "current" } as const;
    const [version] = await catalog.resolve([{ schema: undefined, name, moment }]);
    assert(version !== undefined);
    return filesOf(version).map(({ path }) => join(lakeDir, path));
  }

  async close(): Promise<void> {
    await this.#cluster.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** Requests a refresh and runs the scheduler once. */
  async #target(name: string): Promise<void> {
    const { store, catalog } = this.#cluster;
    await store.catalogTransaction(async (tx) => {
      const row = await tx.db
        .selectFrom("dynamic_tables")
        .select("table_id")
        .where("name", "=", name)
        .executeTakeFirstOrThrow();
      await requestRefresh(tx, row.table_id as Parameters<typeof requestRefresh>[1]);
    });
    const { snapshot } = await catalog.current();
    await store.catalogTransaction(async (tx) => {
      const tables = await readScheduledTables(tx);
      const changes = {
        mayHaveChanged: () => true,
        hasChanged: () => true,
        isThere: () => true,
      };
      // Late enough for the request to count.
      const timeMs = (await tx.nowMs()) + 1;
      const decision = decideRefreshes({ tables, snapshot, ...changes }, timeMs);
      await applyDecision(tx, decision, { snapshot, timeMs, historyRows, pins: catalog });
    });
  }
}

async function openFileStore(path: string): Promise<Store> {
  const config = { kind: "sqlite", path, clock: realClock, logger: silentLogger } as const;
  await setupStore(config);
  return await openStore({ ...config, watched: watchedRefreshTables });
}
