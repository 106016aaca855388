/** Functions of a native histogram as a whole. */
import type { FloatHistogram } from "../../histogram/float-histogram.ts";
import { histogramVariance } from "../../histogram/quantile.ts";
import { vectorAt } from "./arguments.ts";
import { mapHistograms } from "./results.ts";
import type { InstantFunction } from "./types.ts";

const ofOneHistogram: readonly (readonly [
  name: string,
  compute: (histogram: FloatHistogram) => number,
])[] = [
  ["histogram_avg", ({ sum, count }) => sum / count],
  ["histogram_count", ({ count }) => count],
  ["histogram_stddev", (histogram) => Math.sqrt(histogramVariance(histogram))],
  ["histogram_stdvar", histogramVariance],
  ["histogram_sum", ({ sum }) => sum],
];

export const histogramFunctions: readonly (readonly [name: string, evaluate: InstantFunction])[] =
  ofOneHistogram.map(([name, compute]) => [
    name,
    (args, context) => mapHistograms(vectorAt(args, 0), context, compute),
  ]);
