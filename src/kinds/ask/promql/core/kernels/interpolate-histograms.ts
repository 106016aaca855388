/** A histogram on the line between two samples. */
import { annotate, mismatchedCustomBuckets } from "../annotations.ts";
import { addHistograms, subHistograms } from "../histogram/combine.ts";
import { detectReset } from "../histogram/detect-reset.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { scaleHistogram } from "../histogram/scale.ts";
import type { AnnotationSink, CallPlace } from "../model.ts";

export interface Interpolation {
  /** A counter that was reset in between is taken to rise from nothing. */
  readonly isCounter: boolean;
  readonly place: CallPlace;
  readonly annotations: AnnotationSink;
}

/** Undefined where the two have exponential and custom buckets. */
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
