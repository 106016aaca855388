/**
 * The npm grammar of the editor and our parser accept the same texts. The grammar recovers from
 * errors: an error node means that it refuses. It checks neither types nor values.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parser } from "@prometheus-io/lezer-promql";
import fc from "fast-check";
import { parseExpr } from "./parse-expr.ts";
import { syntaxErrors, typeErrors } from "./testing/invalid-expressions.ts";
import { randomExpressions } from "./testing/random-expression.ts";
import { validExpressions } from "./testing/valid-expressions.ts";

function doesNpmAccept(text: string): boolean {
  let isAccepted = true;
  parser.parse(text).iterate({
    enter: ({ type }) => {
      if (type.isError) isAccepted = false;
    },
  });
  return isAccepted;
}

/** Prometheus's grammar and ours accept these; the npm grammar has no rule for them. */
const refusedByNpm: ReadonlySet<string> = new Set([
  "offset",
  'sum by (by, on, sum, bool, start, a:b, "x.y") (sum)',
  "max_of(1, min_of(2, 3))",
  "max_of(1)",
]);

for (const [text] of validExpressions) {
  test(`[PQ29] the npm grammar and we accept ${JSON.stringify(text)}`, () => {
    assert.equal(doesNpmAccept(text), !refusedByNpm.has(text));
  });
}

/** Errors of the grammar, as opposed to those of values, modifiers and types. */
const grammatical =
  /: (unexpected |unclosed |no expression|trailing comma|bad number|unknown function|not a valid duration|unterminated raw|.*invalid syntax)/;

/** For Prometheus the trailing e is an exponent without digits. */
const acceptedByNpm: ReadonlySet<string> = new Set(["0x1e"]);

for (const [text, message] of [...syntaxErrors, ...typeErrors]) {
  const isGrammatical =
    refusedByNpm.has(text) || (grammatical.test(message) && !acceptedByNpm.has(text));
  const verb = isGrammatical ? "refuses" : "accepts";
  test(`[PQ29] the npm grammar ${verb} ${JSON.stringify(text)}: ${message}`, () => {
    assert.equal(doesNpmAccept(text), !isGrammatical);
  });
}

test("[PQ29] the npm grammar accepts random expressions that we accept", () => {
  fc.assert(
    fc.property(randomExpressions.vector, (text) => {
      parseExpr(text);
      assert.equal(doesNpmAccept(text), true);
    }),
    { numRuns: 300 },
  );
});
