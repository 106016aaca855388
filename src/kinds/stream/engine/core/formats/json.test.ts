import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import type { Schema, Settings } from "../../../language/core/index.ts";
import type { Plain } from "../expressions/testing/naive-expr.ts";
import { batchOf } from "../expressions/testing/plain-batch.ts";
import { randomValue } from "../expressions/testing/random-expr.ts";
import { compileJsonWriter } from "./compile-json-writer.ts";
import { jsonOutputSettings } from "./settings.ts";
import { parseJson, schemaOf } from "./testing/run-parser.ts";

const three = schemaOf("a INT64, b VARSIZED, c FLOAT64");

const cases: readonly {
  readonly name: string;
  readonly text: string;
  readonly settings?: Settings;
  readonly fields?: string;
  readonly schema?: Schema;
  readonly want: readonly (readonly Plain[])[];
}[] = [
  {
    name: "[SX180] one object in a line",
    text: '{"a":1,"b":"x","c":2.5}\n{"a":-2,"b":"y","c":3}\n',
    want: [
      [1n, "x", 2.5],
      [-2n, "y", 3],
    ],
  },
  {
    name: "[SX180] blanks, empty lines, CRLF and a missing last line end",
    text: ' { "a" : 1 ,\t"b":"x" , "c": 2 } \r\n\n{"a":2,"b":"y","c":3}',
    want: [
      [1n, "x", 2],
      [2n, "y", 3],
    ],
  },
  {
    name: "[SX180] a byte order mark is left out",
    text: '\ufeff{"a":1,"b":"x","c":2}\n',
    want: [[1n, "x", 2]],
  },
  {
    name: "[SX180] another delimiter, and line feeds between",
    text: '{"a":1,\n"b":"x","c":2}\u001e{"a":2,"b":"y","c":{}\u001e',
    settings: { TUPLE_DELIMITER: "\u001e", ON_MALFORMED: "null" },
    want: [
      [1n, "x", 2],
      [2n, "y", null],
    ],
  },
  {
    name: "[SX181] any order of keys",
    text: '{"c":2,"a":1,"b":"x"}\n{"b":"y","c":3,"a":2}\n{"b":"z","c":4,"a":3}\n',
    want: [
      [1n, "x", 2],
      [2n, "y", 3],
      [3n, "z", 4],
    ],
  },
  {
    name: "[SX181] other keys are skipped, with whatever they hold",
    text: '{"z":[1,{"a":5}],"a":1,"y":{"b":"}{"},"b":"x","c":2,"w":null,"v":"\\""}\n',
    want: [[1n, "x", 2]],
  },
  {
    name: "[SX181] keys match exactly, else in any case",
    text: '{"A":1,"B":"x","C":2}\n{"a":1,"A":7,"B":"x","b":"y","c":3}\n',
    want: [
      [1n, "x", 2],
      [1n, "y", 3],
    ],
  },
  {
    name: "[SX181] of a key that comes twice the last value counts",
    text: '{"a":1,"a":2,"b":"long","b":"s","c":null,"c":3}\n',
    want: [[2n, "s", 3]],
  },
  { name: "[SX181] escapes in keys", text: '{"\\u0061":1,"b":"x","c":2}\n', want: [[1n, "x", 2]] },
  {
    name: "[SX182] a missing key and null are NULL",
    text: '{"a":1}\n{"b":null,"a":null,"c":null}\n{}\n',
    want: [
      [1n, null, null],
      [null, null, null],
      [null, null, null],
    ],
  },
  {
    name: "[SX183] escapes in strings",
    text: '{"a":1,"b":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\u4f60\\ud83c\\udf89 \\ud83c.","c":2}\n',
    want: [[1n, '"\\/\b\f\n\r\tä你🎉 \ufffd.', 2]],
  },
  {
    name: "[SX183] UTF-8 in strings",
    text: '{"a":1,"b":"äöü🎉","c":2}\n',
    want: [[1n, "äöü🎉", 2]],
  },
  {
    name: "[SX183] a text takes other values as they are written",
    text: '{"a":1,"b":{"x": [1, "y"]},"c":2}\n{"a":1,"b":12.50,"c":2}\n{"a":1,"b":true,"c":2}\n',
    want: [
      [1n, '{"x": [1, "y"]}', 2],
      [1n, "12.50", 2],
      [1n, "true", 2],
    ],
  },
  {
    name: "[SX184] numbers",
    text: '{"a":-9223372036854775808,"b":"","c":1e3}\n{"a":0,"b":"","c":-0.25E-2}\n',
    want: [
      [-(2n ** 63n), "", 1_000],
      [0n, "", -0.0025],
    ],
  },
  {
    name: "[SX185] paths",
    fields: "id UINT64, city VARSIZED, u VARSIZED",
    text: '{"user":{"id":7,"home":{"the city":"Ulm"}},"x":1}\n{"user":null}\n{"user":{"home":5,"id":8}}\n',
    settings: {
      "FIELD.id": "$.user.id",
      "field.City": "$.user.home['the city']",
      "FIELD.u": "$.user",
    },
    want: [
      [7n, "Ulm", '{"id":7,"home":{"the city":"Ulm"}}'],
      [null, null, null],
      [8n, null, '{"home":5,"id":8}'],
    ],
  },
  {
    name: "[SX185] a name with slashes is a path",
    schema: [
      { name: "FARM_ID", type: { name: "UINT32", nullable: true } },
      { name: "milk/cycles/LEFT", type: { name: "UINT32", nullable: true } },
    ],
    text: '{"MILK":{"CYCLES":{"LEFT":3}},"FARM_ID":42}\n{"FARM_ID":43}\n{"MILK":null}\n',
    want: [
      [42n, 3n],
      [43n, null],
      [null, null],
    ],
  },
];

