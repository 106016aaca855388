import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { readFooter } from "../../../../data/parquet/index.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import {
  compareLabels,
  Labels,
  type Matcher,
  type RawSeries,
  type SampleColumns,
} from "../../promql/core/index.ts";
import { fingerprint, shardOf } from "../core/fingerprint.ts";
import type { SegmentInfo } from "../core/model.ts";
import { compareSeries } from "../core/segment-encoder.ts";
import { prepareLake, sweepOrphans } from "../fs/lake.ts";
import { SegmentWriter } from "../fs/segment-writer.ts";
import {
  columnsOf,
  meaningButHints,
  meaningOf,
  type TestSample,
  testHistogram,
} from "../testing/sample-batches.ts";
import { collectSeries } from "./collect-series.ts";
import { decodeRawSeries, encodeRawSeries } from "./raw-series-codec.ts";
import { openSegment } from "./segment-reader.ts";
import { SeriesInterner } from "./series-interner.ts";

const lakeDir = mkdtempSync(join(tmpdir(), "capstan-lake-"));
after(() => rmSync(lakeDir, { recursive: true, force: true }));
await prepareLake(lakeDir);

let segments = 0;
async function write(
  series: readonly RawSeries[],
  options: Partial<SegmentInfo> = {},
): Promise<SegmentInfo> {
  segments += 1;
  const writer = new SegmentWriter({
    lakeDir,
    segmentId: `s${segments}`,
    shard: 0,
    shardCount: 1,
    level: 0,
    seq: segments,
    sealSeq: 1,
    ...options,
  });
  for (const one of series.toSorted((a, b) => compareSeries(a.labels, b.labels))) {
    await writer.add(one);
  }
  return await writer.finish();
}

const everything: Matcher[] = [{ name: "__name__", op: "!=", value: "" }];
const always = { minMs: -Infinity, maxMs: Infinity };
const whole = { matchers: everything, shard: 0, shardCount: 1, range: always };
const up = (pairs: Record<string, string>): Labels => Labels.of({ __name__: "up", ...pairs });

