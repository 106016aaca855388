import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng, type Prng } from "../../../../../ground/kernel/prng.ts";
import { DialectError, type Settings } from "../../../language/core/index.ts";
import { type Parsed, parseCsv, parseJson, schemaOf } from "./testing/run-parser.ts";

type Parse = typeof parseCsv;
type Outcome = Parsed | { readonly error: number };

function outcomeOf(parse: () => Parsed): Outcome {
  try {
    return parse();
  } catch (thrown) {
    if (thrown instanceof DialectError) return { error: thrown.number as number };
    throw thrown;
  }
}

/** Which of two errors comes first may depend on the chunks, and nothing else. */
function comparable(outcome: Outcome): unknown {
  return "error" in outcome ? "an error" : outcome;
}

function checkCuts(
  parse: Parse,
  schema: string,
  bytes: Uint8Array,
  settings: Settings,
  places: (all: readonly number[]) => readonly number[] = (all) => all,
): void {
  const fields = schemaOf(schema);
  const whole = comparable(outcomeOf(() => parse(fields, bytes, settings)));
  const everywhere = Array.from({ length: bytes.length - 1 }, (_, at) => at + 1);
  for (const cuts of [everywhere, ...places(everywhere).map((at) => [at])]) {
    const parts = comparable(outcomeOf(() => parse(fields, bytes, settings, { cuts })));
    const text = JSON.stringify(new TextDecoder("latin1").decode(bytes));
    assert.deepEqual(parts, whole, `${text} ${JSON.stringify(settings)} cut at ${cuts.join()}`);
  }
}

const skip = { ON_MALFORMED: "skip" };
const csvCases: readonly (readonly [string, string, string, Settings])[] = [
  [
    "an escape before a kept line end",
    "a CHAR, b CHAR",
    '1,"\\\nx"\n2,y\n',
    { QUOTES: "keep", ESCAPE: "\\" },
  ],
  [
    "an escape before a kept delimiter of two bytes",
    "a INT8, b VARSIZED",
    '1,"\\\r\nx"\r\n2,y\r\n',
    { QUOTES: "keep", ESCAPE: "\\", TUPLE_DELIMITER: "\r\n" },
  ],
  [
    "a quote that closes too far away, and nothing behind it",
    "a VARSIZED",
    `"a\nb\n${"c\n".repeat(9)}"x\n`,
    { RECORD_BYTES_MAX: 12 },
  ],
  [
    "a quote that closes just near enough, and nothing behind it",
    "a VARSIZED",
    '"aaaaa\nbbb"xxxxxxx\n',
    { RECORD_BYTES_MAX: 12 },
  ],
  ["a record as long as may be", "a VARSIZED", '"aaaaa\nbbb"\n', { RECORD_BYTES_MAX: 12 }],
  [
    "a first record as long as may be",
    "a VARSIZED",
    "\ufeffaaaaaaaaaaa\nb\n",
    { RECORD_BYTES_MAX: 12 },
  ],
  [
    "a header that is too long",
    "a VARSIZED",
    `${"h".repeat(200)}\n1\n`,
    { RECORD_BYTES_MAX: 12, HEADER: true },
  ],
  ["a byte order mark alone", "a VARSIZED", "\ufeff", {}],
  [
    "a quoted field too many, and CRLF",
    "a CHAR",
    '1||"2"\r\n3\r\n',
    { FIELD_DELIMITER: "||", ...skip },
  ],
  [
    "a carriage return behind a short record",
    "a VARSIZED, b VARSIZED",
    "x\r\ny,z\r\n",
    { ON_MALFORMED: "null" },
  ],
  [
    "values that became NULL in a record that is not whole",
    "a INT8, b VARSIZED",
    'x,"a\nb"\n',
    { ON_MALFORMED: "null" },
  ],
  [
    "digits as delimiters",
    "a INT8, b INT8",
    "209308",
    { FIELD_DELIMITER: "9", TUPLE_DELIMITER: "0" },
  ],
  [
    "letters as delimiters",
    "a BOOLEAN, b BOOLEAN",
    "trueu1ufalseu0u",
    { FIELD_DELIMITER: ",", TUPLE_DELIMITER: "u", ...skip },
  ],
  [
    "TPC-H",
    "a INT8, b VARSIZED",
    "1|x|\n2||\n|y|\n3|\n",
    { FIELD_DELIMITER: "|", TUPLE_DELIMITER: "|\n", ON_MALFORMED: "null" },
  ],
];
for (const [name, schema, text, settings] of csvCases) {
  test(`[SX150] where chunks end changes nothing: ${name}`, () => {
    checkCuts(parseCsv, schema, new TextEncoder().encode(text), settings);
  });
}

