import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PromqlError } from "../engine-types.ts";
import type { HeldMemory } from "../held-memory.ts";
import { samples } from "../kernels/testing/arbitraries.ts";
import { columns, exponential, type Point } from "../kernels/testing/one-window.ts";
import { Labels } from "../labels.ts";
import type { BaseExpr, LeafResult, PartialGroup, PartialOp } from "../leaf.ts";
import { type RawSeries, type StepSeries, stepAbsent, stepFloat } from "../model.ts";
import { executeLeaf } from "./execute-leaf.ts";
import { groupLabels } from "./group-labels.ts";
import { leafTimeRange } from "./leaf-time-range.ts";

const unlimited = { samplesMax: 1e9 };

const selector: BaseExpr = {
  matchers: [],
  grid: { startMs: 60_000, endMs: 120_000, stepMs: 30_000 },
  rangeMs: undefined,
  offsetMs: 0,
  lookbackMs: 60_000,
  bounds: undefined,
  useStartTs: true,
  output: { kind: "steps", call: undefined },
};
const sumOfWindows: BaseExpr = {
  ...selector,
  rangeMs: 30_000,
  output: { kind: "steps", call: { name: "sum_over_time", args: [] } },
};

const series = (labels: Record<string, string>, ...points: Point[]): RawSeries => ({
  labels: Labels.of(labels),
  samples: columns(points),
});

function stepsOf(result: LeafResult): [Record<string, string>, (number | undefined)[], boolean][] {
  assert.equal(result.kind, "steps");
  return result.series.map(({ labels, kinds, values, dropName }) => [
    labels.toRecord(),
    Array.from(kinds, (kind, step) => (kind === stepFloat ? values[step] : undefined)),
    dropName,
  ]);
}

const ranges: readonly [name: string, leaf: BaseExpr, minMs: number, maxMs: number][] = [
  ["an instant selector looks back", selector, 0, 120_000],
  ["a range selector has its range", sumOfWindows, 30_000, 120_000],
  ["an offset moves both", { ...sumOfWindows, offsetMs: 10_000 }, 20_000, 110_000],
  ["anchored looks further back", { ...sumOfWindows, bounds: "anchored" }, -30_000, 120_000],
  ["smoothed looks ahead as well", { ...sumOfWindows, bounds: "smoothed" }, -30_000, 180_000],
  ["a smoothed instant too", { ...selector, bounds: "smoothed" }, 0, 180_000],
  [
    "the last step may lie before the end",
    { ...selector, grid: { ...selector.grid, endMs: 119_000 } },
    0,
    90_000,
  ],
];
for (const [name, leaf, minMs, maxMs] of ranges) {
  test(`[KL13] ${name}`, () => assert.deepEqual(leafTimeRange(leaf), { minMs, maxMs }));
}

test("[KL14] steps: series in label order, without those that have no value", () => {
  const result = executeLeaf(
    selector,
    [
      series({ __name__: "x", a: "2" }, [60, 1], [90, 2]),
      series({ __name__: "x", a: "3" }, [200, 1]),
      series({ __name__: "x", a: "4" }, [60, "stale"]),
      series({ __name__: "x", a: "1" }, [100, 5]),
    ],
    unlimited,
  );
  assert.deepEqual(stepsOf(result), [
    [{ __name__: "x", a: "1" }, [undefined, undefined, 5], false],
    [{ __name__: "x", a: "2" }, [1, 2, 2], false],
  ]);
  assert.deepEqual(result.stats, { seriesCount: 3, sampleCount: 4 });
});

test("[KL9] steps of a function are to lose their name, unless it picks a sample", () => {
  const call = (name: string, rangeMs: number | undefined): boolean | undefined => {
    const output = { kind: "steps", call: { name, args: [] } } as const;
    const result = executeLeaf({ ...selector, rangeMs, output }, [series({}, [60, 1])], unlimited);
    return stepsOf(result)[0]?.[2];
  };
  assert.equal(call("sum_over_time", 30_000), true);
  assert.equal(call("last_over_time", 30_000), false);
  assert.equal(call("timestamp", undefined), true);
});

