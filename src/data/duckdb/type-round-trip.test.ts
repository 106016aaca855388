import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rowsOf, startTestEngine, type TestEngine } from "./testing/test-engine.ts";

let bench: TestEngine;
before(async () => {
  bench = await startTestEngine();
});
after(() => bench.close());

/** A value, the type that the header names, and its JSON. */
const cases: readonly (readonly [expression: string, type: string, json: string])[] = [
  ["true", "BOOLEAN", "true"],
  ["(-128)::TINYINT", "TINYINT", "-128"],
  ["-9223372036854775808", "BIGINT", "-9223372036854775808"],
  ["18446744073709551615::UBIGINT", "UBIGINT", "18446744073709551615"],
  [
    "170141183460469231731687303715884105727::HUGEINT",
    "HUGEINT",
    "170141183460469231731687303715884105727",
  ],
  ["sum(9007199254740993)", "HUGEINT", "9007199254740993"],
  [
    "340282366920938463463374607431768211455::UHUGEINT",
    "UHUGEINT",
    "340282366920938463463374607431768211455",
  ],
  [
    "'-123456789012345678901234567890123456789012345'::BIGNUM",
    "BIGNUM",
    "-123456789012345678901234567890123456789012345",
  ],
  ["1.10::DECIMAL(5,2)", "DECIMAL(5,2)", "1.10"],
  ["-0.5::DECIMAL(3,2)", "DECIMAL(3,2)", "-0.50"],
  [
    "1234567890123456789012345678.0123456789::DECIMAL(38,10)",
    "DECIMAL(38,10)",
    "1234567890123456789012345678.0123456789",
  ],
  ["0.1::FLOAT", "FLOAT", "0.1"],
  ["0.1::DOUBLE", "DOUBLE", "0.1"],
  ["1e300::DOUBLE", "DOUBLE", "1e300"],
  ["-0.0::DOUBLE", "DOUBLE", "-0.0"],
  ["'nan'::DOUBLE", "DOUBLE", '"NaN"'],
  ["'inf'::DOUBLE", "DOUBLE", '"Infinity"'],
  ["'-inf'::FLOAT", "FLOAT", '"-Infinity"'],
  ["NULL::DOUBLE", "DOUBLE", "null"],
  ["NULL", "INTEGER", "null"],
  ["'it''s \"é😀\"' || chr(9) || chr(10)", "VARCHAR", '"it\'s \\"é😀\\"\\t\\n"'],
  ["'a' || chr(0) || 'b'", "VARCHAR", '"a\\u0000b"'],
  ["''", "VARCHAR", '""'],
  ["NULL::VARCHAR", "VARCHAR", "null"],
  ["'null'", "VARCHAR", '"null"'],
  ["'\\x00\\xFF'::BLOB", "BLOB", '"AP8="'],
  ["'0101'::BIT", "BIT", '"0101"'],
  ["'b'::ENUM('a','b')", "ENUM('a', 'b')", '"b"'],
  [
    "'00000000-0000-0000-0000-000000000001'::UUID",
    "UUID",
    '"00000000-0000-0000-0000-000000000001"',
  ],
  ["DATE '2024-02-29'", "DATE", '"2024-02-29"'],
  ["DATE 'infinity'", "DATE", '"infinity"'],
  ["TIME '23:59:59.000001'", "TIME", '"23:59:59.000001"'],
  ["'12:34:56.789+05:30'::TIMETZ", "TIME WITH TIME ZONE", '"12:34:56.789+05:30"'],
  ["TIMESTAMP '2024-02-29 01:02:03'", "TIMESTAMP", '"2024-02-29T01:02:03"'],
  ["TIMESTAMP '2024-02-29 01:02:03.000001'", "TIMESTAMP", '"2024-02-29T01:02:03.000001"'],
  ["TIMESTAMP '-infinity'", "TIMESTAMP", '"-infinity"'],
  ["TIMESTAMP '0044-03-15 (BC) 01:00:00'", "TIMESTAMP", '"0044-03-15 (BC)T01:00:00"'],
  ["TIMESTAMP_S '2024-02-29 01:02:03'", "TIMESTAMP_S", '"2024-02-29T01:02:03"'],
  ["TIMESTAMP_MS '2024-02-29 01:02:03.5'", "TIMESTAMP_MS", '"2024-02-29T01:02:03.5"'],
  [
    "TIMESTAMP_NS '2024-02-29 01:02:03.123456789'",
    "TIMESTAMP_NS",
    '"2024-02-29T01:02:03.123456789"',
  ],
  [
    "TIMESTAMPTZ '2024-02-29 01:02:03.5+02'",
    "TIMESTAMP WITH TIME ZONE",
    '"2024-02-28T23:02:03.5Z"',
  ],
  [
    "TIMESTAMPTZ '0044-03-15 (BC) 01:00:00+00'",
    "TIMESTAMP WITH TIME ZONE",
    '"0044-03-15 (BC)T01:00:00Z"',
  ],
  [
    "INTERVAL '14 months 3 days 5.000001 seconds'",
    "INTERVAL",
    '"1 year 2 months 3 days 00:00:05.000001"',
  ],
  ["[1, NULL, 3]", "INTEGER[]", "[1,null,3]"],
  ["[]::INTEGER[]", "INTEGER[]", "[]"],
  ["NULL::INTEGER[]", "INTEGER[]", "null"],
  ["['a\"b', NULL]", "VARCHAR[]", '["a\\"b",null]'],
  ["[1.50::DECIMAL(3,2)]", "DECIMAL(3,2)[]", "[1.50]"],
  ["['nan'::DOUBLE, 1]", "DOUBLE[]", '["NaN",1.0]'],
  ["[[1::HUGEINT], NULL, []]", "HUGEINT[][]", "[[1],null,[]]"],
  ["array_value(1, 2, 3)", "INTEGER[3]", "[1,2,3]"],
  ["array_value(1::HUGEINT, NULL)", "HUGEINT[2]", "[1,null]"],
  [
    "{'a': 1, 'b c': [TIMESTAMP '2024-01-01'], 'd\"': NULL}",
    'STRUCT("a" INTEGER, "b c" TIMESTAMP[], "d""" INTEGER)',
    '{"a":1,"b c":["2024-01-01T00:00:00"],"d\\"":null}',
  ],
  [
    "{'it''s': 12345678901234567890::HUGEINT, 'x': 0.12345678901234567890::DECIMAL(21,20)}",
    'STRUCT("it\'s" HUGEINT, "x" DECIMAL(21,20))',
    '{"it\'s":12345678901234567890,"x":0.12345678901234567890}',
  ],
  ["NULL::STRUCT(a HUGEINT)", 'STRUCT("a" HUGEINT)', "null"],
  ["row(1, 'x', NULL)", 'STRUCT("" INTEGER, "" VARCHAR, "" INTEGER)', '[1,"x",null]'],
  ["MAP {'k\"': 1}", "MAP(VARCHAR, INTEGER)", '{"k\\"":1}'],
  ["MAP {DATE '2024-01-01': [1::HUGEINT]}", "MAP(DATE, HUGEINT[])", '{"2024-01-01":[1]}'],
  ["MAP {}", "MAP(INTEGER, INTEGER)", "{}"],
  ["union_value(n := 5)", 'UNION("n" INTEGER)', '{"n":5}'],
  ["'x'::UNION(i INTERVAL, s VARCHAR)", 'UNION("i" INTERVAL, "s" VARCHAR)', '{"s":"x"}'],
  ["[union_value(d := 'inf'::DOUBLE)]", 'UNION("d" DOUBLE)[]', '[{"d":"Infinity"}]'],
  [
    `'{"a": [1, 0.1234567890123456789012],\n "b": 12345678901234567890123}'::JSON`,
    "JSON",
    '{"a": [1, 0.1234567890123456789012],  "b": 12345678901234567890123}',
  ],
  ["{'a': [1.5, NULL]}::VARIANT", "VARIANT", '{"a":[1.5,null]}'],
  ["'POINT(1 2)'::GEOMETRY", "GEOMETRY", '"POINT (1 2)"'],
];

