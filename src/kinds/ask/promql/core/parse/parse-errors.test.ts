import assert from "node:assert/strict";
import { test } from "node:test";
import { PromqlError } from "../engine-types.ts";
import { parseExpr, parseMatchers } from "./parse-expr.ts";
import { syntaxErrors, typeErrors } from "./testing/invalid-expressions.ts";

function messageOf(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    assert.ok(error instanceof PromqlError, String(error));
    assert.equal(error.stage, "parse");
    return error.message;
  }
  return "no error";
}

for (const [text, message] of syntaxErrors) {
  test(`[PQ11] ${JSON.stringify(text)} is refused with Prometheus's message and position`, () => {
    assert.equal(
      messageOf(() => parseExpr(text)),
      message,
    );
  });
}

for (const [text, message] of typeErrors) {
  test(`[PQ12] ${JSON.stringify(text)} has a type that does not fit`, () => {
    assert.equal(
      messageOf(() => parseExpr(text)),
      message,
    );
  });
}

test("[PQ12] an error in syntax comes before one in types, wherever they stand", () => {
  assert.equal(
    messageOf(() => parseExpr("sum(1) + foo bar")),
    '1:14: parse error: unexpected identifier "bar"',
  );
});

test("[PQ11] positions are UTF-8 bytes, from 0, the end excluded", () => {
  const text = '{"é"="😀"} + $';
  assert.throws(
    () => parseExpr(text),
    (error: PromqlError) => error.position?.start === 16 && error.position.end === 17,
  );
});

const selectorErrors: typeof syntaxErrors = [
  ["foo[5m]", '1:4: parse error: unexpected "["'],
  ["1", '1:1: parse error: unexpected number "1"'],
  ["", "unknown position: parse error: unexpected end of input"],
  ["foo + bar", "1:5: parse error: unexpected <op:+>"],
];
for (const [text, message] of selectorErrors) {
  test(`[PQ6] ${JSON.stringify(text)} is no selector`, () => {
    assert.equal(
      messageOf(() => parseMatchers(text)),
      message,
    );
  });
}

const tooDeep: readonly (readonly [name: string, text: string])[] = [
  ["parentheses", "(".repeat(100_000)],
  ["signs", `${"-".repeat(100_000)}1`],
  ["calls", "abs(".repeat(100_000)],
  ["a chain to the left", `1${"+1".repeat(100_000)}`],
  ["a chain to the right", `1${"^1".repeat(100_000)}`],
  ["subqueries", `foo${"[1m:]".repeat(100_000)}`],
  ["chains in parentheses", `${"(".repeat(500)}1${`${"+1".repeat(500)})`.repeat(500)}`],
  ["a chain of durations", `foo[1${"+1".repeat(100_000)}]`],
  ["durations in parentheses", `foo[${"(".repeat(100_000)}`],
  ["signs of an offset", `foo offset ${"-".repeat(100_000)}`],
  [
    "chains of durations in parentheses",
    `foo[${"(".repeat(500)}1${`${"+1".repeat(500)})`.repeat(500)}]`,
  ],
];
for (const [name, text] of tooDeep) {
  test(`[PQ13] ${name} deeper than 1000 levels are refused`, () => {
    const wanted = /^1:\d+: parse error: expression is nested more than 1000 levels deep$/;
    assert.match(
      messageOf(() => parseExpr(text)),
      wanted,
    );
  });
}

test("[PQ13] a query of more than 1 MiB is refused, in bytes", () => {
  const message = "1:1: parse error: the query is longer than 1048576 bytes";
  assert.equal(
    messageOf(() => parseExpr("a".repeat((1 << 20) + 1))),
    message,
  );
  assert.equal(
    messageOf(() => parseExpr(`"${"é".repeat(600_000)}"`)),
    message,
  );
  assert.equal(parseExpr("a".repeat(1 << 20)).kind, "vectorSelector");
});
