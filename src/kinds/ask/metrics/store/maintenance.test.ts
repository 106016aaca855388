import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { LeaseEpoch } from "../../../../ground/kernel/ids.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import {
  createSharedSqlite,
  type LeaseGrant,
  openSimStore,
} from "../../../../ground/store/index.ts";
import { Labels } from "../../promql/core/index.ts";
import { compactBlock } from "../fs/compact-block.ts";
import { DbFixture } from "../fs/testing/db-fixture.ts";
import { batchOf, meaningOf, type TestSample, testHistogram } from "../testing/sample-batches.ts";
import { Maintenance, type MaintenanceOptions } from "./maintenance.ts";
import { acquireClaim } from "./maintenance-claims.ts";
import { SegmentCatalog } from "./segment-catalog.ts";

const lease: LeaseGrant = { name: "coordinator", holder: "c1", epoch: 1 as LeaseEpoch };

/** A head whose seals are published in a real catalog, with upkeep of its lake. */
async function setUp(t: TestContext, options: Partial<MaintenanceOptions> = {}) {
  const fixture = new DbFixture(t);
  const store = openSimStore({ database: createSharedSqlite(() => Date.now()) });
  await store.transaction(async ({ db }) => {
    const row = { ...lease, expires_at_ms: 0, api_url: "" };
    await db.insertInto("coordinator_leases").values(row).execute();
  });
  const catalog = new SegmentCatalog({ store });
  const db = await fixture.open({
    shardCount: 2,
    publish: async (add) => void (await catalog.publish({ add, remove: [] }, lease)),
    publishedSealSeq: (lineage) => catalog.publishedSealSeq(lineage),
  });
  const maintenance = new Maintenance({
    store,
    catalog,
    lakeDir: fixture.lakeDir,
    lease: () => lease,
    holder: "c1",
    clock: realClock,
    logger: silentLogger,
    compaction: { blockMs: 1000, samplesPerShard: 30 },
    retention: { retentionMs: Infinity },
    graceMs: 0,
    compact: (request) => compactBlock(request, createPrng("compaction")),
    ...options,
  });
  t.after(async () => {
    await maintenance.stop();
    await db.close();
    await store.close();
  });
  /** What queries see with the current catalog. */
  const readAll = async () => {
    fixture.published.clear();
    for (const info of await catalog.list()) fixture.published.set(info.segmentId, info);
    return fixture.readAll(db).map(meaningOf);
  };
  return { fixture, store, catalog, db, maintenance, readAll };
}

function rowsOf(seal: number): [Labels, TestSample][] {
  const prng = createPrng(`rows-${seal}`);
  return Array.from({ length: 60 }, (_, index): [Labels, TestSample] => {
    const labels = Labels.of({
      __name__: `m${index % 3}`,
      Zone: `${index % 2}`,
      a: `${prng.below(4)}`,
    });
    const ts = prng.below(2000);
    if (index % 10 === 0) return [labels, { ts, histogram: testHistogram(seal) }];
    return [labels, index % 7 === 0 ? { ts, stale: true } : { ts, value: prng.below(100) }];
  });
}

