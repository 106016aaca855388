/** Merges the results of spans and writes them in the format of Prometheus's API. */
import {
  compareLabels,
  type FloatHistogram,
  type Grid,
  type Labels,
  populatedBuckets,
  type QueryResult,
  type RawSeries,
  type StepSeries,
  stepAbsent,
  stepCount,
  stepFloat,
} from "../promql/core/index.ts";
import { type JsonSink, timestampText } from "./json-sink.ts";
import { metricJson } from "./label-texts.ts";
import { answerTooLarge } from "./query-errors.ts";

export interface AnswerShape {
  readonly instant: boolean;
  /** The evaluation time of an instant query. */
  readonly atMs: number;
  /** The maximum number of series; 0 means no limit. */
  readonly limit: number;
  /** The maximum size of the JSON. */
  readonly bytesMax: number;
}

export interface WrittenResult {
  readonly resultType: "matrix" | "vector" | "scalar" | "string";
  readonly seriesCount: number;
  readonly pointCount: number;
  /** Whether the limit cut the result. */
  readonly truncated: boolean;
}

/**
 * Writes `{"resultType":…,"result":…` without the last brace, so that more may follow. `results`
 * are in time order.
 */
export function writeData(
  sink: JsonSink,
  results: readonly QueryResult[],
  shape: AnswerShape,
): WrittenResult {
  const resultType = resultTypeOf(results[0], shape.instant);
  sink.ascii(`{"resultType":"${resultType}","result":`);
  return new ResultWriter(sink, shape).write(resultType, results);
}

export function resultTypeOf(
  result: QueryResult | undefined,
  instant: boolean,
): WrittenResult["resultType"] {
  if (result?.type === "string" || (instant && result?.type === "scalar")) return result.type;
  return instant && result?.type !== "matrix" ? "vector" : "matrix";
}

/** A series of the whole query, with its part from each span in time order. */
interface Joined {
  readonly labels: Labels;
  readonly parts: { readonly grid: Grid; readonly series: StepSeries }[];
}

/** Sorts by labels. The series of a single span are already sorted. */
export function joinSpans(results: readonly QueryResult[]): readonly Joined[] {
  const byKey = new Map<string, Joined>();
  for (const result of results) {
    if (result.type !== "vector") continue;
    for (const series of result.series) {
      const { key } = series.labels;
      let joined = byKey.get(key);
      if (joined === undefined) {
        joined = { labels: series.labels, parts: [] };
        byKey.set(key, joined);
      }
      joined.parts.push({ grid: result.grid, series });
    }
  }
  const all = [...byKey.values()];
  return results.length < 2 ? all : all.sort((a, b) => compareLabels(a.labels, b.labels));
}

class ResultWriter {
  readonly #sink: JsonSink;
  readonly #shape: AnswerShape;
  readonly #prefixes = new Map<Grid, PointPrefixes>();
  /** Written before the value of each series of an instant query. */
  readonly #instant: { readonly float: string; readonly histogram: string };
  #seriesCount = 0;
  #pointCount = 0;
  #truncated: boolean = false;

  constructor(sink: JsonSink, shape: AnswerShape) {
    this.#sink = sink;
    this.#shape = shape;
    const at = timestampText(shape.atMs);
    this.#instant = { float: `,"value":[${at},`, histogram: `,"histogram":[${at},` };
  }

  write(resultType: WrittenResult["resultType"], results: readonly QueryResult[]): WrittenResult {
    const { instant } = this.#shape;
    const [first] = results;
    if (first === undefined) this.#sink.ascii("[]");
    else if (first.type === "string") this.#string(first.text);
    else if (first.type === "matrix") this.#list(first.series, (series) => this.#rawSeries(series));
    else if (first.type === "scalar") this.#scalars(results);
    else if (instant) this.#list(first.series, (series) => this.#sample(series));
    else this.#list(joinSpans(results), (joined) => this.#series(joined));
    return {
      resultType,
      seriesCount: this.#seriesCount,
      pointCount: this.#pointCount,
      truncated: this.#truncated,
    };
  }

