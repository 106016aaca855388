/**
 * Reads the protobuf wire format in place. Every read is checked against the end of the message that is being read;
 * a field of another wire type than the schema's, a group, or a length beyond the end is malformed.
 *
 * A message inside a message is entered with `enter` and left with `leave`: there is one reader, and it allocates
 * nothing for a field.
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
  /** Where the next read begins. */
  at = 0;
  /** Where the message that is being read ends. */
  end: number;
  /** Of the last `nextField`. */
  wireType = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
  }

  /** The next field's number; 0 at the end of the message. */
  nextField(): number {
    if (this.at >= this.end) return 0;
    const tag = this.uint32();
    this.wireType = tag & 7;
    const field = tag >>> 3;
    if (field === 0) throw new MalformedInput("proto: illegal tag 0");
    return field;
  }

  /** Enters the message that begins here. Returns the outer one's end, for `leave`. */
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

  /** Steps over bytes, a text or a message. Returns where it starts; `at` is its end. */
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

  /** Whether the double that ends here is the marker of a series' end: one NaN among many. */
  wasStaleMarker(): boolean {
    const at = this.at - 8;
    return this.view.getUint32(at, true) === 2 && this.view.getUint32(at + 4, true) === 0x7ff0_0000;
  }

  /** Bits beyond 32 are dropped, as protobuf says. */
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

  /** Exact up to 2^53 either side of 0. */
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

  expect(wireType: number): void {
    if (this.wireType !== wireType) {
      throw new MalformedInput(`proto: wrong wireType = ${this.wireType}`);
    }
  }

  /** Steps over the field whose tag was just read. */
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

/** Some text is not UTF-8. In labels that is the fault of one series, elsewhere of the whole. */
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
