/**
 * The source text of a JSON parser for one schema: one pass over the bytes of each object. Keys are
 * compared with those of the record before; values of the simplest form are read in place, all
 * else by a call. Only types and numbers get into the text.
 */
import type { TypeName } from "../../../language/core/index.ts";
import { declareColumn, floatText, narrowText, wideText } from "./generate-numbers.ts";
import type { JsonNode, Target } from "./json-keys.ts";

interface JsonShape {
  readonly root: JsonNode;
  readonly nodes: readonly JsonNode[];
  readonly types: readonly TypeName[];
  /** The bytes between the parts of an object that mean nothing. */
  readonly blanks: readonly number[];
  readonly delimiterLength: number;
}

/** The text of `function parse(b, start, limit, base)`. */
export function jsonParserText(shape: JsonShape): string {
  return new JsonText(shape).text();
}

class JsonText {
  readonly #shape: JsonShape;
  readonly #texts: readonly number[];

  constructor(shape: JsonShape) {
    this.#shape = shape;
    this.#texts = shape.types.flatMap((type, column) => (type === "VARSIZED" ? [column] : []));
  }

  text(): string {
    const { nodes, types, root, delimiterLength } = this.#shape;
    return `"use strict";
const seen = values.seen;
${nodes.map(({ id }) => `const node${id} = nodes[${id}], keys${id} = node${id}.seen;`).join("\n")}
${Array.from({ length: delimiterLength }, (_, i) => `const rd${i} = settings.tupleDelimiter[${i}];`).join("\n")}
const recordBytesMax = settings.recordBytesMax;
${types.map((type, column) => declareColumn(type, column)).join("\n")}
let record = 0;
return function parse(b, start, limit, base) {
values.base = base;
let row = rows.rowCount, p = start, c = 0;
${this.#texts.map((k) => `q${k}.reserve(limit - start); let b${k} = q${k}.bytes, t${k} = q${k}.place;`).join("\n")}
while (p < limit) {
const first = p;
values.start = p;
record++;
let found = 0, whole = false;
parsing: {
${this.#blanks()}
if (${this.#atEnd()}) { p += ${delimiterLength}; if (p - first > recordBytesMax) values.failLength(); continue; }
if (c !== 123) break parsing;
${this.#object(root)}
${this.#blanks()}
whole = ${this.#atEnd()};
}
let kept = true;
if (whole) {
p += ${delimiterLength};
if (found !== ${types.length}) {
${this.#save()}
values.missing(record, row);
}
} else {
const place = p;
p = first;
for (;;) { c = b[p]; if (${this.#atEnd()}) break; p++; }
p += ${delimiterLength};
${this.#save()}
kept = values.noObject(b, place, p, record, row);
}
if (p - first > recordBytesMax) values.failLength();
if (!kept || values.bad !== "") {
${this.#save()}
values.leaveOut(b, p - ${delimiterLength}, row);
${this.#load()}
continue;
}
${this.#texts.map((k) => `o${k}[row + 1] = t${k};`).join("\n")}
row++;
if (row === rowsMax) {
${this.#save()}
rows.rowCount = row;
rows.flush();
row = 0;
${this.#texts.map((k) => `q${k}.reserve(limit - p);`).join("\n")}
${this.#load()}
}
}
${this.#save()}
rows.rowCount = row;
return p;
};`;
  }

