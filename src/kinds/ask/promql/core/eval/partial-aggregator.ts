/**
 * Aggregates the series of a shard one after another, keeping only their groups. Rules: KL17 to
 * KL20.
 *
 * Floats are added like in Prometheus, in the order of the series. Series with a histogram at any
 * step are kept whole, for the merger. The caller may reuse what it passed to `add`. Annotations
 * and final values are left to the merger.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import { type HeldMemory, stepBytes, unboundedMemory } from "../held-memory.ts";
import { lostAfter } from "../histogram/kahan.ts";
import { compareLabels, type Labels } from "../labels.ts";
import { makeGrouper } from "../leaf/group-labels.ts";
import type { LeafAggregate, PartialGroup, PartialOp } from "../leaf.ts";
import { type StepSeries, stepFloat, stepHistogram } from "../model.ts";
import { addSeries } from "./aggregate-floats.ts";
import { BestValues } from "./best-values.ts";

interface Group {
  readonly labels: Labels;
  dropName: boolean;
  readonly counts: Float64Array;
  readonly values: Float64Array;
  readonly compensations: Float64Array;
  /** A further group of the same labels, for values that would overflow the sum of an average. */
  overflow: Group | undefined;
  readonly best: BestValues | undefined;
}

export interface PartialAggregate {
  /** In label order. An average may have the same labels more than once. */
  readonly groups: PartialGroup[];
  /**
   * In label order. For topk and bottomk, the steps at which a series was among the best so far.
   */
  readonly series: StepSeries[];
}

export interface AggregatorOptions {
  readonly onKept?: (labels: Labels) => void;
  readonly memory?: HeldMemory;
}

export class PartialAggregator {
  readonly #op: PartialOp;
  readonly #k: number;
  readonly #steps: number;
  readonly #groupOf: (labels: Labels) => Labels;
  readonly #groups = new Map<string, Group>();
  readonly #series: StepSeries[] = [];
  readonly #chosen: Uint8Array;
  readonly #onKept: (labels: Labels) => void;
  readonly #memory: HeldMemory;

  /** `onKept` gets the labels of each group, and of each series that is kept whole. */
  constructor(
    aggregate: LeafAggregate,
    stepCount: number,
    { onKept = () => undefined, memory = unboundedMemory }: AggregatorOptions = {},
  ) {
    this.#onKept = onKept;
    this.#memory = memory;
    memory.take(stepCount);
    this.#op = aggregate.op;
    this.#k = Math.trunc(aggregate.k ?? 0);
    this.#steps = stepCount;
    this.#groupOf = makeGrouper(aggregate.grouping, aggregate.without);
    this.#chosen = new Uint8Array(stepCount);
  }

