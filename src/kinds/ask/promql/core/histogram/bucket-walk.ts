/** Iterates over the buckets of a histogram. Bounds are computed on demand. */
import { bucketBound } from "./bounds.ts";
import { customBucketsSchema, type FloatHistogram, type Span } from "./float-histogram.ts";

/**
 * `positive` and `negative` walk one side away from zero. `ascending` and `descending` walk all
 * buckets, including a populated zero bucket; buckets that overlap it are cut there.
 */
export type BucketOrder = "positive" | "negative" | "ascending" | "descending";

type Phase = "left" | "zero" | "right";
type Place = "nowhere" | "positive" | "zero" | "negative";

/** Before the first bucket the bounds are 0; after the last they stay. */
export class BucketWalk {
  /** The count of the current bucket; the fields below are about it, too. */
  count = 0;
  /** The index within the schema; has no meaning for the zero bucket. */
  index = 0;
  /** The index of its count in the side's buckets. */
  position = -1;

  readonly #histogram: FloatHistogram;
  readonly #custom: boolean;
  readonly #cut: boolean;
  #phase: Phase;
  #positive: boolean;
  /** Where the current bucket is; `#positive` is the side being walked. */
  #place: Place = "nowhere";

  #spans: readonly Span[] = [];
  #buckets: readonly number[] = [];
  #spanAt = 0;
  #leftInSpan = 0;
  #nextIndex = 0;
  #nextPosition = 0;

  constructor(histogram: FloatHistogram, order: BucketOrder) {
    this.#histogram = histogram;
    this.#custom = histogram.schema === customBucketsSchema;
    this.#cut = order === "ascending" || order === "descending";
    this.#positive = order === "positive" || order === "descending";
    this.#phase = this.#cut ? "left" : "right";
    this.#takeSide();
    if (this.#phase === "left") this.#startInward();
    else this.#startOutward();
  }

  next(): boolean {
    if (this.#phase === "left") {
      if (this.#stepInward()) return true;
      this.#phase = "zero";
    }
    if (this.#phase === "zero") {
      this.#phase = "right";
      this.#positive = !this.#positive;
      this.#takeSide();
      this.#startOutward();
      if (this.#histogram.zeroCount > 0) {
        this.#place = "zero";
        this.count = this.#histogram.zeroCount;
        return true;
      }
    }
    return this.#stepOutward();
  }

  get lower(): number {
    const { zeroThreshold } = this.#histogram;
    if (this.#place === "nowhere") return 0;
    if (this.#place === "zero") return -zeroThreshold;
    if (this.#place === "negative") return -this.#bound(this.index);
    const bound = this.#bound(this.index - 1);
    return this.#cut && bound > 0 && bound < zeroThreshold ? zeroThreshold : bound;
  }

  get upper(): number {
    const { zeroThreshold } = this.#histogram;
    if (this.#place === "nowhere") return 0;
    if (this.#place === "zero") return zeroThreshold;
    if (this.#place === "positive") return this.#bound(this.index);
    const bound = -this.#bound(this.index - 1);
    return this.#cut && bound < 0 && bound > -zeroThreshold ? -zeroThreshold : bound;
  }

  get lowerInclusive(): boolean {
    if (this.#custom) return this.index === 0;
    return this.#place !== "positive";
  }

  get upperInclusive(): boolean {
    return this.#place !== "negative";
  }

  #bound(index: number): number {
    return bucketBound(index, this.#histogram.schema, this.#histogram.customValues);
  }

  #takeSide(): void {
    const h = this.#histogram;
    this.#spans = this.#positive ? h.positiveSpans : h.negativeSpans;
    this.#buckets = this.#positive ? h.positiveBuckets : h.negativeBuckets;
  }

  #startOutward(): void {
    this.#spanAt = -1;
    this.#leftInSpan = 0;
    this.#nextIndex = 0;
    this.#nextPosition = 0;
  }

  #startInward(): void {
    this.#spanAt = this.#spans.length - 1;
    this.#leftInSpan = this.#spans[this.#spanAt]?.length ?? 0;
    this.#nextIndex = 0;
    for (const { offset, length } of this.#spans) this.#nextIndex += offset + length;
    this.#nextPosition = this.#buckets.length - 1;
  }

  #stepOutward(): boolean {
    if (this.#nextPosition >= this.#buckets.length) return false;
    while (this.#leftInSpan === 0) {
      this.#spanAt += 1;
      const span = this.#spans[this.#spanAt];
      if (span === undefined) return false;
      this.#nextIndex += span.offset;
      this.#leftInSpan = span.length;
    }
    this.index = this.#nextIndex;
    this.#nextIndex += 1;
    this.position = this.#nextPosition;
    this.#nextPosition += 1;
    this.#leftInSpan -= 1;
    this.count = this.#buckets[this.position] as number;
    this.#place = this.#positive ? "positive" : "negative";
    return true;
  }

  #stepInward(): boolean {
    if (this.#nextPosition < 0) return false;
    while (this.#leftInSpan === 0) {
      this.#nextIndex -= this.#spans[this.#spanAt]?.offset ?? 0;
      this.#spanAt -= 1;
      const span = this.#spans[this.#spanAt];
      if (span === undefined) return false;
      this.#leftInSpan = span.length;
    }
    this.#nextIndex -= 1;
    this.index = this.#nextIndex;
    this.position = this.#nextPosition;
    this.#nextPosition -= 1;
    this.#leftInSpan -= 1;
    this.count = this.#buckets[this.position] as number;
    this.#place = this.#positive ? "positive" : "negative";
    return true;
  }
}

export interface Bucket {
  readonly lower: number;
  readonly upper: number;
  readonly lowerInclusive: boolean;
  readonly upperInclusive: boolean;
  readonly count: number;
}

/** The buckets with a count, from the lowest to the highest. */
export function populatedBuckets(histogram: FloatHistogram): Bucket[] {
  const buckets: Bucket[] = [];
  const walk = new BucketWalk(histogram, "ascending");
  while (walk.next()) {
    if (walk.count === 0) continue;
    const { lower, upper, lowerInclusive, upperInclusive, count } = walk;
    buckets.push({ lower, upper, lowerInclusive, upperInclusive, count });
  }
  return buckets;
}
