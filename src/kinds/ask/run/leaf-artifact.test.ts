import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { readFooter } from "../../../data/parquet/index.ts";
import { MemoryBudget } from "../../../ground/process/core/index.ts";
import {
  type BaseExpr,
  type FloatHistogram,
  Labels,
  type LeafResult,
  type PartialGroup,
  type RawSeries,
  type StepSeries,
} from "../promql/core/index.ts";
import { decodeLeafResult, encodeLeafResult } from "./leaf-artifact.ts";
import { decodeList, encodeList, mergeLists, mergeSeries, seriesItem } from "./list-artifact.ts";
import { MemoryAccount } from "./memory-account.ts";

const steps = 5;
const base: Omit<BaseExpr, "output"> = {
  matchers: [{ name: "__name__", op: "=", value: "x" }],
  grid: { startMs: 1_000, endMs: 1_000 + (steps - 1) * 500, stepMs: 500 },
  rangeMs: undefined,
  offsetMs: 0,
  lookbackMs: 300_000,
  bounds: undefined,
  useStartTs: true,
};
const stepsLeaf: BaseExpr = { ...base, output: { kind: "steps", call: undefined } };
const partialsLeaf: BaseExpr = {
  ...base,
  output: {
    kind: "partials",
    call: undefined,
    aggregate: { op: "sum", grouping: ["a"], without: false, k: undefined },
  },
};
const rawLeaf: BaseExpr = { ...base, output: { kind: "raw" } };

const histogram: FloatHistogram = {
  counterResetHint: "gauge",
  schema: 3,
  zeroThreshold: 0.001,
  zeroCount: 2,
  count: 9,
  sum: -1.5,
  positiveSpans: [{ offset: -2, length: 2 }],
  positiveBuckets: [3, 4],
  negativeSpans: [],
  negativeBuckets: [],
  customValues: [],
};

const labels = fc
  .dictionary(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), { maxKeys: 4 })
  .map((record) => Labels.of(record));
const float = fc.double();
const floats = fc
  .array(float, { minLength: steps, maxLength: steps })
  .map((all) => Float64Array.from(all));

/** The result as a kernel leaves it, except for the values of absent steps, which mean nothing. */
const stepSeries: fc.Arbitrary<StepSeries> = fc
  .tuple(
    labels,
    fc.boolean(),
    fc.array(fc.constantFrom(0, 1, 1, 1, 2), { minLength: steps, maxLength: steps }),
    floats,
  )
  .map(([each, dropName, kinds, values]) => {
    const hasHistograms = kinds.includes(2);
    return {
      labels: each,
      dropName,
      kinds: Uint8Array.from(kinds),
      values: values.map((value, step) => (kinds[step] === 1 ? value : 0)),
      histograms: hasHistograms
        ? kinds.map((kind) => (kind === 2 ? histogram : undefined))
        : undefined,
    };
  });

/** Has few runs of equal values, as most counts do. */
const flat = fc
  .tuple(float, float, fc.nat(steps))
  .map(([a, b, from]) => new Float64Array(steps).fill(a).fill(b, from));

const group: fc.Arbitrary<PartialGroup> = fc
  .tuple(
    labels,
    fc.boolean(),
    fc.oneof(floats, flat),
    fc.option(fc.oneof(floats, flat)),
    fc.option(fc.oneof(floats, flat)),
  )
  .map(([each, dropName, counts, values, compensations]) => ({
    labels: each,
    dropName,
    counts,
    values: values ?? undefined,
    compensations: compensations ?? undefined,
  }));

const about = {
  annotations: [{ level: "warning" as const, message: 'odd "text" ü', place: 1 }],
  stats: { seriesCount: 3, sampleCount: 12 },
};

