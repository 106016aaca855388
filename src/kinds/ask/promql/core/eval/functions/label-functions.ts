/** label_replace and label_join, which read and change labels only. */

import { compileRegex, type TextMatcher } from "../../compile-regex.ts";
import { PromqlError } from "../../engine-types.ts";
import { type Labels, metricNameLabel } from "../../labels.ts";
import type { StepSeries } from "../../model.ts";
import { mergeDuplicates } from "../merge-duplicates.ts";
import { stringAt, stringsFrom, vectorAt } from "./arguments.ts";
import { expandTemplate, parseTemplate } from "./expand-template.ts";
import type { InstantContext, InstantFunction, InstantResult } from "./types.ts";

/** Nested calls that each double a value must not fill the memory. */
const valueLengthMax = 1024 ** 2;

const labelReplace: InstantFunction = (args, context) => {
  const target = stringAt(args, 1);
  const template = parseTemplate(stringAt(args, 2));
  const source = stringAt(args, 3);
  const pattern = stringAt(args, 4);
  const regex = compileReplaceRegex(pattern);
  if (!isLabelName(target)) {
    throw failure(`invalid destination label name in label_replace(): ${target}`);
  }
  // Cached, because many series share a label's value.
  const replacements = new Map<string, string | undefined>();
  const replacementFor = (value: string): string | undefined => {
    if (!replacements.has(value)) {
      const groups = regex.exec(value);
      const text = groups && expandTemplate(template, groups, regex.groupNames, checkLength);
      replacements.set(value, text);
    }
    return replacements.get(value);
  };
  const newValue = (labels: Labels): string | undefined => replacementFor(labels.get(source));
  return relabelled(vectorAt(args, 0), target, newValue, context);
};

function compileReplaceRegex(pattern: string): TextMatcher {
  try {
    return compileRegex(pattern);
  } catch (error) {
    if (!(error instanceof PromqlError)) throw error;
    throw failure(`invalid regular expression in label_replace(): ${pattern}`);
  }
}

const labelJoin: InstantFunction = (args, context) => {
  const target = stringAt(args, 1);
  const separator = stringAt(args, 2);
  const sources = stringsFrom(args, 3);
  for (const source of sources) {
    if (!isLabelName(source)) {
      throw failure(`invalid source label name in label_join(): ${source}`);
    }
  }
  if (!isLabelName(target)) {
    throw failure(`invalid destination label name in label_join(): ${target}`);
  }
  const newValue = (labels: Labels): string => {
    const values = sources.map((source) => labels.get(source));
    const joints = separator.length * Math.max(0, values.length - 1);
    checkLength(values.reduce((sum, { length }) => sum + length, joints));
    return values.join(separator);
  };
  return relabelled(vectorAt(args, 0), target, newValue, context);
};

/** `newValue` returns the value of the label `target`; undefined leaves the series unchanged. */
function relabelled(
  series: readonly StepSeries[],
  target: string,
  newValue: (labels: Labels) => string | undefined,
  { make }: InstantContext,
): InstantResult {
  const changed = series.map((one): StepSeries => {
    const value = newValue(one.labels);
    if (value === undefined) return one;
    // A name that was just set must stay.
    const dropName = target === metricNameLabel ? false : one.dropName;
    return { ...one, labels: make(one.labels.with(target, value)), dropName };
  });
  return { type: "vector", series: mergeDuplicates(changed) };
}

/** Called before the text is created. */
function checkLength(length: number): void {
  if (length <= valueLengthMax) return;
  throw failure(`a label's value would have more than ${valueLengthMax} characters`);
}

/** Whether the text can be written as UTF-8. */
function isLabelName(name: string): boolean {
  return name !== "" && name.isWellFormed();
}

function failure(message: string): PromqlError {
  return new PromqlError("execution", message);
}

export const labelFunctions: readonly (readonly [name: string, evaluate: InstantFunction])[] = [
  ["label_join", labelJoin],
  ["label_replace", labelReplace],
];
