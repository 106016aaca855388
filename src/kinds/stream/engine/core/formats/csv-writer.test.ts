import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import type { Settings } from "../../../language/core/index.ts";
import type { Plain } from "../expressions/testing/naive-expr.ts";
import { batchOf } from "../expressions/testing/plain-batch.ts";
import { compileCsvWriter } from "./compile-csv-writer.ts";
import { csvOutputSettings } from "./settings.ts";
import { schemaOf } from "./testing/run-parser.ts";

function write(
  fields: string,
  rows: readonly (readonly Plain[])[],
  settings: Settings = {},
  selection?: readonly number[],
): string {
  const schema = schemaOf(fields);
  const writer = compileCsvWriter(schema, csvOutputSettings(settings));
  const decoder = new TextDecoder();
  return (
    decoder.decode(writer.header) + decoder.decode(writer.write(batchOf(schema, rows, selection)))
  );
}

test("[SX170] numbers, booleans and NULL", () => {
  const rows = [
    [-128n, 65_535n, -2_147_483_648n, -(2n ** 63n), 2n ** 64n - 1n, true, 120],
    [0n, 7n, 100n, 10n ** 15n, 4_294_967_296n, false, 44],
    [null, null, null, null, null, null, null],
  ];
  assert.equal(
    write("a INT8, b UINT16, c INT32, d INT64, e UINT64, f BOOLEAN, g CHAR", rows, {
      QUOTE_STRINGS: false,
    }),
    `-128,65535,-2147483648,-9223372036854775808,18446744073709551615,true,x
0,7,100,1000000000000000,4294967296,false,,
NULL,NULL,NULL,NULL,NULL,NULL,NULL
`,
  );
});

const fixedCases: readonly (readonly [number, string])[] = [
  [0, "0.0"],
  [65, "65.0"],
  [-19, "-19.0"],
  [3.14, "3.14"],
  [6.480740698, "6.480741"],
  [0.0000004, "0.0"],
  [-0.0000004, "-0.0"],
  [0.0078125, "0.007812"],
  [0.0234375, "0.023438"],
  [123456.7890125, "123456.789012"],
  [1e15, "1000000000000000.0"],
  [2 ** 70, "1180591620717411303424.0"],
  [-3.4028234663852886e38, "-340282346638528859811704183484516925440.0"],
  [Number.NaN, "nan"],
  [Infinity, "inf"],
  [-Infinity, "-inf"],
];

test("[SX171] floats with six decimals, zeros at the end left out but for one", () => {
  const rows = fixedCases.map(([value]) => [value]);
  const want = fixedCases.map(([, text]) => `${text}\n`).join("");
  assert.equal(write("v FLOAT64", rows, { FLOATS: "fixed" }), want);
});

test("[SX171] floats as the shortest text that reads back", () => {
  const f32 = Math.fround(23.2);
  const rows = [
    [0.1, f32],
    [65, 3],
    [1e21, Math.fround(1e10)],
    [-0, -0],
    [5e-324, Number.NaN],
  ];
  assert.equal(
    write("v FLOAT64, w FLOAT32", rows),
    "0.1,23.2\n65.0,3.0\n1e+21,10000000000.0\n-0.0,-0.0\n5e-324,nan\n",
  );
});

test("[SX172] texts are quoted always, never, or where they would not read back", () => {
  const rows = [["plain"], ['quoted "x"'], ["a,b"], ["a\nb"], [""], ["NULL"], [null]];
  const texts = (settings: Settings) => write("v VARSIZED", rows, settings);
  assert.equal(
    texts({ QUOTE_STRINGS: true }),
    '"plain"\n"quoted ""x"""\n"a,b"\n"a\nb"\n""\n"NULL"\nNULL\n',
  );
  assert.equal(texts({ QUOTE_STRINGS: "FALSE" }), 'plain\nquoted "x"\na,b\na\nb\n\nNULL\nNULL\n');
  assert.equal(texts({}), 'plain\n"quoted ""x"""\n"a,b"\n"a\nb"\n""\n"NULL"\nNULL\n');
});

test("[SX173] only selected rows, with other delimiters and names", () => {
  const settings = { FIELD_DELIMITER: "||", TUPLE_DELIMITER: ";", HEADER: true };
  const rows = [
    [1n, "x"],
    [2n, "y"],
    [3n, "z".repeat(200_000)],
  ];
  assert.equal(write("a INT32, b VARSIZED", rows, settings, [1]), "a||b;2||y;");
  assert.equal(
    write("a INT32, b VARSIZED", rows, settings, [2]),
    `a||b;3||${"z".repeat(200_000)};`,
  );
});

test("[SX173] names in capitals, and another word for NULL", () => {
  const settings = { HEADER: true, NAMES: "upper", NULL_TEXT: "" };
  assert.equal(
    write(
      "a INT32, b VARSIZED",
      [
        [null, null],
        [1n, ""],
      ],
      settings,
    ),
    'A,B\n,\n1,""\n',
  );
});

test("[SX171] the shortest text is that of JavaScript, for any float", () => {
  const prng = createPrng("shortest");
  const values = Array.from({ length: 3_000 }, () => {
    const digits = 10 ** prng.below(9);
    const value = Math.round((prng.next() - 0.5) * digits * 1_000) / digits;
    return prng.below(4) === 0 ? (prng.next() - 0.5) * 10 ** (prng.below(40) - 20) : value;
  });
  const want = values.map((value) => {
    const text = Object.is(value, -0) ? "-0" : String(value);
    return /[.e]/.test(text) ? text : `${text}.0`;
  });
  assert.equal(
    write(
      "v FLOAT64",
      values.map((value) => [value]),
    ),
    `${want.join("\n")}\n`,
  );
  const floats = values.map((value) => Math.fround(value));
  const read = write(
    "v FLOAT32",
    floats.map((value) => [value]),
  )
    .trimEnd()
    .split("\n");
  floats.forEach((value, index) => {
    const text = read[index] ?? "";
    assert.equal(Math.fround(Number(text)), value);
    const digits = text.replace(/e.*|[.-]/g, "").replace(/^0+|0+$/g, "").length;
    for (let fewer = 1; fewer < Math.min(digits, 9); fewer += 1) {
      assert.notEqual(Math.fround(Number(value.toPrecision(fewer))), value, text);
    }
  });
});