  #save(): string {
    return this.#texts.map((k) => `q${k}.place = t${k};`).join("\n");
  }

  #load(): string {
    return this.#texts.map((k) => `b${k} = q${k}.bytes; t${k} = q${k}.place;`).join("\n");
  }

  #blanks(): string {
    const isBlank = this.#shape.blanks.map((code) => `c === ${code}`).join(" || ");
    return `c = b[p];\nwhile (${isBlank}) c = b[++p];`;
  }

  /** The condition that the delimiter of records stands at `p`, whose byte is `c`. */
  #atEnd(): string {
    const { delimiterLength } = this.#shape;
    const rest = Array.from(
      { length: delimiterLength - 1 },
      (_, i) => ` && b[p + ${i + 1}] === rd${i + 1}`,
    );
    return `(c === rd0${rest.join("")})`;
  }

  /** An object whose opening brace is at `p`; behind it `p` is behind the closing one. */
  #object(node: JsonNode): string {
    const n = node.id;
    return `p++;
let i${n} = 0;
${this.#blanks()}
if (c === 125) p++;
else object${n}: for (;;) {
if (c !== 34) break parsing;
p++;
let key = i${n} < keys${n}.length ? keys${n}[i${n}] : undefined;
if (key !== undefined) {
const raw = key.raw;
let j = 0;
while (j < raw.length && b[p + j] === raw[j]) j++;
if (j < raw.length) key = undefined;
}
if (key === undefined) {
key = node${n}.find(b, p, limit, i${n});
if (key === undefined) break parsing;
}
p += key.raw.length;
i${n}++;
${this.#blanks()}
if (c !== 58) break parsing;
p++;
${this.#blanks()}
switch (key.target) {
${node.targets.map((target, index) => `case ${index}: {\n${this.#target(target)}\nbreak;\n}`).join("\n")}
default:
p = values.skip(b, p, limit);
if (p < 0) { p = first; break parsing; }
}
${this.#blanks()}
if (c === 44) { p++; ${this.#blanks()} continue; }
if (c !== 125) break parsing;
p++;
break object${n};
}`;
  }

  #target({ column, node }: Target): string {
    const nested =
      node === undefined
        ? ""
        : `const from = p;
if (c === 123) {
${this.#object(node)}
} else {
p = values.skip(b, p, limit);
if (p < 0) { p = from; break parsing; }
}`;
    if (column === undefined) return nested;
    // A path goes through the object, and the object itself is a column, too.
    const back = node === undefined ? "" : "p = from;\nc = b[p];";
    return `${nested}
${back}
if (seen[${column}] !== record) { seen[${column}] = record; found++; }
else if (!key.exact) { p = values.skip(b, p, limit); if (p < 0) { p = first; break parsing; } break; }
else {
${this.#save()}
values.again(${column}, row);
${this.#load()}
}
${this.#value(column)}`;
  }

  #slow(column: number): string {
    return `${this.#save()}
p = values.read(${column}, b, s, limit, row);
if (p < 0) { p = s; break parsing; }
${this.#load()}`;
  }

  #value(column: number): string {
    const type = this.#shape.types[column] as TypeName;
    const slow = this.#slow(column);
    const otherwise = `else {\n${slow}\n}`;
    const ends = "(c === 44 || c === 125 || c === 32)";
    const start = "const s = p;";
    switch (type) {
      case "VARSIZED":
        return `${start}
if (c === 34) {
let high = 0;
c = b[++p];
while (c !== 34 && c !== 92 && c >= 32) { b${column}[t${column}++] = c; high |= c; c = b[++p]; }
if (c === 34 && high < 128) p++;
else {
t${column} -= p - s - 1;
${slow}
}
} ${otherwise}`;
      case "BOOLEAN":
        return `${start}
if (c === 116 && b[p + 1] === 114 && b[p + 2] === 117 && b[p + 3] === 101) { v${column}[row] = 1; p += 4; }
else if (c === 102 && b[p + 1] === 97 && b[p + 2] === 108 && b[p + 3] === 115 && b[p + 4] === 101) { v${column}[row] = 0; p += 5; }
${otherwise}`;
      case "CHAR":
        return `${start}
if (c === 34 && b[p + 2] === 34 && b[p + 1] !== 92 && b[p + 1] >= 32 && b[p + 1] < 128) { v${column}[row] = b[p + 1]; p += 3; }
${otherwise}`;
      case "FLOAT64":
      case "FLOAT32":
        return `${start}\n${floatText(type, column, ends)}\n${otherwise}`;
      case "INT64":
      case "UINT64":
        return `${start}\n${wideText(type, column, ends, slow)}\n${otherwise}`;
      default:
        return `${start}\n${narrowText(type, column, ends)}\n${otherwise}`;
    }
  }
}
