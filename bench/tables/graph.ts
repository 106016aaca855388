/**
 * A hundred dynamic tables in five levels, each of which reads one or two of the level above, while
 * four plain tables change at random for a minute. Every half second the store is asked how far
 * each table is behind: none may ever be later than its target.
 */
import { setTimeout } from "node:timers/promises";
import { readOverview } from "../../src/kinds/refresh/store/overview.ts";
import { waitFor } from "../../test/e2e/harness.ts";
import type { BenchOptions, Report } from "../report.ts";
import { TablesCluster } from "./cluster-sql.ts";

const sources = 4;
const levels = 5;
const tablesPerLevel = 20;
const lookMs = 500;
const changeMsMax = 800;

export async function benchGraph(
  { busySeconds, targetMs }: BenchOptions,
  report: Report,
): Promise<void> {
  const cluster = await TablesCluster.start({ workers: 2 });
  try {
    await createGraph(cluster, targetMs);
    await waitFor(
      "every table to be filled",
      async () => {
        const tables = await cluster.store.read(readOverview);
        return tables.every(({ lagMs }) => lagMs !== undefined && lagMs < targetMs) || undefined;
      },
      120_000,
    );
    const before = await missedBefore(cluster);
    const endMs = performance.now() + busySeconds * 1_000;
    const changing = changeUntil(cluster, endMs);
    let worstMs = 0;
    const late = new Set<string>();
    while (performance.now() < endMs) {
      for (const { label, lagMs, lagMissedCount } of await cluster.store.read(readOverview)) {
        worstMs = Math.max(worstMs, lagMs ?? 0);
        if (lagMissedCount > (before.get(label) ?? 0)) late.add(label);
      }
      await setTimeout(lookMs);
    }
    report.figure(
      "graph_of_100_tables",
      { late: { value: late.size, atMost: 0 }, worst_lag_ms: { value: worstMs, atMost: targetMs } },
      { target_ms: targetMs, seconds: busySeconds, commits: await changing },
    );
  } finally {
    await cluster.stop();
  }
}

async function createGraph(cluster: TablesCluster, targetMs: number): Promise<void> {
  for (let source = 0; source < sources; source += 1) {
    await cluster.sql(`CREATE TABLE s${source} (k BIGINT, v BIGINT)`);
    await cluster.sql(`INSERT INTO s${source} SELECT range % 50, range FROM range(5000)`);
  }
  for (let level = 1; level <= levels; level += 1) {
    for (let index = 0; index < tablesPerLevel; index += 1) {
      const read = (offset: number): string =>
        level === 1
          ? `s${(index + offset) % sources}`
          : `t${level - 1}_${(index * 3 + offset) % tablesPerLevel}`;
      const definition =
        index % 2 === 0
          ? `SELECT k, sum(v)::BIGINT AS v FROM ${read(0)} GROUP BY k`
          : `SELECT a.k, a.v + b.v AS v FROM (SELECT k, max(v) AS v FROM ${read(0)} GROUP BY k) AS a JOIN (SELECT k, count(*) AS v FROM ${read(1)} GROUP BY k) AS b ON a.k = b.k`;
      await cluster.sql(
        `CREATE DYNAMIC TABLE t${level}_${index} TARGET_LAG = '${targetMs / 1000} seconds' AS ${definition}`,
      );
    }
  }
}

async function missedBefore(cluster: TablesCluster): Promise<ReadonlyMap<string, number>> {
  const tables = await cluster.store.read(readOverview);
  return new Map(tables.map(({ label, lagMissedCount }) => [label, lagMissedCount]));
}

/** Returns the number of commits. */
async function changeUntil(cluster: TablesCluster, endMs: number): Promise<number> {
  let commits = 0;
  while (performance.now() < endMs) {
    const source = Math.floor(Math.random() * sources);
    const key = Math.floor(Math.random() * 50);
    const statements = [
      `INSERT INTO s${source} SELECT ${key}, range FROM range(10)`,
      `UPDATE s${source} SET v = v + 1 WHERE k = ${key} AND v % 10 = 3`,
      `DELETE FROM s${source} WHERE k = ${key} AND v % 100 = 7`,
    ];
    await cluster.sql(statements[commits % statements.length] as string);
    commits += 1;
    await setTimeout(Math.random() * changeMsMax);
  }
  return commits;
}
