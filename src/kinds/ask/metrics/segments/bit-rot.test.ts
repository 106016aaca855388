/**
 * A flipped bit in a segment never changes an answer: reading fails with `data_corrupt` and names
 * the segment. `test/e2e/bit-rot.test.ts` does the same with processes. CAPSTAN_TEST_FLIPS sets how
 * many flips are tried in each way.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import type { LeaseEpoch } from "../../../../ground/kernel/ids.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { flipCount, withFlip as withFlipIn } from "../../../../ground/kernel/testing/flip-bit.ts";
import { createSharedSqlite, openSimStore } from "../../../../ground/store/index.ts";
import { Labels, type RawSeries } from "../../promql/core/index.ts";
import type { SegmentInfo } from "../core/model.ts";
import { prepareLake } from "../fs/lake.ts";
import { SegmentWriter } from "../fs/segment-writer.ts";
import { checkSegments } from "../store/check-segments.ts";
import { SegmentCatalog } from "../store/segment-catalog.ts";
import { SegmentScrubber, type SegmentsCondition } from "../store/segment-scrub.ts";
import { columnsOf, meaningOf, testHistogram } from "../testing/sample-batches.ts";
import { collectSeries } from "./collect-series.ts";
import { openSegment, type SegmentReader } from "./segment-reader.ts";

const flips = flipCount(40);
const lakeDir = mkdtempSync(join(tmpdir(), "capstan-rot-"));
after(() => rmSync(lakeDir, { recursive: true, force: true }));
await prepareLake(lakeDir);
const prng = createPrng("bit rot of segments");

const series: RawSeries[] = Array.from({ length: 12 }, (_, at) => ({
  labels: Labels.of({ __name__: `m${String(at).padStart(2, "0")}`, job: `j${at % 3}` }),
  samples: columnsOf(
    Array.from({ length: 30 }, (_sample, row) =>
      at === 5
        ? { ts: row * 1000, histogram: testHistogram(row) }
        : row % 9 === 8
          ? { ts: row * 1000, stale: true as const }
          : { ts: row * 1000, value: at + row / 3 },
    ),
  ),
}));

async function write(segmentId: string): Promise<SegmentInfo> {
  const place = { lakeDir, segmentId, shard: 0, shardCount: 1 };
  const writer = new SegmentWriter({ ...place, level: 0, seq: 1, sealSeq: 1 });
  for (const one of series) await writer.add(one);
  return await writer.finish();
}

const info = await write("rotting");
const range = { minMs: -Infinity, maxMs: Infinity };
const request = { matchers: [], shard: 0, shardCount: 1, range };
const readAll = (reader: SegmentReader) => collectSeries([reader], [], request).map(meaningOf);

function open<T>(use: (reader: SegmentReader) => T, of: SegmentInfo = info): T {
  const reader = openSegment(lakeDir, of);
  try {
    return use(reader);
  } finally {
    reader.close();
  }
}
const right = open(readAll);

async function withFlip(
  names: readonly string[],
  use: (what: string) => void | Promise<void>,
): Promise<void> {
  const paths = names.map((name) => join(lakeDir, info.path, name));
  await withFlipIn(prng, paths, ({ path, bit }) => use(`${basename(path)} bit ${bit}`));
}

const files = readdirSync(join(lakeDir, info.path));
const refusal = { code: "data_corrupt", retry: "never", message: /^segment rotting: .*backup/s };

test("[MS10] a segment has the checksums of all of its files", () => {
  const names = ["histograms", "samples", "series"];
  assert.deepEqual(new Set(files), new Set(names.map((name) => `${name}.parquet`)));
  assert.deepEqual(new Set(Object.keys(info.checksums ?? {})), new Set(names));
});

test("[MS10] bits that flip before a segment is opened: no wrong answer, every one named", async () => {
  for (let flip = 0; flip < flips; flip += 1) {
    await withFlip(files, (what) => assert.throws(() => open(readAll), refusal, what));
  }
  assert.deepEqual(open(readAll), right);
});

test("[MS10] bits that flip under an open segment, when its columns were dropped, are found", async () => {
  // An open segment keeps its series in memory, but none of its columns.
  const readable = files.filter((name) => name !== "series.parquet");
  const reader = openSegment(lakeDir, info);
  assert.deepEqual(readAll(reader), right);
  for (let flip = 0; flip < flips; flip += 1) {
    await withFlip(readable, (what) => assert.throws(() => readAll(reader), refusal, what));
    if (flip % 8 === 0) assert.deepEqual(readAll(reader), right, "mended, it reads again");
  }
  reader.close();
  assert.throws(() => readAll(reader), { code: "shutting_down" });
});

test("[MS10] damage that is seen without a checksum has the same code", async () => {
  const { checksums: _, ...old } = info;
  for (let flip = 0; flip < flips; flip += 1) {
    await withFlip(files, (what) => {
      try {
        open(readAll, old);
      } catch (thrown) {
        assert.equal((thrown as { code?: string }).code, "data_corrupt", `${what} ${thrown}`);
      }
    });
  }
});

test("[MU8] the scrub gives checksums to old segments, finds what flipped, and clears it", async () => {
  const lease = { name: "coordinator", holder: "c1", epoch: 1 as LeaseEpoch };
  const store = openSimStore({ database: createSharedSqlite(() => 1_000) });
  await store.transaction(async ({ db }) => {
    const row = { ...lease, expires_at_ms: 0, api_url: "" };
    await db.insertInto("coordinator_leases").values(row).execute();
  });
  const catalog = new SegmentCatalog({ store });
  const { checksums, ...old } = info;
  await catalog.publish({ add: [{ ...old, seq: 0 }], remove: [] }, lease);
  const conditions: SegmentsCondition[] = [];
  const scrubber = new SegmentScrubber({
    catalog,
    lakeDir,
    logger: silentLogger,
    limits: { periodMs: 0 },
    onCondition: (condition) => void conditions.push(condition),
  });
  const { signal } = new AbortController();
  const check = () => checkSegments({ store, lakeDir }, signal);
  assert.deepEqual(await check(), { findings: [], segments: 1, unverified: 1 });
  assert.equal(await scrubber.run(lease, signal), 1);
  assert.deepEqual((await catalog.list())[0]?.checksums, checksums, "readers get a new list");
  assert.deepEqual(await check(), { findings: [], segments: 1, unverified: 0 });
  for (let flip = 0; flip < flips; flip += 1) {
    await withFlip(files, async (what) => {
      await scrubber.run(lease, signal);
      assert.equal(conditions.at(-1)?.damaged[0]?.segmentId, "rotting", what);
      assert.match(conditions.at(-1)?.damaged[0]?.damage ?? "", /the checksum of \w+\.parquet is/);
      if (flip % 8 === 0) {
        assert.match((await check()).findings.join(), /^segment rotting: the checksum of/);
      }
    });
  }
  await scrubber.run(lease, signal);
  assert.deepEqual(conditions.at(-1), { damaged: [], unverified: 0, files: 1, suspected: 0 });
  const samples = join(lakeDir, info.path, "samples.parquet");
  scrubber.suspect("segment rotting: a query says so");
  renameSync(samples, `${samples}.away`);
  await scrubber.run(lease, signal);
  const [missing] = conditions.at(-1)?.damaged ?? [];
  assert.equal(missing?.damage, "samples.parquet is missing");
  renameSync(`${samples}.away`, samples);
  await scrubber.run(lease, signal);
  assert.deepEqual(conditions.at(-1)?.damaged, []);
  scrubber.suspect("segment rotting: a query says so");
  renameSync(samples, `${samples}.away`);
  mkdirSync(samples); // A directory exists, but cannot be read as a file.
  await scrubber.run(lease, signal);
  assert.equal(conditions.at(-1)?.suspected, 1, "it was not read: the suspicion stays");
  rmdirSync(samples);
  renameSync(`${samples}.away`, samples);
  await scrubber.run(lease, signal);
  assert.deepEqual(conditions.at(-1), { damaged: [], unverified: 0, files: 1, suspected: 0 });
  await store.close();
});
