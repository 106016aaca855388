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
import { testGoldenScript } from "../../../ground/kernel/testing/golden-script.ts";
import type { RefreshResult } from "../core/index.ts";
import { dynamicTableOf, readRows, readSources } from "../store/table-rows.ts";
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

/** The snapshot that a table's contents were made of, by the table's name. */
const made = new Map<string, SnapshotId>();

/** Refreshes a table that SQL created from the newest snapshot, as a worker with a claim would. */
async function refresh(name: string): Promise<RefreshResult> {
  const { row, sourceRows } = await store.read(async (tx) => {
    const row = (await readRows(tx)).find((each) => each.name === name);
    assert.ok(row !== undefined, name);
    return { row, sourceRows: await readSources(tx, [row.table_id]) };
  });
  const from = made.get(name);
  const { snapshot: to } = await catalog.current();
  const table = { ...dynamicTableOf(row, sourceRows), dataSnapshot: from };
  const { tableId } = table;
  const sources = table.sources.map((id) => ({ tableId: id, isDynamic: false, from, to }));
  const claim = { tableId, workerId: "w1", token: to, sources, experience: [] };
  const result = await refresher.refresh(
    claim as unknown as Parameters<typeof refresher.refresh>[0],
    table,
    never,
  );
  assert.ok(result.action !== "SPLIT");
  if (result.action !== "NO_DATA") {
    await store.catalogTransaction(async (tx) => await result.commit(tx));
  }
  made.set(name, to);
  return result;
}

testGoldenScript(join(import.meta.dirname, "testdata", "refresh.slt"), async (sql) => {
  const [, name] = /^REFRESH DYNAMIC TABLE (\w+)$/.exec(sql) ?? [];
  if (name !== undefined) return [(await refresh(name)).action];
  return (await rows(sql)).map((row) => row.map((value) => JSON.stringify(value)).join(" "));
});

test("[TI1] a refresh from changes gives the definition's rows, in the lake too", async () => {
  await rows("CREATE TABLE facts AS SELECT range AS id, range % 7 AS g, 1 AS v FROM range(50)");
  const definition =
    "SELECT g, sum(v) AS s, avg(v) AS a FROM facts WHERE id <> 9007199254740993 GROUP BY g";
  const create = "TARGET_LAG = '1 hour' REFRESH_MODE = INCREMENTAL";
  await rows(`CREATE DYNAMIC TABLE sums ${create} AS ${definition}`);
  assert.equal((await refresh("sums")).action, "FULL");
  for (let round = 0; round < 6; round += 1) {
    await rows(`INSERT INTO facts VALUES (900719925474099${round}, ${round}, 10)`);
    await rows(`UPDATE facts SET v = v + 1, g = (g + 1) % 7 WHERE id % 5 = ${round % 5}`);
    assert.equal((await refresh("sums")).action, "INCREMENTAL");
    const order = "ORDER BY g";
    assert.deepEqual(await rows(`FROM sums ${order}`), await rows(`${definition} ${order}`));
  }
  assert.equal((await refresh("sums")).action, "NO_DATA");
  const [version] = await catalog.resolve([
    { schema: undefined, name: "sums", moment: { kind: "current" } },
  ]);
  assert.ok(version !== undefined && version.files.length <= 5, "its files do not add up");
});

test("[TC12] other columns than the table was made for are refused, not written into them", async () => {
  await rows("CREATE TABLE shifting AS SELECT 1 AS a, 2 AS b");
  const definition = "SELECT * FROM shifting LIMIT 10";
  await rows(`CREATE DYNAMIC TABLE shifted TARGET_LAG = '1 hour' AS ${definition}`);
  assert.equal((await refresh("shifted")).action, "FULL");
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
  await assert.rejects(refresh("shifted"), { code: "bad_sql", message: /no longer those/ });
  assert.deepEqual(await rows("FROM shifted"), [[1, 2]]);
});

test("[TG7] a table that is always refreshed in full has no hidden columns", async () => {
  await rows("CREATE TABLE plain AS SELECT 1 AS id, 2 AS g");
  await rows(
    "CREATE DYNAMIC TABLE own TARGET_LAG = '1 hour' REFRESH_MODE = FULL AS SELECT id, g FROM plain",
  );
  const own = (await catalog.tables()).find(({ name }) => name === "own");
  assert.deepEqual(
    own?.columns.map(({ name }) => name),
    ["id", "g"],
  );
});
