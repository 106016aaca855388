/**
 * The series of a selection in memory. Most of their bytes are times and values. Series of one
 * target are scraped together, so their times are stored once. Values of many series share one
 * buffer, because thousands of small buffers fragment the memory.
 * A series' own samples never change. Behind them is room for the head's samples of the current
 * work, valid until the next work. Series with shared times may get different heads in one work:
 * each sees its own.
 */
import { joinPieces } from "../metrics/index.ts";
import type { RawSeries, SampleColumns } from "../promql/core/index.ts";

/** The room for a head's samples, as a share of the series' own. */
const roomShare = 1 / 16;
const roomMin = 64;
/** The values in one buffer: 1 MiB. */
const slabLength = 131_072;
/** The approximate size of an object with its views. */
const seriesBytes = 300;
const histogramBytes = 400;

/** Collects a selection's series. It copies the columns that it gets. */
export class KeptSeriesBuilder {
  readonly #all: KeptSeries[] = [];
  readonly #times = new Map<string, KeptTimes>();
  #slab = new ValueSlab();
  #bytes = 0;

  /** Includes the room for a head. */
  get bytes(): number {
    return this.#bytes;
  }

  add({ labels, samples }: RawSeries): void {
    const { count, stale, startTs, histograms } = samples;
    if (!this.#slab.hasRoomFor(count)) this.#closeSlab();
    const series = new KeptSeries(labels, {
      count,
      times: this.#timesOf(samples),
      slab: this.#slab,
      stale: stale?.slice(0, count),
      startTs: startTs?.slice(0, count),
      histograms,
    });
    this.#slab.add(series, samples.values.subarray(0, count));
    this.#all.push(series);
    const perSample =
      (stale === undefined ? 0 : 1) +
      (startTs === undefined ? 0 : 8) +
      (histograms === undefined ? 0 : histogramBytes);
    this.#bytes += seriesBytes + bytesWithRoom(count) + count * perSample;
  }

  finish(): readonly KeptSeries[] {
    this.#closeSlab();
    return this.#all;
  }

  #closeSlab(): void {
    this.#slab.close();
    this.#slab = new ValueSlab();
  }

  /** Reuses the times of the last series with the same length, start and end, if all are equal. */
  #timesOf({ ts, count }: SampleColumns): KeptTimes {
    const key = `${count} ${ts[0]} ${ts[count - 1]}`;
    const known = this.#times.get(key);
    if (known?.equals(ts, count) === true) return known;
    const times = new KeptTimes(ts.slice(0, count));
    this.#times.set(key, times);
    this.#bytes += bytesWithRoom(count);
    return times;
  }
}

interface OwnSamples {
  readonly count: number;
  readonly times: KeptTimes;
  readonly slab: ValueSlab;
  readonly stale: Uint8Array | undefined;
  readonly startTs: Float64Array | undefined;
  readonly histograms: SampleColumns["histograms"];
}

export class KeptSeries implements RawSeries {
  readonly labels: RawSeries["labels"];
  /** Part of the slab: the series' own values, and the room behind them. */
  values = new Float64Array(0);
  readonly #own: OwnSamples;

  constructor(labels: RawSeries["labels"], own: OwnSamples) {
    this.labels = labels;
    this.#own = own;
  }

  get samples(): SampleColumns {
    const { count, times, stale, startTs, histograms } = this.#own;
    return { count, ts: times.ts, values: this.values, stale, startTs, histograms };
  }

  /** Appends the head's samples, valid until the next work. `work` differs for every work. */
  followedBy(head: SampleColumns, work: number): RawSeries {
    const { labels, samples } = this;
    const lastMs = samples.ts[samples.count - 1] ?? Number.NEGATIVE_INFINITY;
    const isLater = (head.ts[0] ?? Number.POSITIVE_INFINITY) > lastMs;
    if (!isLater || !isFloatsOnly(samples) || !isFloatsOnly(head)) {
      const joined = joinPieces([samples, head].filter(({ count }) => count > 0));
      return { labels, samples: joined ?? samples };
    }
    const count = samples.count + head.count;
    const { times, slab } = this.#own;
    if (this.values.length < count) slab.makeRoom(this, head.count);
    this.values.set(head.values.subarray(0, head.count), samples.count);
    const ts = times.followedBy(head, work);
    return { labels, samples: { ...samples, count, ts, values: this.values } };
  }
}

