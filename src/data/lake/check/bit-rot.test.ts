/**
 * A flipped bit in a file of the lake never changes an answer: the statement fails with
 * `data_corrupt` and names the table and the file. `test/e2e/bit-rot.test.ts` tests processes.
 * CAPSTAN_TEST_FLIPS sets the number of flips per case.
 */
import assert from "node:assert/strict";
import { readdirSync, renameSync, utimesSync } from "node:fs";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { sql } from "kysely";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { flipCount, withFlip as withFlipIn } from "../../../ground/kernel/testing/flip-bit.ts";
import { filesOf } from "../duckdb/relation-sql.ts";
import { startLakeCluster } from "../statements/testing/lake-cluster.ts";
import { type LakeCondition, LakeScrub } from "../upkeep/lake-scrub.ts";

const flips = flipCount(24);
const cluster = await startLakeCluster();
after(() => cluster.close());
const { rows, lakeDir, store, objects } = cluster;
const prng = createPrng("bit rot");
const answer = "SELECT count(*), sum(id), max(name), sum(price) FROM orders";

await rows(
  "CREATE TABLE orders AS SELECT range AS id, 'name ' || range AS name, range / 7 AS price FROM range(400)",
);
await rows("INSERT INTO orders SELECT range + 400, 'more', 0.5 FROM range(100)");
await rows("DELETE FROM orders WHERE id % 5 = 0 AND id < 400");
await rows("CREATE TABLE other AS SELECT 1 AS x");
const right = await rows(answer);

function filesOfOrders(): string[] {
  return readdirSync(join(lakeDir, "main", "orders")).map((name) => `main/orders/${name}`);
}

/** Flips a bit in one of the table's files until `use` is done. */
async function withFlip(use: (path: string, bit: number) => Promise<void>): Promise<void> {
  const files = filesOfOrders().map((path) => join(lakeDir, path));
  await withFlipIn(prng, files, ({ path, bit }) => use(relative(lakeDir, path), bit));
}

/** The damaged files of the table according to the catalog. */
async function damagedOfOrders(): Promise<readonly string[]> {
  const moment = { kind: "current" } as const;
  const versions = await cluster.catalog.resolve([{ schema: undefined, name: "orders", moment }]);
  return versions
    .flatMap(filesOf)
    .filter(({ isDamaged }) => isDamaged === true)
    .map(({ path }) => path);
}

function named(path: string, bit: number) {
  return (thrown: Error & { code?: string; retry?: string }) => {
    const what = `${path} bit ${bit}: ${thrown.code} ${thrown.message}`;
    assert.equal(thrown.code, "data_corrupt", what);
    assert.equal(thrown.retry, "never", what);
    assert.ok(thrown.message.startsWith("table main.orders cannot be read: "), what);
    assert.ok(thrown.message.includes(path), what);
    return true;
  };
}

test("[LK50] every file, data and deletes, has its checksum with its commit", async () => {
  const { count } = await store.read(async ({ db }) =>
    db
      .selectFrom("lake_file_checksums")
      .select(sql<number>`count(*)`.as("count"))
      .executeTakeFirstOrThrow(),
  );
  assert.equal(filesOfOrders().length, 3, "two data files and a delete file");
  assert.equal(count, 4);
});

test("[LK50] bits that flip while it runs: no wrong answer, every one named; others read on", async () => {
  for (let flip = 0; flip < flips; flip += 1) {
    await withFlip(async (path, bit) => {
      await assert.rejects(rows(answer), named(path, bit));
      if (flip % 8 === 0) assert.deepEqual(await rows("SELECT x FROM other"), [[1]]);
    });
    if (flip % 8 === 0) assert.deepEqual(await rows(answer), right, "mended, it reads again");
  }
});

test("[LK50] changes and compaction of damaged files are refused as well", async () => {
  for (let flip = 0; flip < 4; flip += 1) {
    await withFlip(async (path, bit) => {
      await assert.rejects(rows("DELETE FROM orders WHERE price > 3"), named(path, bit));
      await assert.rejects(rows("CREATE TABLE copied AS SELECT * FROM orders"), named(path, bit));
    });
  }
  assert.deepEqual(await rows(answer), right);
});

test("[LK50] bits that flip before a start are found at the first opening", async () => {
  // A changed modification time makes the verifier read files as if for the first time.
  for (let flip = 0; flip < flips; flip += 1) {
    await withFlip(async (path, bit) => {
      for (const each of filesOfOrders()) utimesSync(join(lakeDir, each), 1, 1 + flip);
      await assert.rejects(rows(answer), named(path, bit));
    });
  }
  assert.deepEqual(await rows(answer), right);
});

test("[LK51] the scrub finds what flipped, notes it, and clears it once it is mended", async () => {
  const conditions: LakeCondition[] = [];
  const scrub = new LakeScrub({
    store,
    objects,
    logger: silentLogger,
    limits: { periodMs: 0 },
    onCondition: (condition) => void conditions.push(condition),
  });
  const { signal } = new AbortController();
  for (let flip = 0; flip < flips; flip += 1) {
    await withFlip(async (path) => {
      await scrub.run(signal);
      const damaged = conditions.at(-1)?.damaged ?? [];
      assert.deepEqual(
        damaged.map((each) => [each.table, each.path]),
        [["orders", path]],
      );
      assert.match(damaged[0]?.damage ?? "", /its checksum is [0-9a-f]{8}, it was [0-9a-f]{8}/);
      assert.deepEqual(await damagedOfOrders(), [path], "whoever reads it reads it whole again");
    });
  }
  await scrub.run(signal);
  assert.deepEqual(conditions.at(-1)?.damaged, []);
  assert.deepEqual(await damagedOfOrders(), []);
});

test("[LK51] a file that was deleted is noted as missing, and cleared once it is back", async () => {
  const conditions: LakeCondition[] = [];
  const scrub = new LakeScrub({
    store,
    objects,
    logger: silentLogger,
    onCondition: (condition) => void conditions.push(condition),
  });
  const [path = ""] = filesOfOrders();
  const { signal } = new AbortController();
  renameSync(join(lakeDir, path), join(lakeDir, "away"));
  const told = await rows(answer).then(
    () => assert.fail("it was answered"),
    (thrown: { code?: string; message: string }) => thrown,
  );
  assert.equal(told.code, "store_corrupt");
  assert.equal(await scrub.run(signal), 0, "it is not due yet");
  scrub.suspect(told.message);
  assert.equal(await scrub.run(signal), 1);
  assert.deepEqual(conditions.at(-1)?.damaged, [
    { table: "orders", path, damage: "it is missing" },
  ]);
  renameSync(join(lakeDir, "away"), join(lakeDir, path));
  await scrub.run(signal);
  assert.deepEqual(conditions.at(-1)?.damaged, []);
  assert.deepEqual(await rows(answer), right);
});

test("[LK50] damage to files without a checksum is data_corrupt where DuckDB sees it, never bad_sql", async () => {
  await store.transaction(async ({ db }) => {
    await db.deleteFrom("lake_file_checksums").execute();
  });
  const codes = new Map<string, number>();
  for (let flip = 0; flip < flips; flip += 1) {
    await withFlip(async (path) => {
      utimesSync(join(lakeDir, path), 1, 1_000 + flip);
      const code = await rows(answer).then(
        () => "answered",
        (thrown: { code?: string }) => String(thrown.code),
      );
      codes.set(code, (codes.get(code) ?? 0) + 1);
    });
  }
  assert.equal(codes.get("bad_sql"), undefined, JSON.stringify([...codes]));
});
