/** A cached selection has the same series as a newly assembled one. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { iterateSeries } from "../metrics/index.ts";
import { Labels, type RawSeries } from "../promql/core/index.ts";
import { MemoryColumnCache } from "./column-cache.ts";
import { SegmentShelf } from "./segment-shelf.ts";
import { SelectionCache } from "./selection-cache.ts";
import { cut, writeSegments } from "./testing/test-lake.ts";

const lakeDir = mkdtempSync(join(tmpdir(), "capstan-selections-"));
after(() => rmSync(lakeDir, { recursive: true, force: true }));

function plain(name: string, from: number, to: number): RawSeries {
  const ts = Float64Array.from({ length: to - from }, (_, index) => from + index);
  return {
    labels: Labels.of({ __name__: "x", name }),
    samples: {
      count: ts.length,
      ts,
      values: ts.map((at) => at * 2),
      stale: undefined,
      histograms: undefined,
      startTs: undefined,
    },
  };
}

/** Has the same length, start and end as the other, but other times in between. */
function without(name: string, gapMs: number): RawSeries {
  const [before, behind] = [plain(name, 0, gapMs), plain(name, gapMs + 1, 300)];
  const { ts } = before.samples;
  const times = Float64Array.from([...ts, ...behind.samples.ts]);
  const values = times.map((at) => at * 2);
  return { ...before, samples: { ...before.samples, count: times.length, ts: times, values } };
}

const stale = plain("stale", 0, 300);
const series: readonly RawSeries[] = [
  plain("all", 0, 300),
  plain("early", 0, 50),
  plain("twin", 0, 300),
  without("gap-50", 50),
  without("gap-60", 60),
  { ...stale, samples: { ...stale.samples, stale: new Uint8Array(300).fill(1, 90, 95) } },
];
const segments = await writeSegments(lakeDir, series, [99, 199], 1);
const heads: readonly (readonly [name: string, head: readonly RawSeries[]])[] = [
  ["no head", []],
  ["a head behind the segments", series.map((each) => cut(each, 199, 1_000))],
  ["a head that overlaps them", series.map((each) => cut(each, 150, 1_000))],
  ["a head with other series", [plain("a-new", 200, 210), plain("zz-new", 200, 210)]],
  ["a longer head", [plain("all", 200, 5_000)]],
  ["a shorter one again", [plain("all", 200, 201)]],
  ["heads of one beginning", [plain("all", 200, 205), plain("twin", 200, 230)]],
  ["heads of different times", [plain("all", 200, 220), plain("twin", 205, 225)]],
];
const request = {
  matchers: [{ name: "__name__", op: "=" as const, value: "x" }],
  shard: 0,
  shardCount: 1,
  range: { minMs: 10, maxMs: 10_000 },
};

function samplesOf(all: Iterable<RawSeries>): unknown {
  // Collects all first: reading the next must not change the one before.
  return [...all].map(({ labels, samples }) => {
    const { count, ts, values, stale: marks } = samples;
    const rows = Array.from({ length: count }, (_, index) => [
      ts[index],
      marks?.[index] === 1 ? "stale" : values[index],
    ]);
    return [labels.key, rows.filter(([at]) => (at as number) > request.range.minMs)];
  });
}

test("[QP13] a selection that is kept equals one that is put together anew, with any head", () => {
  const cache = new MemoryColumnCache(10_000_000);
  const shelf = new SegmentShelf(lakeDir, cache);
  const selections = new SelectionCache(cache);
  for (let round = 0; round < 2; round += 1) {
    for (const [name, head] of heads) {
      const readers = shelf.open(segments, () => undefined);
      const kept = samplesOf(selections.series(readers, head, request, () => undefined));
      assert.deepEqual(kept, samplesOf(iterateSeries(readers, head, request)), `${name}, ${round}`);
    }
  }
  assert.ok(cache.hits > 0);
  shelf.clear();
});

