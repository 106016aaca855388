import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultEngineOptions, PromqlError, type QueryParams } from "../engine-types.ts";
import type { BaseExpr } from "../leaf.ts";
import { type Grid, instantGrid } from "../model.ts";
import { parseExpr } from "../parse/parse-expr.ts";
import { explainPlan } from "./explain-plan.ts";
import { planQuery } from "./plan-query.ts";

const hour = 3_600_000;
const grid: Grid = { startMs: hour, endMs: 2 * hour, stepMs: 60_000 };
const rangeQuery: QueryParams = { instant: false, grid };
const instantQuery: QueryParams = { instant: true, grid: instantGrid(hour) };

function leavesOf(query: string, params = rangeQuery, options = {}): readonly BaseExpr[] {
  return planQuery(parseExpr(query), params, { ...defaultEngineOptions, ...options }).leaves;
}

function described(query: string, params = rangeQuery, options = {}): string[] {
  const plan = planQuery(parseExpr(query), params, { ...defaultEngineOptions, ...options });
  return explainPlan(plan).leaves.map(({ text, output }) => `${output}: ${text}`);
}

const decompositions: readonly [query: string, want: readonly string[]][] = [
  ["1 + 2", []],
  ["up", ["steps: up"]],
  ['up{job="a", i!="b"} offset 5m', ['steps: up{i!="b", job="a"} offset 5m']],
  ["rate(x[5m])", ["steps: rate(x[5m])"]],
  ["quantile_over_time(0.5 + 0.4, x[5m])", ["steps: quantile_over_time(0.9, x[5m])"]],
  ["timestamp(x)", ["steps: timestamp(x)"]],
  ["timestamp(-x)", ["steps: x"]],
  ["sum by (job) (rate(x[5m]))", ["partials: sum by (job) (rate(x[5m]))"]],
  ["avg without (i) ((x))", ["partials: avg without (i) (x)"]],
  ["topk(2 + 1, rate(x[5m]))", ["partials: topk (3, rate(x[5m]))"]],
  ["absent(x)", ["partials: group (x)"]],
  ["absent_over_time(x[5m])", ["partials: group (present_over_time(x[5m]))"]],
  ["topk(scalar(k), x)", ["steps: x", "steps: k"]],
  ["topk(0, x)", ["steps: x"]],
  ["quantile(0.9, rate(x[5m]))", ["steps: rate(x[5m])"]],
  ["sum(abs(x))", ["steps: x"]],
  ["sum(x) / sum(y)", ["partials: sum (x)", "partials: sum (y)"]],
  ["quantile_over_time(scalar(q), x[5m])", ["steps: q", "raw: x[5m]"]],
  ["predict_linear(x[5m] @ 10, 60)", ["raw: x[5m]"]],
  ["max_over_time(rate(x[5m])[1h:1m])", ["steps: rate(x[5m])"]],
  ["max_over_time(sum(x)[1h:1m])", ["partials: sum (x)"]],
  ["rate(x[5m] smoothed)", ["steps: rate(x[5m] smoothed)"]],
];
for (const [query, want] of decompositions) {
  test(`[PE1] ${query} reads ${want.length === 0 ? "nothing" : want.join(" and ")}`, () => {
    assert.deepEqual(described(query), want);
  });
}

test("[PE1] an instant query for a range vector reads samples", () => {
  assert.deepEqual(described("x[5m]", instantQuery), ["raw: x[5m]"]);
});

test("[PE1] every leaf says why it is computed so", () => {
  const plan = planQuery(parseExpr("sum(rate(x[5m]))"), rangeQuery, defaultEngineOptions);
  const { leaves, tree } = explainPlan(plan);
  const why = "sum of rate is exact when merged from what the shards aggregated";
  assert.deepEqual(leaves, [{ text: "sum (rate(x[5m]))", output: "partials", why }]);
  assert.equal(tree, "leaf 0: sum (rate(x[5m]))");
});

test("[PE1] the tree shows what each node reads", () => {
  const plan = planQuery(parseExpr("abs(x) > 1 + time()"), rangeQuery, defaultEngineOptions);
  assert.equal(
    explainPlan(plan).tree,
    [
      "vector > scalar",
      "  abs",
      "    leaf 0: x",
      "  scalar + scalar",
      "    number 1",
      "    time",
    ].join("\n"),
  );
});

