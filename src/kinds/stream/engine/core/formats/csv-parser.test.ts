import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import type { Settings } from "../../../language/core/index.ts";
import { shapeCount } from "../compile-shape.ts";
import type { Plain } from "../expressions/testing/naive-expr.ts";
import { randomValue } from "../expressions/testing/random-expr.ts";
import { parseCsv, schemaOf } from "./testing/run-parser.ts";

const three = schemaOf("a INT32, b VARSIZED, c FLOAT64");

const cases: readonly {
  readonly name: string;
  readonly text: string;
  readonly settings?: Settings;
  readonly want: readonly (readonly Plain[])[];
}[] = [
  {
    name: "[SX150] lines",
    text: "1,x,2.5\n-2,y,3\n",
    want: [
      [1n, "x", 2.5],
      [-2n, "y", 3],
    ],
  },
  {
    name: "[SX150] no delimiter behind the last record",
    text: "1,x,2.5\n2,y,3",
    want: [
      [1n, "x", 2.5],
      [2n, "y", 3],
    ],
  },
  {
    name: "[SX150] CRLF",
    text: "1,x,2\r\n2,y,\r\n3,z,4\r\n",
    want: [
      [1n, "x", 2],
      [2n, "y", null],
      [3n, "z", 4],
    ],
  },
  { name: "[SX150] a byte order mark is left out", text: "\ufeff1,x,2\n", want: [[1n, "x", 2]] },
  {
    name: "[SX150] empty lines are left out",
    text: "\n1,x,2\n\r\n\n2,y,3\n\n",
    want: [
      [1n, "x", 2],
      [2n, "y", 3],
    ],
  },
  {
    name: "[SX150] a header is left out",
    text: "a,b,c\n1,x,2\n",
    settings: { HEADER: true },
    want: [[1n, "x", 2]],
  },
  {
    name: "[SX150] other delimiters",
    text: "1|x|2;2|y|3;",
    settings: { FIELD_DELIMITER: "|", TUPLE_DELIMITER: ";" },
    want: [
      [1n, "x", 2],
      [2n, "y", 3],
    ],
  },
  {
    name: "[SX150] delimiters of several bytes",
    text: "1||x||2@#2||y|z||3@#",
    settings: { FIELD_DELIMITER: "||", TUPLE_DELIMITER: "@#" },
    want: [
      [1n, "x", 2],
      [2n, "y|z", 3],
    ],
  },
  {
    name: "[SX150] a tab, written with a backslash",
    text: "1\tx\t2\n",
    settings: { FIELD_DELIMITER: "\\t" },
    want: [[1n, "x", 2]],
  },
  {
    name: "[SX150] a delimiter of records that begins with that of fields",
    text: '1|x|2|\n2||3|\n3|"|\n"||\n|y|4|\n',
    settings: { FIELD_DELIMITER: "|", TUPLE_DELIMITER: "|\n" },
    want: [
      [1n, "x", 2],
      [2n, null, 3],
      [3n, "|\n", null],
      [null, "y", 4],
    ],
  },
  { name: "[SX151] an empty field is NULL", text: ",,\n", want: [[null, null, null]] },
  {
    name: "[SX151] an empty field in quotes is an empty text",
    text: '"","",""\n',
    want: [[null, "", null]],
  },
  { name: "[SX152] quotes are stripped", text: '"1","a,b","2.5"\n', want: [[1n, "a,b", 2.5]] },
  {
    name: "[SX152] doubled quotes stand for one",
    text: '1,"say ""hi""",2\n',
    want: [[1n, 'say "hi"', 2]],
  },
  {
    name: "[SX152] a quoted field holds tuple delimiters",
    text: '1,"a\nb\r\nc",2\n2,y,3\n',
    want: [
      [1n, "a\nb\r\nc", 2],
      [2n, "y", 3],
    ],
  },
  {
    name: "[SX152] a quote inside of a field is a character",
    text: '1,say "hi",2\n',
    want: [[1n, 'say "hi"', 2]],
  },
  {
    name: "[SX152] bytes behind a closing quote make the field a plain one",
    text: '1,"a"b,2\n',
    want: [[1n, '"a"b', 2]],
  },
  {
    name: "[SX152] an escape byte",
    text: '1,"a\\"b\\\\",2\n',
    settings: { ESCAPE: "\\" },
    want: [[1n, 'a"b\\', 2]],
  },
  {
    name: "[SX152] quotes are kept, and hide field delimiters",
    text: '1,"a,""b",2\n',
    settings: { QUOTES: "keep" },
    want: [[1n, '"a,""b"', 2]],
  },
  {
    name: "[SX152] quotes are kept, and a tuple delimiter ends the record",
    text: '1,"a,2\n2,y,3\n',
    settings: { QUOTES: "keep" },
    want: [
      [1n, '"a', 2],
      [2n, "y", 3],
    ],
  },
  {
    name: "[SX153] integers",
    text: "+7,x,0x1F\n0x10,x,+1e3\n007,y,.5\n",
    want: [
      [7n, "x", 31],
      [16n, "x", 1_000],
      [7n, "y", 0.5],
    ],
  },
  {
    name: "[SX153] floats with names",
    text: "1,x,nan\n1,x,-inf\n1,x,Infinity\n",
    want: [
      [1n, "x", Number.NaN],
      [1n, "x", -Infinity],
      [1n, "x", Infinity],
    ],
  },
];