test("[KL10] start_timestamp without start timestamps in use gives nothing", () => {
  const output = { kind: "steps", call: { name: "start_timestamp", args: [] } } as const;
  const data = [series({}, [60, 1, 50])];
  assert.equal(stepsOf(executeLeaf({ ...selector, output }, data, unlimited)).length, 1);
  const off = { ...selector, output, useStartTs: false };
  assert.equal(stepsOf(executeLeaf(off, data, unlimited)).length, 0);
});

test("[KL14] raw: what lies in the span, with everything about it", () => {
  const histogram = exponential([1]);
  const leaf: BaseExpr = { ...sumOfWindows, output: { kind: "raw" } };
  const result = executeLeaf(
    leaf,
    [
      series({ a: "2" }, [30, 1, 7], [40, "stale", 8], [50, histogram, 9], [120, 4], [121, 5]),
      series({ a: "1" }, [60, 2]),
      series({ a: "0" }, [30, 2]),
    ],
    unlimited,
  );
  assert.equal(result.kind, "raw");
  assert.deepEqual(
    result.series.map(({ labels, samples: { count, ts } }) => [labels.get("a"), count, [...ts]]),
    [
      ["1", 1, [60_000]],
      ["2", 3, [40_000, 50_000, 120_000]],
    ],
  );
  const [, second] = result.series;
  assert.deepEqual([...(second?.samples.stale ?? [])], [1, 0, 0]);
  assert.deepEqual(second?.samples.histograms, [undefined, histogram, undefined]);
  assert.deepEqual([...(second?.samples.startTs ?? [])], [8_000, 9_000, 0]);
});

test("[KL7] annotations name their place in the call, each once", () => {
  const call = { name: "rate", args: [] };
  const leaf: BaseExpr = { ...sumOfWindows, output: { kind: "steps", call } };
  const data = ["1", "2"].map((a) => series({ __name__: "x", a }, [40, 1], [60, 2], [80, 3]));
  assert.deepEqual(executeLeaf(leaf, data, unlimited).annotations, [
    {
      level: "info",
      message:
        'metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "x"',
      place: 0,
    },
  ]);
});

const tooMany = (error: unknown) =>
  error instanceof PromqlError &&
  error.message === "query processing would load too many samples into memory in query execution";

const limits: readonly [name: string, leaf: BaseExpr, enough: number][] = [
  ["values of an instant selector count", selector, 6],
  // The second series' window of two while the first one's three values are held; then three more.
  ["windows and values of a function count", sumOfWindows, 6],
  ["raw samples count", { ...sumOfWindows, output: { kind: "raw" } }, 8],
];
for (const [name, leaf, enough] of limits) {
  test(`[KL15] ${name}`, () => {
    const data = ["1", "2"].map((a) => series({ a }, [40, 1], [60, 1], [80, 1], [100, 1]));
    executeLeaf(leaf, data, { samplesMax: enough });
    assert.throws(() => executeLeaf(leaf, data, { samplesMax: enough - 1 }), tooMany);
  });
}

test("[KL15] a window that is too large is refused, however many there are", () => {
  const data = [series({}, ...Array.from({ length: 20 }, (_, i): Point => [91 + i, 1]))];
  const leaf = { ...sumOfWindows, grid: { ...selector.grid, startMs: 120_000 } };
  executeLeaf(leaf, data, { samplesMax: 20 });
  assert.throws(() => executeLeaf(leaf, data, { samplesMax: 19 }), tooMany);
});

test("[KL15] a histogram counts for its size", () => {
  const data = [series({}, [60, exponential([1, 2])])];
  const leaf = { ...selector, grid: { ...selector.grid, endMs: 60_000 } };
  // 176 bytes, and a span and two buckets of 8 bytes each, are 12 samples of 16 bytes.
  executeLeaf(leaf, data, { samplesMax: 12 });
  assert.throws(() => executeLeaf(leaf, data, { samplesMax: 11 }), tooMany);
});

