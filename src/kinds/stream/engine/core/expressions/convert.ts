/**
 * Conversions by the rules of C++: integers wrap, floats are cut towards zero. Where C++ leaves a
 * result open (a float beyond the integer's range) it wraps, too, and NaN and infinities give 0.
 */
import { isFloat, type TypeName } from "../../../language/core/index.ts";
import { is64, wrap, zeroOf } from "./representation.ts";
import type { Source } from "./source.ts";

/** Converts the value of one fixed-width type to another one. */
export function convert(source: Source, value: string, from: TypeName, to: TypeName): string {
  if (from === to) return value;
  if (to === "BOOLEAN") return source.local(`${value} !== ${zeroOf(from)}`);
  if (from === "BOOLEAN") return convert(source, source.local(`${value} ? 1 : 0`), "INT32", to);
  if (is64(from)) return from64(source, value, from, to);
  if (is64(to)) {
    if (isFloat(from)) return floatTo64(source, value, to);
    return source.local(wrap(`BigInt(${value})`, to));
  }
  if (to === "FLOAT64") return value;
  return source.local(wrap(value, to));
}

function from64(source: Source, value: string, from: TypeName, to: TypeName): string {
  if (is64(to)) return source.local(wrap(value, to));
  // The halves are read through memory: a BigInt made a number takes ten times as long.
  source.line(`scratch64[0] = ${value};`);
  if (!isFloat(to)) return source.local(wrap("scratch32[0]", to));
  const high = from === "INT64" ? "scratch32[1]" : "scratchU32[1]";
  if (to === "FLOAT64") return source.local(`${high} * 4294967296 + scratchU32[0]`);
  return source.local(`${source.helper("float32OfHalves")}(${high}, scratchU32[0])`);
}

function floatTo64(source: Source, value: string, to: TypeName): string {
  const whole = source.local(`Math.trunc(${value})`);
  source.line(`scratch32[0] = ${whole};`);
  source.line(`scratch32[1] = Math.floor(${whole} / 4294967296);`);
  return source.local(to === "INT64" ? "scratch64[0]" : "scratchU64[0]");
}

/** An integer or float as a double. */
export function toDouble(source: Source, value: string, from: TypeName): string {
  return convert(source, value, from, "FLOAT64");
}

/**
 * The float nearest to an integer of 64 bits. Making a double first would round twice: so the bits
 * that no float can have are gathered in one, which is enough to know the side of a tie.
 */
export function float32OfHalves(high: number, low: number): number {
  if (high >= -0x200000 && high < 0x200000) return Math.fround(high * 4_294_967_296 + low);
  const kept = (low & ~0xfff) >>> 0;
  const sticky = (low & 0xfff) === 0 ? 0 : 0x800;
  return Math.fround(high * 4_294_967_296 + kept + sticky);
}
