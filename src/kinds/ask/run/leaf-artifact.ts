/**
 * A leaf's result as a Parquet file: a row for each series or group, whose steps are packed into
 * one value each, so that reading it back is copying. The same result gives the same bytes.
 *
 *   is_group       a partial group; otherwise a series
 *   labels         `["name","value",…]`
 *   drop_name      the metric's name goes in the end
 *   kinds          a byte for each step: 0 absent, 1 float, 2 histogram; empty: all are floats
 *   floats         float64, little-endian, one for each step; empty: a group without values
 *   counts         the same, of groups; or, where that is shorter, runs of equal values: float64 of
 *                  how many, and of which
 *   compensations  the same, of groups that are summed up
 *   histograms     those of the steps of kind 2, one after the other
 */
import { endianness } from "node:os";
import {
  ChunkReader,
  type ColumnSpec,
  type ColumnValues,
  chunkBytes,
  columnIndex,
  type ParquetFooter,
  parquetRuntime,
  readFooter,
  rowsPerGroupMax,
  writeParquet,
} from "../../../data/parquet/index.ts";
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import { decodeRawSeries, encodeRawSeries } from "../metrics/index.ts";
import {
  type BaseExpr,
  decodeHistogram,
  encodeHistogram,
  type FloatHistogram,
  type HeldMemory,
  type Labels,
  type LeafAnnotation,
  type LeafResult,
  type LeafStats,
  type PartialGroup,
  type StepSeries,
  sampleBytes,
  stepBytes,
  stepCount,
  stepFloat,
  stepHistogram,
  unboundedMemory,
} from "../promql/core/index.ts";
import { LabelsReader, pairsJson } from "./label-texts.ts";

assert(endianness() === "LE", "columns are copied as they are in memory");

/** Columns of numbers that hardly repeat are not compressed. */
const schema: readonly ColumnSpec[] = [
  { name: "is_group", type: "boolean" },
  { name: "labels", type: "text" },
  { name: "drop_name", type: "boolean" },
  { name: "kinds", type: "bytes" },
  { name: "floats", type: "bytes", codec: "none" },
  { name: "counts", type: "bytes" },
  { name: "compensations", type: "bytes" },
  { name: "histograms", type: "bytes" },
];

/** The limit of one row group, because a page is one piece of memory. */
const groupBytesMax = 64 * 1024 ** 2;
/** Readers never skip parts of an artifact, and a few kilobytes are sent faster than compressed. */
const writing = { zstdLevel: 1, statistics: false, compressBytesMin: 4096 };

/** The parts of a result other than its rows; stored in the footer. */
interface Heading {
  readonly kind: LeafResult["kind"];
  readonly steps: number;
  readonly annotations: readonly LeafAnnotation[];
  readonly stats: LeafStats;
}

const headingKey = "capstan.leaf";

/** Shared by all reads of this thread. */
const labelsReader = new LabelsReader();

export interface EncodedLeaf {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly rowCount: number;
}

export function encodeLeafResult(result: LeafResult, leaf: BaseExpr): EncodedLeaf {
  const { kind, annotations, stats } = result;
  const steps = stepCount(leaf.grid);
  const heading: Heading = { kind, steps, annotations, stats };
  const keyValues = { [headingKey]: JSON.stringify(heading) };
  if (result.kind === "raw") {
    return { bytes: encodeRawSeries(result.series, keyValues), rowCount: result.series.length };
  }
  const groups = result.kind === "partials" ? result.groups : [];
  const rowCount = groups.length + result.series.length;
  const rowGroups = encodeRows(groups, result.series, steps);
  const bytes = writeParquet(schema, rowGroups, parquetRuntime, { keyValues, ...writing });
  return { bytes, rowCount };
}

/**
 * Throws `artifact_corrupt` for a file whose content contradicts its checksum. A small file may be
 * large when decoded: its memory is taken from `memory` first.
 */