describe("segments", () => {
  test("[MS1] a segment gives back what it was given: floats, stale markers, histograms, start times", async () => {
    const series: RawSeries[] = [
      {
        labels: up({ a: "1" }),
        samples: columnsOf([
          { ts: 1, value: 5 },
          { ts: 2, stale: true },
        ]),
      },
      {
        labels: up({ a: "2", Zone: "é" }),
        samples: columnsOf([
          { ts: 1, histogram: testHistogram(4), startTs: 1 },
          { ts: 3, value: -0 },
          { ts: 4, histogram: testHistogram(6) },
          { ts: 9, stale: true },
        ]),
      },
      {
        labels: Labels.of({ __name__: "A", "1": "x", __proto__x: "y" }),
        samples: columnsOf([{ ts: 7, value: NaN, startTs: 3 }]),
      },
    ];
    const info = await write(series);
    const reader = openSegment(lakeDir, info);
    assert.deepEqual(
      collectSeries([reader], [], whole).map(meaningOf),
      series.toSorted((a, b) => compareLabels(a.labels, b.labels)).map(meaningOf),
    );
    assert.deepEqual(
      [info.seriesCount, info.sampleCount, info.histogramCount, info.minTs, info.maxTs],
      [3, 7, 2, 1, 9],
    );
    assert.deepEqual(info.metricNames, ["A", "up"]);
    reader.close();
  });

  test("[MS2] rows beyond one row group are found, and series across its edge are whole", async () => {
    const long = columnsOf(
      Array.from({ length: 50_000 }, (_, index) => ({ ts: index * 1000, value: index })),
    );
    const series = ["a", "b", "c"].map((a) => ({ labels: up({ a }), samples: long }));
    const reader = openSegment(lakeDir, await write(series));
    // The series' remaining 848 rows are too few for a row group of their own.
    assert.equal(reader.rowGroupCount, 10);
    const found = collectSeries([reader], [], { ...whole, range: { minMs: 0, maxMs: 2e9 } });
    for (const { samples } of found) {
      assert.equal(samples.count, 49_999);
      assert.ok(
        Buffer.from(samples.ts.slice().buffer).equals(Buffer.from(long.ts.slice(1).buffer)),
      );
    }
    assert.equal(reader.decodeRowGroup(0, "stale"), undefined);
    assert.equal(reader.decodeRowGroup(0, "start_ts"), undefined);
    reader.close();
  });

  test("[MS2] a row group ends before the next metric and before a series without room, not before it is worth it", async () => {
    const samplesOf = (count: number): SampleColumns =>
      columnsOf(Array.from({ length: count }, (_, ts) => ({ ts, value: ts })));
    const one = (name: string, id: string, count: number): RawSeries => ({
      labels: Labels.of({ __name__: name, id }),
      samples: samplesOf(count),
    });
    const reader = openSegment(
      lakeDir,
      await write([
        one("a", "1", 2_047),
        one("b", "1", 1_000), // Joins the row group of `a`, which is too short to end.
        one("c", "1", 10_000), // Starts a row group of its own.
        one("c", "2", 6_384), // Just fits.
        one("c", "3", 1), // Does not fit.
      ]),
    );
    const rows = Array.from(
      { length: reader.rowGroupCount },
      (_, group) => reader.decodeRowGroup(group, "ts")?.length,
    );
    assert.deepEqual(rows, [3_047, 16_384, 1]);
    const counts = collectSeries([reader], [], whole).map(({ samples }) => samples.count);
    assert.deepEqual(counts, [2_047, 1_000, 10_000, 6_384, 1]);
    reader.close();
  });

  test("[MS3] SQL sees counters as plain aggregates, by reset_sum", async (t) => {
    const values = [1, 5, 9, 2, 4, 1, 7];
    const counter = columnsOf(
      [...values, ...Array(100).fill(7)].map((value, ts) => ({ ts, value })),
    );
    const gauge = columnsOf([3, 1, 2, 1, 3].map((value, ts) => ({ ts, value })));
    const info = await write([
      { labels: up({ kind: "counter" }), samples: counter },
      { labels: up({ kind: "gauge" }), samples: gauge },
    ]);
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    t.after(() => connection.closeSync());
    const directory = join(lakeDir, info.path);
    const read = await connection.runAndReadAll(`
      SELECT labels->>'kind', reset_count, flags & 4,
             max_by(value, ts) - min_by(value, ts) + max_by(reset_sum, ts) - min_by(reset_sum, ts)
        FROM read_parquet('${directory}/samples.parquet') s
        JOIN read_parquet('${directory}/series.parquet') n USING (series_id)
       WHERE NOT stale AND metric_name = 'up'
       GROUP BY ALL ORDER BY 1`);
    const rows = read
      .getRows()
      .map((row) => row.map((cell) => (typeof cell === "bigint" ? Number(cell) : cell)));
    assert.deepEqual(rows, [
      ["counter", 2, 0, 8 + 2 + 2 + 1 + 6],
      ["gauge", 2, 4, 0],
    ]);
  });

  test("[MS4] a segment that was not finished is not there, and is swept", async () => {
    const writer = new SegmentWriter({
      lakeDir,
      segmentId: "half",
      shard: 0,
      shardCount: 1,
      level: 0,
      seq: 1,
      sealSeq: 1,
    });
    const rows = Array.from({ length: 20_000 }, (_, at) => ({ ts: at + 1, value: at }));
    await writer.add({ labels: up({}), samples: columnsOf(rows) }); // More than one row group.
    assert.ok(existsSync(join(lakeDir, "tmp", "half")));
    assert.ok(!existsSync(join(lakeDir, "segments", "half")));
    const unpublished = await write([
      { labels: up({}), samples: columnsOf([{ ts: 1, value: 1 }]) },
    ]);
    const known = new Set(
      readdirSync(join(lakeDir, "segments")).filter((id) => id !== unpublished.segmentId),
    );
    const sweep = (wallMs: number): Promise<string[]> =>
      sweepOrphans({ lakeDir, known, wallMs, olderThanMs: 60_000 });
    assert.deepEqual(await sweep(Date.now()), []);
    assert.deepEqual(await sweep(Date.now() + 120_000), ["half", unpublished.segmentId]);
    await writer.abort();
  });

  test("[MS5] a damaged or missing file is refused by name", async () => {
    const info = await write([{ labels: up({}), samples: columnsOf([{ ts: 1, value: 1 }]) }]);
    const path = join(lakeDir, info.path, "samples.parquet");
    const bytes = readFileSync(path);
    const at = (readFooter(bytes).rowGroups[0]?.chunks[1]?.offset ?? 0) + 30;
    bytes[at] = (bytes[at] as number) ^ 0xff;
    writeFileSync(path, bytes);
    const reader = openSegment(lakeDir, info);
    assert.throws(() => collectSeries([reader], [], whole), {
      code: "data_corrupt",
      message: new RegExp(info.segmentId),
    });
    reader.close();
    rmSync(join(lakeDir, info.path), { recursive: true });
    assert.throws(() => openSegment(lakeDir, info), { code: "not_found", retry: "backoff" });
  });
});

