import assert from "node:assert/strict";
import { test } from "node:test";
import { assignColumnIds, duckdbTypeOf, fieldTree, flattenField } from "./column-types.ts";

const cases: readonly [words: string, type: string, back: string][] = [
  ["BIGINT", "int64", "BIGINT"],
  ["int", "int32", "INTEGER"],
  ["decimal(10, 2)", "decimal(10,2)", "DECIMAL(10,2)"],
  ["NUMERIC", "decimal(18,3)", "DECIMAL(18,3)"],
  ["decimal(5)", "decimal(5,0)", "DECIMAL(5,0)"],
  ["timestamp with time zone", "timestamptz", "TIMESTAMP WITH TIME ZONE"],
  ["TIMESTAMPTZ", "timestamptz", "TIMESTAMP WITH TIME ZONE"],
  ["varchar(20)", "varchar", "VARCHAR"],
  ["VARCHAR[][]", "list", "VARCHAR[][]"],
  ["MAP(VARCHAR, INTEGER[])", "map", "MAP(VARCHAR, INTEGER[])"],
  ['STRUCT(a INT, "b ""c" VARCHAR)', "struct", 'STRUCT(a INTEGER, "b ""c" VARCHAR)'],
];
for (const [words, type, back] of cases) {
  test(`[LK12] ${words} is ${type}`, () => {
    const field = fieldTree("x", words, 1);
    assert.equal(field.type, type);
    assert.equal(duckdbTypeOf(field), back);
    assert.equal(duckdbTypeOf(fieldTree("x", back, 1)), back);
  });
}

test("[LK12] ids go depth first", () => {
  const field = fieldTree("x", "STRUCT(a INTEGER[], b MAP(VARCHAR, DATE))", 5);
  assert.deepEqual(
    flattenField(field).map(({ columnId, parentId, name }) => [columnId, parentId, name]),
    [
      [5, undefined, "x"],
      [6, 5, "a"],
      [7, 6, "element"],
      [8, 5, "b"],
      [9, 8, "key"],
      [10, 8, "value"],
    ],
  );
  const types = ["INTEGER[]", "DATE", "DATE"].map((type) => ({ type }));
  assert.deepEqual(assignColumnIds(types), [1, 3, 4]);
});

for (const words of [
  "ENUM('a')",
  "INTEGER[3]",
  "UNION(a INT)",
  "BIT",
  "",
  "INT INT",
  "STRUCT()",
  "DECIMAL(39,0)",
  "MAP(INT)",
]) {
  test(`[LK12] ${words} is not a type of the lake's`, () => {
    assert.throws(() => fieldTree("x", words, 1), { code: "unsupported" });
  });
}
