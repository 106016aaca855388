/** Refreshes of real files, split and not, under faults. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Engine, EngineSession } from "../../../data/duckdb/index.ts";
import { emptyStaging, type ObjectStore } from "../../../data/lake/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { eventually } from "../../../ground/kernel/testing/eventually.ts";
import { type RefreshingLake, startRefreshingLake } from "./testing/refreshing-lake.ts";

async function open(t: TestContext): Promise<RefreshingLake> {
  const lake = await startRefreshingLake();
  t.after(() => lake.close());
  return lake;
}

const lag = "TARGET_LAG = '1 second'";
const groups = "SELECT k, count(*)::BIGINT AS n, sum(v)::BIGINT AS s FROM facts GROUP BY k";

/** The differences between the stored rows and the definition's current result. */
async function differences(
  lake: RefreshingLake,
  table: string,
  query: string,
): Promise<readonly (readonly unknown[])[]> {
  return await lake.rows(
    `(SELECT * FROM ${table} EXCEPT ALL (${query})) UNION ALL ((${query}) EXCEPT ALL SELECT * FROM ${table})`,
  );
}

test("[TP5, TP9, TP10] a large full refresh is computed in parts by several workers, published once, and right", async (t) => {
  const lake = await open(t);
  await lake.rows(
    "CREATE TABLE facts AS SELECT CASE WHEN range % 11 = 0 THEN NULL ELSE range % 500 END AS k, range AS v FROM range(20000)",
  );
  await lake.rows("CREATE TABLE names AS SELECT range AS k, 'n' || range AS name FROM range(400)");
  const definitions: Readonly<Record<string, string>> = {
    grouped: groups,
    joined: "SELECT f.v, n.name FROM facts f LEFT JOIN names n ON f.k = n.k WHERE f.v % 3 = 0",
    ranked:
      "SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v)::BIGINT AS r FROM facts QUALIFY r <= 3",
    united: "SELECT k FROM facts UNION ALL SELECT k FROM names",
  };
  for (const [name, query] of Object.entries(definitions)) {
    await lake.rows(`CREATE DYNAMIC TABLE ${name} ${lag} REFRESH_MODE = FULL AS ${query}`);
  }
  await lake.rows(`CREATE DYNAMIC TABLE total ${lag} AS SELECT sum(v)::BIGINT AS s FROM facts`);
  await Promise.all(["w1", "w2"].map((name) => lake.startWorker(name, { splitRows: 10_000 })));
  for (const [name, query] of Object.entries(definitions)) {
    const done = await lake.until(name, ({ action }) => action === "FULL");
    assert.equal(done.partCount, 2, name);
    assert.match(done.reason, /in 2 parts/);
    assert.deepEqual(await differences(lake, name, query), [], name);
  }
  const whole = await lake.until("total", ({ action }) => action === "FULL");
  assert.equal(whole.partCount, 1, "it has no buckets");
  await lake.rows("DELETE FROM facts WHERE v % 2 = 0");
  await lake.rows("INSERT INTO facts SELECT NULL, range FROM range(5000)");
  for (const [name, query] of Object.entries(definitions)) {
    await eventually(`${name} to be fresh`, async () =>
      (await differences(lake, name, query)).length === 0 ? true : undefined,
    );
    for (const { action, partCount, error } of await lake.history(name)) {
      assert.equal(error, undefined);
      assert.ok(action === "NO_DATA" || partCount === 2, name);
    }
  }
  const shared = await Promise.all(Object.keys(definitions).map((name) => lake.history(name)));
  assert.ok(
    shared.flat().some(({ workerCount }) => workerCount === 2),
    "several workers took part",
  );
});

/** Runs `act` just before a worker puts its first file. */
function beforePut(act: () => Promise<unknown>): (objects: ObjectStore) => ObjectStore {
  let isDone = false;
  return (objects) => ({
    ...passing(objects),
    put: async (...args) => {
      if (!isDone) {
        isDone = true;
        await act();
      }
      return await objects.put(...args);
    },
  });
}

