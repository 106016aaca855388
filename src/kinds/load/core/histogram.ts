/**
 * Latencies, counted in buckets that are linear within each power of two, so that a percentile is
 * off by at most 0.4 % however many histograms were merged into it. Microseconds, whole. Rules: HI1
 * to HI4.
 */

/** Each whole microsecond below this value has its own bucket. */
const exactBelow = 256;
const bucketsOfOctave = 128;
const octaves = 24;
const bucketCount = exactBelow + octaves * bucketsOfOctave;
const valueMax = 2 ** 32 - 1;

const noCounts = new Float64Array(0);

/**
 * Latencies of one operation lie within a few powers of two, and each second of a run has a dozen
 * short-lived histograms. So `#counts` covers only the octaves between the least and the greatest
 * value, and begins with the bucket `#base`.
 */
export class Histogram {
  #counts: Float64Array = noCounts;
  #base = 0;
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  get count(): number {
    return this.#count;
  }

  get sumUs(): number {
    return this.#sum;
  }

  /** Undefined when nothing was recorded. */
  get minUs(): number | undefined {
    return this.#count === 0 ? undefined : this.#min;
  }

  get maxUs(): number | undefined {
    return this.#count === 0 ? undefined : this.#max;
  }

  get meanUs(): number | undefined {
    return this.#count === 0 ? undefined : this.#sum / this.#count;
  }

  /** Rounds fractions. Negative values, which two readings of a clock may give, count as 0. */
  record(us: number): void {
    const value = us > 0 ? Math.round(us) : 0;
    this.#add(indexOf(value), 1);
    this.#count += 1;
    this.#sum += value;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  /** Records the same value `count` times. */
  recordMany(us: number, count: number): void {
    if (count < 1) return;
    this.record(us);
    const value = us > 0 ? Math.round(us) : 0;
    this.#add(indexOf(value), count - 1);
    this.#count += count - 1;
    this.#sum += value * (count - 1);
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
    this.#sum = 0;
    this.#min = Infinity;
    this.#max = -Infinity;
  }

  merge(other: Histogram): void {
    const { length } = other.#counts;
    if (length > 0) this.#cover(other.#base, other.#base + length - 1);
    const shift = other.#base - this.#base;
    for (let at = 0; at < length; at += 1) {
      const more = other.#counts[at] ?? 0;
      if (more !== 0) this.#counts[at + shift] = (this.#counts[at + shift] ?? 0) + more;
    }
    this.#count += other.#count;
    this.#sum += other.#sum;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
  }

