/** An operator between the matching samples of two vectors. */
import { type EvalContext, ExecNode, type VectorNode, type VectorValue } from "./exec-node.ts";
import { finishVector } from "./finish-vector.ts";
import { type VectorBinarySpec, VectorOperation } from "./vector-operation.ts";

export class VectorBinaryNode extends ExecNode<VectorValue> {
  readonly #spec: VectorBinarySpec;
  readonly #left: VectorNode;
  readonly #right: VectorNode;

  constructor(spec: VectorBinarySpec, left: VectorNode, right: VectorNode) {
    super();
    this.#spec = spec;
    this.#left = left;
    this.#right = right;
  }

  protected override compute(context: EvalContext): VectorValue {
    const left = this.#left.eval(context).series;
    const right = this.#right.eval(context).series;
    const operation = new VectorOperation(this.#spec, left, right, context);
    const series = operation.run();
    operation.notes.addTo(context.annotations, this.#spec.position);
    return finishVector(series, this.#spec.singleStep, context);
  }

  override describe(): string {
    const { op, returnBool, matching } = this.#spec;
    const bool = returnBool ? " bool" : "";
    const labels = `${matching.on ? "on" : "ignoring"} (${matching.labels.join(", ")})`;
    return `${op}${bool} ${matching.card} ${labels}`;
  }

  override children(): readonly ExecNode[] {
    return [this.#left, this.#right];
  }
}
