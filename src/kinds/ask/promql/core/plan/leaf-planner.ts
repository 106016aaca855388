/**
 * Plans the parts of a query that can be computed next to the data, as leaves. Rules: PE1, PE2,
 * PE7. A leaf depends only on its selector and constants: with an argument that varies from step to
 * step it must be raw.
 */
import type { Aggregate, Call, Expr, MatrixSelector, VectorSelector } from "../ast.ts";
import { type EngineOptions, PromqlError, type QueryParams } from "../engine-types.ts";
import type { CallPlaces } from "../eval/call-places.ts";
import type { MatrixNode, VectorNode } from "../eval/exec-node.ts";
import {
  type LeafUse,
  leafAggregateNode,
  leafSamplesNode,
  leafVectorNode,
} from "../eval/leaf-nodes.ts";
import { metadataLabels } from "../eval/result-labels.ts";
import { boundsError, kernelKeepsName } from "../kernels/range-kernels.ts";
import { compareText, metricNameLabel } from "../labels.ts";
import type { BaseExpr, LeafAggregate, LeafCall, PartialOp } from "../leaf.ts";
import { instantGrid } from "../model.ts";
import { constantScalar } from "./constant-scalar.ts";
import { histogramStatsSelectors } from "./histogram-stats.ts";
import { canonicalMatchers, LeafRegistry } from "./leaf-registry.ts";
import type { QueryTimes } from "./query-times.ts";
import { isSingleStep, type Scope } from "./scope.ts";
import { withoutParens } from "./step-invariance.ts";

/** A vector that is a leaf of steps, unless it is aggregated as well. */
export interface StepsLeaf {
  readonly leaf: BaseExpr;
  readonly call: LeafCall | undefined;
  readonly places: CallPlaces;
}

const partialOps: ReadonlySet<string> = new Set<PartialOp>([
  "sum",
  "avg",
  "count",
  "min",
  "max",
  "group",
  "topk",
  "bottomk",
]);

/** Beyond this k, the shards have hardly fewer candidates than series. */
const pushedCountMax = 1_000;

/** The functions that `useStartTs` affects. */
const startTsFunctions: ReadonlySet<string> = new Set([
  "rate",
  "irate",
  "increase",
  "resets",
  "start_timestamp",
]);

export class LeafPlanner {
  readonly registry: LeafRegistry = new LeafRegistry();
  readonly #params: QueryParams;
  readonly #options: EngineOptions;
  readonly #times: QueryTimes;

  readonly #statsSelectors: ReadonlySet<VectorSelector>;

  constructor(query: Expr, params: QueryParams, options: EngineOptions, times: QueryTimes) {
    this.#statsSelectors = histogramStatsSelectors(query);
    this.#params = params;
    this.#options = options;
    this.#times = times;
  }

  /** Undefined when the expression is no leaf. */
  stepsLeaf(expr: Expr, scope: Scope): StepsLeaf | undefined {
    if (expr.kind === "vectorSelector") return this.#selectorLeaf(expr, scope);
    if (expr.kind !== "call") return undefined;
    if (expr.name === "timestamp" || expr.name === "start_timestamp") {
      return this.#timestampLeaf(expr, scope);
    }
    return this.#rangeCallLeaf(expr, scope);
  }

  #selectorLeaf(selector: VectorSelector, scope: Scope): StepsLeaf {
    const places = { call: selector.position, args: [] };
    return { leaf: this.#base(selector, undefined, undefined, scope), call: undefined, places };
  }

