/** What a person can set about formats, typed, and how it is read from the settings of a plan. */
import { DialectError, type Settings } from "../../../language/core/index.ts";

/**
 * What happens to a value that is malformed. `fail`: error 3002. `null`: it becomes NULL, and error
 * 3002 where the field is NOT NULL. `skip` and `dead_letter`: its record is left out and reported.
 */
export type MalformedPolicy = "fail" | "null" | "skip" | "dead_letter";

export interface CsvInputSettings {
  /** At least one byte each. */
  readonly fieldDelimiter: Uint8Array;
  readonly tupleDelimiter: Uint8Array;
  /**
   * `strip`: quotes around a field are no part of the value, and a quoted field may hold tuple
   * delimiters. `keep`: they are part of it, and every tuple delimiter ends a record.
   */
  readonly quotes: "strip" | "keep";
  /** The byte that takes the meaning from the next one inside of quotes; a doubled quote always
   * stands for one. */
  readonly escape: number | undefined;
  readonly onMalformed: MalformedPolicy;
  /** Whether the first record holds names and is left out. */
  readonly header: boolean;
  /** Whether fields of 64-bit integers may hold ISO 8601 times, which become milliseconds. */
  readonly isoTimes: boolean;
  readonly recordBytesMax: number;
}

export interface JsonInputSettings {
  readonly tupleDelimiter: Uint8Array;
  readonly onMalformed: MalformedPolicy;
  readonly isoTimes: boolean;
  readonly recordBytesMax: number;
  /** The path of a field, like `$.user.id`, by the field's name in capitals. */
  readonly paths: ReadonlyMap<string, string>;
}

/** `fixed`: six decimals, zeros at the end left out but for one. `shortest`: reads back equal. */
export type FloatFormat = "fixed" | "shortest";

/** Names as they are declared, or in capital letters. */
export type NameFormat = "declared" | "upper";

export interface CsvOutputSettings {
  readonly fieldDelimiter: Uint8Array;
  readonly tupleDelimiter: Uint8Array;
  /** `needed`: where a text would not read back as itself. */
  readonly quoteStrings: "always" | "needed" | "never";
  readonly floats: FloatFormat;
  readonly names: NameFormat;
  readonly nullText: string;
  /** Whether a line with the fields' names comes first. */
  readonly header: boolean;
}

export interface JsonOutputSettings {
  readonly tupleDelimiter: Uint8Array;
  readonly floats: FloatFormat;
  readonly names: NameFormat;
}

const encoder = new TextEncoder();
const recordBytesDefault = 16 * 1_024 * 1_024;

export function csvInputSettings(settings: Settings): CsvInputSettings {
  const read = reader(settings);
  const fieldDelimiter = read.bytes("FIELD_DELIMITER", ",");
  const tupleDelimiter = read.bytes("TUPLE_DELIMITER", "\n");
  refuseOverlap(fieldDelimiter, tupleDelimiter);
  refuseSelfOverlap(tupleDelimiter);
  refuseQuotes("FIELD_DELIMITER", fieldDelimiter);
  refuseQuotes("TUPLE_DELIMITER", tupleDelimiter);
  return {
    fieldDelimiter,
    tupleDelimiter,
    quotes: read.choice("QUOTES", ["strip", "keep"]),
    escape: read.text("ESCAPE", "") === "" ? undefined : read.bytes("ESCAPE", "\\")[0],
    onMalformed: malformedPolicy(settings),
    header: read.flag("HEADER", false),
    isoTimes: read.flag("ISO_TIMES", false),
    recordBytesMax: read.count("RECORD_BYTES_MAX", recordBytesDefault),
  };
}

/**
 * A record could end inside of the delimiter of its fields, and nobody would see where. A whole
 * one may begin the delimiter of records, as in `|` and `|` with a line feed: where that goes on
 * with a control character, what begins there is the longer of both.
 */
function refuseOverlap(field: Uint8Array, tuple: Uint8Array): void {
  const isLonger = beginsWith(tuple, field) && (tuple[field.length] as number) < 32;
  for (let from = isLonger ? 1 : 0; from < field.length; from += 1) {
    const rest = field.subarray(from, from + tuple.length);
    if (!rest.every((byte, at) => byte === tuple[at])) continue;
    throw new DialectError(1000, "FIELD_DELIMITER and TUPLE_DELIMITER overlap", {
      hint: "No end of the first may be a beginning of the second, but for '|' and '|\\n' and their like.",
    });
  }
}

/** Whether a delimiter goes on behind another one that it begins with. */
export function beginsWith(longer: Uint8Array, shorter: Uint8Array): boolean {
  return longer.length > shorter.length && shorter.every((byte, at) => byte === longer[at]);
}

/** A quote that ends a field would begin a delimiter. */
function refuseQuotes(key: string, delimiter: Uint8Array): void {
  if (!delimiter.includes(34)) return;
  throw new DialectError(1000, `${key} contains a double quote, which encloses fields`);
}