  #list<T>(items: readonly T[], write: (item: T) => void): void {
    const { limit, bytesMax } = this.#shape;
    const count = limit > 0 ? Math.min(limit, items.length) : items.length;
    this.#truncated = count < items.length;
    this.#seriesCount = count;
    this.#sink.ascii("[");
    for (let index = 0; index < count; index += 1) {
      if (index > 0) this.#sink.ascii(",");
      write(items[index] as T);
      if (this.#sink.length > bytesMax) throw answerTooLarge(bytesMax);
    }
    this.#sink.ascii("]");
  }

  #string(text: string): void {
    this.#sink.ascii(`[${timestampText(this.#shape.atMs)},`);
    this.#sink.text(text);
    this.#sink.ascii("]");
    this.#pointCount = 1;
  }

  #scalars(results: readonly QueryResult[]): void {
    const { instant, atMs } = this.#shape;
    const scalars = results.filter((result) => result.type === "scalar");
    if (instant) {
      this.#sink.ascii(`[${timestampText(atMs)},`);
      this.#sink.quotedFloat(scalars[0]?.values[0] ?? Number.NaN);
      this.#sink.ascii("]");
      this.#pointCount = 1;
      return;
    }
    this.#seriesCount = 1;
    this.#sink.ascii('[{"metric":{},"values":[');
    for (const [index, { grid, values }] of scalars.entries()) {
      const prefixes = this.#prefixesOf(grid);
      for (let step = 0; step < values.length; step += 1) {
        const isFirst = index === 0 && step === 0;
        prefixes.write(this.#sink, step, values[step] as number, isFirst);
        this.#pointCount += 1;
      }
    }
    this.#sink.ascii("]}]");
  }

  #sample({ labels, kinds, values, histograms }: StepSeries): void {
    this.#pointCount += 1;
    this.#metric(labels);
    const { float, histogram } = this.#instant;
    if (kinds[0] === stepFloat) {
      this.#sink.ascii(float);
      this.#sink.quotedFloat(values[0] as number);
    } else {
      this.#sink.ascii(histogram);
      writeHistogram(this.#sink, histograms?.[0] as FloatHistogram);
    }
    this.#sink.ascii("]}");
  }

  #series({ labels, parts }: Joined): void {
    this.#metric(labels);
    let floatCount = 0;
    for (const { grid, series } of parts) {
      const prefixes = this.#prefixesOf(grid);
      const { kinds, values } = series;
      for (let step = 0; step < kinds.length; step += 1) {
        if (kinds[step] !== stepFloat) continue;
        if (floatCount === 0) this.#sink.ascii(',"values":[');
        prefixes.write(this.#sink, step, values[step] as number, floatCount === 0);
        floatCount += 1;
      }
    }
    if (floatCount > 0) this.#sink.ascii("]");
    this.#pointCount += floatCount;
    if (parts.some(({ series }) => series.histograms !== undefined)) this.#histograms(parts);
    this.#sink.ascii("}");
  }

  #histograms(parts: Joined["parts"]): void {
    let isFirst = true;
    for (const { grid, series } of parts) {
      const { kinds, histograms } = series;
      for (let step = 0; step < kinds.length; step += 1) {
        if (kinds[step] === stepFloat || kinds[step] === stepAbsent) continue;
        this.#histogramPoint(grid.startMs + step * grid.stepMs, histograms?.[step], isFirst);
        isFirst = false;
      }
    }
    if (!isFirst) this.#sink.ascii("]");
  }

  #histogramPoint(ms: number, histogram: FloatHistogram | undefined, isFirst: boolean): void {
    this.#sink.ascii(isFirst ? ',"histograms":[[' : ",[");
    this.#sink.ascii(`${timestampText(ms)},`);
    writeHistogram(this.#sink, histogram as FloatHistogram);
    this.#sink.ascii("]");
    this.#pointCount += 1;
  }

  #rawSeries({ labels, samples }: RawSeries): void {
    const { count, ts, values, stale, histograms } = samples;
    this.#metric(labels);
    let floatCount = 0;
    for (let index = 0; index < count; index += 1) {
      if (stale?.[index] === 1 || histograms?.[index] !== undefined) continue;
      this.#sink.ascii(floatCount === 0 ? ',"values":[[' : ",[");
      this.#sink.ascii(`${timestampText(ts[index] as number)},`);
      this.#sink.quotedFloat(values[index] as number);
      this.#sink.ascii("]");
      floatCount += 1;
    }
    if (floatCount > 0) this.#sink.ascii("]");
    this.#pointCount += floatCount;
    let isFirst = true;
    for (let index = 0; histograms !== undefined && index < count; index += 1) {
      if (stale?.[index] === 1 || histograms[index] === undefined) continue;
      this.#histogramPoint(ts[index] as number, histograms[index], isFirst);
      isFirst = false;
    }
    if (!isFirst) this.#sink.ascii("]");
    this.#sink.ascii("}");
  }

  #metric(labels: Labels): void {
    this.#sink.ascii('{"metric":');
    this.#sink.json(metricJson(labels));
  }

  #prefixesOf(grid: Grid): PointPrefixes {
    let prefixes = this.#prefixes.get(grid);
    if (prefixes === undefined) {
      prefixes = new PointPrefixes(grid);
      this.#prefixes.set(grid, prefixes);
    }
    return prefixes;
  }
}