test("[KL16] a group's labels: those asked for, or all others but the name", () => {
  const labels = Labels.of({ __name__: "x", a: "1", b: "2" });
  assert.deepEqual(groupLabels(labels, ["a", "z"], false).toRecord(), { a: "1" });
  assert.deepEqual(groupLabels(labels, ["__name__"], false).toRecord(), { __name__: "x" });
  assert.deepEqual(groupLabels(labels, [], false).toRecord(), {});
  assert.deepEqual(groupLabels(labels, ["a"], true).toRecord(), { b: "2" });
  assert.deepEqual(groupLabels(labels, [], true).toRecord(), { a: "1", b: "2" });
});

function partialsLeaf(op: PartialOp, k?: number, call = "sum_over_time"): BaseExpr {
  const aggregate = { op, grouping: ["g"], without: false, k };
  const output = { kind: "partials", call: { name: call, args: [] }, aggregate } as const;
  return { ...sumOfWindows, grid: { startMs: 100, endMs: 160, stepMs: 7 }, rangeMs: 15, output };
}

function partialsOf(leaf: BaseExpr, data: readonly RawSeries[]) {
  const result = executeLeaf(leaf, data, unlimited);
  assert.equal(result.kind, "partials");
  return result;
}

/** Merges the values of a group over several shards. */
function mergeValue(
  op: PartialOp,
  parts: { count: number; value: number; lost: number }[],
): number {
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  if (op === "count") return count;
  if (op === "group") return 1;
  const numbers = parts.map(({ value }) => value).filter((value) => !Number.isNaN(value));
  if (op === "min" || op === "max") {
    return numbers.length === 0 ? Number.NaN : Math[op](...numbers);
  }
  if (op === "sum") return parts.reduce((sum, { value, lost }) => sum + value + lost, 0);
  return parts.reduce(
    (mean, { count: n, value, lost }) => mean + (value / n + lost / n) * (n / count),
    0,
  );
}

/** Values by group and step. */
function mergeGroups(op: PartialOp, groups: readonly PartialGroup[]): Map<string, number> {
  const parts = new Map<string, { count: number; value: number; lost: number }[]>();
  for (const { labels, counts, values, compensations } of groups) {
    counts.forEach((count, step) => {
      if (count === 0) return;
      const key = `${labels.key} ${step}`;
      const part = { count, value: values?.[step] ?? 0, lost: compensations?.[step] ?? 0 };
      parts.set(key, [...(parts.get(key) ?? []), part]);
    });
  }
  return new Map([...parts].map(([key, all]) => [key, mergeValue(op, all)]));
}

const tame = samples({ stale: true, histograms: false, starts: false }).map((columnsOf) => ({
  ...columnsOf,
  values: columnsOf.values.map((value) => (Math.abs(value) < 1e7 ? value : 1)),
}));
const shardedSeries = fc.array(
  fc.record({
    samples: tame,
    group: fc.constantFrom("a", "b"),
    shard: fc.integer({ min: 0, max: 2 }),
  }),
  { maxLength: 9, size: "max" },
);
type Sharded = typeof shardedSeries extends fc.Arbitrary<infer T> ? T : never;

const rawOf = (all: Sharded): { raw: RawSeries; shard: number }[] =>
  all.map(({ samples: of, group, shard }, index) => ({
    raw: { labels: Labels.of({ __name__: "x", g: group, i: `${index}` }), samples: of },
    shard,
  }));

