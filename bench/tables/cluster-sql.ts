/**
 * A real cluster for tables: statements over HTTP, and a look into its store, as exact as its own.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { openStore, type Store } from "../../src/ground/store/index.ts";
import { watchedRefreshTables } from "../../src/kinds/refresh/core/tables.ts";
import { type Cluster, type ClusterOptions, sql, startCluster } from "../../test/e2e/harness.ts";

export class TablesCluster {
  readonly store: Store;
  readonly #cluster: Cluster;

  private constructor(cluster: Cluster, store: Store) {
    this.#cluster = cluster;
    this.store = store;
  }

  static async start(options: ClusterOptions): Promise<TablesCluster> {
    const cluster = await startCluster(options);
    const names = Array.from({ length: options.workers ?? 2 }, (_, index) => `worker-${index + 1}`);
    await cluster.waitForWorkers("ACTIVE", names);
    const path = join(cluster.dataDir, "store.sqlite");
    const parts = { clock: realClock, logger: silentLogger };
    return new TablesCluster(
      cluster,
      await openStore({ kind: "sqlite", path, ...parts, watched: watchedRefreshTables }),
    );
  }

  async sql(text: string): Promise<readonly (readonly unknown[])[]> {
    const { rows, error } = await sql(this.#cluster.url, text);
    assert.equal(error, undefined, `${text}: ${error?.message}`);
    return rows;
  }

  async stop(): Promise<void> {
    await this.store.close();
    await this.#cluster.stop();
  }
}
