/**
 * Finds the parts of an expression with the same value at every step, because `@` fixes all that
 * they read. Each is evaluated once, at the first step of the whole query, and repeated.
 */
import type { Call, Expr } from "../ast.ts";

interface Invariance {
  readonly invariant: boolean;
  /** Whether it should be evaluated once: not a literal, nor what a function reads by itself. */
  readonly wrap: boolean;
}

const varying: Invariance = { invariant: false, wrap: false };
const constant: Invariance = { invariant: true, wrap: false };
const fixed: Invariance = { invariant: true, wrap: true };

/** Functions whose value depends on the evaluation time even with constant arguments. */
const timeDependent: ReadonlySet<string> = new Set([
  "days_in_month",
  "day_of_month",
  "day_of_week",
  "day_of_year",
  "hour",
  "minute",
  "month",
  "year",
  "predict_linear",
  "time",
  "timestamp",
]);

/** Constants of the query, although they look like calls. */
export const queryConstants: ReadonlySet<string> = new Set(["start", "end", "range", "step"]);

export class StepInvariance {
  readonly #known = new Map<Expr, Invariance>();

  /** Whether to evaluate it once and repeat it. */
  wraps(expr: Expr): boolean {
    return this.#of(expr).wrap;
  }

  isInvariant(expr: Expr): boolean {
    return this.#of(expr).invariant;
  }

  #of(expr: Expr): Invariance {
    let known = this.#known.get(expr);
    if (known === undefined) {
      known = this.#find(expr);
      this.#known.set(expr, known);
    }
    return known;
  }

  #find(expr: Expr): Invariance {
    switch (expr.kind) {
      case "number":
      case "string":
        return constant;
      case "vectorSelector":
        return expr.at === undefined ? varying : fixed;
      case "matrixSelector":
        return expr.vector.at === undefined ? varying : constant;
      case "subquery":
        return expr.at === undefined ? varying : fixed;
      case "aggregate":
        // Like Prometheus, ignores the parameter: it is also evaluated at the first step.
        return this.#of(expr.expr);
      case "unary":
      case "paren":
        return this.#of(expr.expr);
      case "binary":
        return this.isInvariant(expr.left) && this.isInvariant(expr.right) ? fixed : varying;
      case "call":
        return this.#ofCall(expr);
    }
  }

  #ofCall(call: Call): Invariance {
    if (queryConstants.has(call.name) && call.args.length === 0) return constant;
    if (!call.args.every((arg) => this.isInvariant(arg))) return varying;
    if (!timeDependent.has(call.name)) return fixed;
    // The timestamp of a sample that `@` selects is fixed; that of a computed value is not.
    const [arg] = call.args;
    const ofSample = arg !== undefined && withoutParens(arg).kind === "vectorSelector";
    return call.name === "timestamp" && ofSample ? fixed : varying;
  }
}

export function withoutParens(expr: Expr): Expr {
  let inner = expr;
  while (inner.kind === "paren") inner = inner.expr;
  return inner;
}