for (const op of ["sum", "avg", "count", "min", "max", "group"] as const) {
  test(`[KL17] ${op} of shards, merged, is that of all`, () => {
    fc.assert(
      fc.property(shardedSeries, (all) => {
        const leaf = partialsLeaf(op);
        const data = rawOf(all);
        const whole = partialsOf(
          leaf,
          data.map(({ raw }) => raw),
        );
        const shards = [0, 1, 2].flatMap(
          (shard) =>
            partialsOf(
              leaf,
              data.filter((each) => each.shard === shard).map(({ raw }) => raw),
            ).groups,
        );
        const want = mergeGroups(op, whole.groups);
        const got = mergeGroups(op, shards);
        assert.deepEqual(new Set(got.keys()), new Set(want.keys()));
        // When large values cancel out, only their last digits are left.
        const sizes = all.flatMap(({ samples }) => Array.from(samples.values, Math.abs));
        const largest = Math.max(1, ...sizes.filter(Number.isFinite));
        for (const [key, value] of want) {
          const other = got.get(key) as number;
          const same =
            Object.is(value, other) ||
            Math.abs(value - other) <= 1e-12 * Math.max(Math.abs(value), largest * 1e-3);
          assert.ok(same, `${key}: ${value} and ${other}`);
        }
      }),
      { numRuns: 150 },
    );
  });
}

/** Prometheus's heap of the k best, the worst first. */
function heapOfBest(
  op: "topk" | "bottomk",
  k: number,
  offered: { id: string; value: number }[],
): string[] {
  const isWorse = (a: number, b: number) =>
    (op === "topk" ? a < b : a > b) || (Number.isNaN(a) && !Number.isNaN(b));
  const heap: { id: string; value: number }[] = [];
  const at = (index: number) => heap[index] as { id: string; value: number };
  const swap = (a: number, b: number) => {
    const kept = at(a);
    heap[a] = at(b);
    heap[b] = kept;
  };
  for (const each of offered) {
    if (heap.length < k) {
      heap.push(each);
      for (let index = heap.length - 1; index > 0; ) {
        const parent = Math.floor((index - 1) / 2);
        if (!isWorse(at(index).value, at(parent).value)) break;
        swap(index, parent);
        index = parent;
      }
    } else if (k > 0 && isWorse(at(0).value, each.value)) {
      heap[0] = each;
      for (let index = 0; ; ) {
        let child = 2 * index + 1;
        if (child >= heap.length) break;
        if (child + 1 < heap.length && isWorse(at(child + 1).value, at(child).value)) child += 1;
        if (!isWorse(at(child).value, at(index).value)) break;
        swap(index, child);
        index = child;
      }
    }
  }
  return heap.map(({ id }) => id);
}

function chosen(
  op: "topk" | "bottomk",
  k: number,
  all: readonly StepSeries[],
): Map<string, string[]> {
  const ordered = [...all].sort((a, b) => Number(a.labels.get("i")) - Number(b.labels.get("i")));
  const offered = new Map<string, { id: string; value: number }[]>();
  for (const { labels, kinds, values } of ordered) {
    kinds.forEach((kind, step) => {
      if (kind === stepAbsent) return;
      const key = `${labels.get("g")} ${step}`;
      const sample = { id: labels.get("i"), value: values[step] as number };
      offered.set(key, [...(offered.get(key) ?? []), sample]);
    });
  }
  return new Map([...offered].map(([key, samplesAt]) => [key, heapOfBest(op, k, samplesAt)]));
}

for (const op of ["topk", "bottomk"] as const) {
  test(`[KL18] ${op} of the shards' candidates is that of all, ties included`, () => {
    fc.assert(
      fc.property(shardedSeries, fc.integer({ min: 1, max: 3 }), (all, k) => {
        const data = rawOf(all);
        const steps = {
          ...partialsLeaf(op),
          output: { kind: "steps", call: { name: "sum_over_time", args: [] } },
        } as const;
        const whole = executeLeaf(
          steps,
          data.map(({ raw }) => raw),
          unlimited,
        );
        assert.equal(whole.kind, "steps");
        const candidates = [0, 1, 2].flatMap((shard) => {
          const of = data.filter((each) => each.shard === shard).map(({ raw }) => raw);
          return partialsOf(partialsLeaf(op, k), of).series;
        });
        assert.deepEqual(chosen(op, k, candidates), chosen(op, k, whole.series));
      }),
      { numRuns: 150 },
    );
  });
}