export function decodeLeafResult(
  bytes: Uint8Array,
  memory: Pick<HeldMemory, "take"> = unboundedMemory,
): LeafResult {
  const footer = readFooter(bytes);
  const { kind, steps, annotations, stats } = parseHeading(footer);
  if (kind === "raw") {
    memory.take(stats.sampleCount * sampleBytes);
    return { kind, annotations, stats, series: decodeRawSeries(bytes) };
  }
  const groups: PartialGroup[] = [];
  const series: StepSeries[] = [];
  for (let index = 0; index < footer.rowGroups.length; index += 1) {
    decodeRows(new RowGroupReader(bytes, footer, index), steps, memory, groups, series);
  }
  return kind === "steps"
    ? { kind, annotations, stats, series }
    : { kind, annotations, stats, groups, series };
}

/** The maximum memory of encoding a result, besides the result: the file and one page. */
export function encodingBytes(result: LeafResult, leaf: BaseExpr): number {
  if (result.kind === "raw") return result.stats.sampleCount * sampleBytes;
  const steps = stepCount(leaf.grid);
  let columns = result.series.length;
  if (result.kind === "partials") {
    for (const { values, compensations } of result.groups) {
      columns += (values === undefined ? 0 : 1) + (compensations === undefined ? 0 : 1);
    }
  }
  return columns * steps * 8 + Math.min(columns * steps * 8, groupBytesMax);
}

/** Splits rows into pieces, so that no page becomes too large. */
function* encodeRows(
  groups: readonly PartialGroup[],
  series: readonly StepSeries[],
  steps: number,
): Generator<ColumnValues[]> {
  const perGroup = Math.max(
    1,
    Math.min(rowsPerGroupMax, Math.floor(groupBytesMax / (8 * steps + 1))),
  );
  const rowCount = groups.length + series.length;
  for (let start = 0; start < rowCount; start += perGroup) {
    const length = Math.min(perGroup, rowCount - start);
    const bytesOfSeries = steps <= shortLengthMax ? packingTogether(length * steps) : bytesOf;
    const rows = Array.from({ length }, (_, offset) => {
      const index = start + offset;
      const group = groups[index];
      return group === undefined
        ? rowOfSeries(series[index - groups.length] as StepSeries, steps, bytesOfSeries)
        : rowOfGroup(group);
    });
    yield [
      Uint8Array.from(rows, (row) => row.isGroup),
      rows.map((row) => pairsJson(row.labels)),
      Uint8Array.from(rows, (row) => (row.dropName ? 1 : 0)),
      rows.map((row) => row.kinds),
      rows.map((row) => row.floats),
      rows.map((row) => row.counts),
      rows.map((row) => row.compensations),
      rows.map((row) => row.histograms),
    ];
  }
}

interface Row {
  readonly isGroup: 0 | 1;
  readonly labels: Labels;
  readonly dropName: boolean;
  readonly kinds: Uint8Array;
  readonly floats: Uint8Array;
  readonly counts: Uint8Array;
  readonly compensations: Uint8Array;
  readonly histograms: Uint8Array;
}

const nothing = new Uint8Array(0);

function rowOfGroup({ labels, dropName, counts, values, compensations }: PartialGroup): Row {
  return {
    isGroup: 1,
    labels,
    dropName,
    kinds: nothing,
    floats: bytesOf(values),
    counts: bytesOf(inRuns(counts)),
    compensations: bytesOf(inRuns(compensations)),
    histograms: nothing,
  };
}

const runScratch: number[] = [];

/** Most groups have the same count at every step, and most sums have no compensation. */
function inRuns(values: Float64Array | undefined): Float64Array | undefined {
  if (values === undefined) return undefined;
  runScratch.length = 0;
  let start = 0;
  for (let step = 1; step <= values.length; step += 1) {
    if (step < values.length && Object.is(values[step], values[start])) continue;
    if (runScratch.length + 2 >= values.length) return values;
    runScratch.push(step - start, values[start] as number);
    start = step;
  }
  return Float64Array.from(runScratch);
}

/** Zeroes the values of absent steps, so that leftovers of a kernel do not change the file. */
function rowOfSeries(
  series: StepSeries,
  steps: number,
  bytesOfFloats: (values: Float64Array) => Uint8Array,
): Row {
  const { labels, dropName, kinds, values, histograms } = series;
  assert(kinds.length === steps && values.length === steps, "a series has a value for each step");
  const isDense = areAllFloats(kinds);
  const floats = isDense
    ? values
    : values.map((value, step) => (kinds[step] === stepFloat ? value : 0));
  return {
    isGroup: 0,
    labels,
    dropName,
    kinds: isDense ? nothing : kinds,
    floats: bytesOfFloats(floats),
    counts: nothing,
    compensations: nothing,
    histograms: histograms === undefined ? nothing : packHistograms(kinds, histograms),
  };
}

