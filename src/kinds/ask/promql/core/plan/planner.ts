/** Builds the tree that evaluates an expression, with leaves for what workers compute. */
import { AssertionError, assert } from "../../../../../ground/kernel/errors.ts";
import type { Aggregate, Binary, Call, Expr, MatrixSelector, Subquery } from "../ast.ts";
import { type EngineOptions, PromqlError, type QueryParams } from "../engine-types.ts";
import { absentLabels, absentNode } from "../eval/absent-node.ts";
import { aggregateNode, countValuesNode, selectNode } from "../eval/aggregate-nodes.ts";
import type { ElementOp } from "../eval/combine-samples.ts";
import type { ExecNode, MatrixNode, ScalarNode, VectorNode } from "../eval/exec-node.ts";
import { isSetOperator } from "../eval/float-operators.ts";
import { instantFunctions } from "../eval/functions/instant-functions.ts";
import { infoNode } from "../eval/info-node.ts";
import { type InstantCallSpec, scalarCallNode, vectorCallNode } from "../eval/instant-call-node.ts";
import { negatedVectorNode } from "../eval/negated-vector-node.ts";
import { rangeCallNode } from "../eval/range-call-node.ts";
import {
  negatedScalarNode,
  numberNode,
  scalarBinaryNode,
  stringNode,
} from "../eval/scalar-nodes.ts";
import { setOperationNode } from "../eval/set-operation-node.ts";
import { repeatedScalarNode, repeatedVectorNode } from "../eval/step-invariant-node.ts";
import { subqueryNode } from "../eval/subquery-node.ts";
import { vectorBinaryNode } from "../eval/vector-binary-node.ts";
import { vectorScalarNode } from "../eval/vector-scalar-node.ts";
import { windowSamplesNode } from "../eval/window-samples-node.ts";
import { rangeKernels } from "../kernels/range-kernels.ts";
import type { WindowSpec } from "../kernels/types.ts";
import { stepCount } from "../model.ts";
import { typeOf } from "../parse/type-of.ts";
import { constantScalar } from "./constant-scalar.ts";
import { checkBounds, LeafPlanner, placesOf } from "./leaf-planner.ts";
import { planInfo } from "./plan-info.ts";
import { QueryTimes } from "./query-times.ts";
import { firstStepScope, fixedScope, isSingleStep, type Scope, subqueryScope } from "./scope.ts";
import { StepInvariance, withoutParens } from "./step-invariance.ts";

export class Planner {
  readonly leaves: LeafPlanner;
  readonly #params: QueryParams;
  readonly #options: EngineOptions;
  readonly #times: QueryTimes;
  readonly #invariance = new StepInvariance();
  #steps = 0;

