/**
 * Decodes `prometheus.WriteRequest`: each series has its labels in full, with metadata beside them.
 */
import type { Labels } from "../../../../promql/core/index.ts";
import type { Exemplar, MetricMetadata } from "../../model.ts";
import { BatchBuilder } from "../batch-builder.ts";
import type { LabelLimits } from "../label-limits.ts";
import { labelsText } from "../labels-text.ts";
import {
  exemplarLabels,
  isExemplarTooLong,
  type KnownSeries,
  knownSeries,
} from "../series-labels.ts";
import type { ByteKeyedCache } from "./byte-keyed-cache.ts";
import { type DecodedWrite, decodedWrite, metricTypes, ProblemList } from "./decoded-write.ts";
import { decodeText, InvalidText, ProtoReader, wireBytes } from "./proto-reader.ts";
import { readHistogram } from "./read-histogram.ts";
import { readSample } from "./read-sample.ts";

/** Keyed by the bytes of a series' label fields. */
export type Labels1Cache = ByteKeyedCache<KnownSeries>;

export function decodeRequest1(
  body: Uint8Array,
  cache: Labels1Cache,
  limits: LabelLimits,
): DecodedWrite {
  const reader = new ProtoReader(body);
  const request = new Request1(reader, cache, limits);
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) {
      reader.expect(wireBytes);
      request.readSeries();
    } else if (field === 3) {
      reader.expect(wireBytes);
      request.builder.metadata.push(readMetadata(reader));
    } else reader.skip();
  }
  return request.finish();
}

class Request1 {
  readonly builder = new BatchBuilder();
  readonly #reader: ProtoReader;
  readonly #cache: Labels1Cache;
  readonly #problems = new ProblemList();

  readonly #limits: LabelLimits;

  constructor(reader: ProtoReader, cache: Labels1Cache, limits: LabelLimits) {
    this.#reader = reader;
    this.#limits = limits;
    this.#cache = cache;
  }

  finish(): DecodedWrite {
    return decodedWrite(this.builder, this.#problems);
  }

  /** Labels usually come first and together; then they are looked up by their bytes in place. */
  readSeries(): void {
    const reader = this.#reader;
    const outerEnd = reader.enter();
    const start = reader.at;
    const labelsEnd = this.#labelsEnd();
    let known = this.#lookUp(reader.view, start, labelsEnd);
    if (hasLabelsAfter(reader, labelsEnd)) {
      const gathered = gatherLabels(reader, start);
      known = this.#lookUp(new DataView(gathered.buffer), 0, gathered.length);
    }
    reader.at = labelsEnd;
    this.#readSamples(known);
    reader.leave(outerEnd);
  }

  /** The end of the label fields at the beginning of the message. */
  #labelsEnd(): number {
    const reader = this.#reader;
    const { bytes, end } = reader;
    while (reader.at < end && bytes[reader.at] === labelTag) {
      reader.at += 1;
      reader.bytesField();
    }
    return reader.at;
  }

  #lookUp(bytes: DataView, start: number, end: number): KnownSeries {
    const known = this.#cache.get(bytes, start, end);
    if (known !== undefined) return known;
    const fresh = knownSeries(readLabels(bytes, start, end), this.#limits);
    if (end - start <= rememberedBytesMax) this.#cache.set(bytes, start, end, fresh);
    return fresh;
  }

  /** The hot loop: one iteration per field, usually a sample. */
  #readSamples(known: KnownSeries): void {
    const reader = this.#reader;
    const { builder } = this;
    const series = known.problem === undefined ? builder.addSeries(known.labels) : -1;
    if (known.problem !== undefined) this.#problems.add(known.problem);
    for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
      switch (field) {
        case 2:
          reader.expect(wireBytes);
          readSample(reader, builder, series, false);
          break;
        case 3:
          reader.expect(wireBytes);
          this.#readExemplar(series, known.labels);
          break;
        case 4:
          reader.expect(wireBytes);
          this.#readHistogram(series, known.labels);
          break;
        default:
          reader.skip();
      }
    }
  }

  #readHistogram(series: number, labels: Labels): void {
    const { ts, stale, histogram, problem } = readHistogram(
      this.#reader,
      this.#limits.buckets_per_histogram,
    );
    if (series < 0) return;
    if (stale) this.builder.addStale(series, ts);
    else if (problem === undefined) this.builder.addHistogram(series, ts, histogram);
    else this.#problems.add(`${problem} for series ${labelsText(labels.pairs)}`);
  }

  #readExemplar(series: number, seriesLabels: Labels): void {
    const exemplar = readExemplar(this.#reader, seriesLabels);
    if (series >= 0 && !isExemplarTooLong(exemplar.labels)) this.builder.exemplars.push(exemplar);
  }
}

/** Longer label fields are not remembered. */
const rememberedBytesMax = 65_536;

/** The tag of field 1, a message. */
const labelTag = (1 << 3) | 2;

function hasLabelsAfter(reader: ProtoReader, from: number): boolean {
  reader.at = from;
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) return true;
    reader.skip();
  }
  return false;
}

/** The label fields of a message that has other fields between them, joined. */
function gatherLabels(reader: ProtoReader, from: number): Uint8Array<ArrayBuffer> {
  const parts: number[] = [];
  reader.at = from;
  for (;;) {
    const fieldStart = reader.at;
    const field = reader.nextField();
    if (field === 0) break;
    if (field === 1) reader.expect(wireBytes);
    reader.skip();
    if (field !== 1) continue;
    for (let at = fieldStart; at < reader.at; at += 1) parts.push(reader.bytes[at] as number);
  }
  return Uint8Array.from(parts);
}

function readLabels(bytes: DataView, start: number, end: number): (string | undefined)[] {
  const fields = new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
  const reader = new ProtoReader(fields);
  const pairs: (string | undefined)[] = [];
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    readLabel(reader, pairs);
  }
  return pairs;
}

function readLabel(reader: ProtoReader, into: (string | undefined)[]): void {
  const outerEnd = reader.enter();
  let name: string | undefined = "";
  let value: string | undefined = "";
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) name = textOrUndefined(reader);
    else if (field === 2) value = textOrUndefined(reader);
    else reader.skip();
  }
  reader.leave(outerEnd);
  into.push(name, value);
}

function textOrUndefined(reader: ProtoReader): string | undefined {
  reader.expect(wireBytes);
  const start = reader.bytesField();
  try {
    return decodeText(reader.bytes.subarray(start, reader.at));
  } catch (thrown) {
    if (thrown instanceof InvalidText) return undefined;
    throw thrown;
  }
}

function readExemplar(reader: ProtoReader, series: Labels): Exemplar {
  const outerEnd = reader.enter();
  const pairs: (string | undefined)[] = [];
  let value = 0;
  let ts = 0;
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) {
      reader.expect(wireBytes);
      readLabel(reader, pairs);
    } else if (field === 2) value = reader.doubleField();
    else if (field === 3) ts = reader.int64Field();
    else reader.skip();
  }
  reader.leave(outerEnd);
  return { series, labels: exemplarLabels(pairs.map((text) => text ?? "\ufffd")), value, ts };
}

function readMetadata(reader: ProtoReader): MetricMetadata {
  const outerEnd = reader.enter();
  let type = 0;
  let metric = "";
  let help = "";
  let unit = "";
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) type = reader.uint32Field();
    else if (field === 2) metric = reader.text();
    else if (field === 4) help = reader.text();
    else if (field === 5) unit = reader.text();
    else reader.skip();
  }
  reader.leave(outerEnd);
  return { metric, type: metricTypes[type] ?? "unknown", help, unit };
}