for (const { name, text, settings, want } of cases) {
  test(name, () => {
    assert.deepEqual(parseCsv(three, text, settings).rows, want);
    const bytes = new TextEncoder().encode(text);
    for (let place = 0; place <= bytes.length; place += 1) {
      const { rows } = parseCsv(three, bytes, settings, { cuts: [place] });
      assert.deepEqual(rows, want, `cut after byte ${place}`);
    }
    const everywhere = Array.from(bytes.keys());
    assert.deepEqual(parseCsv(three, bytes, settings, { cuts: everywhere }).rows, want);
  });
}

test("[SX104] parsers that differ in names and delimiters share one text", () => {
  const columns = [1];
  parseCsv(schemaOf("a INT32, b VARSIZED"), "1,x\n", {}, { columns });
  const before = shapeCount();
  const settings = { FIELD_DELIMITER: "|" };
  const { rows } = parseCsv(schemaOf("poison INT32, y VARSIZED"), "1|x\n", settings, { columns });
  assert.deepEqual(rows, [["x"]]);
  assert.equal(shapeCount(), before);
});

test("[SX154] fields of any length and at any place are skipped as a whole", () => {
  const long = Array.from({ length: 60 }, (_, length) =>
    "\u00ff-x\u0080".repeat(15).slice(0, length),
  );
  for (const [field, record] of [
    [",", "\n"],
    ["\u0001", "\u007f"],
  ] as const) {
    const text = long.map((middle, row) => `${row}${field}${middle}${field}${row / 2}${record}`);
    const settings = { FIELD_DELIMITER: field, TUPLE_DELIMITER: record };
    const read = parseCsv(three, text.join(""), settings, { columns: [0, 2], cuts: [700, 1001] });
    assert.deepEqual(
      read.rows,
      long.map((_, row) => [BigInt(row), row / 2]),
    );
    const heads = parseCsv(three, text.join(""), settings, { columns: [2] });
    assert.deepEqual(
      heads.rows.flat(),
      long.map((_, row) => row / 2),
    );
  }
  const last = long.map((end, row) => `${row},${end}`).join("\n");
  const rows = parseCsv(schemaOf("a INT32, b VARSIZED"), last, {}, { columns: [0] }).rows;
  assert.deepEqual(
    rows.flat(),
    long.map((_, row) => BigInt(row)),
  );
});

test("[SX154] a subset of the columns is what all of them are, whatever is skipped between", () => {
  const schema = schemaOf("a VARSIZED, b VARSIZED, c INT64, d VARSIZED, e VARSIZED, f INT64");
  const isNumber = [false, false, true, false, false, true];
  for (let seed = 0; seed < 300; seed += 1) {
    const prng = createPrng(`subset ${seed}`);
    const field = (index: number): string => {
      if (isNumber[index] === true) return `${prng.below(1_000_000)}`;
      const plain = "x".repeat(prng.below(prng.below(4) === 0 ? 200 : 20));
      return prng.below(8) === 0 ? `"${plain},${plain}\n"` : plain;
    };
    const records = Array.from({ length: 30 }, () => {
      const count = prng.below(10) === 0 ? prng.below(9) : 6;
      return Array.from({ length: count }, (_, index) => field(index)).join(",");
    });
    const text = records.join(prng.below(2) === 0 ? "\n" : "\r\n");
    const settings = { ON_MALFORMED: "skip" };
    const columns = schema.flatMap((_, index) => (prng.below(2) === 0 ? [index] : []));
    const cuts = [prng.below(200), 200 + prng.below(400)].filter((place) => place < text.length);
    const all = parseCsv(schema, text, settings);
    const some = parseCsv(schema, text, settings, { columns, cuts });
    assert.deepEqual(
      some.rows,
      all.rows.map((row) => columns.map((column) => row[column])),
    );
    assert.deepEqual(some.skipped, all.skipped);
  }
});

