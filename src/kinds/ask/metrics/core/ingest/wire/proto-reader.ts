/**
 * Reads the protobuf wire format in place. Every read is checked against the end of the current
 * message. A field whose wire type differs from the schema's, a group, or a length beyond the end
 * is malformed.
 *
 * There is one reader for nested messages, used with `enter` and `leave`; it allocates nothing for
 * a field.
 */
import { MalformedInput } from "../malformed.ts";

export const wireVarint = 0;
export const wireFixed64 = 1;
export const wireBytes = 2;
const wireFixed32 = 5;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class ProtoReader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** The position of the next read. */
  at = 0;
  /** The end of the current message. */
  end: number;
  /** The wire type of the field that `nextField` returned last. */
  wireType = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
  }

  /** Returns the next field's number, or 0 at the end of the message. */
  nextField(): number {
    if (this.at >= this.end) return 0;
    const tag = this.uint32();
    this.wireType = tag & 7;
    const field = tag >>> 3;
    if (field === 0) throw new MalformedInput("proto: illegal tag 0");
    return field;
  }

  /** Enters the message that begins here. Returns the end of the outer message, for `leave`. */
  enter(): number {
    const outerEnd = this.end;
    const length = this.#length();
    this.end = this.at + length;
    return outerEnd;
  }

  leave(outerEnd: number): void {
    this.at = this.end;
    this.end = outerEnd;
  }

  /** Skips bytes, a text or a message. Returns its start; `at` is its end. */
  bytesField(): number {
    const length = this.#length();
    const start = this.at;
    this.at = start + length;
    return start;
  }

  text(): string {
    this.expect(wireBytes);
    const start = this.bytesField();
    return decodeText(this.bytes.subarray(start, this.at));
  }

  double(): number {
    const at = this.at;
    if (at + 8 > this.end) throw truncated();
    this.at = at + 8;
    return this.view.getFloat64(at, true);
  }

  /** Whether the double that ends here is the stale marker, which is one specific NaN. */
  wasStaleMarker(): boolean {
    const at = this.at - 8;
    return this.view.getUint32(at, true) === 2 && this.view.getUint32(at + 4, true) === 0x7ff0_0000;
  }

  /** Drops bits beyond 32, as protobuf specifies. */
  uint32(): number {
    const { bytes, end } = this;
    let at = this.at;
    if (at >= end) throw truncated();
    let byte = bytes[at] as number;
    at += 1;
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      if (at >= end) throw truncated();
      if (shift > 63) throw overflow();
      byte = bytes[at] as number;
      at += 1;
      if (shift < 32) value |= (byte & 0x7f) << shift;
    }
    this.at = at;
    return value >>> 0;
  }

  sint32(): number {
    const value = this.uint32();
    return (value >>> 1) ^ -(value & 1);
  }

  /** Exact between -2^53 and 2^53. */
  int64(): number {
    const low = this.#varintLow();
    return (this.#high | 0) * 0x1_0000_0000 + low;
  }

  uint64(): number {
    const low = this.#varintLow();
    return this.#high * 0x1_0000_0000 + low;
  }

  sint64(): number {
    const low = this.#varintLow();
    const high = this.#high;
    const magnitude = (high >>> 1) * 0x1_0000_0000 + (((low >>> 1) | (high << 31)) >>> 0);
    return (low & 1) === 0 ? magnitude : -magnitude - 1;
  }

  doubleField(): number {
    this.expect(wireFixed64);
    return this.double();
  }

  uint32Field(): number {
    this.expect(wireVarint);
    return this.uint32();
  }

  int64Field(): number {
    this.expect(wireVarint);
    return this.int64();
  }

  expect(wireType: number): void {
    if (this.wireType !== wireType) {
      throw new MalformedInput(`proto: wrong wireType = ${this.wireType}`);
    }
  }

  /** Skips the field whose tag was just read. */
  skip(): void {
    switch (this.wireType) {
      case wireVarint:
        this.#varintLow();
        return;
      case wireFixed64:
        this.#advance(8);
        return;
      case wireBytes:
        this.bytesField();
        return;
      case wireFixed32:
        this.#advance(4);
        return;
      default:
        throw new MalformedInput(`proto: illegal wireType ${this.wireType}`);
    }
  }

  /** The upper half of the varint whose lower half `#varintLow` returned last. */
  #high = 0;

  #varintLow(): number {
    const { bytes, end } = this;
    let at = this.at;
    let low = 0;
    let high = 0;
    for (let shift = 0; ; shift += 7) {
      if (at >= end) throw truncated();
      if (shift > 63) throw overflow();
      const byte = bytes[at] as number;
      at += 1;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) break;
    }
    this.at = at;
    this.#high = high >>> 0;
    return low >>> 0;
  }

  #length(): number {
    const length = this.uint32();
    if (length > this.end - this.at) throw truncated();
    return length;
  }

  #advance(byteCount: number): void {
    if (byteCount > this.end - this.at) throw truncated();
    this.at += byteCount;
  }
}

/** Throws when it is not UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new InvalidText();
  }
}

/** Text that is not UTF-8. In labels it affects one series, elsewhere the whole body. */
export class InvalidText extends MalformedInput {
  constructor() {
    super("proto: a text is not valid UTF-8");
  }
}

function truncated(): MalformedInput {
  return new MalformedInput("unexpected EOF");
}

function overflow(): MalformedInput {
  return new MalformedInput("proto: integer overflow");
}
