import assert from "node:assert/strict";
import { readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { startLakeCluster } from "../statements/testing/lake-cluster.ts";
import { LakeUpkeep } from "../store/upkeep.ts";
import { UpkeepLoop } from "./upkeep-loop.ts";

const cluster = await startLakeCluster();
after(() => cluster.close());
const { rows, catalog, objects, manager, store } = cluster;

function loopWith(limits: ConstructorParameters<typeof UpkeepLoop>[0]["limits"]): UpkeepLoop {
  return new UpkeepLoop({
    upkeep: new LakeUpkeep({ store }),
    catalog,
    objects,
    manager,
    lease: () => ({ epoch: 1 }),
    clock: realClock,
    prng: createPrng(9),
    logger: silentLogger,
    limits: limits ?? {},
  });
}

const files = (): readonly string[] => readdirSync(join(cluster.lakeDir, "main", "many")).sort();

test("[LU1] small files become one, and later the old ones go; nothing changes for readers", async () => {
  await rows("CREATE TABLE many (n INTEGER, t VARCHAR)");
  for (let n = 0; n < 9; n += 1)
    await rows(`INSERT INTO many VALUES (${n}, 'x'), (${n + 100}, 'y')`);
  await rows("UPDATE many SET t = 'z' WHERE n = 4");
  await rows("DELETE FROM many WHERE n = 5");
  const [version] = await catalog.resolve([
    { schema: undefined, name: "many", moment: { kind: "current" } },
  ]);
  assert.ok(version !== undefined && version.files.length > 8);
  const wanted = await rows("SELECT * FROM many ORDER BY n");
  const round = await loopWith({ mergeFilesMin: 2, rewriteDeletedShare: 0.2 }).run();
  assert.ok(round.compacted > 0, JSON.stringify(round));
  assert.deepEqual(await rows("SELECT * FROM many ORDER BY n"), wanted);
  const { snapshot } = await catalog.current();
  const after1 = await catalog.version(version.table.tableId, snapshot);
  assert.ok(after1.files.length < version.files.length);
  const scan = await catalog.changes(version.table.tableId, version.snapshot, snapshot);
  assert.ok(scan !== "gone");
  const past = `SELECT * FROM many AT (VERSION => ${version.snapshot}) ORDER BY n`;
  assert.deepEqual(await rows(past), wanted);
  const before2 = files().length;
  const gone = await loopWith({ snapshotMsMax: 0, graceMs: 0, mergeFilesMin: 100 }).run();
  assert.ok(gone.expired > 0, JSON.stringify(gone));
  const swept = await loopWith({ snapshotMsMax: 0, graceMs: 0, mergeFilesMin: 100 }).run();
  assert.ok(gone.deleted + swept.deleted > 0, JSON.stringify(swept));
  assert.ok(files().length < before2);
  assert.deepEqual(await rows("SELECT * FROM many ORDER BY n"), wanted);
  await assert.rejects(rows(past), { code: "not_found" });
});

test("[LU1] what nobody committed goes after a day, and nothing else", async () => {
  const old = join(cluster.lakeDir, "main", "many", "ducklake-forgotten.parquet");
  const young = join(cluster.lakeDir, "main", "many", "ducklake-young.parquet");
  for (const path of [old, young]) writeFileSync(path, "x");
  const twoDaysAgo = Date.now() / 1000 - 2 * 86_400;
  utimesSync(old, twoDaysAgo, twoDaysAgo);
  const wanted = await rows("SELECT * FROM many ORDER BY n");
  const { swept } = await loopWith({}).run();
  assert.equal(swept, 1);
  assert.ok(files().includes("ducklake-young.parquet"));
  assert.ok(!files().includes("ducklake-forgotten.parquet"));
  assert.deepEqual(await rows("SELECT * FROM many ORDER BY n"), wanted);
});