test("[SX154] only the columns asked for are read, in their order", () => {
  const text = '1,x,2\noops,"y\n,",3\n';
  assert.deepEqual(parseCsv(three, text, {}, { columns: [2] }).rows, [[2], [3]]);
  assert.deepEqual(parseCsv(three, text, {}, { columns: [2, 1] }).rows, [
    [2, "x"],
    [3, "y\n,"],
  ]);
  assert.deepEqual(parseCsv(three, text, {}, { columns: [] }).rows, [[], []]);
});

const malformed = "1,x,2\nabc,y,3\n3,z,4.5.6\n4,\n5,u,6,7\n6,v,7\n";

test("[SX155] malformed values: fail", () => {
  assert.throws(() => parseCsv(three, malformed), {
    number: 3002,
    message: /field a is no INT32: 'abc', in the record at byte 6/,
  });
  assert.throws(() => parseCsv(three, "1,\n"), { number: 3002, message: /2 fields only/ });
  assert.throws(() => parseCsv(three, "1,x,2,3\n"), { number: 3002, message: /too many/ });
});

test("[SX155] malformed values: null, and 3002 where NOT NULL", () => {
  const { rows, nulled } = parseCsv(three, malformed, { ON_MALFORMED: "null" });
  assert.deepEqual(rows, [
    [1n, "x", 2],
    [null, "y", 3],
    [3n, "z", null],
    [4n, null, null],
    [5n, "u", 6],
    [6n, "v", 7],
  ]);
  assert.equal(nulled, 3);
  const strict = schemaOf("a INT32!, b VARSIZED!");
  assert.throws(() => parseCsv(strict, "x,y\n", { ON_MALFORMED: "null" }), { number: 3002 });
  assert.throws(() => parseCsv(strict, ",y\n", { ON_MALFORMED: "null" }), { number: 3002 });
  assert.deepEqual(parseCsv(strict, "1,\n", { ON_MALFORMED: "null" }).rows, [[1n, ""]]);
});

test("[SX155] malformed records: skip and dead_letter report bytes, place and reason", () => {
  for (const policy of ["skip", "dead_letter"]) {
    for (const cuts of [[], [3], [8, 9], [20, 30]]) {
      const { rows, skipped } = parseCsv(three, malformed, { ON_MALFORMED: policy }, { cuts });
      assert.deepEqual(rows, [
        [1n, "x", 2],
        [6n, "v", 7],
      ]);
      assert.deepEqual(
        skipped.map(({ record, offset }) => [record, offset]),
        [
          ["abc,y,3", 6],
          ["3,z,4.5.6", 14],
          ["4,", 24],
          ["5,u,6,7", 27],
        ],
      );
      assert.match(skipped[1]?.reason ?? "", /field c is no FLOAT64: '4\.5\.6'/);
    }
  }
});

test("[SX155] a quote that is never closed is malformed at the end", () => {
  const { rows, skipped } = parseCsv(three, '1,x,2\n2,"y,3\n', { ON_MALFORMED: "skip" });
  assert.deepEqual(rows, [[1n, "x", 2]]);
  assert.equal(skipped.length, 1);
});

test("[SX156] what does not fit in the type is malformed", () => {
  const limits: readonly (readonly [string, string, string])[] = [
    ["INT8", "-128", "-129"],
    ["UINT8", "255", "256"],
    ["INT16", "32767", "32768"],
    ["UINT16", "65535", "-1"],
    ["INT32", "-2147483648", "2147483648"],
    ["UINT32", "4294967295", "4294967296"],
    ["INT64", "-9223372036854775808", "9223372036854775808"],
    ["UINT64", "18446744073709551615", "18446744073709551616"],
    ["UINT64", "0xffffffffffffffff", "0x1ffffffffffffffff"],
    ["FLOAT64", "1e308", "1.8e309"],
    ["FLOAT32", "3.4e38", "3.5e38"],
    ["CHAR", "x", "xy"],
    ["BOOLEAN", "TRUE", "yes"],
    ["INT32", "1", "1.0"],
    ["INT32", "1", "1_000"],
    ["INT32", "1", " 1"],
  ];
  for (const [type, good, wrong] of limits) {
    const schema = schemaOf(`v ${type}, w INT32`);
    const { rows } = parseCsv(schema, `${good},1\n${wrong},2\n`, { ON_MALFORMED: "null" });
    assert.notEqual(rows[0]?.[0], null, `${type} ${good}`);
    assert.deepEqual(rows[1], [null, 2n], `${type} ${wrong}`);
    if (type.includes("INT")) assert.equal(rows[0]?.[0], BigInt(good));
  }
});

