import assert from "node:assert/strict";
import { test } from "node:test";
import { notNull, type Schema, type TypeName } from "../../../language/core/index.ts";
import { parseGeneratorSchema } from "./generator-schema.ts";
import { type GeneratorStop, RowGenerator } from "./row-generator.ts";

function recordOf(...types: TypeName[]): Schema {
  return types.map((type, index) => ({ name: `c${index}`, type: notNull(type) }));
}

function rowsOf(text: string, record: Schema, stop: GeneratorStop, rows = 100, seed = 1): string[] {
  const generators = parseGeneratorSchema(text, record);
  const columns = record.map((_, index) => index);
  const generator = new RowGenerator({ record, columns, generators, seed, stop }, 4);
  const made: string[] = [];
  while (made.length < rows) {
    const batch = generator.make(made.length, rows - made.length);
    if (batch === undefined) break;
    for (let row = 0; row < batch.rowCount; row += 1) {
      made.push(
        batch.columns
          .map((column) => (column.kind === "fixed" ? column.values[row] : ""))
          .join(" "),
      );
    }
  }
  return made;
}

test("[SG10] a sequence that has finished repeats its last value until all have", () => {
  const record = recordOf("UINT64", "INT32");
  const text = "SEQUENCE UINT64 0 6 2, SEQUENCE INT32 -1 9 5";
  assert.deepEqual(rowsOf(text, record, "ALL"), ["0 -1", "2 4", "4 9"]);
  const longer = "SEQUENCE UINT64 0 5 1, SEQUENCE INT32 0 2 1";
  assert.deepEqual(rowsOf(longer, record, "ALL"), ["0 0", "1 1", "2 2", "3 2", "4 2"]);
  assert.deepEqual(rowsOf(longer, record, "ONE"), ["0 0", "1 1"]);
  assert.equal(rowsOf(longer, record, "NONE", 9).at(-1), "5 2");
});

test("[SG10] the greatest numbers are exact", () => {
  const rows = rowsOf(
    "SEQUENCE UINT64 18446744073709551613 18446744073709551615 1",
    recordOf("UINT64"),
    "ALL",
  );
  assert.deepEqual(rows, ["18446744073709551613", "18446744073709551614"]);
});

test("[SG11] the same seed makes the same rows, from any row on", () => {
  const record = recordOf("FLOAT64", "INT64");
  const text = "RANDOM FLOAT64 10 20, NORMAL_DISTRIBUTION INT64 1000 10";
  const rows = rowsOf(text, record, "NONE", 50);
  assert.deepEqual(rowsOf(text, record, "NONE", 50), rows);
  assert.notDeepEqual(rowsOf(text, record, "NONE", 50, 2), rows);
  const generators = parseGeneratorSchema(text, record);
  const again = new RowGenerator(
    { record, columns: [1, 0], generators, seed: 1, stop: "NONE" },
    8,
  ).make(33, 1);
  const [second, first] = again?.columns ?? [];
  assert.equal(first?.kind === "fixed" && second?.kind === "fixed", true);
  if (first?.kind !== "fixed" || second?.kind !== "fixed") return;
  assert.equal(`${first.values[0]} ${second.values[0]}`, rows[33]);
  const numbers = rows.map((row) => row.split(" ").map(Number));
  assert.ok(numbers.every(([uniform = 0]) => uniform >= 10 && uniform < 20));
  const mean = numbers.reduce((sum, [, normal = 0]) => sum + normal, 0) / numbers.length;
  assert.ok(Math.abs(mean - 1000) < 10, `the mean is ${mean}`);
});

for (const [text, message] of [
  ["SEQUENCE UINT64 0 5 1", /has 1 columns, and the source has 2/],
  ["SEQUENCE UINT64 0 5 1, COUNTER UINT64 1", /has "COUNTER"/],
  ["SEQUENCE UINT64 0 5 1, SEQUENCE UINT64 0 5 0", /a step greater than 0/],
  ["SEQUENCE UINT64 0 5 1, SEQUENCE INT8 0 5 1", /makes INT8 .* and the field is UINT64/],
  ["SEQUENCE UINT64 0 5 1, SEQUENCE UINT64 a 5 1", /has "a" where a number belongs/],
  ["SEQUENCE UINT64 0 5 1, RANDOM UINT64 1", /wants 2 numbers/],
] as const) {
  test(`[SG12] ${text} is refused`, () => {
    assert.throws(() => parseGeneratorSchema(text, recordOf("UINT64", "UINT64")), message);
  });
}
