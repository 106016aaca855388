/** Refreshes over a real lake with a real DuckDB, without scheduler and claims. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startEngine } from "../../../data/duckdb/index.ts";
import { never } from "../../../data/duckdb/testing/test-engine.ts";
import type { SnapshotId } from "../../../data/lake/index.ts";
import { startLakeCluster } from "../../../data/lake/statements/testing/lake-cluster.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import type { DynamicTable, RefreshResult } from "../core/index.ts";
import { createLakeRefresher } from "./lake-refresher.ts";

const cluster = await startLakeCluster();
const { catalog, objects, rows, store } = cluster;
const dir = mkdtempSync(join(tmpdir(), "capstan-refresher-"));
const engine = await startEngine({
  memoryLimitBytes: 512 * 1024 ** 2,
  treeLimitBytes: 1024 ** 3,
  threads: 2,
  spoolDir: join(dir, "spool"),
  tempDir: join(dir, "temp"),
  connections: 2,
  readableDirs: [cluster.lakeDir, dir],
  clock: realClock,
  logger: silentLogger,
});
after(async () => {
  await engine.close();
  await cluster.close();
  rmSync(dir, { recursive: true, force: true });
});
const refresher = createLakeRefresher({
  catalog,
  engine,
  objects,
  stagingDir: dir,
  prng: createPrng(7),
  logger: silentLogger,
  clock: realClock,
});

/** A dynamic table that SQL created and the test refreshes from the newest snapshot. */
async function tableOf(name: string, source: string, definition: string) {
  await rows(
    `CREATE DYNAMIC TABLE ${name} TARGET_LAG = '1 hour' REFRESH_MODE = AUTO AS ${definition}`,
  );
  const ids = new Map((await catalog.tables()).map((table) => [table.name, table.tableId]));
  const [tableId, sourceId] = [ids.get(name), ids.get(source)];
  assert.ok(tableId !== undefined && sourceId !== undefined);
  let from: SnapshotId | undefined;
  let token = 0;
  return async (modeWish: DynamicTable["modeWish"] = "INCREMENTAL"): Promise<RefreshResult> => {
    token += 1;
    const { snapshot: to } = await catalog.current();
    const known = { schema: "main", name, definition, modeWish, isVolatile: false };
    const table = { ...known, tableId, dataSnapshot: from } as DynamicTable;
    const sources = [{ tableId: sourceId, isDynamic: false, from, to }];
    const claim = {
      tableId,
      workerId: "w1",
      token,
      sources,
      experience: [],
    } as unknown as Parameters<typeof refresher.refresh>[0];
    const result = await refresher.refresh(claim, table, never);
    assert.ok(result.action !== "SPLIT");
    if (result.action !== "NO_DATA") {
      await store.catalogTransaction(async (tx) => await result.commit(tx));
    }
    from = to;
    return result;
  };
}

test("[TI1] a refresh from changes gives the definition's rows, in the lake too", async () => {
  await rows("CREATE TABLE facts AS SELECT range AS id, range % 7 AS g, 1 AS v FROM range(50)");
  const definition =
    "SELECT g, sum(v) AS s, avg(v) AS a FROM facts WHERE id <> 9007199254740993 GROUP BY g";
  const refresh = await tableOf("sums", "facts", definition);
  assert.equal((await refresh()).action, "FULL");
  for (let round = 0; round < 6; round += 1) {
    await rows(`INSERT INTO facts VALUES (900719925474099${round}, ${round}, 10)`);
    await rows(`UPDATE facts SET v = v + 1, g = (g + 1) % 7 WHERE id % 5 = ${round % 5}`);
    assert.equal((await refresh()).action, "INCREMENTAL");
    const order = "ORDER BY g";
    assert.deepEqual(await rows(`FROM sums ${order}`), await rows(`${definition} ${order}`));
  }
  assert.equal((await refresh()).action, "NO_DATA");
  const [version] = await catalog.resolve([
    { schema: undefined, name: "sums", moment: { kind: "current" } },
  ]);
  assert.ok(version !== undefined && version.files.length <= 5, "its files do not add up");
});

