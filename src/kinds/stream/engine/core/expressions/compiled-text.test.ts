import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import { DialectError, type Expr, type FunctionName } from "../../../language/core/index.ts";
import { shapeCount } from "../compile-shape.ts";
import { compileProjection } from "./compile-projection.ts";
import { generate } from "./generate.ts";
import { factoryText, loopText } from "./link.ts";
import { Source } from "./source.ts";
import { batchOf, rowsOf } from "./testing/plain-batch.ts";
import { randomExpr } from "./testing/random-expr.ts";

const int = { name: "INT64", nullable: true } as const;
const bool = { name: "BOOLEAN", nullable: true } as const;
const column = (index: number): Expr => ({ kind: "column", index, type: int });
const literal = (value: string): Expr => ({ kind: "literal", value, type: int });
const call = (fn: FunctionName, ...args: readonly Expr[]): Expr => ({
  kind: "call",
  fn,
  args,
  type: int,
});
const schema = [
  { name: "a", type: int },
  { name: "b", type: int },
];

function errorOf(expr: Expr, a: bigint | null, b: bigint | null): number | undefined {
  try {
    rowsOf(compileProjection([expr], schema)(batchOf(schema, [[a, b]])));
    return undefined;
  } catch (error) {
    if (error instanceof DialectError) return error.number;
    throw error;
  }
}

test("[SX103] errors of arithmetic, only where the value is needed", () => {
  const quotient = call("divide", column(0), column(1));
  assert.equal(errorOf(quotient, 1n, 0n), 3013);
  assert.equal(errorOf(call("modulo", column(0), column(1)), 1n, 0n), 3013);
  assert.equal(errorOf(quotient, null, 0n), undefined);
  assert.equal(errorOf(quotient, -(2n ** 63n), -1n), undefined);
  assert.equal(errorOf(call("abs", column(0)), -(2n ** 63n), 0n), 3013);
  const isZero: Expr = { ...call("equal", column(1), literal("0")), type: bool } as Expr;
  const guarded: Expr = {
    kind: "case",
    // biome-ignore lint/suspicious/noThenProperty: the plan's own name, and nobody awaits it
    branches: [{ when: isZero, then: literal("0") }],
    otherwise: quotient,
    type: int,
  };
  assert.equal(errorOf(guarded, 1n, 0n), undefined);
  const compared: Expr = { ...call("greater", quotient, literal("1")), type: bool } as Expr;
  const settled: Expr = { kind: "call", fn: "or", args: [isZero, compared], type: bool };
  assert.equal(errorOf(settled, 1n, 0n), undefined);
});

test("[SX104] expressions that differ in columns and constants share one text", () => {
  const batch = batchOf(schema, [[1n, 2n]]);
  const run = (index: number, constant: string) =>
    rowsOf(compileProjection([call("add", column(index), literal(constant))], schema)(batch));
  assert.deepEqual(run(0, "5"), [[6n]]);
  const before = shapeCount();
  assert.deepEqual(run(1, "-77"), [[-75n]]);
  assert.equal(shapeCount(), before);
});

test("[SX104] no literal gets into the compiled text", () => {
  const allowed = /^[\w\s"(){}[\];:,.<>=!&|^~?%*/+-]*$/;
  for (let seed = 0; seed < 400; seed += 1) {
    const prng = createPrng(`text ${seed}`);
    const expr = poison(randomExpr(prng, "VARSIZED", 4));
    const source = new Source({ selected: false, hasNulls: () => true });
    generate(source, expr);
    const text = factoryText(source, loopText(source, []));
    assert.doesNotMatch(text, /poison|1234567891/);
    assert.match(text, allowed);
  }
});

/** Puts what would break out of source text in the place of every constant. */
function poison(expr: Expr): Expr {
  switch (expr.kind) {
    case "column":
      return expr;
    case "literal":
      if (expr.value === null || expr.type.name === "BOOLEAN") return expr;
      if (expr.type.name === "VARSIZED") return { ...expr, value: "';`\"poison\n*/" };
      return expr.type.name === "CHAR" ? expr : { ...expr, value: "1234567891" };
    case "cast":
      return { ...expr, arg: poison(expr.arg) };
    case "call":
      return { ...expr, args: expr.args.map(poison) };
    case "case":
      return {
        ...expr,
        branches: expr.branches.map(({ when, then }) => ({
          when: poison(when),
          // biome-ignore lint/suspicious/noThenProperty: the plan's own name, and nobody awaits it
          then: poison(then),
        })),
        otherwise: expr.otherwise === undefined ? undefined : poison(expr.otherwise),
      };
  }
}