function passing(objects: ObjectStore): ObjectStore {
  return {
    kind: objects.kind,
    put: (...args) => objects.put(...args),
    fetch: (...args) => objects.fetch(...args),
    checksum: (path) => objects.checksum(path),
    reserve: (...args) => objects.reserve(...args),
    stat: (path) => objects.stat(path),
    list: (prefix) => objects.list(prefix),
    delete: (paths) => objects.delete(paths),
  };
}

for (const mode of ["FULL", "INCREMENTAL"] as const) {
  test(`[TW7] a stored table that is compacted during its ${mode} refresh: published all the same, at the first attempt`, async (t) => {
    const lake = await open(t);
    await lake.rows("CREATE TABLE facts AS SELECT range % 5 AS k, range AS v FROM range(100)");
    await lake.rows(
      `CREATE DYNAMIC TABLE small ${lag} REFRESH_MODE = INCREMENTAL AS SELECT k, v FROM facts`,
    );
    await lake.startWorker("w1");
    for (let round = 0; round < 3; round += 1) {
      await lake.rows(`INSERT INTO facts VALUES (${round}, ${1000 + round})`);
      await lake.untilFresh("SELECT count(*) FROM small", [[101 + round]]);
    }
    await lake.rows("ALTER DYNAMIC TABLE small SUSPEND");
    await lake.rows(`ALTER DYNAMIC TABLE small SET REFRESH_MODE = ${mode}`);
    const compactions: number[] = [];
    const objects = beforePut(async () => compactions.push(await lake.compact()));
    await lake.stopWorkers();
    await lake.startWorker("w2", { objects });
    await lake.rows("DELETE FROM facts WHERE k = 2");
    await lake.rows("ALTER DYNAMIC TABLE small RESUME");
    const done = await lake.until("small", ({ workerId }) => workerId === "w2");
    assert.ok((compactions[0] ?? 0) > 0, "it was compacted");
    assert.deepEqual(
      [done.state, done.action, done.attempt, done.error],
      ["SUCCEEDED", mode, 1, undefined],
    );
    assert.deepEqual(await differences(lake, "small", "SELECT k, v FROM facts"), []);
  });
}

/** An engine that fails statements that match. */
function failing(
  matches: (sql: string) => boolean,
): (engine: Engine) => Pick<Engine, "withSession"> {
  return (engine) => ({
    withSession: (relations, stop, use) =>
      engine.withSession(relations, stop, async (session) => {
        const guarded: EngineSession = {
          run: async (sql, signal) => {
            if (matches(sql)) throw new OperatingError("query_too_large", "never", "Out of Memory");
            return await session.run(sql, signal);
          },
          objects: (...statement) => session.objects(...statement),
        };
        return await use(guarded);
      }),
  });
}

test("[TI13] a change that DuckDB cannot compute is computed whole, once, with the reason in the history", async (t) => {
  const lake = await open(t);
  await lake.rows("CREATE TABLE facts AS SELECT range % 5 AS k, range AS v FROM range(100)");
  await lake.rows(`CREATE DYNAMIC TABLE sums ${lag} REFRESH_MODE = INCREMENTAL AS ${groups}`);
  let isHopeless = false;
  const engine = failing(
    (sql) => /^CREATE TEMP TABLE/.test(sql) || (isHopeless && /^COPY/.test(sql)),
  );
  await lake.startWorker("w1", { engine });
  await lake.until("sums", ({ state }) => state === "SUCCEEDED");
  await lake.rows("INSERT INTO facts VALUES (1, 1), (NULL, 2)");
  const whole = await lake.until(
    "sums",
    ({ number, action }) => number > 1 && action !== "NO_DATA",
  );
  assert.deepEqual([whole.state, whole.action, whole.attempt], ["SUCCEEDED", "FULL", 1]);
  assert.match(whole.reason, /computed whole, because the change could not be: Out of Memory/);
  assert.deepEqual(await differences(lake, "sums", groups), []);
  isHopeless = true;
  await lake.rows("INSERT INTO facts VALUES (2, 1)");
  const failed = await lake.until("sums", ({ state }) => state === "FAILED");
  assert.match(failed.error?.message ?? "", /Out of Memory/);
});

