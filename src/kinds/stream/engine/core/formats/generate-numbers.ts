/**
 * Source text that reads numbers of the simplest form: the byte at `p` is `c`, the value goes to
 * the row `row` of a column. Each ends with an `if`, so that an `else` can follow for all else.
 */
import type { TypeName } from "../../../language/core/index.ts";

/** The buffers of a column under short names. */
export function declareColumn(type: TypeName, column: number): string {
  const own = `const q${column} = rows.columns[${column}];`;
  if (type === "VARSIZED") return `${own} const o${column} = q${column}.offsets;`;
  if (type === "INT64" || type === "UINT64") return `${own} const h${column} = q${column}.halves;`;
  return `${own} const v${column} = q${column}.values;`;
}

const sign = "let g = false;\nif (c === 45) { g = true; c = b[++p]; }";

/** Up to nine digits, which fit in 32 bits. */
const nineDigits = (name: string): string => `let ${name} = 0;
const ${name}s = p, ${name}e = p + 9;
while (c >= 48 && c <= 57 && p < ${name}e) { ${name} = (${name} * 10 + c - 48) | 0; c = b[++p]; }
const ${name}l = p - ${name}s;`;

/** An integer of at most 32 bits and nine digits, if it ends where it should. */
export function narrowText(type: TypeName, column: number, ends: string): string {
  const signed = type.startsWith("INT");
  const bits = Number(type.replace(/\D/g, ""));
  const most = 2 ** (signed ? bits - 1 : bits) - 1;
  const inRange = bits === 32 ? "" : ` && x <= ${most}`;
  return `${signed ? sign : ""}
${nineDigits("x")}
if (xl > 0 && ${ends}${inRange}) v${column}[row] = ${signed ? "g ? -x : x" : "x"};`;
}

/** An integer of at most 15 digits, as two halves. */
export function wideText(type: TypeName, column: number, ends: string, slow: string): string {
  const signed = type === "INT64";
  return `${signed ? sign : ""}
${nineDigits("x")}
if (xl > 0 && ${ends}) {
${signed ? "const w = g ? -x : x;" : "const w = x;"}
h${column}[row * 2] = w;
h${column}[row * 2 + 1] = ${signed ? "w >> 31" : "0"};
} else if (xl === 9 && c >= 48 && c <= 57) {
${nineDigits("y")}
if (yl <= 6 && ${ends}) {
let w = x * powersOfTen[yl] + y;
${signed ? "if (g) w = -w;" : ""}
const hi = Math.floor(w / 4294967296);
h${column}[row * 2] = w - hi * 4294967296;
h${column}[row * 2 + 1] = hi;
} else {
${slow}
}
}`;
}

/** A float whose digits are an exact double, and so is the power of ten they are divided by. */
export function floatText(type: TypeName, column: number, ends: string): string {
  const digitsMax = type === "FLOAT64" ? 15 : 7;
  return `${sign}
${nineDigits("x")}
let y = 0, yl = 0;
if (c === 46 && xl > 0) {
c = b[++p];
const ys = p, ye = p + 9;
while (c >= 48 && c <= 57 && p < ye) { y = (y * 10 + c - 48) | 0; c = b[++p]; }
yl = p - ys;
}
if (xl > 0 && xl + yl <= ${digitsMax} && ${ends}) {
const w = yl === 0 ? x : (x * powersOfTen[yl] + y) / powersOfTen[yl];
v${column}[row] = g ? -w : w;
}`;
}
