/**
 * A leaf of a query: the part of it that workers compute next to the data. It reads one selector and gives one of
 * three results. All of a series' samples that a step's window reaches are read by one execution, so windows are never split.
 *
 *   raw       the samples themselves
 *   steps     the selector, or a function of its windows, at every step: a kernel ran
 *   partials  the same, aggregated by group within the shard, so that merging the shards' results is exact
 */

import type { Labels } from "./labels.ts";
import type { Annotation, CallPlace, Grid, RawSeries, StepSeries } from "./model.ts";

export interface Matcher {
  readonly name: string;
  readonly op: "=" | "!=" | "=~" | "!~";
  readonly value: string;
}

export interface BaseExpr {
  readonly matchers: readonly Matcher[];
  /** Steps at which it is evaluated. What `@` fixes has a grid of one step, and `offsetMs` that leads to the fixed time. */
  readonly grid: Grid;
  /** Absent: an instant selector, which looks back `lookbackMs`. A window is (t - offset - range, t - offset]. */
  readonly rangeMs: number | undefined;
  readonly offsetMs: number;
  readonly lookbackMs: number;
  readonly bounds: "anchored" | "smoothed" | undefined;
  /** Whether start timestamps count as resets. */
  readonly useStartTs: boolean;
  /** Only the count and sum of histograms are wanted: their buckets are left out once resets have been found by them. */
  readonly histogramStats?: true;
  readonly output: LeafOutput;
}

export type LeafOutput =
  /** Every sample that a window of the grid reaches (with `bounds`, also those around it that they need). */
  | { readonly kind: "raw" }
  | { readonly kind: "steps"; readonly call: LeafCall | undefined }
  | {
      readonly kind: "partials";
      readonly call: LeafCall | undefined;
      readonly aggregate: LeafAggregate;
    };

/** A function of a range vector, or `timestamp` or `start_timestamp` of an instant selector. */
export interface LeafCall {
  readonly name: string;
  /** The arguments that are not the selector, in order. All constant, or the leaf would be raw. */
  readonly args: readonly number[];
}

export type PartialOp = "sum" | "avg" | "count" | "min" | "max" | "group" | "topk" | "bottomk";

export interface LeafAggregate {
  readonly op: PartialOp;
  readonly grouping: readonly string[];
  readonly without: boolean;
  /** For topk and bottomk. */
  readonly k: number | undefined;
}

/** Annotations of leaves say where within the call; whoever uses the leaf knows where that is in the text. */
export interface LeafAnnotation {
  readonly level: Annotation["level"];
  readonly message: string;
  readonly place: CallPlace;
}

/** Of one group: what its members in this shard add up to, per step. `counts[step]` is 0 where it has none. */
export interface PartialGroup {
  readonly labels: Labels;
  readonly dropName: boolean;
  readonly counts: Float64Array;
  /** The sum, the least or the greatest; absent for count and group. */
  readonly values: Float64Array | undefined;
  /** Of sum and avg: what Kahan's summation has lost so far. */
  readonly compensations: Float64Array | undefined;
}

export interface LeafStats {
  readonly seriesCount: number;
  /** Samples that its windows reached, each once per series: what limits count. */
  readonly sampleCount: number;
}

export type LeafResult = {
  readonly annotations: readonly LeafAnnotation[];
  readonly stats: LeafStats;
} & (
  | { readonly kind: "raw"; readonly series: readonly RawSeries[] }
  /** In the order of the labels. */
  | { readonly kind: "steps"; readonly series: readonly StepSeries[] }
  /**
   * Groups, and series that could not be aggregated here because they have histograms (or, for topk and bottomk, the
   * candidates): whoever merges aggregates those itself, together with the groups. Of avg, the same labels may stand more
   * than once: each a finite sum, which together would overflow.
   */
  | {
      readonly kind: "partials";
      readonly groups: readonly PartialGroup[];
      readonly series: readonly StepSeries[];
    }
);
