/**
 * Makes functions of the source text of expressions. What differs between expressions of one shape
 * (constants, buffers) is bound when a function is made of it.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { Column } from "../batch.ts";
import { compileShape } from "../compile-shape.ts";
import { helpers } from "./helpers.ts";
import type { Source } from "./source.ts";
import { TextArena } from "./text-arena.ts";

type Factory = (helpers: object, constants: readonly unknown[], arena: TextArena) => unknown;

/** The part that all loops have: `body` runs for each row `r`. */
export function loopText(source: Source, body: readonly string[]): string {
  const loop = source.variant.selected
    ? "for (let i = 0; i < count; i++) {\nconst r = rows[i];"
    : "for (let r = 0; r < count; r++) {";
  const reset = source.usesArena ? ["arena.reset();"] : [];
  return [loop, ...reset, ...source.reads, ...source.lines, ...body, "}"].join("\n");
}

/** Compiles `function (columns, count, rows, out)` with this text as its body. */
export function link<Out, Result>(
  source: Source,
  body: string,
): (columns: readonly Column[], count: number, rows: Int32Array | undefined, out: Out) => Result {
  const parameters = ["helpers", "constants", "arena"];
  const factory = compileShape<Factory>(parameters, factoryText(source, body));
  return factory(helpers, source.constants, new TextArena()) as never;
}

export function factoryText(source: Source, body: string): string {
  for (const name of source.helpers) assert(name in helpers, `a helper named ${name}`);
  return `"use strict";
const { ${[...source.helpers].join(", ")} } = helpers;
const noBytes = new Uint8Array(0);
const scratch64 = new BigInt64Array(1);
const scratchU64 = new BigUint64Array(scratch64.buffer);
const scratch32 = new Int32Array(scratch64.buffer);
const scratchU32 = new Uint32Array(scratch64.buffer);
const scratchFloat = new Float64Array(1);
const scratchFloat32 = new Int32Array(scratchFloat.buffer);
return function run(columns, count, rows, out) {
${source.head.join("\n")}
${body}
};`;
}