test("[TC19] AUTO learns from the history: another worker knows what refreshes cost", async (t) => {
  const lake = await open(t);
  await lake.rows("CREATE TABLE facts AS SELECT range % 50 AS k, range AS v FROM range(1000)");
  await lake.rows(`CREATE DYNAMIC TABLE sums ${lag} AS ${groups}`);
  await lake.startWorker("w1");
  await lake.until("sums", ({ state }) => state === "SUCCEEDED");
  await lake.rows("INSERT INTO facts VALUES (1, 1)");
  const first = await lake.until("sums", ({ action }) => action === "INCREMENTAL");
  assert.match(first.reason, /not tried yet/);
  await lake.stopWorkers();
  await lake.startWorker("w2");
  await lake.rows("INSERT INTO facts VALUES (2, 1)");
  const second = await lake.until(
    "sums",
    ({ workerId, action }) => workerId === "w2" && action !== "NO_DATA",
  );
  assert.match(second.reason, /instead of .* ms$/, "it compares what both took");
});

/** A table that keeps failing is suspended, which removes its unreachable targets. */
test("[TE3, TC20] a file of a source that is gone: told by table and file, no other table is affected, and it heals", async (t) => {
  const lake = await open(t);
  await lake.rows("CREATE TABLE facts AS SELECT range % 5 AS k, range AS v FROM range(100)");
  await lake.rows("CREATE TABLE other AS SELECT range AS v FROM range(10)");
  const { catalog, lakeDir } = lake.cluster;
  const ref = { schema: "main", name: "facts", moment: { kind: "current" } } as const;
  const [version] = await catalog.resolve([ref]);
  const path = version?.files[0]?.path ?? "";
  const [place, away] = [join(lakeDir, path), join(lakeDir, "..", "away")];
  renameSync(place, away);
  await lake.rows(`CREATE DYNAMIC TABLE sums ${lag} AS ${groups}`);
  await lake.rows(`CREATE DYNAMIC TABLE fine ${lag} AS SELECT count(*) AS n FROM other`);
  await lake.startWorker("w1", { splitRows: 1_000_000 });
  const failed = await lake.until("sums", ({ state }) => state === "FAILED");
  assert.equal(failed.error?.code, "store_corrupt");
  const message = failed.error?.message ?? "";
  assert.ok(message.startsWith("table main.facts cannot be read: ") && message.includes(path));
  await lake.untilFresh("SELECT n FROM fine", [[10]]);
  await lake.rows("INSERT INTO other VALUES (1)");
  await lake.untilFresh("SELECT n FROM fine", [[11]]);
  renameSync(away, place);
  await lake.untilFresh("SELECT sum(n)::BIGINT FROM sums", [[100]]);
});

test("[TE4] a lake without room: the refresh fails, the old version stays, and it is tried again", async (t) => {
  const lake = await open(t);
  await lake.rows("CREATE TABLE facts AS SELECT range % 5 AS k, range AS v FROM range(100)");
  let isFull = false;
  let attempts = 0;
  const objects = (real: ObjectStore): ObjectStore => ({
    ...passing(real),
    put: (path, ...args) => {
      if (!isFull || attempts === 2) return real.put(path, ...args); // There is room again.
      attempts += 1;
      return Promise.reject(
        new OperatingError("disk_full", "backoff", `${path}: no space is left`),
      );
    },
  });
  await lake.startWorker("w1", { objects });
  await lake.rows(`CREATE DYNAMIC TABLE sums ${lag} AS ${groups}`);
  await lake.untilFresh("SELECT sum(n)::BIGINT FROM sums", [[100]]);
  isFull = true;
  await lake.rows("INSERT INTO facts VALUES (1, 1)");
  const failed = await lake.until("sums", ({ state }) => state === "FAILED");
  assert.equal(failed.error?.code, "disk_full");
  assert.match(failed.error?.message ?? "", /no space is left/);
  const { snapshot } = await lake.until("sums", ({ number }) => number === 1);
  assert.deepEqual(await lake.rows(`SELECT sum(n)::BIGINT FROM sums AT (VERSION => ${snapshot})`), [
    [100],
  ]);
  await lake.untilFresh("SELECT sum(n)::BIGINT FROM sums", [[101]]);
});