test("[QP2] steps come back as they were, in the same bytes each time", () => {
  fc.assert(
    fc.property(fc.array(stepSeries, { maxLength: 6 }), (series) => {
      const result: LeafResult = { kind: "steps", series, ...about };
      const { bytes, rowCount } = encodeLeafResult(result, stepsLeaf);
      assert.equal(rowCount, series.length);
      assert.deepEqual(encodeLeafResult(result, stepsLeaf).bytes, bytes);
      same(decodeLeafResult(bytes), result);
    }),
  );
});

test("[QP2] what a kernel leaves in absent steps does not change the bytes", () => {
  const series = (rest: number): StepSeries => ({
    labels: Labels.of({ a: "b" }),
    dropName: false,
    kinds: Uint8Array.of(0, 1, 0, 1, 0),
    values: Float64Array.of(rest, 1, rest, 2, rest),
    histograms: undefined,
  });
  const encode = (rest: number): Uint8Array =>
    encodeLeafResult({ kind: "steps", series: [series(rest)], ...about }, stepsLeaf).bytes;
  assert.deepEqual(encode(7), encode(Number.NaN));
});

test("[QP2] partials come back as they were", () => {
  fc.assert(
    fc.property(
      fc.array(group, { maxLength: 4 }),
      fc.array(stepSeries, { maxLength: 3 }),
      (groups, series) => {
        const result: LeafResult = { kind: "partials", groups, series, ...about };
        same(decodeLeafResult(encodeLeafResult(result, partialsLeaf).bytes), result);
      },
    ),
  );
});

test("[QP2] raw samples come back as they were", () => {
  const series: RawSeries[] = [
    {
      labels: Labels.of({ __name__: "x", a: "1" }),
      samples: {
        count: 2,
        ts: Float64Array.of(1, 2),
        values: Float64Array.of(-0, Number.NaN),
        stale: Uint8Array.of(0, 1),
        histograms: undefined,
        startTs: undefined,
      },
    },
    {
      labels: Labels.of({ __name__: "x", a: "2" }),
      samples: {
        count: 1,
        ts: Float64Array.of(3),
        values: Float64Array.of(0),
        stale: undefined,
        histograms: [histogram],
        startTs: Float64Array.of(1),
      },
    },
  ];
  const result: LeafResult = { kind: "raw", series, ...about };
  same(decodeLeafResult(encodeLeafResult(result, rawLeaf).bytes), result);
});

test("[QP38] an artifact has no column that is empty in every row", () => {
  const names = (result: LeafResult): string[] =>
    readFooter(encodeLeafResult(result, stepsLeaf).bytes).columns.map(({ name }) => name);
  const each = { labels: Labels.of({ a: "b" }), dropName: false };
  const values = new Float64Array(steps);
  const dense = { ...each, kinds: new Uint8Array(steps).fill(1), values, histograms: undefined };
  const usual = ["labels", "drop_name", "floats"];
  assert.deepEqual(names({ kind: "steps", series: [dense], ...about }), usual);
  const sparse = { ...dense, kinds: Uint8Array.of(1, 0, 1, 1, 1) };
  assert.deepEqual(names({ kind: "steps", series: [dense, sparse], ...about }), [
    ...usual,
    "kinds",
  ]);
  const group = { ...each, counts: values, values: undefined, compensations: undefined };
  const groups: LeafResult = { kind: "partials", groups: [group], series: [dense], ...about };
  assert.deepEqual(names(groups), [...usual, "is_group", "counts"]);
});

test("[QP2] many rows take several row groups", () => {
  const longSteps = 100_000;
  const leaf: BaseExpr = {
    ...stepsLeaf,
    grid: { startMs: 0, endMs: longSteps - 1, stepMs: 1 },
  };
  const series = Array.from(
    { length: 200 },
    (_, index): StepSeries => ({
      labels: Labels.of({ i: String(index).padStart(3, "0") }),
      dropName: true,
      kinds: new Uint8Array(longSteps).fill(1),
      values: new Float64Array(longSteps).fill(index),
      histograms: undefined,
    }),
  );
  const { bytes } = encodeLeafResult({ kind: "steps", series, ...about }, leaf);
  const decoded = decodeLeafResult(bytes);
  assert.equal(decoded.series.length, 200);
  assert.equal((decoded.series[199] as StepSeries).values[longSteps - 1], 199);
});

