import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import { DialectError, type Expr, type TypeName } from "../../../language/core/index.ts";
import { compilePredicate } from "./compile-predicate.ts";
import { compileProjection } from "./compile-projection.ts";
import { evaluateNaively, type Plain } from "./testing/naive-expr.ts";
import { batchOf, rowsOf } from "./testing/plain-batch.ts";
import { randomExpr, randomRow, testSchema } from "./testing/random-expr.ts";

const types = testSchema.filter(({ type }) => !type.nullable).map(({ type }) => type.name);

/** The rows, or the number of the error that ended it. */
function outcome(run: () => Plain[][]): Plain[][] | number {
  try {
    return run();
  } catch (error) {
    if (error instanceof DialectError) return error.number;
    throw error;
  }
}

/** Tells apart what `deepEqual` would not show: -0 and 0 are equal here, NaN equals NaN. */
function normal(rows: Plain[][] | number): unknown {
  if (typeof rows === "number") return `error ${rows}`;
  return rows.map((row) => row.map((value) => (value === 0 ? 0 : value)));
}

test("[SX100] random expressions equal the row-by-row evaluator", () => {
  let errors = 0;
  for (let seed = 0; seed < 1_500; seed += 1) {
    const prng = createPrng(seed);
    const type = types[prng.below(types.length)] as TypeName;
    const expr = randomExpr(prng, type, 1 + prng.below(4));
    const rows = Array.from({ length: prng.below(40) }, () => randomRow(prng, testSchema));
    const selection =
      prng.below(2) === 0 ? undefined : rows.map((_, row) => row).filter(() => prng.below(2) === 0);
    const batch = batchOf(testSchema, rows, selection);
    const selected = selection === undefined ? rows : selection.map((row) => rows[row] ?? []);
    const project = compileProjection([expr], testSchema);
    const want = outcome(() => selected.map((row) => [evaluateNaively(expr, row)]));
    const got = outcome(() => rowsOf(project(batch)));
    if (typeof want === "number") errors += 1;
    assert.deepEqual(normal(got), normal(want), `seed ${seed}: ${JSON.stringify(expr)}`);
    // The buffers are used again: a second batch after the first gives the same.
    if (typeof want !== "number") assert.deepEqual(normal(rowsOf(project(batch))), normal(want));
  }
  assert.ok(errors > 10 && errors < 500, `${errors} of 1,500 expressions ended with an error`);
});

test("[SX101] a predicate keeps the rows where it is true, not those where it is NULL", () => {
  for (let seed = 0; seed < 700; seed += 1) {
    const prng = createPrng(`predicate ${seed}`);
    const expr = randomExpr(prng, "BOOLEAN", 1 + prng.below(4));
    const rows = Array.from({ length: prng.below(60) }, () => randomRow(prng, testSchema));
    const selection =
      prng.below(2) === 0 ? undefined : rows.map((_, row) => row).filter(() => prng.below(2) === 0);
    const batch = batchOf(testSchema, rows, selection);
    const numbers = selection ?? rows.map((_, row) => row);
    const want = outcome(() => [
      numbers
        .filter((row) => evaluateNaively(expr, rows[row] ?? []) === true)
        .map((row) => BigInt(row)),
    ]);
    const filter = compilePredicate(expr, testSchema);
    const got = outcome(() => {
      const kept = filter(batch);
      return [[...(kept.selection ?? numbers)].map((row) => BigInt(row))];
    });
    assert.deepEqual(got, want, `seed ${seed}: ${JSON.stringify(expr)}`);
  }
});

test("[SX102] a projection of columns passes them on, with the selection", () => {
  const rows = [1, 2, 3].map((n) => randomRow(createPrng(n), testSchema));
  const batch = batchOf(testSchema, rows, [0, 2]);
  const exprs = [4, 1, 4].map(
    (index): Expr => ({ kind: "column", index, type: { name: "INT8", nullable: true } }),
  );
  const projected = compileProjection(exprs, testSchema)(batch);
  assert.equal(projected.selection, batch.selection);
  assert.deepEqual(
    projected.columns.map((column) => batch.columns.indexOf(column)),
    [4, 1, 4],
  );
});