  /**
   * The values recorded since `earlier`, a state of the same histogram. Minimum and maximum are
   * those of the buckets, since single values are not kept.
   */
  since(earlier: Histogram): Histogram {
    const rest = new Histogram();
    for (const [index, count] of this.#filled()) {
      const more = count - (earlier.#counts[index - earlier.#base] ?? 0);
      if (more <= 0) continue;
      rest.#add(index, more);
      rest.#count += more;
      rest.#min = Math.min(rest.#min, Math.max(lowOf(index), this.#min));
      rest.#max = Math.max(rest.#max, Math.min(lowOf(index + 1) - 1, this.#max));
    }
    rest.#sum = Math.max(0, this.#sum - earlier.#sum);
    return rest;
  }

  /**
   * The smallest value that at least `share` of all values do not exceed. Undefined when nothing
   * was recorded.
   */
  percentileUs(share: number): number | undefined {
    if (this.#count === 0) return undefined;
    return this.#atRank(Math.min(this.#count, Math.max(1, Math.ceil(share * this.#count))));
  }

  /** The value of this rank, counted from 1. Undefined when there are fewer values. */
  atRank(rank: number): number | undefined {
    return rank < 1 || rank > this.#count ? undefined : this.#atRank(rank);
  }

  #atRank(rank: number): number {
    let seen = 0;
    for (let at = 0; at < this.#counts.length; at += 1) {
      seen += this.#counts[at] ?? 0;
      if (seen >= rank) return this.#within(middleOf(this.#base + at));
    }
    return this.#max;
  }

  /** The number of values that do not exceed `us`, by buckets. */
  countUpTo(us: number): number {
    const last = Math.min(indexOf(Math.max(0, us)) - this.#base, this.#counts.length - 1);
    let seen = 0;
    for (let at = 0; at <= last; at += 1) seen += this.#counts[at] ?? 0;
    return seen;
  }

  /** The buckets that are not empty, in order. */
  *buckets(): Iterable<{
    readonly lowUs: number;
    readonly highUs: number;
    readonly count: number;
  }> {
    for (const [index, count] of this.#filled()) {
      yield { lowUs: lowOf(index), highUs: lowOf(index + 1), count };
    }
  }

  encode(): string {
    if (this.#count === 0) return "";
    const numbers = [this.#min, this.#max, this.#sum];
    let last = -1;
    for (const [index, count] of this.#filled()) {
      numbers.push(index - last, count);
      last = index;
    }
    return btoa(String.fromCharCode(...numbers.flatMap(varint)));
  }

  /** Empty for text that no histogram encodes to. */
  static read(text: string): Histogram {
    return Histogram.decode(text) ?? new Histogram();
  }

  /** Undefined for text that no histogram encodes to (HI4). */
  static decode(text: string): Histogram | undefined {
    const histogram = new Histogram();
    if (text === "") return histogram;
    const numbers = decodeVarints(text);
    const [min, max, sum, ...pairs] = numbers ?? [];
    if (min === undefined || max === undefined || sum === undefined) return undefined;
    if (pairs.length === 0 || pairs.length % 2 !== 0 || min > max) return undefined;
    let index = -1;
    for (let at = 0; at < pairs.length; at += 2) {
      const gap = pairs[at] ?? 0;
      const count = pairs[at + 1] ?? 0;
      index += gap;
      if (gap === 0 || count === 0 || index >= bucketCount) return undefined;
      histogram.#add(index, count);
      histogram.#count += count;
    }
    histogram.#min = min;
    histogram.#max = max;
    histogram.#sum = sum;
    return histogram;
  }

  #add(index: number, count: number): void {
    if (this.#counts[index - this.#base] === undefined) this.#cover(index, index);
    const at = index - this.#base;
    this.#counts[at] = (this.#counts[at] ?? 0) + count;
  }

  /** Makes room for these buckets, both inclusive, in whole octaves. */
  #cover(first: number, last: number): void {
    const { length } = this.#counts;
    const end = (Math.floor(last / bucketsOfOctave) + 1) * bucketsOfOctave;
    const from = Math.floor(first / bucketsOfOctave) * bucketsOfOctave;
    const base = length === 0 ? from : Math.min(this.#base, from);
    const wanted = Math.max(end, this.#base + length) - base;
    if (wanted === length) return;
    const counts = new Float64Array(wanted);
    if (length > 0) counts.set(this.#counts, this.#base - base);
    this.#counts = counts;
    this.#base = base;
  }

  /** The buckets that are not empty, in order. */
  *#filled(): Iterable<readonly [index: number, count: number]> {
    for (let at = 0; at < this.#counts.length; at += 1) {
      const count = this.#counts[at] ?? 0;
      if (count !== 0) yield [this.#base + at, count];
    }
  }

  #within(us: number): number {
    return Math.min(this.#max, Math.max(this.#min, us));
  }
}

export function mergeHistograms(histograms: Iterable<Histogram>): Histogram {
  const all = new Histogram();
  for (const histogram of histograms) all.merge(histogram);
  return all;
}

function indexOf(value: number): number {
  const bounded = Math.min(value, valueMax);
  if (bounded < exactBelow) return Math.floor(bounded);
  const octave = 31 - Math.clz32(bounded);
  const place = bounded >>> (octave - 7);
  return exactBelow + (octave - 8) * bucketsOfOctave + (place - bucketsOfOctave);
}

/** The least value of a bucket. */
function lowOf(index: number): number {
  if (index < exactBelow) return index;
  const octave = Math.floor((index - exactBelow) / bucketsOfOctave);
  const place = ((index - exactBelow) % bucketsOfOctave) + bucketsOfOctave;
  return place * 2 ** (octave + 1);
}

/** The middle of a bucket; the value itself when the bucket has only one. */
function middleOf(index: number): number {
  return (lowOf(index) + lowOf(index + 1) - 1) / 2;
}

/** Encodes seven bits in a byte, the lowest first. */
function varint(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return bytes;
}

function decodeVarints(text: string): readonly number[] | undefined {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return undefined;
  }
  const numbers: number[] = [];
  let value = 0;
  let unit = 1;
  for (let at = 0; at < binary.length; at += 1) {
    const byte = binary.charCodeAt(at);
    value += (byte & 127) * unit;
    if (value > Number.MAX_SAFE_INTEGER) return undefined;
    if (byte >= 128) {
      unit *= 128;
    } else {
      numbers.push(value);
      value = 0;
      unit = 1;
    }
  }
  return unit === 1 ? numbers : undefined;
}