test("[TE4] the same where DuckDB itself writes", async (t) => {
  const lake = await open(t);
  const tiny = mkdtempSync(join(lake.dir, "tiny-"));
  const mounted = run("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", tiny);
  if (mounted.status !== 0) {
    t.skip("needs the right to mount");
    return;
  }
  try {
    await fillUp(lake, tiny);
  } finally {
    await lake.stopWorkers();
    run("umount", "-l", tiny);
  }
});

function run(...words: readonly string[]) {
  return spawnSync("sh", ["-c", 'exec "$@"', "sh", ...words]);
}

async function fillUp(lake: RefreshingLake, tiny: string): Promise<void> {
  await emptyStaging(join(tiny, "staging"));
  await lake.startWorker("w1", { stagingDir: join(tiny, "staging") });
  await lake.rows("CREATE TABLE facts AS SELECT range % 5 AS k, range AS v FROM range(100)");
  await lake.rows(`CREATE DYNAMIC TABLE copied ${lag} AS SELECT v, hash(v) AS h FROM facts`);
  await lake.untilFresh("SELECT count(*) FROM copied", [[100]]);
  await lake.rows("INSERT INTO facts SELECT 1, range FROM range(400000)");
  const failed = await lake.until("copied", ({ state }) => state === "FAILED");
  assert.equal(failed.error?.code, "disk_full", failed.error?.message);
  assert.deepEqual(await lake.rows("SELECT count(*) FROM copied"), [[100]]);
  await lake.rows("DELETE FROM facts WHERE v > 1000");
  await lake.untilFresh("SELECT count(*) FROM copied", [[1101]]);
}

test("[TG10] who reads a new table gets its first contents; where none are coming it is said why", async (t) => {
  const lake = await open(t);
  await lake.rows("CREATE TABLE coming AS SELECT 7 AS n");
  await lake.rows("CREATE DYNAMIC TABLE filled TARGET_LAG = '1 hour' AS SELECT n FROM coming");
  const early = lake.rows("SELECT n FROM filled");
  await lake.startWorker("w1");
  assert.deepEqual(await early, [[7]]);

  await lake.rows(
    "CREATE DYNAMIC TABLE later TARGET_LAG = '1 hour' INITIALIZE = ON_SCHEDULE AS SELECT n FROM coming",
  );
  const refused = { message: "dynamic table later has no contents yet, and is INITIALIZING" };
  await assert.rejects(lake.rows("SELECT n FROM later"), refused);
  await assert.rejects(lake.rows("INSERT INTO coming SELECT n FROM later"), refused);
  await lake.rows("REFRESH DYNAMIC TABLE later");
  assert.deepEqual(await lake.rows("SELECT n FROM later"), [[7]]);

  await lake.rows(
    "CREATE DYNAMIC TABLE never TARGET_LAG = '1 hour' AS SELECT CAST(n || 'x' AS INTEGER) AS r FROM coming",
  );
  await assert.rejects(lake.rows("SELECT r FROM never"), /never has no contents yet: .*'7x'/);
});

test("[TG10] who reads a new table waits while its first refresh is repeated", async (t) => {
  const lake = await open(t);
  let failures = 3;
  const objects = (real: ObjectStore): ObjectStore => ({
    ...passing(real),
    put: (path, ...args) => {
      failures -= 1;
      if (failures < 0) return real.put(path, ...args);
      return Promise.reject(new OperatingError("disk_full", "backoff", "no space is left"));
    },
  });
  await lake.rows("CREATE TABLE coming AS SELECT 7 AS n");
  await lake.startWorker("w1", { objects });
  await lake.rows("CREATE DYNAMIC TABLE filled TARGET_LAG = '1 hour' AS SELECT n FROM coming");
  await lake.until("filled", ({ state }) => state === "FAILED");
  assert.deepEqual(await lake.rows("SELECT n FROM filled"), [[7]]);
  assert.equal(failures, -1);
});
