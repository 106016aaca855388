/**
 * Reads one segment, synchronously, for compute threads. Columns of samples are decoded by row
 * group and kept in a cache that the thread's owner provides; the series table is decoded once, at
 * open. Rules: MS2, MS5, MS10. Decoded columns are shared and never written to.
 */
import { join } from "node:path";
import { crc32 } from "node:zlib";
import {
  ChunkReader,
  columnIndex,
  constantOf,
  locateFooter,
  type ParquetFooter,
  parquetRuntime,
  parseFooter,
  trailerBytes,
} from "../../../../data/parquet/index.ts";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { FileReader, Files } from "../../../../ground/kernel/files.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import type { FloatHistogram } from "../../promql/core/index.ts";
import { decodeHistogram } from "../core/histogram-bytes.ts";
import type { SegmentInfo } from "../core/model.ts";
import { firstAfter } from "../core/sample-pieces.ts";
import {
  type CachedColumn,
  histogramRowGroupRows,
  type SegmentFile,
  segmentFileNames,
} from "../core/segment-schema.ts";
import { SeriesInterner } from "./series-interner.ts";
import { SeriesTable } from "./series-table.ts";

export type DecodedColumn = Float64Array | Uint8Array;

/** Keeps decoded columns. Calls `load` for a missing one, and may keep its result. */
export interface ColumnCache {
  get(
    segmentId: string,
    rowGroup: number,
    column: CachedColumn,
    load: () => DecodedColumn,
  ): DecodedColumn;
}

/** Caches nothing. */
export const noColumnCache: ColumnCache = { get: (_id, _rowGroup, _column, load) => load() };

/** Rows of floats and stale markers; views when one row group has them all. */
export interface SampleRowsRead {
  readonly ts: Float64Array;
  readonly values: Float64Array;
  readonly stale: Uint8Array | undefined;
  readonly startTs: Float64Array | undefined;
}

export interface HistogramRowsRead {
  readonly ts: Float64Array;
  readonly startTs: Float64Array;
  readonly histograms: readonly FloatHistogram[];
}

export interface OpenSegmentOptions {
  readonly files?: Pick<Files, "openToRead">;
  readonly cache?: ColumnCache;
  /** Shared by all segments of a thread whose series are joined. */
  readonly interner?: SeriesInterner;
}

export function openSegment(
  lakeDir: string,
  info: SegmentInfo,
  options: OpenSegmentOptions = {},
): SegmentReader {
  return new SegmentReader(lakeDir, info, options);
}

/** The columns of the current row group, so that the cache is asked once for each. */
type RowGroupColumns = Partial<Record<CachedColumn, DecodedColumn | undefined>>;

export class SegmentReader {
  readonly info: SegmentInfo;
  readonly series: SeriesTable;
  readonly #directory: string;
  readonly #files: Pick<Files, "openToRead">;
  readonly #cache: ColumnCache;
  #samples: OpenSamples | undefined;
  #histograms: OpenParquet | undefined;
  #isClosed = false;