/** In a row of such delimiters, where one of them begins depends on where a chunk begins. */
function refuseSelfOverlap(tuple: Uint8Array): void {
  for (let from = 1; from < tuple.length; from += 1) {
    if (!tuple.subarray(from).every((byte, at) => byte === tuple[at])) continue;
    throw new DialectError(1000, "TUPLE_DELIMITER overlaps itself", {
      hint: "No end of it may be its beginning: empty lines between records are left out anyway.",
    });
  }
}

export function jsonInputSettings(settings: Settings): JsonInputSettings {
  const read = reader(settings);
  const paths = new Map<string, string>();
  for (const [key, value] of Object.entries(settings)) {
    const name = /^FIELD\.(.+)$/is.exec(key)?.[1];
    if (name !== undefined) paths.set(name.toUpperCase(), String(value));
  }
  const tupleDelimiter = read.bytes("TUPLE_DELIMITER", "\n");
  refuseSelfOverlap(tupleDelimiter);
  if ((tupleDelimiter[0] as number) >= 32) {
    throw new DialectError(1000, "TUPLE_DELIMITER of JSON must begin with a control character", {
      hint: "Strings may hold every other one: use '\\n', or a record separator.",
    });
  }
  return {
    tupleDelimiter,
    onMalformed: malformedPolicy(settings),
    isoTimes: read.flag("ISO_TIMES", false),
    recordBytesMax: read.count("RECORD_BYTES_MAX", recordBytesDefault),
    paths,
  };
}

export function csvOutputSettings(settings: Settings): CsvOutputSettings {
  const read = reader(settings);
  const quotes = read.choice("QUOTE_STRINGS", ["needed", "true", "false"]);
  return {
    fieldDelimiter: read.bytes("FIELD_DELIMITER", ","),
    tupleDelimiter: read.bytes("TUPLE_DELIMITER", "\n"),
    quoteStrings: quotes === "true" ? "always" : quotes === "false" ? "never" : "needed",
    floats: read.choice("FLOATS", ["shortest", "fixed"]),
    names: read.choice("NAMES", ["declared", "upper"]),
    nullText: read.text("NULL_TEXT", "NULL"),
    header: read.flag("HEADER", false),
  };
}

/** The name as the setting wants it written. */
export function writtenName(name: string, names: NameFormat): string {
  return names === "upper" ? name.toUpperCase() : name;
}

export function jsonOutputSettings(settings: Settings): JsonOutputSettings {
  const read = reader(settings);
  return {
    tupleDelimiter: read.bytes("TUPLE_DELIMITER", "\n"),
    floats: read.choice("FLOATS", ["shortest", "fixed"]),
    names: read.choice("NAMES", ["declared", "upper"]),
  };
}

function malformedPolicy(settings: Settings): MalformedPolicy {
  return reader(settings).choice("ON_MALFORMED", ["fail", "null", "skip", "dead_letter"]);
}

interface SettingsReader {
  text(key: string, otherwise: string): string;
  bytes(key: string, otherwise: string): Uint8Array;
  flag(key: string, otherwise: boolean): boolean;
  count(key: string, otherwise: number): number;
  /** The first choice is the default. */
  choice<const T extends string>(key: string, choices: readonly [T, ...T[]]): T;
}

/** Keys are found in any case. What is wrong with a value is error 1000. */
function reader(settings: Settings): SettingsReader {
  const values = new Map(
    Object.entries(settings).map(([key, value]) => [key.toUpperCase(), String(value)]),
  );
  const refuse = (key: string, expected: string): never => {
    throw new DialectError(1000, `${key} is '${values.get(key)}', and must be ${expected}`);
  };
  return {
    text: (key, otherwise) => values.get(key) ?? otherwise,
    bytes: (key, otherwise) => {
      const bytes = encoder.encode(unescapeText(values.get(key) ?? otherwise));
      return bytes.length === 0 || bytes.length > 64 ? refuse(key, "1 to 64 bytes long") : bytes;
    },
    flag: (key, otherwise) => {
      const value = values.get(key)?.toLowerCase();
      if (value === undefined) return otherwise;
      if (value !== "true" && value !== "false") return refuse(key, "true or false");
      return value === "true";
    },
    count: (key, otherwise) => {
      const text = values.get(key);
      if (text === undefined) return otherwise;
      const value = Number(text);
      return Number.isSafeInteger(value) && value > 0 ? value : refuse(key, "a positive integer");
    },
    choice: (key, choices) => {
      const value = values.get(key)?.toLowerCase();
      if (value === undefined) return choices[0];
      return choices.find((choice) => choice === value) ?? refuse(key, choices.join(" or "));
    },
  };
}

/** Delimiters may be written with backslashes: `\n`, `\r`, `\t`, `\0` and `\\`. */
function unescapeText(text: string): string {
  const meanings: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", 0: "\0" };
  return text.length < 2
    ? text
    : text.replace(/\\([nrt0\\])/g, (_, letter: string) => meanings[letter] ?? "\\");
}
