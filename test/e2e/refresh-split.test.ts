/** A large refresh in parts, by real workers; then with workers killed in the middle of it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql as ask, type Cluster, startCluster, stopEverything, waitFor } from "./harness.ts";

let cluster: Cluster;
const workers = ["worker-1", "worker-2"];
const rowCount = 400_000;

before(async () => {
  cluster = await startCluster({ workers: 2, args: ["--split-rows", "100000"] });
  await cluster.waitForWorkers("ACTIVE", workers);
  await sql(
    `CREATE TABLE facts AS SELECT CASE WHEN range % 13 = 0 THEN NULL ELSE range % 5000 END AS k, range AS v FROM range(${rowCount})`,
  );
  // Slow enough to be met in the middle.
  await sql(
    `CREATE DYNAMIC TABLE digests TARGET_LAG = '1 hour' REFRESH_MODE = FULL AS
       SELECT k, count(*) AS n, sum(v) AS s, max(sha256(repeat(v::VARCHAR, 40))) AS d FROM facts GROUP BY k`,
  );
});
after(async () => {
  await cluster.stop();
  await stopEverything();
});

/** The rows of an answer; throws its error. */
async function sql(text: string): Promise<readonly (readonly unknown[])[]> {
  const { rows, error } = await ask(cluster.url, text);
  if (error !== undefined) throw new Error(error.message);
  return rows;
}

interface Refresh {
  readonly number: number;
  readonly state: string;
  readonly action: string | null;
  readonly parts: string | null;
}

/** Those that did something, newest first. */
async function history(): Promise<readonly Refresh[]> {
  const rows = await sql("SHOW REFRESH HISTORY digests LIMIT 100");
  const all = rows.map((row) => ({
    number: Number(row[1]),
    state: String(row[2]),
    action: row[3] as string | null,
    parts: row[10] as string | null,
  }));
  return all.filter(({ action }) => action !== "NO_DATA");
}

async function state(): Promise<string> {
  const [shown] = await sql("SHOW DYNAMIC TABLES");
  return String(shown?.[1]);
}

async function untilRefreshed(count: number): Promise<readonly Refresh[]> {
  return await waitFor(
    `${count} refreshes`,
    async () => {
      const known = await history().catch(() => []);
      const done = known.filter(({ state: ended }) => ended === "SUCCEEDED");
      return done.length >= count ? known : undefined;
    },
    120_000,
    () => workers.map((name) => cluster.log(name).slice(-3_000)).join("\n"),
  );
}

/** What the table says, and what its definition does. */
async function sums(): Promise<readonly [unknown, unknown]> {
  const over = (table: string) =>
    `SELECT count(*), sum(n)::BIGINT, sum(s)::BIGINT, count(k), md5(string_agg(d, '' ORDER BY k NULLS FIRST)) FROM ${table}`;
  const definition =
    "(SELECT k, count(*) AS n, sum(v) AS s, max(sha256(repeat(v::VARCHAR, 40))) AS d FROM facts GROUP BY k)";
  return [await sql(over("digests")), await sql(over(definition))];
}

test("[TE5, TP10] a refresh above the threshold is computed by both workers, and published once", async () => {
  const [first] = await untilRefreshed(1);
  assert.match(first?.parts ?? "", /^4, by [12] workers?$/);
  const [stored, wanted] = await sums();
  assert.deepEqual(stored, wanted);
  let count = 1;
  while (!(await history()).some(({ parts }) => parts === "4, by 2 workers")) {
    assert.ok(count < 10, "both workers take part sooner or later");
    await sql("INSERT INTO facts VALUES (1, 1)");
    await sql("REFRESH DYNAMIC TABLE digests");
    count += 1;
    await untilRefreshed(count);
  }
});

/**
 * Begins a refresh, and resolves when it is seen in the middle, with how many there were before.
 * `undefined`: it was over before anybody looked.
 */
async function untilInParts(): Promise<number | undefined> {
  const count = async (): Promise<number> =>
    (await history()).filter((each) => each.state === "SUCCEEDED").length;
  const before = await count();
  await sql("UPDATE facts SET v = v + 1 WHERE k = 7");
  await sql("REFRESH DYNAMIC TABLE digests");
  return await waitFor("a refresh in parts, or its end", async () => {
    if (/of [2-4] parts/.test(await state())) return { before };
    return (await count()) > before ? { before: undefined } : undefined;
  }).then((seen) => seen.before);
}

test("[TE5] a worker killed in the middle of it, lead or not: the right rows, one publication", async () => {
  for (const victim of workers) {
    const before = await waitFor("a refresh in parts", untilInParts);
    cluster.kill(victim, "SIGKILL");
    await untilRefreshed(before + 1);
    await cluster.waitForWorkers("ACTIVE", workers, 60_000);
    const known = await history();
    const done = known.filter((each) => each.state === "SUCCEEDED");
    assert.equal(done.length, before + 1, "it was published once");
    const [stored, wanted] = await sums();
    assert.deepEqual(stored, wanted);
  }
});