for (const [expression, type, json] of cases) {
  test(`[QU4] [QU46] ${expression} comes back as it was`, async () => {
    const { columns, text } = await rowsOf(bench, `SELECT ${expression} AS value`);
    assert.deepEqual(columns, [{ name: "value", type }]);
    assert.equal(text, `[${json}]\n`);
    JSON.parse(text);
  });
}

test("[QU4] every type that DuckDB knows comes back, with its extremes and NULL", async () => {
  const { columns, text } = await rowsOf(bench, "FROM test_all_types()");
  const rows = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown[]);
  assert.equal(rows.length, 3);
  for (const row of rows) assert.equal(row.length, columns.length);
  assert.ok(
    rows[2]?.every((value) => value === null),
    "the third row is all NULL",
  );
  // DuckDB's own texts, without Parquet in between, for types that it writes as we do.
  const direct = await rowsOf(
    bench,
    "SELECT hugeint::VARCHAR, uhugeint::VARCHAR, time_tz::VARCHAR, interval::VARCHAR, dec38_10::VARCHAR FROM test_all_types()",
  );
  const positions = ["hugeint", "uhugeint", "time_tz", "interval", "dec38_10"].map((name) =>
    columns.findIndex((column) => (column as { name: string }).name === name),
  );
  for (const [index, line] of direct.text.trimEnd().split("\n").entries()) {
    const texts = JSON.parse(line) as (string | null)[];
    const ours = text.split("\n")[index] ?? "";
    for (const [at, position] of positions.entries()) {
      if (texts[at] === null) assert.equal(rows[index]?.[position], null);
      else assert.ok(ours.includes(texts[at] as string), `${texts[at]} in ${ours}`);
    }
  }
});

test("[QU46] columns of one name, odd names, and results without rows", async () => {
  assert.deepEqual(await rowsOf(bench, 'SELECT 1 AS a, 2 AS a, 3 AS "it\'s ""x"""'), {
    columns: [
      { name: "a", type: "INTEGER" },
      { name: "a", type: "INTEGER" },
      { name: 'it\'s "x"', type: "INTEGER" },
    ],
    text: "[1,2,3]\n",
  });
  assert.deepEqual(await rowsOf(bench, "SELECT 1::HUGEINT AS h, [] AS l WHERE false"), {
    columns: [
      { name: "h", type: "HUGEINT" },
      { name: "l", type: "INTEGER[]" },
    ],
    text: "",
  });
});

test("[QU46] a thousand columns", async () => {
  const columns = Array.from({ length: 1_000 }, (_, index) => `${index} AS x${index}`);
  const { text } = await rowsOf(bench, `SELECT ${columns.join(", ")}`);
  assert.equal((JSON.parse(text) as unknown[]).length, 1_000);
});