test("[SX150] where chunks end changes nothing: JSON, blanks longer than a record may be", () => {
  const bytes = new TextEncoder().encode(`{"a":1}\n${" ".repeat(200)}\n{"a":2}\n`);
  checkCuts(parseJson, "a INT8", bytes, { RECORD_BYTES_MAX: 12 });
});

test("[SX158] a long record in small chunks takes time in proportion to its length", () => {
  const long = "x".repeat(4_000_000);
  const lines = "0123456789\n".repeat(150_000);
  for (const [text, want] of [
    [`1,${long}\n2,y\n`, long],
    [`1,"${lines}"\n2,y\n`, lines],
    [`1,"${long}""${long}"\n2,y\n`, `${long}"${long}`],
  ] as const) {
    const cuts = Array.from({ length: Math.floor(text.length / 100) }, (_, at) => at * 100);
    const { rows } = parseCsv(schemaOf("a INT8, b VARSIZED"), text, {}, { cuts });
    assert.equal(rows.length, 2);
    assert.ok(rows[0]?.[1] === want);
  }
  const json = `{"a":"${long}"}\n{"a":"y"}\n`;
  const cuts = Array.from({ length: Math.floor(json.length / 100) }, (_, at) => at * 100);
  assert.equal(parseJson(schemaOf("a VARSIZED"), json, {}, { cuts }).rows.length, 2);
});

/** Texts of few different bytes, nearly all of which mean something to the parser. */
function drawBytes(prng: Prng, alphabet: readonly string[]): Uint8Array {
  const pieces = Array.from({ length: 1 + prng.below(40) }, () => pick(prng, alphabet));
  const mark = prng.below(8) === 0 ? "\ufeff" : "";
  return new TextEncoder().encode(mark + pieces.join(""));
}

function pick<T>(prng: Prng, items: readonly T[]): T {
  return items[prng.below(items.length)] as T;
}

const policies = ["fail", "null", "skip", "dead_letter"];

test("[SX160] where chunks end changes nothing: random CSV", () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const prng = createPrng(`chunks csv ${seed}`);
    const field = pick(prng, [",", ",", "||", "1", "|", "ab"]);
    const tuples = ["\n", "\n", "\r\n", "x", "ba", "0", "|\n", "||\n"];
    const tuple = pick(prng, tuples);
    const settings: Settings = {
      FIELD_DELIMITER: field,
      TUPLE_DELIMITER: tuple,
      QUOTES: pick(prng, ["strip", "keep"]),
      ON_MALFORMED: pick(prng, policies),
      HEADER: prng.below(6) === 0,
      ...(prng.below(2) === 0 ? { ESCAPE: "\\" } : {}),
      ...(prng.below(2) === 0 ? { RECORD_BYTES_MAX: 4 + prng.below(16) } : {}),
    };
    const schema = pick(prng, [
      "a VARSIZED",
      "a INT32, b VARSIZED",
      "a VARSIZED, b BOOLEAN, c FLOAT64",
      "a CHAR, b INT64, c VARSIZED!",
    ]);
    const alphabet = [field, tuple, tuple, '"', '"', "\\", "\r", "\n", "a", "1", "x", "true", "é"];
    const some = (all: readonly number[]) => all.filter(() => prng.below(8) === 0);
    checkCuts(parseCsv, schema, drawBytes(prng, alphabet), settings, some);
  }
});

test("[SX180] where chunks end changes nothing: random JSON", () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const prng = createPrng(`chunks json ${seed}`);
    const tuple = pick(prng, ["\n", "\n", "\r\n", "\u001e"]);
    const settings: Settings = {
      TUPLE_DELIMITER: tuple,
      ON_MALFORMED: pick(prng, policies),
      ...(prng.below(2) === 0 ? { RECORD_BYTES_MAX: 4 + prng.below(30) } : {}),
    };
    const schema = pick(prng, ["a VARSIZED", "a INT32, b VARSIZED", "a CHAR!, b FLOAT64"]);
    const records = ['{"a":1}', '{"b":"x","a":"y"}', '{"A":true,"a":null}', "{}", '{"a":"\\"'];
    const alphabet = [...records, ...records, tuple, tuple, tuple, " ", "\r", '"', "\\", "{", "}"];
    const some = (all: readonly number[]) => all.filter(() => prng.below(8) === 0);
    checkCuts(parseJson, schema, drawBytes(prng, alphabet), settings, some);
  }
});
