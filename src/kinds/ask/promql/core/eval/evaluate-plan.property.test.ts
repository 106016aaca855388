import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  defaultEngineOptions,
  type EngineOptions,
  PromqlError,
  type QueryParams,
  type QueryResult,
} from "../engine-types.ts";
import { histogramToText } from "../histogram/text.ts";
import type { Grid, RawSeries, StepSeries } from "../model.ts";
import { parseExpr } from "../parse/parse-expr.ts";
import { planQuery } from "../plan/plan-query.ts";
import { arbitraryQuery, arbitrarySeries } from "../testing/arbitrary-query.ts";
import { evaluateInMemory } from "../testing/evaluate-in-memory.ts";

const grid: Grid = { startMs: 60_000, endMs: 630_000, stepMs: 45_000 };
const whole: QueryParams = { instant: false, grid };

/** The values of an answer by labels and time, or its error. */
type Answer = ReadonlyMap<string, number | string> | { readonly error: string };

function answerOf(
  query: string,
  params: QueryParams,
  options: EngineOptions,
  series: readonly RawSeries[],
  shardCount: number,
): Answer {
  try {
    return pointsOf(evaluateInMemory(query, params, options, series, shardCount));
  } catch (error) {
    if (error instanceof PromqlError) return { error: error.message };
    throw error;
  }
}

function pointsOf(result: QueryResult): Map<string, number | string> {
  assert.equal(result.type, "vector");
  const points = new Map<string, number | string>();
  if (result.type !== "vector") return points;
  for (const series of result.series) addPoints(points, series, result.grid);
  return points;
}

function addPoints(points: Map<string, number | string>, series: StepSeries, at: Grid): void {
  series.kinds.forEach((kind, step) => {
    if (kind === 0) return;
    const key = `${series.labels.key} @ ${at.startMs + step * at.stepMs}`;
    const histogram = series.histograms?.[step];
    const isHistogram = kind === 2 && histogram !== undefined;
    points.set(key, isHistogram ? histogramToText(histogram) : (series.values[step] as number));
  });
}

function assertSame(got: Answer, want: Answer): void {
  if ("error" in got || "error" in want) {
    assert.deepEqual("error" in got, "error" in want, JSON.stringify([got, want]));
    return;
  }
  assert.deepEqual(new Set(got.keys()), new Set(want.keys()));
  for (const [key, value] of want) assertNear(got.get(key), value, key);
}

function assertNear(got: number | string | undefined, want: number | string, key: string): void {
  if (Object.is(got, want)) return;
  const near =
    typeof got === "number" &&
    typeof want === "number" &&
    Math.abs(got - want) <= 1e-12 * Math.max(Math.abs(got), Math.abs(want));
  assert.ok(near, `${key}: got ${got}, want ${want}`);
}

const runs = { numRuns: 400, seed: 20_261_115 };

test("[PE2] what shards computed and merged is what one place computes of the samples", () => {
  fc.assert(
    fc.property(arbitraryQuery, arbitrarySeries, fc.boolean(), (query, series, delayed) => {
      const options = { ...defaultEngineOptions, delayedNameRemoval: delayed };
      const want = answerOf(query, whole, { ...options, pushdown: "raw" }, series, 1);
      assertSame(answerOf(query, whole, options, series, 4), want);
    }),
    runs,
  );
});

test("[PE3] the spans of a query, one after the other, are the query", () => {
  const first: Grid = { ...grid, endMs: grid.startMs + 4 * grid.stepMs };
  const second: Grid = {
    ...grid,
    startMs: first.endMs + grid.stepMs,
    endMs: first.endMs + grid.stepMs,
  };
  const third: Grid = { ...grid, startMs: second.endMs + grid.stepMs };
  fc.assert(
    fc.property(arbitraryQuery, arbitrarySeries, (query, series) => {
      fc.pre(planQuery(parseExpr(query), whole, defaultEngineOptions).divisible);
      const parts = [first, second, third].map((span) =>
        answerOf(query, { ...whole, span }, defaultEngineOptions, series, 2),
      );
      const failed = parts.find((part) => "error" in part);
      const joined = failed ?? new Map(parts.flatMap((part) => ("error" in part ? [] : [...part])));
      assertSame(joined, answerOf(query, whole, defaultEngineOptions, series, 2));
    }),
    runs,
  );
});

test("[PE4] an instant query answers what a range query does at that step", () => {
  fc.assert(
    fc.property(arbitraryQuery, arbitrarySeries, fc.nat({ max: 12 }), (query, series, step) => {
      const atMs = grid.startMs + step * grid.stepMs;
      const at: Grid = { startMs: atMs, endMs: atMs, stepMs: 1 };
      const fixed = query.replaceAll("start()", "60");
      const instant = answerOf(fixed, { instant: true, grid: at }, defaultEngineOptions, series, 3);
      const all = answerOf(fixed, { ...whole, span: at }, defaultEngineOptions, series, 3);
      assertSame(instant, all);
    }),
    runs,
  );
});
