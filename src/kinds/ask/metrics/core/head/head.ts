/**
 * The head: samples that are not in a segment yet, as a pure structure. Appends decide what is
 * accepted and say what the log must hold. `freeze` closes a generation, which becomes segments
 * while the next one takes appends. Rules: MH1 to MH5, MH18 to MH20.
 *
 * A frozen generation never changes. Views taken before its publication read it until it is
 * dropped. The head accepts samples that were sealed already: readers take the earlier of two.
 */
import {
  compileMatchers,
  type Labels,
  type Matcher,
  metricNameLabel,
  type RawSeries,
  type SampleColumns,
} from "../../../promql/core/index.ts";
import { shardOf } from "../fingerprint.ts";
import { parseLabelsJson } from "../labels-json.ts";
import type { Exemplar, HeadSnapshot, MetricMetadata, SampleBatch } from "../model.ts";
import { cutSamples, joinPieces, sliceSamples } from "../sample-pieces.ts";
import { AppendPass, type HeadAppend } from "./append-pass.ts";
import { ExemplarRing } from "./exemplar-ring.ts";
import type { HeadSample } from "./sample-buffer.ts";
import { addSample, findSample, Generation, SeriesEntry } from "./series-entry.ts";
import { emptyRecord, type WalRecord } from "./wal-record.ts";

export interface HeadLimits {
  /** How far a sample may be behind the newest one. */
  readonly outOfOrderMs: number;
  /** How far a sample may be ahead of the current time. */
  readonly futureMs: number;
  readonly exemplarsMax: number;
  readonly metadataMax: number;
  /** In characters. A metric's metadata that is longer is not kept. */
  readonly metadataLengthMax: number;
}

/** The head of a snapshot with these times has no older sample, and never accepts one (MH2). */
export function earliestOf({ minTs, maxTs }: Pick<HeadSnapshot, "minTs" | "maxTs">): number {
  return Math.min(minTs, maxTs - headLimitsDefault.outOfOrderMs);
}

export const headLimitsDefault: HeadLimits = {
  outOfOrderMs: 60 * 60_000,
  futureMs: 10 * 60_000,
  exemplarsMax: 20_000,
  metadataMax: 20_000,
  metadataLengthMax: 4_096,
};

export interface SliceRequest {
  readonly matchers: readonly Matcher[];
  readonly shard: number;
  readonly shardCount: number;
  /** Samples after `minMs`, up to and including `maxMs`. */
  readonly minMs: number;
  readonly maxMs: number;
}

export interface LabelsRequest extends Omit<SliceRequest, "matchers"> {
  /** Selects the series that match at least one of these sets. */
  readonly matcherSets: readonly (readonly Matcher[])[];
}

/** How many series `labels` looks at in one turn. */
const seriesPerTurn = 4_096;

/** Length of a typical series' labels as text, in characters. */
const usualKeyLength = 1_024;

/** A series silent for longer than a block is not expected to send samples from before. */
const forgetSeriesMs = 2 * 60 * 60_000;

export class Head {
  readonly #limits: HeadLimits;
  readonly #byKey = new Map<string, SeriesEntry>();
  readonly #byName = new Map<string, Set<SeriesEntry>>();
  readonly #metadata = new Map<string, MetricMetadata>();
  readonly #exemplars: ExemplarRing;
  readonly #generations: Generation[] = [];
  #seriesWeight = 0;
  #nextRef = 1;
  #maxTs = -Infinity;

  constructor(limits: HeadLimits, firstGeneration: number) {
    this.#limits = limits;
    this.#exemplars = new ExemplarRing(limits.exemplarsMax);
    this.#generations.push(new Generation(firstGeneration, 0));
  }

  get current(): Generation {
    return this.#generations.at(-1) as Generation;
  }

  /** Includes series that have no samples in the head at the moment. */
  get seriesCount(): number {
    return this.#byKey.size;
  }

  /** The size of these series in typical ones: a series with long labels counts as several. */
  get seriesWeight(): number {
    return this.#seriesWeight;
  }