function isFloatsOnly({ stale, histograms, startTs }: SampleColumns): boolean {
  return stale === undefined && histograms === undefined && startTs === undefined;
}

/** Times that several series share, followed by those of a head. */
class KeptTimes {
  /** May be longer than `#count`. */
  ts: Float64Array;
  readonly #count: number;
  /** The work whose head samples are at the end. */
  #work: number | undefined;
  #tailCount = 0;

  constructor(ts: Float64Array) {
    this.ts = ts;
    this.#count = ts.length;
  }

  equals(ts: Float64Array, count: number): boolean {
    if (count !== this.#count) return false;
    for (let index = 0; index < count; index += 1) {
      if (this.ts[index] !== ts[index]) return false;
    }
    return true;
  }

  /** Returns a copy when another series of the same work has other times in its head. */
  followedBy(head: SampleColumns, work: number): Float64Array {
    if (this.#work !== work) this.#tailCount = 0;
    this.#work = work;
    const count = this.#count + head.count;
    const added = head.ts.subarray(0, head.count);
    if (!this.#hasSameTail(head)) {
      const copy = new Float64Array(count);
      copy.set(this.ts.subarray(0, this.#count));
      copy.set(added, this.#count);
      return copy;
    }
    if (head.count <= this.#tailCount) return this.ts;
    if (this.ts.length < count) {
      const grown = new Float64Array(count + roomFor(count));
      grown.set(this.ts.subarray(0, this.#count));
      this.ts = grown;
    }
    this.ts.set(added, this.#count);
    this.#tailCount = head.count;
    return this.ts;
  }

  /** Compares up to the shorter length. */
  #hasSameTail({ ts, count }: SampleColumns): boolean {
    for (let index = Math.min(count, this.#tailCount) - 1; index >= 0; index -= 1) {
      if (this.ts[this.#count + index] !== ts[index]) return false;
    }
    return true;
  }
}

interface SlabMember {
  readonly series: KeptSeries;
  readonly count: number;
  /** The number of free values behind its own. */
  room: number;
}

/** The values of many series in one buffer. */
class ValueSlab {
  readonly #members: SlabMember[] = [];
  #values = new Float64Array(0);
  #length = 0;

  hasRoomFor(count: number): boolean {
    return this.#members.length === 0 || this.#length + count <= slabLength;
  }

  /** The series gets its values when the slab is closed. */
  add(series: KeptSeries, values: Float64Array): void {
    const { length } = values;
    if (this.#members.length === 0) this.#values = new Float64Array(Math.max(slabLength, length));
    this.#values.set(values, this.#length);
    this.#members.push({ series, count: length, room: 0 });
    this.#length += length;
  }

  close(): void {
    if (this.#length < this.#values.length) this.#values = this.#values.slice(0, this.#length);
    let at = 0;
    for (const { series, count } of this.#members) {
      series.values = this.#values.subarray(at, at + count);
      at += count;
    }
  }

  /**
   * Makes room for `count` more values of `series`, and about as many for the others, which will
   * ask next.
   */
  makeRoom(series: KeptSeries, count: number): void {
    let length = 0;
    for (const member of this.#members) {
      const likely = Math.min(count, Math.max(roomMin, Math.ceil(member.count / 4)));
      const wanted = member.series === series ? count : likely;
      if (wanted > member.room) member.room = wanted + roomFor(member.count + wanted);
      length += member.count + member.room;
    }
    const values = new Float64Array(length);
    let at = 0;
    for (const member of this.#members) {
      const own = member.series.values.subarray(0, member.count);
      member.series.values = values.subarray(at, at + member.count + member.room);
      member.series.values.set(own);
      at += member.count + member.room;
    }
    this.#values = values;
  }
}

function bytesWithRoom(count: number): number {
  return (count + roomFor(count)) * Float64Array.BYTES_PER_ELEMENT;
}

function roomFor(count: number): number {
  return Math.max(roomMin, Math.ceil(count * roomShare));
}
