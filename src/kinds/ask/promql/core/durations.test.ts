import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatDuration, parseDuration, resolveDuration } from "./durations.ts";
import type { PromqlError } from "./engine-types.ts";
import { parseExpr } from "./parse/parse-expr.ts";

const durations = [
  ["0s", 0],
  ["1ms", 1],
  ["1m30s", 90_000],
  ["1w", 7 * 86_400_000],
  ["8d", 8 * 86_400_000],
  ["1y", 365 * 86_400_000],
  ["366d", 366 * 86_400_000],
  ["-5m", -300_000],
] as const;
for (const [text, ms] of durations) {
  test(`[PQ19] ${ms} ms is ${text}`, () => {
    assert.equal(formatDuration(ms), text);
    assert.equal(ms < 0 || parseDuration(text) === ms, true);
  });
}

const wrong = [
  ["", "empty duration string"],
  ["5", 'not a valid duration string: "5"'],
  ["m", 'not a valid duration string: "m"'],
  ["1m1h", 'not a valid duration string: "1m1h"'],
  ["1m1m", 'not a valid duration string: "1m1m"'],
  ["5x", 'unknown unit "x" in duration "5x"'],
  ["-5m", 'not a valid duration string: "-5m"'],
  ["300y", "duration out of range"],
  ["99999999999999999999s", 'not a valid duration string: "99999999999999999999s"'],
] as const;
for (const [text, message] of wrong) {
  test(`[PQ19] "${text}" is no duration: ${message}`, () => {
    assert.throws(
      () => parseDuration(text),
      (error: PromqlError) => error.message === message && error.stage === "parse",
    );
  });
}

test("[PQ19] what is formatted is parsed to the same", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9_000_000_000_000 }), (ms) => {
      assert.equal(parseDuration(formatDuration(ms)), ms);
    }),
  );
});

const context = { stepMs: 15_000, rangeMs: 3_600_000 };
const windows = [
  ["5m", 300_000],
  ["5m * 2", 600_000],
  ["(5m + 30) * 2", 660_000],
  ["step()", 15_000],
  ["range() / 7", 514_285],
  ["max_of(step(), 1m)", 60_000],
  ["min_of(step(), 1m) * 2 ^ 3", 120_000],
  ["1h % 7m", 240_000],
  ["2 ^ 3 ^ 2", 512_000],
  ["-(-step())", 15_000],
  ["1 ^ (1 / 3)", 1_000],
] as const;
for (const [text, ms] of windows) {
  test(`[PQ8] [${text}] is ${ms} ms at a step of 15s over an hour`, () => {
    const expr = parseExpr(`foo[${text}]`);
    assert.equal(expr.kind, "matrixSelector");
    assert.equal(resolveDuration(expr.range, context, "positive"), ms);
  });
}

const refused = [
  ["step() - 1h", "4:15: duration must be greater than 0"],
  ["step() * 0", "4:14: duration must be greater than 0"],
  ["1h / (step() - 15)", "4:21: division by zero"],
  ["1h % (step() - 15)", "4:21: modulo by zero"],
  ["9 ^ 9 ^ 9 * step()", "4:22: duration is NaN or infinite"],
  ["1y * 1000 * step()", "4:22: duration is out of range"],
] as const;
for (const [text, message] of refused) {
  test(`[PQ8] [${text}] is refused: ${message}`, () => {
    const expr = parseExpr(`foo[${text}]`);
    assert.equal(expr.kind, "matrixSelector");
    assert.throws(
      () => resolveDuration(expr.range, context, "positive"),
      (error: PromqlError) => error.message === message && error.stage === "parse",
    );
  });
}

test("[PQ8] an offset may be negative", () => {
  const expr = parseExpr("foo offset -(step() * 2)");
  assert.equal(expr.kind, "vectorSelector");
  assert.ok(expr.offset);
  assert.equal(resolveDuration(expr.offset, context), -30_000);
});