test("[TI1] a source may be called like something of a refresh's", async () => {
  await rows('CREATE TABLE "_stored" AS SELECT 1 AS a');
  const refresh = await tableOf(
    "of_stored",
    "_stored",
    "SELECT a, count(*) AS n FROM _stored GROUP BY a",
  );
  await refresh();
  await rows("INSERT INTO _stored VALUES (1), (2)");
  await refresh();
  assert.deepEqual(await rows("FROM of_stored ORDER BY a"), [
    [1, 2],
    [2, 1],
  ]);
});

test("[TC12] other columns than the table was made for are refused, not written into them", async () => {
  await rows("CREATE TABLE shifting AS SELECT 1 AS a, 2 AS b");
  const refresh = await tableOf("shifted", "shifting", "SELECT * FROM shifting LIMIT 10");
  assert.equal((await refresh()).action, "FULL");
  // A change by a writer that does not know dynamic tables.
  const shifting = (await catalog.tables()).find(({ name }) => name === "shifting");
  const columnId = shifting?.columns.find(({ name }) => name === "a")?.columnId;
  assert.ok(shifting !== undefined && columnId !== undefined);
  await catalog.commit({
    readSnapshot: (await catalog.current()).snapshot,
    token: "elsewhere",
    changes: [{ kind: "dropColumn", tableId: shifting.tableId, columnId }],
    author: "elsewhere",
    message: "",
  });
  await rows("ALTER TABLE shifting ADD COLUMN c INTEGER DEFAULT 3");
  await assert.rejects(refresh(), { code: "bad_sql", message: /no longer those/ });
  assert.deepEqual(await rows("FROM shifted"), [[1, 2]]);
});

test("[TG7] a table that is asked to be refreshed in full stores its own columns alone, and stays so", async () => {
  await rows("CREATE TABLE sold AS SELECT range AS id, range % 3 AS g FROM range(9)");
  await rows(
    "CREATE DYNAMIC TABLE bare TARGET_LAG = '1 hour' REFRESH_MODE = FULL AS SELECT id, g FROM sold WHERE g > 0",
  );
  const bare = (await catalog.tables()).find(({ name }) => name === "bare");
  const sold = (await catalog.tables()).find(({ name }) => name === "sold");
  assert.ok(bare !== undefined && sold !== undefined);
  const { snapshot } = await catalog.current();
  const [version] = await catalog.resolve([
    { schema: undefined, name: "bare", moment: { kind: "current" } },
  ]);
  assert.deepEqual(
    version?.table.columns.map(({ name }) => name),
    ["id", "g"],
  );
  const table = {
    ...{ schema: "main", name: "bare", tableId: bare.tableId, isVolatile: false },
    ...{ definition: "SELECT id, g FROM sold WHERE g > 0", modeWish: "AUTO" },
    dataSnapshot: undefined,
  } as unknown as DynamicTable;
  const sources = [{ tableId: sold.tableId, isDynamic: false, from: undefined, to: snapshot }];
  const claim = { tableId: bare.tableId, workerId: "w1", token: 99, sources, experience: [] };
  const result = await refresher.refresh(
    claim as unknown as Parameters<typeof refresher.refresh>[0],
    table,
    never,
  );
  assert.ok(result.action === "FULL");
  await store.catalogTransaction(async (tx) => await result.commit(tx));
  assert.deepEqual(await rows("SELECT count(*), sum(g)::BIGINT FROM bare"), [[6, 9]]);
  const [altered] = await rows("ALTER DYNAMIC TABLE bare SET REFRESH_MODE = AUTO");
  assert.match(String(altered?.[0]), /FULL: it was created with REFRESH_MODE = FULL/);
  await assert.rejects(rows("ALTER DYNAMIC TABLE bare SET REFRESH_MODE = INCREMENTAL"), {
    code: "bad_sql",
  });
});
