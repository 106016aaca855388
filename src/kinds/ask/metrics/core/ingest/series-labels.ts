/**
 * Sorts the labels that a sender gave and checks them like Prometheus; a problem is reported as
 * text.
 */
import { compareText, Labels, metricNameLabel } from "../../../promql/core/index.ts";
import { type LabelLimits, labelProblem, usualLabelLimits } from "./label-limits.ts";
import { labelsText } from "./labels-text.ts";

/** A sender's series. If it has a `problem`, its samples are refused and `labels` is empty. */
export interface KnownSeries {
  readonly labels: Labels;
  readonly problem: string | undefined;
}

/** Takes ownership of `pairs`: name, value, … in any order; `undefined` is invalid UTF-8. */
export function knownSeries(
  pairs: (string | undefined)[],
  limits: LabelLimits = usualLabelLimits,
): KnownSeries {
  const tooMuch = labelProblem(pairs, limits);
  if (tooMuch !== undefined) return refused(tooMuch);
  if (!pairs.every((text) => text !== undefined)) {
    const shown = pairs.map((text) => text ?? "\ufffd");
    return refused(`invalid metric name or labels, got ${labelsText(shown)}`);
  }
  const sorted = isSorted(pairs) ? pairs : sortPairs(pairs);
  const duplicate = duplicateName(sorted);
  const hasEmptyName = sorted[0] === "" && sorted.length > 0;
  if (hasEmptyName || !hasMetricName(sorted)) {
    return refused(`invalid metric name or labels, got ${labelsText(sorted)}`);
  }
  if (duplicate !== undefined) {
    const shown = labelsText(sorted);
    return refused(`invalid labels for series, labels ${shown}, duplicated label ${duplicate}`);
  }
  return { labels: new Labels(withoutEmptyValues(sorted)), problem: undefined };
}

/** The labels of an exemplar: they need no metric name and may be in any order. */
export function exemplarLabels(pairs: readonly string[]): Labels {
  const entries: [string, string][] = [];
  for (let index = 0; index < pairs.length; index += 2) {
    entries.push([pairs[index] as string, pairs[index + 1] as string]);
  }
  return Labels.fromPairs(entries);
}

/** Prometheus drops exemplars with more characters. Counting UTF-16 units is slightly stricter. */
const exemplarTextMax = 128;

export function isExemplarTooLong(labels: Labels): boolean {
  return labels.pairs.reduce((sum, text) => sum + text.length, 0) > exemplarTextMax;
}

function refused(problem: string): KnownSeries {
  return { labels: Labels.empty, problem };
}

function isSorted(pairs: readonly string[]): boolean {
  for (let index = 2; index < pairs.length; index += 2) {
    if (compareText(pairs[index - 2] as string, pairs[index] as string) > 0) return false;
  }
  return true;
}

function sortPairs(pairs: readonly string[]): string[] {
  const order = Array.from({ length: pairs.length / 2 }, (_, index) => index * 2);
  order.sort((a, b) => compareText(pairs[a] as string, pairs[b] as string) || a - b);
  return order.flatMap((index) => [pairs[index] as string, pairs[index + 1] as string]);
}

function duplicateName(pairs: readonly string[]): string | undefined {
  for (let index = 2; index < pairs.length; index += 2) {
    if (pairs[index - 2] === pairs[index]) return pairs[index];
  }
  return undefined;
}

function hasMetricName(pairs: readonly string[]): boolean {
  for (let index = 0; index < pairs.length; index += 2) {
    if (pairs[index] === metricNameLabel) return pairs[index + 1] !== "";
  }
  return false;
}

function withoutEmptyValues(pairs: readonly string[]): readonly string[] {
  for (let index = 1; index < pairs.length; index += 2) {
    if (pairs[index] !== "") continue;
    return pairs.filter((_, at) => pairs[at | 1] !== "");
  }
  return pairs;
}
