/**
 * A leaf of a query: the part that workers compute next to the data. It reads one selector and
 * gives one of three results. One execution reads all samples of a series that a window reaches, so
 * windows are never split.
 *
 *   raw       the samples themselves
 *   steps     the selector, or a function of its windows, at every step
 *   partials  the same, aggregated by group within the shard; merging the shards is exact
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
  /** The steps to evaluate. With `@` it has one step, and `offsetMs` leads to the fixed time. */
  readonly grid: Grid;
  /** A window is (t - offset - range, t - offset]. Undefined for an instant selector. */
  readonly rangeMs: number | undefined;
  readonly offsetMs: number;
  readonly lookbackMs: number;
  readonly bounds: "anchored" | "smoothed" | undefined;
  /** Whether start timestamps count as resets. */
  readonly useStartTs: boolean;
  /** Only the count and sum of histograms are needed: buckets are dropped after finding resets. */
  readonly histogramStats?: true;
  readonly output: LeafOutput;
}

export type LeafOutput =
  /** Every sample that a window of the grid reaches, or that its `bounds` need around it. */
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
  /** The other arguments, in order. All are constant, or the leaf would be raw. */
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

/** `place` is relative to the call; the user of the leaf knows the call's position. */
export interface LeafAnnotation {
  readonly level: Annotation["level"];
  readonly message: string;
  readonly place: CallPlace;
}

/** The aggregate of a group's members in this shard. `counts[step]` is 0 where it has none. */
export interface PartialGroup {
  readonly labels: Labels;
  readonly dropName: boolean;
  readonly counts: Float64Array;
  /** The sum, minimum or maximum; undefined for count and group. */
  readonly values: Float64Array | undefined;
  /** The Kahan compensations of sum and avg. */
  readonly compensations: Float64Array | undefined;
}

export interface LeafStats {
  readonly seriesCount: number;
  /** The samples that its windows reached, each once per series, for limits. */
  readonly sampleCount: number;
}

export type LeafResult = {
  readonly annotations: readonly LeafAnnotation[];
  readonly stats: LeafStats;
} & (
  | { readonly kind: "raw"; readonly series: readonly RawSeries[] }
  /** In label order. */
  | { readonly kind: "steps"; readonly series: readonly StepSeries[] }
  /**
   * Groups, and series that the merger must aggregate: those with histograms, or the candidates of
   * topk and bottomk. An average may have the same labels more than once, when the sums together
   * would overflow.
   */
  | {
      readonly kind: "partials";
      readonly groups: readonly PartialGroup[];
      readonly series: readonly StepSeries[];
    }
);
