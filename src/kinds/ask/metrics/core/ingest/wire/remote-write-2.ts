/**
 * Decodes `io.prometheus.write.v2.Request`: a table holds each text once, and series refer to it.
 * Each text keeps one number over all requests, so that a series is recognised by its numbers
 * whatever the order of a request's table.
 */
import type { Labels } from "../../../../promql/core/index.ts";
import type { MetricMetadata } from "../../model.ts";
import { BatchBuilder } from "../batch-builder.ts";
import type { LabelLimits } from "../label-limits.ts";
import { labelsText } from "../labels-text.ts";
import { MalformedInput } from "../malformed.ts";
import { familyOf } from "../metric-family.ts";
import {
  exemplarLabels,
  isExemplarTooLong,
  type KnownSeries,
  knownSeries,
} from "../series-labels.ts";
import { ByteKeyedCache, type ByteKeyedCacheLimits } from "./byte-keyed-cache.ts";
import { type DecodedWrite, decodedWrite, metricTypes, ProblemList } from "./decoded-write.ts";
import { decodeText, ProtoReader, wireBytes } from "./proto-reader.ts";
import { readHistogram } from "./read-histogram.ts";
import { readSample } from "./read-sample.ts";

/** Longer texts are not remembered. */
const rememberedTextBytesMax = 65_536;
const rememberedRefsMax = 4_096;

/** `text` is absent when the bytes are not UTF-8. */
interface KnownText {
  readonly number: number;
  readonly text: string | undefined;
}

export class Labels2Cache {
  readonly texts: ByteKeyedCache<KnownText>;
  /** Keyed by the numbers of names and values, four bytes each. */
  readonly series: ByteKeyedCache<KnownSeries>;
  #numberNext = 1;

  constructor(limits: ByteKeyedCacheLimits) {
    this.texts = new ByteKeyedCache(limits);
    this.series = new ByteKeyedCache(limits);
  }

  textOf(bytes: DataView, start: number, end: number): KnownText {
    const known = this.texts.get(bytes, start, end);
    if (known !== undefined) return known;
    const fresh = { number: this.#numberNext, text: textOrUndefined(bytes, start, end) };
    this.#numberNext += 1;
    if (end - start <= rememberedTextBytesMax) this.texts.set(bytes, start, end, fresh);
    return fresh;
  }
}

export function decodeRequest2(
  body: Uint8Array,
  cache: Labels2Cache,
  limits: LabelLimits,
): DecodedWrite {
  const reader = new ProtoReader(body);
  const texts: KnownText[] = [];
  const seriesStarts: number[] = [];
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 4) {
      reader.expect(wireBytes);
      const start = reader.bytesField();
      texts.push(cache.textOf(reader.view, start, reader.at));
    } else {
      if (field === 5) {
        reader.expect(wireBytes);
        seriesStarts.push(reader.at);
      }
      reader.skip();
    }
  }
  const request = new Request2(reader, cache, texts, limits);
  for (const start of seriesStarts) {
    reader.at = start;
    request.readSeries();
  }
  return request.finish();
}

class Request2 {
  readonly #builder = new BatchBuilder();
  readonly #reader: ProtoReader;
  readonly #cache: Labels2Cache;
  readonly #texts: readonly KnownText[];
  readonly #problems = new ProblemList();
  readonly #metadata = new Map<string, MetricMetadata>();
  #refs = new Uint32Array(64);
  #numbers = new Uint32Array(64);
  #numberBytes = new DataView(this.#numbers.buffer);

  readonly #limits: LabelLimits;

  constructor(
    reader: ProtoReader,
    cache: Labels2Cache,
    texts: readonly KnownText[],
    limits: LabelLimits,
  ) {
    this.#limits = limits;
    this.#reader = reader;
    this.#cache = cache;
    this.#texts = texts;
  }

