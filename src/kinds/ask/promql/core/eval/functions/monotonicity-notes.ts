/** Collects by metric how classic buckets had to be changed, so that each text is created once. */
import { annotate, forcedMonotonicity } from "../../annotations.ts";
import type { AnnotationSink } from "../../model.ts";
import type { Monotonicity } from "./classic-buckets.ts";

interface Gathered extends Monotonicity {
  occurrences: number;
  fromMs: number;
  toMs: number;
}

export class MonotonicityNotes {
  readonly #byName = new Map<string, Gathered>();

  add(metricName: string, forced: Monotonicity, atMs: number): void {
    const known = this.#byName.get(metricName);
    if (known === undefined) {
      this.#byName.set(metricName, { ...forced, occurrences: 1, fromMs: atMs, toMs: atMs });
      return;
    }
    known.bucketMin = Math.min(known.bucketMin, forced.bucketMin);
    known.bucketMax = Math.max(known.bucketMax, forced.bucketMax);
    known.diffMax = Math.max(known.diffMax, forced.diffMax);
    known.occurrences += 1;
    known.fromMs = Math.min(known.fromMs, atMs);
    known.toMs = Math.max(known.toMs, atMs);
  }

  report(annotations: AnnotationSink, place: number): void {
    for (const [metricName, gathered] of this.#byName) {
      annotate(annotations, forcedMonotonicity(metricName, gathered), place);
    }
  }
}
