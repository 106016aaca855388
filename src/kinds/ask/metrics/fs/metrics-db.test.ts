import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Logger, silentLogger } from "../../../../ground/kernel/logger.ts";
import { until } from "../../../../ground/kernel/testing/eventually.ts";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import {
  type CounterResetHint,
  compareLabels,
  Labels,
  type RawSeries,
  withStoredHint,
} from "../../promql/core/index.ts";
import type { SampleBatch } from "../core/model.ts";
import { decodeRawSeries } from "../segments/raw-series-codec.ts";
import {
  batchOf,
  columnsOf,
  everySeries,
  meaningButHints,
  meaningOf,
  type TestSample,
  testHistogram,
} from "../testing/sample-batches.ts";
import { prepareLake } from "./lake.ts";
import type { MetricsDb } from "./metrics-db.ts";
import { DbFixture, type View } from "./testing/db-fixture.ts";
import { namelessFile } from "./testing/nameless-file.ts";
import { frameBytes } from "./wal-frames.ts";

const up = (a: string): Labels => Labels.of({ __name__: "up", a });
const always = {
  matchers: everySeries,
  shard: 0,
  shardCount: 1,
  minMs: -Infinity,
  maxMs: Infinity,
};

/** The first write for each series and time. */
class Model {
  readonly #series = new Map<
    string,
    { readonly labels: Labels; readonly at: Map<number, TestSample> }
  >();

  write(rows: readonly (readonly [Labels, TestSample])[]): void {
    for (const [labels, sample] of rows) {
      const series = this.#series.get(labels.key) ?? { labels, at: new Map<number, TestSample>() };
      this.#series.set(labels.key, series);
      if (!series.at.has(sample.ts)) series.at.set(sample.ts, sample);
    }
  }