  constructor(lakeDir: string, info: SegmentInfo, options: OpenSegmentOptions) {
    this.info = info;
    this.#directory = join(lakeDir, info.path);
    this.#cache = options.cache ?? noColumnCache;
    this.#files = options.files ?? realFiles;
    const file = inSegment(info, () => this.#readAll("series"));
    this.series = inSegment(
      info,
      () => new SeriesTable(file, options.interner ?? new SeriesInterner()),
    );
  }

  get rowGroupCount(): number {
    return this.#openSamples().parquet.footer.rowGroups.length;
  }

  /** Bypasses every cache. Undefined when the column is zero throughout. */
  decodeRowGroup(rowGroup: number, column: CachedColumn): DecodedColumn | undefined {
    if (this.#isZero(rowGroup, column)) return undefined;
    return inSegment(this.info, () => {
      const samples = this.#unchangedSamples().parquet;
      const index = columnIndex(samples.footer, column, columnTypes[column]);
      const chunk = samples.chunk(rowGroup, index, readScratch);
      return column === "stale" ? chunk.booleans() : chunk.float64();
    });
  }

  /** A window asks the cache for each column once per row group, however many series it has. */
  window(): RowWindow {
    const { starts } = this.#openSamples();
    const { segmentId } = this.info;
    return new RowWindow(segmentId, starts, (group, column) => this.#cached(group, column));
  }

  readRows(rowStart: number, rowCount: number): SampleRowsRead {
    return this.window().read(rowStart, rowCount);
  }

  readHistograms(start: number, count: number): HistogramRowsRead {
    return inSegment(this.info, () => {
      if (this.#histograms?.isUnchanged() === false) {
        this.#histograms.close();
        this.#histograms = undefined;
      }
      this.#histograms ??= new OpenParquet(this.#openVerified("histograms"));
      return readHistogramRows(this.#histograms, start, count);
    });
  }

  /** Closes the files; columns that were returned stay valid. */
  close(): void {
    this.#isClosed = true;
    this.#samples?.parquet.close();
    this.#histograms?.close();
  }

  /** Opened on first use: a request for labels reads none of them. */
  #openSamples(): OpenSamples {
    this.#samples ??= inSegment(this.info, () => {
      const parquet = new OpenParquet(this.#openVerified("samples"));
      return { parquet, starts: startsOf(parquet.footer) };
    });
    return this.#samples;
  }

  /** The files, verified again if they were written to since. */
  #unchangedSamples(): OpenSamples {
    const samples = this.#openSamples();
    if (samples.parquet.isUnchanged()) return samples;
    samples.parquet.close();
    this.#samples = undefined;
    return this.#openSamples();
  }

  /** Reads the whole file and compares its checksum, if known. */
  #openVerified(name: SegmentFile): VerifiedFile {
    if (this.#isClosed) throw closed();
    const file = this.#files.openToRead(join(this.#directory, segmentFileNames[name]));
    try {
      const identity = file.identity?.();
      const wanted = this.info.checksums?.[name];
      if (wanted !== undefined) requireChecksum(name, wanted, checksumOf(file));
      return { file, identity };
    } catch (thrown) {
      file.close();
      throw thrown;
    }
  }

  #readAll(name: SegmentFile): Uint8Array {
    const file = this.#files.openToRead(join(this.#directory, segmentFileNames[name]));
    try {
      const bytes = readFully(file, 0, Buffer.allocUnsafeSlow(file.bytes));
      const wanted = this.info.checksums?.[name];
      if (wanted !== undefined) requireChecksum(name, wanted, crc32(bytes));
      return bytes;
    } finally {
      file.close();
    }
  }

  #cached(rowGroup: number, column: CachedColumn): DecodedColumn | undefined {
    if (this.#isZero(rowGroup, column)) return undefined;
    return this.#cache.get(this.info.segmentId, rowGroup, column, () => {
      const decoded = this.decodeRowGroup(rowGroup, column);
      assert(decoded !== undefined, "a column that is zero throughout is not cached");
      return decoded;
    });
  }

  /** Decided by the footer alone. Times and values always count as present. */
  #isZero(rowGroup: number, column: CachedColumn): boolean {
    if (column === "ts" || column === "value") return false;
    const { footer } = this.#openSamples().parquet;
    const index = inSegment(this.info, () => columnIndex(footer, column, columnTypes[column]));
    return constantOf(footer, rowGroup, index) === 0;
  }
}

interface OpenSamples {
  readonly parquet: OpenParquet;
  /** The first row of each row group, followed by the number of all rows. */
  readonly starts: Float64Array;
}

interface VerifiedFile {
  readonly file: FileReader;
  /** The file's identity when it was verified. */
  readonly identity: string | undefined;
}

const checksumPiece = Buffer.allocUnsafeSlow(1024 * 1024);