/** Makes `,[<ts>,"` for every step once, because all series share it. */
class PointPrefixes {
  readonly #bytes: Uint8Array;
  readonly #ends: Uint32Array;

  constructor(grid: Grid) {
    const steps = stepCount(grid);
    const texts = Array.from(
      { length: steps },
      (_, step) => `,[${timestampText(grid.startMs + step * grid.stepMs)},"`,
    );
    this.#ends = new Uint32Array(steps);
    let end = 0;
    for (const [step, text] of texts.entries()) {
      end += text.length;
      this.#ends[step] = end;
    }
    this.#bytes = Buffer.from(texts.join(""), "latin1");
  }

  write(sink: JsonSink, step: number, value: number, isFirst: boolean): void {
    const start = step === 0 ? 0 : (this.#ends[step - 1] as number);
    sink.point(this.#bytes, isFirst ? start + 1 : start, this.#ends[step] as number, value);
  }
}

/** Writes a native histogram in the format of Prometheus's API. */
function writeHistogram(sink: JsonSink, histogram: FloatHistogram): void {
  sink.ascii('{"count":');
  sink.quotedFloat(histogram.count);
  sink.ascii(',"sum":');
  sink.quotedFloat(histogram.sum);
  const buckets = populatedBuckets(histogram);
  for (const [index, { lower, upper, count, ...bounds }] of buckets.entries()) {
    sink.ascii(index === 0 ? ',"buckets":[[' : ",[");
    sink.ascii(`${boundaryRule(bounds.lowerInclusive, bounds.upperInclusive)},`);
    sink.quotedFloat(lower);
    sink.ascii(",");
    sink.quotedFloat(upper);
    sink.ascii(",");
    sink.quotedFloat(count);
    sink.ascii("]");
  }
  sink.ascii(buckets.length > 0 ? "]}" : "}");
}

/** The bucket's boundary rule: 0 open left, 1 open right, 2 open on both sides, 3 closed. */
function boundaryRule(lowerInclusive: boolean, upperInclusive: boolean): 0 | 1 | 2 | 3 {
  if (lowerInclusive) return upperInclusive ? 3 : 1;
  return upperInclusive ? 0 : 2;
}
