/**
 * Fuzzed records: CSV and JSON under every policy and many settings. Whatever is thrown must be a
 * DialectError; texts that come out are UTF-8; and how the bytes are cut into chunks changes
 * nothing.
 */
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";
import {
  type Batch,
  createRecordParser,
  type RecordParser,
} from "../../src/kinds/stream/engine/core/index.ts";
import { toRows } from "../../src/kinds/stream/engine/testing/rows.ts";
import {
  DialectError,
  notNull,
  nullable,
  type Schema,
  type Settings,
  type SourceOp,
  type TypeName,
} from "../../src/kinds/stream/language/core/index.ts";
import { type BlockAnswer, type BlockRequest, Counts, cpuMs, type Failure } from "./block.ts";

const policies = ["fail", "null", "skip", "dead_letter"] as const;
const allTypes: readonly TypeName[] = [
  ...(["INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"] as const),
  ...(["FLOAT32", "FLOAT64", "BOOLEAN", "CHAR", "VARSIZED"] as const),
];
const encoder = new TextEncoder();
/** CPU time that no buffer of records may take. */
const slowMs = 500;

function drawSource(prng: Prng): SourceOp {
  const count = 1 + prng.below(6);
  // With NULL as the cure of all, a column that is NOT NULL would end most parsers at once.
  const strictness = prng.below(4);
  const record: Schema = Array.from({ length: count }, (_, index) => {
    const strict = strictness === 0 && prng.below(3) === 0;
    const name = allTypes[prng.below(allTypes.length)] as TypeName;
    return { name: `c${index}`, type: strict ? notNull(name) : nullable(name) };
  });
  const columns = record.map((_, index) => index).filter(() => prng.below(6) !== 0);
  const isJson = prng.below(2) === 0;
  const pick = <T>(items: readonly T[]): T => items[prng.below(items.length)] as T;
  const shared: Settings = {
    ON_MALFORMED: pick(policies),
    ISO_TIMES: prng.below(4) === 0,
    ...(prng.below(4) === 0 ? { RECORD_BYTES_MAX: pick([64, 64, 8 + prng.below(100)]) } : {}),
  };
  const csv: Settings = {
    TYPE: "CSV",
    FIELD_DELIMITER: pick([",", ",", ",", ";", "|", "||", "\t", "ab", "1", "e"]),
    TUPLE_DELIMITER: pick(["\n", "\n", "\n", "\r\n", "|\n", ";\n", "x", "ba", "0", "1,"]),
    QUOTES: pick(["strip", "keep"]),
    ...(prng.below(3) === 0 ? { ESCAPE: "\\" } : {}),
    HEADER: prng.below(6) === 0,
  };
  const json: Settings = {
    TYPE: "JSON",
    TUPLE_DELIMITER: pick(["\n", "\n", "\u001e", "\n\n"]),
    ...(prng.below(3) === 0 ? { "FIELD.c0": pick(["$.a.b", "$.a['x y']", "$.c0"]) } : {}),
  };
  const parser = { ...shared, ...(isJson ? json : csv) };
  return {
    ...{ kind: "source", name: "fuzz", type: "File", config: {}, parser, record, columns },
    ingestionTime: false,
  };
}

const cells = [
  ...["0", "1", "-1", "127", "128", "255", "256", "65536", "4294967296", "18446744073709551615"],
  ...["18446744073709551616", "-9223372036854775808", "-9223372036854775809", "1.5", "-0", "1e308"],
  ...[
    "1e309",
    "4.9e-324",
    "nan",
    "inf",
    "-Infinity",
    "0x1f",
    "0xg",
    "true",
    "FALSE",
    "1e",
    ".",
    "-",
  ],
  ...[
    "",
    " ",
    "a",
    "abc",
    "äöü",
    "😀",
    "\u0000",
    '"',
    '""',
    '"a"',
    '"a,b"',
    '"a""b"',
    '"a\nb"',
    '"a',
  ],
  ...["2024-05-01T10:00:00Z", "2024-02-30", "9999-12-31T23:59:59.999999Z", "+00:00", "\\", '\\"'],
  ...["9".repeat(40), `0.${"1".repeat(60)}`, "x".repeat(90), "1_000", "0001", "+5", "--5", "1 "],
];
/** What means something to a parser, at places where it should not stand. */
const csvPieces = ['"', '"', '""', "\\", "\r", "\n", "\r\n", "|", "a", "1", "0", "true", "é"];
const jsonValues = [
  ...["null", "true", "false", "0", "-1", "1.5e10", "1e999", "01", "1.", "-", '""', '"a"', '"ä😀"'],
  ...[
    '"\\u0041"',
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"\\x"',
    '"a\\',
    "{}",
    "[]",
    '{"b":1}',
    "[[[1]]]",
  ],
  ...['{"b":{"c":[1,{"d":null}]}}', "nul", "tru", "'a'", "18446744073709551616", '"2024-05-01"'],
  ...["[".repeat(60), '{"x y":3}', '"unterminated', "undefined", "NaN", "0x10", "1,2", "é"],
];
const jsonKeys = ["c0", "c1", "c2", "C1", "a", "A", "x", "", "c0\\u0030", "__proto__", "c3", "c4"];

