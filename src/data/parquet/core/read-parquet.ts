/**
 * Reads the files of `write-parquet.ts`, whole or in ranges. Unknown features are refused,
 * contradictions reported as corrupt. A page is used only after its checksum matched. Nothing is
 * allocated beyond `rowsPerGroupMax` and `pageBytesMax`, whatever the file claims (PA5).
 */
import { ByteSource } from "./byte-source.ts";
import { decodeDelta } from "./delta.ts";
import { codecs, dataPage, encodings, magic, physicalTypes, required } from "./format-numbers.ts";
import { BytesColumn } from "./packed-bytes.ts";
import { corrupt, unsupported } from "./parquet-error.ts";
import {
  type ChunkInfo,
  type ColumnStatistics,
  type ColumnType,
  type Encoding,
  type ParquetFooter,
  type ParquetRuntime,
  pageBytesMax,
  type RowGroupInfo,
  rowsPerGroupMax,
} from "./parquet-types.ts";
import {
  decodeBooleans,
  decodeByteArrays,
  decodeIntegers,
  decodeNumbers,
  decodeSplit,
  decodeTexts,
  TextColumn,
} from "./plain.ts";
import { type Fields, readStruct } from "./thrift.ts";

/** The end of a file: the footer's length and the magic. */
export const trailerBytes = 8;

/** Finds the footer from the last `trailerBytes` bytes of a file. */
export function locateFooter(
  trailer: Uint8Array,
  fileBytes: number,
): { readonly offset: number; readonly length: number } {
  const end = trailer.subarray(-trailerBytes);
  if (end.length < trailerBytes || fileBytes < 12 || !hasMagic(end.subarray(4))) {
    throw corrupt("it does not end like one");
  }
  const view = new DataView(end.buffer, end.byteOffset, end.byteLength);
  const length = view.getUint32(0, true);
  const offset = fileBytes - trailerBytes - length;
  if (offset < magic.length) throw corrupt("its footer is longer than the file");
  return { offset, length };
}

/** `bytes` is the footer alone, as `locateFooter` found it. */
export function parseFooter(bytes: Uint8Array, footerOffset: number): ParquetFooter {
  const file = readStruct(new ByteSource(bytes));
  const columns = parseSchema(file.structs(2));
  const rowGroups = file.structs(4).map((group) => parseRowGroup(group, columns, footerOffset));
  const rowCount = rowGroups.reduce((sum, group) => sum + group.rowCount, 0);
  if (file.requireCount(3, "the number of rows") !== rowCount) {
    throw corrupt("its row groups have another number of rows");
  }
  const keyValues = new Map(
    file.structs(5).map((pair): [string, string] => [pair.text(1) ?? "", pair.text(2) ?? ""]),
  );
  return { columns, rowCount, rowGroups, keyValues };
}

/** Reads the footer of a whole file. */
export function readFooter(file: Uint8Array): ParquetFooter {
  if (!hasMagic(file)) throw corrupt("it does not begin like one");
  const { offset, length } = locateFooter(file, file.length);
  return parseFooter(file.subarray(offset, offset + length), offset);
}

/** Throws if the file has no such column or it has another type. */
export function columnIndex(footer: ParquetFooter, name: string, type: ColumnType): number {
  const index = footer.columns.findIndex((column) => column.name === name);
  const found = footer.columns[index];
  if (found === undefined) throw unsupported(`there is no column ${name}`);
  const wanted = type === "bigint64" ? "int64" : type;
  if (found.type !== wanted) throw unsupported(`column ${name} is ${found.type}, not ${wanted}`);
  return index;
}

/** The chunk's bytes within a whole file. */
export function chunkBytes(file: Uint8Array, chunk: ChunkInfo): Uint8Array {
  return file.subarray(chunk.offset, chunk.offset + chunk.length);
}

/** The column's only value according to the statistics. Never for doubles, which have two zeros. */
export function constantOf(
  footer: ParquetFooter,
  rowGroup: number,
  column: number,
): number | undefined {
  const type = footer.columns[column]?.type;
  const { min, max } = footer.rowGroups[rowGroup]?.chunks[column]?.statistics ?? {};
  if (type === "double" || typeof min !== "number" || min !== max) return undefined;
  return min;
}

/** Reads one column of one row group from the bytes of its chunk. Each method decodes anew. */
export class ChunkReader {
  readonly rowCount: number;
  readonly #type: ColumnType;
  readonly #encoding: Encoding;
  readonly #page: Uint8Array;
  readonly #runtime: ParquetRuntime;

