/**
 * Native and classic histograms of a vector. Classic ones are assembled from the series of their
 * buckets. Where both exist for the same labels at a step, neither counts.
 */
import { annotate, badBucketLabel, mixedClassicNativeHistograms } from "../../annotations.ts";
import type { Labels } from "../../labels.ts";
import { type StepSeries, stepFloat, stepHistogram } from "../../model.ts";
import { hasSample } from "../step-columns.ts";
import { ClassicBuckets } from "./classic-buckets.ts";
import { parseBound } from "./parse-bound.ts";
import { annotatedName } from "./results.ts";
import type { InstantContext } from "./types.ts";

const boundLabel = "le";
const withoutBound: ReadonlySet<string> = new Set([boundLabel]);

export interface NativeInput {
  readonly series: StepSeries;
  /** 1 at the steps where it counts. */
  readonly usable: Uint8Array;
}

interface ClassicMember {
  readonly bound: number;
  readonly series: StepSeries;
}

/** The buckets of one classic histogram. */
export class ClassicInput {
  /** The labels without `le`. */
  readonly labels: Labels;
  readonly #members: ClassicMember[] = [];
  readonly #buckets: ClassicBuckets;
  /** 1 at the steps where a native histogram has the same labels. */
  #blocked: Uint8Array | undefined;

  constructor(labels: Labels, members: readonly ClassicMember[]) {
    this.labels = labels;
    this.#members = members.toSorted((a, b) => a.bound - b.bound);
    this.#buckets = new ClassicBuckets(members.length);
  }

  hasBucketAt(step: number): boolean {
    return this.#members.some(({ series }) => series.kinds[step] === stepFloat);
  }

  block(step: number, steps: number): void {
    this.#blocked ??= new Uint8Array(steps);
    this.#blocked[step] = 1;
  }

  /** The buckets at a step, valid until the next call; undefined when there are none. */
  bucketsAt(step: number): ClassicBuckets | undefined {
    if (this.#blocked?.[step] === 1) return undefined;
    const buckets = this.#buckets;
    buckets.clear();
    for (const { bound, series } of this.#members) {
      if (series.kinds[step] === stepFloat) buckets.push(bound, series.values[step] as number);
    }
    return buckets.size === 0 ? undefined : buckets;
  }
}

export interface HistogramInput {
  readonly native: readonly NativeInput[];
  readonly classic: readonly ClassicInput[];
}

/** `place` is the index of the vector among the arguments. */
export function histogramInput(
  series: readonly StepSeries[],
  place: number,
  context: InstantContext,
): HistogramInput {
  const native: NativeInput[] = [];
  const grouped = new Map<string, { labels: Labels; members: ClassicMember[] }>();
  for (const one of series) {
    if (one.histograms !== undefined) {
      const usable = where(one, stepHistogram);
      if (hasSample(usable)) native.push({ series: one, usable });
      if (!hasSample(where(one, stepFloat))) continue;
    }
    const text = one.labels.get(boundLabel);
    const bound = parseBound(text);
    if (bound === undefined) {
      const note = badBucketLabel(annotatedName(one.labels, context), text);
      annotate(context.annotations, note, place);
      continue;
    }
    const labels = one.labels.without(withoutBound);
    const group = grouped.get(labels.key);
    if (group === undefined) grouped.set(labels.key, { labels, members: [{ bound, series: one }] });
    else group.members.push({ bound, series: one });
  }
  const classic = new Map(
    [...grouped].map(([key, { labels, members }]) => [key, new ClassicInput(labels, members)]),
  );
  for (const one of native) settleConflicts(one, classic, place, context);
  return { native, classic: [...classic.values()] };
}

function where({ kinds }: StepSeries, kind: number): Uint8Array {
  return kinds.map((found) => (found === kind ? 1 : 0));
}

function settleConflicts(
  { series, usable }: NativeInput,
  classic: ReadonlyMap<string, ClassicInput>,
  place: number,
  context: InstantContext,
): void {
  const rival = classic.get(series.labels.key);
  if (rival === undefined) return;
  let found = false;
  for (let step = 0; step < usable.length; step += 1) {
    if (usable[step] === 0 || !rival.hasBucketAt(step)) continue;
    usable[step] = 0;
    rival.block(step, usable.length);
    found = true;
  }
  if (!found) return;
  const note = mixedClassicNativeHistograms(annotatedName(series.labels, context));
  annotate(context.annotations, note, place);
}
