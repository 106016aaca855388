/**
 * Writes Parquet: row groups one after the other, then the footer. Pure: it returns bytes. The same
 * values give the same bytes.
 */
import { assert, unreachable } from "../../../ground/kernel/errors.ts";
import { ByteSink } from "./byte-sink.ts";
import { CodedTexts } from "./coded-texts.ts";
import { encodeDelta, fitsDelta } from "./delta.ts";
import {
  codecs,
  dataPage,
  dictionaryPage,
  encodings,
  magic,
  optional,
  physicalTypes,
  required,
  rleEncoding,
  utf8Converted,
} from "./format-numbers.ts";
import { NumberedTexts } from "./numbered-texts.ts";
import {
  noStatistics,
  type PageStatistics,
  statisticsOf,
  textStatistics,
} from "./page-statistics.ts";
import {
  type ColumnSpec,
  type ColumnValues,
  type Encoding,
  type ParquetRuntime,
  pageBytesMax,
  type RowGroupValues,
  rowsPerGroupMax,
} from "./parquet-types.ts";
import {
  encodeBooleans,
  encodeByteArrays,
  encodeIntegers,
  encodeNumbers,
  encodeSplit,
  encodeTexts,
} from "./plain.ts";
import { type StructWriter, writeStruct } from "./thrift.ts";

export interface ParquetWriterOptions {
  readonly keyValues?: Readonly<Record<string, string>>;
  /** 1 is fastest; more than 3 is hardly ever worth its time. */
  readonly zstdLevel?: number;
  /** Writes least and greatest values for readers that skip row groups. Default: true. */
  readonly statistics?: boolean;
  /** Shorter pages are not compressed. */
  readonly compressBytesMin?: number;
}

/** The values of a column: also texts that are not made one by one. */
export type WrittenValues = ColumnValues | CodedTexts | NumberedTexts;

interface WrittenChunk {
  readonly spec: ColumnSpec;
  readonly encoding: Encoding;
  readonly codec: "none" | "zstd";
  readonly statistics: PageStatistics;
  readonly nullCount: number;
  readonly offset: number;
  /** The offset of the dictionary, which precedes the values. */
  readonly dictionaryOffset: number | undefined;
  readonly length: number;
  readonly uncompressedLength: number;
}

interface WrittenGroup {
  readonly rowCount: number;
  readonly chunks: readonly WrittenChunk[];
}

const createdBy = "capstan";
const zstdLevelDefault = 3;
const compressBytesMinDefault = 64;
const compressedShareMax = 0.9;
/** Packed differences are already small and are read all the time. */
const compressedDeltaShareMax = 0.65;
/** The number of doubles that are compressed both ways to choose one. */
const trialCount = 16_384;
/** Plain must be this much smaller: its decompression costs what its decoding saves. */
const plainShareMax = 0.8;

/** Writes a whole file at once. */
export function writeParquet(
  schema: readonly ColumnSpec[],
  rowGroups: Iterable<readonly WrittenValues[]>,
  runtime: ParquetRuntime,
  options: ParquetWriterOptions = {},
): Uint8Array<ArrayBuffer> {
  const encoder = new ParquetEncoder(schema, runtime, options);
  const pieces: Uint8Array[] = [];
  for (const values of rowGroups) encoder.encode(values, pieces);
  pieces.push(encoder.end());
  return joined(pieces);
}

/** Writes a file in pieces: the results of each `rowGroup`, then of `end`, in order. */
export class ParquetEncoder {
  readonly #schema: readonly ColumnSpec[];
  readonly #runtime: ParquetRuntime;
  readonly #options: ParquetWriterOptions;
  readonly #groups: WrittenGroup[] = [];
  #offset = 0;

  constructor(
    schema: readonly ColumnSpec[],
    runtime: ParquetRuntime,
    options: ParquetWriterOptions = {},
  ) {
    assert(schema.length > 0, "a Parquet file has columns");
    this.#schema = schema;
    this.#runtime = runtime;
    this.#options = options;
  }

