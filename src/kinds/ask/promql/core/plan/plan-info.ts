/**
 * `info(v, {…})`: which info metrics it reads, and at which time: that of the first selector in
 * `v`. Its offset or `@`, and those of the subqueries around it, also apply to the info metrics.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { AtModifier, Call, Expr, Subquery, VectorSelector } from "../ast.ts";
import type { ExecNode, VectorNode, VectorValue } from "../eval/exec-node.ts";
import type { InfoSpec } from "../eval/info-node.ts";
import { repeatedVectorNode } from "../eval/step-invariant-node.ts";
import { metricNameLabel } from "../labels.ts";
import type { Matcher } from "../leaf.ts";
import { stepCount } from "../model.ts";
import type { LeafPlanner } from "./leaf-planner.ts";
import type { QueryTimes } from "./query-times.ts";
import { firstStepScope, isSingleStep, type Scope } from "./scope.ts";
import { withoutParens } from "./step-invariance.ts";

export function planInfo(
  call: Call,
  scope: Scope,
  leaves: LeafPlanner,
  times: QueryTimes,
): InfoSpec {
  const [base, selector] = call.args.map(withoutParens);
  const matchers = selector?.kind === "vectorSelector" ? selector.matchers : [];
  const nameMatchers = infoNameMatchers(matchers.filter(({ name }) => name === metricNameLabel));
  const dataMatchers = matchers.filter(({ name }) => name !== metricNameLabel);
  const reference = base === undefined ? undefined : referenceTime(base, times);
  const info: VectorSelector = {
    kind: "vectorSelector",
    position: call.position,
    name: undefined,
    matchers: [...nameMatchers, ...dataMatchers],
    offset: durationOf(reference?.offsetMs ?? 0, call),
    at: reference?.at,
    bounds: undefined,
  };
  const steps = stepCount(scope.grid);
  return {
    nameMatchers,
    dataMatchers,
    steps,
    singleStep: isSingleStep(scope),
    values: vectorOf(info, scope, leaves, steps),
    timestamps: vectorOf({ ...call, name: "timestamp", args: [info] }, scope, leaves, steps),
  };
}

function vectorOf(expr: Expr, scope: Scope, leaves: LeafPlanner, steps: number): VectorNode {
  const selector = expr.kind === "call" ? expr.args[0] : expr;
  const fixed = selector?.kind === "vectorSelector" && selector.at !== undefined;
  const leafScope = fixed ? firstStepScope(scope) : scope;
  const leaf = leaves.stepsLeaf(expr, leafScope);
  assert(leaf !== undefined, "info metrics are selected by a leaf");
  const node: ExecNode<VectorValue> = leaves.vectorNode(leaf, leafScope, "info() joins them");
  return fixed ? repeatedVectorNode(node, steps) : node;
}

function durationOf(ms: number, { position }: Call): VectorSelector["offset"] {
  return { kind: "duration", ms, seconds: ms / 1000, isDuration: true, position };
}

/** Negative matchers alone apply to all info metrics; no matcher means target_info. */
function infoNameMatchers(matchers: readonly Matcher[]): readonly Matcher[] {
  if (matchers.length === 0) return [{ name: metricNameLabel, op: "=", value: "target_info" }];
  if (matchers.some(({ op }) => op === "=" || op === "=~")) return matchers;
  return [{ name: metricNameLabel, op: "=~", value: ".+_info" }, ...matchers];
}

interface Reference {
  readonly at: AtModifier | undefined;
  readonly offsetMs: number;
}

function referenceTime(expr: Expr, times: QueryTimes): Reference | undefined {
  const path = firstSelectorPath(expr);
  if (path === undefined) return undefined;
  let at: AtModifier | undefined;
  let offsetMs = 0;
  for (const node of path) {
    // `@` overrides everything around it.
    if (node.at !== undefined) {
      at = node.at;
      offsetMs = 0;
    }
    offsetMs += times.offset(node);
  }
  return { at, offsetMs };
}

/** The first selector of the text, after the subqueries around it from the outermost. */
function firstSelectorPath(expr: Expr): (Subquery | VectorSelector)[] | undefined {
  switch (expr.kind) {
    case "number":
    case "string":
      return undefined;
    case "vectorSelector":
      return [expr];
    case "matrixSelector":
      return [expr.vector];
    case "subquery": {
      const inner = firstSelectorPath(expr.expr);
      return inner && [expr, ...inner];
    }
    case "unary":
    case "paren":
      return firstSelectorPath(expr.expr);
    case "aggregate":
      return firstOf([expr.expr, ...(expr.param === undefined ? [] : [expr.param])]);
    case "binary":
      return firstOf([expr.left, expr.right]);
    case "call":
      return firstOf(expr.args);
  }
}

function firstOf(exprs: readonly Expr[]): (Subquery | VectorSelector)[] | undefined {
  for (const expr of exprs) {
    const path = firstSelectorPath(expr);
    if (path !== undefined) return path;
  }
  return undefined;
}
