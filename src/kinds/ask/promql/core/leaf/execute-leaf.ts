/**
 * Computes a leaf over the series of one shard, one after another. Memory of one series is reused
 * for the next, so that an aggregation holds only its groups.
 */
import { AnnotationSet } from "../annotations.ts";
import { PartialAggregator } from "../eval/partial-aggregator.ts";
import { sampleSize } from "../eval/sample-budget.ts";
import { type HeldMemory, sampleBytes, stepBytes, unboundedMemory } from "../held-memory.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import type { MutableSteps } from "../kernels/types.ts";
import { compareLabels, Labels } from "../labels.ts";
import type { BaseExpr, LeafAggregate, LeafResult } from "../leaf.ts";
import {
  type RawSeries,
  type SampleColumns,
  type StepSeries,
  stepCount,
  stepFloat,
} from "../model.ts";
import { withHistogramStats } from "./histogram-stats.ts";
import { type LeafFunction, leafFunction } from "./leaf-function.ts";
import { type LeafTimeRange, leafTimeRange } from "./leaf-time-range.ts";
import { SampleBudget, valueSize } from "./sample-budget.ts";
import { trimSamples } from "./trim-samples.ts";

export interface LeafLimits {
  /** Limit of samples of a window and values of the result, as Prometheus counts them. */
  readonly samplesMax: number;
  /** Limit of the result's labels in characters. Absent in requests of earlier versions. */
  readonly labelBytesMax?: number | undefined;
  /** Counts the memory before it is allocated. */
  readonly memory?: HeldMemory | undefined;
  /** Throws when the query was cancelled; called within series that take long. */
  readonly checkStop?: () => void;
}

/**
 * `series` are those that the leaf's matchers select, each once; in label order, if sums should be
 * added in that order. They may have more samples than the leaf needs.
 */
export function executeLeaf(
  leaf: BaseExpr,
  series: Iterable<RawSeries>,
  limits: LeafLimits,
): LeafResult {
  const { output } = leaf;
  const budget = new SampleBudget(limits.samplesMax, limits.labelBytesMax);
  const { memory = unboundedMemory, checkStop } = limits;
  switch (output.kind) {
    case "raw":
      return executeRaw(leaf, series, budget, memory);
    case "steps":
      return executeSteps(leaf, leafFunction(leaf, output.call, checkStop), series, budget, memory);
    case "partials":
      return executePartials(
        leaf,
        leafFunction(leaf, output.call, checkStop),
        output.aggregate,
        series,
        budget,
        memory,
      );
  }
}

function executeRaw(
  leaf: BaseExpr,
  series: Iterable<RawSeries>,
  budget: SampleBudget,
  memory: HeldMemory,
): LeafResult {
  const range = leafTimeRange(leaf);
  const kept: RawSeries[] = [];
  let sampleCount = 0;
  for (const { labels, samples } of series) {
    const trimmed = neededSamples(leaf, samples, range);
    if (trimmed.count === 0) continue;
    memory.take(samples.count * sampleBytes); // The views keep all samples alive.
    budget.hold(sampleSize(trimmed, 0, trimmed.count));
    sampleCount += trimmed.count;
    budget.holdLabels(labels);
    kept.push({ labels, samples: trimmed });
  }
  const stats = { seriesCount: kept.length, sampleCount };
  return { kind: "raw", series: inLabelOrder(kept), annotations: [], stats };
}

function executeSteps(
  leaf: BaseExpr,
  compute: LeafFunction,
  series: Iterable<RawSeries>,
  budget: SampleBudget,
  memory: HeldMemory,
): LeafResult {
  const pass = new SeriesPass(leaf, compute, budget, memory);
  const steps = stepCount(leaf.grid);
  const bytes = steps * stepBytes;
  const results: StepSeries[] = [];
  const copies = new SeriesCopies(steps);
  for (const each of series) {
    const values = pass.run(each);
    if (values === undefined) continue;
    budget.holdLabels(values.labels);
    memory.take(bytes);
    results.push(copies.of(values));
  }
  return { kind: "steps", series: inLabelOrder(results), ...pass.report() };
}

function executePartials(
  leaf: BaseExpr,
  compute: LeafFunction,
  aggregate: LeafAggregate,
  series: Iterable<RawSeries>,
  budget: SampleBudget,
  memory: HeldMemory,
): LeafResult {
  const pass = new SeriesPass(leaf, compute, budget, memory);
  const aggregator = new PartialAggregator(aggregate, stepCount(leaf.grid), {
    onKept: (labels) => budget.holdLabels(labels),
    memory,
  });
  for (const each of series) {
    const values = pass.run(each);
    if (values !== undefined) aggregator.add(values);
  }
  return { kind: "partials", ...aggregator.finish(), ...pass.report() };
}