for (const { name, text, settings, fields, schema: given, want } of cases) {
  test(name, () => {
    const schema = given ?? (fields === undefined ? three : schemaOf(fields));
    assert.deepEqual(parseJson(schema, text, settings).rows, want);
    const bytes = new TextEncoder().encode(text);
    for (let place = 0; place <= bytes.length; place += 1) {
      const { rows } = parseJson(schema, bytes, settings, { cuts: [place] });
      assert.deepEqual(rows, want, `cut after byte ${place}`);
    }
    assert.deepEqual(
      parseJson(schema, bytes, settings, { cuts: Array.from(bytes.keys()) }).rows,
      want,
    );
  });
}

test("[SX182] a missing key of a NOT NULL field is error 2004, null is 3002", () => {
  const strict = schemaOf("a INT64!, b VARSIZED!");
  for (const policy of ["fail", "null"]) {
    const settings = { ON_MALFORMED: policy };
    assert.throws(() => parseJson(strict, '{"a":1}\n', settings), { number: 2004 });
    assert.throws(() => parseJson(strict, '{"a":null,"b":""}\n', settings), { number: 3002 });
  }
  const { rows, skipped } = parseJson(strict, '{"a":1}\n{"a":2,"b":""}\n', {
    ON_MALFORMED: "skip",
  });
  assert.deepEqual(rows, [[2n, ""]]);
  assert.deepEqual(
    skipped.map(({ record, offset }) => [record, offset]),
    [['{"a":1}', 0]],
  );
});

const wrong = [
  '{"a":"1","b":"x","c":2}',
  '{"a":1.0,"b":"x","c":2}',
  '{"a":{"a":1},"b":"x","c":2}',
  '{"a":99999999999999999999,"b":"x","c":2}',
  '{"a":1,"b":"x","c":"2"}',
  '{"a":1,"b":"\\ud8","c":2}',
];

test("[SX184] values of another type are malformed", () => {
  for (const line of wrong) {
    assert.throws(() => parseJson(three, `${line}\n`), { number: 3002 }, line);
    const { rows, nulled } = parseJson(three, `${line}\n`, { ON_MALFORMED: "null" });
    assert.equal(nulled, 1, line);
    assert.equal(rows[0]?.filter((value) => value === null).length, 1, line);
    const skipped = parseJson(three, `${line}\n{"a":1}\n`, { ON_MALFORMED: "dead_letter" });
    assert.deepEqual([skipped.rows, skipped.skipped[0]?.record], [[[1n, null, null]], line]);
  }
});

test("[SX186] a record that is no object is malformed as a whole", () => {
  const lines = [
    "[1]",
    "7",
    '{"a":1',
    '{"a":1}}',
    '{"a" 1}',
    '{"a":1,}',
    "{a:1}",
    '{"b":"x\n"}',
    '{"a":1}{"a":2}',
    "}",
  ];
  for (const line of lines) {
    assert.throws(() => parseJson(three, `${line}\n`), { number: 3002 }, line);
    const { rows, skipped } = parseJson(three, `{"a":1}\n${line}\n{"a":2}\n`, {
      ON_MALFORMED: "skip",
    });
    assert.deepEqual(rows.at(0), [1n, null, null], line);
    assert.deepEqual(rows.at(-1), [2n, null, null], line);
    assert.ok(skipped.length >= 1, line);
  }
});