  all(): RawSeries[] {
    return [...this.#series.values()]
      .map(({ labels, at }) => ({
        labels,
        samples: columnsOf([...at.values()].sort((a, b) => a.ts - b.ts)),
      }))
      .sort((a, b) => compareLabels(a.labels, b.labels));
  }
}

function assertSees(fixture: DbFixture, db: MetricsDb, model: Model): void {
  assert.deepEqual(fixture.readAll(db).map(meaningButHints), model.all().map(meaningButHints));
}

const randomRow = fc
  .record({
    a: fc.constantFrom("x", "y", "z"),
    ts: fc.integer({ min: 0, max: 4000 }),
    value: fc.integer({ min: 0, max: 3 }),
    kind: fc.constantFrom("float", "float", "stale", "histogram", "started"),
  })
  .map(({ a, ts, value, kind }): [Labels, TestSample] => {
    if (kind === "stale") return [up(a), { ts, stale: true }];
    if (kind === "histogram") return [up(a), { ts, histogram: testHistogram(value) }];
    return [up(a), { ts, value, ...(kind === "started" ? { startTs: ts - 1 } : {}) }];
  });

describe("the head", () => {
  const first = columnsOf([{ ts: 5000, value: 1 }]);
  const cases: readonly {
    name: string;
    sample: TestSample;
    outOfOrderMs?: number;
    want: Partial<Awaited<ReturnType<MetricsDb["append"]>>>;
  }[] = [
    { name: "[MH1] the next one is taken", sample: { ts: 5001, value: 2 }, want: { appended: 1 } },
    {
      name: "[MH1] the same again is a duplicate",
      sample: { ts: 5000, value: 1 },
      want: { duplicates: 1, appended: 0 },
    },
    {
      name: "[MH1] another value for the time is a conflict",
      sample: { ts: 5000, value: 2 },
      want: {
        conflicts: 1,
        appended: 0,
        firstProblem:
          "duplicate sample for timestamp 5000; overrides not allowed: existing 1, new value 2",
      },
    },
    {
      name: "[MH1] a stale marker for the time is a conflict",
      sample: { ts: 5000, stale: true },
      want: { conflicts: 1 },
    },
    {
      name: "[MH1] a histogram for the time is a conflict",
      sample: { ts: 5000, histogram: testHistogram(1) },
      want: { conflicts: 1, histogramsAppended: 0 },
    },
    {
      name: "[MH2] late, within the window, is taken",
      sample: { ts: 4000, value: 9 },
      want: { appended: 1, tooOld: 0 },
    },
    {
      name: "[MH2] at the window's edge, too",
      sample: { ts: 3000, value: 9 },
      want: { appended: 1 },
    },
    {
      name: "[MH2] beyond it is too old",
      sample: { ts: 2999, value: 9 },
      want: { appended: 0, tooOld: 1, firstProblem: "too old sample" },
    },
    {
      name: "[MH2] a time that no segment could hold is out of bounds",
      sample: { ts: -(2 ** 60), value: 9 },
      outOfOrderMs: Infinity,
      want: { appended: 0, tooOld: 1, firstProblem: "out of bounds" },
    },
    {
      name: "[MH2] without a window it is out of order",
      sample: { ts: 4999, value: 9 },
      outOfOrderMs: 0,
      want: { tooOld: 1, firstProblem: "out of order sample" },
    },
    {
      name: "[MH2] a little ahead of now is taken",
      sample: { ts: 11_000, value: 9 },
      want: { appended: 1 },
    },
    {
      name: "[MH2] too far ahead is too new",
      sample: { ts: 11_001, value: 9 },
      want: { tooNew: 1, firstProblem: "out of bounds: timestamp is too far in the future" },
    },
    {
      name: "[MH1] a histogram is counted apart",
      sample: { ts: 6000, histogram: testHistogram(2) },
      want: { appended: 0, histogramsAppended: 1 },
    },
  ];
  for (const { name, sample, outOfOrderMs = 2000, want } of cases) {
    test(name, async (t) => {
      const fixture = new DbFixture(t);
      const clock = new VirtualClock({ wallStartMs: 10_000 });
      const db = await fixture.open({ clock, limits: { outOfOrderMs, futureMs: 1000 } });
      t.after(() => db.close());
      await db.append({ ...batchOf([[up("x"), { ts: 5000, value: 1 }]]), ...first });
      const outcome = await db.append(batchOf([[up("x"), sample]]));
      for (const [key, value] of Object.entries(want)) {
        assert.deepEqual(outcome[key as keyof typeof outcome], value, key);
      }
    });
  }

  test("[MH3] a snapshot shows what was acknowledged before it, and nothing that came after", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open();
    t.after(() => db.close());
    await db.append(
      batchOf([
        [up("x"), { ts: 10, value: 1 }],
        [up("y"), { ts: 10, value: 1 }],
      ]),
    );
    const snapshot = db.snapshot();
    const before = db.slice({ snapshot, ...always });
    await db.append(
      batchOf([
        [up("x"), { ts: 5, value: 2 }],
        [up("x"), { ts: 20, value: 3 }],
        [up("z"), { ts: 1, value: 1 }],
      ]),
    );
    assert.deepEqual(
      decodeRawSeries(db.slice({ snapshot, ...always })).map(meaningOf),
      decodeRawSeries(before).map(meaningOf),
    );
    await db.seal();
    assert.deepEqual(
      decodeRawSeries(db.slice({ snapshot, ...always })).map(meaningOf),
      decodeRawSeries(before).map(meaningOf),
    );
    assert.equal(db.snapshot().sampleCount, 0);
    assert.throws(
      () => db.slice({ snapshot: { ...snapshot, incarnation: "another" }, ...always }),
      { code: "head_moved" },
    );
    assert.throws(() => db.slice({ snapshot: { ...snapshot, appendSeq: 1e6 }, ...always }), {
      code: "head_moved",
    });
  });

  test("[MH4] what was sealed stays readable for older snapshots for a while; then they are refused", async (t) => {
    const fixture = new DbFixture(t);
    const clock = new VirtualClock();
    const db = await fixture.open({ retainMs: 400, clock });
    t.after(() => db.close());
    await db.append(batchOf([[up("x"), { ts: 10, value: 1 }]]));
    const snapshot = db.snapshot();
    await db.seal();
    assert.equal(decodeRawSeries(db.slice({ snapshot, ...always })).length, 1);
    await clock.advance(399);
    assert.equal(decodeRawSeries(db.slice({ snapshot, ...always })).length, 1);
    await clock.advance(1);
    assert.throws(() => db.slice({ snapshot, ...always }), { code: "head_moved" });
    assert.deepEqual(decodeRawSeries(db.slice({ snapshot: db.snapshot(), ...always })), []);
    assert.equal(fixture.readAll(db).length, 1);
  });

  test("[MH5] metadata and exemplars are kept, through seals and restarts, and bounded", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open({
      limits: {
        exemplarsMax: 2,
        metadataMax: 1,
        outOfOrderMs: Infinity,
        futureMs: Infinity,
      },
    });
    const metadata = { metric: "up", type: "gauge", help: "Is it up?", unit: "" } as const;
    const exemplar = (ts: number): SampleBatch["exemplars"][number] => ({
      series: up("x"),
      labels: Labels.of({ trace_id: `${ts}` }),
      value: ts === 2 ? NaN : ts,
      ts,
    });
    const batch: SampleBatch = {
      ...batchOf([[up("x"), { ts: 1, value: 1 }]]),
      metadata: [metadata, { ...metadata, metric: "down" }],
      exemplars: [exemplar(1), exemplar(2), exemplar(2), exemplar(3)],
    };
    assert.equal((await db.append(batch)).exemplarsAppended, 3);
    await db.seal();
    await db.close();
    const again = await fixture.open();
    t.after(() => again.close());
    assert.deepEqual(again.metadata(undefined), [metadata]);
    assert.deepEqual(again.metadata("down"), []);
    const found = again.exemplars([[{ name: "a", op: "=", value: "x" }]], 0, 10);
    assert.deepEqual(
      found.map(({ ts, value }) => [ts, value]),
      [
        [2, NaN],
        [3, 3],
      ],
    );
    assert.deepEqual(again.exemplars([[{ name: "a", op: "=", value: "y" }]], 0, 10), []);
  });
});

