/**
 * Thrift's compact protocol, as far as Parquet's footer and page headers need it. A struct is read
 * as a map from field number to value; the `Fields` accessors refuse unexpected types. The
 * available bytes bound nesting and sizes, so that a corrupt file neither hangs nor fills the
 * memory.
 */
import type { ByteSink } from "./byte-sink.ts";
import type { ByteSource } from "./byte-source.ts";
import { corrupt } from "./parquet-error.ts";

const type = {
  true: 1,
  false: 2,
  i8: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
} as const;

const depthMax = 16;
const utf8 = new TextEncoder();

/** Writes one struct. Fields are written in ascending order of their numbers. */
export class StructWriter {
  readonly #sink: ByteSink;
  #last = 0;

  constructor(sink: ByteSink) {
    this.#sink = sink;
  }

  i32(field: number, value: number): this {
    this.#header(field, type.i32);
    this.#sink.zigzag(value);
    return this;
  }

  i64(field: number, value: number): this {
    this.#header(field, type.i64);
    this.#sink.zigzag(value);
    return this;
  }

  bool(field: number, value: boolean): this {
    this.#header(field, value ? type.true : type.false);
    return this;
  }

  binary(field: number, value: Uint8Array): this {
    this.#header(field, type.binary);
    this.#sink.varint(value.length);
    this.#sink.bytes(value);
    return this;
  }

  text(field: number, value: string): this {
    return this.binary(field, utf8.encode(value));
  }

  struct(field: number, write: (struct: StructWriter) => void): this {
    this.#header(field, type.struct);
    writeStruct(this.#sink, write);
    return this;
  }

  structs<T>(
    field: number,
    items: readonly T[],
    write: (struct: StructWriter, item: T) => void,
  ): this {
    this.#listHeader(field, items.length, type.struct);
    for (const item of items) writeStruct(this.#sink, (struct) => write(struct, item));
    return this;
  }

  i32s(field: number, items: readonly number[]): this {
    this.#listHeader(field, items.length, type.i32);
    for (const item of items) this.#sink.zigzag(item);
    return this;
  }

  texts(field: number, items: readonly string[]): this {
    this.#listHeader(field, items.length, type.binary);
    for (const item of items) {
      const bytes = utf8.encode(item);
      this.#sink.varint(bytes.length);
      this.#sink.bytes(bytes);
    }
    return this;
  }

  #header(field: number, kind: number): void {
    this.#sink.byte(((field - this.#last) << 4) | kind); // Gaps are at most 15 here.
    this.#last = field;
  }

  #listHeader(field: number, count: number, kind: number): void {
    this.#header(field, type.list);
    if (count < 15) {
      this.#sink.byte((count << 4) | kind);
    } else {
      this.#sink.byte(0xf0 | kind);
      this.#sink.varint(count);
    }
  }
}

export function writeStruct(sink: ByteSink, write: (struct: StructWriter) => void): void {
  write(new StructWriter(sink));
  sink.byte(0);
}

/** Shared, because creating one takes longer than decoding most texts. */
const utf8Decoder = new TextDecoder();

type Value = number | boolean | Uint8Array | Fields | readonly Value[];

/** A struct that was read. An absent field is undefined; one of another type is refused. */
export class Fields {
  readonly #values: ReadonlyMap<number, Value>;

  constructor(values: ReadonlyMap<number, Value>) {
    this.#values = values;
  }

  number(field: number): number | undefined {
    const value = this.#values.get(field);
    if (value === undefined || typeof value === "number") return value;
    throw corrupt(`field ${field} is no number`);
  }

  requireNumber(field: number, what: string): number {
    const value = this.number(field);
    if (value === undefined) throw corrupt(`${what} is missing`);
    return value;
  }

  /** A count or a size: not negative. */
  requireCount(field: number, what: string): number {
    const value = this.requireNumber(field, what);
    if (value < 0) throw corrupt(`${what} is negative`);
    return value;
  }

  binary(field: number): Uint8Array | undefined {
    const value = this.#values.get(field);
    if (value === undefined || value instanceof Uint8Array) return value;
    throw corrupt(`field ${field} is no text`);
  }

  text(field: number): string | undefined {
    const value = this.binary(field);
    return value === undefined ? undefined : utf8Decoder.decode(value);
  }

  struct(field: number): Fields | undefined {
    const value = this.#values.get(field);
    if (value === undefined || value instanceof Fields) return value;
    throw corrupt(`field ${field} is no struct`);
  }

  structs(field: number): readonly Fields[] {
    return this.#list(field).map((item) => {
      if (item instanceof Fields) return item;
      throw corrupt(`field ${field} is no list of structs`);
    });
  }

  texts(field: number): readonly string[] {
    return this.#list(field).map((item) => {
      if (item instanceof Uint8Array) return utf8Decoder.decode(item);
      throw corrupt(`field ${field} is no list of texts`);
    });
  }

  #list(field: number): readonly Value[] {
    const value = this.#values.get(field);
    if (value === undefined) return [];
    if (Array.isArray(value)) return value as readonly Value[];
    throw corrupt(`field ${field} is no list`);
  }
}

export function readStruct(source: ByteSource, depth = 0): Fields {
  if (depth > depthMax) throw corrupt("structs are nested too deeply");
  const values = new Map<number, Value>();
  let field = 0;
  for (;;) {
    const header = source.byte();
    if (header === 0) return new Fields(values);
    field = header >> 4 === 0 ? source.zigzag() : field + (header >> 4);
    const kind = header & 0x0f;
    if (kind === type.true || kind === type.false) values.set(field, kind === type.true);
    else values.set(field, readValue(source, kind, depth));
  }
}

function readValue(source: ByteSource, kind: number, depth: number): Value {
  switch (kind) {
    case type.true:
    case type.false:
      return source.byte() === type.true; // Within a list a boolean is a byte.
    case type.i8:
      return source.byte();
    case type.i16:
    case type.i32:
    case type.i64:
      return source.zigzag();
    case type.double:
      return source.take(8);
    case type.binary:
      return source.take(source.varint());
    case type.list:
    case type.set:
      return readList(source, depth);
    case type.struct:
      return readStruct(source, depth + 1);
    default:
      throw corrupt(`there is no type ${kind}`);
  }
}

/** Each item takes at least a byte, so the bytes bound the list. */
function readList(source: ByteSource, depth: number): readonly Value[] {
  if (depth > depthMax) throw corrupt("lists are nested too deeply");
  const header = source.byte();
  const count = header >> 4 === 15 ? source.varint() : header >> 4;
  if (count > source.left) throw corrupt("a list is longer than the rest of the file");
  const kind = header & 0x0f;
  const items: Value[] = [];
  for (let index = 0; index < count; index += 1) items.push(readValue(source, kind, depth + 1));
  return items;
}
