/** `count_values`: for each group one series per distinct value, which counts its samples. */
import { PromqlError } from "../engine-types.ts";
import { formatFloat } from "../format-float.ts";
import { histogramToText } from "../histogram/text.ts";
import type { MutableSteps } from "../kernels/types.ts";
import type { Labels } from "../labels.ts";
import { groupLabels } from "../leaf/group-labels.ts";
import { type StepSeries, stepAbsent, stepFloat } from "../model.ts";
import { quoteText } from "../print/quote.ts";
import type { Grouping } from "./grouped-series.ts";
import { newColumns, seriesOf } from "./step-columns.ts";

export function countValues(
  valueLabel: string,
  { names, without }: Grouping,
  series: readonly StepSeries[],
  steps: number,
  make: (labels: Labels) => Labels = (labels) => labels,
): readonly StepSeries[] {
  checkLabelName(valueLabel);
  const grouping = without ? names : [...names, valueLabel];
  const results = new Map<string, { labels: Labels; columns: MutableSteps }>();
  for (const one of series) {
    // Values mostly repeat from step to step, and creating labels is expensive.
    const byText = new Map<string, MutableSteps>();
    for (let step = 0; step < steps; step += 1) {
      if (one.kinds[step] === stepAbsent) continue;
      const text = textOf(one, step);
      let columns = byText.get(text);
      if (columns === undefined) {
        const labels = groupLabels(one.labels.with(valueLabel, text), grouping, without);
        columns = results.get(labels.key)?.columns;
        if (columns === undefined) {
          const { key } = make(labels);
          columns = newColumns(steps);
          results.set(key, { labels, columns });
        }
        byText.set(text, columns);
      }
      columns.kinds[step] = stepFloat;
      columns.values[step] = (columns.values[step] as number) + 1;
    }
  }
  return [...results.values()].map(({ labels, columns }) => seriesOf(labels, false, columns));
}

function textOf({ values, histograms }: StepSeries, step: number): string {
  const histogram = histograms?.[step];
  return histogram === undefined ? formatFloat(values[step] as number) : histogramToText(histogram);
}

function checkLabelName(name: string): void {
  if (name === "" || !name.isWellFormed()) {
    throw new PromqlError("execution", `invalid label name ${quoteText(name)}`);
  }
}
