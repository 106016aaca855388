/**
 * A leaf's result as a Parquet file: a row for each series or group, whose steps are packed into
 * one value each, so that reading it back is copying. The same result gives the same bytes.
 *
 *   labels         `["name","value",…]`
 *   drop_name      the metric's name goes in the end
 *   floats         float64, little-endian, one for each step; empty: a group without values
 *   is_group       a partial group; otherwise a series
 *   kinds          a byte for each step: 0 absent, 1 float, 2 histogram; empty: all are floats
 *   counts         float64 for each step, of groups; or, where that is shorter, runs of equal
 *                  values: float64 of how many, and of which
 *   compensations  the same, of groups that are summed up
 *   histograms     those of the steps of kind 2, one after the other
 *
 * A column from `is_group` on is left out when it is false or empty in every row: an instant query
 * has thousands of rows with one value each.
 */
import { endianness } from "node:os";
import {
  type BytesColumn,
  ChunkReader,
  type ColumnSpec,
  chunkBytes,
  columnIndex,
  type GivenColumn,
  PackedBytes,
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
import { artifactWriting, labelsColumn, ReadLabels, WrittenLabels } from "./label-columns.ts";

assert(endianness() === "LE", "columns are copied as they are in memory");

/** Columns of numbers that hardly repeat are not compressed. */
const columns = {
  labels: labelsColumn,
  drop_name: { name: "drop_name", type: "boolean" },
  floats: { name: "floats", type: "bytes", codec: "none" },
  is_group: { name: "is_group", type: "boolean" },
  kinds: { name: "kinds", type: "bytes" },
  counts: { name: "counts", type: "bytes" },
  compensations: { name: "compensations", type: "bytes" },
  histograms: { name: "histograms", type: "bytes" },
} as const satisfies Record<string, ColumnSpec>;
type ColumnName = keyof typeof columns;

/** The limit of one row group, because a page is one piece of memory. */
const groupBytesMax = 64 * 1024 ** 2;
/** The parts of a result other than its rows; stored in the footer. */
interface Heading {
  readonly kind: LeafResult["kind"];
  readonly steps: number;
  readonly annotations: readonly LeafAnnotation[];
  readonly stats: LeafStats;
}

const headingKey = "capstan.leaf";

/** Shared by all works, and by all queries, of this thread. */
const writtenLabels = new WrittenLabels();
const readLabels = new ReadLabels();

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
  const rows = new RowsWriter(groups, result.series, steps);
  const rowGroups = rows.rowGroups();
  const options = { keyValues, ...artifactWriting };
  const bytes = writeParquet(rows.schema, rowGroups, parquetRuntime, options);
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

/** Writes only the columns that the rows need. */
class RowsWriter {
  readonly schema: readonly ColumnSpec[];
  readonly #names: readonly ColumnName[];
  readonly #groups: readonly PackedGroup[];
  readonly #series: readonly StepSeries[];
  /** Whether a series has a float at every step. */
  readonly #dense: Uint8Array;
  readonly #steps: number;

  constructor(groups: readonly PartialGroup[], series: readonly StepSeries[], steps: number) {
    this.#groups = groups.map(packGroup);
    this.#series = series;
    this.#steps = steps;
    this.#dense = new Uint8Array(series.length);
    let isMixed = false;
    let hasHistograms = false;
    for (const [index, { kinds, values, histograms }] of series.entries()) {
      const isWhole = kinds.length === steps && values.length === steps;
      assert(isWhole, "a series has a value for each step");
      hasHistograms ||= histograms !== undefined;
      if (areAllFloats(kinds)) this.#dense[index] = 1;
      else isMixed = true;
    }
    const isCompensated = this.#groups.some(({ compensations }) => compensations.length > 0);
    this.#names = [
      "labels",
      "drop_name",
      "floats",
      ...(groups.length > 0 ? (["is_group", "counts"] as const) : []),
      ...(isCompensated ? (["compensations"] as const) : []),
      ...(isMixed ? (["kinds"] as const) : []),
      ...(hasHistograms ? (["histograms"] as const) : []),
    ];
    this.schema = this.#names.map((name) => columns[name]);
  }

  /** Splits rows into pieces, so that no page becomes too large. */
  *rowGroups(): Generator<GivenColumn[]> {
    const [groupCount, seriesCount] = [this.#groups.length, this.#series.length];
    const bytesPerRow = 8 * this.#steps + 1;
    const perGroup = Math.min(rowsPerGroupMax, Math.floor(groupBytesMax / bytesPerRow));
    const step = Math.max(1, perGroup);
    for (let start = 0; start < groupCount + seriesCount; start += step) {
      const end = Math.min(start + step, groupCount + seriesCount);
      const groups = this.#groups.slice(start, end);
      const from = Math.max(0, start - groupCount);
      const series = this.#series.slice(from, Math.max(0, end - groupCount));
      yield this.#names.map((name) => this.#column(name, groups, series, from));
    }
  }

  /** `from` is the index of the first of `series` among all. */
  #column(
    name: ColumnName,
    groups: readonly PackedGroup[],
    series: readonly StepSeries[],
    from: number,
  ): GivenColumn {
    switch (name) {
      case "labels":
        return writtenLabels.column([...groups, ...series].map(({ labels }) => labels));
      case "drop_name":
        return Uint8Array.from([...groups, ...series], ({ dropName }) => (dropName ? 1 : 0));
      case "is_group":
        return new Uint8Array(groups.length + series.length).fill(1, 0, groups.length);
      case "floats":
        return this.#floats(groups, series, from);
      case "kinds":
        return this.#ofSeries(groups, series, ({ kinds }, index) =>
          this.#dense[from + index] === 1 ? nothing : kinds,
        );
      case "histograms":
        return this.#ofSeries(groups, series, ({ kinds, histograms }) =>
          histograms === undefined ? nothing : packHistograms(kinds, histograms),
        );
      default:
        return [...groups.map((group) => group[name]), ...series.map(() => nothing)];
    }
  }

  #ofSeries(
    groups: readonly PackedGroup[],
    series: readonly StepSeries[],
    pick: (series: StepSeries, index: number) => Uint8Array,
  ): Uint8Array[] {
    return [...groups.map(() => nothing), ...series.map(pick)];
  }

  /** Zeroes the values of absent steps, so that leftovers of a kernel do not change the file. */
  #floats(
    groups: readonly PackedGroup[],
    series: readonly StepSeries[],
    from: number,
  ): PackedBytes {
    let byteCount = series.length * this.#steps * 8;
    for (const { floats } of groups) byteCount += floats.length;
    const packed = new PackedBytes(groups.length + series.length, byteCount);
    for (const { floats } of groups) packed.add(floats);
    for (let index = 0; index < series.length; index += 1) {
      const { kinds, values } = series[index] as StepSeries;
      const isDense = this.#dense[from + index] === 1;
      packed.addDoubles(
        isDense ? values : values.map((value, at) => (kinds[at] === stepFloat ? value : 0)),
      );
    }
    return packed;
  }
}

