/**
 * The series of one segment (`series.parquet`), and which of them a selector matches. Columns are
 * decoded once, texts and fingerprints only on demand: a query is mostly about one metric of many.
 */

import {
  ChunkReader,
  chunkBytes,
  columnIndex,
  constantOf,
  type ParquetFooter,
  parquetRuntime,
  readFooter,
  type TextColumn,
} from "../../../../data/parquet/index.ts";
import { AssertionError } from "../../../../ground/kernel/errors.ts";
import {
  compareText,
  type Labels,
  type Matcher,
  metricNameLabel,
} from "../../promql/core/index.ts";
import { shardOf } from "../core/fingerprint.ts";
import type { seriesColumns } from "../core/segment-schema.ts";
import type { SeriesInterner } from "./series-interner.ts";

type SeriesColumn = (typeof seriesColumns)[number]["name"];
type NumberColumn = Exclude<SeriesColumn, "fingerprint" | "labels" | "metric_name" | "series_id">;

export class SeriesTable {
  readonly count: number;
  readonly interner: SeriesInterner;
  readonly rowStart: Float64Array;
  readonly rowCount: Float64Array;
  readonly histogramStart: Float64Array;
  readonly histogramCount: Float64Array;
  readonly minTs: Float64Array;
  readonly maxTs: Float64Array;
  readonly flags: Float64Array;
  readonly #names: Texts;
  readonly #labels: Texts;
  readonly #readFingerprints: () => Uint32Array;
  /** The upper half of each fingerprint. */
  #fingerprints: Uint32Array | undefined;
  /** -1 when not requested yet. */
  readonly #ids: Int32Array;

  constructor(file: Uint8Array, interner: SeriesInterner) {
    const footer = readFooter(file);
    this.interner = interner;
    this.count = footer.rowCount;
    this.#names = new Texts(file, footer, "metric_name");
    this.#labels = new Texts(file, footer, "labels");
    this.#ids = new Int32Array(this.count).fill(-1);
    this.#readFingerprints = () => fingerprintColumn(file, footer);
    const numbers = (name: NumberColumn): Float64Array => numberColumn(file, footer, name);
    this.rowStart = numbers("row_start");
    this.rowCount = numbers("row_count");
    this.histogramStart = numbers("histogram_start");
    this.histogramCount = numbers("histogram_count");
    this.minTs = numbers("min_ts");
    this.maxTs = numbers("max_ts");
    this.flags = numbers("flags");
  }

  /** The interner's id of the series' labels. */
  idOf(series: number): number {
    const known = this.#ids[series] as number;
    if (known >= 0) return known;
    const id = this.interner.intern(this.#labels.at(series));
    this.#ids[series] = id;
    return id;
  }

  labelsOf(series: number): Labels {
    return this.interner.labelsOf(this.idOf(series));
  }

  /** The matching series of the shard with a sample after `minMs` up to `maxMs`, ascending. */
  select(
    matchers: readonly Matcher[],
    matches: (id: number) => boolean,
    shard: number,
    shardCount: number,
    range: { readonly minMs: number; readonly maxMs: number },
  ): number[] {
    const [start, end] = this.#nameRange(matchers);
    const found: number[] = [];
    for (let series = start; series < end; series += 1) {
      if ((this.maxTs[series] as number) <= range.minMs) continue;
      if ((this.minTs[series] as number) > range.maxMs) continue;
      if (shardCount > 1) {
        this.#fingerprints ??= this.#readFingerprints();
        const hi = this.#fingerprints[series] as number;
        if (shardOf({ hi }, shardCount) !== shard) continue;
      }
      if (matches(this.idOf(series))) found.push(series);
    }
    return found;
  }

  /** The range of series whose name a `__name__="…"` matcher allows. */
  #nameRange(matchers: readonly Matcher[]): [start: number, end: number] {
    let [start, end] = [0, this.count];
    for (const { name, op, value } of matchers) {
      if (name !== metricNameLabel || op !== "=") continue;
      start = Math.max(start, this.#firstName(value, 0));
      end = Math.min(end, this.#firstName(value, 1));
    }
    return [start, end];
  }

  /** The first series whose name is at least `name` (`beyond` 0), or greater (1). */
  #firstName(name: string, beyond: 0 | 1): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareText(this.#names.at(middle), name) < beyond) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function chunks(file: Uint8Array, footer: ParquetFooter, column: number): ChunkReader[] {
  return footer.rowGroups.map((_, group) => chunkOf(file, footer, group, column));
}

function chunkOf(
  file: Uint8Array,
  footer: ParquetFooter,
  group: number,
  column: number,
): ChunkReader {
  const chunk = footer.rowGroups[group]?.chunks[column];
  const bytes = chunk === undefined ? new Uint8Array(0) : chunkBytes(file, chunk);
  return new ChunkReader(footer, group, column, bytes, parquetRuntime);
}

/** A text column over all row groups. */
class Texts {
  readonly #columns: readonly TextColumn[];

  constructor(file: Uint8Array, footer: ParquetFooter, name: SeriesColumn) {
    const column = columnIndex(footer, name, "text");
    this.#columns = chunks(file, footer, column).map((chunk) => chunk.textColumn());
  }

  at(row: number): string {
    let left = row;
    for (const column of this.#columns) {
      if (left < column.count) return column.at(left);
      left -= column.count;
    }
    throw new AssertionError(`there is no row ${row}`);
  }
}

function numberColumn(file: Uint8Array, footer: ParquetFooter, name: NumberColumn): Float64Array {
  const column = columnIndex(footer, name, name === "flags" ? "int32" : "int64");
  const all = new Float64Array(footer.rowCount);
  let at = 0;
  for (const [group, { rowCount }] of footer.rowGroups.entries()) {
    const rows = all.subarray(at, at + rowCount);
    // Most columns are constant: series scraped together have the same times, and no histograms.
    const constant = constantOf(footer, group, column);
    if (constant === undefined) chunkOf(file, footer, group, column).float64(rows);
    else rows.fill(constant);
    at += rowCount;
  }
  return all;
}

function fingerprintColumn(file: Uint8Array, footer: ParquetFooter): Uint32Array {
  const column = columnIndex(footer, "fingerprint", "bigint64");
  const all = new Uint32Array(footer.rowCount);
  let at = 0;
  for (const chunk of chunks(file, footer, column)) {
    const words = new Uint32Array(chunk.bigint64().buffer);
    for (let index = 1; index < words.length; index += 2, at += 1) all[at] = words[index] as number;
  }
  return all;
}
