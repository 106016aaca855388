import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import {
  DialectError,
  type Expr,
  type FunctionName,
  type TypeName,
} from "../../../language/core/index.ts";
import { viewOf } from "../tables/column-view.ts";
import { hashRowsOf } from "../tables/hash-rows.ts";
import { compileProjection } from "./compile-projection.ts";
import { evaluateNaively, type Plain } from "./testing/naive-expr.ts";
import { batchOf, rowsOf } from "./testing/plain-batch.ts";
import { randomRow, testSchema } from "./testing/random-expr.ts";

function literal(value: string | null, name: TypeName): Expr {
  return { kind: "literal", value, type: { name, nullable: value === null } };
}

/** The function over a column of the first argument, and constants; an error is its number. */
function run(
  fn: FunctionName,
  type: TypeName,
  first: Plain,
  firstType: TypeName,
  ...rest: Expr[]
): Plain {
  const column: Expr = { kind: "column", index: 0, type: { name: firstType, nullable: true } };
  const args = fn === "date_trunc" ? [...rest, column] : [column, ...rest];
  const expr: Expr = { kind: "call", fn, args, type: { name: type, nullable: true } };
  const schema = [{ name: "v", type: { name: firstType, nullable: true } }];
  const outcome = (compute: () => Plain): Plain => {
    try {
      return compute();
    } catch (error) {
      if (error instanceof DialectError) return -error.number;
      throw error;
    }
  };
  const got = outcome(
    () => rowsOf(compileProjection([expr], schema)(batchOf(schema, [[first]])))[0]?.[0] ?? null,
  );
  assert.deepEqual(
    got,
    outcome(() => evaluateNaively(expr, [first])),
    `${fn}(${first})`,
  );
  return got;
}

const text = (fn: FunctionName, value: Plain, ...rest: Expr[]) =>
  run(fn, "VARSIZED", value, "VARSIZED", ...rest);
const t = (value: string) => literal(value, "VARSIZED");
const n = (value: number) => literal(String(value), "INT64");

test("[SX110] positions and lengths count characters", () => {
  assert.equal(text("substring", "äöü🎉x", n(2), n(3)), "öü🎉");
  assert.equal(text("substring", "abc", n(-1), n(3)), "a");
  assert.equal(text("substring", "abc", n(2)), "bc");
  assert.equal(text("substring", "abc", n(9), n(-2)), "");
  assert.equal(run("position", "UINT64", "äöü🎉x", "VARSIZED", t("x")), 5n);
  assert.equal(run("position", "UINT64", "abc", "VARSIZED", t("z")), 0n);
  assert.equal(run("position", "UINT64", "abc", "VARSIZED", t("")), 1n);
});

test("[SX110] other functions of texts", () => {
  assert.equal(text("upper", "straße äÖ"), "STRASSE ÄÖ");
  assert.equal(text("lower", "ÀB c"), "àb c");
  assert.equal(text("trim", "  a b \t "), "a b \t");
  assert.equal(text("trim", "   "), "");
  assert.equal(text("replace", "banana", t("an"), t("<>")), "b<><>a");
  assert.equal(text("split_part", "a::b::c", t("::"), n(2)), "b");
  assert.equal(text("split_part", "a::b::c", t("::"), n(-1)), "c");
  assert.equal(text("split_part", "a::b::c", t("::"), n(4)), "");
  assert.equal(text("concat", null, t("x")), null);
});

test("[SX111] Base64", () => {
  assert.equal(text("to_base64", "Hello World"), "SGVsbG8gV29ybGQ=");
  for (const value of ["", "a", "ab", "abc", "äöü"]) {
    const encoded = text("to_base64", value);
    assert.equal(text("from_base64", encoded), value);
  }
  for (const value of ["a*b=", "abcde", "=", "ab==="]) {
    assert.equal(text("from_base64", value), value === "=" ? "" : -4003, value);
  }
});

test("[SX112] LIKE: any text, one character, escapes", () => {
  const like = (value: string, pattern: string) =>
    run("like", "BOOLEAN", value, "VARSIZED", t(pattern));
  const matching = [
    ["abc", "a%"],
    ["abc", "%b%"],
    ["äöü", "_ö_"],
    ["a%c", "a\\%c"],
    ["", "%"],
    ["aab", "%ab"],
    ["abab", "%ab%ab"],
    ["🎉", "_"],
    ["a\nb", "a%b"],
    ["xay", "_%_%_"],
  ];
  const others = [
    ["abc", "b%"],
    ["abc", "a\\%"],
    ["ab", "___"],
    ["ab", "%ab%ab"],
    ["", "_"],
    ["ABC", "abc"],
    ["ä", "__"],
  ];
  for (const [value = "", pattern = ""] of matching)
    assert.equal(like(value, pattern), true, `${value} ${pattern}`);
  for (const [value = "", pattern = ""] of others)
    assert.equal(like(value, pattern), false, `${value} ${pattern}`);
  assert.equal(run("like", "BOOLEAN", "a", "VARSIZED", literal(null, "VARSIZED")), null);
});

