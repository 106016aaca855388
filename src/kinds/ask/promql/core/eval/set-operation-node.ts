/** `and`, `or`, `unless`: a sample stays depending on a matching one at the same step. */
import type { SetOp, VectorMatching } from "../ast.ts";
import { type StepSeries, stepAbsent } from "../model.ts";
import { ExecNode, type VectorNode } from "./exec-node.ts";
import { finishVector } from "./finish-vector.ts";
import { LabelMatching } from "./result-labels.ts";
import { hasSample, masked } from "./step-columns.ts";

export function setOperationNode(
  op: SetOp,
  { on, labels }: VectorMatching,
  left: VectorNode,
  right: VectorNode,
  singleStep: boolean,
): VectorNode {
  const matching = new LabelMatching(on, labels);
  return new ExecNode(op, [left, right], (context) => {
    const series = combine(op, left.eval(context).series, right.eval(context).series, matching);
    return finishVector(series, singleStep, context);
  });
}

function combine(
  op: SetOp,
  left: readonly StepSeries[],
  right: readonly StepSeries[],
  matching: LabelMatching,
): StepSeries[] {
  switch (op) {
    case "and":
      return filter(left, presenceOf(right, matching), 1, matching);
    case "unless":
      return filter(left, presenceOf(right, matching), 0, matching);
    case "or":
      return [...left, ...filter(right, presenceOf(left, matching), 0, matching)];
  }
}

/** By match key: 1 at the steps where a series with that key has a sample. */
function presenceOf(
  series: readonly StepSeries[],
  matching: LabelMatching,
): Map<string, Uint8Array> {
  const presence = new Map<string, Uint8Array>();
  for (const { labels, kinds } of series) {
    const key = matching.keyOf(labels);
    let steps = presence.get(key);
    if (steps === undefined) {
      steps = new Uint8Array(kinds.length);
      presence.set(key, steps);
    }
    for (let step = 0; step < kinds.length; step += 1) {
      if (kinds[step] !== stepAbsent) steps[step] = 1;
    }
  }
  return presence;
}

/** Keeps the samples at steps where the other side's presence equals `wanted`. */
function filter(
  series: readonly StepSeries[],
  presence: ReadonlyMap<string, Uint8Array>,
  wanted: 0 | 1,
  matching: LabelMatching,
): StepSeries[] {
  const kept: StepSeries[] = [];
  for (const one of series) {
    const other = presence.get(matching.keyOf(one.labels));
    if (other === undefined) {
      if (wanted === 0) kept.push(one);
      continue;
    }
    const result = masked(one, wanted === 1 ? other : other.map((bit) => 1 - bit));
    if (hasSample(result.kinds)) kept.push(result);
  }
  return kept;
}