test("[SX180] a record that is too long is refused", () => {
  const settings = { RECORD_BYTES_MAX: 100, ON_MALFORMED: "skip" };
  assert.throws(() => parseJson(three, `{"b":"${"x".repeat(200)}"}\n`, settings), { number: 4000 });
});

test("[SX185] what is no path is refused", () => {
  for (const path of ["user.id", "$", "$.", "$.a..b", "$[0]", "$.a[*]"]) {
    assert.throws(() => parseJson(three, "", { "FIELD.a": path }), { number: 1000 }, path);
  }
  assert.throws(() => parseJson(three, "", { TUPLE_DELIMITER: ";" }), { number: 1000 });
});

function write(
  fields: string,
  rows: readonly (readonly Plain[])[],
  settings: Settings = {},
): string {
  const schema = schemaOf(fields);
  const writer = compileJsonWriter(schema, jsonOutputSettings(settings));
  return new TextDecoder().decode(writer.write(batchOf(schema, rows)));
}

test("[SX190] rows become objects; NULL and floats that are no numbers become null", () => {
  const rows = [
    [1n, 'say "hi"\\\n\u0001ä', 2.5, true, 34],
    [null, null, Number.NaN, null, null],
  ];
  assert.equal(
    write('id INT64, te"xt VARSIZED, f FLOAT64, g BOOLEAN, h CHAR', rows),
    '{"id":1,"te\\"xt":"say \\"hi\\"\\\\\\n\\u0001ä","f":2.5,"g":true,"h":"\\""}\n{"id":null,"te\\"xt":null,"f":null,"g":null,"h":null}\n',
  );
  assert.equal(write("f FLOAT64", [[1 / 3]], { FLOATS: "fixed" }), '{"f":0.333333}\n');
});

test("[SX191] random rows that were written read back, and JSON.parse reads the same", () => {
  const fields =
    "a INT8, b UINT8, c INT16, d UINT16, e INT32, f UINT32, g INT64, h UINT64, i FLOAT32, j FLOAT64, k BOOLEAN, l VARSIZED";
  const schema = schemaOf(fields);
  for (let seed = 0; seed < 60; seed += 1) {
    const prng = createPrng(`json ${seed}`);
    const rows = Array.from({ length: 1 + prng.below(40) }, () =>
      schema.map(({ type }) => {
        const value = prng.below(6) === 0 ? null : randomValue(prng, type.name);
        return typeof value === "number" && !Number.isFinite(value) ? null : value;
      }),
    );
    const text = write(fields, rows);
    const cuts = Array.from({ length: prng.below(9) }, () => prng.below(text.length)).sort(
      (a, b) => a - b,
    );
    assert.deepEqual(parseJson(schema, text, {}, { cuts }).rows, rows, `seed ${seed}`);
    text
      .trimEnd()
      .split("\n")
      .forEach((line, index) => {
        const values: unknown[] = Object.values(JSON.parse(line) as object);
        assert.equal(values[11], rows[index]?.[11]);
        assert.equal(values[9], rows[index]?.[9]);
      });
  }
});

test("[SX180] a line feed ends a record behind a backslash and in a CHAR, too", () => {
  const schema = schemaOf("a VARSIZED, b CHAR");
  const text = '{"a":"x\\\n","b":"y"}\n{"b":"\n"}\n{"a":"z","b":"c"}\n';
  const whole = parseJson(schema, text, { ON_MALFORMED: "skip" });
  assert.deepEqual(whole.rows, [["z", 99]]);
  assert.equal(whole.skipped.length, 4);
  const cuts = Array.from({ length: text.length - 1 }, (_, at) => at + 1);
  assert.deepEqual(parseJson(schema, text, { ON_MALFORMED: "skip" }, { cuts }), whole);
});

test("[SX161] a delimiter of records that overlaps itself is refused", () => {
  const read = (): unknown => parseJson(three, "{}\n\n\n{}", { TUPLE_DELIMITER: "\n\n" });
  assert.throws(read, { number: 1000 });
});

test("[SX186] the field at which a record breaks off is NULL, not what another row has there", () => {
  const text = '{"a":7,"b":"x","c":2.5}\n{"a":8,"c":-,"b":"y"}\n{"c":3,"a":nul}\n';
  const { rows } = parseJson(three, text, { ON_MALFORMED: "null" });
  assert.deepEqual(rows, [
    [7n, "x", 2.5],
    [8n, null, null],
    [null, null, 3],
  ]);
});
