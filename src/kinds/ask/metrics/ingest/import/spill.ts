/**
 * Spills the samples of an import to disk by block of time. Memory holds at most `memorySamplesMax`
 * samples, however many blocks there are (IN24).
 *
 * All blocks share one file: a year has thousands of blocks, and a process can open only so many
 * files.
 */
import { closeSync, mkdirSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { OperatingError } from "../../../../../ground/kernel/errors.ts";
import {
  decodePage,
  encodePage,
  pageBytes,
  type SamplePage,
} from "../../core/ingest/import/sample-page.ts";
import type { ParsedBlock } from "../../core/ingest/text/text-columns.ts";

export interface SpillOptions {
  /** Created here, and removed at the end. */
  readonly directory: string;
  readonly blockMs: number;
  readonly memorySamplesMax: number;
}

interface Extent {
  readonly offset: number;
  readonly count: number;
  readonly hasStart: boolean;
  readonly crc32: number;
}

const capacityMin = 512;
const capacityMax = 65_536;
/** Bytes read back in one piece. */
const readBytesMax = 1 << 30;

class Block {
  readonly startMs: number;
  readonly extents: Extent[] = [];
  capacity = 0;
  count = 0;
  /** Counts samples in memory and on disk. */
  total = 0;
  series = new Uint32Array(0);
  ts = new Float64Array(0);
  values = new Float64Array(0);
  startTs: Float64Array | undefined;

  constructor(startMs: number) {
    this.startMs = startMs;
  }

  resize(capacity: number): void {
    const { series, ts, values, startTs, count } = this;
    this.capacity = capacity;
    this.series = new Uint32Array(capacity);
    this.ts = new Float64Array(capacity);
    this.values = new Float64Array(capacity);
    this.series.set(series.subarray(0, count));
    this.ts.set(ts.subarray(0, count));
    this.values.set(values.subarray(0, count));
    if (startTs === undefined) return;
    this.startTs = new Float64Array(capacity);
    this.startTs.set(startTs.subarray(0, count));
  }

  page(): SamplePage {
    const { count, series, ts, values, startTs } = this;
    return { count, series, ts, values, startTs };
  }
}

export class Spill {
  readonly #options: SpillOptions;
  readonly #blocks = new Map<number, Block>();
  readonly #fd: number;
  #fileBytes = 0;
  /** Samples that the allocated memory has room for, used or not. */
  #room = 0;
  #isRemoved = false;

  constructor(options: SpillOptions) {
    this.#options = options;
    mkdirSync(options.directory, { recursive: true });
    this.#fd = openSync(join(options.directory, "samples"), "wx+");
  }

  get roomSampleCount(): number {
    return this.#room;
  }

  /** The start and sample count of each block, in order of time. */
  blocks(): { readonly startMs: number; readonly sampleCount: number }[] {
    return [...this.#blocks.values()]
      .map(({ startMs, total }) => ({ startMs, sampleCount: total }))
      .sort((a, b) => a.startMs - b.startMs);
  }

  /** The hot loop of an import: samples of one block usually come together. */
  add(parsed: ParsedBlock): void {
    const { blockMs } = this.#options;
    let block: Block | undefined;
    let blockEnd = -Infinity;
    for (let index = 0; index < parsed.count; index += 1) {
      const ts = parsed.ts[index] as number;
      if (block === undefined || ts >= blockEnd || ts < block.startMs) {
        block = this.#block(Math.floor(ts / blockMs) * blockMs);
        blockEnd = block.startMs + blockMs;
      }
      if (block.count === block.capacity) this.#makeRoom(block);
      const at = block.count;
      block.series[at] = parsed.series[index] as number;
      block.ts[at] = ts;
      block.values[at] = parsed.values[index] as number;
      const startTs = parsed.startTs === undefined ? 0 : (parsed.startTs[index] as number);
      if (startTs !== 0) {
        block.startTs ??= new Float64Array(block.capacity);
        block.startTs[at] = startTs;
      }
      block.count = at + 1;
      block.total += 1;
    }
  }

  /** Yields the samples of a block in the order they were added, one page in memory at a time. */
  *pages(startMs: number): Generator<SamplePage> {
    const block = this.#blocks.get(startMs);
    if (block === undefined) return;
    for (const { offset, count, hasStart, crc32: wanted } of block.extents) {
      const bytes = new Uint8Array(pageBytes(count, hasStart));
      this.#read(bytes, offset);
      if (crc32(bytes) !== wanted) throw damaged();
      yield decodePage(bytes.buffer, count, hasStart);
    }
    if (block.count > 0) yield block.page();
  }

  /** Frees the memory of a finished block. */
  forget(startMs: number): void {
    const block = this.#blocks.get(startMs);
    if (block === undefined) return;
    this.#room -= block.capacity;
    this.#blocks.delete(startMs);
  }

  remove(): void {
    if (this.#isRemoved) return;
    this.#isRemoved = true;
    closeSync(this.#fd);
    rmSync(this.#options.directory, { recursive: true, force: true });
  }

  #block(startMs: number): Block {
    let block = this.#blocks.get(startMs);
    if (block === undefined) {
      block = new Block(startMs);
      this.#blocks.set(startMs, block);
    }
    return block;
  }

  #makeRoom(block: Block): void {
    if (block.capacity >= capacityMax) {
      this.#flush(block);
      return;
    }
    const capacity = Math.max(capacityMin, block.capacity * 2);
    if (this.#room + capacity - block.capacity > this.#options.memorySamplesMax) this.#flushAll();
    this.#room += capacity - block.capacity;
    block.resize(capacity);
  }

  /** Writes every block and frees its room: the remainders of many blocks fill the memory. */
  #flushAll(): void {
    for (const block of this.#blocks.values()) {
      if (block.capacity === 0) continue;
      this.#flush(block);
      block.resize(0);
    }
    this.#room = 0;
  }

  #flush(block: Block): void {
    if (block.count === 0) return;
    const bytes = encodePage(block.page());
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#fd, bytes, done, bytes.length - done, this.#fileBytes + done);
    }
    const hasStart = block.startTs !== undefined;
    const extent = { offset: this.#fileBytes, count: block.count, hasStart };
    block.extents.push({ ...extent, crc32: crc32(bytes) });
    this.#fileBytes += bytes.length;
    block.count = 0;
    block.startTs = undefined;
  }

  #read(into: Uint8Array, offset: number): void {
    for (let done = 0; done < into.length; ) {
      const length = Math.min(into.length - done, readBytesMax);
      const read = readSync(this.#fd, into, done, length, offset + done);
      if (read === 0) throw damaged();
      done += read;
    }
  }
}

function damaged(): OperatingError {
  const message = "samples of the import that were put aside on disk are not as they were";
  return new OperatingError("data_corrupt", "never", message, {
    hint: "Nothing was imported. Look after the disk, then import again.",
  });
}
