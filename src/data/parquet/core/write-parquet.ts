/**
 * Writes Parquet: row groups one after the other, then the footer. Pure: it returns bytes. The same
 * values give the same bytes.
 */
import { assert } from "../../../ground/kernel/errors.ts";
import { ByteSink } from "./byte-sink.ts";
import {
  type ColumnWriting,
  EncodedColumn,
  encodeColumn,
  type GivenColumn,
} from "./encode-column.ts";
import {
  codecs,
  encodings,
  integerConverted,
  magic,
  optional,
  physicalTypes,
  required,
  rleEncoding,
  utf8Converted,
} from "./format-numbers.ts";
import {
  type ColumnSpec,
  type ParquetRuntime,
  type RowGroupValues,
  rowsPerGroupMax,
} from "./parquet-types.ts";
import { type StructWriter, writeStruct } from "./thrift.ts";

export interface ParquetWriterOptions extends ColumnWriting {
  readonly keyValues?: Readonly<Record<string, string>>;
}

/** Says where a column was written. */
interface WrittenChunk {
  readonly spec: ColumnSpec;
  readonly column: EncodedColumn;
  readonly offset: number;
  /** The offset of the dictionary, which precedes the values. */
  readonly dictionaryOffset: number | undefined;
}

interface WrittenGroup {
  readonly rowCount: number;
  readonly chunks: readonly WrittenChunk[];
}

const createdBy = "capstan";

/** Writes a whole file at once. */
export function writeParquet(
  schema: readonly ColumnSpec[],
  rowGroups: Iterable<readonly GivenColumn[]>,
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
  encode(values: readonly GivenColumn[], pieces: Uint8Array[]): void {
    const rowCount = values[0]?.length ?? 0;
    assert(values.length === this.#schema.length, "a row group has the schema's columns");
    assert(rowCount <= rowsPerGroupMax, "a row group is not too long");
    if (this.#offset === 0) {
      pieces.push(magic);
      this.#offset = magic.length;
    }
    const chunks = this.#schema.map((spec, index) => {
      const column = values[index] as GivenColumn;
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

  #chunk(spec: ColumnSpec, values: GivenColumn, pieces: Uint8Array[]): WrittenChunk {
    const column =
      values instanceof EncodedColumn
        ? values
        : encodeColumn(spec, values, this.#runtime, this.#options);
    pieces.push(...column.pieces);
    const start = this.#offset;
    this.#offset += column.byteCount;
    const { dictionaryBytes } = column;
    return {
      spec,
      column,
      offset: start + dictionaryBytes,
      dictionaryOffset: dictionaryBytes === 0 ? undefined : start,
    };
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
  { type, name, fieldId, nullable, integer }: ColumnSpec,
): void {
  element
    .i32(1, physicalTypes[type])
    .i32(3, nullable ? optional : required)
    .text(4, name);
  if (type === "text") element.i32(6, utf8Converted);
  if (integer !== undefined) element.i32(6, integerConverted(integer.bits, integer.isSigned));
  if (fieldId !== undefined) element.i32(9, fieldId);
  if (type === "text") element.struct(10, (logical) => logical.struct(1, () => undefined));
}

function writeRowGroup(group: StructWriter, { rowCount, chunks }: WrittenGroup): void {
  const total = chunks.reduce((sum, { column }) => sum + column.uncompressedByteCount, 0);
  const compressed = chunks.reduce((sum, { column }) => sum + column.byteCount, 0);
  group.structs(1, chunks, (column, chunk) => {
    column.i64(2, chunk.dictionaryOffset ?? chunk.offset);
    column.struct(3, (meta) => writeColumnMeta(meta, chunk, rowCount));
  });
  group.i64(2, total).i64(3, rowCount);
  group.i64(5, chunks[0]?.dictionaryOffset ?? chunks[0]?.offset ?? 0).i64(6, compressed);
}

function writeColumnMeta(meta: StructWriter, chunk: WrittenChunk, rowCount: number): void {
  const { spec, column } = chunk;
  const { statistics } = column;
  const used = [encodings[column.encoding], rleEncoding];
  if (chunk.dictionaryOffset !== undefined) used.push(encodings.plain);
  meta.i32(1, physicalTypes[spec.type]).i32s(2, used);
  meta.texts(3, [spec.name]).i32(4, codecs[column.codec]).i64(5, rowCount);
  meta.i64(6, column.uncompressedByteCount).i64(7, column.byteCount).i64(9, chunk.offset);
  if (chunk.dictionaryOffset !== undefined) meta.i64(11, chunk.dictionaryOffset);
  meta.struct(12, (stats) => {
    stats.i64(3, column.nullCount);
    if (statistics.maxBytes !== undefined) stats.binary(5, statistics.maxBytes);
    if (statistics.minBytes !== undefined) stats.binary(6, statistics.minBytes);
  });
}
