/**
 * What the machine reads: characters of a string, or of UTF-8 bytes. Positions are those of the
 * string or of the bytes.
 */

export interface TextInput {
  readonly start: number;
  readonly end: number;
  /**
   * The character at a position before the end, and how many places it takes: the code point,
   * shifted by 3 bits, and the width in these bits.
   */
  characterAt(at: number): number;
  /** The unit of the string or the byte; NaN beyond the text. Alike for ASCII. */
  unitAt(at: number): number;
}

export class StringInput implements TextInput {
  readonly start = 0;
  readonly end: number;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
    this.end = text.length;
  }

  characterAt(at: number): number {
    const code = this.#text.codePointAt(at) as number;
    return (code << 3) | (code > 0xffff ? 2 : 1);
  }

  unitAt(at: number): number {
    return this.#text.charCodeAt(at);
  }
}

/** One text after the other: `set` moves it to the next. */
export class BytesInput implements TextInput {
  start = 0;
  end = 0;
  #bytes: Uint8Array = new Uint8Array(0);

  set(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes;
    this.start = start;
    this.end = end;
  }

  characterAt(at: number): number {
    const first = this.#bytes[at] as number;
    return first < 0x80 ? (first << 3) | 1 : characterOf(this.#bytes, at, this.end);
  }

  unitAt(at: number): number {
    return at < this.start || at >= this.end ? Number.NaN : (this.#bytes[at] as number);
  }
}

const replacement = (0xfffd << 3) | 1;

/** As `characterAt`, of a character that is not ASCII. A byte that belongs to none is U+FFFD. */
export function characterOf(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at] as number;
  const width = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
  if (width === 1 || at + width > end) return replacement;
  let code = first & (0xff >> (width + 1));
  for (let i = 1; i < width; i += 1) {
    const next = bytes[at + i] as number;
    if ((next & 0xc0) !== 0x80) return replacement;
    code = (code << 6) | (next & 0x3f);
  }
  const isOverlong = code < (width === 2 ? 0x80 : width === 3 ? 0x800 : 0x10000);
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  return isOverlong || isSurrogate || code > 0x10ffff ? replacement : (code << 3) | width;
}
