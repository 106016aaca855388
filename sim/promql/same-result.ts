/** Compares a query's answer, span by span, with its answer without faults, to the bit. */
import {
  type Annotation,
  AnnotationSet,
  compareText,
  type FloatHistogram,
  type Labels,
  type Position,
  type QueryResult,
  type RawSeries,
  type StepSeries,
  stepAbsent,
  stepCount,
  stepFloat,
} from "../../src/kinds/ask/promql/core/index.ts";
import { stringifyExact } from "../../src/kinds/ask/run/core/exact-numbers.ts";
import { joinSpans } from "../../src/kinds/ask/run/result-json.ts";

/** Undefined when they are equal. `spans` are in order of time. */
export function findDifference(
  spans: readonly QueryResult[],
  want: QueryResult,
): string | undefined {
  const [first] = spans;
  if (first === undefined) return "there is no result";
  if (first.type !== want.type) return `a ${first.type} instead of a ${want.type}`;
  return (
    compareAnnotations(spans, want.annotations) ??
    compareSteps(spans, want) ??
    compareSeries(spans, want)
  );
}

function compareSteps(spans: readonly QueryResult[], want: QueryResult): string | undefined {
  if (want.type !== "vector" && want.type !== "scalar") return undefined;
  let steps = 0;
  for (const span of spans) if ("grid" in span) steps += stepCount(span.grid);
  const wanted = stepCount(want.grid);
  return steps === wanted ? undefined : `${steps} steps instead of ${wanted}`;
}

function compareSeries(spans: readonly QueryResult[], want: QueryResult): string | undefined {
  switch (want.type) {
    case "string":
      return sameText(spans[0], want);
    case "scalar": {
      const got = spans.flatMap((span) => (span.type === "scalar" ? [...span.values] : []));
      return sameText(got, [...want.values]);
    }
    case "matrix": {
      const [first] = spans;
      const got = first?.type === "matrix" ? first.series : [];
      return compareLists(got, want.series, samplesText);
    }
    case "vector": {
      const got = joinSpans(spans).map(({ labels, parts }) => ({
        labels,
        text: parts
          .map(({ grid, series }) => pointsText(series, grid.startMs, grid.stepMs))
          .join(""),
      }));
      const { startMs, stepMs } = want.grid;
      const wanted = want.series.map((series) => ({
        labels: series.labels,
        text: pointsText(series, startMs, stepMs),
      }));
      return compareLists(got, wanted, ({ text }) => text);
    }
  }
}

function compareLists<T extends { readonly labels: Labels }>(
  got: readonly T[],
  want: readonly T[],
  textOf: (item: T) => string,
): string | undefined {
  for (let index = 0; index < Math.max(got.length, want.length); index += 1) {
    const [one, other] = [got[index], want[index]];
    if (one === undefined || other === undefined || one.labels.key !== other.labels.key) {
      return `series ${index} is ${labelsText(one)} instead of ${labelsText(other)}`;
    }
    const difference = sameText(textOf(one), textOf(other));
    if (difference !== undefined) return `${labelsText(one)}: ${difference}`;
  }
  return undefined;
}

function labelsText(item: { readonly labels: Labels } | undefined): string {
  return item === undefined ? "missing" : JSON.stringify(item.labels.toRecord());
}

function pointsText(series: StepSeries, startMs: number, stepMs: number): string {
  const { kinds, values, histograms } = series;
  let text = "";
  for (let step = 0; step < kinds.length; step += 1) {
    if (kinds[step] === stepAbsent) continue;
    const isFloat = kinds[step] === stepFloat;
    text += ` ${startMs + step * stepMs}=`;
    text += isFloat ? floatText(values[step] as number) : histogramText(histograms?.[step]);
  }
  return text;
}

function samplesText({ samples }: RawSeries): string {
  const { count, ts, values, stale, histograms } = samples;
  let text = "";
  for (let index = 0; index < count; index += 1) {
    const histogram = histograms?.[index];
    const value = stale?.[index] === 1 ? "stale" : floatText(values[index] as number);
    text += ` ${ts[index]}=${histogram === undefined ? value : histogramText(histogram)}`;
  }
  return text;
}

/**
 * Leaves out counter-reset hints, which depend on how samples came together and are in no answer.
 */
function histogramText(histogram: FloatHistogram | undefined): string {
  if (histogram === undefined) return "missing";
  const isGauge = histogram.counterResetHint === "gauge";
  return stringifyExact({ ...histogram, counterResetHint: isGauge ? "gauge" : "unknown" });
}

function floatText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

/**
 * Equal annotations count once, with their figures added up. The order of spans does not matter.
 */
function compareAnnotations(
  spans: readonly QueryResult[],
  want: readonly Annotation[],
): string | undefined {
  const joined = new AnnotationSet<Position>();
  for (const { level, message, position } of spans.flatMap(({ annotations }) => annotations)) {
    joined.add(level, message, position);
  }
  const got = joined.entries().map(({ level, message, place }) => textOf(level, message, place));
  const wanted = want.map(({ level, message, position }) => textOf(level, message, position));
  if (spans.length > 1) for (const texts of [got, wanted]) texts.sort(compareText);
  return sameText(got, wanted);
}

function textOf(level: string, message: string, { start, end }: Position): string {
  return `${level} at ${start} to ${end}: ${message}`;
}

const shownMax = 300;

function sameText(got: unknown, want: unknown): string | undefined {
  const [one, other] = [got, want].map((each) =>
    typeof each === "string" ? each : stringifyExact(each),
  );
  if (one === other || one === undefined || other === undefined) return undefined;
  let at = 0;
  while (one[at] === other[at]) at += 1;
  const from = Math.max(0, at - 40);
  const show = (text: string): string => JSON.stringify(text.slice(from, from + shownMax));
  return `${show(one)} instead of ${show(other)}`;
}
