/** Functions of texts, on UTF-8 bytes. What they make lies in the arena. */
import { copyBytes, type TextArena } from "./text-arena.ts";
import { equalTexts } from "./text-compare.ts";

export function concatTexts(
  arena: TextArena,
  a: Uint8Array,
  aStart: number,
  aEnd: number,
  b: Uint8Array,
  bStart: number,
  bEnd: number,
): void {
  const middle = aEnd - aStart;
  const length = middle + bEnd - bStart;
  const at = arena.begin(length);
  copyBytes(arena.bytes, at, a, aStart, aEnd);
  copyBytes(arena.bytes, at + middle, b, bStart, bEnd);
  arena.end = at + length;
}

/** Counts the bytes that begin a character. */
export function charLength(bytes: Uint8Array, start: number, end: number): number {
  let count = 0;
  for (let i = start; i < end; i += 1) {
    if (((bytes[i] as number) & 0xc0) !== 0x80) count += 1;
  }
  return count;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** ASCII letters are changed in place; with any other character JavaScript's tables decide. */
function changeCase(
  arena: TextArena,
  bytes: Uint8Array,
  start: number,
  end: number,
  first: number,
  change: (text: string) => string,
): void {
  const at = arena.begin(end - start);
  let high = 0;
  for (let i = start, o = at; i < end; i += 1, o += 1) {
    const code = bytes[i] as number;
    high |= code;
    arena.bytes[o] = code >= first && code < first + 26 ? code ^ 32 : code;
  }
  arena.end = at + end - start;
  if (high < 128) return;
  const changed = encoder.encode(change(decoder.decode(bytes.subarray(start, end))));
  arena.end = at;
  arena.put(changed, 0, changed.length);
}

export function upperText(arena: TextArena, bytes: Uint8Array, start: number, end: number): void {
  changeCase(arena, bytes, start, end, 97, (text) => text.toUpperCase());
}

export function lowerText(arena: TextArena, bytes: Uint8Array, start: number, end: number): void {
  changeCase(arena, bytes, start, end, 65, (text) => text.toLowerCase());
}

/** Blanks at both ends are left out. */
export function trimText(arena: TextArena, bytes: Uint8Array, start: number, end: number): void {
  arena.put(bytes, firstUnlikeBlank(bytes, start, end), lastUnlikeBlank(bytes, start, end));
}

export function trimLeft(arena: TextArena, bytes: Uint8Array, start: number, end: number): void {
  arena.put(bytes, firstUnlikeBlank(bytes, start, end), end);
}

export function trimRight(arena: TextArena, bytes: Uint8Array, start: number, end: number): void {
  arena.put(bytes, start, lastUnlikeBlank(bytes, start, end));
}

function firstUnlikeBlank(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] === 32) at += 1;
  return at;
}

/** The place behind the last byte that is no blank; not before the first one. */
function lastUnlikeBlank(bytes: Uint8Array, start: number, end: number): number {
  const least = firstUnlikeBlank(bytes, start, end);
  let at = end;
  while (at > least && bytes[at - 1] === 32) at -= 1;
  return at;
}

/** The place `count` characters behind `start`, at most `end`. */
function skipCharacters(bytes: Uint8Array, start: number, end: number, count: number): number {
  let at = start;
  for (let left = count; left > 0 && at < end; left -= 1) {
    at += 1;
    while (at < end && ((bytes[at] as number) & 0xc0) === 0x80) at += 1;
  }
  return at;
}

/** Characters `first` to `first + length - 1`, counted from 1; those before the first are none. */
export function substringText(
  arena: TextArena,
  bytes: Uint8Array,
  start: number,
  end: number,
  first: number,
  length = Infinity,
): void {
  const from = Math.max(1, first);
  const count = Math.max(0, first + Math.max(0, length) - from);
  const begin = skipCharacters(bytes, start, end, from - 1);
  arena.put(bytes, begin, skipCharacters(bytes, begin, end, count));
}

