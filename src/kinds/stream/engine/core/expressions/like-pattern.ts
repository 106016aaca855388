/**
 * LIKE on bytes: `%` stands for any text, `_` for one character, and a backslash takes the meaning
 * from the next character. The time is at most the text's length times the pattern's.
 */

const anyCharacter = -1;

export class LikePattern {
  /** What stands between the `%`: bytes, and -1 for one character. */
  readonly #parts: readonly Int16Array[];

  constructor(pattern: string) {
    const parts: number[][] = [[]];
    const encoder = new TextEncoder();
    let escaped = false;
    for (const character of pattern) {
      const part = parts.at(-1) as number[];
      if (!escaped && character === "\\") {
        escaped = true;
        continue;
      }
      if (!escaped && character === "%") parts.push([]);
      else if (!escaped && character === "_") part.push(anyCharacter);
      else part.push(...encoder.encode(character));
      escaped = false;
    }
    if (escaped) parts.at(-1)?.push(92);
    this.#parts = parts.map((part) => Int16Array.from(part));
  }

  test(bytes: Uint8Array, start: number, end: number): boolean {
    const parts = this.#parts;
    let at = matchPart(parts[0] as Int16Array, bytes, start, end);
    if (at < 0) return false;
    if (parts.length === 1) return at === end;
    for (let i = 1; i < parts.length - 1; i += 1) {
      at = findPart(parts[i] as Int16Array, bytes, at, end);
      if (at < 0) return false;
    }
    return endsWithPart(parts.at(-1) as Int16Array, bytes, at, end);
  }
}

/** The place behind the part where it stands at `start`, or -1. */
function matchPart(part: Int16Array, bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  for (let i = 0; i < part.length; i += 1) {
    if (at >= end) return -1;
    if (part[i] === anyCharacter) at = nextCharacter(bytes, at, end);
    else {
      if (bytes[at] !== part[i]) return -1;
      at += 1;
    }
  }
  return at;
}

function nextCharacter(bytes: Uint8Array, start: number, end: number): number {
  let at = start + 1;
  while (at < end && ((bytes[at] as number) & 0xc0) === 0x80) at += 1;
  return at;
}

/** The place behind the first occurrence of the part, or -1. */
function findPart(part: Int16Array, bytes: Uint8Array, start: number, end: number): number {
  if (part.length === 0) return start;
  for (let at = start; at < end; at = nextCharacter(bytes, at, end)) {
    const behind = matchPart(part, bytes, at, end);
    if (behind >= 0) return behind;
  }
  return -1;
}

/** Whether the part is the end of `start .. end`. It is matched from the back. */
function endsWithPart(part: Int16Array, bytes: Uint8Array, start: number, end: number): boolean {
  let at = end;
  for (let i = part.length - 1; i >= 0; i -= 1) {
    if (at <= start) return false;
    at -= 1;
    if (part[i] === anyCharacter) {
      while (at > start && ((bytes[at] as number) & 0xc0) === 0x80) at -= 1;
    } else if (bytes[at] !== part[i]) return false;
  }
  return true;
}
