/** An operator between every sample of a vector and a scalar, in either order. */
import { putHistogram } from "../kernels/types.ts";
import type { Position, StepSeries } from "../model.ts";
import { stepAbsent, stepFloat } from "../model.ts";
import { combineSamples, type ElementOp, newCombined } from "./combine-samples.ts";
import { ExecNode, type ScalarNode, type VectorNode } from "./exec-node.ts";
import { finishVector } from "./finish-vector.ts";
import {
  compareColumns,
  computeColumns,
  isArithmetic,
  isComparison,
  isTrim,
} from "./float-operators.ts";
import { dropNamesNow } from "./result-labels.ts";
import { hasSample, newColumns, seriesOf } from "./step-columns.ts";
import { StepNotes } from "./step-notes.ts";

export interface VectorScalarSpec {
  readonly op: ElementOp;
  readonly returnBool: boolean;
  readonly scalarOnLeft: boolean;
  readonly singleStep: boolean;
  readonly position: Position;
}

export function vectorScalarNode(
  spec: VectorScalarSpec,
  vector: VectorNode,
  scalar: ScalarNode,
): VectorNode {
  const { op, returnBool, scalarOnLeft, singleStep, position } = spec;
  const bool = returnBool ? `${op} bool` : op;
  const text = scalarOnLeft ? `scalar ${bool} vector` : `vector ${bool} scalar`;
  return new ExecNode(text, scalarOnLeft ? [scalar, vector] : [vector, scalar], (context) => {
    // Evaluated in the order of the text, which is that of annotations.
    const before = scalarOnLeft ? scalar.eval(context).values : undefined;
    const { series } = vector.eval(context);
    const scalars = before ?? scalar.eval(context).values;
    const notes = new StepNotes(scalars.length);
    const results: StepSeries[] = [];
    for (const one of series) {
      const result = apply(spec, one, scalars, notes);
      if (hasSample(result.kinds)) results.push(result);
    }
    notes.addTo(context.annotations, position);
    const named = dropNamesNow(results, context.options.delayedNameRemoval);
    return finishVector(named, singleStep, context);
  });
}

function apply(
  spec: VectorScalarSpec,
  series: StepSeries,
  scalars: Float64Array,
  notes: StepNotes,
): StepSeries {
  const { op, returnBool, scalarOnLeft } = spec;
  if (series.histograms !== undefined || isTrim(op)) {
    return applyMixed(spec, series, scalars, notes);
  }
  const left = scalarOnLeft ? scalars : series.values;
  const right = scalarOnLeft ? series.values : scalars;
  if (isComparison(op)) {
    const holds = new Uint8Array(scalars.length);
    compareColumns(op, left, right, holds);
    if (returnBool) return { ...series, dropName: true, values: Float64Array.from(holds) };
    for (let step = 0; step < holds.length; step += 1) {
      holds[step] = (holds[step] as number) * (series.kinds[step] as number);
    }
    return { ...series, kinds: holds };
  }
  const values = new Float64Array(scalars.length);
  if (isArithmetic(op)) computeColumns(op, left, right, values);
  return { ...series, dropName: true, values };
}

function applyMixed(
  { op, returnBool, scalarOnLeft }: VectorScalarSpec,
  series: StepSeries,
  scalars: Float64Array,
  notes: StepNotes,
): StepSeries {
  const steps = scalars.length;
  const out = newColumns(steps);
  const combined = newCombined();
  for (let step = 0; step < steps; step += 1) {
    if (series.kinds[step] === stepAbsent) continue;
    const value = series.values[step] as number;
    const histogram = series.histograms?.[step];
    const scalar = scalars[step] as number;
    if (scalarOnLeft) combineSamples(op, scalar, undefined, value, histogram, combined);
    else combineSamples(op, value, histogram, scalar, undefined, combined);
    if (combined.failure !== undefined) {
      notes.put(step, combined.failure);
      continue;
    }
    if (returnBool) {
      out.kinds[step] = stepFloat;
      out.values[step] = combined.keep ? 1 : 0;
      continue;
    }
    if (!combined.keep) continue;
    // A comparison gives the vector's sample, on either side.
    const kept = isComparison(op) ? histogram : combined.histogram;
    if (kept !== undefined) putHistogram(out, step, kept);
    else {
      out.kinds[step] = stepFloat;
      out.values[step] = isComparison(op) ? value : combined.value;
    }
  }
  const dropName = series.dropName || returnBool || isArithmetic(op);
  return seriesOf(series.labels, dropName, out);
}