  constructor(
    footer: ParquetFooter,
    rowGroup: number,
    column: number,
    bytes: Uint8Array,
    runtime: ParquetRuntime,
  ) {
    const group = footer.rowGroups[rowGroup];
    const chunk = group?.chunks[column];
    const type = footer.columns[column]?.type;
    if (group === undefined || chunk === undefined || type === undefined) {
      throw corrupt(`there is no column ${column} in row group ${rowGroup}`);
    }
    if (bytes.length !== chunk.length) throw corrupt("a column is shorter than its length");
    this.#runtime = runtime;
    this.#type = type;
    this.rowCount = group.rowCount;
    const { encoding, page } = openPage(bytes, chunk, group.rowCount, type, runtime);
    this.#encoding = encoding;
    this.#page = page;
  }

  /** Reads doubles and integers of either width. Integers beyond the safe range are refused. */
  float64(out: Float64Array = new Float64Array(this.rowCount)): Float64Array {
    this.#checkLength(out);
    if (this.#type === "double") {
      if (this.#encoding === "split") decodeSplit(this.#page, out);
      else decodeNumbers(this.#page, out);
    } else if (this.#type === "int64" || this.#type === "int32") {
      if (this.#encoding === "delta") decodeDelta(this.#page, out);
      else if (this.#type === "int64") decodeIntegers(this.#page, out);
      else out.set(this.int32());
    } else {
      throw unsupported(`${this.#type} as numbers`);
    }
    return out;
  }

  int32(out: Int32Array = new Int32Array(this.rowCount)): Int32Array {
    this.#checkLength(out);
    if (this.#type !== "int32") throw unsupported(`${this.#type} as int32`);
    if (this.#encoding === "delta") decodeDelta(this.#page, out);
    else decodeNumbers(this.#page, out);
    return out;
  }

  bigint64(): BigInt64Array {
    if (this.#type !== "int64" || this.#encoding !== "plain") {
      throw unsupported(`${this.#type} (${this.#encoding}) as bigint64`);
    }
    const out = new BigInt64Array(this.rowCount);
    decodeNumbers(this.#page, out);
    return out;
  }

  /** Values 0 and 1. */
  booleans(out: Uint8Array = new Uint8Array(this.rowCount)): Uint8Array {
    this.#checkLength(out);
    if (this.#type !== "boolean") throw unsupported(`${this.#type} as booleans`);
    decodeBooleans(this.#page, out);
    return out;
  }

  texts(): string[] {
    this.#checkText();
    return decodeTexts(this.#page, this.rowCount, this.#runtime);
  }

  /** Keeps the page and decodes texts on demand. */
  textColumn(): TextColumn {
    this.#checkText();
    return new TextColumn(this.#page, this.rowCount, this.#runtime);
  }

  /** Views of the page's memory. */
  byteArrays(): Uint8Array[] {
    this.#checkBytes();
    return decodeByteArrays(this.#page, this.rowCount);
  }

  /** Keeps the page, without an object for each value. */
  bytesColumn(): BytesColumn {
    this.#checkBytes();
    return new BytesColumn(this.#page, this.rowCount);
  }

  #checkBytes(): void {
    if (this.#type !== "bytes" && this.#type !== "text") {
      throw unsupported(`${this.#type} as bytes`);
    }
  }

  #checkText(): void {
    if (this.#type !== "text") throw unsupported(`${this.#type} as texts`);
  }

  #checkLength(out: { readonly length: number }): void {
    if (out.length !== this.rowCount) throw corrupt("a page has another number of rows");
  }
}

/** Checks header and checksum, and decompresses. */
function openPage(
  bytes: Uint8Array,
  chunk: ChunkInfo,
  rowCount: number,
  type: ColumnType,
  runtime: ParquetRuntime,
): { readonly encoding: Encoding; readonly page: Uint8Array } {
  const source = new ByteSource(bytes);
  const header = readStruct(source);
  if (header.number(1) !== dataPage) throw unsupported("pages that are no data pages");
  const data = header.struct(5);
  if (data === undefined) throw corrupt("a page has no header of its data");
  if (data.number(1) !== rowCount) throw corrupt("a page has another number of values");
  const encoding = encodingOf(data.requireNumber(2, "an encoding"), type);
  const size = header.requireCount(2, "a page's size");
  if (header.requireCount(3, "a page's length") !== source.left) {
    throw unsupported("several pages in a column");
  }
  const body = bytes.subarray(source.position);
  const checksum = header.number(4);
  if (checksum === undefined) throw unsupported("a page without a checksum");
  if ((runtime.crc32(body) | 0) !== checksum) throw corrupt("a page's checksum is wrong");
  checkSize(type, encoding, size, rowCount);
  if (chunk.codec === "none") {
    if (body.length !== size) throw corrupt("a page has another size");
    return { encoding, page: body };
  }
  return { encoding, page: inflate(body, size, runtime) };
}

function inflate(body: Uint8Array, size: number, runtime: ParquetRuntime): Uint8Array {
  let page: Uint8Array;
  try {
    page = runtime.zstdDecompress(body, size);
  } catch {
    throw corrupt("a page does not decompress");
  }
  if (page.length !== size) throw corrupt("a page has another size");
  return page;
}

/** Checks a size before that much is allocated. */
function checkSize(type: ColumnType, encoding: Encoding, size: number, rowCount: number): void {
  if (size > pageBytesMax) throw unsupported(`a page of ${size} bytes`);
  const plausible = ((): boolean => {
    if (encoding === "delta") return size <= rowCount * 9 + 1024;
    if (type === "double" || type === "int64") return size === rowCount * 8;
    if (type === "int32") return size === rowCount * 4;
    if (type === "boolean") return size === Math.ceil(rowCount / 8);
    return size >= rowCount * 4;
  })();
  if (!plausible) throw corrupt("a page's size does not fit its values");
}

function encodingOf(code: number, type: ColumnType): Encoding {
  if (code === encodings.plain) return "plain";
  if (code === encodings.delta && (type === "int32" || type === "int64")) return "delta";
  if (code === encodings.split && type === "double") return "split";
  throw unsupported(`encoding ${code} of ${type}`);
}

function parseSchema(elements: readonly Fields[]): ParquetFooter["columns"] {
  const [root, ...rest] = elements;
  if (root === undefined || root.number(5) !== rest.length || rest.length === 0) {
    throw unsupported("a schema that is not flat");
  }
  return rest.map((element) => {
    const name = element.text(4);
    if (name === undefined) throw corrupt("a column has no name");
    if (element.number(3) !== required) throw unsupported(`column ${name} may have nulls`);
    return { name, type: columnTypeOf(element, name) };
  });
}

function columnTypeOf(element: Fields, name: string): ColumnType {
  const physical = element.requireNumber(1, "a column's type");
  if (physical === physicalTypes.bytes) {
    const isText = element.number(6) === 0 || element.struct(10)?.struct(1) !== undefined;
    return isText ? "text" : "bytes";
  }
  for (const type of ["boolean", "int32", "int64", "double"] as const) {
    if (physicalTypes[type] === physical) return type;
  }
  throw unsupported(`column ${name} has type ${physical}`);
}

function parseRowGroup(
  group: Fields,
  columns: ParquetFooter["columns"],
  footerOffset: number,
): RowGroupInfo {
  const rowCount = group.requireCount(3, "a row group's number of rows");
  if (rowCount > rowsPerGroupMax) throw unsupported(`a row group of ${rowCount} rows`);
  const chunks = group.structs(1);
  if (chunks.length !== columns.length) throw corrupt("a row group has other columns");
  return {
    rowCount,
    chunks: chunks.map((chunk, index) => {
      const { type, name } = columns[index] as ParquetFooter["columns"][number];
      return parseChunk(chunk, type, name, rowCount, footerOffset);
    }),
  };
}

function parseChunk(
  chunk: Fields,
  type: ColumnType,
  name: string,
  rowCount: number,
  footerOffset: number,
): ChunkInfo {
  const meta = chunk.struct(3);
  if (meta === undefined) throw unsupported("columns whose metadata is elsewhere");
  if (meta.number(1) !== physicalTypes[type]) throw corrupt(`${name} has two types`);
  if (meta.texts(3).join(".") !== name) throw corrupt(`${name} has two names`);
  if (meta.number(5) !== rowCount) throw corrupt(`${name} has another number of values`);
  if (meta.number(11) !== undefined) throw unsupported("dictionaries");
  const offset = meta.requireCount(9, "a page's place");
  const length = meta.requireCount(7, "a column's length");
  if (offset < magic.length || offset + length > footerOffset) {
    throw corrupt(`${name} lies outside of the file`);
  }
  return {
    offset,
    length,
    codec: codecOf(meta.requireNumber(4, "a codec")),
    statistics: parseStatistics(meta.struct(12), type),
  };
}

function codecOf(code: number): "none" | "zstd" {
  if (code === codecs.none) return "none";
  if (code === codecs.zstd) return "zstd";
  throw unsupported(`codec ${code}`);
}

function parseStatistics(statistics: Fields | undefined, type: ColumnType): ColumnStatistics {
  return {
    min: statisticOf(statistics?.binary(6), type),
    max: statisticOf(statistics?.binary(5), type),
  };
}

function statisticOf(bytes: Uint8Array | undefined, type: ColumnType): number | bigint | undefined {
  if (bytes === undefined) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (type === "boolean" && bytes.length === 1) return bytes[0];
  if (type === "int32" && bytes.length === 4) return view.getInt32(0, true);
  if (type === "double" && bytes.length === 8) return view.getFloat64(0, true);
  if (type !== "int64" || bytes.length !== 8) return undefined;
  const value = view.getBigInt64(0, true);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function hasMagic(bytes: Uint8Array): boolean {
  return magic.every((byte, index) => bytes[index] === byte);
}
