/**
 * Finishes an aggregation that workers began: merges groups of floats with series that have
 * histograms, which workers could not aggregate.
 */
import { annotate, histogramIgnoredInAggregation } from "../annotations.ts";
import { compareLabels } from "../labels.ts";
import { makeGrouper } from "../leaf/group-labels.ts";
import type { LeafAggregate, PartialGroup, PartialOp } from "../leaf.ts";
import { type Position, type StepSeries, stepAbsent, stepFloat } from "../model.ts";
import { averagesOf, presentWhere, sumsOf } from "./aggregate-floats.ts";
import { aggregateMixed } from "./aggregate-mixed.ts";
import { ignoresHistograms } from "./aggregate-vector.ts";
import type { EvalContext } from "./exec-node.ts";
import { mergeGroups } from "./merge-leaf-results.ts";
import { PartialAggregator } from "./partial-aggregator.ts";
import { hasSample, type StepColumns, seriesOf } from "./step-columns.ts";

export type GroupedOp = Exclude<PartialOp, "topk" | "bottomk">;

export interface Partials {
  readonly groups: readonly PartialGroup[];
  /** Series with histograms, in label order. */
  readonly series: readonly StepSeries[];
}

export interface FinishSpec {
  readonly op: GroupedOp;
  readonly aggregate: LeafAggregate;
  readonly steps: number;
  /** The position of the aggregated expression. */
  readonly inputPosition: Position;
}

/** Returns the series in label order. */
export function finishPartials(
  spec: FinishSpec,
  partials: Partials,
  context: EvalContext,
): readonly StepSeries[] {
  const { op, inputPosition } = spec;
  const { series } = partials;
  if (series.length > 0 && ignoresHistograms(op)) {
    annotate(context.annotations, histogramIgnoredInAggregation(op), inputPosition);
  }
  const groupOf = makeGrouper(spec.aggregate.grouping, spec.aggregate.without);
  const mixed = Map.groupBy(series, ({ labels }) => groupOf(labels).key);
  const elsewhere = byKey(partials.groups);
  const results: StepSeries[] = [];
  for (const [key, groups] of byKey(withSeries(spec, partials))) {
    const floats = finishGroup(op, groups, spec.steps);
    const members = mixed.get(key);
    const columns =
      members !== undefined && (op === "sum" || op === "avg")
        ? aggregateMixed(
            op,
            { floats, elsewhere: countedSteps(elsewhere.get(key), spec.steps), members },
            context.annotations,
            inputPosition,
          )
        : floats;
    if (!hasSample(columns.kinds)) continue;
    const [first] = groups;
    const dropName = groups.some((group) => group.dropName);
    results.push(seriesOf((first as PartialGroup).labels, dropName, columns));
  }
  return results.sort((a, b) => compareLabels(a.labels, b.labels));
}

/** Adds the floats of the series to the groups. */
function withSeries(
  { op, aggregate, steps }: FinishSpec,
  { groups, series }: Partials,
): readonly PartialGroup[] {
  if (series.length === 0) return groups;
  const aggregator = new PartialAggregator(aggregate, steps);
  const counting = op === "count" || op === "group";
  for (const one of series) {
    const kinds = one.kinds.map((kind) => {
      if (counting) return kind === stepAbsent ? stepAbsent : stepFloat;
      return kind === stepFloat ? stepFloat : stepAbsent;
    });
    aggregator.add({ ...one, kinds, histograms: undefined });
  }
  return mergeGroups(op, [groups, aggregator.finish().groups]);
}

function byKey(groups: readonly PartialGroup[]): ReadonlyMap<string, PartialGroup[]> {
  return Map.groupBy(groups, ({ labels }) => labels.key);
}

function countedSteps(
  groups: readonly PartialGroup[] | undefined,
  steps: number,
): Uint8Array | undefined {
  return groups === undefined ? undefined : presentWhere(totalCounts(groups, steps));
}

function totalCounts(groups: readonly PartialGroup[], steps: number): Float64Array {
  const [only] = groups;
  if (only !== undefined && groups.length === 1) return only.counts;
  const counts = new Float64Array(steps);
  for (const group of groups) {
    for (let step = 0; step < steps; step += 1) {
      counts[step] = (counts[step] as number) + (group.counts[step] as number);
    }
  }
  return counts;
}

/** There is more than one group only for an average whose sum would overflow. */
function finishGroup(op: GroupedOp, groups: readonly PartialGroup[], steps: number): StepColumns {
  const [first] = groups as readonly [PartialGroup];
  const counts = totalCounts(groups, steps);
  const kinds = presentWhere(counts);
  const values = first.values ?? counts;
  const lost = first.compensations ?? new Float64Array(steps);
  switch (op) {
    case "count":
      return { kinds, values: counts, histograms: undefined };
    case "group":
      return { kinds, values: new Float64Array(steps).fill(1), histograms: undefined };
    case "min":
    case "max":
      return { kinds, values, histograms: undefined };
    case "sum":
      return sumsOf({ counts, values, lost });
    case "avg":
      if (groups.length === 1) return averagesOf({ counts, values, lost }, undefined);
      return { kinds, values: meansOf(groups, counts), histograms: undefined };
  }
}

function meansOf(groups: readonly PartialGroup[], counts: Float64Array): Float64Array {
  const means = new Float64Array(counts.length);
  for (const { values, compensations } of groups) {
    for (let step = 0; step < means.length; step += 1) {
      const count = counts[step] as number;
      const value = (values?.[step] as number) / count;
      const lost = (compensations?.[step] ?? 0) / count;
      means[step] = (means[step] as number) + value + lost;
    }
  }
  return means;
}