  /** The weight of those `series` that the head does not know yet. */
  weighUnknown(series: readonly Labels[]): number {
    return series.reduce((sum, { key }) => sum + (this.#byKey.has(key) ? 0 : weightOf(key)), 0);
  }

  /** The generations that a view at `seq` reads. */
  visible(seq: number): readonly Generation[] {
    return this.#generations.filter(({ publishedAtSeq }) => seq <= publishedAtSeq);
  }

  append(batch: SampleBatch, seq: number, wallMs: number, nowMs: number): HeadAppend {
    const pass = new AppendPass(batch, this.current, seq, {
      futureTsMax: wallMs + this.#limits.futureMs,
      outOfOrderMs: this.#limits.outOfOrderMs,
    });
    const entries: (SeriesEntry | undefined)[] = new Array(batch.series.length);
    for (let index = 0; index < batch.count; index += 1) {
      const series = batch.seriesIndex[index] as number;
      let entry = entries[series];
      if (entry === undefined) {
        entry = this.#entry(batch.series[series] as Labels);
        entries[series] = entry;
      }
      this.#maxTs = pass.take(index, entry, this.#maxTs);
    }
    // All samples of these series were refused. They are forgotten at once, so that a sender of
    // nothing else cannot fill the memory.
    for (const entry of entries) {
      if (entry !== undefined && entry.lastTs === -Infinity) this.#forget(entry);
    }
    if (pass.acceptedCount > 0) this.current.firstAppendMs ??= nowMs;
    const metadata = batch.metadata.filter((one) => this.#noteMetadata(one));
    const exemplars = batch.exemplars.filter((one) => this.#exemplars.add(one));
    return pass.finish(metadata, exemplars);
  }

  /**
   * Adds a record of the log to the current generation, visible to every view. `refs` is kept for
   * the files of one generation. Returns the number of samples left out because their series was
   * never defined: then a part of the log is lost.
   */
  replay(record: WalRecord, refs: Map<number, Labels>, nowMs: number): number {
    for (const [ref, json] of record.series) refs.set(ref, parseLabelsJson(json));
    const generation = this.current;
    const histograms = new Map(record.histograms);
    let strayCount = 0;
    for (let index = 0; index < record.count; index += 1) {
      const labels = refs.get(record.refs[index] as number);
      if (labels === undefined) {
        strayCount += 1;
        continue;
      }
      const entry = this.#entry(labels);
      const sample: HeadSample = {
        ts: record.ts[index] as number,
        value: record.values[index] as number,
        isStale: record.stale?.[index] === 1,
        startTs: record.startTs?.[index] ?? 0,
        histogram: histograms.get(index),
      };
      const isNew = sample.ts > entry.lastTs || findSample(entry, sample.ts) === undefined;
      if (isNew) addSample(entry, generation, sample, 0);
      this.#maxTs = Math.max(this.#maxTs, sample.ts);
    }
    if (record.count > 0) generation.firstAppendMs ??= nowMs;
    for (const one of record.metadata) this.#noteMetadata(one);
    for (const one of record.exemplars) this.#exemplars.add(one);
    return strayCount;
  }

  /** Starts a new generation. Returns the old one, and the first record of the new one's log. */
  freeze(seq: number): { readonly frozen: Generation; readonly preamble: WalRecord } {
    const frozen = this.current;
    this.#generations.push(new Generation(frozen.number + 1, seq));
    return { frozen, preamble: this.preamble() };
  }

  /** Metadata and exemplars live in the log alone, so each generation's log begins with them. */
  preamble(): WalRecord {
    const metadata = [...this.#metadata.values()];
    return { ...emptyRecord, metadata, exemplars: [...this.#exemplars.all()] };
  }

  /** Marks that views after `seq` find its samples in segments. */
  markPublished(generation: Generation, seq: number): void {
    generation.publishedAtSeq = seq;
  }

  /** Called when no view needs it any more. Also forgets series that were silent for long. */
  drop(generation: Generation): void {
    const at = this.#generations.indexOf(generation);
    if (at < 0 || generation === this.current) return;
    this.#generations.splice(at, 1);
    for (const chunk of generation.chunks) {
      const { entry } = chunk;
      entry.chunks = entry.chunks.filter((one) => one !== chunk);
    }
    const silentBefore = this.#maxTs - Math.max(this.#limits.outOfOrderMs, forgetSeriesMs);
    // Checks all series: one first heard of just before its last chunk was dropped is in no
    // generation.
    for (const entry of this.#byKey.values()) {
      if (entry.chunks.length === 0 && entry.lastTs < silentBefore) this.#forget(entry);
    }
  }

  /** Yields the series that match, in no order, with the samples of appends up to `seq` (MH3). */
  *slice(request: SliceRequest, seq: number): Generator<RawSeries> {
    const { matchers, shard, shardCount, minMs, maxMs } = request;
    const visible = new Set(this.visible(seq));
    const matches = compileMatchers(matchers);
    for (const entry of this.#candidates(matchers)) {
      if (entry.chunks.length === 0 || !matches(entry.labels)) continue;
      if (shardCount > 1 && shardOf(entry.fingerprint, shardCount) !== shard) continue;
      const pieces: SampleColumns[] = [];
      for (const chunk of entry.chunks) {
        if (!visible.has(chunk.generation)) continue;
        const view = chunk.view(seq - chunk.generation.seqBase);
        const piece = view === undefined ? undefined : cutSamples(view, minMs, maxMs);
        if (piece !== undefined && piece.count > 0) pieces.push(piece);
      }
      const samples = joinPieces(pieces);
      if (samples !== undefined) yield { labels: entry.labels, samples };
    }
  }

  /** Yields each matching series once, with one sample, in no order. `undefined` ends a turn. */
  *labels(request: LabelsRequest, seq: number): Generator<RawSeries | undefined> {
    const { shard, shardCount, minMs, maxMs } = request;
    const visible = new Set(this.visible(seq));
    const found = new Set<SeriesEntry>();
    let looked = 0;
    for (const matchers of request.matcherSets) {
      const matches = compileMatchers(matchers);
      for (const entry of this.#candidates(matchers)) {
        looked += 1;
        if (looked % seriesPerTurn === 0) yield undefined;
        if (found.has(entry) || entry.chunks.length === 0 || !matches(entry.labels)) continue;
        if (shardCount > 1 && shardOf(entry.fingerprint, shardCount) !== shard) continue;
        const samples = firstSample(entry, visible, seq, minMs, maxMs);
        if (samples === undefined) continue;
        found.add(entry);
        yield { labels: entry.labels, samples };
      }
    }
  }

  metadata(metric: string | undefined): MetricMetadata[] {
    if (metric === undefined) return [...this.#metadata.values()];
    const found = this.#metadata.get(metric);
    return found === undefined ? [] : [found];
  }

  /** Exemplars of the series that one of the sets selects, from `startMs` to `endMs`, inclusive. */
  exemplars(
    matcherSets: readonly (readonly Matcher[])[],
    startMs: number,
    endMs: number,
  ): Exemplar[] {
    const selects = matcherSets.map((matchers) => compileMatchers(matchers));
    const found: Exemplar[] = [];
    for (const exemplar of this.#exemplars.all()) {
      if (exemplar.ts < startMs || exemplar.ts > endMs) continue;
      if (selects.some((matches) => matches(exemplar.series))) found.push(exemplar);
    }
    return found;
  }

  *#candidates(matchers: readonly Matcher[]): Generator<SeriesEntry> {
    const named = matchers.find(({ name, op }) => name === metricNameLabel && op === "=");
    yield* named === undefined ? this.#byKey.values() : (this.#byName.get(named.value) ?? []);
  }

  #entry(labels: Labels): SeriesEntry {
    const known = this.#byKey.get(labels.key);
    if (known !== undefined) return known;
    const entry = new SeriesEntry(this.#nextRef, labels);
    this.#nextRef += 1;
    this.#byKey.set(labels.key, entry);
    this.#seriesWeight += weightOf(labels.key);
    const named = this.#byName.get(labels.name);
    if (named === undefined) this.#byName.set(labels.name, new Set([entry]));
    else named.add(entry);
    return entry;
  }

  #forget(entry: SeriesEntry): void {
    if (this.#byKey.delete(entry.labels.key)) this.#seriesWeight -= weightOf(entry.labels.key);
    const named = this.#byName.get(entry.labels.name);
    named?.delete(entry);
    if (named?.size === 0) this.#byName.delete(entry.labels.name);
  }

  #noteMetadata(metadata: MetricMetadata): boolean {
    const { metric, type, help, unit } = metadata;
    if (metric.length + help.length + unit.length > this.#limits.metadataLengthMax) return false;
    const known = this.#metadata.get(metric);
    if (known !== undefined && known.type === type && known.help === help && known.unit === unit) {
      return false;
    }
    if (known === undefined && this.#metadata.size >= this.#limits.metadataMax) return false;
    this.#metadata.set(metric, metadata);
    return true;
  }
}

/** One sample of the series after `minMs`, up to and including `maxMs`, if there is one. */
function firstSample(
  { chunks }: SeriesEntry,
  visible: ReadonlySet<Generation>,
  seq: number,
  minMs: number,
  maxMs: number,
): SampleColumns | undefined {
  for (const chunk of chunks) {
    if (!visible.has(chunk.generation)) continue;
    const view = chunk.view(seq - chunk.generation.seqBase);
    const piece = view === undefined ? undefined : cutSamples(view, minMs, maxMs);
    if (piece !== undefined && piece.count > 0) return sliceSamples(piece, 0, 1);
  }
  return undefined;
}

function weightOf(key: string): number {
  return Math.max(1, key.length / usualKeyLength);
}
