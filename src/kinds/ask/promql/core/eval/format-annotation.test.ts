import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAnnotation } from "./format-annotation.ts";

const cases: readonly [query: string, start: number, want: string][] = [
  ["sum(x)", 4, "PromQL info: m (1:5)"],
  ["sum(\n  x)", 7, "PromQL info: m (2:3)"],
  ['{"ü"} + x', 9, "PromQL info: m (1:10)"],
  ["", 0, "PromQL info: m (unknown position)"],
  ["x", 9, "PromQL info: m (invalid position)"],
];
for (const [query, start, want] of cases) {
  test(`[PE27] an annotation at byte ${start} of ${JSON.stringify(query)}`, () => {
    const position = { start, end: start + 1 };
    assert.equal(formatAnnotation(query, { level: "info", message: "m", position }), want);
  });
}
