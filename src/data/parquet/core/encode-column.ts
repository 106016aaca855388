/**
 * Encodes the values of one column and row group: the page with its header, compressed where that
 * helps, and what the footer says about it. Where it lies in a file is decided later, so a column
 * that is the same in many files is encoded once.
 */
import { AssertionError, assert, unreachable } from "../../../ground/kernel/errors.ts";
import { ByteSink } from "./byte-sink.ts";
import { CodedTexts } from "./coded-texts.ts";
import { encodeDelta, fitsDelta } from "./delta.ts";
import { dataPage, dictionaryPage, encodings, rleEncoding } from "./format-numbers.ts";
import { NumberedTexts } from "./numbered-texts.ts";
import { PackedBytes } from "./packed-bytes.ts";
import {
  noStatistics,
  type PageStatistics,
  plainStatistics,
  statisticsOf,
  textStatistics,
} from "./page-statistics.ts";
import {
  type ColumnSpec,
  type ColumnValues,
  type Encoding,
  type ParquetRuntime,
  pageBytesMax,
} from "./parquet-types.ts";
import {
  encodeBooleans,
  encodeByteArrays,
  encodeIntegers,
  encodeNumbers,
  encodeSplit,
  encodeTexts,
} from "./plain.ts";
import { PlainColumn } from "./plain-column.ts";
import { writeStruct } from "./thrift.ts";

export interface ColumnWriting {
  /** 1 is fastest; more than 3 is hardly ever worth its time. */
  readonly zstdLevel?: number;
  /** Writes least and greatest values for readers that skip row groups. Default: true. */
  readonly statistics?: boolean;
  /** Shorter pages are not compressed. */
  readonly compressBytesMin?: number;
}

/** The values of a column: also texts that are not made one by one. */
export type WrittenValues = ColumnValues | CodedTexts | NumberedTexts;
type EncodableValues = WrittenValues | PackedBytes | PlainColumn;
/** A column of a row group: its values, or what they were encoded to before. */
export type GivenColumn = EncodableValues | EncodedColumn;

const zstdLevelDefault = 3;
const compressBytesMinDefault = 64;
const compressedShareMax = 0.9;
/** Packed differences are already small and are read all the time. */
const compressedDeltaShareMax = 0.65;
/** The number of doubles that are compressed both ways to choose one. */
const trialCount = 16_384;
/** Plain must be this much smaller: its decompression costs what its decoding saves. */
const plainShareMax = 0.8;

interface ColumnParts {
  readonly length: number;
  readonly encoding: Encoding;
  readonly codec: "none" | "zstd";
  readonly statistics: PageStatistics;
  readonly nullCount: number;
  readonly dictionaryBytes: number;
  readonly pieces: readonly Uint8Array[];
  readonly byteCount: number;
  readonly uncompressedByteCount: number;
}

export class EncodedColumn implements ColumnParts {
  /** The number of values. */
  readonly length: number;
  readonly encoding: Encoding;
  readonly codec: "none" | "zstd";
  readonly statistics: PageStatistics;
  readonly nullCount: number;
  /** The length of the dictionary, which precedes the values; 0 when there is none. */
  readonly dictionaryBytes: number;
  /** The bytes in order; some may be the memory of the values themselves. */
  readonly pieces: readonly Uint8Array[];
  readonly byteCount: number;
  readonly uncompressedByteCount: number;

  constructor(parts: ColumnParts) {
    this.length = parts.length;
    this.encoding = parts.encoding;
    this.codec = parts.codec;
    this.statistics = parts.statistics;
    this.nullCount = parts.nullCount;
    this.dictionaryBytes = parts.dictionaryBytes;
    this.pieces = parts.pieces;
    this.byteCount = parts.byteCount;
    this.uncompressedByteCount = parts.uncompressedByteCount;
  }
}

export function encodeColumn(
  spec: ColumnSpec,
  values: EncodableValues,
  runtime: ParquetRuntime,
  options: ColumnWriting = {},
): EncodedColumn {
  const page = encodePage(spec, values, runtime);
  const { encoding, bytes } = page;
  assert(bytes.length <= pageBytesMax, `a page of ${spec.name} is not too long`);
  const pieces: Uint8Array[] = [];
  const dictionaryBytes = putDictionary(page, runtime, pieces);
  const isRaw = spec.codec === "none" || dictionaryBytes > 0;
  const body = isRaw ? bytes : compressed(bytes, encoding, runtime, options);
  const header = new ByteSink(64);
  writeStruct(header, (struct) => {
    struct.i32(1, dataPage).i32(2, bytes.length).i32(3, body.length);
    struct.i32(4, runtime.crc32(body) | 0);
    struct.struct(5, (data) => {
      data.i32(1, values.length).i32(2, encodings[encoding]);
      data.i32(3, rleEncoding).i32(4, rleEncoding);
    });
  });
  pieces.push(header.view(), body);
  return new EncodedColumn({
    length: values.length,
    encoding,
    codec: body === bytes ? "none" : "zstd",
    statistics: options.statistics === false ? noStatistics : statisticsFor(spec, values, page),
    nullCount: page.nullCount ?? 0,
    dictionaryBytes,
    pieces,
    byteCount: dictionaryBytes + header.length + body.length,
    uncompressedByteCount: dictionaryBytes + header.length + bytes.length,
  });
}

