/** `and`, `or`, `unless`: a sample stays depending on a matching one at the same step. */
import type { VectorMatching } from "../ast.ts";
import { type StepSeries, stepAbsent } from "../model.ts";
import { type EvalContext, ExecNode, type VectorNode, type VectorValue } from "./exec-node.ts";
import { finishVector } from "./finish-vector.ts";
import type { SetOp } from "./float-operators.ts";
import { LabelMatching } from "./result-labels.ts";
import { hasSample, masked } from "./step-columns.ts";

export class SetOperationNode extends ExecNode<VectorValue> {
  readonly #op: SetOp;
  readonly #matching: LabelMatching;
  readonly #left: VectorNode;
  readonly #right: VectorNode;
  readonly #singleStep: boolean;

  constructor(
    op: SetOp,
    matching: VectorMatching,
    left: VectorNode,
    right: VectorNode,
    singleStep: boolean,
  ) {
    super();
    this.#op = op;
    this.#matching = new LabelMatching(matching.on, matching.labels);
    this.#left = left;
    this.#right = right;
    this.#singleStep = singleStep;
  }

  protected override compute(context: EvalContext): VectorValue {
    const left = this.#left.eval(context).series;
    const right = this.#right.eval(context).series;
    return finishVector(this.#combine(left, right), this.#singleStep, context);
  }

  #combine(left: readonly StepSeries[], right: readonly StepSeries[]): StepSeries[] {
    switch (this.#op) {
      case "and":
        return this.#filter(left, this.#presence(right), 1);
      case "unless":
        return this.#filter(left, this.#presence(right), 0);
      case "or":
        return [...left, ...this.#filter(right, this.#presence(left), 0)];
    }
  }

  /** By match key: 1 at the steps where a series with that key has a sample. */
  #presence(series: readonly StepSeries[]): Map<string, Uint8Array> {
    const presence = new Map<string, Uint8Array>();
    for (const { labels, kinds } of series) {
      const key = this.#matching.keyOf(labels);
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
  #filter(
    series: readonly StepSeries[],
    presence: ReadonlyMap<string, Uint8Array>,
    wanted: 0 | 1,
  ): StepSeries[] {
    const kept: StepSeries[] = [];
    for (const one of series) {
      const other = presence.get(this.#matching.keyOf(one.labels));
      if (other === undefined) {
        if (wanted === 0) kept.push(one);
        continue;
      }
      const result = masked(one, wanted === 1 ? other : other.map((bit) => 1 - bit));
      if (hasSample(result.kinds)) kept.push(result);
    }
    return kept;
  }

  override describe(): string {
    return this.#op;
  }

  override children(): readonly ExecNode[] {
    return [this.#left, this.#right];
  }
}
