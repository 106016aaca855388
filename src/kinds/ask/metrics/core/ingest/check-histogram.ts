/** Checks a native histogram from outside; problems are described in Prometheus's words. */
import { type FloatHistogram, histogramFault } from "../../../promql/core/index.ts";

/** Undefined when valid. With `integer`, the counts are whole numbers and must add up. */
export function histogramProblem(histogram: FloatHistogram, integer: boolean): string | undefined {
  return histogramFault(histogram) ?? (integer ? countProblem(histogram) : undefined);
}

/** Sums beyond 2^53 are not checked, because whole numbers are no longer exact there. */
function countProblem(histogram: FloatHistogram): string | undefined {
  const { count, sum, zeroCount, positiveBuckets, negativeBuckets } = histogram;
  let found = zeroCount;
  for (const bucket of positiveBuckets) found += bucket;
  for (const bucket of negativeBuckets) found += bucket;
  if (!Number.isSafeInteger(found) || !Number.isSafeInteger(count)) return undefined;
  const isWrong = Number.isNaN(sum) ? found > count : found !== count;
  if (!isWrong) return undefined;
  const claim = Number.isNaN(sum)
    ? "should be at least the number of observations found in the buckets"
    : "should equal the number of observations found in the buckets (in absence of NaN)";
  return `${found} observations found in buckets, but the Count field is ${count}: histogram's observation count ${claim}`;
}