test("[MH19] with as many series as there may be new ones are refused, and known ones go on", async (t) => {
  const fixture = new DbFixture(t);
  const db = await fixture.open({ seriesMax: 2 });
  t.after(() => db.close());
  const write = async (ts: number, names: readonly string[]) =>
    await db.append(batchOf(names.map((name) => [up(name), { ts, value: 1 }])));
  await assert.rejects(write(1, ["a", "b", "c"]), { code: "overloaded", retry: "backoff" });
  await write(1, ["a", "b"]);
  assert.equal((await write(2, ["a", "b"])).appended, 2);
  await assert.rejects(write(3, ["b", "c"]), { code: "overloaded" });
  assert.equal((await write(3, ["a", "b"])).appended, 2);
});

test("[MH19] series with long labels count as several, and buckets of histograms as samples", async (t) => {
  const fixture = new DbFixture(t);
  const db = await fixture.open({ seriesMax: 20, headSamplesMax: 10_000 });
  t.after(() => db.close());
  const write = async (ts: number, name: string) =>
    await db.append(batchOf([[up(name), { ts, value: 1 }]]));
  await write(1, "x".repeat(15_000));
  await assert.rejects(write(1, "y".repeat(15_000)), { code: "overloaded", retry: "backoff" });
  await write(1, "short");
  const wide = {
    ...testHistogram(0),
    positiveSpans: [{ offset: 0, length: 25_000 }],
    positiveBuckets: new Array<number>(25_000).fill(0),
  };
  const store = async (ts: number) =>
    await db.append(batchOf([[up("h"), { ts, histogram: wide }]]));
  await store(1);
  await store(2);
  await assert.rejects(store(3), { code: "overloaded", message: /sealing does not keep up/ });
});

