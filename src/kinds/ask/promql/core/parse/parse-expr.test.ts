import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Binary, Expr, VectorSelector } from "../ast.ts";
import { printExpr } from "../print/print-expr.ts";
import { parseExpr, parseMatchers } from "./parse-expr.ts";
import { randomExpressions } from "./testing/random-expression.ts";
import { validExpressions } from "./testing/valid-expressions.ts";
import { typeOf } from "./type-of.ts";

for (const [text, printed = text] of validExpressions) {
  test(`[PQ1] ${JSON.stringify(text)} is accepted and means ${printed}`, () => {
    assert.equal(printExpr(parseExpr(text)), printed);
  });
}

/** Prints every operation in parentheses, to show precedence. */
function shape(expr: Expr): string {
  switch (expr.kind) {
    case "binary":
      return `(${shape(expr.left)} ${expr.op} ${shape(expr.right)})`;
    case "unary":
      return `(${expr.op}${shape(expr.expr)})`;
    case "paren":
      return shape(expr.expr);
    default:
      return printExpr(expr);
  }
}

const precedences = [
  ["a or b and c unless d", "(a or ((b and c) unless d))"],
  ["a == b + c", "(a == (b + c))"],
  ["a > b < c", "((a > b) < c)"],
  ["a </ b + c >/ d", "((a </ (b + c)) >/ d)"],
  ["a + b * c ^ d", "(a + (b * (c ^ d)))"],
  ["a - b - c", "((a - b) - c)"],
  ["a / b atan2 c % d", "(((a / b) atan2 c) % d)"],
  ["a ^ b ^ c", "(a ^ (b ^ c))"],
  ["-a ^ b", "(-(a ^ b))"],
  ["-a * b", "((-a) * b)"],
  ["a ^ -b * c", "((a ^ (-b)) * c)"],
  ["-1 ^ 2", "(-(1 ^ 2))"],
  ["-1 * 2", "(-1 * 2)"],
  ["a offset 5m ^ b", "(a offset 5m ^ b)"],
  ["-a offset 5m", "(-a offset 5m)"],
] as const;
for (const [text, wanted] of precedences) {
  test(`[PQ2] ${text} is ${wanted}`, () => {
    assert.equal(shape(parseExpr(text)), wanted);
  });
}

test("[PQ3] a keyword is a metric's name where an expression begins, and a label's in a list", () => {
  const expr = parseExpr("sum by (by, offset) (offset offset 5m)");
  assert.equal(expr.kind, "aggregate");
  assert.deepEqual(expr.grouping, ["by", "offset"]);
  assert.equal((expr.expr as VectorSelector).name, "offset");
});

test("[PQ3] fill is a modifier only before a parenthesis", () => {
  const modifier = parseExpr("foo + fill (1) bar") as Binary;
  assert.equal(modifier.matching?.fillLeft, 1);
  const metric = parseExpr("foo + fill") as Binary;
  assert.equal((metric.right as VectorSelector).name, "fill");
});

test("[PQ4] bytes of escapes make characters together; those that make none are kept apart", () => {
  assert.deepEqual(stringOf('"\\xe2\\x82\\xac\\303\\251"'), "€é");
  const broken = stringOf('"a\\xe2\\x82z"');
  assert.equal(broken.isWellFormed(), false);
  assert.equal(printExpr(parseExpr('"a\\xe2\\x82z"')), '"a\\xe2\\x82z"');
});

function stringOf(text: string): string {
  const expr = parseExpr(text);
  assert.equal(expr.kind, "string");
  return expr.value;
}

const numbers = [
  ["0x_1F", 31],
  ["0X1f", 31],
  ["0x7fffffffffffffff", 2 ** 63],
  ["9223372036854775808", 2 ** 63],
  ["0777", 511],
  ["0_7", 7],
  ["089", 89],
  ["1_0.0_1e1_0", 10.01e10],
  ["1e-400", 0],
  ["1y1w1d1h1m1s1ms", 32_230_861.001],
  ["0s", 0],
] as const;
for (const [text, value] of numbers) {
  test(`[PQ5] ${text} is ${value}`, () => {
    const expr = parseExpr(text);
    assert.equal(expr.kind, "number");
    assert.equal(expr.value, value);
  });
}

