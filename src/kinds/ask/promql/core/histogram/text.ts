/** Formats a histogram like Prometheus. */
import { formatGeneral } from "../go-format.ts";
import { BucketWalk } from "./bucket-walk.ts";
import type { FloatHistogram } from "./float-histogram.ts";

/** The readable form: `{count:3, sum:5, (1,2]:2, (2,4]:1}`. */
export function histogramToText(histogram: FloatHistogram): string {
  const { count, sum, zeroCount, zeroThreshold } = histogram;
  const negative = sideToTexts(histogram, "negative").reverse();
  const zero = `[${formatGeneral(-zeroThreshold)},${formatGeneral(zeroThreshold)}]:${formatGeneral(zeroCount)}`;
  const parts = [
    `count:${formatGeneral(count)}`,
    `sum:${formatGeneral(sum)}`,
    ...negative,
    ...(zeroCount === 0 ? [] : [zero]),
    ...sideToTexts(histogram, "positive"),
  ];
  return `{${parts.join(", ")}}`;
}

function sideToTexts(histogram: FloatHistogram, side: "positive" | "negative"): string[] {
  const texts: string[] = [];
  const walk = new BucketWalk(histogram, side);
  while (walk.next()) {
    if (walk.count === 0) continue;
    const bounds = `${formatGeneral(walk.lower)},${formatGeneral(walk.upper)}`;
    const open = walk.lowerInclusive ? "[" : "(";
    const close = walk.upperInclusive ? "]" : ")";
    texts.push(`${open}${bounds}${close}:${formatGeneral(walk.count)}`);
  }
  return texts;
}
