/** Tables, COPY and dynamic tables, as a person uses them; then with processes killed while they work. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Cluster, runCli, startCluster, stopEverything, waitFor } from "./harness.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ workers: 2 });
  await cluster.waitForWorkers("ACTIVE", ["worker-1", "worker-2"]);
});
after(async () => {
  await cluster.stop();
  await stopEverything();
});

/** The rows of an answer; throws its error. */
async function sql(text: string): Promise<readonly (readonly unknown[])[]> {
  const response = await fetch(`${cluster.url}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql: text }),
  });
  const lines = (await response.text()).trimEnd().split("\n");
  const last = JSON.parse(lines.at(-1) ?? "null") as {
    error?: { message: string };
    message?: string;
  };
  if (!response.ok) throw new Error(last.message);
  if (last.error !== undefined) throw new Error(last.error.message);
  return lines.slice(1, -1).map((line) => JSON.parse(line) as readonly unknown[]);
}

async function untilFresh(query: string, wanted: readonly (readonly unknown[])[]): Promise<void> {
  await waitFor(
    `${query} to be ${JSON.stringify(wanted)}`,
    async () => {
      const rows = await sql(query).catch(() => undefined);
      return JSON.stringify(rows) === JSON.stringify(wanted) ? true : undefined;
    },
    60_000,
  );
}

test("[TE1] the example of the guide works as it is written", async () => {
  const file = join(cluster.dataDir, "orders.csv");
  writeFileSync(
    file,
    "id,category,amount,at\n1,a,2.50,2026-01-01 10:00:00\n2,b,3.50,\n3,a,1.00,\n",
  );
  const script = [
    "CREATE TABLE orders (id BIGINT, category VARCHAR, amount DECIMAL(10,2), at TIMESTAMP);",
    `COPY orders FROM '${file}';`,
    "CREATE DYNAMIC TABLE revenue TARGET_LAG = '1 second' AS SELECT category, sum(amount) AS revenue, count(*) AS n FROM orders GROUP BY category;",
  ];
  const done = await runCli(["sql", "-c", script.join("\n"), "--url", cluster.url]);
  assert.equal(done.code, 0, done.stderr);
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

test("[TE2] processes killed at any moment lose no row and publish nothing twice", async () => {
  await sql("CREATE TABLE events (id BIGINT, kind INTEGER)");
  await sql(
    "CREATE DYNAMIC TABLE kinds TARGET_LAG = '1 second' AS SELECT kind, count(*) AS n, sum(id) AS ids FROM events GROUP BY kind",
  );
  await sql(
    "CREATE DYNAMIC TABLE total TARGET_LAG = '1 second' AS SELECT sum(n) AS n, sum(ids) AS ids FROM kinds",
  );
  const victims = ["worker-1", "coordinator", "worker-2"];
  let written = 0;
  for (let round = 0; round < 12; round += 1) {
    const victim = victims[round % victims.length] as string;
    setTimeout(
      () => {
        try {
          cluster.kill(victim, "SIGKILL");
        } catch {
          // It is being started again this very moment.
        }
      },
      20 + ((round * 37) % 200),
    );
    const insert = `INSERT INTO events SELECT range, range % 7 FROM range(${written}, ${written + 1000})`;
    // An answer that was lost says nothing about the statement: what is there decides.
    await waitFor(
      `round ${round} to be written`,
      async () => {
        const [row] = await sql("SELECT count(*) FROM events").catch(() => []);
        if (row?.[0] === written + 1000) return true;
        if (row?.[0] === written) await sql(insert).catch(() => undefined);
        return undefined;
      },
      90_000,
    );
    written += 1000;
  }
  const ids = (written * (written - 1)) / 2;
  await untilFresh("SELECT n::BIGINT, ids::BIGINT FROM total", [[written, ids]]);
  const counts = await sql("SELECT count(*), count(DISTINCT id) FROM events");
  assert.deepEqual(counts, [[written, written]]);
  const history = await sql("SHOW REFRESH HISTORY kinds LIMIT 200");
  const numbers = history.map(([, number]) => number);
  assert.equal(new Set(numbers).size, numbers.length, "each refresh is published once");
});
