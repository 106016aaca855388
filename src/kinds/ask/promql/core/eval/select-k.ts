/** topk, bottomk, limitk and limit_ratio, which keep whole samples with their labels. */
import { annotate, histogramIgnoredInAggregation, invalidRatio } from "../annotations.ts";
import type { SelectOp } from "../ast.ts";
import { PromqlError } from "../engine-types.ts";
import { formatGeneral } from "../go-format.ts";
import { type Position, type StepSeries, stepAbsent } from "../model.ts";
import type { EvalContext } from "./exec-node.ts";
import { type Grouping, groupSeries, type SeriesGroup } from "./grouped-series.ts";
import { labelsOffset } from "./labels-hash.ts";
import { hasHistograms, hasSample, masked } from "./step-columns.ts";
import { TopHeaps } from "./top-heap.ts";

export interface SelectSpec {
  readonly op: SelectOp;
  readonly grouping: Grouping;
  readonly singleStep: boolean;
  readonly position: Position;
  readonly paramPosition: Position;
}

/** `params` has one value per step. */
export function selectSeries(
  spec: SelectSpec,
  params: Float64Array,
  series: readonly StepSeries[],
  context: EvalContext,
): readonly StepSeries[] {
  if (spec.op === "limit_ratio") return selectRatio(spec, params, series, context);
  if (!checkCounts(params)) return [];
  const counts = params.map((value) => Math.min(Math.trunc(value), series.length));
  const groups = groupSeries(series, spec.grouping);
  if (spec.op === "limitk") return groups.flatMap((group) => firstOf(group, counts));
  if (series.some(hasHistograms)) {
    annotate(context.annotations, histogramIgnoredInAggregation(spec.op), spec.position);
  }
  return groups.flatMap((group) => bestOf(spec, group, counts));
}

/** The greatest float below 2^63. */
const int64Max = 2 ** 63 - 1024;
const int64Min = -(2 ** 63);

/** Returns false when every step wants no sample. */
function checkCounts(params: Float64Array): boolean {
  const max = params.reduce((a, b) => Math.max(a, b), -Number.MAX_VALUE);
  const min = params.reduce((a, b) => Math.min(a, b), Number.MAX_VALUE);
  if (max < 1) return false;
  if (Number.isNaN(max)) throw new PromqlError("execution", "Parameter value is NaN");
  if (min <= int64Min) {
    throw new PromqlError("execution", `Scalar value ${formatGeneral(min)} underflows int64`);
  }
  if (max >= int64Max) {
    throw new PromqlError("execution", `Scalar value ${formatGeneral(max)} overflows int64`);
  }
  return true;
}

function bestOf(
  { op, singleStep }: SelectSpec,
  { members }: SeriesGroup,
  counts: Float64Array,
): StepSeries[] {
  const steps = counts.length;
  const capacity = Math.min(
    members.length,
    counts.reduce((a, b) => Math.max(a, b), 0),
  );
  const heaps = new TopHeaps(steps, capacity, op === "topk");
  members.forEach(({ kinds, values }, member) => {
    for (let step = 0; step < steps; step += 1) {
      const k = Math.min(counts[step] as number, capacity);
      if (kinds[step] === 1 && k >= 1) heaps.offer(step, k, values[step] as number, member);
    }
  });
  if (singleStep) return heaps.best(0).map((member) => onlyFloats(members[member] as StepSeries));
  const masks = new Map<number, Uint8Array>();
  for (let step = 0; step < steps; step += 1) {
    heaps.forEachMember(step, (member) => {
      let mask = masks.get(member);
      if (mask === undefined) {
        mask = new Uint8Array(steps);
        masks.set(member, mask);
      }
      mask[step] = 1;
    });
  }
  return [...masks]
    .sort(([a], [b]) => a - b)
    .map(([member, mask]) => masked(onlyFloats(members[member] as StepSeries), mask));
}

/** Removes histograms: the selection kept floats only. */
function onlyFloats(series: StepSeries): StepSeries {
  return series.histograms === undefined ? series : { ...series, histograms: undefined };
}

function firstOf({ members }: SeriesGroup, counts: Float64Array): StepSeries[] {
  const left = counts.slice();
  const kept: StepSeries[] = [];
  for (const member of members) {
    const mask = new Uint8Array(left.length);
    for (let step = 0; step < left.length; step += 1) {
      if (member.kinds[step] === stepAbsent || (left[step] as number) < 1) continue;
      left[step] = (left[step] as number) - 1;
      mask[step] = 1;
    }
    const part = masked(member, mask);
    if (hasSample(part.kinds)) kept.push(part);
  }
  return kept;
}

/** The selection depends on labels only, so it is the same for every query. */
function selectRatio(
  spec: SelectSpec,
  params: Float64Array,
  series: readonly StepSeries[],
  context: EvalContext,
): readonly StepSeries[] {
  const max = params.reduce((a, b) => Math.max(a, b), -Number.MAX_VALUE);
  const min = params.reduce((a, b) => Math.min(a, b), Number.MAX_VALUE);
  if (max === 0 && min === 0) return [];
  if (Number.isNaN(max)) throw new PromqlError("execution", "Ratio value is NaN");
  if (max > 1) annotate(context.annotations, invalidRatio(max, 1), spec.paramPosition);
  if (min < -1) annotate(context.annotations, invalidRatio(min, -1), spec.paramPosition);
  const kept: StepSeries[] = [];
  for (const one of series) {
    const offset = labelsOffset(one.labels);
    const mask = new Uint8Array(params.length);
    params.forEach((ratio, step) => {
      mask[step] = isSampled(Math.max(-1, Math.min(1, ratio)), offset) ? 1 : 0;
    });
    const part = masked(one, mask);
    if (hasSample(part.kinds)) kept.push(part);
  }
  return kept;
}

/** A negative ratio keeps exactly what the complementary positive one leaves out. */
function isSampled(ratio: number, offset: number): boolean {
  if (ratio === 0) return false;
  return ratio > 0 ? offset < ratio : offset >= 1 + ratio;
}