  constructor(query: Expr, params: QueryParams, options: EngineOptions) {
    this.#params = params;
    this.#options = options;
    this.#times = new QueryTimes(params, options);
    this.leaves = new LeafPlanner(query, params, options, this.#times);
  }

  /** Plans any expression. A range vector is one only at the root; below it, functions take it. */
  root(expr: Expr, scope: Scope): ExecNode {
    switch (typeOf(expr)) {
      case "scalar":
        return this.scalar(expr, scope);
      case "vector":
        return this.vector(expr, scope);
      case "string":
        return stringNode(this.#string(expr));
      case "matrix":
        return this.#rootMatrix(withoutParens(expr), scope);
    }
  }

  vector(parenthesized: Expr, scope: Scope): VectorNode {
    const expr = withoutParens(parenthesized);
    if (!scope.once && this.#invariance.wraps(expr)) {
      const node = this.#vectorAt(expr, firstStepScope(scope));
      return repeatedVectorNode(node, stepCount(scope.grid));
    }
    return this.#vectorAt(expr, scope);
  }

  scalar(parenthesized: Expr, scope: Scope): ScalarNode {
    const expr = withoutParens(parenthesized);
    const constant = constantScalar(expr, this.#params);
    if (constant !== undefined) return numberNode(constant, stepCount(scope.grid));
    if (!scope.once && this.#invariance.wraps(expr)) {
      const node = this.#scalarAt(expr, firstStepScope(scope));
      return repeatedScalarNode(node, stepCount(scope.grid));
    }
    return this.#scalarAt(expr, scope);
  }

  #string(parenthesized: Expr): string {
    const expr = withoutParens(parenthesized);
    assert(expr.kind === "string", "only a literal is a string");
    return expr.value;
  }

  #vectorAt(expr: Expr, scope: Scope): VectorNode {
    const leaf = this.leaves.stepsLeaf(expr, scope);
    if (leaf !== undefined) return this.leaves.vectorNode(leaf, scope);
    switch (expr.kind) {
      case "call":
        return this.#vectorCall(expr, scope);
      case "aggregate":
        return this.#aggregate(expr, scope);
      case "unary": {
        const operand = this.vector(expr.expr, scope);
        return expr.op === "-" ? negatedVectorNode(operand) : operand;
      }
      case "binary":
        return this.#vectorBinary(expr, scope);
      default:
        throw new AssertionError(`a ${expr.kind} is not an instant vector`);
    }
  }

  #scalarAt(expr: Expr, scope: Scope): ScalarNode {
    switch (expr.kind) {
      case "unary": {
        const operand = this.scalar(expr.expr, scope);
        return expr.op === "-" ? negatedScalarNode(operand) : operand;
      }
      case "binary": {
        const { op } = expr;
        assert(!isSetOperator(op), `${op} is not for scalars`);
        if (op === "</" || op === ">/") {
          const message = `operator "${op}" not allowed for Scalar operations`;
          throw new PromqlError("execution", message);
        }
        return scalarBinaryNode(op, this.scalar(expr.left, scope), this.scalar(expr.right, scope));
      }
      case "call":
        return scalarCallNode(this.#instantSpec(expr, scope), this.#args(expr, scope));
      default:
        throw new AssertionError(`a ${expr.kind} is not a scalar`);
    }
  }

  #vectorCall(call: Call, scope: Scope): VectorNode {
    const args = call.args.map(withoutParens);
    const steps = stepCount(scope.grid);
    const [first] = args;
    if (first !== undefined && (call.name === "absent" || call.name === "absent_over_time")) {
      const input = this.#presence(call, first, scope);
      return absentNode(call.name, absentLabels(first), input, steps);
    }
    if (call.name === "info" && first !== undefined) {
      const plan = planInfo(call, scope, this.leaves, this.#times);
      return infoNode(plan, this.vector(first, scope));
    }
    if (args.some(({ kind }) => kind === "matrixSelector" || kind === "subquery")) {
      return this.#rangeCall(call, call.name, scope);
    }
    return vectorCallNode(this.#instantSpec(call, scope), this.#args(call, scope));
  }

  #instantSpec(call: Call, scope: Scope): InstantCallSpec {
    const apply = instantFunctions.get(call.name);
    assert(apply !== undefined, `${call.name} is a function of instant vectors`);
    return {
      name: call.name,
      apply,
      grid: scope.grid,
      singleStep: isSingleStep(scope),
      places: placesOf(call),
    };
  }

  #args({ args }: Call, scope: Scope): ExecNode[] {
    return args.map((arg) => this.root(arg, scope));
  }