/** A group whose columns are bytes. */
interface PackedGroup {
  readonly labels: Labels;
  readonly dropName: boolean;
  readonly floats: Uint8Array;
  readonly counts: Uint8Array;
  readonly compensations: Uint8Array;
}

const nothing = new Uint8Array(0);

function packGroup({ labels, dropName, counts, values, compensations }: PartialGroup): PackedGroup {
  return {
    labels,
    dropName,
    floats: bytesOf(values),
    counts: bytesOf(inRuns(counts)),
    compensations: bytesOf(inRuns(compensations)),
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

  get rowCount(): number {
    return this.#footer.rowGroups[this.#index]?.rowCount ?? 0;
  }

  labels(): readonly Labels[] {
    return readLabels.column(this.#chunk("labels"), () => this.#reader("labels").texts());
  }

  booleans(name: "drop_name" | "is_group"): Uint8Array {
    return this.#has(name) ? this.#reader(name).booleans() : new Uint8Array(this.rowCount);
  }

  bytes(name: Exclude<ColumnName, "labels" | "drop_name" | "is_group">): BytesColumn | undefined {
    return this.#has(name) ? this.#reader(name).bytesColumn() : undefined;
  }

  #has(name: ColumnName): boolean {
    return this.#footer.columns.some((column) => column.name === name);
  }

  #reader(name: ColumnName): ChunkReader {
    const column = columnIndex(this.#footer, name, columns[name].type);
    return new ChunkReader(this.#footer, this.#index, column, this.#chunk(name), parquetRuntime);
  }

  #chunk(name: ColumnName): Uint8Array {
    const column = columnIndex(this.#footer, name, columns[name].type);
    const chunk = this.#footer.rowGroups[this.#index]?.chunks[column];
    assert(chunk !== undefined, "a row group has every column");
    return chunkBytes(this.#bytes, chunk);
  }
}

function decodeRows(
  reader: RowGroupReader,
  steps: number,
  memory: Pick<HeldMemory, "take">,
  groups: PartialGroup[],
  series: StepSeries[],
): void {
  const { rowCount } = reader;
  const labels = reader.labels();
  const isGroup = reader.booleans("is_group");
  const dropNames = reader.booleans("drop_name");
  const floats = reader.bytes("floats");
  const counts = reader.bytes("counts");
  const compensations = reader.bytes("compensations");
  const kinds = reader.bytes("kinds");
  const histograms = reader.bytes("histograms");
  const reading = new FloatsReader(steps);
  for (let row = 0; row < rowCount; row += 1) {
    const rowLabels = labels[row] as Labels;
    const dropName = dropNames[row] === 1;
    if (isGroup[row] === 1) {
      const columnCount = 1 + isThere(floats, row) + isThere(compensations, row);
      memory.take(columnCount * steps * 8);
      groups.push({
        labels: rowLabels,
        dropName,
        counts: reading.readRuns(counts, row) ?? new Float64Array(steps),
        values: reading.read(floats, row),
        compensations: reading.readRuns(compensations, row),
      });
    } else {
      memory.take(steps * stepBytes);
      const values = reading.read(floats, row) ?? new Float64Array(steps);
      if (isThere(kinds, row) === 0) {
        const { dense } = reading;
        series.push({ labels: rowLabels, dropName, kinds: dense, values, histograms: undefined });
      } else {
        const read = kindsOf(kinds?.at(row) ?? nothing, histograms?.at(row) ?? nothing, steps);
        series.push({ labels: rowLabels, dropName, values, ...read });
      }
    }
  }
}

function isThere(column: BytesColumn | undefined, row: number): 0 | 1 {
  return column === undefined || column.lengthOf(row) === 0 ? 0 : 1;
}

function kindsOf(
  kindBytes: Uint8Array,
  histogramBytes: Uint8Array,
  steps: number,
): Pick<StepSeries, "kinds" | "histograms"> {
  if (kindBytes.length !== steps) throw corrupt("a series has another number of steps");
  const kinds = kindBytes.slice();
  if (histogramBytes.length === 0) return { kinds, histograms: undefined };
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

/** Fewer values are copied one by one: views of their bytes would cost more. */
const shortLengthMax = 8;

/** Reads rows of one row group. It copies them, because they are unaligned in the file. */
class FloatsReader {
  readonly #steps: number;
  /**
   * The kinds of a row with a float at every step, shared by all such rows: nobody writes to them.
   */
  readonly dense: Uint8Array;
  /** Where the next rows are copied to: one allocation is faster than thousands. */
  #room = new Float64Array(0);
  #used = 0;

  constructor(steps: number) {
    this.#steps = steps;
    this.dense = new Uint8Array(steps).fill(stepFloat);
  }

  /** Undefined when there are none. */
  read(column: BytesColumn | undefined, row: number): Float64Array | undefined {
    const length = column?.lengthOf(row) ?? 0;
    if (column === undefined || length === 0) return undefined;
    const steps = this.#steps;
    if (length !== steps * 8) throw corrupt("a row has another number of steps");
    const values = this.#takeRoom();
    if (steps > shortLengthMax) {
      new Uint8Array(values.buffer, values.byteOffset, values.byteLength).set(column.at(row));
      return values;
    }
    const start = column.startOf(row);
    for (let step = 0; step < steps; step += 1) {
      values[step] = column.view.getFloat64(start + step * 8, true);
    }
    return values;
  }

  readRuns(column: BytesColumn | undefined, row: number): Float64Array | undefined {
    const steps = this.#steps;
    const length = column?.lengthOf(row) ?? 0;
    if (column === undefined || length === 0 || length >= steps * 8) return this.read(column, row);
    const values = this.#takeRoom();
    const start = column.startOf(row);
    let step = 0;
    for (let at = start; at + 16 <= start + length; at += 16) {
      const runLength = column.view.getFloat64(at, true);
      if (!(runLength >= 1 && step + runLength <= steps)) throw corrupt("its runs are too long");
      values.fill(column.view.getFloat64(at + 8, true), step, step + runLength);
      step += runLength;
    }
    if (step !== steps) throw corrupt("its runs are too short");
    return values;
  }

  #takeRoom(): Float64Array {
    const steps = this.#steps;
    if (this.#used + steps > this.#room.length) {
      this.#room = new Float64Array(steps * roomRows(steps));
      this.#used = 0;
    }
    const taken = this.#room.subarray(this.#used, this.#used + steps);
    this.#used += steps;
    return taken;
  }
}

const roomBytesMax = 64 * 1024;

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