function neededSamples(
  { histogramStats }: BaseExpr,
  samples: SampleColumns,
  range: LeafTimeRange,
): SampleColumns {
  const trimmed = trimSamples(samples, range);
  return histogramStats === true ? withHistogramStats(trimmed) : trimmed;
}

/** Bytes per step: where its window begins and ends. */
const windowBytes = 8;

/** The values of the current series. */
class ScratchSeries implements StepSeries, MutableSteps {
  labels = Labels.empty;
  readonly dropName: boolean;
  readonly kinds: Uint8Array;
  readonly values: Float64Array;
  histograms: (FloatHistogram | undefined)[] | undefined = undefined;

  constructor(steps: number, dropName: boolean) {
    this.dropName = dropName;
    this.kinds = new Uint8Array(steps);
    this.values = new Float64Array(steps);
  }
}

/** Runs a leaf's function on series, with one scratch for all of them. */
class SeriesPass {
  readonly #leaf: BaseExpr;
  readonly #compute: LeafFunction;
  readonly #range: ReturnType<typeof leafTimeRange>;
  readonly #budget: SampleBudget;
  readonly #scratch: ScratchSeries;
  readonly #annotations = new AnnotationSet();
  #seriesCount = 0;
  #sampleCount = 0;

  constructor(leaf: BaseExpr, compute: LeafFunction, budget: SampleBudget, memory: HeldMemory) {
    this.#leaf = leaf;
    this.#compute = compute;
    this.#range = leafTimeRange(leaf);
    this.#budget = budget;
    const steps = stepCount(leaf.grid);
    memory.take(steps * (stepBytes + windowBytes));
    this.#scratch = new ScratchSeries(steps, compute.dropsName);
  }

  /** Valid until the next call. Undefined when the series has no value at any step. */
  run({ labels, samples }: RawSeries): StepSeries | undefined {
    const trimmed = neededSamples(this.#leaf, samples, this.#range);
    if (trimmed.count === 0) return undefined;
    this.#seriesCount += 1;
    this.#sampleCount += trimmed.count;
    this.#compute.checkWindows(trimmed, this.#budget);
    const scratch = this.#scratch;
    scratch.labels = labels;
    scratch.histograms = undefined;
    this.#compute.run(trimmed, labels, scratch, this.#annotations);
    const size = valueSize(scratch);
    this.#budget.hold(size);
    return size === 0 ? undefined : scratch;
  }

  report(): Pick<LeafResult, "annotations" | "stats"> {
    return {
      annotations: this.#annotations.entries(),
      stats: { seriesCount: this.#seriesCount, sampleCount: this.#sampleCount },
    };
  }
}

/** The values in one buffer, of many series: one allocation instead of thousands. */
const slabLength = 4096;

/** Copies series whose memory is used again. */
class SeriesCopies {
  readonly #steps: number;
  /** Shared by all series with a float at every step: nobody writes to it. */
  readonly #dense: Uint8Array;
  #slab = new Float64Array(0);
  #used = 0;

  constructor(steps: number) {
    this.#steps = steps;
    this.#dense = new Uint8Array(steps).fill(stepFloat);
  }

  /** Histograms need no copy: each series that has some gets a new array. */
  of({ labels, dropName, kinds, values, histograms }: StepSeries): StepSeries {
    const own = areAllFloats(kinds) ? this.#dense : kinds.slice();
    return { labels, dropName, kinds: own, values: this.#valuesOf(values), histograms };
  }

  #valuesOf(values: Float64Array): Float64Array {
    const steps = this.#steps;
    if (steps > slabLength / 4) return values.slice();
    if (this.#used + steps > this.#slab.length) {
      this.#slab = new Float64Array(slabLength);
      this.#used = 0;
    }
    const copy = this.#slab.subarray(this.#used, this.#used + steps);
    this.#used += steps;
    copy.set(values);
    return copy;
  }
}

/** A plain loop, because it visits every step. */
function areAllFloats(kinds: Uint8Array): boolean {
  for (let step = 0; step < kinds.length; step += 1) if (kinds[step] !== stepFloat) return false;
  return true;
}

function inLabelOrder<S extends { readonly labels: Labels }>(series: S[]): S[] {
  return series.sort((a, b) => compareLabels(a.labels, b.labels));
}