function drawRecord(op: SourceOp, prng: Prng): string {
  const pick = <T>(items: readonly T[]): T => items[prng.below(items.length)] as T;
  const settings = op.parser as Record<string, string>;
  if (settings.TYPE === "CSV") {
    if (prng.below(6) === 0) {
      const { FIELD_DELIMITER = "", TUPLE_DELIMITER = "" } = settings;
      const pieces = [FIELD_DELIMITER, FIELD_DELIMITER, TUPLE_DELIMITER, ...csvPieces];
      return Array.from({ length: prng.below(12) }, () => pick(pieces)).join("");
    }
    const fields = op.record.map(() => pick(cells));
    if (prng.below(10) === 0) fields.push(pick(cells));
    if (prng.below(10) === 0) fields.pop();
    return fields.join(settings.FIELD_DELIMITER);
  }
  const count = prng.below(6);
  const pairs = Array.from({ length: count }, () => `"${pick(jsonKeys)}":${pick(jsonValues)}`);
  const text = `{${pairs.join(",")}}`;
  return prng.below(12) === 0 ? pick(["", "[]", "{", "}", "{,}", "null", `${text}${text}`]) : text;
}

/** Bytes of some records, a few of them damaged anywhere. */
function drawBytes(op: SourceOp, count: number, prng: Prng): Uint8Array {
  const delimiter = String(op.parser.TUPLE_DELIMITER);
  const records = Array.from({ length: count }, () => drawRecord(op, prng));
  const mark = prng.below(16) === 0 ? "\ufeff" : "";
  const last = prng.below(2) === 0 ? delimiter : "";
  const bytes = encoder.encode(mark + records.join(delimiter) + last);
  for (let left = prng.below(6); left > 0; left -= 1) {
    bytes[prng.below(bytes.length)] = prng.below(256);
  }
  return bytes;
}

interface Outcome {
  readonly rows: readonly string[];
  /** Place, reason and bytes of each record that was left out. */
  readonly skipped: readonly string[];
  readonly nulled: number;
  readonly error: number | undefined;
  readonly broken: string | undefined;
}

const strict = new TextDecoder("utf-8", { fatal: true });

function parse(op: SourceOp, bytes: Uint8Array, keeps: boolean, prng: Prng): Outcome {
  const rows: string[] = [];
  const skipped: string[] = [];
  let nulled = 0;
  let broken: string | undefined;
  const emit = (batch: Batch): void => {
    broken ??= damageOf(batch);
    if (!keeps) return;
    for (const row of toRows(batch)) {
      rows.push(row.map((value) => (Object.is(value, -0) ? "-0" : String(value))).join("|"));
    }
  };
  let parser: RecordParser | undefined;
  try {
    parser = createRecordParser(op, {
      emit,
      malformed: {
        skipped: (record, offset, reason) => {
          if (keeps) skipped.push(`${offset} ${reason} ${Buffer.from(record).toString("latin1")}`);
        },
        nulled: (count) => {
          nulled += count;
        },
      },
    });
    const isWhole = keeps && prng.below(4) === 0;
    for (let at = 0; at < bytes.length; ) {
      const drawn = prng.below(4) === 0 ? 1 + prng.below(3) : 1 + prng.below(400);
      const length = isWhole ? bytes.length : drawn;
      // What was pushed is valid during the call only.
      const chunk = bytes.slice(at, at + length);
      parser.push(chunk);
      chunk.fill(255);
      if (prng.below(4) === 0) parser.flush();
      at += length;
    }
    parser.end();
    return { rows, skipped, nulled, error: undefined, broken };
  } catch (thrown) {
    const error = thrown instanceof DialectError ? thrown.number : undefined;
    if (error === undefined) {
      broken = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    }
    return { rows, skipped, nulled, error, broken };
  }
}

