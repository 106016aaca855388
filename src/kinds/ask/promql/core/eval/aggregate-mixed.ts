/**
 * sum and avg of a group with histograms. A step with both floats and histograms has no result, and
 * an annotation says so. The same holds for exponential and custom buckets.
 */
import {
  type AnnotationSet,
  annotate,
  counterResetCollision,
  mismatchedCustomBuckets,
  mixedExponentialCustomHistograms,
  mixedFloatsHistogramsInAggregation,
  type Note,
} from "../annotations.ts";
import { HistogramAccumulator } from "../histogram/accumulator.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { compactHistogram } from "../histogram/scale.ts";
import { putHistogram } from "../kernels/types.ts";
import { type Position, type StepSeries, stepAbsent, stepFloat, stepHistogram } from "../model.ts";
import { newColumns, type StepColumns } from "./step-columns.ts";

export interface MixedGroup {
  /** The aggregate of all floats of the group. */
  readonly floats: StepColumns;
  /** 1 at steps with floats of series outside `members`. Undefined when there are none. */
  readonly elsewhere: Uint8Array | undefined;
  readonly members: readonly StepSeries[];
}

export function aggregateMixed(
  op: "sum" | "avg",
  { floats, elsewhere, members }: MixedGroup,
  annotations: AnnotationSet<Position>,
  position: Position,
): StepColumns {
  const note = (made: Note): void => annotate(annotations, made, position);
  const steps = floats.kinds.length;
  const out = newColumns(steps);
  for (let step = 0; step < steps; step += 1) {
    if (members.some(({ kinds }) => kinds[step] === stepHistogram)) {
      const histogram = accumulate(op, members, step, elsewhere?.[step] === 1, note);
      if (histogram !== undefined) putHistogram(out, step, histogram);
    } else if (floats.kinds[step] !== stepAbsent) {
      out.kinds[step] = stepFloat;
      out.values[step] = floats.values[step] as number;
    }
  }
  return out;
}

/**
 * Aggregates a step with at least one histogram. Like Prometheus, ignores histograms after a float,
 * and everything after incompatible buckets.
 */
function accumulate(
  op: "sum" | "avg",
  members: readonly StepSeries[],
  step: number,
  floatsElsewhere: boolean,
  note: (note: Note) => void,
): FloatHistogram | undefined {
  const accumulator = new HistogramAccumulator(op === "sum" ? "sum" : "mean");
  let floats = floatsElsewhere;
  let floatFirst = floatsElsewhere;
  for (const { labels, kinds, histograms } of members) {
    if (kinds[step] === stepFloat) {
      floats = true;
      floatFirst ||= accumulator.added === 0;
    } else if (kinds[step] === stepHistogram && !floatFirst) {
      if (accumulator.add(histograms?.[step] as FloatHistogram)) continue;
      note(mixedExponentialCustomHistograms(labels.name));
      if (floats) note(mixedFloatsHistogramsInAggregation());
      return undefined;
    }
  }
  if (accumulator.boundsReconciled) note(mismatchedCustomBuckets("aggregation"));
  if (floats) {
    note(mixedFloatsHistogramsInAggregation());
    return undefined;
  }
  if (accumulator.counterResetCollision) note(counterResetCollision("aggregation"));
  const result = accumulator.finish();
  return result === undefined ? undefined : compactHistogram(result);
}
