/**
 * The source text of a CSV parser for one schema: one pass over the bytes, each field with a fast
 * path for its simplest form, and a call for everything else. Only types, numbers of columns and
 * lengths of delimiters get into the text.
 */
import type { Schema, TypeName } from "../../../language/core/index.ts";
import { declareColumn, floatText, narrowText, wideText } from "./generate-numbers.ts";
import { beginsWith, type CsvInputSettings } from "./settings.ts";

interface CsvField {
  readonly type: TypeName;
  readonly nullable: boolean;
  /** Its place in the batch, or `undefined` for one that nobody reads. */
  readonly column: number | undefined;
  /** Its place in the record. */
  readonly index: number;
  readonly last: boolean;
}

/** The text of `function parse(b, start, limit, base, known, final)`. */
export function csvParserText(
  record: Schema,
  order: readonly (number | undefined)[],
  settings: CsvInputSettings,
): string {
  const fields = record.map(
    ({ type }, index): CsvField => ({
      type: type.name,
      nullable: type.nullable,
      column: order[index],
      index,
      last: index === record.length - 1,
    }),
  );
  return new CsvText(fields, settings).text();
}

class CsvText {
  readonly #fields: readonly CsvField[];
  readonly #read: readonly CsvField[];
  readonly #texts: readonly CsvField[];
  readonly #atField: string;
  readonly #atRecord: string;
  readonly #linesEndWithLf: boolean;
  readonly #fieldLength: number;
  readonly #recordLength: number;
  readonly #skipsRuns: boolean;
  /** Whether the first byte of no delimiter can be one of a number, of `true` or of `false`. */
  readonly #isPlain: boolean;
  readonly #countsNulls: boolean;