test("[PQ6] the matchers of a selector, the name last", () => {
  assert.deepEqual(parseMatchers('foo{a!="1", "b.c"=~`2`}'), [
    { name: "a", op: "!=", value: "1" },
    { name: "b.c", op: "=~", value: "2" },
    { name: "__name__", op: "=", value: "foo" },
  ]);
  assert.deepEqual(parseMatchers('{"foo bar"}'), [{ name: "__name__", op: "=", value: "foo bar" }]);
  assert.deepEqual(parseMatchers("{}"), []);
});

test("[PQ7] modifiers become part of the selector, in any order", () => {
  const expr = parseExpr("foo[5m] @ 1.0005 smoothed offset -1m");
  assert.equal(expr.kind, "matrixSelector");
  assert.equal(expr.vector.bounds, "smoothed");
  assert.deepEqual(expr.vector.at, { kind: "at", ms: 1001 });
  assert.equal(expr.vector.offset?.kind, "duration");
  assert.equal(expr.vector.offset.ms, -60_000);
  assert.deepEqual(expr.position, { start: 0, end: 36 });
  assert.deepEqual(expr.vector.position, { start: 0, end: 3 });
});

test("[PQ9] matching is there between vectors only, and many-to-many for sets", () => {
  const matchingOf = (text: string): Binary["matching"] => (parseExpr(text) as Binary).matching;
  assert.equal(matchingOf("foo + 1"), undefined);
  assert.equal(matchingOf("1 + 1"), undefined);
  assert.equal(matchingOf("foo + bar")?.card, "one-to-one");
  assert.equal(matchingOf("foo and on (a) bar")?.card, "many-to-many");
  assert.deepEqual(matchingOf("foo + on (a) group_right (b) fill_left (5m) bar"), {
    card: "one-to-many",
    labels: ["a"],
    on: true,
    include: ["b"],
    fillLeft: 300,
    fillRight: undefined,
  });
});

test("[PQ10] a grouping stands before or behind, and an empty one counts as written", () => {
  const before = parseExpr("sum by (a) (foo)");
  const behind = parseExpr("sum (foo) by (a)");
  assert.equal(printExpr(before), printExpr(behind));
  const empty = parseExpr("sum by () (foo)");
  assert.equal(empty.kind, "aggregate");
  assert.equal(empty.grouped, true);
  const none = parseExpr("topk(3, foo)");
  assert.equal(none.kind, "aggregate");
  assert.equal(none.grouped, false);
  assert.equal(none.param?.kind, "number");
});

test("[PQ11] every node knows its place", () => {
  const expr = parseExpr('  sum(  foo{a="é"} ) by (b) + 1') as Binary;
  assert.deepEqual(expr.position, { start: 2, end: 32 });
  assert.deepEqual(expr.left.position, { start: 2, end: 28 });
  assert.equal(expr.left.kind, "aggregate");
  assert.deepEqual(expr.left.expr.position, { start: 8, end: 19 });
});

test("[PQ15] what is printed of a random expression parses to what prints the same", () => {
  fc.assert(
    fc.property(randomExpressions.vector, (text) => {
      const expr = parseExpr(text);
      const printed = printExpr(expr);
      const again = parseExpr(printed);
      assert.equal(printExpr(again), printed);
      assert.equal(typeOf(again), typeOf(expr));
    }),
    { numRuns: 500 },
  );
});

test("[PQ11] any text is parsed or refused, and nothing else happens", () => {
  const pieces = fc.constantFrom(
    ...["foo", "(", ")", "[", "]", "{", "}", ",", "+", "-", "^", "5m", "1", "by", "on", "sum"],
    ...["offset", "@", "start", "step", "bool", "=", "==", "=~", '"s"', "'", "rate", "fill", ":"],
    ...["anchored", "and", "#", "max_of", "<", ">/", "!", "é", "\n", " ", "\\", "`", "😀", "0x"],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      try {
        parseExpr(parts.join(" "));
      } catch (error) {
        assert.equal((error as Error).name, "PromqlError");
      }
    }),
    { numRuns: 3000 },
  );
});
