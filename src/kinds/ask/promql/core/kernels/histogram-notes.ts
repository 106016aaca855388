/**
 * Collects notes about a series' histogram windows as flags, so that texts are created once per
 * series.
 */
import {
  annotate,
  counterResetCollision,
  mismatchedCustomBuckets,
  mixedExponentialCustomHistograms,
  nativeHistogramNotCounter,
  nativeHistogramNotGauge,
  startTimeOverlap,
} from "../annotations.ts";
import { addHistograms, type CombineResult, subHistograms } from "../histogram/combine.ts";
import { customBucketsSchema, type FloatHistogram } from "../histogram/float-histogram.ts";
import type { AnnotationSink } from "../model.ts";

export const noted = {
  notCounter: 1,
  notGauge: 2,
  mixedSchemas: 4,
  reconciledInAddition: 8,
  reconciledInSubtraction: 16,
  overlap: 32,
  reconciledInAggregation: 64,
  resetCollision: 128,
} as const;

export class HistogramNotes {
  /** The flags of the current window. */
  window = 0;
  #all = 0;
  #overlaps = 0;

  /** Ends the current window. */
  keepWindow(): void {
    this.#all |= this.window;
    if ((this.window & noted.overlap) !== 0) this.#overlaps += 1;
    this.window = 0;
  }

  /** Notes mixed exponential and custom buckets, which hides other notes of the window. */
  onlyMixedSchemas(): void {
    this.window = noted.mixedSchemas;
  }

  /** Undefined when the two are incompatible. */
  add(a: FloatHistogram, b: FloatHistogram): FloatHistogram | undefined {
    return this.#combined(addHistograms(a, b), noted.reconciledInAddition);
  }

  sub(a: FloatHistogram, b: FloatHistogram): FloatHistogram | undefined {
    return this.#combined(subHistograms(a, b), noted.reconciledInSubtraction);
  }

  #combined(combined: CombineResult, reconciled: number): FloatHistogram | undefined {
    if (combined === "incompatible") {
      this.window |= noted.mixedSchemas;
      return undefined;
    }
    if (combined.boundsReconciled) this.window |= reconciled;
    return combined.result;
  }

  report(metricName: string, annotations: AnnotationSink): void {
    const all = this.#all;
    const say = (flag: number, note: Parameters<typeof annotate>[1]) => {
      if ((all & flag) !== 0) annotate(annotations, note, 0);
    };
    say(noted.notCounter, nativeHistogramNotCounter(metricName));
    say(noted.notGauge, nativeHistogramNotGauge(metricName));
    say(noted.mixedSchemas, mixedExponentialCustomHistograms(metricName));
    say(noted.resetCollision, counterResetCollision("aggregation"));
    say(noted.overlap, startTimeOverlap(metricName, this.#overlaps));
    say(noted.reconciledInAddition, mismatchedCustomBuckets("addition"));
    say(noted.reconciledInSubtraction, mismatchedCustomBuckets("subtraction"));
    say(noted.reconciledInAggregation, mismatchedCustomBuckets("aggregation"));
  }
}

export function usesCustomBuckets(histogram: FloatHistogram): boolean {
  return histogram.schema === customBucketsSchema;
}