describe("collecting", () => {
  const matcherSets: Matcher[][] = [
    [{ name: "__name__", op: "=", value: "m1" }],
    [
      { name: "__name__", op: "=~", value: "m[12]" },
      { name: "a", op: "!=", value: "" },
    ],
    [{ name: "a", op: "=", value: "" }],
    everything,
  ];

  test("[MS6, MS7] any split over segments, shards and the head gives each series once, the first write counting", async () => {
    const arbitrary = fc.array(
      fc.record({
        name: fc.constantFrom("m1", "m2", "m3"),
        a: fc.constantFrom("", "x", "y"),
        ts: fc.integer({ min: 0, max: 30 }),
        value: fc.integer({ min: 0, max: 5 }),
        kind: fc.constantFrom("float", "float", "stale", "histogram"),
        place: fc.integer({ min: 0, max: 3 }),
      }),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(
        arbitrary,
        fc.constantFrom(1, 2, 4),
        fc.nat(20),
        async (writes, shardCount, minMs) => {
          const model = new Map<
            string,
            { labels: Labels; at: Map<number, { place: number; sample: TestSample }> }
          >();
          const places = [0, 1, 2, 3].map(
            () => new Map<string, { labels: Labels; at: Map<number, TestSample> }>(),
          );
          for (const { name, a, ts, value, kind, place } of writes) {
            const labels = Labels.of({ __name__: name, a });
            const sample: TestSample =
              kind === "stale"
                ? { ts, stale: true }
                : kind === "histogram"
                  ? { ts, histogram: testHistogram(value) }
                  : { ts, value };
            const own = getOr(places[place] as (typeof places)[number], labels.key, () => ({
              labels,
              at: new Map<number, TestSample>(),
            })).at;
            if (own.has(ts)) continue;
            own.set(ts, sample);
            const seen = getOr(model, labels.key, () => ({
              labels,
              at: new Map<number, { place: number; sample: TestSample }>(),
            })).at;
            const other = seen.get(ts);
            if (other === undefined || place < other.place) seen.set(ts, { place, sample });
          }
          const rawOf = (from: (typeof places)[number]): RawSeries[] =>
            [...from.values()].map(({ labels, at }) => ({
              labels,
              samples: columnsOf([...at.values()].sort((x, y) => x.ts - y.ts)),
            }));
          const infos: SegmentInfo[] = [];
          for (const place of [0, 1, 2]) {
            // Each place has its own shard count.
            const cut = 2 ** place;
            for (let shard = 0; shard < cut; shard += 1) {
              const series = rawOf(places[place] as (typeof places)[number]).filter(
                ({ labels }) => shardOf(fingerprint(labels), cut) === shard,
              );
              if (series.length > 0)
                infos.push(await write(series, { shard, shardCount: cut, seq: place + 1 }));
            }
          }
          const interner = new SeriesInterner();
          const readers = infos.map((info) => openSegment(lakeDir, info, { interner }));
          const head = decodeRawSeries(
            encodeRawSeries(rawOf(places[3] as (typeof places)[number])),
          );
          for (const matchers of matcherSets) {
            const found: RawSeries[] = [];
            for (let shard = 0; shard < shardCount; shard += 1) {
              const request = { matchers, shard, shardCount, range: { minMs, maxMs: 25 } };
              found.push(...collectSeries(readers, head, request));
            }
            found.sort((x, y) => compareLabels(x.labels, y.labels));
            const wanted = [...model.values()]
              .map(({ labels, at }) => ({
                labels,
                samples: columnsOf(
                  [...at.values()]
                    .map(({ sample }) => sample)
                    .filter(({ ts }) => ts > minMs && ts <= 25)
                    .sort((x, y) => x.ts - y.ts),
                ),
              }))
              .filter(({ labels, samples }) => samples.count > 0 && naiveMatch(matchers, labels))
              .sort((x, y) => compareLabels(x.labels, y.labels));
            assert.deepEqual(found.map(meaningButHints), wanted.map(meaningButHints));
          }
          for (const reader of readers) reader.close();
        },
      ),
      { numRuns: 25 },
    );
  });

  test("[MS7] a series that one segment has is not copied, and labels are shared between segments", async () => {
    const samples = columnsOf(Array.from({ length: 10 }, (_, ts) => ({ ts, value: ts })));
    const interner = new SeriesInterner();
    const infos = [
      await write([{ labels: up({}), samples }]),
      await write([{ labels: up({}), samples }]),
    ];
    const readers = infos.map((info) => openSegment(lakeDir, info, { interner }));
    const kept = new Map<string, Float64Array | Uint8Array>();
    const cached = openSegment(lakeDir, infos[0] as SegmentInfo, {
      interner,
      cache: {
        get: (id, group, column, load) => {
          const key = `${id}/${group}/${column}`;
          const found = kept.get(key) ?? load();
          kept.set(key, found);
          return found;
        },
      },
    });
    const [first] = collectSeries([cached], [], whole);
    assert.equal(first?.samples.ts.buffer, kept.get(`${infos[0]?.segmentId}/0/ts`)?.buffer);
    assert.equal(readers[0]?.series.labelsOf(0), readers[1]?.series.labelsOf(0));
    for (const reader of [...readers, cached]) reader.close();
  });
});

