/**
 * The segments that this thread has open: their series tables are decoded once, and their label sets share one interner, so
 * that putting a series together over many segments compares integers.
 *
 *   SS1  Readers that are used together share the interner. When it has grown too large, everything is dropped and begins anew,
 *        between works.
 *   SS2  The number of open files is bounded.
 *   SS3  A segment that was opened without checksums is opened anew once they are known.
 */

import type { SegmentInfo } from "../metrics/core/index.ts";
import { openSegment, type SegmentReader, SeriesInterner } from "../metrics/index.ts";
import type { MemoryColumnCache } from "./column-cache.ts";

/** Each has two files open at most. */
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

  /** In the order asked for. `each` is called before a segment is opened: it may throw to stop. */
  open(segments: readonly SegmentInfo[], each: () => void): readonly SegmentReader[] {
    if (this.#interner.size > labelSetsMax) this.clear();
    return segments.map((info) => this.#reader(info, each));
  }

  /** After a work: what it needed beyond the bound is let go of. SS2. */
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
      known.close(); // SS3
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