function checksumOf(file: FileReader): number {
  let crc = 0;
  for (let at = 0; at < file.bytes; ) {
    const count = file.read(checksumPiece, at);
    if (count === 0) break;
    crc = crc32(checksumPiece.subarray(0, count), crc);
    at += count;
  }
  return crc;
}

function requireChecksum(name: SegmentFile, wanted: number, found: number): void {
  if (found === wanted) return;
  const [was, is] = [wanted, found].map((crc) => crc.toString(16).padStart(8, "0"));
  throw corrupt(`${segmentFileNames[name]} is damaged: its checksum is ${is}, it was ${was}`);
}

function corrupt(what: string): OperatingError {
  return new OperatingError("data_corrupt", "never", what);
}

function closed(): OperatingError {
  return new OperatingError("shutting_down", "never", "the segment was closed");
}

const columnTypes = { ts: "int64", value: "double", stale: "boolean", start_ts: "int64" } as const;

const noRows: SampleRowsRead = {
  ts: new Float64Array(0),
  values: new Float64Array(0),
  stale: undefined,
  startTs: undefined,
};

function startsOf({ rowGroups }: ParquetFooter): Float64Array {
  const starts = new Float64Array(rowGroups.length + 1);
  for (const [index, { rowCount }] of rowGroups.entries()) {
    starts[index + 1] = (starts[index] as number) + rowCount;
  }
  return starts;
}

/** Holds the current row group, so that series in order ask for each column once. */
export class RowWindow {
  readonly #segmentId: string;
  readonly #starts: Float64Array;
  readonly #load: (rowGroup: number, column: CachedColumn) => DecodedColumn | undefined;
  #rowGroup = -1;
  #columns: RowGroupColumns = {};
  readonly #from = new LikelyPlace();
  readonly #to = new LikelyPlace();

  constructor(
    segmentId: string,
    starts: Float64Array,
    load: (rowGroup: number, column: CachedColumn) => DecodedColumn | undefined,
  ) {
    this.#segmentId = segmentId;
    this.#starts = starts;
    this.#load = load;
  }