  rowGroup(values: RowGroupValues): Uint8Array<ArrayBuffer> {
    const pieces: Uint8Array[] = [];
    this.encode(values, pieces);
    return joined(pieces);
  }

  /** Like `rowGroup`, as pieces, some of which may be the memory of the values themselves. */
  encode(values: readonly WrittenValues[], pieces: Uint8Array[]): void {
    const rowCount = values[0]?.length ?? 0;
    assert(values.length === this.#schema.length, "a row group has the schema's columns");
    assert(rowCount <= rowsPerGroupMax, "a row group is not too long");
    if (this.#offset === 0) {
      pieces.push(magic);
      this.#offset = magic.length;
    }
    const chunks = this.#schema.map((spec, index) => {
      const column = values[index] as WrittenValues;
      assert(column.length === rowCount, `column ${spec.name} is as long as the others`);
      return this.#chunk(spec, column, pieces);
    });
    this.#groups.push({ rowCount, chunks });
  }

  /** The footer, the last piece of the file. */
  end(): Uint8Array<ArrayBuffer> {
    const sink = new ByteSink(4096);
    if (this.#offset === 0) sink.bytes(magic);
    const start = sink.length;
    writeStruct(sink, (file) => this.#footer(file));
    sink.uint32(sink.length - start);
    sink.bytes(magic);
    return sink.view();
  }

  #chunk(spec: ColumnSpec, values: WrittenValues, pieces: Uint8Array[]): WrittenChunk {
    const page = encodePage(spec, values, this.#runtime);
    const { encoding, bytes } = page;
    assert(bytes.length <= pageBytesMax, `a page of ${spec.name} is not too long`);
    const isText = spec.type === "text" || spec.type === "bytes";
    let statistics = noStatistics;
    if (this.#options.statistics !== false) {
      statistics = isText
        ? textStatistics(page.texts ?? bytes)
        : statisticsOf(spec, values as ColumnValues);
    }
    const dictionaryOffset = page.dictionary === undefined ? undefined : this.#offset;
    const dictionaryBytes = this.#dictionary(page, pieces);
    const isRaw = spec.codec === "none" || dictionaryOffset !== undefined;
    const body = isRaw ? bytes : this.#compressed(bytes, encoding);
    const header = new ByteSink(64);
    writeStruct(header, (struct) => {
      struct.i32(1, dataPage).i32(2, bytes.length).i32(3, body.length);
      struct.i32(4, this.#runtime.crc32(body) | 0);
      struct.struct(5, (data) => {
        data.i32(1, values.length).i32(2, encodings[encoding]);
        data.i32(3, rleEncoding).i32(4, rleEncoding);
      });
    });
    pieces.push(header.view(), body);
    const offset = this.#offset;
    const length = header.length + body.length;
    this.#offset += length;
    return {
      spec,
      encoding,
      codec: body === bytes ? "none" : "zstd",
      statistics,
      nullCount: page.nullCount ?? 0,
      offset,
      dictionaryOffset,
      length: length + dictionaryBytes,
      uncompressedLength: header.length + bytes.length + dictionaryBytes,
    };
  }

  /** Returns its length. Never compressed, because a useful dictionary is small. */
  #dictionary({ dictionary }: EncodedPage, pieces: Uint8Array[]): number {
    if (dictionary === undefined) return 0;
    const { bytes, count } = dictionary;
    const header = new ByteSink(64);
    writeStruct(header, (struct) => {
      struct.i32(1, dictionaryPage).i32(2, bytes.length).i32(3, bytes.length);
      struct.i32(4, this.#runtime.crc32(bytes) | 0);
      struct.struct(7, (own) => own.i32(1, count).i32(2, encodings.plain));
    });
    pieces.push(header.view(), bytes);
    const length = header.length + bytes.length;
    this.#offset += length;
    return length;
  }

  /** Returns the bytes unchanged where compression saves less than decompression costs. */
  #compressed(bytes: Uint8Array, encoding: Encoding): Uint8Array {
    if (bytes.length < (this.#options.compressBytesMin ?? compressBytesMinDefault)) return bytes;
    const packed = this.#runtime.zstdCompress(bytes, this.#options.zstdLevel ?? zstdLevelDefault);
    const shareMax = encoding === "delta" ? compressedDeltaShareMax : compressedShareMax;
    return packed.length <= bytes.length * shareMax ? packed : bytes;
  }

  #footer(file: StructWriter): void {
    const rowCount = this.#groups.reduce((sum, group) => sum + group.rowCount, 0);
    file.i32(1, 1);
    file.structs(2, [undefined, ...this.#schema], (element, spec) => {
      if (spec === undefined) element.text(4, "schema").i32(5, this.#schema.length);
      else writeSchemaElement(element, spec);
    });
    file.i64(3, rowCount);
    file.structs(4, this.#groups, writeRowGroup);
    file.structs(5, Object.entries(this.#options.keyValues ?? {}), (pair, [key, value]) => {
      pair.text(1, key).text(2, value);
    });
    file.text(6, createdBy);
    // Declares every column as ordered by its type; otherwise readers ignore the statistics.
    file.structs(7, this.#schema, (order) => order.struct(1, () => undefined));
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function writeSchemaElement(
  element: StructWriter,
  { type, name, fieldId, nullable }: ColumnSpec,
): void {
  element
    .i32(1, physicalTypes[type])
    .i32(3, nullable ? optional : required)
    .text(4, name);
  if (type === "text") element.i32(6, utf8Converted);
  if (fieldId !== undefined) element.i32(9, fieldId);
  if (type === "text") element.struct(10, (logical) => logical.struct(1, () => undefined));
}

function writeRowGroup(group: StructWriter, { rowCount, chunks }: WrittenGroup): void {
  const total = chunks.reduce((sum, chunk) => sum + chunk.uncompressedLength, 0);
  const compressed = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  group.structs(1, chunks, (column, chunk) => {
    column.i64(2, chunk.dictionaryOffset ?? chunk.offset);
    column.struct(3, (meta) => writeColumnMeta(meta, chunk, rowCount));
  });
  group.i64(2, total).i64(3, rowCount);
  group.i64(5, chunks[0]?.dictionaryOffset ?? chunks[0]?.offset ?? 0).i64(6, compressed);
}

function writeColumnMeta(meta: StructWriter, chunk: WrittenChunk, rowCount: number): void {
  const { spec, statistics } = chunk;
  const used = [encodings[chunk.encoding], rleEncoding];
  if (chunk.dictionaryOffset !== undefined) used.push(encodings.plain);
  meta.i32(1, physicalTypes[spec.type]).i32s(2, used);
  meta.texts(3, [spec.name]).i32(4, codecs[chunk.codec]).i64(5, rowCount);
  meta.i64(6, chunk.uncompressedLength).i64(7, chunk.length).i64(9, chunk.offset);
  if (chunk.dictionaryOffset !== undefined) meta.i64(11, chunk.dictionaryOffset);
  meta.struct(12, (stats) => {
    stats.i64(3, chunk.nullCount);
    if (statistics.maxBytes !== undefined) stats.binary(5, statistics.maxBytes);
    if (statistics.minBytes !== undefined) stats.binary(6, statistics.minBytes);
  });
}

interface EncodedPage {
  readonly encoding: Encoding;
  readonly bytes: Uint8Array;
  /** Plain texts with the bounds of all, where `bytes` are not plain texts. */
  readonly texts?: Uint8Array;
  readonly nullCount?: number;
  readonly dictionary?: { readonly bytes: Uint8Array; readonly count: number };
}

function encodePage(spec: ColumnSpec, values: WrittenValues, runtime: ParquetRuntime): EncodedPage {
  const plain = (bytes: Uint8Array): EncodedPage => ({
    encoding: "plain",
    bytes,
  });
  switch (spec.type) {
    case "int32":
      assert(values instanceof Int32Array, `${spec.name} is an Int32Array`);
      return encodeDeltas(spec, values) ?? plain(encodeNumbers(values));
    case "int64":
      assert(values instanceof Float64Array, `${spec.name} is a Float64Array`);
      return encodeDeltas(spec, values) ?? plain(encodeIntegers(values));
    case "bigint64":
      assert(values instanceof BigInt64Array, `${spec.name} is a BigInt64Array`);
      return plain(encodeNumbers(values));
    case "double":
      assert(values instanceof Float64Array, `${spec.name} is a Float64Array`);
      if (spec.encoding === "split" || (spec.encoding === "best" && splitWins(values, runtime))) {
        return { encoding: "split", bytes: encodeSplit(values) };
      }
      return plain(encodeNumbers(values));
    case "boolean":
      assert(values instanceof Uint8Array, `${spec.name} is a Uint8Array`);
      return plain(encodeBooleans(values));
    case "text":
      if (values instanceof CodedTexts) return encodeCoded(spec, values, runtime);
      if (values instanceof NumberedTexts) return encodeNumbered(spec, values, runtime);
      if (spec.nullable) return encodeNullable(values as readonly (string | null)[], runtime);
      return plain(encodeTexts(values as readonly string[], runtime));
    case "bytes":
      return plain(encodeByteArrays(values as readonly Uint8Array[]));
    default:
      return unreachable(spec.type);
  }
}

function encodeCoded(spec: ColumnSpec, values: CodedTexts, runtime: ParquetRuntime): EncodedPage {
  assert(!spec.nullable, `${spec.name} is given by texts where it may be null`);
  const { bytes, dictionary, dictionaryLength: count } = values.encode(runtime);
  const own = { bytes: dictionary, count };
  return { encoding: "dictionary", bytes, texts: dictionary, dictionary: own };
}

function encodeNumbered(
  spec: ColumnSpec,
  values: NumberedTexts,
  runtime: ParquetRuntime,
): EncodedPage {
  assert(!spec.nullable, `${spec.name} is given by texts where it may be null`);
  return { encoding: "prefix", bytes: values.encode(runtime), texts: values.bounds(runtime) };
}

/** Definition levels first: one bit per value, as one run after its length. */
function encodeNullable(values: readonly (string | null)[], runtime: ParquetRuntime): EncodedPage {
  const present = values.filter((value) => value !== null);
  const texts = encodeTexts(present, runtime);
  const bits = encodeBooleans(Uint8Array.from(values, (value) => (value === null ? 0 : 1)));
  const run = new ByteSink(bits.length + 8);
  run.varint(bits.length * 2 + 1);
  run.bytes(bits);
  const sink = new ByteSink(run.length + texts.length + 4);
  sink.uint32(run.length);
  sink.bytes(run.view());
  sink.bytes(texts);
  const nullCount = values.length - present.length;
  return { encoding: "plain", bytes: sink.view(), texts, nullCount };
}

/** Whether split bytes compress better, judged by a part of the page. */
function splitWins(values: Float64Array, runtime: ParquetRuntime): boolean {
  const start = Math.max(0, Math.floor((values.length - trialCount) / 2));
  const trial = values.subarray(start, start + trialCount);
  const plain = runtime.zstdCompress(encodeNumbers(trial), 1).length;
  const split = runtime.zstdCompress(encodeSplit(trial), 1).length;
  return plain > split * plainShareMax;
}

function encodeDeltas(
  spec: ColumnSpec,
  values: Int32Array | Float64Array,
): { encoding: Encoding; bytes: Uint8Array } | undefined {
  if (spec.encoding !== "delta" || !fitsDelta(values)) return undefined;
  const sink = new ByteSink(values.length + 64);
  encodeDelta(values, sink);
  return { encoding: "delta", bytes: sink.view() };
}
