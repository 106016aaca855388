/** Interpolates a histogram between two samples. */
import { annotate, mismatchedCustomBuckets } from "../annotations.ts";
import { addHistograms, subHistograms } from "../histogram/combine.ts";
import { detectReset } from "../histogram/detect-reset.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { scaleHistogram } from "../histogram/scale.ts";
import type { AnnotationSink, CallPlace } from "../model.ts";

export interface Interpolation {
  /** A counter that was reset in between rises from zero. */
  readonly isCounter: boolean;
  readonly place: CallPlace;
  readonly annotations: AnnotationSink;
}

/** Undefined when one has exponential and the other custom buckets. */
export function interpolateHistograms(
  before: FloatHistogram,
  beforeMs: number,
  after: FloatHistogram,
  afterMs: number,
  atMs: number,
  { isCounter, place, annotations }: Interpolation,
): FloatHistogram | undefined {
  if (atMs === beforeMs) return before;
  if (atMs === afterMs) return after;
  const fraction = (atMs - beforeMs) / (afterMs - beforeMs);
  if (isCounter && detectReset(after, before)) return scaleHistogram(after, fraction);
  const change = subHistograms(after, before);
  if (change === "incompatible") return undefined;
  if (change.boundsReconciled) annotate(annotations, mismatchedCustomBuckets("subtraction"), place);
  const result = addHistograms(scaleHistogram(change.result, fraction), before);
  if (result === "incompatible") return undefined;
  if (result.boundsReconciled) annotate(annotations, mismatchedCustomBuckets("addition"), place);
  return result.result;
}
