/**
 * Turns a frozen generation into segments, one for each block of time and shard. Yields to the
 * event loop between slices of work, because its thread also takes appends.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import { type Prng, randomText } from "../../../../ground/kernel/prng.ts";
import type { RawSeries } from "../../promql/core/index.ts";
import { decideShardCount } from "../core/decide-upkeep.ts";
import { type Fingerprint, shardOf } from "../core/fingerprint.ts";
import type { Generation } from "../core/head/series-entry.ts";
import type { SegmentInfo } from "../core/model.ts";
import { firstAfter, sliceSamples } from "../core/sample-pieces.ts";
import { compareSeries } from "../core/segment-encoder.ts";
import { removeSegmentFiles } from "./lake.ts";
import { SegmentWriter } from "./segment-writer.ts";

export interface SealOptions {
  readonly files: Files;
  readonly lakeDir: string;
  readonly clock: Clock;
  readonly prng: Prng;
  /** The line of heads, which every segment's id begins with. */
  readonly lineage: string;
  readonly blockMs: number;
  /** Chosen by size when undefined. */
  readonly shardCount: number | undefined;
  readonly samplesPerShard: number;
  readonly shardCountMax: number;
}

type Sealed = RawSeries & { readonly fingerprint: Fingerprint };

/** The thread yields after this long, plus the time to encode one row group. */
const sliceMs = 8;
const sortRunLength = 1_024;

/** The segments are durable, to be published together. On failure all of them are removed. */
export async function sealGeneration(
  generation: Generation,
  options: SealOptions,
): Promise<SegmentInfo[]> {
  const turns = new Turns(options.clock);
  const blocks = await cutIntoBlocks(generation, options.blockMs, turns);
  const sealed: SegmentInfo[] = [];
  try {
    for (const [blockStart, unsorted] of [...blocks].sort(([a], [b]) => a - b)) {
      const series = await sortInSlices(unsorted, turns);
      const shardCount = options.shardCount ?? shardCountFor(series, options);
      const block = { generation, blockStart, series, shardCount };
      for (let shard = 0; shard < shardCount; shard += 1) {
        const info = await sealShard(block, shard, options, turns);
        if (info !== undefined) sealed.push(info);
      }
    }
    return sealed;
  } catch (thrown) {
    for (const { path } of sealed) {
      await removeSegmentFiles(options.lakeDir, path, options.files);
    }
    throw thrown;
  }
}

interface Block {
  readonly generation: Generation;
  readonly blockStart: number;
  /** Sorted. */
  readonly series: readonly Sealed[];
  readonly shardCount: number;
}

function shardCountFor(series: readonly Sealed[], options: SealOptions): number {
  return decideShardCount(
    series.reduce((sum, { samples }) => sum + samples.count, 0),
    options,
  );
}

async function sealShard(
  { generation, blockStart, series, shardCount }: Block,
  shard: number,
  options: SealOptions,
  turns: Turns,
): Promise<SegmentInfo | undefined> {
  const { files, lakeDir, lineage, prng } = options;
  const place = `${blockStart}-${shard}of${shardCount}`;
  const writer = new SegmentWriter({
    lakeDir,
    segmentId: `${lineage}-${generation.number}-${place}-${randomText(prng, 6)}`,
    shard,
    shardCount,
    level: 0,
    seq: 0,
    sealSeq: generation.number,
    files,
  });
  try {
    for (const one of series) {
      if (shardOf(one.fingerprint, shardCount) !== shard) continue;
      await writer.add(one, one.fingerprint);
      await turns.next();
    }
    if (writer.sampleCount > 0) return await writer.finish();
  } catch (thrown) {
    await writer.abort();
    throw thrown;
  }
  await writer.abort();
  return undefined;
}

async function cutIntoBlocks(
  generation: Generation,
  blockMs: number,
  turns: Turns,
): Promise<Map<number, Sealed[]>> {
  const blocks = new Map<number, Sealed[]>();
  for (const series of generation.series()) {
    const { samples } = series;
    for (let from = 0; from < samples.count; ) {
      const blockStart = Math.floor((samples.ts[from] as number) / blockMs) * blockMs;
      const to = firstAfter(samples.ts, samples.count, blockStart + blockMs - 1);
      const part = { ...series, samples: sliceSamples(samples, from, to) };
      const block = blocks.get(blockStart);
      if (block === undefined) blocks.set(blockStart, [part]);
      else block.push(part);
      from = to;
    }
    await turns.next();
  }
  return blocks;
}

/** Sorts runs, then merges them, so that no single step is long. */
async function sortInSlices(series: readonly Sealed[], turns: Turns): Promise<Sealed[]> {
  let runs: Sealed[][] = [];
  for (let start = 0; start < series.length; start += sortRunLength) {
    const run = series.slice(start, start + sortRunLength);
    runs.push(run.sort((a, b) => compareSeries(a.labels, b.labels)));
    await turns.next();
  }
  while (runs.length > 1) {
    const merged: Sealed[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const right = runs[index + 1];
      const left = runs[index] as Sealed[];
      merged.push(right === undefined ? left : await mergeRuns(left, right, turns));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergeRuns(
  left: readonly Sealed[],
  right: readonly Sealed[],
  turns: Turns,
): Promise<Sealed[]> {
  const merged: Sealed[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [a, b] = [left[i], right[j]];
    if (b === undefined || (a !== undefined && compareSeries(a.labels, b.labels) <= 0)) {
      merged.push(a as Sealed);
      i += 1;
    } else {
      merged.push(b);
      j += 1;
    }
    if ((merged.length & 255) === 0) await turns.next();
  }
  return merged;
}

/** Yields the thread when a slice of work took long enough. */
class Turns {
  readonly #clock: Clock;
  #startMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.nowMs();
  }

  /** Cheap unless a yield is due. */
  next(): Promise<void> | undefined {
    if (this.#clock.nowMs() - this.#startMs < sliceMs) return undefined;
    return new Promise((resolve) => {
      this.#clock.after(0, () => {
        this.#startMs = this.#clock.nowMs();
        resolve();
      });
    });
  }
}
