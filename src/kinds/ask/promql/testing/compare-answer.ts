/**
 * Compares an answer with what its script expects. Returns the difference in words, or undefined.
 */
import {
  compareLabels,
  type DescribedValue,
  type FloatHistogram,
  type Grid,
  Labels,
  type QueryResult,
  stepCount,
  stepFloat,
  stepHistogram,
} from "../core/index.ts";
import { almostEqual } from "./almost-equal.ts";
import { formatHistogram, formatLabels, formatPoint } from "./format-point.ts";
import { sameHistogram } from "./same-histogram.ts";
import type { EvalCommand, ExpectedSeries, TextExpectation } from "./script.ts";
import type { AnswerAnnotation } from "./script-engine.ts";

export interface Point {
  readonly ts: number;
  readonly value: number | FloatHistogram;
}
interface PointSeries {
  readonly labels: Labels;
  readonly points: readonly Point[];
}

/** A result as scripts see it. */
export type Answer =
  | { readonly kind: "scalar"; readonly value: number }
  | { readonly kind: "string"; readonly text: string }
  /** Each series has one point. */
  | { readonly kind: "vector"; readonly series: readonly PointSeries[] }
  | { readonly kind: "matrix"; readonly series: readonly PointSeries[] };

export function instantAnswer(result: QueryResult): Answer {
  switch (result.type) {
    case "scalar":
      return { kind: "scalar", value: result.values[0] as number };
    case "string":
      return { kind: "string", text: result.text };
    default:
      return { kind: result.type, series: seriesOf(result) };
  }
}

export function rangeAnswer(result: QueryResult): Answer {
  if (result.type === "string") return { kind: "string", text: result.text };
  return { kind: "matrix", series: seriesOf(result) };
}

/** One step of a range query's result, in the form of an instant query's result. */
export function answerAt(answer: Answer, timeMs: number, scalar: boolean): Answer {
  if (answer.kind !== "matrix") return answer;
  const series = answer.series.flatMap(({ labels, points }) => {
    const point = points.find(({ ts }) => ts === timeMs);
    return point === undefined ? [] : [{ labels, points: [point] }];
  });
  if (!scalar) return { kind: "vector", series };
  const value = series[0]?.points[0]?.value;
  return { kind: "scalar", value: typeof value === "number" ? value : Number.NaN };
}

function seriesOf(result: Exclude<QueryResult, { type: "string" }>): PointSeries[] {
  if (result.type === "scalar") {
    const points = Array.from(result.values, (value, step) => ({
      ts: result.grid.startMs + step * result.grid.stepMs,
      value,
    }));
    return [{ labels: Labels.empty, points }];
  }
  if (result.type === "matrix") {
    return result.series.map(({ labels, samples }) => ({
      labels,
      points: Array.from({ length: samples.count }, (_, index) => ({
        ts: samples.ts[index] as number,
        value: samples.histograms?.[index] ?? (samples.values[index] as number),
      })),
    }));
  }
  const count = stepCount(result.grid);
  return result.series.map(({ labels, kinds, values, histograms }) => {
    const points: Point[] = [];
    for (let step = 0; step < count; step += 1) {
      const ts = result.grid.startMs + step * result.grid.stepMs;
      if (kinds[step] === stepFloat) points.push({ ts, value: values[step] as number });
      if (kinds[step] === stepHistogram) {
        points.push({ ts, value: histograms?.[step] as FloatHistogram });
      }
    }
    return { labels, points };
  });
}

export function compareAnswer(command: EvalCommand, answer: Answer): string | undefined {
  const { result: expected } = command;
  if (answer.kind === "string") {
    const text = expected.kind === "string" ? expected.text : "";
    return answer.text === text ? undefined : `want string "${text}", got "${answer.text}"`;
  }
  if (answer.kind === "scalar") {
    if (expected.kind !== "scalar") return `want a ${expected.kind}, got scalar ${answer.value}`;
    return almostEqual(expected.value, answer.value)
      ? undefined
      : `want scalar ${expected.value}, got ${answer.value}`;
  }
  if (expected.kind === "scalar") {
    return `want scalar ${expected.value}, got ${describe(answer.series)}`;
  }
  const series = expected.kind === "series" ? expected.series : [];
  if (answer.kind === "vector") return compareVector(series, answer.series, command.ordered);
  if (command.ordered) return "want an ordered result, got a range vector";
  const grid = command.at.kind === "range" ? command.at.grid : command.rangeVector;
  return compareMatrix(series, answer.series, grid);
}

function compareVector(
  expected: readonly ExpectedSeries[],
  actual: readonly PointSeries[],
  ordered: boolean,
): string | undefined {
  const missing = new Map(expected.map((series, index) => [series.labels.key, { series, index }]));
  for (const [index, { labels, points }] of actual.entries()) {
    const point = points[0] as Point;
    const wanted = missing.get(labels.key);
    if (wanted === undefined) return `not wanted: ${formatLabels(labels)} ${formatPoint(point)}`;
    if (ordered && wanted.index !== index) {
      return `want ${formatLabels(labels)} at ${wanted.index + 1}, got it at ${index + 1}`;
    }
    const value = wanted.series.values[0] as DescribedValue;
    if (!samePoint(value, point)) {
      return `want ${formatLabels(labels)} ${formatWanted(value)}, got ${formatPoint(point)}`;
    }
  }
  return firstMissing(expected, actual);
}