describe("hints about resets", () => {
  const counts = [4, 6, 2, 8, 8];
  const want = ["unknown", "not_reset", "unknown", "not_reset", "not_reset"];
  const rows = counts.map((count, index): [Labels, TestSample] => [
    up("x"),
    { ts: index * 100, histogram: testHistogram(count) },
  ]);
  const hintsOf = (series: readonly RawSeries[]): unknown =>
    series[0]?.samples.histograms?.map((histogram) => histogram?.counterResetHint);

  for (const hint of ["unknown", "not_reset"] as const) {
    test(`[MH18] histograms that came as ${hint} are compared with the one before, wherever that is`, async (t) => {
      const fixture = new DbFixture(t);
      let db = await fixture.open();
      for (const [labels, sample] of rows) {
        const histogram = { ...(sample.histogram ?? testHistogram(0)), counterResetHint: hint };
        await db.append(batchOf([[labels, { ...sample, histogram }]]));
        assert.equal((await db.append(batchOf([[labels, sample]]))).duplicates, 1);
        if (sample.ts === 100) await db.seal();
        if (sample.ts !== 300) continue;
        await db.close();
        db = await fixture.open();
      }
      assert.deepEqual(hintsOf(fixture.readAll(db)), want);
      await db.seal();
      assert.deepEqual(hintsOf(fixture.readAll(db)), want);
      await db.close();
    });
  }

  test("[MH18] whatever comes in whatever order, nothing is said not to be reset that was", async (t) => {
    const row = fc
      .record({
        ts: fc.integer({ min: 0, max: 12 }),
        count: fc.integer({ min: 0, max: 3 }),
        hint: fc.constantFrom<CounterResetHint>("unknown", "reset", "not_reset", "gauge"),
      })
      .map(({ ts, count, hint }): [Labels, TestSample] => [
        up("x"),
        { ts, histogram: { ...testHistogram(count), counterResetHint: hint } },
      ]);
    const op = fc.oneof(fc.array(row, { maxLength: 4 }), fc.constant("seal"), fc.constant("crash"));
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 8 }), async (ops) => {
        let fixture = new DbFixture(t);
        let db = await fixture.open();
        for (const step of ops) {
          if (Array.isArray(step)) await db.append(batchOf(step));
          else if (step === "seal") await db.seal();
          else {
            const next: DbFixture = fixture.crashCopy(t);
            await db.close();
            fixture = next;
            db = await fixture.open();
          }
        }
        const read = fixture.readAll(db)[0]?.samples.histograms ?? [];
        read.forEach((histogram, index) => {
          assert.notEqual(histogram?.counterResetHint, "reset");
          if (histogram?.counterResetHint !== "not_reset" || index === 0) return;
          assert.deepEqual(withStoredHint(histogram, read[index - 1]), histogram);
        });
        await db.close();
      }),
      { numRuns: 40 },
    );
  });
});