test("[KL18] topk of none has no candidates", () => {
  const data = [series({ g: "a" }, [0.1, 1])];
  assert.deepEqual(partialsOf(partialsLeaf("topk", 0.9), data).series, []);
  assert.equal(partialsOf(partialsLeaf("topk", 1e12), data).series.length, 1);
});

test("[KL19] a series with a histogram is left to whoever merges", () => {
  const data = [
    series({ g: "a", i: "1" }, [0.1, 1]),
    series({ g: "a", i: "2" }, [0.1, exponential([1])]),
  ];
  const { groups, series: whole } = partialsOf(
    partialsLeaf("sum", undefined, "last_over_time"),
    data,
  );
  assert.deepEqual(
    groups.map(({ counts }) => counts[0]),
    [1],
  );
  assert.deepEqual(
    whole.map(({ labels, histograms }) => [labels.get("i"), histograms?.[0]]),
    [["2", exponential([1])]],
  );
});

test("[KL20] an average's sum does not overflow: its group stands twice", () => {
  const data = ["1", "2", "3"].map((i) => series({ g: "a", i }, [0.1, 1.5e308]));
  const { groups } = partialsOf(partialsLeaf("avg"), data);
  assert.deepEqual(
    groups.map(({ labels, counts, values }) => [labels.get("g"), counts[0], values?.[0]]),
    [
      ["a", 1, 1.5e308],
      ["a", 1, 1.5e308],
      ["a", 1, 1.5e308],
    ],
  );
  const infinite = ["1", "2"].map((i) => series({ g: "a", i }, [0.1, Infinity]));
  const [only, ...others] = partialsOf(partialsLeaf("avg"), infinite).groups;
  assert.deepEqual([only?.counts[0], only?.values?.[0], others], [2, Infinity, []]);
});

/** Counts like a process, and throws before the bytes are allocated. */
function bounded(bytesMax: number): HeldMemory & { held(): number } {
  let bytes = 0;
  return {
    take(more) {
      if (bytes + more > bytesMax) throw new Error("too large");
      bytes += more;
    },
    give(less) {
      bytes -= less;
    },
    held: () => bytes,
  };
}

/** Three steps: 9 and 8 bytes each for the current series, 1 more with groups. */
const keeping: readonly [op: PartialOp, bytesPerGroup: number][] = [
  ["count", 3 * 8],
  ["max", 3 * 16],
  ["sum", 3 * 24],
  ["topk", 3 * 4 + 3 * 8 + 3 * 9],
];
for (const [op, bytesPerGroup] of keeping) {
  test(`[KL21] groups of ${op} are counted with every step, whether it has a value or not`, () => {
    const members = Array.from({ length: 4 }, (_, i) => series({ i: String(i) }, [60, 1]));
    const aggregate = { op, grouping: ["i"], without: false, k: 1 };
    const leaf: BaseExpr = {
      ...selector,
      output: { kind: "partials", call: undefined, aggregate },
    };
    const needed = 3 * 18 + 4 * bytesPerGroup;
    const memory = bounded(needed);
    executeLeaf(leaf, members, { ...unlimited, memory });
    assert.equal(memory.held(), needed);
    const less = { ...unlimited, memory: bounded(needed - 1) };
    assert.throws(() => executeLeaf(leaf, members, less), /too large/);
  });
}

test("[KL21] series and samples that a leaf keeps are counted", () => {
  const members = Array.from({ length: 4 }, (_, i) => series({ i: String(i) }, [60, 1]));
  const steps = bounded(3 * 17 + 4 * 3 * 9);
  executeLeaf(selector, members, { ...unlimited, memory: steps });
  const raw = bounded(4 * 17);
  executeLeaf({ ...selector, output: { kind: "raw" } }, members, { ...unlimited, memory: raw });
  for (const memory of [steps, raw]) assert.throws(() => memory.take(1), /too large/);
});