function compareMatrix(
  expected: readonly ExpectedSeries[],
  actual: readonly PointSeries[],
  grid: Grid | undefined,
): string | undefined {
  const unsorted = firstUnsorted(actual);
  if (unsorted !== undefined) return unsorted;
  const wanted = new Map(expected.map((series) => [series.labels.key, series]));
  for (const { labels, points } of actual) {
    const series = wanted.get(labels.key);
    if (series === undefined || grid === undefined) {
      return `not wanted: ${formatLabels(labels)} ${points.map(formatPoint).join(" ")}`;
    }
    const want = series.values.flatMap((value, index) =>
      value.kind === "absent" ? [] : [{ value, ts: grid.startMs + index * grid.stepMs }],
    );
    const same =
      want.length === points.length &&
      want.every(({ value, ts }, index) => {
        const point = points[index] as Point;
        return point.ts === ts && samePoint(value, point);
      });
    if (!same) {
      const wantText = want.map(({ value, ts }) => `${formatWanted(value)}@${ts}`).join(" ");
      const gotText = points.map((point) => `${formatPoint(point)}@${point.ts}`).join(" ");
      return `want ${formatLabels(labels)} ${wantText}, got ${gotText}`;
    }
  }
  return firstMissing(expected, actual);
}

export function firstUnsorted(series: readonly PointSeries[]): string | undefined {
  for (let index = 1; index < series.length; index += 1) {
    const [before, after] = [series[index - 1] as PointSeries, series[index] as PointSeries];
    if (compareLabels(before.labels, after.labels) > 0) {
      return `not in the order of the labels: ${formatLabels(before.labels)} before ${formatLabels(after.labels)}`;
    }
  }
  return undefined;
}

function firstMissing(
  expected: readonly ExpectedSeries[],
  actual: readonly PointSeries[],
): string | undefined {
  const present = new Set(actual.map(({ labels }) => labels.key));
  const missing = expected.find(({ labels }) => !present.has(labels.key));
  if (missing === undefined) return undefined;
  const values = missing.values.map(formatWanted).join(" ");
  return `missing: ${formatLabels(missing.labels)} ${values}, got ${describe(actual)}`;
}

function samePoint(expected: DescribedValue, { value }: Point): boolean {
  switch (expected.kind) {
    case "histogram":
      return (
        typeof value !== "number" && sameHistogram(expected.histogram, value, expected.hintSet)
      );
    case "float":
      return typeof value === "number" && almostEqual(expected.value, value);
    case "absent":
      return typeof value === "number" && almostEqual(0, value);
    case "stale":
      return false; // A stale marker is never part of a result.
  }
}

/** Compares an error or an annotation's text. With `anyPosition`, ignores positions. */
export function matchesText(
  expectation: TextExpectation,
  texts: readonly string[],
  anyPosition = false,
): boolean {
  switch (expectation.kind) {
    case "any":
      return true;
    case "pattern": {
      const { pattern } = expectation;
      const moved = anyPosition ? patternOfAnyPosition(pattern) : pattern;
      return texts.some((text) => pattern.test(text) || moved.test(text));
    }
    case "message":
      return texts.some(
        (text) =>
          text === expectation.text ||
          (anyPosition && withoutPosition(text) === withoutPosition(expectation.text)),
      );
  }
}

export function compareAnnotations(
  command: EvalCommand,
  annotations: readonly AnswerAnnotation[],
  anyPosition: boolean,
): string | undefined {
  const of = (level: AnswerAnnotation["level"]) =>
    annotations.filter((annotation) => annotation.level === level);
  const [warnings, infos] = [of("warning"), of("info")];
  if (command.noWarnings && warnings.length > 0) return `no warning wanted, ${listed(warnings)}`;
  if (command.noInfos && infos.length > 0) return `no info wanted, ${listed(infos)}`;
  return (
    compareLevel("warning", command.warnings, warnings, anyPosition) ??
    compareLevel("info", command.infos, infos, anyPosition)
  );
}

function compareLevel(
  level: string,
  expected: readonly TextExpectation[],
  actual: readonly AnswerAnnotation[],
  anyPosition: boolean,
): string | undefined {
  if (expected.length === 0) return undefined;
  const matches = (expectation: TextExpectation, { text, bareText }: AnswerAnnotation) =>
    matchesText(expectation, [text, bareText], anyPosition);
  if (actual.length === 0)
    return `want ${level} ${expected.map(formatExpectation).join(", ")}, got none`;
  const missing = expected.find((each) => !actual.some((annotation) => matches(each, annotation)));
  if (missing !== undefined)
    return `want ${level} ${formatExpectation(missing)}, ${listed(actual)}`;
  const surplus = actual.find((annotation) => !expected.some((each) => matches(each, annotation)));
  return surplus === undefined ? undefined : `${level} not wanted: ${surplus.text}`;
}

export function formatExpectation(expectation: TextExpectation): string {
  switch (expectation.kind) {
    case "any":
      return "of any text";
    case "message":
      return `"${expectation.text}"`;
    case "pattern":
      return String(expectation.pattern);
  }
}

function withoutPosition(text: string): string {
  return text.replace(/ \(\d+:\d+\)$/, "");
}

function patternOfAnyPosition({ source }: RegExp): RegExp {
  return new RegExp(source.replace(/ \\\(\d+:\d+\\\)(?=\$?$)/, " \\(\\d+:\\d+\\)"));
}

function listed(annotations: readonly AnswerAnnotation[]): string {
  return `got ${annotations.map(({ text }) => text).join(" | ")}`;
}

function describe(series: readonly PointSeries[]): string {
  if (series.length === 0) return "nothing";
  return series
    .slice(0, 5)
    .map(({ labels, points }) => `${formatLabels(labels)} ${points.map(formatPoint).join(" ")}`)
    .join("; ");
}

function formatWanted(value: DescribedValue): string {
  switch (value.kind) {
    case "absent":
      return "_";
    case "stale":
      return "stale";
    case "float":
      return String(value.value);
    case "histogram":
      return formatHistogram(value.histogram, value.hintSet);
  }
}