test("[QP13] series of one target keep their times once, and values in a few large buffers", async () => {
  const manyDir = mkdtempSync(join(tmpdir(), "capstan-selections-"));
  after(() => rmSync(manyDir, { recursive: true, force: true }));
  const [seriesCount, sampleCount] = [60, 3_000];
  const all = Array.from({ length: seriesCount }, (_, index) =>
    plain(String(index), 0, sampleCount),
  );
  const many = await writeSegments(manyDir, all, [999, 1_999, 2_999], 1);
  const cache = new MemoryColumnCache(10_000_000);
  const shelf = new SegmentShelf(manyDir, cache);
  const readers = shelf.open(many, () => undefined);
  const selections = new SelectionCache(cache);
  const asked = (head: readonly RawSeries[]): readonly RawSeries[] => [
    ...selections.series(readers, head, request, () => undefined),
  ];
  const before = cache.bytes;
  const kept = asked([]);
  const buffers = (pick: (samples: RawSeries["samples"]) => Float64Array): number =>
    new Set(kept.map(({ samples }) => pick(samples).buffer)).size;
  assert.equal(
    buffers(({ ts }) => ts),
    1,
  );
  assert.equal(
    buffers(({ values }) => values),
    2,
  );
  const columns = cache.noteColumns(() => samplesOf(iterateSeries(readers, [], request)))[1];
  for (const key of columns) cache.drop(key);
  const valueBytes = seriesCount * sampleCount * 8;
  assert.ok(cache.bytes - before >= valueBytes && cache.bytes - before < valueBytes * 1.2);

  const byKey = (a: RawSeries, b: RawSeries): number => (a.labels.key < b.labels.key ? -1 : 1);
  const head = all.map(({ labels }) => ({ ...plain("", sampleCount, 3_100), labels }));
  const followed = asked(head.toSorted(byKey));
  assert.ok(
    followed.every(({ samples }) => samples.count === 3_100 && samples.ts[3_099] === 3_099),
  );
  const later = asked(head.map((each) => cut(each, sampleCount + 10, 4_000)).toSorted(byKey));
  const laterTimes = new Set(later.map(({ samples }) => samples.ts.buffer));
  assert.equal(laterTimes.size, 1, "a head that moved on costs no copies");
  assert.deepEqual(samplesOf(asked([])), samplesOf(iterateSeries(readers, [], request)));
  shelf.clear();
});

test("[QP13] where there is no room nothing is kept, and the series are the same", () => {
  const cache = new MemoryColumnCache(100);
  const shelf = new SegmentShelf(lakeDir, cache);
  const readers = shelf.open(segments, () => undefined);
  const found = samplesOf(new SelectionCache(cache).series(readers, [], request, () => undefined));
  assert.deepEqual(found, samplesOf(iterateSeries(readers, [], request)));
  assert.equal(cache.bytes, 0);
  shelf.clear();
});

test("[QP13] the least recently used goes first, within the bound", () => {
  const cache = new MemoryColumnCache(100);
  const load = (bytes: number) => () => new Uint8Array(bytes);
  cache.get("a", 0, "ts", load(40));
  cache.get("b", 0, "ts", load(40));
  cache.get("a", 0, "ts", load(1));
  cache.get("c", 0, "ts", load(40));
  assert.equal(cache.bytes, 80);
  assert.deepEqual([cache.hits, cache.misses], [1, 3]);
  cache.get("a", 0, "ts", () => assert.fail("it was used last"));
  cache.get("huge", 0, "ts", load(101));
  assert.equal(cache.bytes, 80);
  cache.get("b", 0, "ts", load(20));
  assert.equal(cache.bytes, 100);
});

test("the columns that a kept selection was put together from make room before anything else", () => {
  const cache = new MemoryColumnCache(1_000_000);
  const shelf = new SegmentShelf(lakeDir, cache);
  const readers = shelf.open(segments, () => undefined);
  const selections = new SelectionCache(cache);
  cache.keep("another", "older than the columns", 100);
  const before = samplesOf(selections.series(readers, [], request, () => undefined));
  const [, columns] = cache.noteColumns(() => samplesOf(iterateSeries(readers, [], request)));
  cache.demote(columns);
  cache.keep("large", "takes the room of one column", 1_000_000 - cache.bytes + 1);
  assert.equal(cache.find("another"), "older than the columns");
  const hits = cache.hits;
  assert.deepEqual(samplesOf(selections.series(readers, [], request, () => undefined)), before);
  assert.equal(cache.hits, hits + 1, "the selection is there, and no column was asked for");
  shelf.clear();
});