describe("sealing", () => {
  test("[MH3, MH6] any appends, seals and restarts: every sample once, the first write counting", async (t) => {
    const op = fc.oneof(
      {
        weight: 6,
        arbitrary: fc
          .array(randomRow, { maxLength: 12 })
          .map((rows) => ({ kind: "append" as const, rows })),
      },
      { weight: 2, arbitrary: fc.constant({ kind: "seal" as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: "crash" as const }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(op, { maxLength: 14 }),
        fc.constantFrom(undefined, 1, 4),
        async (ops, shardCount) => {
          let fixture = new DbFixture(t);
          const options = {
            ...(shardCount === undefined ? {} : { shardCount }),
            samplesPerShard: 5,
            walFileBytesMax: 300,
          };
          let db = await fixture.open(options);
          const model = new Model();
          let views: { readonly view: View; readonly sees: unknown }[] = [];
          for (const step of ops) {
            if (step.kind === "append") {
              const outcome = await db.append(batchOf(step.rows));
              const { appended, histogramsAppended, duplicates, conflicts } = outcome;
              assert.equal(
                appended + histogramsAppended + duplicates + conflicts,
                step.rows.length,
              );
              model.write(step.rows);
            } else if (step.kind === "seal") {
              await db.seal();
            } else {
              const next: DbFixture = step.kind === "crash" ? fixture.crashCopy(t) : fixture;
              await db.close();
              fixture = next;
              db = await fixture.open(options);
              views = [];
            }
            views.push({ view: fixture.takeView(db), sees: model.all().map(meaningButHints) });
            assertSees(fixture, db, model);
          }
          assert.deepEqual(
            fixture
              .readAll(db, 2)
              .sort((a, b) => compareLabels(a.labels, b.labels))
              .map(meaningButHints),
            model.all().map(meaningButHints),
          );
          for (const { view, sees } of views) {
            assert.deepEqual(
              fixture.readAll(db, 1, view).map(meaningButHints),
              sees,
              "as it was then",
            );
          }
          await db.close();
          rmSync(fixture.root, { recursive: true, force: true });
        },
      ),
      { numRuns: 40 },
    );
  });

  test("[MH6] segments are cut by block and shard, and the log of what is sealed is gone", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open({ shardCount: 4 });
    t.after(() => db.close());
    const rows = Array.from({ length: 400 }, (_, index): [Labels, TestSample] => [
      up(`${index % 40}`),
      { ts: index * 10, value: index },
    ]);
    await db.append(batchOf(rows));
    const before = db.stats().walBytes;
    await db.seal();
    assert.ok(db.stats().walBytes < before);
    assert.deepEqual(readdirSync(fixture.walDir).filter((name) => name.endsWith(".wal")).length, 1);
    const infos = [...fixture.published.values()];
    assert.equal(infos.length, 16);
    for (const { minTs, maxTs, shardCount, level, sealSeq } of infos) {
      assert.equal(Math.floor(minTs / 1000), Math.floor(maxTs / 1000));
      assert.deepEqual([shardCount, level, sealSeq], [4, 0, 1]);
    }
    assert.equal(
      infos.reduce((sum, { sampleCount }) => sum + sampleCount, 0),
      400,
    );
  });

  test("[MH7] a publication that fails is tried again with the same segments; nothing is lost or doubled", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open();
    t.after(() => db.close());
    const model = new Model();
    const write = async (ts: number): Promise<void> => {
      const rows: [Labels, TestSample][] = [[up("x"), { ts, value: ts }]];
      await db.append(batchOf(rows));
      model.write(rows);
    };
    for (const [ts, fault] of [
      [1, "before"],
      [2, "after"],
      [3, "after"],
    ] as const) {
      await write(ts);
      fixture.publishFaults.push(fault);
      await assert.rejects(db.seal(), /the store/);
      assertSees(fixture, db, model);
      // Simulates a crash now, published or not.
      const crashed = fixture.crashCopy(t);
      const again = await crashed.open();
      assertSees(crashed, again, model);
      assert.equal(
        again.stats().sampleCount,
        fault === "before" ? 1 : 0,
        "what was published is not replayed",
      );
      await again.close();
      await db.seal();
      assertSees(fixture, db, model);
    }
    assert.equal(fixture.published.size, 3);
  });

  const faults: readonly { name: string; break: string; isFile: boolean }[] = [
    { name: "nothing can be begun", break: "tmp", isFile: true },
    { name: "nothing can be put in its place", break: "segments", isFile: true },
    { name: "the lake is gone", break: "", isFile: false },
  ];
  for (const fault of faults) {
    test(`[MH7] a seal that fails in the lake (${fault.name}) loses nothing and leaves nothing`, async (t) => {
      const fixture = new DbFixture(t);
      const db = await fixture.open({ shardCount: 2 });
      t.after(() => db.close());
      const model = new Model();
      const write = async (from: number): Promise<void> => {
        const rows = Array.from({ length: 50 }, (_, index): [Labels, TestSample] => [
          up(`${index % 5}`),
          { ts: from + index * 60, value: index },
        ]);
        await db.append(batchOf(rows));
        model.write(rows);
      };
      await write(0);
      const broken = join(fixture.lakeDir, fault.break);
      rmSync(broken, { recursive: true });
      if (fault.isFile) writeFileSync(broken, "in the way");
      await assert.rejects(db.seal());
      await write(1);
      assert.deepEqual(fixture.readAll(db).map(meaningButHints), model.all().map(meaningButHints));
      rmSync(broken, { recursive: true, force: true });
      await prepareLake(fixture.lakeDir);
      await db.seal();
      assert.equal(db.snapshot().sampleCount, 0);
      assert.deepEqual(fixture.readAll(db).map(meaningButHints), model.all().map(meaningButHints));
      assert.deepEqual(readdirSync(join(fixture.lakeDir, "tmp")), []);
      const files = new Set(readdirSync(join(fixture.lakeDir, "segments")));
      assert.deepEqual(files, new Set(fixture.published.keys()));
    });
  }

  test("[MH8] it seals by itself: by age, and by size", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open({ headSamplesMax: 3, headAgeMsMax: 60_000, tickMs: 5 });
    t.after(() => db.close());
    await db.append(batchOf([[up("x"), { ts: 1, value: 1 }]]));
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(fixture.published.size, 0);
    await db.append(batchOf([2, 3, 4].map((ts) => [up("x"), { ts, value: 1 }])));
    await until(() => fixture.published.size > 0);
    assert.equal(fixture.published.size, 1);
    const other = new DbFixture(t);
    const aged = await other.open({ headAgeMsMax: 1, tickMs: 5 });
    t.after(() => aged.close());
    await aged.append(batchOf([[up("x"), { ts: 1, value: 1 }]]));
    await until(() => other.published.size > 0);
    assert.equal(other.published.size, 1);
  });

  test("[MH9] where sealing does not keep up, appends are refused; so are they after close", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open({ headSamplesMax: 2 });
    await db.append(batchOf(Array.from({ length: 9 }, (_, ts) => [up("x"), { ts, value: 1 }])));
    await assert.rejects(db.append(batchOf([[up("x"), { ts: 99, value: 1 }]])), {
      code: "overloaded",
      retry: "backoff",
    });
    await db.close();
    await assert.rejects(db.append(batchOf([])), { code: "shutting_down" });
  });
});

