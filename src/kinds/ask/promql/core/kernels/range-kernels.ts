/** Every function of a range vector by name, except absent_over_time, which is about all series. */

import { changes, resets } from "./changes.ts";
import { floatKernel } from "./float-kernel.ts";
import {
  avgOverTime,
  maxOverTime,
  minOverTime,
  stddevOverTime,
  stdvarOverTime,
  sumOverTime,
  tsOfMaxOverTime,
  tsOfMinOverTime,
} from "./float-over-time.ts";
import { summingKernel } from "./histogram-over-time.ts";
import { idelta, irate } from "./instant-rate.ts";
import { madOverTime, quantileOverTime } from "./order-statistics.ts";
import {
  countOverTime,
  firstOverTime,
  lastOverTime,
  presentOverTime,
  tsOfFirstOverTime,
  tsOfLastOverTime,
} from "./presence.ts";
import { delta, increase, rate } from "./rate.ts";
import { deriv, doubleExponentialSmoothing, predictLinear } from "./regression.ts";
import type { RangeKernel } from "./types.ts";

export const rangeKernels: ReadonlyMap<string, RangeKernel> = new Map<string, RangeKernel>([
  ["avg_over_time", summingKernel("mean", avgOverTime)],
  ["changes", changes],
  ["count_over_time", countOverTime],
  ["delta", delta],
  ["deriv", floatKernel(deriv)],
  ["double_exponential_smoothing", doubleExponentialSmoothing],
  ["first_over_time", firstOverTime],
  ["idelta", idelta],
  ["increase", increase],
  ["irate", irate],
  ["last_over_time", lastOverTime],
  ["mad_over_time", floatKernel(madOverTime)],
  ["max_over_time", floatKernel(maxOverTime)],
  ["min_over_time", floatKernel(minOverTime)],
  ["predict_linear", floatKernel(predictLinear)],
  ["present_over_time", presentOverTime],
  ["quantile_over_time", floatKernel(quantileOverTime)],
  ["rate", rate],
  ["resets", resets],
  ["stddev_over_time", floatKernel(stddevOverTime)],
  ["stdvar_over_time", floatKernel(stdvarOverTime)],
  ["sum_over_time", summingKernel("sum", sumOverTime)],
  ["ts_of_first_over_time", tsOfFirstOverTime],
  ["ts_of_last_over_time", tsOfLastOverTime],
  ["ts_of_max_over_time", floatKernel(tsOfMaxOverTime)],
  ["ts_of_min_over_time", floatKernel(tsOfMinOverTime)],
]);

/** Whether the result has the samples themselves, and so keeps their name. */
export function kernelKeepsName(name: string): boolean {
  return name === "last_over_time" || name === "first_over_time";
}

const functionsOfBounds = {
  anchored: ["changes", "delta", "increase", "rate", "resets"],
  smoothed: ["delta", "increase", "rate"],
} as const;

/** Why a function cannot have a modifier, in Prometheus's words; undefined if it can. */
export function boundsError(name: string, bounds: "anchored" | "smoothed"): string | undefined {
  const allowed: readonly string[] = functionsOfBounds[bounds];
  if (allowed.includes(name)) return undefined;
  return `${bounds} modifier can only be used with: ${allowed.join(", ")} - not with ${name}`;
}
