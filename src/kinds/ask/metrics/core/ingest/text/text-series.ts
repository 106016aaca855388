/**
 * Series as a text writes them, recognised by that text from line to line and from scrape to
 * scrape.
 */
import { compareText, Labels } from "../../../../promql/core/index.ts";
import type { MetricMetadata } from "../../model.ts";
import { quoted } from "../labels-text.ts";
import { openMetricsFloat, parseFloat64 } from "./parse-number.ts";
import { SeriesProblem } from "./parse-series.ts";

/** The series of one metric point, which share a `_created` line. */
export interface StartGroup {
  /** 0 when unknown. Valid only while `generation` is that of the current text. */
  startTs: number;
  generation: number;
}

export interface TextSeries {
  /** The series exactly as the line writes it. */
  readonly text: string;
  /** Dense, in order of first appearance; negative when `isStart`. */
  readonly number: number;
  readonly labels: Labels;
  readonly group: StartGroup | undefined;
  /**
   * Whether this is a `_created` line: its value is the start of its group, and it is no series.
   */
  readonly isStart: boolean;
  /** The map that this series belongs to: the series of the same family type. */
  readonly kind: unknown;
  /** The series that followed it last time: texts repeat their order. */
  next: TextSeries | undefined;
}

type MetricType = MetricMetadata["type"];

/** Whether `_created` lines of this type are start timestamps. */
export function hasStarts(type: MetricType): boolean {
  return type === "counter" || type === "histogram" || type === "summary";
}

/** Sorts the labels, drops empty values, and normalises bounds and quantiles. */
export function labelsOfPairs(pairs: readonly string[], type: MetricType): Labels {
  const entries: [string, string][] = [];
  for (let index = 0; index < pairs.length; index += 2) {
    const name = pairs[index] as string;
    entries.push([name, normalValue(type, name, pairs[index + 1] as string)]);
  }
  entries.sort(([a], [b]) => compareText(a, b));
  for (let index = 1; index < entries.length; index += 1) {
    const name = entries[index]?.[0] ?? "";
    if (entries[index - 1]?.[0] === name) {
      throw new SeriesProblem(`label name ${quoted(name)} is not unique`);
    }
  }
  if (entries[0]?.[0] === "") throw new SeriesProblem("a label name is empty");
  return new Labels(entries.filter(([, value]) => value !== "").flat());
}

function normalValue(type: MetricType, name: string, value: string): string {
  const isNumber =
    (type === "summary" && name === "quantile") || (type === "histogram" && name === "le");
  if (!isNumber) return value;
  const number = parseFloat64(value);
  return number === undefined ? value : openMetricsFloat(number);
}

/** Series with equal keys share their start. */
export function groupKeyOf(labels: Labels, family: string): string {
  const names = new Set(["__name__", "le", "quantile"]);
  return `${family}\n${labels.without(names).key}`;
}
