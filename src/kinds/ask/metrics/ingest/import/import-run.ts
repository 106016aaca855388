/**
 * One import: text goes in, whole unpublished segments come out. It works synchronously and for
 * long, so it has its own thread. Rules: IN23, IN24.
 */

import type { Labels } from "../../../promql/core/index.ts";
import { decideShardCount } from "../../core/decide-upkeep.ts";
import { type Fingerprint, fingerprint, shardOf } from "../../core/fingerprint.ts";
import { detectFormat } from "../../core/ingest/import/detect-format.ts";
import type { SamplePage } from "../../core/ingest/import/sample-page.ts";
import {
  type SeriesRanks,
  type SortedSeries,
  sortPages,
} from "../../core/ingest/import/sort-pages.ts";
import { type LabelLimits, usualLabelLimits } from "../../core/ingest/label-limits.ts";
import { MalformedInput } from "../../core/ingest/malformed.ts";
import type { TextFormat } from "../../core/ingest/text/parse-series.ts";
import { TextParser } from "../../core/ingest/text/text-parser.ts";
import type { ImportProgress, ImportResult } from "../../core/ingest-service.ts";
import type { Exemplar, MetricMetadata, SegmentInfo } from "../../core/model.ts";
import { compareSeries } from "../../core/segment-encoder.ts";
import { removeSegmentFiles } from "../../fs/lake.ts";
import { SegmentWriter } from "../../fs/segment-writer.ts";
import { Spill } from "./spill.ts";

export interface ImportRunOptions {
  readonly lakeDir: string;
  /** A directory of its own for spilled samples. */
  readonly spillDir: string;
  /** Every segment's id begins with it. */
  readonly importId: string;
  readonly format: TextFormat | undefined;
  readonly onError: "fail" | "skip";
  readonly labelLimits?: LabelLimits;
  readonly blockMs: number;
  readonly shardCount: number | undefined;
  readonly samplesPerShard: number;
  readonly shardCountMax: number;
  /** The limit of samples in memory, once while reading and once while sorting. */
  readonly memorySamplesMax: number;
}

export interface ImportedSegments {
  readonly segments: readonly SegmentInfo[];
  readonly result: ImportResult;
  readonly metadata: readonly MetricMetadata[];
  /** Only the last few: a file may have millions. */
  readonly exemplars: readonly Exemplar[];
}

/** A file whose first bytes, this many, do not show its format is read as Prometheus's. */
const detectBytesMax = 1024 * 1024;
const takeSamplesMin = 32_768;
const seriesMax = 5_000_000;
const exemplarsMax = 10_000;

export class ImportRun {
  readonly #options: ImportRunOptions;
  readonly #spill: Spill;
  readonly #segments: SegmentInfo[] = [];
  readonly #exemplars: Exemplar[] = [];
  readonly #metadata = new Map<string, MetricMetadata>();
  #parser: TextParser | undefined;
  /** The bytes so far, until the format is known. */
  #beginning = new Uint8Array(0);
  #bytes = 0;
  #samples = 0;
  #writer: SegmentWriter | undefined;