  /** Whether there is any sample: of a leaf, one group is enough. */
  #presence(call: Call, arg: Expr, scope: Scope): VectorNode {
    const overTime = call.name === "absent_over_time";
    const asked: Call = overTime ? { ...call, name: "present_over_time" } : call;
    if (arg.kind === "matrixSelector") checkBounds(call, arg);
    const leaf = this.leaves.stepsLeaf(overTime ? asked : arg, scope);
    if (leaf === undefined || !this.leaves.mayAggregate([], false, leaf)) {
      return overTime ? this.#vectorAt(asked, scope) : this.vector(arg, scope);
    }
    const aggregate = { op: "group", grouping: [], without: false, k: undefined } as const;
    return this.leaves.partialsNode(leaf, aggregate, scope, {
      why: `${call.name} needs to know only whether there is anything`,
      position: call.position,
      inputPosition: arg.position,
      paramPosition: call.position,
    });
  }

  #rangeCall(call: Call, name: string, scope: Scope): VectorNode {
    const kernel = rangeKernels.get(name);
    assert(kernel !== undefined, `${name} is a function of a range vector`);
    const args = call.args.map(withoutParens);
    const range = args.find((arg) => arg.kind === "matrixSelector" || arg.kind === "subquery");
    assert(range !== undefined, `${name} has a range vector`);
    const others = args.filter((arg) => arg !== range).map((arg) => this.scalar(arg, scope));
    const spec = {
      name,
      kernel,
      windows: this.#windows(range, scope),
      places: placesOf(call),
    };
    if (range.kind === "subquery") {
      return rangeCallNode(spec, this.#subquery(range, scope, true), others);
    }
    checkBounds(call, range);
    const why =
      range.vector.at === undefined
        ? `an argument of ${name} varies from step to step`
        : `the window is fixed, but ${name} varies from step to step`;
    return rangeCallNode(spec, this.leaves.samplesNode(range, scope, why), others);
  }

  #windows(range: MatrixSelector | Subquery, scope: Scope): WindowSpec {
    const selector = range.kind === "subquery" ? range : range.vector;
    const offsetMs = this.#times.offset(selector);
    const { grid } = scope;
    const { lookbackMs, useStartTs } = this.#options;
    const { at } = selector;
    return {
      grid,
      rangeMs: this.#times.range(range.range),
      offsetMs: at === undefined ? offsetMs : grid.startMs - this.#times.at(at) + offsetMs,
      bounds: range.kind === "subquery" ? undefined : range.vector.bounds,
      lookbackMs,
      fixed: at !== undefined,
      useStartTs,
    };
  }

  /** Counts for the whole query, so that spans do not matter. */
  #count(steps: number): void {
    this.#steps += steps;
    const { stepsMax } = this.#options;
    if (this.#steps <= stepsMax) return;
    const message = `the query's subqueries evaluate more than ${stepsMax} steps for each series; the limit query_steps is ${stepsMax}`;
    throw new PromqlError("execution", message);
  }

  #subquery(subquery: Subquery, scope: Scope, forFunction: boolean): MatrixNode {
    const { at } = subquery;
    const parent = at === undefined ? scope : fixedScope(this.#times.at(at));
    const rangeMs = this.#times.range(subquery.range);
    const stepMs = this.#times.subqueryStep(subquery);
    this.#count(stepCount(parent.whole) * (1 + rangeMs / stepMs));
    const inner = subqueryScope(parent, {
      rangeMs,
      offsetMs: this.#times.offset(subquery),
      stepMs,
    });
    return subqueryNode(this.vector(subquery.expr, inner), inner.grid, forFunction);
  }

  #rootMatrix(expr: Expr, scope: Scope): MatrixNode {
    if (expr.kind === "subquery") return this.#subquery(expr, scope, false);
    assert(expr.kind === "matrixSelector", "a range vector is a selector or a subquery");
    const { offsetMs, rangeMs, bounds, grid } = this.#windows(expr, scope);
    const untilMs = grid.startMs - offsetMs;
    const source = this.leaves.samplesNode(expr, scope, "the query asks for the samples");
    return windowSamplesNode(source, { afterMs: untilMs - rangeMs, untilMs, bounds });
  }

  #aggregate(aggregate: Aggregate, scope: Scope): VectorNode {
    const pushed = this.leaves.aggregateNode(aggregate, scope);
    if (pushed !== undefined) return pushed;
    const { op, param, position } = aggregate;
    const grouping = { names: aggregate.grouping, without: aggregate.without };
    const steps = stepCount(scope.grid);
    const singleStep = isSingleStep(scope);
    const expr = withoutParens(aggregate.expr);
    const leaf = this.leaves.stepsLeaf(expr, scope);
    const input =
      leaf === undefined
        ? this.vector(expr, scope)
        : this.leaves.vectorNode(leaf, scope, `${op} needs every series`);
    if (op === "count_values") {
      assert(param !== undefined, "count_values has a label");
      const valueLabel = this.#string(param);
      return countValuesNode({ valueLabel, grouping, steps, singleStep }, input);
    }
    const paramPosition = (param === undefined ? aggregate : withoutParens(param)).position;
    const paramNode = param === undefined ? undefined : this.scalar(param, scope);
    if (op === "topk" || op === "bottomk" || op === "limitk" || op === "limit_ratio") {
      assert(paramNode !== undefined, `${op} has a parameter`);
      const spec = { op, grouping, singleStep, position, paramPosition };
      return selectNode(spec, paramNode, input);
    }
    const spec = { op, grouping, steps, inputPosition: expr.position, paramPosition };
    return aggregateNode(spec, paramNode, input);
  }

  #vectorBinary(binary: Binary, scope: Scope): VectorNode {
    const { op, left, right, returnBool, matching, position } = binary;
    const singleStep = isSingleStep(scope);
    const scalarOnLeft = typeOf(left) === "scalar";
    if (scalarOnLeft || typeOf(right) === "scalar") {
      const vector = this.vector(scalarOnLeft ? right : left, scope);
      const scalar = this.scalar(scalarOnLeft ? left : right, scope);
      const spec = { op: op as ElementOp, returnBool, scalarOnLeft, singleStep, position };
      return vectorScalarNode(spec, vector, scalar);
    }
    assert(matching !== undefined, "vectors are matched by labels");
    const leftNode = this.vector(left, scope);
    const rightNode = this.vector(right, scope);
    if (isSetOperator(op)) {
      return setOperationNode(op, matching, leftNode, rightNode, singleStep);
    }
    const steps = stepCount(scope.grid);
    const spec = { op, returnBool, matching, steps, singleStep, position };
    return vectorBinaryNode(spec, leftNode, rightNode);
  }
}
