/** One operator between the columns of two matching series, at all steps. */
import { type MutableSteps, putHistogram } from "../kernels/types.ts";
import { stepAbsent, stepFloat } from "../model.ts";
import { type Combined, combineSamples, type ElementOp, newCombined } from "./combine-samples.ts";
import {
  compareColumns,
  computeColumns,
  isArithmetic,
  isComparison,
  isTrim,
} from "./float-operators.ts";
import { newColumns, type StepColumns } from "./step-columns.ts";
import type { StepNotes } from "./step-notes.ts";

export class ColumnOperator {
  readonly #op: ElementOp;
  readonly #returnBool: boolean;
  readonly #notes: StepNotes;
  readonly #combined: Combined = newCombined();

  constructor(op: ElementOp, returnBool: boolean, notes: StepNotes) {
    this.#op = op;
    this.#returnBool = returnBool;
    this.#notes = notes;
  }

  /** `found` becomes 1 where both have a sample and the operator knows what to do with them. */
  apply(left: StepColumns, right: StepColumns, found: Uint8Array): StepColumns {
    const withHistograms = left.histograms !== undefined || right.histograms !== undefined;
    if (withHistograms || isTrim(this.#op)) return this.#combineMixed(left, right, found);
    const { kinds: leftKinds } = left;
    const { kinds: rightKinds } = right;
    for (let step = 0; step < found.length; step += 1) {
      found[step] = (leftKinds[step] as number) & (rightKinds[step] as number);
    }
    return this.#combineFloats(left, right, found);
  }

  #combineFloats(left: StepColumns, right: StepColumns, found: Uint8Array): StepColumns {
    const op = this.#op;
    const steps = found.length;
    if (isComparison(op)) {
      const kept = new Uint8Array(steps);
      compareColumns(op, left.values, right.values, kept);
      if (this.#returnBool) {
        return { kinds: found, values: Float64Array.from(kept), histograms: undefined };
      }
      for (let step = 0; step < steps; step += 1) {
        kept[step] = (kept[step] as number) & (found[step] as number);
      }
      return { kinds: kept, values: left.values, histograms: undefined };
    }
    const values = new Float64Array(steps);
    if (isArithmetic(op)) computeColumns(op, left.values, right.values, values);
    return { kinds: found, values, histograms: undefined };
  }

  #combineMixed(left: StepColumns, right: StepColumns, found: Uint8Array): StepColumns {
    const out = newColumns(found.length);
    for (let step = 0; step < found.length; step += 1) {
      if (left.kinds[step] === stepAbsent || right.kinds[step] === stepAbsent) continue;
      this.#combineStep(left, right, step, found, out);
    }
    return out;
  }

  #combineStep(
    left: StepColumns,
    right: StepColumns,
    step: number,
    found: Uint8Array,
    out: MutableSteps,
  ): void {
    const combined = this.#combined;
    combineSamples(
      this.#op,
      left.values[step] as number,
      left.histograms?.[step],
      right.values[step] as number,
      right.histograms?.[step],
      combined,
    );
    // Prometheus leaves out a sample that it warns about, too.
    if (combined.failure !== undefined) {
      this.#notes.put(step, combined.failure);
      return;
    }
    if (combined.remark !== undefined) this.#notes.put(step, combined.remark);
    found[step] = 1;
    if (this.#returnBool) {
      out.kinds[step] = stepFloat;
      out.values[step] = combined.keep ? 1 : 0;
    } else if (!combined.keep) return;
    else if (combined.histogram !== undefined) putHistogram(out, step, combined.histogram);
    else {
      out.kinds[step] = stepFloat;
      out.values[step] = combined.value;
    }
  }
}
