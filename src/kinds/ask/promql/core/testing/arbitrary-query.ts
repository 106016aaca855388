/** Random data and random expressions over it, for properties of every query. */
import fc from "fast-check";
import type { RawSeries } from "../model.ts";
import { rawSeries, type TestPoint, testHistogram } from "./raw-series.ts";

const point: fc.Arbitrary<TestPoint> = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 50 }) },
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant("stale" as const) },
  { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1e300) },
);
const histogramPoint: fc.Arbitrary<TestPoint> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 4 })
      .map((buckets) => testHistogram(buckets)),
  },
  { weight: 1, arbitrary: point },
);

const labelSets = ["a", "b", "c"].flatMap((x) => ["1", "2", "3"].map((y) => ({ x, y })));

/** The same labels under three names; `h` has histograms, too. 12 samples, 1 minute apart. */
export const arbitrarySeries: fc.Arbitrary<RawSeries[]> = fc
  .tuple(columns(point), columns(point), columns(histogramPoint))
  .map((byName) =>
    byName.flatMap((series, index) => {
      const name = ["m_total", "n_total", "h"][index] as string;
      return series.map((points, at) => rawSeries({ __name__: name, ...labelSets[at] }, points));
    }),
  );

function columns(of: fc.Arbitrary<TestPoint>): fc.Arbitrary<TestPoint[][]> {
  const one = fc.array(of, { minLength: 12, maxLength: 12 });
  return fc.array(one, { minLength: 1, maxLength: labelSets.length });
}

const selector = fc.constantFrom(
  "m_total",
  "n_total",
  "h",
  'm_total{x="a"}',
  'n_total{y=~"1|2"}',
  '{__name__=~"m_total|n_total"}',
);
const modifier = fc.constantFrom("", "", "", " offset 1m", " @ 300", " @ start()", " offset -2m");
const rangeFunction = fc.constantFrom(
  "rate",
  "increase",
  "delta",
  "sum_over_time",
  "avg_over_time",
  "max_over_time",
  "count_over_time",
  "last_over_time",
  "changes",
  "resets",
  "stddev_over_time",
  "present_over_time",
);
const range = fc.constantFrom("[1m]", "[2m30s]", "[5m]");
const subqueryRange = fc.constantFrom("[4m:1m]", "[3m:40s]", "[5m:2m]", "[4m:]");
const grouping = fc.constantFrom("", "by (x)", "by (x, y)", "without (x)", "by (__name__)");
const aggregation = fc.constantFrom("sum", "avg", "count", "min", "max", "group", "stddev");
const selection = fc.constantFrom("topk(2, ", "bottomk(3, ", "limitk(2, ", "quantile(0.7, ");
const arithmetic = fc.constantFrom("+", "-", "*", "/", "%", "^");
const comparison = fc.constantFrom(">", "<=", "==", "> bool", "!= bool");
const setOperator = fc.constantFrom("and", "or", "unless");
const matching = fc.constantFrom(
  "",
  "on (x, y)",
  "ignoring (y)",
  "on (x)",
  "on (x) group_left ()",
  "on (x, y) group_right ()",
  "on (x, y) fill(0)",
);
const scalar = fc.constantFrom("2", "-1", "time() / 60", "scalar(m_total{x='a', y='1'})", "3 ^ 2");

const { vector } = fc.letrec<{ vector: string; leaf: string }>((tie) => ({
  leaf: fc.oneof(
    fc.tuple(selector, modifier).map(([name, at]) => `${name}${at}`),
    fc
      .tuple(rangeFunction, selector, range, modifier)
      .map(([call, name, window, at]) => `${call}(${name}${window}${at})`),
    fc.tuple(selector, range).map(([name, window]) => `quantile_over_time(0.4, ${name}${window})`),
    fc.tuple(selector, modifier).map(([name, at]) => `timestamp(${name}${at})`),
  ),
  vector: fc.oneof(
    { maxDepth: 3, depthIdentifier: "vector" },
    { weight: 3, arbitrary: tie("leaf") },
    {
      weight: 3,
      arbitrary: fc
        .tuple(aggregation, grouping, tie("vector"))
        .map(([op, by, inner]) => `${op} ${by} (${inner})`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(selection, tie("vector"), grouping)
        .map(([op, inner, by]) => `${op}${inner}) ${by}`),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(tie("vector"), fc.oneof(arithmetic, comparison), matching, tie("vector"))
        .map(([left, op, how, right]) => `(${left}) ${op} ${how} (${right})`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie("vector"), setOperator, fc.constantFrom("", "on (x)"), tie("vector"))
        .map(([left, op, how, right]) => `(${left}) ${op} ${how} (${right})`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie("vector"), fc.oneof(arithmetic, comparison), scalar)
        .map(([left, op, right]) => `(${left}) ${op} ${right}`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(rangeFunction, tie("vector"), subqueryRange, modifier)
        .map(([call, inner, window, at]) => `${call}((${inner})${window}${at})`),
    },
    { weight: 1, arbitrary: tie("vector").map((inner) => `-(${inner})`) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom("abs", "floor", "sgn", "absent", "histogram_count"), tie("vector"))
        .map(([call, inner]) => `${call}(${inner})`),
    },
  ),
}));

/** Expressions of instant vectors with up to three levels. */
export const arbitraryQuery: fc.Arbitrary<string> = vector;