  read(rowStart: number, rowCount: number): SampleRowsRead {
    if (rowCount === 0) return noRows;
    const end = rowStart + rowCount;
    const first = this.#groupOf(rowStart, end);
    const parts: SampleRowsRead[] = [];
    for (let group = first, from = rowStart; from < end; group += 1) {
      const [base, next] = [this.#starts[group] as number, this.#starts[group + 1] as number];
      const to = Math.min(end, next);
      parts.push(this.#part(group, from - base, to - base));
      from = to;
    }
    return parts.length === 1 ? (parts[0] as SampleRowsRead) : joinRows(parts, rowCount);
  }

  /** The rows after `minMs`, up to and including `maxMs`; their times must ascend. */
  readWithin(rowStart: number, rowCount: number, minMs: number, maxMs: number): SampleRowsRead {
    if (rowCount === 0) return noRows;
    const group = this.#groupOf(rowStart, rowStart + rowCount);
    const base = this.#starts[group] as number;
    if (rowStart + rowCount <= (this.#starts[group + 1] as number)) {
      // One view instead of a view of a view: an instant query makes thousands.
      return this.#part(group, rowStart - base, rowStart - base + rowCount, minMs, maxMs);
    }
    const { ts, values, stale, startTs } = this.read(rowStart, rowCount);
    const from = firstAfter(ts, rowCount, minMs);
    const to = Math.max(from, firstAfter(ts, rowCount, maxMs));
    return {
      ts: ts.subarray(from, to),
      values: values.subarray(from, to),
      stale: stale?.subarray(from, to),
      startTs: startTs?.subarray(from, to),
    };
  }

  /** The row group of a row. Series come in order, so mostly the current one or the next. */
  #groupOf(row: number, end: number): number {
    const starts = this.#starts;
    if (!(row >= 0 && end <= (starts[starts.length - 1] as number))) {
      throw noSuchRows(this.#segmentId);
    }
    const at = this.#rowGroup;
    if (at >= 0 && row >= (starts[at] as number) && row < (starts[at + 1] as number)) return at;
    let [low, high] = [0, starts.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((starts[middle] as number) <= row) low = middle;
      else high = middle;
    }
    return low;
  }

  #part(
    rowGroup: number,
    start: number,
    end: number,
    minMs = Number.NEGATIVE_INFINITY,
    maxMs = Number.POSITIVE_INFINITY,
  ): SampleRowsRead {
    if (rowGroup !== this.#rowGroup) {
      this.#rowGroup = rowGroup;
      this.#columns = {};
    }
    const ts = this.#column("ts") as Float64Array;
    if (end > ts.length) {
      throw noSuchRows(this.#segmentId);
    }
    const isWhole = minMs === Number.NEGATIVE_INFINITY && maxMs === Number.POSITIVE_INFINITY;
    const from = isWhole ? start : this.#from.firstAfter(ts, start, end, minMs);
    const to = isWhole ? end : Math.max(from, this.#to.firstAfter(ts, start, end, maxMs));
    return {
      ts: ts.subarray(from, to),
      values: (this.#column("value") as Float64Array).subarray(from, to),
      stale: (this.#column("stale") as Uint8Array | undefined)?.subarray(from, to),
      startTs: (this.#column("start_ts") as Float64Array | undefined)?.subarray(from, to),
    };
  }

  #column(name: CachedColumn): DecodedColumn | undefined {
    if (!(name in this.#columns)) this.#columns[name] = this.#load(this.#rowGroup, name);
    return this.#columns[name];
  }
}

/**
 * Finds a time in one series after the other. Series that were scraped together have it at the same
 * place, so that two looks are enough where a search would touch memory all over the column.
 */
class LikelyPlace {
  #offset = 0;

  /** The index of the first time after `ms` among those from `start` to `end`, or `end`. */
  firstAfter(ts: Float64Array, start: number, end: number, ms: number): number {
    const guess = start + this.#offset;
    const isThere =
      guess <= end &&
      (guess === end || (ts[guess] as number) > ms) &&
      (guess === start || (ts[guess - 1] as number) <= ms);
    if (isThere) return guess;
    const found = firstAfter(ts, end, ms, start);
    this.#offset = found - start;
    return found;
  }
}

function noSuchRows(segmentId: string): OperatingError {
  return corrupt(`segment ${segmentId}: a series has rows that are not there. ${damagedHint}`);
}

function joinRows(parts: readonly SampleRowsRead[], count: number): SampleRowsRead {
  const ts = new Float64Array(count);
  const values = new Float64Array(count);
  const stale = parts.some((part) => part.stale !== undefined) ? new Uint8Array(count) : undefined;
  const startTs = parts.some((part) => part.startTs !== undefined)
    ? new Float64Array(count)
    : undefined;
  let at = 0;
  for (const part of parts) {
    ts.set(part.ts, at);
    values.set(part.values, at);
    if (part.stale !== undefined) stale?.set(part.stale, at);
    if (part.startTs !== undefined) startTs?.set(part.startTs, at);
    at += part.ts.length;
  }
  return { ts, values, stale, startTs };
}

function readHistogramRows(file: OpenParquet, start: number, count: number): HistogramRowsRead {
  const ts = new Float64Array(count);
  const startTs = new Float64Array(count);
  const histograms: FloatHistogram[] = [];
  const columns = {
    ts: columnIndex(file.footer, "ts", "int64"),
    startTs: columnIndex(file.footer, "start_ts", "int64"),
    histogram: columnIndex(file.footer, "histogram", "bytes"),
  };
  for (let row = start; row < start + count; ) {
    const group = Math.floor(row / histogramRowGroupRows);
    const from = row - group * histogramRowGroupRows;
    const to = Math.min(from + start + count - row, histogramRowGroupRows);
    const at = row - start;
    ts.set(file.chunk(group, columns.ts).float64().subarray(from, to), at);
    startTs.set(file.chunk(group, columns.startTs).float64().subarray(from, to), at);
    const blobs = file.chunk(group, columns.histogram).byteArrays();
    if (to > blobs.length) {
      throw new OperatingError("artifact_corrupt", "never", "a series has rows that are not there");
    }
    for (const blob of blobs.slice(from, to)) {
      histograms.push(decodeHistogram(blob, histograms.at(-1)));
    }
    row += to - from;
  }
  return { ts, startTs, histograms };
}

/** A reusable buffer for encoded pages of numbers, used by one read at a time. */
class ReadScratch {
  #bytes = new Uint8Array(0);

  take(length: number): Uint8Array {
    if (length > this.#bytes.length) this.#bytes = new Uint8Array(length * 2);
    return this.#bytes.subarray(0, length);
  }
}

const readScratch = new ReadScratch();

/** A Parquet file with its footer read; columns are read on demand. */
class OpenParquet {
  readonly footer: ParquetFooter;
  readonly #identity: string | undefined;
  #file: FileReader | undefined;

  constructor({ file, identity }: VerifiedFile) {
    this.#file = file;
    this.#identity = identity;
    try {
      const size = file.bytes;
      const trailer = this.#read(Math.max(0, size - trailerBytes), Math.min(size, trailerBytes));
      const { offset, length } = locateFooter(trailer, size);
      this.footer = parseFooter(this.#read(offset, length), offset);
    } catch (thrown) {
      this.close();
      throw thrown;
    }
  }

  /** With `scratch`, the decoded column must not be a view of the file's bytes. */
  chunk(rowGroup: number, column: number, scratch?: ReadScratch): ChunkReader {
    const info = this.footer.rowGroups[rowGroup]?.chunks[column];
    if (info === undefined) {
      throw new OperatingError("artifact_corrupt", "never", `there is no row group ${rowGroup}`);
    }
    const bytes = this.#read(info.offset, info.length, scratch?.take(info.length));
    return new ChunkReader(this.footer, rowGroup, column, bytes, parquetRuntime);
  }

  isUnchanged(): boolean {
    return this.#file?.identity?.() === this.#identity;
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #read(
    offset: number,
    length: number,
    bytes: Uint8Array = Buffer.allocUnsafeSlow(length),
  ): Uint8Array {
    if (this.#file === undefined) throw closed();
    return readFully(this.#file, offset, bytes);
  }
}

function readFully(file: FileReader, offset: number, bytes: Uint8Array): Uint8Array {
  for (let done = 0; done < bytes.length; ) {
    const count = file.read(done === 0 ? bytes : bytes.subarray(done), offset + done);
    if (count === 0) throw new OperatingError("artifact_corrupt", "never", "a file was cut off");
    done += count;
  }
  return bytes;
}

const damagedHint =
  "Put the segment back from a backup (capstan restore); capstan lake check names every damaged or missing file.";

/** Adds the segment's id to errors. A file may be missing because the list is out of date. */
function inSegment<T>(info: SegmentInfo, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") {
      const message = `segment ${info.segmentId} is missing. ${damagedHint}`;
      throw new OperatingError("not_found", "backoff", message);
    }
    if (!(thrown instanceof OperatingError) || thrown.message.startsWith("segment ")) throw thrown;
    // We wrote the segment, so a feature that we never write is damage, too.
    const isDamaged = /^(artifact_corrupt|data_corrupt|unsupported)$/.test(thrown.code);
    // A worker's error travels as its message alone.
    const hint = isDamaged ? `. ${damagedHint}` : "";
    const message = `segment ${info.segmentId}: ${thrown.message}${hint}`;
    const code = isDamaged ? "data_corrupt" : thrown.code;
    throw new OperatingError(code, thrown.retry, message, { cause: thrown });
  }
}