test("[PE5] whatever reads the same thing shares a leaf, however it is written", () => {
  const query = `x{a="1", b="2"} + {b="2", __name__="x", a="1"} + rate(y[60s]) + rate(y[1m])`;
  assert.deepEqual(described(query), ['steps: x{a="1", b="2"}', "steps: rate(y[1m])"]);
});

test("[PE5] leaves that differ in anything do not share", () => {
  assert.equal(leavesOf("x + x offset 1m + rate(x[1m]) + rate(x[2m]) + x @ 1").length, 5);
});

test("[PE6] a subquery's steps are multiples of its step, beginning after the first window's start", () => {
  const [leaf] = leavesOf("max_over_time(x[10m:7m] offset 1m)");
  const startMs = Math.floor((hour - 11 * 60_000) / 420_000) * 420_000 + 420_000;
  const endMs = startMs + Math.floor((2 * hour - 60_000 - startMs) / 420_000) * 420_000;
  assert.deepEqual(leaf?.grid, { startMs, endMs, stepMs: 420_000 });
});

test("[PE6] a subquery without a step has the engine's", () => {
  const [leaf] = leavesOf("max_over_time(x[10m:])", rangeQuery, { subqueryStepMs: 90_000 });
  assert.equal(leaf?.grid.stepMs, 90_000);
});

const fixedTimes: readonly [query: string, atMs: number, offsetMs: number][] = [
  ["x @ 100", 100_000, 0],
  ["x @ 100 offset 1m", 100_000, 60_000],
  ["x @ start()", hour, 0],
  ["x @ end()", 2 * hour, 0],
  ["rate(x[5m] @ 100)", 100_000, 0],
  ["sum(rate(x[5m] @ 100))", 100_000, 0],
];
for (const [query, atMs, offsetMs] of fixedTimes) {
  test(`[PE7] ${query} is one step, and the same one in every span`, () => {
    const span = { ...grid, startMs: hour + 120_000, endMs: hour + 180_000 };
    for (const params of [rangeQuery, { ...rangeQuery, span }]) {
      const [leaf] = leavesOf(query, params);
      assert.deepEqual(leaf?.grid, instantGrid(atMs));
      assert.equal(leaf?.offsetMs, offsetMs);
    }
  });
}

test("[PE3] a span's leaves have the span's steps", () => {
  const span = { ...grid, startMs: hour + 120_000, endMs: hour + 180_000 };
  assert.deepEqual(leavesOf("x", { ...rangeQuery, span })[0]?.grid, span);
});

const divisions: readonly [query: string, divisible: boolean][] = [
  ["a or b", true],
  ["a or vector(0)", true],
  ["sum(a) or rate(b[5m])", true],
  ["rate(a[5m]) or rate(b[5m])", true],
  ["a or rate(a[5m])", false],
  ["abs(a or -a)", false],
  ["sum by (x) (a or -a)", true],
  ["sum by (__name__) (a or -a)", false],
  ["sum by (__unit__) (a or -a)", false],
  ['absent_over_time(a{x="1"}[5m]) or a', true],
  ['absent_over_time(a{__type__="x"}[5m]) or a', false],
  ['label_replace(-a, "__name__", "b", "x", "1")', false],
  ["last_over_time((a or a > bool 1)[5m:1m])", false],
];
for (const [query, divisible] of divisions) {
  test(`[PE3] ${query} may ${divisible ? "" : "not "}be cut into spans`, () => {
    const plan = planQuery(parseExpr(query), rangeQuery, defaultEngineOptions);
    assert.equal(plan.divisible, divisible);
  });
}

test("[PE8] durations may depend on the query's step and range", () => {
  assert.equal(leavesOf("rate(x[step() * 5])")[0]?.rangeMs, 300_000);
  assert.equal(leavesOf("rate(x[range()])")[0]?.rangeMs, hour);
  assert.equal(leavesOf("x offset -step()")[0]?.offsetMs, -60_000);
});

test("[PE8] an instant query has no step", () => {
  assert.throws(() => leavesOf("rate(x[step()])", instantQuery), /duration must be greater than 0/);
});

