/**
 * Tables, COPY and dynamic tables, as a person uses them, and what a file that went away does to
 * them.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  type CliResult,
  type Cluster,
  type Rows,
  rowsOf,
  runCli,
  startCluster,
  startProcess,
  stopEverything,
  waitFor,
} from "./harness.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ workers: 2 });
  await cluster.waitForWorkers("ACTIVE", ["worker-1", "worker-2"]);
});
after(async () => {
  await cluster.stop();
  await stopEverything();
});

const sql = (text: string): Promise<Rows> => rowsOf(cluster.url, text);

async function untilFresh(query: string, wanted: Rows): Promise<void> {
  await waitFor(
    `${query} to be ${JSON.stringify(wanted)}`,
    async () => {
      const rows = await sql(query).catch(() => undefined);
      return JSON.stringify(rows) === JSON.stringify(wanted) ? true : undefined;
    },
    60_000,
  );
}

test("[TE1, TG16] the example of the guide works as it is written", async () => {
  const file = join(cluster.dataDir, "orders.csv");
  writeFileSync(
    file,
    "id,category,amount,at\n1,a,2.50,2026-01-01 10:00:00\n2,b,3.50,\n3,a,1.00,\n",
  );
  const script = [
    "CREATE TABLE orders (id BIGINT, category VARCHAR, amount DECIMAL(10,2), at TIMESTAMP);",
    `COPY orders FROM '${file}';`,
    "CREATE DYNAMIC TABLE revenue TARGET_LAG = '1 second' AS SELECT category, sum(amount) AS revenue, count(*) AS n FROM orders GROUP BY category;",
    "SELECT category || ' has ' || n AS said FROM revenue ORDER BY category;",
  ];
  const done = await runCli(["sql", "-c", script.join("\n"), "--url", cluster.url]);
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /a has 2.*b has 1/s, "the first contents are waited for");
  const counted = await waitFor("the refresh to be counted", async () => {
    const text = await (await fetch(`${cluster.url}/metrics`)).text();
    const found = /^refresh_duration_seconds_count\{.*\} (\d+)/m.exec(text);
    return Number(found?.[1] ?? 0) > 0 ? Number(found?.[1]) : undefined;
  });
  assert.ok(counted >= 1, "in the histogram");
  const query = "SELECT category, revenue::DOUBLE, n FROM revenue ORDER BY category NULLS LAST";
  await untilFresh(query, [
    ["a", 3.5, 2],
    ["b", 3.5, 1],
  ]);
  await sql("INSERT INTO orders (id, amount) VALUES (4, 10)");
  await sql("DELETE FROM orders WHERE category = 'b'");
  await untilFresh(query, [
    ["a", 3.5, 2],
    [null, 10, 1],
  ]);
  const [shown] = await sql("SHOW DYNAMIC TABLES");
  assert.deepEqual(shown?.slice(0, 2), ["revenue", "ACTIVE"]);
  assert.ok((await sql("SHOW REFRESH HISTORY revenue")).length >= 2);
  await sql("ALTER DYNAMIC TABLE revenue SUSPEND");
  await assert.rejects(sql("REFRESH DYNAMIC TABLE revenue"), /SUSPENDED/);
  await sql("ALTER DYNAMIC TABLE revenue RESUME");
  await assert.rejects(sql("DROP TABLE orders"), /orders is read by revenue/);
});

function check(...args: readonly string[]): Promise<CliResult> {
  return runCli(["lake", "check", "--data-dir", cluster.dataDir, ...args]);
}

test("[TE3] [CM18] a file deleted behind the lake's back costs its table, and is named", async () => {
  await sql("CREATE TABLE sound AS SELECT range AS n FROM range(10)");
  await sql("CREATE TABLE hurt AS SELECT range AS n FROM range(10)");
  const tablesOf = "TARGET_LAG = '1 second' AS SELECT count(*) AS n FROM";
  await sql(`CREATE DYNAMIC TABLE of_sound ${tablesOf} sound`);
  await sql(`CREATE DYNAMIC TABLE of_hurt ${tablesOf} hurt`);
  await untilFresh("SELECT n FROM of_hurt", [[10]]);
  const before = await check();
  assert.deepEqual([before.code, before.stderr], [0, ""], before.stdout);
  assert.match(before.stdout, /^lake: 0 findings in 6 tables, \d+ files, \d+ segments$/m);

  const directory = join(cluster.dataDir, "lake", "main", "hurt");
  const [file = ""] = readdirSync(directory);
  rmSync(join(directory, file));
  await assert.rejects(
    sql("SELECT sum(n) FROM hurt"),
    new RegExp(`main/hurt/${file} is not there`),
  );
  await sql("INSERT INTO hurt VALUES (11)");
  await sql("INSERT INTO sound VALUES (11)");
  await untilFresh("SELECT n FROM of_sound", [[11]]);
  // What was there is shown until the file is back; the reason is told.
  await waitFor("the reason to be shown", async () => {
    const shown = JSON.stringify(await sql("SHOW DYNAMIC TABLES"));
    return shown.includes(`main/hurt/${file} is not there`) ? true : undefined;
  });
  assert.deepEqual(await sql("SELECT n FROM of_hurt"), [[10]]);

  const damaged = await check();
  assert.equal(damaged.code, 1);
  const lines = damaged.stdout.trimEnd().split("\n");
  assert.equal(lines[0], `main/hurt/${file} is not there`);
  assert.match(lines.at(-1) ?? "", /^lake: 1 finding in 6 tables, \d+ files, \d+ segments$/);
  const asJson = await check("--json");
  assert.deepEqual(JSON.parse(asJson.stdout).findings, [lines[0]]);
  await sql("DROP DYNAMIC TABLE of_hurt");
  await sql("DROP TABLE hurt");
});

test("[CM19] the demo makes its tables, once, and takes them away", async () => {
  const demo = (...args: string[]) => runCli(["demo", ...args, "--url", cluster.url]);
  for (let time = 0; time < 2; time += 1) {
    const made = await demo();
    assert.equal(made.code, 0, made.stderr);
  }
  await untilFresh("SELECT sum(orders)::BIGINT FROM demo_revenue", [[20_000]]);
  await untilFresh("SELECT count(*) FROM demo_best_regions", [[4]]);
  assert.equal((await demo("--remove")).code, 0);
  await assert.rejects(sql("FROM demo_orders"), /demo_orders/);
});

test("[CM19] the live demo counts a stream into a table with a dynamic table, and Ctrl-C ends it", async () => {
  const live = startProcess(["demo", "--live", "--url", cluster.url]);
  await waitFor("views of the stream, by the dynamic table", async () => {
    const rows = await sql("SELECT sum(views)::BIGINT FROM demo_popular_pages").catch(() => []);
    return Number(rows[0]?.[0] ?? 0) > 300 || undefined;
  });
  const pages = await sql("SELECT page FROM demo_popular_pages ORDER BY page");
  assert.deepEqual(
    pages.map(([page]) => Number(page)),
    [0, 1, 2, 3, 4],
  );
  live.kill("SIGINT");
  assert.equal((await live.exited).code, 130);
  assert.doesNotMatch(live.output, /error/);
  await waitFor("the query to be gone", async () => {
    const queries = await sql("SHOW QUERIES");
    return queries.length === 0 || undefined;
  });
  assert.ok(Number((await sql("SELECT count(*) FROM demo_page_views"))[0]?.[0]) > 0);
  const removed = await runCli(["demo", "--remove", "--url", cluster.url]);
  assert.equal(removed.code, 0, removed.stderr);
  await assert.rejects(sql("FROM demo_page_views"), /demo_page_views/);
});

test("[CM18] a check of what is not there makes nothing", async () => {
  const absent = join(cluster.dataDir, "absent");
  const done = await runCli(["lake", "check", "--data-dir", absent]);
  assert.equal(done.code, 1);
  assert.match(done.stderr, /there is no directory .*absent/);
  assert.equal(existsSync(absent), false);
});