test("[QP2] DuckDB opens an artifact", async () => {
  const dir = mkdtempSync(join(tmpdir(), "capstan-leaf-"));
  try {
    const series: StepSeries[] = [1, 2].map((value) => ({
      labels: Labels.of({ __name__: "x", v: String(value) }),
      dropName: false,
      kinds: new Uint8Array(steps).fill(1),
      values: new Float64Array(steps).fill(value),
      histograms: undefined,
    }));
    const path = join(dir, "leaf.parquet");
    writeFileSync(path, encodeLeafResult({ kind: "steps", series, ...about }, stepsLeaf).bytes);
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    const reader = await connection.runAndReadAll(
      `SELECT labels->>3 AS v, octet_length(floats) AS bytes, drop_name FROM '${path}' ORDER BY 1`,
    );
    assert.deepEqual(reader.getRowsJson(), [
      ["1", String(steps * 8), false],
      ["2", String(steps * 8), false],
    ]);
    connection.closeSync();
    instance.closeSync();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

const goOn = (): undefined => undefined;

test("[QP9] lists are merged: each once, in order, up to the limit", async () => {
  const there = (items: readonly string[]): readonly string[] => decodeList(encodeList(items));
  assert.deepEqual(there([]), []);
  assert.deepEqual(await mergeLists([there(["b", "a"]), there(["a", "c"])], 0, goOn), {
    items: ["a", "b", "c"],
    truncated: false,
  });
  assert.deepEqual(await mergeLists([["b", "a"], ["c"]], 2, goOn), {
    items: ["a", "b"],
    truncated: true,
  });
  const [one, two] = [Labels.of({ a: "1", b: "2" }), Labels.of({ a: "1" })];
  const lists = [[seriesItem(one), seriesItem(two)], [seriesItem(two)]];
  const merged = await mergeSeries(lists, 0, goOn);
  assert.deepEqual(
    merged.items.map(({ pairs }) => pairs),
    [two.pairs, one.pairs],
  );
});

function same(actual: LeafResult, wanted: LeafResult): void {
  const plain = (result: LeafResult): unknown => ({
    ...result,
    series: result.series.map((each) => ({ ...each, labels: each.labels.pairs })),
    groups:
      "groups" in result
        ? result.groups.map((each) => ({ ...each, labels: each.labels.pairs }))
        : [],
  });
  assert.deepStrictEqual(plain(actual), plain(wanted));
}

test("[QP34] a small file that is large when it is decoded is counted before", () => {
  const many = 1_000_000;
  const leaf = { ...partialsLeaf, grid: { startMs: 0, endMs: many - 1, stepMs: 1 } };
  const counts = new Float64Array(many).fill(1);
  const groups = Array.from({ length: 3 }, (_, index) => ({
    labels: Labels.of({ g: String(index) }),
    dropName: false,
    counts,
    values: undefined,
    compensations: undefined,
  }));
  const stats = { seriesCount: 3, sampleCount: 3 };
  const { bytes } = encodeLeafResult(
    { kind: "partials", annotations: [], stats, groups, series: [] },
    leaf,
  );
  assert.ok(bytes.length < 10_000, `${bytes.length} bytes`);
  const taken: number[] = [];
  decodeLeafResult(bytes, { take: (more) => taken.push(more) });
  assert.deepEqual(taken, [many * 8, many * 8, many * 8]);
  const one = new MemoryAccount(new MemoryBudget(many * 12).ownPlace);
  assert.throws(() => decodeLeafResult(bytes, one), { code: "query_too_large" });
  assert.equal(one.bytes, many * 8);
});
