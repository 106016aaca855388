/**
 * Writes JSON as bytes into one growing buffer. Answers have millions of numbers, so each is
 * written digit by digit in place, without a string or an array in between.
 */
import { type HeldMemory, unboundedMemory } from "../promql/core/index.ts";

const bytesInitial = 64 * 1024;
const bytesExpectedMax = 64 * 1024 ** 2;
/** The longest number: a sign, 17 digits, a point, leading zeros or an exponent. */
const numberBytesMax = 32;

export class JsonSink {
  #bytes: Buffer<ArrayBuffer>;
  #length = 0;
  readonly #memory: HeldMemory;

  /** `bytesExpected` avoids growing step by step. */
  constructor(bytesExpected = bytesInitial, memory: HeldMemory = unboundedMemory) {
    this.#memory = memory;
    const bytes = Math.min(Math.max(bytesExpected, bytesInitial), bytesExpectedMax);
    memory.take(bytes);
    this.#bytes = Buffer.allocUnsafeSlow(bytes);
  }

  get length(): number {
    return this.#length;
  }

  /** Returns what was written so far and starts with an empty buffer. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.allocUnsafeSlow(bytesInitial);
    this.#length = 0;
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  takeText(): string {
    const text = this.#bytes.toString("utf8", 0, this.#length);
    this.#length = 0;
    return text;
  }

  /** Writes characters below 128 only. */
  ascii(text: string): void {
    this.#reserve(text.length);
    this.#put(text);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Writes JSON text that was made elsewhere. */
  json(text: string): void {
    this.#reserve(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length, "utf8");
  }

  text(text: string): void {
    this.json(textJson(text));
  }

  /** `[<ts>,"<value>"]`: the hot path. `prefix` is `[<ts>,"`. */
  point(prefix: Uint8Array, prefixStart: number, prefixEnd: number, value: number): void {
    this.#reserve(prefixEnd - prefixStart + numberBytesMax + 2);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let index = prefixStart; index < prefixEnd; index += 1) {
      bytes[at] = prefix[index] as number;
      at += 1;
    }
    this.#length = at;
    this.#number(value);
    bytes[this.#length] = 0x22;
    bytes[this.#length + 1] = 0x5d;
    this.#length += 2;
  }

  /** Writes `"<value>"` in Prometheus's float format. */
  quotedFloat(value: number): void {
    this.#reserve(numberBytesMax + 2);
    this.#bytes[this.#length] = 0x22;
    this.#length += 1;
    this.#number(value);
    this.#bytes[this.#length] = 0x22;
    this.#length += 1;
  }

  /** The caller has reserved the room. */
  #number(value: number): void {
    if (value >= 0 && value <= 0x7fffffff && (value | 0) === value && !Object.is(value, -0)) {
      this.#integer(value);
    } else if (!this.#decimal(value)) {
      this.#put(floatText(value));
    }
  }

  /**
   * Writes up to three decimals, which most gauges have. Numbers of at most 15 digits are all
   * different as floats, so the one that gives this float is its shortest text. Returns `false` for
   * other numbers.
   */
  #decimal(value: number): boolean {
    const abs = Math.abs(value);
    if (!(abs >= 0.001 && abs < 2_000_000)) return false;
    let thousandths = Math.round(abs * 1000);
    if (thousandths / 1000 !== abs) return false;
    const bytes = this.#bytes;
    if (value < 0) {
      bytes[this.#length] = 0x2d;
      this.#length += 1;
    }
    const whole = (thousandths / 1000) | 0;
    this.#integer(whole);
    thousandths -= whole * 1000;
    if (thousandths === 0) return true;
    const [tenths, rest] = [(thousandths / 100) | 0, thousandths % 100];
    const at = this.#length;
    bytes[at] = 0x2e;
    bytes[at + 1] = 0x30 + tenths;
    bytes[at + 2] = 0x30 + ((rest / 10) | 0);
    bytes[at + 3] = 0x30 + (rest % 10);
    this.#length = at + (rest === 0 ? 2 : rest % 10 === 0 ? 3 : 4);
    return true;
  }

  #integer(value: number): void {
    let digits = 1;
    for (let power = 10; value >= power; power *= 10) digits += 1;
    let rest = value | 0;
    for (let at = this.#length + digits - 1; at >= this.#length; at -= 1) {
      const next = (rest / 10) | 0;
      this.#bytes[at] = 0x30 + (rest - next * 10);
      rest = next;
    }
    this.#length += digits;
  }

  /** A loop is faster than a native call for twenty characters. */
  #put(text: string): void {
    const bytes = this.#bytes;
    const start = this.#length;
    if (text.length > 64) {
      bytes.write(text, start, "latin1");
    } else {
      for (let index = 0; index < text.length; index += 1)
        bytes[start + index] = text.charCodeAt(index);
    }
    this.#length = start + text.length;
  }

  #reserve(byteCount: number): void {
    const needed = this.#length + byteCount;
    if (needed <= this.#bytes.length) return;
    const grownBytes = Math.max(needed, this.#bytes.length * 2);
    this.#memory.take(grownBytes);
    const grown = Buffer.allocUnsafeSlow(grownBytes);
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#memory.give(this.#bytes.length);
    this.#bytes = grown;
  }
}

/** Replaces invalid UTF-8, which PromQL strings may have and JSON may not, by U+FFFD. */
export function textJson(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

/** Prometheus's float format: JavaScript's, except for infinities, zero and one-digit exponents. */
export function floatText(value: number): string {
  if (!Number.isFinite(value)) {
    if (Number.isNaN(value)) return "NaN";
    return value > 0 ? "+Inf" : "-Inf";
  }
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const text = String(value);
  const exponent = text.length - 3;
  return text.charCodeAt(exponent) === 0x65 && text.charCodeAt(exponent + 1) === 0x2d
    ? `${text.slice(0, exponent + 2)}0${text.slice(exponent + 2)}`
    : text;
}

/** Seconds, with milliseconds unless they are zero: `1700000000.050`. */
export function timestampText(ms: number): string {
  const sign = ms < 0 ? "-" : "";
  const abs = Math.abs(ms);
  const seconds = Math.floor(abs / 1000);
  const fraction = abs - seconds * 1000;
  return fraction === 0
    ? `${sign}${seconds}`
    : `${sign}${seconds}.${String(Math.trunc(fraction)).padStart(3, "0")}`;
}
