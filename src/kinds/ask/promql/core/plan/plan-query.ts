/** A query's plan: the leaves that workers compute, and the tree that evaluates them. */
import type { Expr, ValueType } from "../ast.ts";
import {
  type EngineOptions,
  PromqlError,
  type QueryParams,
  type QueryPlan,
} from "../engine-types.ts";
import type { ExecutablePlan } from "../eval/executable-plan.ts";
import type { BaseExpr } from "../leaf.ts";
import { typeOf } from "../parse/type-of.ts";
import { isDivisible } from "./name-removal.ts";
import { Planner } from "./planner.ts";
import { rootScope } from "./scope.ts";

/** Throws `PromqlError` when the expression cannot be evaluated with these parameters. */
export function planQuery(expr: Expr, params: QueryParams, options: EngineOptions): QueryPlan {
  const resultType = typeOf(expr);
  if (!params.instant) checkRangeQuery(resultType);
  const scope = rootScope(params.grid, params.span);
  const planner = new Planner(expr, params, options);
  const root = planner.root(expr, scope);
  const { leaves, explanations } = planner.leaves.registry;
  checkMatchers(leaves, options);
  const plan: ExecutablePlan = {
    params,
    options,
    resultType,
    grid: scope.grid,
    leaves,
    divisible: !options.delayedNameRemoval || isDivisible(expr),
    explanations,
    annotations: [],
    root,
  };
  return plan;
}

function checkMatchers(leaves: readonly BaseExpr[], { matchersMax }: EngineOptions): void {
  const count = leaves.reduce((sum, { matchers }) => sum + matchers.length, 0);
  if (count <= matchersMax) return;
  const message = `the query has ${count} matchers; the limit matchers_per_request is ${matchersMax}`;
  throw new PromqlError("execution", message);
}

function checkRangeQuery(type: ValueType): void {
  if (type === "vector" || type === "scalar") return;
  const name = type === "matrix" ? "range vector" : type;
  throw new PromqlError(
    "parse",
    `invalid expression type "${name}" for range query, must be Scalar or instant Vector`,
  );
}
