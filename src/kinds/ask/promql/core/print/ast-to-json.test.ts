import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExpr } from "../parse/parse-expr.ts";
import { astToJson } from "./ast-to-json.ts";

const fooMatchers = [{ name: "__name__", value: "foo", type: "=" }];
const foo = {
  type: "vectorSelector",
  name: "foo",
  offset: 0,
  offsetExpr: null,
  matchers: fooMatchers,
  timestamp: null,
  startOrEnd: null,
  anchored: false,
  smoothed: false,
};

/** The JSON of Prometheus's `parse_query`. */
const cases: readonly (readonly [text: string, tree: unknown])[] = [
  ["1e3", { type: "numberLiteral", val: "1000" }],
  ['"a\\xff"', { type: "stringLiteral", val: "a\ufffd" }],
  ["foo", foo],
  ["foo @ 1.5 offset -5m", { ...foo, offset: -300_000, timestamp: 1500 }],
  ["foo @ end() smoothed", { ...foo, startOrEnd: "end", smoothed: true }],
  ["-foo", { type: "unaryExpr", op: "-", expr: foo }],
  ["(foo)", { type: "parenExpr", expr: foo }],
  [
    "foo[step() * -2m] anchored",
    {
      ...foo,
      type: "matrixSelector",
      anchored: true,
      range: 0,
      rangeExpr: {
        type: "durationExpr",
        op: "*",
        lhs: { type: "durationExpr", op: "step", lhs: null, rhs: null, wrapped: false },
        rhs: { type: "numberLiteral", val: "-120", duration: true },
        wrapped: false,
      },
    },
  ],
  [
    "foo[5m:1m] offset 1h",
    {
      type: "subquery",
      expr: foo,
      range: 300_000,
      rangeExpr: null,
      step: 60_000,
      stepExpr: null,
      offset: 3_600_000,
      offsetExpr: null,
      timestamp: null,
      startOrEnd: null,
    },
  ],
  [
    "round(foo, 5)",
    {
      type: "call",
      func: { name: "round", argTypes: ["vector", "scalar"], variadic: 1, returnType: "vector" },
      args: [foo, { type: "numberLiteral", val: "5" }],
    },
  ],
  [
    "topk by (a) (1, foo)",
    {
      type: "aggregation",
      op: "topk",
      expr: foo,
      param: { type: "numberLiteral", val: "1" },
      grouping: ["a"],
      without: false,
    },
  ],
  [
    "sum without () (foo)",
    { type: "aggregation", op: "sum", expr: foo, param: null, grouping: [], without: true },
  ],
  [
    "foo > bool on (a) group_left (b) fill_left (1) foo",
    {
      type: "binaryExpr",
      op: ">",
      lhs: foo,
      rhs: foo,
      matching: {
        card: "many-to-one",
        labels: ["a"],
        on: true,
        include: ["b"],
        fillValues: { lhs: 1, rhs: null },
      },
      bool: true,
    },
  ],
  [
    "foo + 1",
    {
      type: "binaryExpr",
      op: "+",
      lhs: foo,
      rhs: { type: "numberLiteral", val: "1" },
      matching: null,
      bool: false,
    },
  ],
];
for (const [text, tree] of cases) {
  test(`[PQ17] ${text} as a tree`, () => {
    assert.deepEqual(astToJson(parseExpr(text)), tree);
  });
}
