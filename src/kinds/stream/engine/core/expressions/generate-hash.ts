/** HASH: that of keys in exchanges (`tables/hash-rows.ts`), the high lane above the low one. */
import type { Expr } from "../../../language/core/index.ts";
import { isFloat, isSigned } from "../../../language/core/index.ts";
import { toDouble } from "./convert.ts";
import { is64 } from "./representation.ts";
import { fixed, type Generate, type Operand, type Source, spread } from "./source.ts";

type Call = Extract<Expr, { readonly kind: "call" }>;

/** Of NULLs, too; the result is never NULL. */
export function generateHash(source: Source, call: Call, generate: Generate): Operand {
  const hash = source.name();
  source.line(`let ${hash}l = ${0x2545f491 | 0}, ${hash}h = ${0x6c62272e | 0};`);
  const take = (word: string): void => {
    source.line(`${hash}l = Math.imul(${hash}l ^ ${word}, ${0x9e3779b1 | 0});`);
    source.line(`${hash}l ^= ${hash}l >>> 15;`);
    source.line(`${hash}h = Math.imul(${hash}h ^ ${word}, ${0x27d4eb2f | 0});`);
    source.line(`${hash}h ^= ${hash}h >>> 15;`);
  };
  for (const arg of call.args) {
    const operand = generate(source, arg);
    if (operand.isNull !== "false") {
      source.line(`if (${operand.isNull}) {`);
      take("0x5bd1e995");
      source.line("} else {");
    }
    takeValue(source, operand, arg, hash, take);
    if (operand.isNull !== "false") source.line("}");
  }
  const finish = source.helper("finishHash");
  source.line(`scratch32[0] = ${finish}(${hash}l);`);
  source.line(`scratch32[1] = ${finish}(${hash}h);`);
  return fixed(source.local("scratchU64[0]"));
}

function takeValue(
  source: Source,
  operand: Operand,
  arg: Expr,
  hash: string,
  take: (word: string) => void,
): void {
  const type = arg.type.name;
  if (operand.kind === "text") {
    const text = spread(operand);
    const helper = source.helper("hashText");
    source.line(`${hash}l = ${helper}(${hash}l, ${0x9e3779b1 | 0}, ${text});`);
    source.line(`${hash}h = ${helper}(${hash}h, ${0x27d4eb2f | 0}, ${text});`);
    take(`(${operand.end} - ${operand.start})`);
  } else if (is64(type)) {
    source.line(`scratch64[0] = ${operand.value};`);
    take("scratch32[0]");
    take("scratch32[1]");
  } else if (isFloat(type)) {
    const value = toDouble(source, operand.value, type);
    source.line(`scratchFloat[0] = ${value} === 0 ? 0 : ${value} !== ${value} ? NaN : ${value};`);
    take(`(${value} !== ${value} ? 0 : scratchFloat32[0])`);
    take(`(${value} !== ${value} ? 0x7ff80000 : scratchFloat32[1])`);
  } else {
    const number = type === "BOOLEAN" ? `(${operand.value} ? 1 : 0)` : operand.value;
    take(number);
    take(isSigned(type) ? `(${number} >> 31)` : "0");
  }
}

/** The words of a text but for its length. */
export function hashText(
  seed: number,
  factor: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  let hash = seed;
  for (let at = start; at < end; at += 4) {
    let word = 0;
    for (let i = 0; i < 4 && at + i < end; i += 1) word |= (bytes[at + i] as number) << (i * 8);
    hash = Math.imul(hash ^ word, factor);
    hash ^= hash >>> 15;
  }
  return hash;
}

export function finishHash(seed: number): number {
  let hash = seed ^ (seed >>> 16);
  hash = Math.imul(hash, 0x85ebca6b | 0);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35 | 0);
  return hash ^ (hash >>> 16);
}