test("[SX157] invalid UTF-8 in a text is malformed", () => {
  const bytes = Uint8Array.of(49, 44, 0xc3, 0x28, 44, 50, 10);
  assert.throws(() => parseCsv(three, bytes), { number: 3002 });
  assert.deepEqual(parseCsv(three, bytes, { ON_MALFORMED: "null" }).rows, [[1n, null, 2]]);
  assert.deepEqual(parseCsv(three, "1,äöü🎉,2\n").rows, [[1n, "äöü🎉", 2]]);
});

test("[SX158] a record that is too long is refused, in one chunk or many", () => {
  const settings = { RECORD_BYTES_MAX: 1_000, ON_MALFORMED: "skip" };
  const long = `1,${"x".repeat(2_000)},2\n`;
  const cuts = Array.from({ length: 20 }, (_, i) => (i + 1) * 100);
  for (const options of [{}, { cuts }]) {
    assert.throws(() => parseCsv(three, long, settings, options), {
      number: 4000,
      message: /longer than 1000 bytes/,
    });
    const open = `1,"${"x\n".repeat(1_000)}`;
    assert.throws(() => parseCsv(three, open, settings, options), { number: 4000 });
  }
});

test("[SX159] times in ISO 8601 become milliseconds where the setting says so", () => {
  const schema = schemaOf("t UINT64!, u INT64");
  const text = "2026-02-16T12:00:00.000Z,1969-12-31T23:59:59Z\n7,2026-02-16\n";
  assert.deepEqual(parseCsv(schema, text, { ISO_TIMES: true }).rows, [
    [1_771_243_200_000n, -1_000n],
    [7n, 1_771_200_000_000n],
  ]);
  assert.throws(() => parseCsv(schema, text), { number: 3002 });
});

test("[SX160] random values of every type read back, in chunks cut anywhere", () => {
  const schema = schemaOf(
    "a INT8, b UINT8, c INT16, d UINT16, e INT32, f UINT32, g INT64, h UINT64, i FLOAT32, j FLOAT64, k BOOLEAN, l VARSIZED",
  );
  for (let seed = 0; seed < 60; seed += 1) {
    const prng = createPrng(`csv ${seed}`);
    const rows = Array.from({ length: 1 + prng.below(40) }, () =>
      schema.map(({ type }) => (prng.below(6) === 0 ? null : randomValue(prng, type.name))),
    );
    const text = rows.map((row) => `${row.map(fieldOf).join(",")}\n`).join("");
    const bytes = new TextEncoder().encode(text);
    const cuts = Array.from({ length: prng.below(9) }, () => prng.below(bytes.length)).sort(
      (a, b) => a - b,
    );
    assert.deepEqual(parseCsv(schema, bytes, {}, { cuts }).rows, rows, `seed ${seed}`);
  }
});

function fieldOf(value: Plain): string {
  if (value === null) return "";
  if (typeof value === "string") return `"${value.replaceAll('"', '""')}"`;
  return Object.is(value, -0) ? "-0" : String(value);
}

test("[SX160] more rows than a batch holds come in several", () => {
  const text = Array.from({ length: 20_000 }, (_, i) => `${i},t${i},\n`).join("");
  const { rows } = parseCsv(three, text);
  assert.equal(rows.length, 20_000);
  assert.deepEqual(rows[19_999], [19_999n, "t19999", null]);
});

test("[SX160] a record that is complete in spite of its open quote is read once", () => {
  const schema = schemaOf("a VARSIZED, b VARSIZED");
  // The first quote closes in the next line, but no delimiter follows: it is part of the value.
  // The second line has an open quote, too, which nothing closes.
  const text = '1,"x\n"|2,3\n4,5\n';
  const whole = parseCsv(schema, text, { ON_MALFORMED: "skip" });
  assert.deepEqual(whole.rows, [["1", '"x']]);
  assert.equal(whole.skipped.length, 1);
  const cuts = Array.from({ length: text.length - 1 }, (_, at) => at + 1);
  assert.deepEqual(parseCsv(schema, text, { ON_MALFORMED: "skip" }, { cuts }), whole);
});

const overlapping = [
  ["||", "||\n"],
  ["|", "||"],
  ["|", "|x"],
  ["ab", "bx"],
  ['"', "x"],
  [",", '"\n'],
  [",", ","],
  [",", "\n\n"],
  [",", "aba"],
] as const;
for (const [FIELD_DELIMITER, TUPLE_DELIMITER] of overlapping) {
  const names = JSON.stringify([FIELD_DELIMITER, TUPLE_DELIMITER]);
  test(`[SX161] the delimiters ${names} are refused`, () => {
    const settings = { FIELD_DELIMITER, TUPLE_DELIMITER };
    assert.throws(() => parseCsv(schemaOf("a CHAR, b CHAR"), "abx|||\n", settings), {
      number: 1000,
    });
  });
}
