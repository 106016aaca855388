import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseExpr } from "../parse/parse-expr.ts";
import { randomExpressions } from "../parse/testing/random-expression.ts";
import { formatExpr } from "./format-expr.ts";
import { printExpr } from "./print-expr.ts";

const long = (letter: string): string => letter.repeat(55);

/** The answers of Prometheus's `format_query`. */
const cases: readonly (readonly [name: string, text: string, lines: readonly string[]])[] = [
  ["what fits stays on its line", "sum (foo)  by(a)", ["sum by (a) (foo)"]],
  [
    "operators stand between their sides, one level out",
    'sum by (job, instance) (rate(http_requests_total{job="api",code!="500"}[5m] offset 1h)) / on (job) group_left sum by (job) (rate(http_requests_total[5m])) > bool 0.5',
    [
      '    sum by (job, instance) (rate(http_requests_total{code!="500",job="api"}[5m] offset 1h))',
      "  / on (job) group_left ()",
      "    sum by (job) (rate(http_requests_total[5m]))",
      "> bool",
      "  0.5",
    ],
  ],
  [
    "arguments stand one per line",
    `label_replace(${long("a")}, "destination", "$1", "source", "a rather (.*) expression")`,
    [
      "label_replace(",
      `  ${long("a")},`,
      '  "destination",',
      '  "$1",',
      '  "source",',
      '  "a rather (.*) expression"',
      ")",
    ],
  ],
  [
    "a sign stays with its parenthesis",
    `-(${long("a")} + ${long("b")})`,
    ["-(", `    ${long("a")}`, "  +", `    ${long("b")}`, ")"],
  ],
  [
    "a subquery's range stands behind the closing parenthesis",
    `max_over_time((${long("a")} + ${long("b")})[5m:1m] offset 3m)`,
    [
      "max_over_time(",
      "  (",
      `      ${long("a")}`,
      "    +",
      `      ${long("b")}`,
      "  )[5m:1m] offset 3m",
      ")",
    ],
  ],
  [
    "a parameter stands before the aggregated, and bytes count",
    `quantile(0.5, {a="${"é".repeat(48)}"})`,
    ["quantile(", "  0.5,", `  {a="${"é".repeat(48)}"}`, ")"],
  ],
];
for (const [name, text, lines] of cases) {
  test(`[PQ16] ${name}`, () => {
    assert.equal(formatExpr(parseExpr(text)), lines.join("\n"));
  });
}

test("[PQ16] a formatted expression means what it did", () => {
  fc.assert(
    fc.property(randomExpressions.vector, (text) => {
      const expr = parseExpr(text);
      assert.equal(printExpr(parseExpr(formatExpr(expr))), printExpr(expr));
    }),
    { numRuns: 300 },
  );
});

test("[PQ30] formatting takes the time of its answer, whose length is bounded", () => {
  const nested = (depth: number) =>
    `${"label_replace(".repeat(depth)}x${',"a","yyyyyyyyyy","a","(.*)")'.repeat(depth)}`;
  const text = formatExpr(parseExpr(nested(600)));
  assert.ok(text.length > 2_000_000, `${text.length}`);
  assert.throws(() => formatExpr(parseExpr(nested(900))), /longer than 4194304 characters/);
});
