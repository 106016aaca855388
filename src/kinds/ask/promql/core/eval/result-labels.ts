/** Labels of results: removal with the metric name, matching, and printing. */

import { type Labels, metricNameLabel } from "../labels.ts";
import type { StepSeries } from "../model.ts";
import { quoteText } from "../print/quote.ts";

/** Labels that describe the metric, and have no meaning for a computed value. */
export const metadataLabels: ReadonlySet<string> = new Set([
  metricNameLabel,
  "__type__",
  "__unit__",
]);

export function withoutMetadata(labels: Labels): Labels {
  return labels.without(metadataLabels);
}

/** Removes names at once, unless removal is delayed. */
export function dropNamesNow(series: readonly StepSeries[], delayed: boolean): StepSeries[] {
  if (delayed) return [...series];
  return series.map((one) =>
    one.dropName ? { ...one, labels: withoutMetadata(one.labels) } : one,
  );
}

/** The labels by which the sides of an operation are matched. */
export class LabelMatching {
  readonly #on: boolean;
  readonly #names: ReadonlySet<string>;

  constructor(on: boolean, names: readonly string[]) {
    this.#on = on;
    this.#names = new Set(on ? names : [metricNameLabel, ...names]);
  }

  labelsOf(labels: Labels): Labels {
    return this.#on ? labels.keep(this.#names) : labels.without(this.#names);
  }

  /** Equal for two series exactly when they match. */
  keyOf({ pairs }: Labels): string {
    let key = "";
    for (let index = 0; index < pairs.length; index += 2) {
      const name = pairs[index] as string;
      if (this.#names.has(name) !== this.#on) continue;
      const value = pairs[index + 1] as string;
      key += `${name.length}:${name}${value.length}:${value}`;
    }
    return key;
  }
}

const plainLabelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Formats labels like Prometheus's messages: `{a="1", b="2"}`. */
export function labelsToText(labels: Labels): string {
  const parts: string[] = [];
  for (const [name, value] of labels.entries()) {
    parts.push(`${plainLabelName.test(name) ? name : quoteText(name)}=${quoteText(value)}`);
  }
  return `{${parts.join(", ")}}`;
}