/** A plain loop, because it visits every step of the answer. */
function areAllFloats(kinds: Uint8Array): boolean {
  for (let step = 0; step < kinds.length; step += 1) if (kinds[step] !== stepFloat) return false;
  return true;
}

function packHistograms(
  kinds: Uint8Array,
  histograms: readonly (FloatHistogram | undefined)[],
): Uint8Array {
  const packed: Uint8Array[] = [];
  for (let step = 0; step < kinds.length; step += 1) {
    if (kinds[step] !== stepHistogram) continue;
    const histogram = histograms[step];
    assert(histogram !== undefined, "a step of a histogram has one");
    packed.push(encodeHistogram(histogram));
  }
  return packed.length === 0 ? nothing : Buffer.concat(packed);
}

/** The columns of one row group, as stored in the file. */
class RowGroupReader {
  readonly #bytes: Uint8Array;
  readonly #footer: ParquetFooter;
  readonly #index: number;

  constructor(bytes: Uint8Array, footer: ParquetFooter, index: number) {
    this.#bytes = bytes;
    this.#footer = footer;
    this.#index = index;
  }

  column(name: string, type: ColumnSpec["type"]): ChunkReader {
    const column = columnIndex(this.#footer, name, type);
    const chunk = this.#footer.rowGroups[this.#index]?.chunks[column];
    assert(chunk !== undefined, "a row group has every column");
    const bytes = chunkBytes(this.#bytes, chunk);
    return new ChunkReader(this.#footer, this.#index, column, bytes, parquetRuntime);
  }
}

function decodeRows(
  reader: RowGroupReader,
  steps: number,
  memory: Pick<HeldMemory, "take">,
  groups: PartialGroup[],
  series: StepSeries[],
): void {
  const isGroup = reader.column("is_group", "boolean").booleans();
  const dropName = reader.column("drop_name", "boolean").booleans();
  const labels = reader.column("labels", "text").texts();
  const kinds = reader.column("kinds", "bytes").byteArrays();
  const floats = reader.column("floats", "bytes").byteArrays();
  const counts = reader.column("counts", "bytes").byteArrays();
  const compensations = reader.column("compensations", "bytes").byteArrays();
  const histograms = reader.column("histograms", "bytes").byteArrays();
  const reading = new FloatsReader(steps);
  for (let row = 0; row < labels.length; row += 1) {
    const head = {
      labels: labelsReader.read(labels[row] as string),
      dropName: dropName[row] === 1,
    };
    if (isGroup[row] === 1) {
      const columns = 1 + isThere(floats[row]) + isThere(compensations[row]);
      memory.take(columns * steps * 8);
      groups.push({
        ...head,
        counts: reading.readRuns(counts[row]) ?? new Float64Array(steps),
        values: reading.read(floats[row]),
        compensations: reading.readRuns(compensations[row]),
      });
    } else {
      memory.take(steps * stepBytes);
      const values = reading.read(floats[row]) ?? new Float64Array(steps);
      const { dense } = reading;
      series.push({ ...head, values, ...kindsOf(kinds[row], histograms[row], dense) });
    }
  }
}

function isThere(bytes: Uint8Array | undefined): 0 | 1 {
  return bytes === undefined || bytes.length === 0 ? 0 : 1;
}

function kindsOf(
  kindBytes: Uint8Array | undefined,
  histogramBytes: Uint8Array | undefined,
  dense: Uint8Array,
): Pick<StepSeries, "kinds" | "histograms"> {
  const isDense = kindBytes === undefined || kindBytes.length === 0;
  if (isDense) return { kinds: dense, histograms: undefined };
  const steps = dense.length;
  if (kindBytes.length !== steps) throw corrupt("a series has another number of steps");
  const kinds = kindBytes.slice();
  if (histogramBytes === undefined || histogramBytes.length === 0) {
    return { kinds, histograms: undefined };
  }
  const histograms: (FloatHistogram | undefined)[] = Array.from({ length: steps });
  let offset = 0;
  for (let step = 0; step < steps; step += 1) {
    if (kinds[step] !== stepHistogram) continue;
    const decoded = decodeHistogram(histogramBytes, offset);
    histograms[step] = decoded.histogram;
    offset = decoded.next;
  }
  return { kinds, histograms };
}

function bytesOf(values: Float64Array | undefined): Uint8Array {
  if (values === undefined) return nothing;
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/**
 * V8 keeps arrays up to this length in its heap; asking for the buffer of one moves it out, which
 * is costly.
 */
const shortLengthMax = 8;

/** Copies thousands of short arrays into one buffer. */
function packingTogether(count: number): (values: Float64Array) => Uint8Array {
  const all = new Float64Array(count);
  let at = 0;
  return (values) => {
    const start = at;
    for (let index = 0; index < values.length; index += 1, at += 1) {
      all[at] = values[index] as number;
    }
    return new Uint8Array(all.buffer, start * 8, values.length * 8);
  };
}

/** Reads rows of one row group. It copies them, because they are unaligned in the file. */
class FloatsReader {
  readonly #steps: number;
  /**
   * The kinds of a row with a float at every step, shared by all such rows: nobody writes to them.
   */
  readonly dense: Uint8Array;
  /** Where the next rows are copied to: one allocation is faster than thousands. */
  #room = new Float64Array(0);
  #page: DataView = new DataView(new ArrayBuffer(0));

  constructor(steps: number) {
    this.#steps = steps;
    this.dense = new Uint8Array(steps).fill(stepFloat);
  }

  /** Undefined when there are none. */
  read(bytes: Uint8Array | undefined): Float64Array | undefined {
    if (bytes === undefined || bytes.length === 0) return undefined;
    const steps = this.#steps;
    if (bytes.length !== steps * 8) throw corrupt("a row has another number of steps");
    if (steps <= shortLengthMax) return this.#readShort(bytes);
    const values = this.#takeRoom();
    new Uint8Array(values.buffer, values.byteOffset, values.byteLength).set(bytes);
    return values;
  }

  readRuns(bytes: Uint8Array | undefined): Float64Array | undefined {
    const steps = this.#steps;
    if (bytes === undefined || bytes.length === 0 || bytes.length >= steps * 8) {
      return this.read(bytes);
    }
    const values = this.#takeRoom();
    let step = 0;
    for (let at = 0; at + 16 <= bytes.length; at += 16) {
      const length = this.#valueAt(bytes, at);
      if (!(length >= 1 && step + length <= steps)) throw corrupt("its runs are too long");
      values.fill(this.#valueAt(bytes, at + 8), step, step + length);
      step += length;
    }
    if (step !== steps) throw corrupt("its runs are too short");
    return values;
  }

  #readShort(bytes: Uint8Array): Float64Array {
    const values = new Float64Array(this.#steps);
    for (let step = 0; step < values.length; step += 1)
      values[step] = this.#valueAt(bytes, step * 8);
    return values;
  }

  #valueAt(bytes: Uint8Array, offset: number): number {
    if (this.#page.buffer !== bytes.buffer) this.#page = new DataView(bytes.buffer);
    return this.#page.getFloat64(bytes.byteOffset + offset, true);
  }

  #takeRoom(): Float64Array {
    const steps = this.#steps;
    if (this.#room.length < steps) this.#room = new Float64Array(steps * roomRows(steps));
    const taken = this.#room.subarray(0, steps);
    this.#room = this.#room.subarray(steps);
    return taken;
  }
}

const roomBytesMax = 256 * 1024;

function roomRows(steps: number): number {
  return Math.max(1, Math.floor(roomBytesMax / (steps * 8)));
}

function parseHeading({ keyValues }: ParquetFooter): Heading {
  const text = keyValues.get(headingKey);
  if (text === undefined) throw corrupt("it has no heading");
  return JSON.parse(text) as Heading;
}

function corrupt(why: string): OperatingError {
  return new OperatingError("artifact_corrupt", "backoff", `a leaf's result is damaged: ${why}`);
}
