import assert from "node:assert/strict";
import { test } from "node:test";
import { errorOf, resultOf } from "../testing.ts";

function typeOf(expression: string): string {
  return resultOf(`SELECT ${expression} AS x FROM numbers`).slice(2);
}

function aggregateType(expression: string): string {
  return resultOf(`SELECT ${expression} AS x FROM numbers WINDOW TUMBLING(ts, SIZE 1 SEC)`).slice(
    2,
  );
}

const cases = [
  ["[SY10] the smallest type", "255", "UINT8"],
  ["[SY10] the smallest type", "256", "UINT16"],
  ["[SY10] the smallest type", "4294967296", "UINT64"],
  ["[SY10] the smallest type", "-128", "INT8"],
  ["[SY10] the smallest type", "-129", "INT16"],
  ["[SY10] the smallest type", "-9223372036854775808", "INT64"],
  ["[SY10] hexadecimal", "0xFF", "UINT8"],
  ["[SY10] a sign", "+7", "UINT8"],
  ["[SY10] a point", "1.0", "FLOAT64"],
  ["[SY10] an exponent", "1E3", "FLOAT64"],
  ["[SY11] small integers", "i8 + i8", "INT32"],
  ["[SY11] small integers", "u8 + 42", "INT32"],
  ["[SY11] wider", "i8 + i64", "INT64"],
  ["[SY11] unsigned of the same width", "i32 + u32", "UINT32"],
  ["[SY11] signed and wider", "u32 + i64", "INT64"],
  ["[SY11] unsigned 64", "i64 % u64", "UINT64"],
  ["[SY11] FLOAT32", "i64 + f32", "FLOAT32"],
  ["[SY11] FLOAT64", "f32 * f64", "FLOAT64"],
  ["[SY11] a literal of a type", "u16 * UINT32(42)", "UINT32"],
  ["[SY11] a negative", "-u8", "INT32"],
  ["[SY11] comparison", "i8 < u64", "BOOLEAN"],
  ["[SY12] ABS widens", "ABS(i8)", "INT16"],
  ["[SY12] ABS widens", "ABS(i32)", "INT64"],
  ["[SY12] ABS", "ABS(i64)", "INT64"],
  ["[SY12] ABS", "ABS(u8)", "UINT8"],
  ["[SY12] rounding keeps the type", "ROUND(f32)", "FLOAT32"],
  ["[SY12] rounding keeps the type", "CEIL(i8)", "INT8"],
  ["[SY12] functions of floats", "SQRT(i8)", "FLOAT64"],
  ["[SY13] NULL in", "n + 1", "INT32?"],
  ["[SY13] IS NULL", "n IS NULL", "BOOLEAN"],
  ["[SY13] null-safe", "n <=> 1", "BOOLEAN"],
  ["[SY13] ISNAN of NULL", "ISNAN(n)", "BOOLEAN?"],
  ["[SY13] COALESCE", "COALESCE(n, i32)", "INT32"],
  ["[SY13] NULLIF", "NULLIF(i32, 0)", "INT32?"],
  ["[SY13] CASE", "CASE WHEN n > 0 THEN i8 END", "INT8?"],
  ["[SY13] CASE ELSE", "CASE WHEN n > 0 THEN i8 ELSE 0 END", "INT16"],
  ["[SY13] NULL alone", "NULL", "VARSIZED?"],
  ["[SY14] Conditional", "Conditional(n > 0, i8, i16)", "INT16"],
  ["[SY14] both signs", "COALESCE(n, u32)", "INT64"],
  ["[SY14] floats", "GREATEST(i8, f32)", "FLOAT32"],
  ["[SY14] no integer is wide enough", "LEAST(i64, u64)", "FLOAT64"],
] as const;
for (const [name, expression, want] of cases) {
  test(`${name}: ${expression} is ${want}`, () => assert.equal(typeOf(expression), want));
}

const aggregates = [
  ["SUM(i8)", "INT64"],
  ["SUM(u32)", "UINT64"],
  ["SUM(f32)", "FLOAT32"],
  ["SUM(n)", "INT64?"],
  ["MIN(u8)", "UINT8"],
  ["MAX(f32)", "FLOAT32"],
  ["AVG(u8)", "FLOAT64"],
  ["MEDIAN(n)", "FLOAT64?"],
  ["COUNT(n)", "UINT64"],
  ["COUNT(*)", "UINT64"],
  ["COUNT(DISTINCT n)", "UINT64"],
  ["VAR_POP(i8)", "FLOAT64"],
  ["STDDEV(i8)", "FLOAT64?"],
  ["SUM(i8) FILTER (WHERE n > 1)", "INT64?"],
  ["LAST(i8)", "INT8"],
  ["SUM(i8) + AVG(u8)", "FLOAT64"],
] as const;
for (const [expression, want] of aggregates) {
  test(`[SY12] ${expression} is ${want}`, () => assert.equal(aggregateType(expression), want));
}

const errors = [
  ["CHAR_LENGTH('a', 'b')", 2002],
  ["CHAR_LENGTH()", 2002],
  ["Conditional(n > 1, 1)", 2002],
  ["Conditional(n, 1, 2)", 2006],
  ["Conditional(n > 1, 1, 'x')", 2006],
  ["YEAR_OF('1970')", 2006],
  ["ISNAN('x')", 2007],
  ["i8 + 'x'", 2007],
  ["i8 = 'x'", 2007],
  ["n AND TRUE", 2007],
  ["NOSUCH(n)", 2015],
  ["UINT8(1, 2)", 2000],
  ["UINT8()", 2000],
  ["UINT8(256)", 2010],
  ["18446744073709551616", 2010],
  ["SUM(i8)", 2000],
] as const;
for (const [expression, number] of errors) {
  test(`[SY15] ${expression} is error ${number}`, () => {
    assert.equal(errorOf(() => typeOf(expression)).number, number);
  });
}

const patterns = [
  ["REGEXP_MATCHES(name, '(a')", 2010, 29],
  ["REGEXP_MATCHES(name, '(?=a)')", 2010, 29],
  ["REGEXP_EXTRACT(name, '(a)', 2)", 2010, 36],
  ["REGEXP_MATCHES(name, name)", 2006, 29],
  ["REGEXP_EXTRACT(name, 'a', 'b')", 2006, 34],
] as const;
for (const [expression, number, column] of patterns) {
  test(`[SY16] ${expression} is error ${number} at column ${column}`, () => {
    const error = errorOf(() => resultOf(`SELECT ${expression} AS x FROM bids`));
    assert.equal(error.number, number);
    assert.equal(error.position?.column, column);
  });
}