describe("upkeep", () => {
  test("[MU4] compaction changes nothing that a query sees, and leaves one segment for a shard of a block", async (t) => {
    const { fixture, catalog, db, maintenance, readAll } = await setUp(t);
    for (let seal = 0; seal < 5; seal += 1) {
      await db.append(batchOf(rowsOf(seal)));
      await db.seal();
    }
    const before = await readAll();
    const done = await maintenance.run();
    assert.equal(done.compactions, 2);
    assert.deepEqual(await readAll(), before);
    const segments = await catalog.list();
    const places = segments.map(({ minTs, shard }) => `${Math.floor(minTs / 1000)}/${shard}`);
    assert.equal(new Set(places).size, segments.length);
    assert.ok(segments.every(({ level, seq }) => level === 1 && seq === 1));
    // Late samples come after the compacted ones, which win.
    await db.append(
      batchOf(rowsOf(0).map(([labels, sample]) => [labels, { ts: sample.ts, value: -1 }])),
    );
    await db.seal();
    assert.deepEqual(await readAll(), before);
    await maintenance.run();
    await maintenance.run();
    assert.deepEqual(await readAll(), before);
    const files = readdirSync(join(fixture.lakeDir, "segments")).sort();
    assert.deepEqual(
      files,
      (await catalog.list()).map(({ segmentId }) => segmentId).sort(),
      "replaced files are gone",
    );
  });

  test("[MU4] it runs in a thread of its own", async (t) => {
    const { compactInThread } = await import("../fs/compact-in-thread.ts");
    const { db, maintenance, readAll } = await setUp(t, { compact: compactInThread });
    for (let seal = 0; seal < 2; seal += 1) {
      await db.append(batchOf(rowsOf(seal)));
      await db.seal();
    }
    const before = await readAll();
    assert.equal((await maintenance.run()).compactions, 2);
    assert.deepEqual(await readAll(), before);
  });

  test("[MU4] closing ends a compaction that runs, and nothing of it is published", async (t) => {
    const { compactInThread } = await import("../fs/compact-in-thread.ts");
    const begun = Promise.withResolvers<void>();
    const compact: MaintenanceOptions["compact"] = async (request, signal) => {
      const compacted = compactInThread(request, signal);
      begun.resolve();
      return await compacted;
    };
    const { catalog, db, maintenance } = await setUp(t, { compact });
    for (let seal = 0; seal < 2; seal += 1) {
      await db.append(batchOf(rowsOf(seal)));
      await db.seal();
    }
    const before = await catalog.list();
    const stop = new AbortController();
    const round = maintenance.run(stop.signal);
    await begun.promise;
    stop.abort();
    assert.equal((await round).compactions, 0);
    assert.deepEqual(await catalog.list(), before);
  });

  test("[MU1] a block that cannot be merged keeps no other from its turn", async (t) => {
    const { fixture, catalog, db, maintenance } = await setUp(t);
    for (let seal = 0; seal < 3; seal += 1) {
      await db.append(batchOf(rowsOf(seal)));
      await db.seal();
    }
    const [first] = (await catalog.list()).toSorted((a, b) => a.minTs - b.minTs);
    writeFileSync(join(fixture.lakeDir, first?.path ?? "", "samples.parquet"), "no Parquet");
    const { compactions } = await maintenance.run();
    assert.equal(compactions, 1);
    const merged = (await catalog.list()).filter(({ level }) => level === 1);
    assert.ok(merged.length > 0 && merged.every(({ minTs }) => minTs >= 1000));
  });

  test("[MU8] what a compaction finds damaged or missing is told to the scrub of the same round", async (t) => {
    const told: string[] = [];
    const scrubber = { run: async () => 0, suspect: (text: string) => void told.push(text) };
    const { fixture, catalog, db, maintenance } = await setUp(t, { scrubber });
    for (let seal = 0; seal < 3; seal += 1) {
      await db.append(batchOf(rowsOf(seal)));
      await db.seal();
    }
    const blocks = Map.groupBy(await catalog.list(), ({ minTs }) => Math.floor(minTs / 1000));
    const [[damaged], [missing]] = [[...(blocks.get(0) ?? [])], [...(blocks.get(1) ?? [])]];
    writeFileSync(join(fixture.lakeDir, damaged?.path ?? "", "samples.parquet"), "no Parquet");
    rmSync(join(fixture.lakeDir, missing?.path ?? "", "samples.parquet"));
    assert.equal((await maintenance.run()).compactions, 0);
    assert.equal(told.length, 2, told.join());
    assert.ok(told.some((text) => text.includes(damaged?.segmentId ?? "none")));
    assert.ok(told.some((text) => text.includes(`${missing?.segmentId} is missing`)));
  });

  test("[MU5] a removed segment's files stay for the grace", async (t) => {
    const { fixture, catalog, db, maintenance } = await setUp(t, {
      graceMs: 60_000,
      retention: { retentionMs: 0, bytesMax: 0 },
    });
    await db.append(batchOf(rowsOf(1)));
    await db.seal();
    const before = readdirSync(join(fixture.lakeDir, "segments"));
    const done = await maintenance.run();
    assert.deepEqual([done.retired, done.swept], [before.length, 0]);
    assert.deepEqual(await catalog.list(), []);
    assert.deepEqual(readdirSync(join(fixture.lakeDir, "segments")), before);
  });

  test("[MU6] without the lease or the claim nothing is done", async (t) => {
    const none = { compactions: 0, retired: 0, swept: 0, orphans: 0, scrubbed: 0 };
    const without = await setUp(t, { lease: () => undefined });
    assert.deepEqual(await without.maintenance.run(), none);
    const { store, maintenance, db, catalog } = await setUp(t);
    for (let seal = 0; seal < 2; seal += 1) {
      await db.append(batchOf(rowsOf(seal)));
      await db.seal();
    }
    const count = (await catalog.list()).length;
    await acquireClaim(store, { task: "metrics-upkeep", holder: "other", claimMs: 60_000 });
    assert.deepEqual(await maintenance.run(), none);
    assert.equal((await catalog.list()).length, count);
  });

  test("[MU6] a claim that was lost while compacting publishes nothing and leaves nothing", async (t) => {
    let stolen = async (): Promise<void> => undefined;
    const { store, maintenance, db, catalog, fixture } = await setUp(t, {
      claimMs: 1,
      compact: async (request) => {
        const made = await compactBlock(request, createPrng("stolen"));
        await stolen();
        return made;
      },
    });
    stolen = async () => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      await store.transaction(async ({ db: tx }) => {
        await tx.updateTable("maintenance_claims").set({ fence: 99, holder: "other" }).execute();
      });
    };
    for (let seal = 0; seal < 2; seal += 1) {
      await db.append(batchOf(rowsOf(seal)));
      await db.seal();
    }
    const before = await catalog.list();
    assert.equal((await maintenance.run()).compactions, 0);
    assert.deepEqual(await catalog.list(), before);
    assert.equal(readdirSync(join(fixture.lakeDir, "segments")).length, before.length);
  });

  test("[MU7] what nobody published is swept when it is old, and nothing else", async (t) => {
    const { fixture, db, maintenance, catalog } = await setUp(t);
    await db.append(batchOf(rowsOf(1)));
    await db.seal();
    const count = (await catalog.list()).length;
    for (const [path, ageMs] of [
      ["segments/old", 25 * 3_600_000],
      ["tmp/old", 25 * 3_600_000],
      ["tmp/young", 0],
    ] as const) {
      const directory = join(fixture.lakeDir, path);
      mkdirSync(directory, { recursive: true });
      const at = (Date.now() - ageMs) / 1000;
      utimesSync(directory, at, at);
    }
    assert.equal((await maintenance.run()).orphans, 2);
    assert.ok(existsSync(join(fixture.lakeDir, "tmp/young")));
    assert.equal((await catalog.list()).length, count);
    assert.equal(readdirSync(join(fixture.lakeDir, "segments")).length, count);
  });
});
