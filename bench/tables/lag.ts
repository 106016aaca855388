/**
 * How soon a dynamic table with a target lag of a second shows what was committed to its source:
 * from the moment an INSERT is sent over HTTP until a SELECT of the table, asked again and again,
 * has it. Trials begin at random phases of the schedule.
 */
import { setTimeout } from "node:timers/promises";
import { type BenchOptions, percentile, type Report } from "../report.ts";
import { TablesCluster } from "./cluster-sql.ts";

const trials = 100;
const atMost = 2_000;
const pollMs = 5;

export async function benchLag(_: BenchOptions, report: Report): Promise<void> {
  const cluster = await TablesCluster.start({ workers: 2 });
  try {
    await cluster.sql("CREATE TABLE orders (id BIGINT, category BIGINT, amount BIGINT)");
    await cluster.sql("INSERT INTO orders SELECT range, range % 100, range % 7 FROM range(100000)");
    await cluster.sql(
      "CREATE DYNAMIC TABLE revenue TARGET_LAG = '1 second' AS SELECT category, sum(amount) AS revenue, count(*) AS n FROM orders GROUP BY category",
    );
    let rows = 100_000;
    await untilShown(cluster, rows);
    const samples: number[] = [];
    for (let trial = 0; trial < trials; trial += 1) {
      await setTimeout(Math.random() * 1_500);
      const startedMs = performance.now();
      await cluster.sql(`INSERT INTO orders VALUES (${rows}, ${trial % 100}, 1)`);
      rows += 1;
      await untilShown(cluster, rows);
      samples.push(performance.now() - startedMs);
    }
    samples.sort((a, b) => a - b);
    report.figure(
      "commit_to_fresh",
      { p99_ms: { value: percentile(samples, 0.99), atMost } },
      { p50_ms: percentile(samples, 0.5), worst_ms: samples.at(-1), trials },
    );
  } finally {
    await cluster.stop();
  }
}

async function untilShown(cluster: TablesCluster, rows: number): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (performance.now() < deadlineMs) {
    const [row] = await cluster.sql("SELECT sum(n)::BIGINT FROM revenue");
    if (Number(row?.[0]) === rows) return;
    await setTimeout(pollMs);
  }
  throw new Error(`waited a minute for ${rows} rows to be counted`);
}
