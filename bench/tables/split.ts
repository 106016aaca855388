/**
 * A full refresh on a cluster of one worker and of two, each as on a machine with a single core:
 * large refreshes are split into subtasks that idle workers take. The time is that of the refresh
 * history, from the claim to the publication.
 */

import { readRefreshHistory } from "../../src/kinds/refresh/store/refresh-history.ts";
import { waitFor } from "../../test/e2e/harness.ts";
import { type BenchOptions, median, type Report } from "../report.ts";
import { TablesCluster } from "./cluster-sql.ts";
import { definitions } from "./shop.ts";

const repetitions = 3;
/** Loaded into every process before anything else: DuckDB's threads are as many as the cores. */
const oneCore = `import os from "node:os"; import { syncBuiltinESMExports } from "node:module"; os.availableParallelism = () => 1; syncBuiltinESMExports();`;

export async function benchSplit({ rows, groups }: BenchOptions, report: Report): Promise<void> {
  const one = await refreshMs(1, rows, groups);
  const two = await refreshMs(2, rows, groups);
  report.figure(
    "split_over_two_workers",
    {},
    { one_worker_ms: one, two_workers_ms: two, times: one / two },
  );
}

async function refreshMs(workers: number, rows: number, groups: number): Promise<number> {
  const preload = `--import=data:text/javascript,${encodeURIComponent(oneCore)}`;
  const cluster = await TablesCluster.start({ workers, env: { NODE_OPTIONS: preload } });
  try {
    await cluster.sql("CREATE TABLE facts (id BIGINT, g BIGINT, v BIGINT, w INTEGER)");
    await cluster.sql(
      `INSERT INTO facts SELECT i, (hash(i) % ${groups})::BIGINT, (hash(i + 1) % 1000)::BIGINT, (hash(i + 2) % 100)::INTEGER FROM range(${rows}) AS r(i)`,
    );
    const samples: number[] = [];
    for (let round = 0; round < repetitions; round += 1) {
      const name = `keys_${round}`;
      await cluster.sql(
        `CREATE DYNAMIC TABLE ${name} TARGET_LAG = '24 hours' REFRESH_MODE = FULL AS ${definitions.keys}`,
      );
      samples.push(await firstRefreshMs(cluster, name));
    }
    return median(samples);
  } finally {
    await cluster.stop();
  }
}

async function firstRefreshMs(cluster: TablesCluster, dynamicTable: string): Promise<number> {
  const done = await waitFor(
    `${dynamicTable} to be filled`,
    async () => {
      const request = { dynamicTable, limit: 1 };
      const [record] = await cluster.store.read((tx) => readRefreshHistory(tx, request));
      return record?.state === "SUCCEEDED" ? record : undefined;
    },
    300_000,
  );
  return done.endedAtMs - done.startedAtMs;
}
