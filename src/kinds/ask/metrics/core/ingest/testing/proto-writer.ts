/** Writes the protobuf wire format for tests and benchmarks. Shares no code with the reader. */
export class ProtoWriter {
  readonly #bytes: number[] = [];

  bytes(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }

  varint(value: bigint): this {
    let rest = BigInt.asUintN(64, value);
    while (rest >= 128n) {
      this.#bytes.push(Number(rest & 127n) | 128);
      rest >>= 7n;
    }
    this.#bytes.push(Number(rest));
    return this;
  }

  tag(field: number, wireType: number): this {
    return this.varint(BigInt(field * 8 + wireType));
  }

  raw(bytes: Uint8Array): this {
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  /** Omits 0, as proto3 does. */
  integer(field: number, value: number): this {
    return value === 0 ? this : this.tag(field, 0).varint(BigInt(value));
  }

  signed(field: number, value: number): this {
    return value === 0 ? this : this.tag(field, 0).varint(zigzag(value));
  }

  double(field: number, value: number): this {
    return this.tag(field, 1).raw(doubleBytes(value));
  }

  blob(field: number, bytes: Uint8Array): this {
    return this.tag(field, 2).varint(BigInt(bytes.length)).raw(bytes);
  }

  text(field: number, text: string): this {
    return text === "" ? this : this.blob(field, new TextEncoder().encode(text));
  }

  message(field: number, write: (inner: ProtoWriter) => void): this {
    const inner = new ProtoWriter();
    write(inner);
    return this.blob(field, inner.bytes());
  }

  packedSigned(field: number, values: readonly number[]): this {
    if (values.length === 0) return this;
    const inner = new ProtoWriter();
    for (const value of values) inner.varint(zigzag(value));
    return this.blob(field, inner.bytes());
  }

  packedIntegers(field: number, values: readonly number[]): this {
    if (values.length === 0) return this;
    const inner = new ProtoWriter();
    for (const value of values) inner.varint(BigInt(value));
    return this.blob(field, inner.bytes());
  }

  packedDoubles(field: number, values: readonly number[]): this {
    if (values.length === 0) return this;
    const inner = new ProtoWriter();
    for (const value of values) inner.raw(doubleBytes(value));
    return this.blob(field, inner.bytes());
  }
}

/** Prometheus's stale marker. Arithmetic must not touch it, or it becomes another NaN. */
export const staleBytes: Uint8Array = Uint8Array.of(2, 0, 0, 0, 0, 0, 0xf0, 0x7f);

function doubleBytes(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return bytes;
}

function zigzag(value: number): bigint {
  const whole = BigInt(value);
  return (whole << 1n) ^ (whole >> 63n);
}