function statisticsFor(
  spec: ColumnSpec,
  values: EncodableValues,
  page: EncodedPage,
): PageStatistics {
  if (values instanceof PlainColumn) return plainStatistics(spec, values);
  const isText = spec.type === "text" || spec.type === "bytes";
  return isText
    ? textStatistics(page.texts ?? page.bytes)
    : statisticsOf(spec, values as ColumnValues);
}

/** Returns its length. Never compressed, because a useful dictionary is small. */
function putDictionary(
  { dictionary }: EncodedPage,
  runtime: ParquetRuntime,
  pieces: Uint8Array[],
): number {
  if (dictionary === undefined) return 0;
  const { bytes, count } = dictionary;
  const header = new ByteSink(64);
  writeStruct(header, (struct) => {
    struct.i32(1, dictionaryPage).i32(2, bytes.length).i32(3, bytes.length);
    struct.i32(4, runtime.crc32(bytes) | 0);
    struct.struct(7, (own) => own.i32(1, count).i32(2, encodings.plain));
  });
  pieces.push(header.view(), bytes);
  return header.length + bytes.length;
}

/** Returns the bytes unchanged where compression saves less than decompression costs. */
function compressed(
  bytes: Uint8Array,
  encoding: Encoding,
  runtime: ParquetRuntime,
  options: ColumnWriting,
): Uint8Array {
  if (bytes.length < (options.compressBytesMin ?? compressBytesMinDefault)) return bytes;
  const packed = runtime.zstdCompress(bytes, options.zstdLevel ?? zstdLevelDefault);
  const shareMax = encoding === "delta" ? compressedDeltaShareMax : compressedShareMax;
  return packed.length <= bytes.length * shareMax ? packed : bytes;
}

interface EncodedPage {
  readonly encoding: Encoding;
  readonly bytes: Uint8Array;
  /** Plain texts with the bounds of all, where `bytes` are not plain texts. */
  readonly texts?: Uint8Array;
  readonly nullCount?: number;
  readonly dictionary?: { readonly bytes: Uint8Array; readonly count: number };
}

function encodePage(
  spec: ColumnSpec,
  values: EncodableValues,
  runtime: ParquetRuntime,
): EncodedPage {
  const plain = (bytes: Uint8Array): EncodedPage => ({
    encoding: "plain",
    bytes,
  });
  if (values instanceof PlainColumn) return encodePlainColumn(spec, values);
  switch (spec.type) {
    case "float":
      throw new AssertionError(`${spec.name} is given as a plain column`);
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
      if (values instanceof PackedBytes) return plain(values.page);
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

function encodeNullable(values: readonly (string | null)[], runtime: ParquetRuntime): EncodedPage {
  const present = values.filter((value) => value !== null);
  const texts = encodeTexts(present, runtime);
  const bits = encodeBooleans(Uint8Array.from(values, (value) => (value === null ? 0 : 1)));
  const nullCount = values.length - present.length;
  return { encoding: "plain", bytes: withLevels(bits, texts), texts, nullCount };
}

function encodePlainColumn(spec: ColumnSpec, column: PlainColumn): EncodedPage {
  const { bytes, present, nullCount, length } = column;
  if (spec.nullable !== true) {
    assert(nullCount === 0, `${spec.name} has no NULLs`);
    return { encoding: "plain", bytes };
  }
  const bits = present ?? new Uint8Array((length + 7) >> 3).fill(0xff);
  return { encoding: "plain", bytes: withLevels(bits, bytes), nullCount };
}

/** Definition levels first: one bit per value, as one run after its length. */
function withLevels(bits: Uint8Array, values: Uint8Array): Uint8Array {
  const run = new ByteSink(bits.length + 8);
  run.varint(bits.length * 2 + 1);
  run.bytes(bits);
  const sink = new ByteSink(run.length + values.length + 4);
  sink.uint32(run.length);
  sink.bytes(run.view());
  if (values.length > 0) sink.bytes(values);
  return sink.view();
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
