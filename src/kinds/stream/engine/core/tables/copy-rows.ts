/** Copies rows of a column by number. Each width has its own loop, so that each stays fast. */
import { isValid, validityBytes } from "../batch.ts";
import type { ViewArray } from "./column-view.ts";

/** Copies `source[rows[i]]` to `target[at + i]`; both are of one type. */
export function gatherFixed(
  target: ViewArray,
  at: number,
  source: ViewArray,
  rows: Int32Array,
  isPair: boolean,
): void {
  const count = rows.length;
  if (count === 0) return;
  const first = rows[0] as number;
  if ((rows[count - 1] as number) - first === count - 1 && isAscending(rows)) {
    const [from, to, place] = isPair
      ? [first * 2, (first + count) * 2, at * 2]
      : [first, first + count, at];
    target.set(source.subarray(from, to), place);
    return;
  }
  if (isPair) {
    gatherPairs(target as Int32Array, at, source as Int32Array, rows);
    return;
  }
  switch (target.BYTES_PER_ELEMENT) {
    case 1:
      gather8(bytesOf(target), at, bytesOf(source), rows);
      break;
    case 2:
      gather16(halvesOf(target), at, halvesOf(source), rows);
      break;
    case 4:
      gather32(wordsOf(target), at, wordsOf(source), rows);
      break;
    default:
      gatherPairs(wordsOf(target), at, wordsOf(source), rows);
  }
}

function isAscending(rows: Int32Array): boolean {
  for (let i = 1; i < rows.length; i += 1) {
    if ((rows[i] as number) - (rows[i - 1] as number) !== 1) return false;
  }
  return true;
}

function bytesOf({ buffer, byteOffset, byteLength }: ViewArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
function halvesOf({ buffer, byteOffset, byteLength }: ViewArray): Uint16Array {
  return new Uint16Array(buffer, byteOffset, byteLength >> 1);
}
function wordsOf({ buffer, byteOffset, byteLength }: ViewArray): Int32Array {
  return new Int32Array(buffer, byteOffset, byteLength >> 2);
}

function gather8(target: Uint8Array, at: number, source: Uint8Array, rows: Int32Array): void {
  const count = rows.length;
  for (let i = 0; i < count; i += 1) target[at + i] = source[rows[i] as number] as number;
}

function gather16(target: Uint16Array, at: number, source: Uint16Array, rows: Int32Array): void {
  const count = rows.length;
  for (let i = 0; i < count; i += 1) target[at + i] = source[rows[i] as number] as number;
}

function gather32(target: Int32Array, at: number, source: Int32Array, rows: Int32Array): void {
  const count = rows.length;
  for (let i = 0; i < count; i += 1) target[at + i] = source[rows[i] as number] as number;
}

function gatherPairs(target: Int32Array, at: number, source: Int32Array, rows: Int32Array): void {
  const count = rows.length;
  for (let i = 0, j = at * 2; i < count; i += 1, j += 2) {
    const row = (rows[i] as number) * 2;
    target[j] = source[row] as number;
    target[j + 1] = source[row + 1] as number;
  }
}

/**
 * Writes the validity of rows behind the `base` rows that are there. A bitmap is made when the
 * first NULL comes; it has room for `capacity` rows.
 */
export function appendValidity(
  target: Uint8Array | undefined,
  base: number,
  capacity: number,
  source: Uint8Array | undefined,
  rows: Int32Array,
): Uint8Array | undefined {
  const count = rows.length;
  let bits = target;
  if (source === undefined) {
    if (bits === undefined) return undefined;
    for (let at = base; at < base + count; at += 1) {
      bits[at >> 3] = (bits[at >> 3] as number) | (1 << (at & 7));
    }
    return bits;
  }
  for (let i = 0; i < count; i += 1) {
    const at = base + i;
    if (isValid(source, rows[i] as number)) {
      if (bits !== undefined) bits[at >> 3] = (bits[at >> 3] as number) | (1 << (at & 7));
      continue;
    }
    if (bits === undefined) {
      bits = new Uint8Array(validityBytes(capacity));
      for (let j = 0; j < at; j += 1) bits[j >> 3] = (bits[j >> 3] as number) | (1 << (j & 7));
    }
    bits[at >> 3] = (bits[at >> 3] as number) & ~(1 << (at & 7));
  }
  return bits;
}
