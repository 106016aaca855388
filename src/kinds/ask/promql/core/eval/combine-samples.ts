/**
 * One operator between two samples, of which at least one may be a histogram.
 *
 * A problem is a note, not an error: the sample is left out. Like in Prometheus, only the last note
 * of a step is kept, so a caller visits the samples of a step in order.
 */
import {
  counterResetCollision,
  incompatibleBucketLayoutInBinaryOperation,
  incompatibleTypesInBinaryOperation,
  mismatchedCustomBuckets,
  type Note,
} from "../annotations.ts";
import type { BinaryOp, SetOp } from "../ast.ts";
import { addHistograms, subHistograms } from "../histogram/combine.ts";
import { equalsHistogram } from "../histogram/equality.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { compactHistogram, divideHistogram, scaleHistogram } from "../histogram/scale.ts";
import { trimHistogram } from "../histogram/trim.ts";
import { compare, compute, isComparison, isTrim } from "./float-operators.ts";

/** Reused by the caller from sample to sample. */
export interface Combined {
  value: number;
  histogram: FloatHistogram | undefined;
  /** Whether a comparison holds; true for other operators. */
  keep: boolean;
  /** Why there is no result. After a warning the result is still set, for callers that want it. */
  failure: Note | undefined;
  /** A note about a result that exists. */
  remark: Note | undefined;
}

export function newCombined(): Combined {
  return { value: 0, histogram: undefined, keep: false, failure: undefined, remark: undefined };
}

export type ElementOp = Exclude<BinaryOp, SetOp>;

export function combineSamples(
  op: ElementOp,
  left: number,
  leftHistogram: FloatHistogram | undefined,
  right: number,
  rightHistogram: FloatHistogram | undefined,
  out: Combined,
): void {
  out.value = 0;
  out.histogram = undefined;
  out.keep = true;
  out.failure = undefined;
  out.remark = undefined;
  if (leftHistogram === undefined) {
    if (rightHistogram === undefined) combineFloats(op, left, right, out);
    else if (op === "*") out.histogram = compactHistogram(scaleHistogram(rightHistogram, left));
    else refuse(op, "float", "histogram", out);
  } else if (rightHistogram === undefined) combineWithFloat(op, leftHistogram, right, out);
  else combineHistograms(op, leftHistogram, rightHistogram, out);
}

function combineFloats(op: ElementOp, left: number, right: number, out: Combined): void {
  if (isTrim(op)) refuse(op, "float", "float", out);
  else if (isComparison(op)) {
    out.value = left;
    out.keep = compare(op, left, right);
  } else out.value = compute(op, left, right);
}

function combineWithFloat(op: ElementOp, left: FloatHistogram, right: number, out: Combined): void {
  switch (op) {
    case "*":
      out.histogram = compactHistogram(scaleHistogram(left, right));
      return;
    case "/":
      out.histogram = compactHistogram(divideHistogram(left, right));
      return;
    case "</":
    case ">/":
      out.histogram = trimHistogram(left, right, op === "</" ? "below" : "above");
      return;
    default:
      refuse(op, "histogram", "float", out);
  }
}

function combineHistograms(
  op: ElementOp,
  left: FloatHistogram,
  right: FloatHistogram,
  out: Combined,
): void {
  switch (op) {
    case "+":
    case "-":
      addOrSubtract(op, left, right, out);
      return;
    case "==":
    case "!=":
      out.histogram = left;
      out.keep = equalsHistogram(left, right) === (op === "==");
      return;
    default:
      refuse(op, "histogram", "histogram", out);
  }
}

function addOrSubtract(
  op: "+" | "-",
  left: FloatHistogram,
  right: FloatHistogram,
  out: Combined,
): void {
  const sum = op === "+" ? addHistograms(left, right) : subHistograms(left, right);
  if (sum === "incompatible") {
    out.keep = false;
    out.failure = incompatibleBucketLayoutInBinaryOperation(op);
    return;
  }
  const operation = op === "+" ? "addition" : "subtraction";
  const result = compactHistogram(sum.result);
  // A difference is not a counter.
  out.histogram = op === "+" ? result : { ...result, counterResetHint: "gauge" };
  if (sum.counterResetCollision) out.failure = counterResetCollision(operation);
  if (sum.boundsReconciled) out.remark = mismatchedCustomBuckets(operation);
}

function refuse(
  op: ElementOp,
  left: "float" | "histogram",
  right: "float" | "histogram",
  out: Combined,
): void {
  out.keep = false;
  out.failure = incompatibleTypesInBinaryOperation(left, op, right);
}