  /** Only a selector has the samples' own times, and only without smoothing. */
  #timestampLeaf(call: Call, scope: Scope): StepsLeaf | undefined {
    const [arg] = call.args.map(withoutParens);
    if (arg?.kind !== "vectorSelector") return undefined;
    const leafCall = { name: call.name, args: [] };
    const leaf = this.#base({ ...arg, bounds: undefined }, undefined, leafCall, scope);
    return { leaf, call: leafCall, places: placesOf(call) };
  }

  #rangeCallLeaf(call: Call, scope: Scope): StepsLeaf | undefined {
    const args = call.args.map(withoutParens);
    const matrix = args.find((arg) => arg.kind === "matrixSelector");
    if (matrix === undefined || call.name === "absent_over_time") return undefined;
    checkBounds(call, matrix);
    // `@` fixes the window, but not the time that a prediction starts from.
    if (matrix.vector.at !== undefined && !scope.once) return undefined;
    const constants: number[] = [];
    for (const arg of args) {
      if (arg === matrix) continue;
      const value = constantScalar(arg, this.#params);
      if (value === undefined) return undefined;
      constants.push(value);
    }
    const leafCall = { name: call.name, args: constants };
    const rangeMs = this.#times.range(matrix.range);
    const leaf = this.#base(matrix.vector, rangeMs, leafCall, scope);
    return { leaf, call: leafCall, places: placesOf(call) };
  }

  #base(
    selector: VectorSelector,
    rangeMs: number | undefined,
    call: LeafCall | undefined,
    scope: Scope,
  ): BaseExpr {
    const { at, bounds } = selector;
    const { lookbackMs, useStartTs } = this.#options;
    return {
      matchers: canonicalMatchers(selector.matchers),
      grid: at === undefined ? scope.grid : instantGrid(this.#times.at(at)),
      rangeMs,
      offsetMs: this.#times.offset(selector),
      lookbackMs,
      bounds,
      useStartTs: useStartTs && startTsFunctions.has(call?.name ?? ""),
      ...(this.#statsSelectors.has(selector) ? { histogramStats: true } : {}),
      output: { kind: "steps", call },
    };
  }

  /** A vector at every step, computed next to the data unless push-down is off. */
  vectorNode(steps: StepsLeaf, scope: Scope, reason?: string): VectorNode {
    return leafVectorNode(this.#use(steps, reason), isSingleStep(scope));
  }

  #use({ leaf, call, places }: StepsLeaf, reason: string | undefined): LeafUse {
    if (this.#options.pushdown === "raw") {
      const { index, text } = this.registry.add(this.#raw(leaf), "push-down is off");
      return { index, text, wanted: leaf, places };
    }
    const what =
      call === undefined
        ? "the selector's value at every step is found next to the data"
        : `${call.name} runs next to the data`;
    const why = reason === undefined ? what : `${what}; ${reason}`;
    return { ...this.registry.add(leaf, why), wanted: leaf, places };
  }

  #raw(leaf: BaseExpr): BaseExpr {
    return { ...leaf, useStartTs: this.#options.useStartTs, output: { kind: "raw" } };
  }

  /** A selector's samples, for a function that is computed here. */
  samplesNode(matrix: MatrixSelector, scope: Scope, why: string): MatrixNode {
    const rangeMs = this.#times.range(matrix.range);
    const leaf = this.#raw(this.#base(matrix.vector, rangeMs, undefined, scope));
    const places = { call: matrix.position, args: [] };
    return leafSamplesNode({ ...this.registry.add(leaf, why), wanted: leaf, places });
  }

  /** Undefined when it must be aggregated here. */
  aggregateNode(aggregate: Aggregate, scope: Scope): VectorNode | undefined {
    const input = withoutParens(aggregate.expr);
    if (!partialOps.has(aggregate.op)) return undefined;
    const steps = this.stepsLeaf(input, scope);
    const partial = steps && this.#partialOf(aggregate, steps);
    if (steps === undefined || partial === undefined) return undefined;
    const what = steps.call === undefined ? "the selector" : steps.call.name;
    return this.partialsNode(steps, partial, scope, {
      why: `${aggregate.op} of ${what} is exact when merged from what the shards aggregated`,
      position: aggregate.position,
      inputPosition: input.position,
      paramPosition: aggregate.param?.position ?? aggregate.position,
    });
  }

  partialsNode(
    { leaf, call, places }: StepsLeaf,
    aggregate: LeafAggregate,
    scope: Scope,
    { why, ...positions }: AggregatePositions & { readonly why: string },
  ): VectorNode {
    const wanted: BaseExpr = { ...leaf, output: { kind: "partials", call, aggregate } };
    const use = { ...this.registry.add(wanted, why), wanted, places };
    const singleStep = isSingleStep(scope);
    return leafAggregateNode(use, { aggregate, singleStep, ...positions });
  }

  #partialOf(aggregate: Aggregate, steps: StepsLeaf): LeafAggregate | undefined {
    const { op, without } = aggregate;
    const grouping = [...new Set(aggregate.grouping)].sort(compareText);
    if (!this.mayAggregate(grouping, without, steps)) return undefined;
    const base = { op: op as PartialOp, grouping, without };
    if (op !== "topk" && op !== "bottomk") return { ...base, k: undefined };
    const k = aggregate.param && constantScalar(aggregate.param, this.#params);
    const count = k === undefined ? Number.NaN : Math.trunc(k);
    return count >= 1 && count <= pushedCountMax ? { ...base, k: count } : undefined;
  }

  /**
   * Without delayed removal, a function removes the name before grouping, and fails if series
   * become equal. Workers do not check that, so they aggregate only where it makes no difference.
   */
  mayAggregate(
    grouping: readonly string[],
    without: boolean,
    { leaf: { matchers }, call }: StepsLeaf,
  ): boolean {
    const { pushdown, delayedNameRemoval } = this.#options;
    if (pushdown === "raw") return false;
    if (delayedNameRemoval || call === undefined || kernelKeepsName(call.name)) return true;
    const oneName = matchers.some(({ name, op }) => name === metricNameLabel && op === "=");
    return oneName && !without && !grouping.some((name) => metadataLabels.has(name));
  }
}

export interface AggregatePositions {
  readonly position: Aggregate["position"];
  readonly inputPosition: Aggregate["position"];
  readonly paramPosition: Aggregate["position"];
}

export function placesOf({ position, args }: Call): CallPlaces {
  return { call: position, args: args.map((arg) => withoutParens(arg).position) };
}

/** Prometheus reports this at evaluation; here the plan does. */
export function checkBounds({ name }: Call, { vector }: MatrixSelector): void {
  const error = vector.bounds && boundsError(name, vector.bounds);
  if (error !== undefined) throw new PromqlError("execution", error);
}