function naiveMatch(matchers: readonly Matcher[], labels: Labels): boolean {
  return matchers.every(({ name, op, value }) => {
    const actual = labels.get(name);
    if (op === "=") return actual === value;
    if (op === "!=") return actual !== value;
    return new RegExp(`^(?:${value})$`).test(actual) === (op === "=~");
  });
}

function getOr<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

describe("raw series", () => {
  test("[MS8] travel unchanged, bit by bit, and DuckDB can open them", async (t) => {
    const prng = createPrng("raw");
    const series: RawSeries[] = Array.from({ length: 50 }, (_, index) => ({
      labels: up({ index: `${index}` }),
      samples: columnsOf(
        Array.from({ length: prng.below(20) }, (_, ts) => ({
          ts,
          value: prng.next(),
          stale: index % 3 === 1 && ts % 4 === 0,
          ...(index % 5 === 0 ? { startTs: ts } : {}),
          ...(index % 7 === 0 && ts % 2 === 0 ? { histogram: testHistogram(ts) } : {}),
        })),
      ),
    }));
    const bytes = encodeRawSeries(series);
    assert.deepEqual(decodeRawSeries(bytes).map(meaningOf), series.map(meaningOf));
    assert.deepEqual(decodeRawSeries(encodeRawSeries([])), []);
    const path = join(lakeDir, "raw.parquet");
    writeFileSync(path, bytes);
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    t.after(() => connection.closeSync());
    const read = await connection.runAndReadAll(
      `SELECT sum(samples), sum(octet_length(ts)) FROM read_parquet('${path}')`,
    );
    const total = series.reduce((sum, { samples }) => sum + samples.count, 0);
    assert.deepEqual(read.getRows()[0]?.map(Number), [total, total * 8]);
  });

  test("[MS8] damaged ones are refused", () => {
    const bytes = encodeRawSeries([
      { labels: up({}), samples: columnsOf([{ ts: 1, histogram: testHistogram(1) }]) },
    ]);
    const prng = createPrng("flip");
    for (let round = 0; round < 300; round += 1) {
      const flipped = bytes.slice();
      const at = prng.below(flipped.length);
      flipped[at] = (flipped[at] as number) ^ (1 << prng.below(8));
      try {
        decodeRawSeries(flipped);
      } catch (thrown) {
        assert.match(`${(thrown as { code?: string }).code}`, /artifact_corrupt|unsupported/);
      }
    }
  });
});

describe("fingerprints", () => {
  test("[MS9] are the same for ever", () => {
    assert.deepEqual(fingerprint(Labels.empty), { hi: 464398553, lo: 2777830447 });
    assert.deepEqual(fingerprint(Labels.of({ __name__: "up", job: "é🦊" })), {
      hi: 2290742972,
      lo: 2304627885,
    });
  });

  test("[MS9] spread series evenly, and finer shards are parts of coarser ones", () => {
    const counts = new Uint32Array(16);
    const seen = new Set<string>();
    for (let index = 0; index < 20_000; index += 1) {
      const print = fingerprint(
        up({ instance: `host-${index % 200}:9100`, cpu: `${Math.floor(index / 200)}` }),
      );
      seen.add(`${print.hi}/${print.lo}`);
      const fine = shardOf(print, 16);
      counts[fine] = (counts[fine] as number) + 1;
      assert.equal(shardOf(print, 4), fine >> 2);
      assert.equal(shardOf(print, 1), 0);
    }
    assert.equal(seen.size, 20_000);
    for (const count of counts) assert.ok(Math.abs(count - 1250) < 200, `${count}`);
  });
});