  constructor(options: ImportRunOptions) {
    this.#options = options;
    this.#spill = new Spill({
      directory: options.spillDir,
      blockMs: options.blockMs,
      memorySamplesMax: options.memorySamplesMax,
    });
    if (options.format !== undefined) this.#parser = this.#createParser(options.format);
  }

  get progress(): ImportProgress {
    return {
      bytes: this.#bytes,
      samples: this.#samples,
      series: this.#parser?.seriesCount ?? 0,
    };
  }

  feed(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#parser === undefined) this.#detect(chunk);
    else this.#parser.feed(chunk);
    this.#take(false);
  }

  /** Ends the text and sorts it into segments. */
  async finish(): Promise<ImportedSegments> {
    this.#parser ??= this.#startParser("prometheus");
    const parser = this.#parser;
    parser.end();
    this.#take(true);
    const ranked = rankSeries(parser);
    for (const { startMs, sampleCount } of this.#spill.blocks()) {
      await this.#writeBlock(startMs, sampleCount, ranked);
      this.#spill.forget(startMs);
    }
    this.#spill.remove();
    return {
      segments: this.#segments,
      result: {
        bytes: this.#bytes,
        samples: this.#samples,
        series: ranked.rankCount,
        skipped: parser.skippedCount,
        problems: parser.problems,
      },
      metadata: [...this.#metadata.values()],
      exemplars: this.#exemplars,
    };
  }

  /** Removes all files. Idempotent. */
  async discard(): Promise<void> {
    this.#spill.remove();
    await this.#writer?.abort();
    for (const { path } of this.#segments.splice(0)) {
      await removeSegmentFiles(this.#options.lakeDir, path);
    }
  }

  #createParser(format: TextFormat): TextParser {
    const { onError, labelLimits = usualLabelLimits } = this.#options;
    return new TextParser({ format, timestampsRequired: true, onError, labelLimits });
  }

  #startParser(format: TextFormat): TextParser {
    const parser = this.#createParser(format);
    parser.feed(this.#beginning);
    this.#beginning = new Uint8Array(0);
    return parser;
  }

  #detect(chunk: Uint8Array): void {
    const joined = new Uint8Array(this.#beginning.length + chunk.length);
    joined.set(this.#beginning);
    joined.set(chunk, this.#beginning.length);
    this.#beginning = joined;
    const text = new TextDecoder().decode(joined.subarray(0, detectBytesMax));
    const format =
      detectFormat(text) ?? (joined.length < detectBytesMax ? undefined : "prometheus");
    if (format !== undefined) this.#parser = this.#startParser(format);
  }

  #take(isEnd: boolean): void {
    const parser = this.#parser;
    if (parser === undefined || (!isEnd && parser.pendingCount < takeSamplesMin)) return;
    const block = parser.take();
    this.#samples += block.count;
    if (parser.seriesCount > seriesMax) {
      throw new MalformedInput(`an import has at most ${seriesMax} series`);
    }
    this.#spill.add(block);
    for (const { series, labels, value, ts, sampleTs } of block.exemplars) {
      const one = {
        series: parser.labelsOf(series),
        labels,
        value,
        ts: Number.isNaN(ts) ? sampleTs : ts,
      };
      this.#exemplars.push(one);
    }
    const surplus = this.#exemplars.length - exemplarsMax;
    if (surplus > 0) this.#exemplars.splice(0, surplus);
    for (const one of parser.takeMetadata()) this.#metadata.set(one.metric, one);
  }

  /**
   * Makes as many passes as memory requires: by shards first, by time where a shard is too large.
   */
  async #writeBlock(startMs: number, sampleCount: number, ranked: RankedSeries): Promise<void> {
    const { blockMs, memorySamplesMax } = this.#options;
    const shardCount = this.#options.shardCount ?? decideShardCount(sampleCount, this.#options);
    const passesNeeded = Math.ceil(sampleCount / memorySamplesMax);
    let shardPasses = 1;
    while (shardPasses < passesNeeded && shardPasses < shardCount) shardPasses *= 2;
    const timePasses = Math.ceil(passesNeeded / shardPasses);
    const sliceMs = Math.ceil(blockMs / timePasses);
    for (let pass = 0; pass < shardPasses; pass += 1) {
      const wanted = shardPasses === 1 ? undefined : wantedRanks(ranked, pass, shardPasses);
      for (let slice = 0; slice < timePasses; slice += 1) {
        const minTs = startMs + slice * sliceMs;
        const endTs = Math.min(minTs + sliceMs, startMs + blockMs);
        const isWhole = passesNeeded === 1;
        const pages = isWhole
          ? [...this.#spill.pages(startMs)]
          : [...filteredPages(this.#spill.pages(startMs), ranked, wanted, minTs, endTs)];
        const { series } = sortPages(pages, ranked, { minTs, endTs, wanted });
        const perPass = shardCount / shardPasses;
        for (let shard = pass * perPass; shard < (pass + 1) * perPass; shard += 1) {
          await this.#writeShard(`${startMs}-${slice}`, series, shard, shardCount, ranked);
        }
      }
    }
  }

  async #writeShard(
    place: string,
    series: readonly SortedSeries[],
    shard: number,
    shardCount: number,
    { labels, fingerprints }: RankedSeries,
  ): Promise<void> {
    const { lakeDir, importId } = this.#options;
    const mine = series.filter(
      ({ rank }) => shardOf(fingerprints[rank] as Fingerprint, shardCount) === shard,
    );
    if (mine.length === 0) return;
    const writer = new SegmentWriter({
      lakeDir,
      segmentId: `${importId}-${place}-${shard}of${shardCount}`,
      shard,
      shardCount,
      level: 0,
      seq: 0,
      sealSeq: 0,
    });
    this.#writer = writer;
    for (const { rank, samples } of mine) {
      await writer.add({ labels: labels[rank] as Labels, samples }, fingerprints[rank]);
    }
    this.#segments.push(await writer.finish());
    this.#writer = undefined;
  }
}

interface RankedSeries extends SeriesRanks {
  /** Indexed by rank. */
  readonly labels: readonly Labels[];
  readonly fingerprints: readonly Fingerprint[];
}

/** Texts that mean the same series, with labels in another order, get the same rank. */
function rankSeries(parser: TextParser): RankedSeries {
  const all = Array.from({ length: parser.seriesCount }, (_, number) => parser.labelsOf(number));
  const order = Uint32Array.from(all, (_, number) => number);
  order.sort((a, b) => compareSeries(all[a] as Labels, all[b] as Labels));
  const rankOf = new Uint32Array(all.length);
  const labels: Labels[] = [];
  for (const number of order) {
    const mine = all[number] as Labels;
    if (labels.at(-1)?.key !== mine.key) labels.push(mine);
    rankOf[number] = labels.length - 1;
  }
  const fingerprints = labels.map(fingerprint);
  return { rankOf, rankCount: labels.length, labels, fingerprints };
}

function wantedRanks({ fingerprints }: RankedSeries, pass: number, passes: number): Uint8Array {
  return Uint8Array.from(fingerprints, (one) => (shardOf(one, passes) === pass ? 1 : 0));
}

/**
 * Filters each page for the pass, so that the pages of a large block are never in memory together.
 */
function* filteredPages(
  pages: Iterable<SamplePage>,
  { rankOf }: SeriesRanks,
  wanted: Uint8Array | undefined,
  minTs: number,
  endTs: number,
): Generator<SamplePage> {
  for (const page of pages) {
    const kept: number[] = [];
    for (let index = 0; index < page.count; index += 1) {
      const ts = page.ts[index] as number;
      const rank = rankOf[page.series[index] as number] as number;
      const isWanted = wanted === undefined || wanted[rank] === 1;
      if (isWanted && ts >= minTs && ts < endTs) kept.push(index);
    }
    yield {
      count: kept.length,
      series: Uint32Array.from(kept, (index) => page.series[index] as number),
      ts: Float64Array.from(kept, (index) => page.ts[index] as number),
      values: Float64Array.from(kept, (index) => page.values[index] as number),
      startTs:
        page.startTs === undefined
          ? undefined
          : Float64Array.from(kept, (index) => page.startTs?.[index] ?? 0),
    };
  }
}
