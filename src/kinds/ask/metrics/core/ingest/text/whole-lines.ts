/**
 * Splits bytes that arrive in arbitrary chunks into texts of whole lines, each ended by a line
 * feed. A line that spans chunks has at most `lineBytesMax` bytes. A line that is not UTF-8 is
 * reported in its place among the others.
 */
export interface LineReader {
  read(text: string): void;
  /** Called when the next line is not UTF-8. */
  readInvalid(): void;
  /** Called when the next line exceeds `bytesMax`. Must throw: where it ends is unknown. */
  refuseLong(bytesMax: number): never;
}

const lineBytesMax = 4 * 1024 * 1024;
/** Bytes decoded at once: larger slices are not faster, and the text has to fit the cache. */
const sliceBytes = 512 * 1024;
const newline = 0x0a;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class WholeLines {
  readonly #reader: LineReader;
  #carry: Uint8Array = new Uint8Array(0);

  constructor(reader: LineReader) {
    this.#reader = reader;
  }

  reset(): void {
    this.#carry = new Uint8Array(0);
  }

  feed(chunk: Uint8Array): void {
    const lastNewline = chunk.lastIndexOf(newline);
    if (lastNewline < 0) {
      this.#keep(concat(this.#carry, chunk));
      return;
    }
    let from = 0;
    if (this.#carry.length > 0) {
      const firstEnd = chunk.indexOf(newline) + 1;
      const line = concat(this.#carry, chunk.subarray(0, firstEnd));
      this.#carry = new Uint8Array(0);
      this.#hand(line);
      from = firstEnd;
    }
    while (from <= lastNewline) {
      const wanted = Math.min(from + sliceBytes, lastNewline + 1);
      let end = chunk.lastIndexOf(newline, wanted - 1) + 1;
      if (end <= from) end = chunk.indexOf(newline, wanted) + 1;
      this.#hand(chunk.subarray(from, end));
      from = end;
    }
    this.#keep(chunk.slice(lastNewline + 1));
  }

  /** Hands on the rest as the last line. */
  end(): void {
    if (this.#carry.length === 0) return;
    const last = concat(this.#carry, Uint8Array.of(newline));
    this.#carry = new Uint8Array(0);
    this.#hand(last);
  }

  #keep(carry: Uint8Array): void {
    if (carry.length > lineBytesMax) this.#reader.refuseLong(lineBytesMax);
    this.#carry = carry;
  }

  #hand(bytes: Uint8Array): void {
    const text = decode(bytes);
    if (text === undefined) this.#handOneByOne(bytes);
    else this.#reader.read(text);
  }

  /** Hands on the lines of a slice that has at least one invalid line. */
  #handOneByOne(bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(newline, start) + 1;
      const text = decode(bytes.subarray(start, end));
      if (text === undefined) this.#reader.readInvalid();
      else this.#reader.read(text);
      start = end;
    }
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