test("[PE9] push-down may be switched off: every leaf is raw", () => {
  const query = "sum(rate(x[5m])) + topk(1, y) + absent(z) + max_over_time(v[5m:1m])";
  const leaves = leavesOf(query, rangeQuery, { pushdown: "raw" });
  assert.deepEqual([...new Set(leaves.map(({ output }) => output.kind))], ["raw"]);
});

test("[PE10] names that go before grouping are not aggregated away next to the data", () => {
  const options = { delayedNameRemoval: false };
  const kinds = (query: string) =>
    leavesOf(query, rangeQuery, options).map(({ output }) => output.kind);
  assert.deepEqual(kinds("sum(rate(x[5m]))"), ["partials"]);
  assert.deepEqual(kinds('sum(rate({__name__=~"x|y"}[5m]))'), ["steps"]);
  assert.deepEqual(kinds("sum by (__name__) (rate(x[5m]))"), ["steps"]);
  assert.deepEqual(kinds("sum without (i) (rate(x[5m]))"), ["steps"]);
  assert.deepEqual(kinds("sum without (i) (x)"), ["partials"]);
});

test("[PE11] only count and sum of histograms are read where nothing else is needed", () => {
  const stats = (query: string) => leavesOf(query).map(({ histogramStats }) => histogramStats);
  assert.deepEqual(stats("histogram_count(sum(rate(h[5m])))"), [true]);
  assert.deepEqual(stats("histogram_quantile(0.9, rate(h[5m]))"), [undefined]);
  assert.deepEqual(stats("histogram_sum(rate(h[5m:1m]))"), [undefined]);
  assert.deepEqual(stats("histogram_sum(h </ 5)"), [undefined]);
});

const refusals: readonly [query: string, params: QueryParams, error: RegExp, stage: string][] = [
  ["x[5m]", rangeQuery, /invalid expression type "range vector" for range query/, "parse"],
  ['"text"', rangeQuery, /invalid expression type "string" for range query/, "parse"],
  [
    "max_over_time(x[100y:1ms])",
    rangeQuery,
    /a subquery has \d+ steps; at most 10000000 are/,
    "execution",
  ],
  [
    "sum_over_time(x[5m] anchored)",
    rangeQuery,
    /anchored modifier can only be used with: .* - not with sum_over_time/,
    "execution",
  ],
];
for (const [query, params, message, stage] of refusals) {
  test(`[PE12] ${query} is refused`, () => {
    assert.throws(
      () => leavesOf(query, params),
      (error) =>
        error instanceof PromqlError && error.stage === stage && message.test(error.message),
    );
  });
}

test("[PE30] subqueries are counted, those within others too, and refused by the limit's name", () => {
  const nested = (depth: number, range: string): string =>
    depth === 0 ? "x" : `max_over_time((${nested(depth - 1, range)})[${range}])`;
  const steps = (stepsMax: number) => ({ stepsMax });
  const refused = { stage: "execution", message: /the limit query_steps is / };
  leavesOf(nested(200, "5m:1m"), instantQuery, steps(10_000_000));
  leavesOf("max_over_time(x[1d:1m])", rangeQuery, steps(10_000_000));
  for (const [query, most] of [
    [nested(200, "1h:1s"), 1_000_000_000],
    [nested(20, "1h:1s"), 100_000_000],
    ["max_over_time(x[1d:1s])", 5_000_000],
    ["max_over_time(x[1d:1s]) + max_over_time(y[1d:1s])", 6_000_000],
  ] as const) {
    assert.throws(() => leavesOf(query, rangeQuery, steps(most)), refused, query.slice(0, 60));
  }
  // The whole query counts, however it is cut.
  const span = { ...grid, endMs: grid.startMs };
  const params = { ...rangeQuery, span };
  assert.throws(() => leavesOf("max_over_time(x[1d:1s])", params, steps(5_000_000)), refused);
});

test("[PE30] matchers of all selectors are counted", () => {
  const query = Array.from({ length: 40 }, (_, n) => `x{a="${n}", b="c"}`).join(" or ");
  leavesOf(query, rangeQuery, { matchersMax: 120 });
  const most = { matchersMax: 119 };
  const message = /has 120 matchers; the limit matchers_per_request is 119/;
  assert.throws(() => leavesOf(query, rangeQuery, most), { stage: "execution", message });
});