/** Where the part begins in the text, in bytes from `start`, or -1. */
function indexOfText(
  bytes: Uint8Array,
  start: number,
  end: number,
  part: Uint8Array,
  partStart: number,
  partEnd: number,
): number {
  const length = partEnd - partStart;
  if (length === 0) return start;
  const first = part[partStart] as number;
  for (let at = start; at + length <= end; at += 1) {
    if (bytes[at] !== first) continue;
    let matched = 1;
    while (matched < length && bytes[at + matched] === part[partStart + matched]) matched += 1;
    if (matched === length) return at;
  }
  return -1;
}

/** The number of the character where the part begins, counted from 1; 0 where it is not found. */
export function positionOfText(
  bytes: Uint8Array,
  start: number,
  end: number,
  part: Uint8Array,
  partStart: number,
  partEnd: number,
): number {
  const at = indexOfText(bytes, start, end, part, partStart, partEnd);
  return at < 0 ? 0 : charLength(bytes, start, at) + 1;
}

export function containsText(
  bytes: Uint8Array,
  start: number,
  end: number,
  part: Uint8Array,
  partStart: number,
  partEnd: number,
): boolean {
  return indexOfText(bytes, start, end, part, partStart, partEnd) >= 0;
}

export function startsWithText(
  bytes: Uint8Array,
  start: number,
  end: number,
  part: Uint8Array,
  partStart: number,
  partEnd: number,
): boolean {
  const length = partEnd - partStart;
  return (
    length <= end - start && equalTexts(bytes, start, start + length, part, partStart, partEnd)
  );
}

export function endsWithText(
  bytes: Uint8Array,
  start: number,
  end: number,
  part: Uint8Array,
  partStart: number,
  partEnd: number,
): boolean {
  const length = partEnd - partStart;
  return length <= end - start && equalTexts(bytes, end - length, end, part, partStart, partEnd);
}

/** Every occurrence of a part, from left to right; an empty part is found nowhere. */
export function replaceText(
  arena: TextArena,
  bytes: Uint8Array,
  start: number,
  end: number,
  part: Uint8Array,
  partStart: number,
  partEnd: number,
  by: Uint8Array,
  byStart: number,
  byEnd: number,
): void {
  const partLength = partEnd - partStart;
  if (partLength === 0) {
    arena.put(bytes, start, end);
    return;
  }
  const places: number[] = [];
  for (let at = start; ; ) {
    const found = indexOfText(bytes, at, end, part, partStart, partEnd);
    if (found < 0) break;
    places.push(found);
    at = found + partLength;
  }
  const byLength = byEnd - byStart;
  let place = arena.begin(end - start + places.length * (byLength - partLength));
  let from = start;
  for (const found of places) {
    copyBytes(arena.bytes, place, bytes, from, found);
    place += found - from;
    copyBytes(arena.bytes, place, by, byStart, byEnd);
    place += byLength;
    from = found + partLength;
  }
  copyBytes(arena.bytes, place, bytes, from, end);
  arena.end = place + end - from;
}

/** The part with the number `index`, counted from 1, or from the end where it is negative. */
export function splitPart(
  arena: TextArena,
  bytes: Uint8Array,
  start: number,
  end: number,
  delimiter: Uint8Array,
  delimiterStart: number,
  delimiterEnd: number,
  index: number,
): void {
  const length = delimiterEnd - delimiterStart;
  const bounds = [start];
  if (length > 0) {
    for (let at = start; ; ) {
      const found = indexOfText(bytes, at, end, delimiter, delimiterStart, delimiterEnd);
      if (found < 0) break;
      bounds.push(found, found + length);
      at = found + length;
    }
  }
  bounds.push(end);
  const count = bounds.length / 2;
  const part = index > 0 ? index - 1 : count + index;
  if (index === 0 || part < 0 || part >= count) arena.put(bytes, start, start);
  else arena.put(bytes, bounds[part * 2] as number, bounds[part * 2 + 1] as number);
}
