/** Columns of every type and values for them, as SQL. */

import fc from "fast-check";
import { quoteText } from "../../../sql/core/index.ts";

const texts = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.constantFrom("", "it's", '"q"', "{a: 1}", "[x]", "NULL", "\\", "é😀"),
);
const textLiteral = texts.map((text) => quoteText(text.replaceAll("\0", "")));
const integer = (min: bigint, max: bigint): fc.Arbitrary<string> =>
  fc.bigInt({ min, max }).map(String);
/** No value that FLOAT rounds to -0.0, which files do not distinguish from 0.0. */
const float = fc.oneof(
  fc.constantFrom("'nan'", "'inf'", "'-inf'", "0.0", "1e30", "-1.5"),
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e30, max: 1e30 })
    .map((value) => `'${Math.abs(value) < 1e-30 ? 0 : value}'`),
);
const day = fc
  .integer({ min: -20_000, max: 40_000 })
  .map((days) => `(DATE '1970-01-01' + ${days})`);
const micros = fc.integer({ min: 0, max: 86_399_999_999 });
const instant = fc.tuple(day, micros).map(([date, at]) => `(${date} + to_microseconds(${at}))`);
const listOf = (item: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof({ weight: 4, arbitrary: item }, fc.constant("NULL")), { maxLength: 3 })
    .map((items) => `[${items.join(", ")}]`);
const int = integer(-1000n, 1000n);

/** DuckDB's types, and literals that cast to them. */
export const valuesOfType: ReadonlyMap<string, fc.Arbitrary<string>> = new Map([
  ["BOOLEAN", fc.constantFrom("true", "false")],
  ["TINYINT", integer(-128n, 127n)],
  ["INTEGER", int],
  ["BIGINT", integer(-(2n ** 63n), 2n ** 63n - 1n)],
  ["UBIGINT", integer(0n, 2n ** 64n - 1n)],
  ["HUGEINT", integer(-(10n ** 37n), 10n ** 37n)],
  ["FLOAT", float],
  ["DOUBLE", float],
  ["DECIMAL(10,2)", int.map((value) => `${value}.25`)],
  ["DECIMAL(38,5)", integer(-(10n ** 30n), 10n ** 30n)],
  ["DATE", day],
  ["TIME", micros.map((at) => `(TIME '00:00:00' + to_microseconds(${at}))`)],
  ["TIME_NS", fc.constantFrom("'01:02:03.123456789'", "'23:59:59'")],
  ["TIME WITH TIME ZONE", fc.constantFrom("'01:02:03+00'", "'23:59:59.5+00'")],
  ["TIMESTAMP", instant],
  ["TIMESTAMP_S", instant],
  ["TIMESTAMP_MS", instant],
  ["TIMESTAMP_NS", instant],
  ["TIMESTAMP WITH TIME ZONE", instant],
  [
    "INTERVAL",
    fc
      .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 60 }))
      .map(([months, days]) => `(INTERVAL ${months} MONTH + INTERVAL ${days} DAY)`),
  ],
  ["VARCHAR", textLiteral],
  [
    "BLOB",
    fc
      .uint8Array({ maxLength: 6 })
      .map((bytes) => `unhex('${Buffer.from(bytes).toString("hex")}')`),
  ],
  ["UUID", fc.uuid().map((text) => `'${text}'`)],
  ["JSON", fc.json().map((text) => quoteText(text.replaceAll("\0", "")))],
  ["INTEGER[]", listOf(int)],
  ["HUGEINT[]", listOf(integer(-(10n ** 36n), 10n ** 36n))],
  [
    'STRUCT("x y" INTEGER, "select" VARCHAR[], "q""""q" DOUBLE)'.replace('""""', '""'),
    fc
      .tuple(int, listOf(textLiteral), float)
      .map(([a, b, c]) => `{'x y': ${a}, 'select': ${b}, 'q"q': CAST(${c} AS DOUBLE)}`),
  ],
  [
    "MAP(VARCHAR, DOUBLE)",
    fc.tuple(textLiteral, float).map(([key, value]) => `MAP {${key}: CAST(${value} AS DOUBLE)}`),
  ],
  [
    "STRUCT(a STRUCT(b DATE, c INTERVAL)[])[]",
    listOf(
      fc
        .tuple(listOf(day), int)
        .map(
          ([[date = ""]]) =>
            `{'a': [{'b': ${date === "" ? "NULL" : "DATE '2020-02-29'"}, 'c': INTERVAL 1 MONTH}]}`,
        ),
    ),
  ],
]);

export const typeNames: readonly string[] = [...valuesOfType.keys()];

/** A literal of the type, or NULL. */
export function literalOf(type: string): fc.Arbitrary<string> {
  const values = valuesOfType.get(type);
  if (values === undefined) throw new Error(`no values of ${type}`);
  return fc.oneof({ weight: 5, arbitrary: values }, { weight: 1, arbitrary: fc.constant("NULL") });
}

/** Names that may confuse SQL, Parquet or DuckDB's own columns. */
export const columnName: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    "id",
    "file_row_number",
    "file_index",
    "filename",
    "select",
    "c1",
    "a b",
    'q"q',
    "o'k",
    "x.y",
    "naïve",
    "列",
    "😀",
    "element",
    "f",
    "d",
    "position",
  ),
  fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 8 })
    .map((text) => `n${text.replaceAll("\0", "")}`),
);
