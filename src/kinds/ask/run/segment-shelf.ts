/**
 * The segments that this thread has open. Their series tables are decoded once, and their label
 * sets share one interner, so that assembling a series over many segments compares integers. When
 * the interner has grown too large, everything is dropped between works. The number of open files
 * is bounded.
 */

import type { SegmentInfo } from "../metrics/core/index.ts";
import { openSegment, type SegmentReader, SeriesInterner } from "../metrics/index.ts";
import type { MemoryColumnCache } from "./column-cache.ts";

/** Each segment has at most two open files. */
const readersMax = 400;
const labelSetsMax = 2_000_000;

export class SegmentShelf {
  readonly #lakeDir: string;
  readonly #cache: MemoryColumnCache;
  readonly #readers = new Map<string, SegmentReader>();
  #interner = new SeriesInterner();

  constructor(lakeDir: string, cache: MemoryColumnCache) {
    this.#lakeDir = lakeDir;
    this.#cache = cache;
  }

  /**
   * Returns the readers in the requested order. `each` is called before a segment is opened, and
   * may throw to stop.
   */
  open(segments: readonly SegmentInfo[], each: () => void): readonly SegmentReader[] {
    if (this.#interner.size > labelSetsMax) this.clear();
    return segments.map((info) => this.#reader(info, each));
  }

  /** After a work: closes the segments beyond the bound. */
  trim(): void {
    for (const [segmentId, reader] of this.#readers) {
      if (this.#readers.size <= readersMax) return;
      this.#readers.delete(segmentId);
      reader.close();
    }
  }

  clear(): void {
    for (const reader of this.#readers.values()) reader.close();
    this.#readers.clear();
    this.#interner = new SeriesInterner();
  }

  #reader(info: SegmentInfo, each: () => void): SegmentReader {
    const known = this.#readers.get(info.segmentId);
    if (known !== undefined) {
      this.#readers.delete(info.segmentId); // What was used last goes last.
      if (known.info.checksums !== undefined || info.checksums === undefined) {
        this.#readers.set(info.segmentId, known);
        return known;
      }
      known.close(); // It was opened before its checksums were known.
    }
    each();
    const reader = openSegment(this.#lakeDir, info, {
      cache: this.#cache,
      interner: this.#interner,
    });
    this.#readers.set(info.segmentId, reader);
    return reader;
  }
}
