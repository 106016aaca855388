/** Texts that become numbers, and numbers that become texts. */
import { DialectError, type TypeName } from "../../../language/core/index.ts";
import {
  numberBytesMax,
  writeShortest,
  writeShortest32,
  writeSigned32,
  writeSigned64,
  writeUnsigned32,
  writeUnsigned64,
} from "../numbers/format-number.ts";
import { parseFloat32, parseFloat64 } from "../numbers/parse-float.ts";
import { parseInteger32, parseInteger64 } from "../numbers/parse-integer.ts";
import type { TextArena } from "./text-arena.ts";

const decoder = new TextDecoder();

function fail(bytes: Uint8Array, start: number, end: number, type: TypeName): never {
  const shown = decoder.decode(bytes.subarray(start, Math.min(end, start + 60)));
  throw new DialectError(4003, `'${shown}' is no ${type}`);
}

/** Where the integer of 64 bits read last lies. */
export const readHalves: Int32Array = new Int32Array(2);
const read64 = new BigInt64Array(readHalves.buffer);
const readU64 = new BigUint64Array(readHalves.buffer);

/** Strictly: the whole text is the number. */
export function parseSmall(bytes: Uint8Array, start: number, end: number, type: TypeName): number {
  let value: number | undefined;
  switch (type) {
    case "FLOAT64":
      value = parseFloat64(bytes, start, end);
      break;
    case "FLOAT32":
      value = parseFloat32(bytes, start, end);
      break;
    case "CHAR":
      return end - start === 1 ? (bytes[start] as number) : fail(bytes, start, end, type);
    case "BOOLEAN":
    case "VARSIZED":
    case "INT64":
    case "UINT64":
      return fail(bytes, start, end, type);
    default: {
      const integer = parseInteger32(bytes, start, end, type);
      value = Number.isNaN(integer) ? undefined : integer;
    }
  }
  return value ?? fail(bytes, start, end, type);
}

export function parseSigned64(bytes: Uint8Array, start: number, end: number): bigint {
  if (!parseInteger64(bytes, start, end, true, readHalves, 0)) fail(bytes, start, end, "INT64");
  return read64[0] as bigint;
}

export function parseUnsigned64(bytes: Uint8Array, start: number, end: number): bigint {
  if (!parseInteger64(bytes, start, end, false, readHalves, 0)) fail(bytes, start, end, "UINT64");
  return readU64[0] as bigint;
}

export function parseBoolean(bytes: Uint8Array, start: number, end: number): boolean {
  return booleanOf(bytes, start, end) ?? fail(bytes, start, end, "BOOLEAN");
}

/** `true`, `false`, `1` and `0`; letters in any case. */
export function booleanOf(bytes: Uint8Array, start: number, end: number): boolean | undefined {
  const length = end - start;
  if (length === 1) {
    const code = bytes[start];
    return code === 49 ? true : code === 48 ? false : undefined;
  }
  const word = length === 4 ? "true" : length === 5 ? "false" : "";
  if (word === "") return undefined;
  for (let i = 0; i < length; i += 1) {
    if (((bytes[start + i] as number) | 32) !== word.charCodeAt(i)) return undefined;
  }
  return length === 4;
}

/** Leaves out every byte that is no part of a number. */
export function keepNumeric(arena: TextArena, bytes: Uint8Array, start: number, end: number): void {
  let at = arena.begin(end - start);
  for (let i = start; i < end; i += 1) {
    const code = bytes[i] as number;
    if ((code >= 48 && code <= 57) || code === 46 || code === 45 || code === 43) {
      arena.bytes[at] = code;
      at += 1;
    }
  }
  arena.end = at;
}

export function textOfSmall(arena: TextArena, value: number, type: TypeName): void {
  const at = arena.begin(numberBytesMax);
  if (type === "FLOAT64") arena.end = writeShortest(arena.bytes, at, value);
  else if (type === "FLOAT32") arena.end = writeShortest32(arena.bytes, at, value);
  else if (type === "CHAR") {
    arena.bytes[at] = value;
    arena.end = at + 1;
  } else if (value < 0) arena.end = writeSigned32(arena.bytes, at, value);
  else arena.end = writeUnsigned32(arena.bytes, at, value);
}

/** From its halves; the high one tells by its sign whether the type is signed. */
export function textOf64(arena: TextArena, high: number, low: number): void {
  const at = arena.begin(numberBytesMax);
  arena.end =
    high < 0
      ? writeSigned64(arena.bytes, at, high, low)
      : writeUnsigned64(arena.bytes, at, high, low);
}

export function textOfBoolean(arena: TextArena, value: boolean): void {
  const word = value ? "true" : "false";
  const at = arena.begin(5);
  for (let i = 0; i < word.length; i += 1) arena.bytes[at + i] = word.charCodeAt(i);
  arena.end = at + word.length;
}