/** What is wrong with a batch; `undefined` where nothing is. */
function damageOf({ rowCount, columns }: Batch): string | undefined {
  if (rowCount > 8_192) return `a batch of ${rowCount} rows`;
  for (const column of columns) {
    if (column.kind !== "text") continue;
    const { offsets, bytes } = column;
    for (let row = 0; row < rowCount; row += 1) {
      if ((offsets[row + 1] as number) < (offsets[row] as number)) return "offsets go back";
    }
    try {
      strict.decode(bytes.subarray(offsets[0], offsets[rowCount]));
    } catch {
      return "a text that is no UTF-8";
    }
  }
  return undefined;
}

const buffersOfSource = 40;

export function fuzzRecords({ seed, block, cases }: BlockRequest): BlockAnswer {
  const prng = createPrng(`${seed}/records/${block}`);
  const counts = new Counts();
  const failures: Failure[] = [];
  let slowestMs = 0;
  let slowest = "";
  let done = 0;
  while (done < cases) {
    const op = drawSource(prng);
    const { TYPE, ON_MALFORMED } = op.parser;
    const isStrict = ON_MALFORMED === "fail";
    for (let buffer = 0; buffer < buffersOfSource && done < cases; buffer += 1) {
      // The first malformed record ends a parser that fails: what stands behind it is not read.
      const count = isStrict ? 1 + prng.below(3) : 60;
      const bytes = drawBytes(op, count, prng);
      const compares = prng.below(8) === 0;
      const started = performance.now();
      const startedCpu = cpuMs();
      const outcome = parse(op, bytes, compares, prng);
      const again = compares ? parse(op, bytes, true, prng) : outcome;
      const read = outcome.error === undefined ? count : 1;
      done += read;
      counts.add(`${TYPE} ${ON_MALFORMED}`, read);
      counts.add(outcome.error === undefined ? "buffers read" : `error ${outcome.error}`);
      const say = (what: string): void => {
        const hex = Buffer.from(bytes).toString("base64");
        failures.push({ text: `block ${block}: ${what}\n${JSON.stringify(op)}\nbase64 ${hex}` });
      };
      if (outcome.broken !== undefined) say(outcome.broken);
      else if (!isSame(outcome, again)) say(`chunks change the result: ${change(outcome, again)}`);
      if (performance.now() - started <= slowestMs) continue;
      const tookMs = cpuMs() - startedCpu;
      if (tookMs > slowestMs) [slowestMs, slowest] = [tookMs, JSON.stringify(op)];
      if (tookMs > slowMs) say(`${tookMs.toFixed(0)} ms`);
    }
  }
  return { cases: done, failures, counts: counts.all, slowestMs, slowest };
}

/** The first difference, for people. */
function change(one: Outcome, other: Outcome): string {
  const at = one.rows.findIndex((row, index) => row !== other.rows[index]);
  const left = one.skipped.findIndex((record, index) => record !== other.skipped[index]);
  const short = ({ rows, skipped, nulled, error }: Outcome): string =>
    [
      `${rows.length} rows, ${skipped.length} skipped, ${nulled} nulled, error ${error ?? "none"}`,
      `row ${at}: ${rows[at]}, record left out ${left}: ${skipped[left]}`,
    ].join(", ");
  return `${short(one)}; ${short(other)}`;
}

/**
 * Rows before an error may have been emitted or not, and which of two errors comes first depends
 * on the chunks: a record that is too long is noticed before it ends.
 */
function isSame(one: Outcome, other: Outcome): boolean {
  if (one.broken !== other.broken) return false;
  if (one.error !== undefined && other.error !== undefined) return true;
  if (one.error !== other.error) return false;
  if (one.nulled !== other.nulled || one.skipped.join("\n") !== other.skipped.join("\n"))
    return false;
  return one.rows.join("\n") === other.rows.join("\n");
}