test("[SX113] JSON_EXTRACT follows a path, and gives NULL where there is nothing", () => {
  const value = '{"a":{"b":[1,"x\\n\\u00e4",{"c":null}]},"d":"\\"","e":true}';
  const at = (path: string) => text("json_extract", value, t(path));
  assert.equal(at("$.a.b[0]"), "1");
  assert.equal(at("$.a.b[1]"), "x\nä");
  assert.equal(at("$.a.b[2]"), '{"c":null}');
  assert.equal(at("$.d"), '"');
  assert.equal(at("$.e"), "true");
  for (const path of ["$.a.b[2].c", "$.a.b[3]", "$.x", "$.a[0]", "$.e.f"])
    assert.equal(at(path), null, path);
  for (const broken of ["", "{", '{"d":', '{"d" 1}', "[1", "nothing"])
    assert.equal(text("json_extract", broken, t("$.d")), null);
  assert.equal(text("json_extract", '{"k":1, "k": 2}', t("$.k")), "2");
});

const times = [
  0n,
  1_000n,
  1_234n,
  951_782_400_000n,
  1_639_494_303_000n,
  1_771_243_200_000n,
  253_402_300_799_999n,
  4_107_542_399_999n,
];

test("[SX114] parts of times, in UTC", () => {
  const parts = [
    "year_of",
    "month_of",
    "day_of",
    "hour_of",
    "minute_of",
    "second_of",
    "day_of_week",
  ] as const;
  for (const time of [...times, 2n ** 63n - 1n, 2n ** 64n - 1n]) {
    for (const part of parts) run(part, "UINT64", time, "UINT64");
    if (time < 2n ** 60n)
      assert.equal(
        run("format_iso_time", "VARSIZED", time, "UINT64"),
        new Date(Number(time)).toISOString(),
      );
    for (const unit of ["second", "minute", "hour", "day", "week", "month", "year"]) {
      if (time > 345_600_000n && time < 2n ** 60n)
        run("date_trunc", "UINT64", time, "UINT64", t(unit));
      if (time < 2n ** 60n) run("date_trunc", "INT64", time, "INT64", t(unit));
    }
  }
  assert.equal(run("day_of", "UINT64", null, "UINT64"), null);
  assert.equal(run("month_of", "INT64", -1n, "INT64"), 12n);
});

test("[SX115] times from ISO 8601", () => {
  const parse = (value: string, type: TypeName = "UINT64") =>
    run("parse_iso_time", type, value, "VARSIZED");
  for (const time of times) assert.equal(parse(new Date(Number(time)).toISOString()), time);
  assert.equal(parse("2026-02-16"), 1_771_200_000_000n);
  assert.equal(parse("2026-02-16T12:00:00+02:00"), 1_771_236_000_000n);
  assert.equal(parse("1969-12-31T23:59:59Z", "INT64"), -1_000n);
  for (const wrong of [
    "",
    "2026-13-01",
    "2026-02-30",
    "26-02-01",
    "2026-02-16T25:00:00Z",
    "1969-12-31T23:59:59Z",
  ]) {
    assert.equal(parse(wrong), -4003, wrong);
  }
});

test("[SX117] regular expressions find, extract and replace parts of texts", () => {
  const texts = ["", "a", "order 12-34 of 5-6", "ééa😀a", "aaa", "no match", "x\ny"];
  const patterns = ["a", "(\\d+)-(\\d+)", "^", "$", "a+|é", "(x)|(y)", ".", "[^a]+$", "\\bo"];
  const whole = ["<\\0>", "\\2:\\1", "\\\\", "", "\\x$1"];
  for (const text of [...texts, null]) {
    for (const pattern of patterns) {
      run("regexp_matches", "BOOLEAN", text, "VARSIZED", t(pattern));
      for (const group of ["0", "1", "2", "9"]) {
        run("regexp_extract", "VARSIZED", text, "VARSIZED", t(pattern), literal(group, "INT64"));
      }
      for (const by of whole) {
        run("regexp_replace", "VARSIZED", text, "VARSIZED", t(pattern), t(by));
      }
    }
  }
  const replace = (text: string, pattern: string, by: string) =>
    run("regexp_replace", "VARSIZED", text, "VARSIZED", t(pattern), t(by));
  assert.equal(replace("order 12-34 of 5-6", "(\\d+)-(\\d+)", "\\2-\\1"), "order 34-12 of 6-5");
  assert.equal(replace("abc", "x*", "-"), "-a-b-c-");
  assert.equal(replace("baac", "a*", "-"), "-b-c-");
  assert.equal(
    run("regexp_extract", "VARSIZED", "y", "VARSIZED", t("(x)|(y)"), literal("1", "INT64")),
    null,
  );
});

test("[SX116] HASH is that of keys in exchanges, of NULLs, too", () => {
  const prng = createPrng("hash");
  const rows = Array.from({ length: 50 }, () => randomRow(prng, testSchema));
  const batch = batchOf(testSchema, rows);
  const args = testSchema.map(({ type }, index): Expr => ({ kind: "column", index, type }));
  const expr: Expr = {
    kind: "call",
    fn: "hash64",
    args,
    type: { name: "UINT64", nullable: false },
  };
  const got = rowsOf(compileProjection([expr], testSchema)(batch)).map(([value]) => value);
  const numbers = Int32Array.from(rows.keys());
  const views = batch.columns.map((column) => viewOf(column));
  const lane = (which: "low" | "high"): Int32Array => {
    const out = new Int32Array(rows.length);
    hashRowsOf(
      testSchema.map(({ type }) => type.name),
      which,
    )(views, numbers, rows.length, out);
    return out;
  };
  const low = lane("low");
  const high = lane("high");
  const want = rows.map(
    (_, row) => (BigInt((high[row] as number) >>> 0) << 32n) | BigInt((low[row] as number) >>> 0),
  );
  assert.deepEqual(got, want);
});
