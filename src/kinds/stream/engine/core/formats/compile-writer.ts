/**
 * What CSV and JSON writers share: a loop that is generated for the schema and writes the selected
 * rows of a batch into one buffer. Names and delimiters are arguments of it.
 */
import type { Schema, TypeName } from "../../../language/core/index.ts";
import { type Batch, type Column, selectedCount } from "../batch.ts";
import { compileShape } from "../compile-shape.ts";
import { copyBytes, grownLength } from "../expressions/text-arena.ts";
import * as numbers from "../numbers/format-number.ts";
import type { FloatFormat } from "./settings.ts";
import { writeAsNeeded, writeJsonString, writePlain, writeQuoted } from "./write-text.ts";

export interface WriterShape {
  /** The bytes before each value, and those behind the last one. */
  readonly before: readonly Uint8Array[];
  readonly after: Uint8Array;
  readonly nullWord: Uint8Array;
  readonly floats: FloatFormat;
  /** Whether CHAR is written like a text. */
  readonly charAsText: boolean;
  /** What a float is written as that is no number; `undefined`: nan, inf and -inf. */
  readonly notFinite: Uint8Array | undefined;
  readonly text: "plain" | "quoted" | "needed" | "json";
  /** For `needed`: a 1 for each byte that needs quotes. */
  readonly special: Uint8Array;
}

const helpers = {
  ...numbers,
  copyBytes,
  writeAsNeeded,
  writeJsonString,
  writePlain,
  writeQuoted,
};

interface Out {
  bytes: Uint8Array;
  grow(place: number, needed: number): Uint8Array;
}

type Run = (
  columns: readonly Column[],
  count: number,
  rows: Int32Array | undefined,
  out: Out,
) => number;

type Factory = (own: typeof helpers, shape: WriterShape) => Run;

export function compileWriter(schema: Schema, shape: WriterShape): (batch: Batch) => Uint8Array {
  const make = (selected: boolean): Run =>
    compileShape<Factory>(["helpers", "shape"], writerText(schema, shape, selected))(
      helpers,
      shape,
    );
  const loops: { all?: Run; selected?: Run } = {};
  const out: Out = {
    bytes: new Uint8Array(65_536),
    grow(place, needed) {
      const grown = new Uint8Array(grownLength(this.bytes.length, needed));
      grown.set(this.bytes.subarray(0, place));
      this.bytes = grown;
      return grown;
    },
  };
  return (batch) => {
    const { selection } = batch;
    if (selection === undefined) loops.all ??= make(false);
    else loops.selected ??= make(true);
    const run = (selection === undefined ? loops.all : loops.selected) as Run;
    const length = run(batch.columns, selectedCount(batch), selection, out);
    return out.bytes.subarray(0, length);
  };
}

function writerText(schema: Schema, shape: WriterShape, selected: boolean): string {
  const factor = shape.text === "json" ? 6 : 2;
  const fixedBytes =
    shape.after.length +
    shape.before.reduce((sum, bytes) => sum + bytes.length, 0) +
    schema.length * (numbers.numberBytesMax + shape.nullWord.length + 8);
  const texts = schema.flatMap(({ type }, i) => (type.name === "VARSIZED" ? [i] : []));
  const textBytes = texts.map((i) => ` + (o${i}[r + 1] - o${i}[r]) * ${factor}`).join("");
  return `"use strict";
const { ${Object.keys(helpers).join(", ")} } = helpers;
const { after, nullWord, notFinite, special } = shape;
${shape.before.map((_, i) => `const before${i} = shape.before[${i}];`).join("\n")}
const char = new Uint8Array(1);
return function run(columns, count, rows, out) {
let b = out.bytes, p = 0;
${schema.map(({ type }, i) => declareColumn(type.name, i)).join("\n")}
for (let i = 0; i < count; i++) {
const r = ${selected ? "rows[i]" : "i"};
const needed = p + ${fixedBytes}${textBytes};
if (needed > b.length) b = out.grow(p, needed);
${schema.map(({ type }, i) => columnText(type.name, i, shape)).join("\n")}
${writeBytes("after", shape.after.length)}
}
return p;
};`;
}

function declareColumn(type: TypeName, i: number): string {
  const validity = `const n${i} = columns[${i}].validity;`;
  if (type === "VARSIZED") {
    return `${validity} const o${i} = columns[${i}].offsets, x${i} = columns[${i}].bytes;`;
  }
  const values = `${validity} const v${i} = columns[${i}].values;`;
  if (type !== "INT64" && type !== "UINT64") return values;
  return `${values} const l${i} = new Uint32Array(v${i}.buffer, v${i}.byteOffset, v${i}.length * 2), h${i} = new Int32Array(v${i}.buffer, v${i}.byteOffset, v${i}.length * 2);`;
}

/** A few bytes are written one by one, since a call would cost more. */
function writeBytes(name: string, length: number): string {
  if (length > 4) return `copyBytes(b, p, ${name}, 0, ${length}); p += ${length};`;
  return Array.from({ length }, (_, i) => `b[p++] = ${name}[${i}];`).join(" ");
}

function columnText(type: TypeName, i: number, shape: WriterShape): string {
  return `${writeBytes(`before${i}`, shape.before[i]?.length ?? 0)}
if (n${i} !== undefined && ((n${i}[r >> 3] >> (r & 7)) & 1) === 0) {
${writeBytes("nullWord", shape.nullWord.length)}
} else {
${valueText(type, i, shape)}
}`;
}

function valueText(type: TypeName, i: number, shape: WriterShape): string {
  switch (type) {
    case "VARSIZED":
      return textCall(`x${i}, o${i}[r], o${i}[r + 1]`, shape);
    case "CHAR":
      if (!shape.charAsText) return `b[p++] = v${i}[r];`;
      return `char[0] = v${i}[r];\n${textCall("char, 0, 1", shape)}`;
    case "BOOLEAN":
      return `p = writeAscii(b, p, v${i}[r] !== 0 ? "true" : "false");`;
    case "INT64":
      return `p = writeSigned64(b, p, h${i}[r * 2 + 1], l${i}[r * 2]);`;
    case "UINT64":
      return `p = writeUnsigned64(b, p, l${i}[r * 2 + 1], l${i}[r * 2]);`;
    case "FLOAT32":
    case "FLOAT64": {
      const shortest = type === "FLOAT32" ? "writeShortest32" : "writeShortest";
      const write = `p = ${shape.floats === "fixed" ? "writeFixed" : shortest}(b, p, v${i}[r]);`;
      if (shape.notFinite === undefined) return write;
      return `if (v${i}[r] - v${i}[r] !== 0) { ${writeBytes("notFinite", shape.notFinite.length)} } else ${write}`;
    }
    default:
      return `p = ${type.startsWith("U") ? "writeUnsigned32" : "writeSigned32"}(b, p, v${i}[r]);`;
  }
}

function textCall(text: string, shape: WriterShape): string {
  switch (shape.text) {
    case "plain":
      return `p = writePlain(b, p, ${text});`;
    case "quoted":
      return `p = writeQuoted(b, p, ${text});`;
    case "needed":
      return `p = writeAsNeeded(b, p, ${text}, special, nullWord);`;
    case "json":
      return `p = writeJsonString(b, p, ${text});`;
  }
}
