/**
 * Annotations of an answer, in Prometheus's words: one function for each kind. A message has
 * neither the prefix ("PromQL warning: ") nor the position.
 *
 * Two kinds carry figures that add up: how often a start time overlapped, and how far classic
 * buckets had to be changed. The figures are part of the text, so that messages travel and merge as
 * plain text. Rounding is monotonic, so the maximum of rounded figures is the rounded maximum.
 */
import { formatUtc } from "./format-utc.ts";
import { formatGeneral, formatRounded } from "./go-format.ts";
import { compareText } from "./labels.ts";
import type { Annotation, CallPlace } from "./model.ts";
import { quoteText } from "./print/quote.ts";

export interface Note {
  readonly level: Annotation["level"];
  readonly message: string;
}

export type HistogramOperation = "addition" | "subtraction" | "aggregation";
export type SampleType = "float" | "histogram";

export function annotate<Place>(
  sink: Pick<AnnotationSet<Place>, "add">,
  note: Note,
  place: Place,
): void {
  sink.add(note.level, note.message, place);
}

// Warnings.

export function invalidQuantile(quantile: number): Note {
  return warning(`quantile value should be between 0 and 1, got ${formatGeneral(quantile)}`);
}

export function invalidRatio(ratio: number, cappedTo: number): Note {
  return warning(
    `ratio value should be between -1 and 1, got ${formatGeneral(ratio)}, capping to ${formatGeneral(cappedTo)}`,
  );
}

/** `label` is the value of `le`. */
export function badBucketLabel(metricName: string, label: string): Note {
  return warning(
    `bucket label "le" is missing or has a malformed value of ${quoteText(label)}${forMetricName(metricName)}`,
  );
}

export function mixedFloatsHistograms(metricName: string): Note {
  return warning(
    `encountered a mix of histograms and floats for metric name ${quoteText(metricName)}`,
  );
}

export function mixedFloatsHistogramsInAggregation(): Note {
  return warning("encountered a mix of histograms and floats for aggregation");
}

export function mixedClassicNativeHistograms(metricName: string): Note {
  return warning(
    `vector contains a mix of classic and native histograms${forMetricName(metricName)}`,
  );
}

export function nativeHistogramNotCounter(metricName: string): Note {
  return warning(`this native histogram metric is not a counter: ${quoteText(metricName)}`);
}

export function nativeHistogramNotGauge(metricName: string): Note {
  return warning(`this native histogram metric is not a gauge: ${quoteText(metricName)}`);
}

export function mixedExponentialCustomHistograms(metricName: string): Note {
  return warning(
    `vector contains a mix of histograms with exponential and custom buckets schemas for metric name ${quoteText(metricName)}`,
  );
}

export function incompatibleBucketLayoutInBinaryOperation(operator: string): Note {
  return warning(`incompatible bucket layout encountered for binary operator ${operator}`);
}

export function sortInRangeQuery(): Note {
  return warning(
    "sort is ineffective for range queries since results are always ordered by labels",
  );
}

export function counterResetCollision(operation: HistogramOperation): Note {
  return warning(`conflicting counter resets during histogram ${operation}`);
}

const overlapPrefix = "sample has start time that overlaps with previous sample timestamp";

/** Messages with the same name merge by adding their occurrences. */
export function startTimeOverlap(metricName: string, occurrences = 1): Note {
  return warning(
    withOccurrences(`${overlapPrefix} for metric ${quoteText(metricName)}`, occurrences),
  );
}

// Infos.

export function possibleNonCounter(metricName: string): Note {
  return info(
    `metric might not be a counter, name does not end in _total/_sum/_count/_bucket: ${quoteText(metricName)}`,
  );
}

export function incompatibleTypesInBinaryOperation(
  left: SampleType,
  operator: string,
  right: SampleType,
): Note {
  return info(
    `incompatible sample types encountered for binary operator ${quoteText(operator)}: ${left} ${operator} ${right}`,
  );
}

export function histogramIgnoredInAggregation(aggregation: string): Note {
  return info(`ignored histogram in ${aggregation} aggregation`);
}

export function histogramIgnoredInMixedRange(metricName: string): Note {
  return info(
    `ignored histograms in a range containing both floats and histograms for metric name ${quoteText(metricName)}`,
  );
}

export function quantileOfNanObservations(metricName: string): Note {
  return info(
    `input to histogram_quantile has NaN observations, result is NaN${forMetricName(metricName)}`,
  );
}

export function quantileSkewedByNanObservations(metricName: string): Note {
  return info(
    `input to histogram_quantile has NaN observations, result is skewed higher${forMetricName(metricName)}`,
  );
}

export function fractionWithoutNanObservations(metricName: string): Note {
  return info(
    `input to histogram_fraction has NaN observations, which are excluded from all fractions${forMetricName(metricName)}`,
  );
}

export function mismatchedCustomBuckets(operation: HistogramOperation): Note {
  return info(`mismatched custom buckets were reconciled during ${operation}`);
}

const monotonicityPrefix = "input to histogram_quantile needed to be fixed for monotonicity";