describe("the log", () => {
  const newestFile = (fixture: DbFixture): string => {
    const names = readdirSync(fixture.walDir)
      .filter((name) => name.endsWith(".wal"))
      .sort();
    return join(fixture.walDir, names.at(-1) as string);
  };
  const rowsAt = (ts: number): [Labels, TestSample][] => [
    [up("x"), { ts, value: ts }],
    [up("y"), { ts, value: -ts }],
  ];

  test("[MH10] cut off at any byte, it loses nothing but the record that was being written", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open();
    const ends: number[] = [];
    for (const ts of [1, 2, 3]) {
      await db.append(batchOf(rowsAt(ts)));
      // The size without the mark at the end.
      ends.push(statSync(newestFile(fixture)).size - frameBytes);
    }
    const killed = fixture.crashCopy(t);
    await db.close();
    const bytes = readFileSync(newestFile(killed));
    for (let length = 0; length <= bytes.length; length += 7) {
      const cut = killed.crashCopy(t);
      writeFileSync(newestFile(cut), bytes.subarray(0, length));
      const again = await cut.open();
      const whole = ends.filter((end) => end <= length).length;
      assert.equal(again.stats().sampleCount, whole * 2, `${length} bytes`);
      await again.append(batchOf(rowsAt(9)));
      await again.close();
      const third = await cut.open();
      assert.equal(third.stats().sampleCount, whole * 2 + 2);
      await third.close();
    }
  });

  test("[MH11] a damaged record that was acknowledged is an error that says where, never a loss", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open();
    for (const ts of [1, 2, 3]) await db.append(batchOf(rowsAt(ts)));
    await db.close();
    const path = newestFile(fixture);
    const bytes = readFileSync(path);
    for (const at of [20, 60, Math.floor(bytes.length / 2)]) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] as number) ^ 1;
      writeFileSync(path, damaged);
      await assert.rejects(fixture.open(), { code: "store_corrupt", message: /\.wal at byte \d+/ });
    }
    writeFileSync(path, bytes);
    const again = await fixture.open();
    assert.equal(again.stats().sampleCount, 6);
    await again.close();
  });

  test("[MH11] so is one in a file before the newest, even at its end", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open({ walFileBytesMax: 1 });
    for (const ts of [1, 2]) await db.append(batchOf(rowsAt(ts)));
    await db.close();
    const names = readdirSync(fixture.walDir)
      .filter((name) => name.endsWith(".wal"))
      .sort();
    assert.equal(names.length, 2);
    const first = join(fixture.walDir, names[0] as string);
    writeFileSync(first, readFileSync(first).subarray(0, -frameBytes - 3));
    const message = /1-1-000000\.wal: shorter than it was by 3 bytes.* 1 record after it are good/;
    await assert.rejects(fixture.open(), { code: "store_corrupt", message });
  });

  test("[MH11] a file that is missing in the middle, at the beginning or at the end is named", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open({ walFileBytesMax: 1 });
    for (const ts of [1, 2, 3]) await db.append(batchOf(rowsAt(ts)));
    const killed = fixture.crashCopy(t);
    await db.close();
    for (const from of [fixture, killed]) {
      for (const name of ["1-1-000000.wal", "1-1-000001.wal", "1-1-000002.wal"]) {
        const copy = from.crashCopy(t);
        rmSync(join(copy.walDir, name));
        const message = new RegExp(`${name}: missing`);
        await assert.rejects(copy.open(), { code: "store_corrupt", retry: "never", message });
        await assert.rejects(copy.open(), { code: "store_corrupt", message }, "again");
      }
      const renamed = from.crashCopy(t);
      renameSync(join(renamed.walDir, "1-1-000001.wal"), join(renamed.walDir, "1-1-000005.wal"));
      await assert.rejects(renamed.open(), {
        code: "store_corrupt",
        message: /000001\.wal: missing/,
      });
      const unlisted = from.crashCopy(t);
      rmSync(join(unlisted.walDir, "term-1"));
      await assert.rejects(unlisted.open(), { code: "store_corrupt", message: /not listed/ });
    }
  });

  test("[MH11] bits of a small log flipped: named, or of no consequence; never a wrong answer", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open();
    await db.append(batchOf(rowsAt(1)));
    await db.seal();
    for (const ts of [2, 3]) await db.append(batchOf(rowsAt(ts)));
    const want = fixture.readAll(db).map(meaningOf);
    const killed = fixture.crashCopy(t);
    await db.close();
    const lines: string[] = [];
    const logger: Logger = {
      ...silentLogger,
      warn: (fields, message) => void lines.push(`${message} ${JSON.stringify(fields)}`),
    };
    let flip = 0;
    for (const from of [fixture, killed]) {
      for (const name of readdirSync(from.walDir)) {
        const path = join(from.walDir, name);
        const bytes = readFileSync(path);
        for (let at = flip % 5; at < bytes.length; at += 29) {
          flip += 1;
          const copy = from.crashCopy(t);
          const bad = Buffer.from(bytes);
          bad[at] = (bad[at] as number) ^ (1 << (flip % 8));
          writeFileSync(join(copy.walDir, name), bad);
          const place = `${name} byte ${at}`;
          lines.length = 0;
          try {
            const opened = await copy.open({ logger });
            assert.deepEqual(copy.readAll(opened).map(meaningOf), want, place);
            // Bytes beyond the length in the list are not part of the log.
            assert.ok(lines.length > 0 || at >= bytes.length - frameBytes, `${place} is named`);
            await opened.close();
          } catch (thrown) {
            assert.equal((thrown as { code?: string }).code, "store_corrupt", `${place} ${thrown}`);
            assert.match((thrown as Error).message, new RegExp(name), place);
          }
        }
      }
    }
    assert.ok(flip > 30, `${flip} bits`);
  });

  test("[MH22] a log of the first format is read, whole or torn, and goes on in this one", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open({ walFileBytesMax: 150 });
    for (const ts of [1, 2, 3]) await db.append(batchOf(rowsAt(ts)));
    const old = fixture.crashCopy(t);
    await db.close();
    rmSync(join(old.walDir, "term-1"));
    writeFileSync(join(old.walDir, "lineage"), db.lineage);
    for (const name of readdirSync(old.walDir).filter((each) => each.endsWith(".wal"))) {
      const path = join(old.walDir, name);
      writeFileSync(join(old.walDir, name.replace(/^1-/, "")), namelessFile(readFileSync(path)));
      rmSync(path);
    }
    const torn = old.crashCopy(t);
    const newest = newestFile(torn);
    writeFileSync(newest, readFileSync(newest).subarray(0, -frameBytes - 1));
    for (const [copy, count] of [
      [old, 6],
      [torn, 4],
    ] as const) {
      const first = await copy.open();
      assert.equal(first.stats().sampleCount, count);
      await first.append(batchOf(rowsAt(9)));
      const second = await copy.crashCopy(t).open();
      assert.equal(second.stats().sampleCount, count + 2);
      await second.close();
      await first.seal();
      await first.close();
      assert.ok(!readdirSync(copy.walDir).some((name) => /^\d+-\d+\.wal$/.test(name)), "gone");
    }
  });

  test("[MH12] appends that come while the disk is busy share the next write, and are acknowledged in order", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open();
    t.after(() => db.close());
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        await db.append(batchOf([[up("x"), { ts: index, value: index }]]));
        order.push(index);
        assert.ok(db.snapshot().appendSeq > index, "visible at once");
      }),
    );
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
  });

  test("[MH12] with a relaxed policy it is synced by the clock, and closed whole", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open({ sync: { everyMs: 5 } });
    await db.append(batchOf(rowsAt(1)));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await db.append(batchOf(rowsAt(2)));
    await db.close();
    const again = await fixture.open();
    assert.equal(again.stats().sampleCount, 4);
    await again.close();
  });

  test("[MH13] once it cannot be written, nothing is acknowledged any more", async (t) => {
    const fixture = new DbFixture(t);
    const db = await fixture.open({ walFileBytesMax: 1 });
    await db.append(batchOf(rowsAt(1)));
    rmSync(fixture.walDir, { recursive: true });
    await assert.rejects(db.append(batchOf(rowsAt(2))), { code: "data_dir_unusable" });
    await assert.rejects(db.append(batchOf(rowsAt(3))), { code: "data_dir_unusable" });
    assert.equal((await db.failed).code, "data_dir_unusable");
    assert.equal(
      decodeRawSeries(db.slice({ snapshot: db.snapshot(), ...always }))[0]?.samples.count,
      1,
    );
    await db.close();
  });
});
