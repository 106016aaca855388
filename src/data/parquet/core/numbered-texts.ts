/** Texts of a prefix and a counter, written as differences (DELTA_BYTE_ARRAY). */
import { ByteSink } from "./byte-sink.ts";
import { encodeDelta } from "./delta.ts";
import type { ParquetRuntime } from "./parquet-types.ts";
import { encodeTexts } from "./plain.ts";

const zero = 0x30;

export class NumberedTexts {
  readonly prefix: string;
  /** The first number; a safe integer, not negative. */
  readonly first: number;
  readonly length: number;

  constructor(prefix: string, first: number, length: number) {
    this.prefix = prefix;
    this.first = first;
    this.length = length;
  }

  encode(runtime: ParquetRuntime): Uint8Array {
    const prefix = runtime.encodeUtf8(this.prefix);
    const kept = new Int32Array(this.length);
    const lengths = new Int32Array(this.length);
    const digits = Array.from(`${this.first}`, (digit) => Number(digit));
    const suffixes = new ByteSink(prefix.length + this.length * 2 + 32);
    for (let at = 0; at < this.length; at += 1) {
      const from = at === 0 ? 0 : counted(digits);
      if (at === 0) suffixes.bytes(prefix);
      kept[at] = at === 0 ? 0 : prefix.length + from;
      lengths[at] = (at === 0 ? prefix.length : 0) + digits.length - from;
      for (let digit = from; digit < digits.length; digit += 1) {
        suffixes.byte(zero + (digits[digit] as number));
      }
    }
    const sink = new ByteSink(suffixes.length + this.length + 64);
    encodeDelta(kept, sink);
    encodeDelta(lengths, sink);
    sink.bytes(suffixes.view());
    return sink.view();
  }

  /** The least and the greatest text by bytes, encoded like `encodeTexts`. */
  bounds(runtime: ParquetRuntime): Uint8Array {
    const last = this.first + this.length - 1;
    const texts: string[] = [];
    // Among numbers of the same length the order of bytes is that of numbers.
    for (let low = this.first; low <= last; low = 10 ** `${low}`.length) {
      texts.push(`${low}`, `${Math.min(last, 10 ** `${low}`.length - 1)}`);
    }
    texts.sort((left, right) => (left < right ? -1 : 1));
    const ends = [texts[0] ?? "", texts.at(-1) ?? ""].map((text) => `${this.prefix}${text}`);
    return encodeTexts(this.length === 0 ? [] : ends, runtime);
  }
}

/** Adds one. Returns the index of the first changed digit. */
function counted(digits: number[]): number {
  for (let at = digits.length - 1; at >= 0; at -= 1) {
    if (digits[at] !== 9) {
      digits[at] = (digits[at] as number) + 1;
      return at;
    }
    digits[at] = 0;
  }
  digits.unshift(1);
  return 0;
}