/** By how much the classic buckets of a metric failed to grow with their bounds, and when. */
export interface MonotonicityFix {
  readonly bucketMin: number;
  readonly bucketMax: number;
  readonly diffMax: number;
  readonly occurrences: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Messages with the same name merge by widening their figures. */
export function forcedMonotonicity(metricName: string, fix: MonotonicityFix): Note {
  return info(
    monotonicityText(forMetricName(metricName), {
      bucketMin: formatGeneral(fix.bucketMin),
      bucketMax: formatGeneral(fix.bucketMax),
      diffMax: formatRounded(fix.diffMax, 2),
      occurrences: fix.occurrences,
      from: formatUtc(fix.fromMs),
      to: formatUtc(fix.toMs),
    }),
  );
}

function warning(message: string): Note {
  return { level: "warning", message };
}

function info(message: string): Note {
  return { level: "info", message };
}

function forMetricName(metricName: string): string {
  return metricName === "" ? "" : ` for metric name ${quoteText(metricName)}`;
}

// Merging.

/** The message without its figures. Equal keys mean the same annotation. */
export function annotationKey(message: string): string {
  if (message.startsWith(overlapPrefix)) return message.replace(occurrencesPattern, "");
  if (message.startsWith(monotonicityPrefix)) return message.replace(fixPattern, "");
  return message;
}

/** Merges two messages with the same key into one. */
export function mergeMessages(a: string, b: string): string {
  if (a.startsWith(overlapPrefix)) {
    return withOccurrences(annotationKey(a), occurrencesOf(a) + occurrencesOf(b));
  }
  if (a.startsWith(monotonicityPrefix)) return mergeFixes(a, b);
  return a;
}

const occurrencesPattern = / \((\d+) occurrences\)$/;

function occurrencesOf(message: string): number {
  return Number(occurrencesPattern.exec(message)?.[1] ?? 1);
}

function withOccurrences(message: string, occurrences: number): string {
  return occurrences > 1 ? `${message} (${occurrences} occurrences)` : message;
}

interface FixTexts {
  readonly bucketMin: string;
  readonly bucketMax: string;
  readonly diffMax: string;
  readonly occurrences: number;
  readonly from: string;
  readonly to: string;
}

const fixPattern =
  /, from buckets (\S+) to (\S+), with a max diff of (\S+), over (\d+) samples from (\S+) to (\S+)$/;

function monotonicityText(subject: string, fix: FixTexts): string {
  return (
    `${monotonicityPrefix} (see https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile)${subject}` +
    `, from buckets ${fix.bucketMin} to ${fix.bucketMax}, with a max diff of ${fix.diffMax}` +
    `, over ${fix.occurrences} samples from ${fix.from} to ${fix.to}`
  );
}

function parseFix(message: string): FixTexts | undefined {
  const match = fixPattern.exec(message);
  if (match === null) return undefined;
  const [, bucketMin = "", bucketMax = "", diffMax = "", occurrences = "", from = "", to = ""] =
    match;
  return { bucketMin, bucketMax, diffMax, occurrences: Number(occurrences), from, to };
}

function mergeFixes(a: string, b: string): string {
  const left = parseFix(a);
  const right = parseFix(b);
  if (left === undefined || right === undefined) return a;
  const subject = annotationKey(a).slice(annotationKey(monotonicityText("", left)).length);
  return monotonicityText(subject, {
    bucketMin:
      toNumber(right.bucketMin) < toNumber(left.bucketMin) ? right.bucketMin : left.bucketMin,
    bucketMax:
      toNumber(right.bucketMax) > toNumber(left.bucketMax) ? right.bucketMax : left.bucketMax,
    diffMax: toNumber(right.diffMax) > toNumber(left.diffMax) ? right.diffMax : left.diffMax,
    occurrences: left.occurrences + right.occurrences,
    from: compareText(right.from, left.from) < 0 ? right.from : left.from,
    to: compareText(right.to, left.to) > 0 ? right.to : left.to,
  });
}

function toNumber(text: string): number {
  return Number(text.replace("Inf", "Infinity"));
}

export interface PlacedNote<Place> extends Note {
  readonly place: Place;
}

/** Further annotations of a level are dropped: a query may meet very many metric names. */
const notesPerLevelMax = 1_000;

/**
 * Keeps equal annotations once, whatever their places, and merges those with figures. Like in
 * Prometheus, the last equal one gives the place, but the first of those that merge.
 */
export class AnnotationSet<Place = CallPlace> {
  readonly #notes = {
    warning: new Map<string, PlacedNote<Place>>(),
    info: new Map<string, PlacedNote<Place>>(),
  };

  add(level: Annotation["level"], message: string, place: Place): void {
    const notes = this.#notes[level];
    const key = annotationKey(message);
    const known = notes.get(key);
    if (known === undefined) {
      if (notes.size < notesPerLevelMax) notes.set(key, { level, message, place });
    } else if (carriesFigures(message)) {
      const merged = mergeMessages(known.message, message);
      notes.set(key, { level, message: merged, place: known.place });
    } else if (known.place !== place) {
      notes.set(key, { level, message, place });
    }
  }

  get size(): number {
    return this.#notes.warning.size + this.#notes.info.size;
  }

  /** Warnings first; each level in order of first appearance. */
  entries(): PlacedNote<Place>[] {
    return [...this.#notes.warning.values(), ...this.#notes.info.values()];
  }
}

function carriesFigures(message: string): boolean {
  return message.startsWith(overlapPrefix) || message.startsWith(monotonicityPrefix);
}