  add(series: StepSeries): void {
    if (series.histograms !== undefined && series.kinds.includes(stepHistogram)) {
      this.#keep(series, series.kinds);
      return;
    }
    const group = this.#groupFor(series);
    const { kinds, values } = series;
    switch (this.#op) {
      case "sum":
        addSeries(
          { counts: group.counts, values: group.values, lost: group.compensations },
          series,
        );
        break;
      case "avg":
        this.#addToMeans(group, kinds, values);
        break;
      case "min":
        addToExtremes(group, kinds, values, this.#steps, -1);
        break;
      case "max":
        addToExtremes(group, kinds, values, this.#steps, 1);
        break;
      case "count":
      case "group":
        addToCounts(group, kinds, this.#steps);
        break;
      case "topk":
      case "bottomk":
        this.#addCandidate(group, series);
        break;
    }
  }

  finish(): PartialAggregate {
    const groups: PartialGroup[] = [];
    if (this.#op !== "topk" && this.#op !== "bottomk") {
      for (let group of this.#groups.values()) {
        groups.push(this.#partial(group));
        while (group.overflow !== undefined) {
          group = group.overflow;
          groups.push(this.#partial(group));
        }
      }
    }
    groups.sort((a, b) => compareLabels(a.labels, b.labels));
    this.#series.sort((a, b) => compareLabels(a.labels, b.labels));
    return { groups, series: this.#series };
  }

  #groupFor(series: StepSeries): Group {
    const labels = this.#groupOf(series.labels);
    let group = this.#groups.get(labels.key);
    if (group === undefined) {
      this.#onKept(labels);
      group = this.#makeGroup(labels);
      this.#groups.set(labels.key, group);
    }
    if (series.dropName) group.dropName = true;
    return group;
  }

  /** Arrays that the operation does not use are empty. */
  #makeGroup(labels: Labels): Group {
    const op = this.#op;
    const choosing = op === "topk" || op === "bottomk";
    const summing = op === "sum" || op === "avg";
    const valued = summing || op === "min" || op === "max";
    const columns = (choosing ? 0 : 1) + (valued ? 1 : 0) + (summing ? 1 : 0);
    this.#memory.take(columns * this.#steps * 8);
    return {
      labels,
      dropName: false,
      counts: new Float64Array(choosing ? 0 : this.#steps),
      values: new Float64Array(valued ? this.#steps : 0),
      compensations: new Float64Array(summing ? this.#steps : 0),
      overflow: undefined,
      best: choosing ? this.#newBest(op === "topk" ? 1 : -1) : undefined,
    };
  }

  #newBest(sign: 1 | -1): BestValues {
    return new BestValues(this.#steps, this.#k, sign, this.#memory);
  }

  #addToMeans(group: Group, kinds: Uint8Array, values: Float64Array): void {
    const { counts, values: sums, compensations } = group;
    for (let step = 0; step < this.#steps; step += 1) {
      if (kinds[step] !== stepFloat) continue;
      const value = values[step] as number;
      const sum = sums[step] as number;
      const total = sum + value;
      if (counts[step] === 0) {
        sums[step] = value;
      } else if (Math.abs(total) !== Infinity) {
        sums[step] = total;
        compensations[step] = lostAfter(value, sum, total, compensations[step] as number);
      } else if (Math.abs(sum) === Infinity || Math.abs(value) === Infinity) {
        // The mean is as infinite as the sum.
        sums[step] = total;
        compensations[step] = 0;
      } else {
        this.#overflow(group, step, value);
        continue;
      }
      counts[step] = (counts[step] as number) + 1;
    }
  }

  #overflow(group: Group, step: number, value: number): void {
    group.overflow ??= this.#makeGroup(group.labels);
    const { overflow } = group;
    overflow.dropName = group.dropName;
    const total = (overflow.values[step] as number) + value;
    if (overflow.counts[step] !== 0 && Math.abs(total) === Infinity) {
      this.#overflow(overflow, step, value);
      return;
    }
    overflow.compensations[step] =
      overflow.counts[step] === 0
        ? 0
        : lostAfter(
            value,
            overflow.values[step] as number,
            total,
            overflow.compensations[step] as number,
          );
    overflow.values[step] = total;
    overflow.counts[step] = (overflow.counts[step] as number) + 1;
  }

  #addCandidate(group: Group, series: StepSeries): void {
    assert(group.best !== undefined, "a group of topk or bottomk keeps its best values");
    if (group.best.offer(series.kinds, series.values, this.#chosen)) {
      this.#keep(series, this.#chosen);
    }
  }

  #keep(series: StepSeries, kinds: Uint8Array): void {
    this.#onKept(series.labels);
    this.#memory.take(this.#steps * stepBytes);
    this.#series.push(copySeries(series, kinds));
  }

  #partial(group: Group): PartialGroup {
    return {
      labels: group.labels,
      dropName: group.dropName,
      counts: group.counts,
      values: group.values.length === 0 ? undefined : group.values,
      compensations: group.compensations.length === 0 ? undefined : group.compensations,
    };
  }
}

function copySeries(series: StepSeries, kinds: Uint8Array): StepSeries {
  const { labels, dropName, values, histograms } = series;
  return {
    labels,
    dropName,
    kinds: kinds.slice(),
    values: values.slice(),
    histograms: histograms?.slice(),
  };
}

/** NaN is replaced by any other value. */
function addToExtremes(
  group: Group,
  kinds: Uint8Array,
  values: Float64Array,
  steps: number,
  sign: 1 | -1,
): void {
  const { counts, values: extremes } = group;
  for (let step = 0; step < steps; step += 1) {
    if (kinds[step] !== stepFloat) continue;
    const value = values[step] as number;
    const count = counts[step] as number;
    const extreme = extremes[step] as number;
    counts[step] = count + 1;
    if (count === 0 || sign * extreme < sign * value || Number.isNaN(extreme)) {
      extremes[step] = value;
    }
  }
}

function addToCounts({ counts }: Group, kinds: Uint8Array, steps: number): void {
  for (let step = 0; step < steps; step += 1) {
    if (kinds[step] === stepFloat) counts[step] = (counts[step] as number) + 1;
  }
}