  finish(): DecodedWrite {
    this.#builder.metadata.push(...this.#metadata.values());
    return decodedWrite(this.#builder, this.#problems);
  }

  readSeries(): void {
    const reader = this.#reader;
    const outerEnd = reader.enter();
    const start = reader.at;
    const refCount = this.#readRefs();
    const known = this.#lookUp(refCount);
    reader.at = start;
    this.#readFields(known);
    reader.leave(outerEnd);
  }

  /** Reads all label references of the message into `#refs`. Returns their number. */
  #readRefs(): number {
    const reader = this.#reader;
    let count = 0;
    for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
      if (field === 1) count = this.#readRefField(count);
      else reader.skip();
    }
    return count;
  }

  /** Reads one reference or a packed field of them, after `count` others. */
  #readRefField(count: number): number {
    const reader = this.#reader;
    if (reader.wireType !== wireBytes) {
      this.#keepRef(count, reader.uint32Field());
      return count + 1;
    }
    const outerEnd = reader.enter();
    let index = count;
    for (; reader.at < reader.end; index += 1) this.#keepRef(index, reader.uint32());
    reader.leave(outerEnd);
    return index;
  }

  #keepRef(index: number, ref: number): void {
    if (index === this.#refs.length) {
      const refs = new Uint32Array(index * 2);
      refs.set(this.#refs);
      this.#refs = refs;
      this.#numbers = new Uint32Array(index * 2);
      this.#numberBytes = new DataView(this.#numbers.buffer);
    }
    this.#refs[index] = ref;
  }

  #lookUp(refCount: number): KnownSeries {
    if (refCount % 2 !== 0) {
      throw new MalformedInput(
        `parsing labels for series ${this.#shownRefs(refCount)}: invalid labelRefs length ${refCount}`,
      );
    }
    for (let index = 0; index < refCount; index += 1) {
      const known = this.#texts[this.#refs[index] as number];
      if (known === undefined) throw this.#outsideTable(index, refCount);
      this.#numbers[index] = known.number;
    }
    const known = this.#cache.series.get(this.#numberBytes, 0, refCount * 4);
    if (known !== undefined) return known;
    const pairs = Array.from({ length: refCount }, (_, index) => this.#textAt(index));
    const fresh = knownSeries(pairs, this.#limits);
    if (refCount <= rememberedRefsMax) {
      this.#cache.series.set(this.#numberBytes, 0, refCount * 4, fresh);
    }
    return fresh;
  }

  #textAt(index: number): string | undefined {
    return this.#texts[this.#refs[index] as number]?.text;
  }

  #outsideTable(index: number, refCount: number): MalformedInput {
    const name = this.#refs[index & ~1] as number;
    const value = this.#refs[index | 1] as number;
    return new MalformedInput(
      `parsing labels for series ${this.#shownRefs(refCount)}: labelRefs ${name} (name) = ${value} (value) ` +
        `outside of symbols table (size ${this.#texts.length})`,
    );
  }

  #shownRefs(refCount: number): string {
    return `[${this.#refs.subarray(0, Math.min(refCount, 64)).join(" ")}]`;
  }

  #readFields(known: KnownSeries): void {
    const reader = this.#reader;
    const { labels, problem } = known;
    const series = problem === undefined ? this.#builder.addSeries(labels) : -1;
    if (problem !== undefined) this.#problems.add(problem);
    let sampleCount = 0;
    for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
      if (field >= 2 && field <= 5) reader.expect(wireBytes);
      switch (field) {
        case 2:
          readSample(reader, this.#builder, series, true);
          sampleCount += 1;
          break;
        case 3:
          this.#readHistogram(series, labels);
          sampleCount += 1;
          break;
        case 4:
          this.#readExemplar(series, labels);
          break;
        case 5:
          this.#readMetadata(labels);
          break;
        default:
          reader.skip();
      }
    }
    if (series >= 0 && sampleCount === 0) {
      const shown = labelsText(labels.pairs);
      this.#problems.add(
        `TimeSeries must contain at least one sample or histogram for series ${shown}`,
      );
    }
  }

  #readHistogram(series: number, labels: Labels): void {
    const { ts, startTs, stale, histogram, problem } = readHistogram(
      this.#reader,
      this.#limits.buckets_per_histogram,
    );
    if (series < 0) return;
    if (problem !== undefined) {
      this.#problems.add(`${problem} for series ${labelsText(labels.pairs)}`);
      return;
    }
    if (stale) this.#builder.addStale(series, ts);
    else this.#builder.addHistogram(series, ts, histogram);
    if (startTs !== 0) this.#builder.setStartTs(startTs);
  }

  #readExemplar(series: number, seriesLabels: Labels): void {
    const reader = this.#reader;
    const outerEnd = reader.enter();
    let refCount = 0;
    let value = 0;
    let ts = 0;
    for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
      if (field === 1) refCount = this.#readRefField(refCount);
      else if (field === 2) value = reader.doubleField();
      else if (field === 3) ts = reader.int64Field();
      else reader.skip();
    }
    reader.leave(outerEnd);
    const labels = this.#exemplarLabels(refCount);
    if (series < 0 || isExemplarTooLong(labels)) return;
    this.#builder.exemplars.push({ series: seriesLabels, labels, value, ts });
  }

  #exemplarLabels(refCount: number): Labels {
    if (refCount % 2 !== 0) {
      throw new MalformedInput(`parsing exemplar: invalid labelRefs length ${refCount}`);
    }
    for (let index = 0; index < refCount; index += 1) {
      const isKnown = (this.#refs[index] as number) < this.#texts.length;
      if (!isKnown) throw this.#outsideTable(index, refCount);
    }
    const pairs = Array.from({ length: refCount }, (_, index) => this.#textAt(index) ?? "\ufffd");
    return exemplarLabels(pairs);
  }

  #readMetadata(labels: Labels): void {
    const reader = this.#reader;
    const outerEnd = reader.enter();
    let type = 0;
    let helpRef = 0;
    let unitRef = 0;
    for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
      if (field === 1) type = reader.uint32Field();
      else if (field === 3) helpRef = reader.uint32Field();
      else if (field === 4) unitRef = reader.uint32Field();
      else reader.skip();
    }
    reader.leave(outerEnd);
    const help = this.#metadataText("help_ref", helpRef);
    const unit = this.#metadataText("unit_ref", unitRef);
    if (labels.count === 0 || (type === 0 && help === "" && unit === "")) return;
    const metricType = metricTypes[type] ?? "unknown";
    const metric = familyOf(labels.name, metricType);
    if (!this.#metadata.has(metric)) {
      this.#metadata.set(metric, { metric, type: metricType, help, unit });
    }
  }

  #metadataText(name: string, ref: number): string {
    // A sender without metadata may send an empty table; then 0 refers to nothing.
    if (ref === 0 && this.#texts.length === 0) return "";
    const known = this.#texts[ref];
    if (known === undefined) {
      throw new MalformedInput(
        `metadata ${name} ${ref} outside of symbols table (size ${this.#texts.length})`,
      );
    }
    return known.text ?? "\ufffd";
  }
}

function textOrUndefined(bytes: DataView, start: number, end: number): string | undefined {
  try {
    return decodeText(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start));
  } catch {
    return undefined;
  }
}