  constructor(fields: readonly CsvField[], settings: CsvInputSettings) {
    this.#fields = fields;
    this.#read = fields.filter(({ column }) => column !== undefined);
    this.#texts = this.#read.filter(({ type }) => type === "VARSIZED");
    this.#fieldLength = settings.fieldDelimiter.length;
    this.#recordLength = settings.tupleDelimiter.length;
    const isSkipping = this.#read.length < fields.length;
    this.#skipsRuns = isSkipping && this.#fieldLength === 1 && this.#recordLength === 1;
    this.#linesEndWithLf = this.#recordLength === 1 && settings.tupleDelimiter[0] === 10;
    const { fieldDelimiter, tupleDelimiter, onMalformed } = settings;
    this.#isPlain = ![fieldDelimiter[0], tupleDelimiter[0]].some(isInValues);
    this.#countsNulls = onMalformed === "null";
    this.#atRecord = delimiterTest("rd", this.#recordLength);
    const atField = delimiterTest("fd", this.#fieldLength);
    this.#atField = beginsWith(tupleDelimiter, fieldDelimiter)
      ? `${atField} && !(${this.#atRecord})`
      : atField;
  }

  text(): string {
    return `"use strict";
${constants("fd", "settings.fieldDelimiter", this.#fieldLength)}
${constants("rd", "settings.tupleDelimiter", this.#recordLength)}
const recordBytesMax = settings.recordBytesMax;
${this.#skipsRuns ? "const skip = skipper?.skip;" : ""}
${this.#read.map((field) => declareColumn(field.type, field.column as number)).join("\n")}
return function parse(b, start, limit, base, known, final) {
${this.#skipsRuns ? "const isLoaded = skipper !== undefined && skipper.load(b, start, limit);" : ""}
fields.base = base;
fields.known = known;
fields.final = final;
let row = rows.rowCount, p = start, c = 0;
${this.#texts.map(({ column }) => `q${column}.reserve(limit - start); let b${column} = q${column}.bytes, t${column} = q${column}.place;`).join("\n")}
while (p < limit) {
const first = p;
fields.start = p;
${this.#fields.length > 1 ? this.#skipEmptyLine() : ""}
record: {
${this.#runs().join("\n")}
}
${this.#linesEndWithLf ? "p += b[p] === 13 ? 2 : 1;" : `p += ${this.#recordLength};`}
if (p - first > recordBytesMax) fields.failLength();
${this.#countsNulls ? "if (fields.nulls > 0) fields.countNulls();" : ""}
if (fields.bad !== "") {
${this.#save()}
fields.leaveOut(b, p - ${this.#recordLength}, row);
${this.#load()}
continue;
}
${this.#texts.map(({ column }) => `o${column}[row + 1] = t${column};`).join("\n")}
row++;
if (row === rowsMax) {
${this.#save()}
rows.rowCount = row;
rows.flush();
row = 0;
${this.#texts.map(({ column }) => `q${column}.reserve(limit - p);`).join("\n")}
${this.#load()}
}
}
${this.#save()}
rows.rowCount = row;
return p;
};`;
  }

  #skipEmptyLine(): string {
    const skip = `c = b[p];\nif (${this.#atRecord}) { p += ${this.#recordLength}; continue; }`;
    return this.#linesEndWithLf
      ? `${skip}\nif (c === 13 && b[p + 1] === 10) { p += 2; continue; }`
      : skip;
  }

  /** Hands the places of texts over to the columns, and takes them back. */
  #save(): string {
    return this.#texts.map(({ column }) => `q${column}.place = t${column};`).join("\n");
  }

  #load(): string {
    return this.#texts
      .map(({ column }) => `b${column} = q${column}.bytes; t${column} = q${column}.place;`)
      .join("\n");
  }

  /** The condition that a value of the simplest form ends here. */
  #ends(field: CsvField): string {
    if (!field.last) return `(${this.#atField})`;
    const atCr = this.#linesEndWithLf ? " || (c === 13 && b[p + 1] === 10)" : "";
    return `(${this.#atRecord}${atCr})`;
  }

  /** The fields one by one, but for those in a row that nobody reads. */
  #runs(): string[] {
    const texts: string[] = [];
    for (let from = 0; from < this.#fields.length; ) {
      let to = from;
      while (to < this.#fields.length && this.#fields[to]?.column === undefined) to += 1;
      const run = this.#fields.slice(from, Math.max(to, from + 1));
      const text = run.map((field) => this.#field(field)).join("\n");
      texts.push(this.#skipsRuns && isLong(run) && to > from ? this.#skippedRun(run, text) : text);
      from += run.length;
    }
    return texts;
  }

  /**
   * Fields in a row that nobody reads are skipped together. Where a quote is among them, or their
   * number is wrong, they are looked at one by one.
   */
  #skippedRun(run: readonly CsvField[], oneByOne: string): string {
    const first = run[0]?.index;
    const isLast = run.at(-1)?.last === true;
    const inner = isLast ? run.length - 1 : run.length;
    const skipInner = inner > 0 ? `skip(p - start, ${inner}, fd0, rd0) + 1` : "p - start";
    const skipLast = isLast ? "if (e > 0) e = skip(e, 1, rd0, fd0);" : "";
    return `run${first}: {
if (isLoaded) {
let e = ${skipInner};
${skipLast}
if (e > 0) { p = e + start; break run${first}; }
}
${oneByOne}
}`;
  }

  #field(field: CsvField): string {
    return `{ // ${field.index}
const s = p;
c = b[p];
${field.column === undefined ? this.#skipped() : this.#value(field, field.column)}
${this.#behind(field)}
}`;
  }

  /** Between this field and the next, or at the end of the record. */
  #behind(field: CsvField): string {
    if (field.last) {
      const rollBack = `${this.#save()}\nfields.rollBack(row); rows.rowCount = row; return first;`;
      return `if (${this.#atField}) { p = fields.excess(b, p, limit); if (p < 0) { ${rollBack} } }`;
    }
    return `if (!(${this.#atField})) {
${this.#save()}
fields.missing(${field.index + 1}, row);
${this.#load()}
break record;
}
p += ${this.#fieldLength};`;
  }

  #afterCall(): string {
    return `if (p < 0) { fields.rollBack(row); rows.rowCount = row; return first; }
${this.#load()}
c = b[p];`;
  }

  #skipped(): string {
    return `if (c === 34) {
${this.#save()}
p = fields.skip(b, s, limit);
${this.#afterCall()}
} else {
while (!(${this.#atField}) && !(${this.#atRecord})) c = b[++p];
}`;
  }

  #slow(column: number): string {
    return `${this.#save()}
p = fields.read(${column}, b, s, limit, row);
${this.#afterCall()}`;
  }

  #value(field: CsvField, column: number): string {
    const ends = this.#ends(field);
    const otherwise = `else {\n${this.#slow(column)}\n}`;
    if (field.type === "VARSIZED") return this.#textValue(field, column);
    if (!this.#isPlain) return this.#slow(column);
    switch (field.type) {
      case "CHAR":
        return `const x = c;
c = b[++p];
if (${ends} && x !== 34 && ${notDelimiter("x")}) v${column}[row] = x;
${otherwise}`;
      case "BOOLEAN":
        return `let x = -1;
if (c === 116 && b[p + 1] === 114 && b[p + 2] === 117 && b[p + 3] === 101) { x = 1; p += 4; }
else if (c === 102 && b[p + 1] === 97 && b[p + 2] === 108 && b[p + 3] === 115 && b[p + 4] === 101) { x = 0; p += 5; }
c = b[p];
if (x >= 0 && ${ends}) v${column}[row] = x;
${otherwise}`;
      case "FLOAT64":
      case "FLOAT32":
        return `${floatText(field.type, column, ends)}\n${otherwise}`;
      case "INT64":
      case "UINT64":
        return `${wideText(field.type, column, ends, this.#slow(column))}\n${otherwise}`;
      default:
        return `${narrowText(field.type, column, ends)}\n${otherwise}`;
    }
  }

  #textValue(field: CsvField, column: number): string {
    const trimCr =
      field.last && this.#linesEndWithLf
        ? `if (p > s && b[p - 1] === 13) t${column}--;\nconst e = p > s && b[p - 1] === 13 ? p - 1 : p;`
        : "const e = p;";
    const isShort =
      field.last || !this.#linesEndWithLf ? "" : " || (c === 10 && b[p - 1] === 13 && p > s)";
    const whenEmpty = field.nullable ? `if (e === s) q${column}.setNull(row);` : "";
    return `if (c === 34) {
${this.#slow(column)}
} else {
let high = 0;
while (!(${this.#atField}) && !(${this.#atRecord})) { b${column}[t${column}++] = c; high |= c; c = b[++p]; }
if (high > 127${isShort}) {
t${column} -= p - s;
${this.#slow(column)}
} else {
${trimCr}
${whenEmpty}
}
}`;
  }
}

/** Whether a call is worth it: one number is soon skipped byte by byte. */
function isLong(run: readonly CsvField[]): boolean {
  return run.length > 1 || run[0]?.type === "VARSIZED";
}

const valueBytes = new TextEncoder().encode("0123456789+-.truefals");

function isInValues(byte: number | undefined): boolean {
  return byte !== undefined && valueBytes.includes(byte);
}

function constants(name: string, from: string, length: number): string {
  return Array.from({ length }, (_, i) => `const ${name}${i} = ${from}[${i}];`).join("\n");
}

/** The condition that a delimiter stands at `p`, whose byte is `c`. */
function delimiterTest(name: string, length: number): string {
  const rest = Array.from(
    { length: length - 1 },
    (_, i) => ` && b[p + ${i + 1}] === ${name}${i + 1}`,
  );
  return `c === ${name}0${rest.join("")}`;
}

/** The condition that a byte does not begin a delimiter. */
function notDelimiter(byte: string): string {
  return `${byte} !== fd0 && ${byte} !== rd0 && ${byte} !== 13`;
}
