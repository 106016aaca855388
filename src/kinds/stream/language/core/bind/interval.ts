/**
 * Finds the interval of an interval join: conditions such as `b.ts BETWEEN a.ts - 5 SEC AND a.ts +
 * 5 SEC`, or the same as two comparisons. They are read as they are written, before types come in,
 * so that differences below 0 are no matter.
 */
import type { AstExpr } from "../parse/ast.ts";
import { matchingColumns, type ScopeColumn } from "./scope.ts";

export interface Interval {
  readonly leftTime: number;
  readonly rightTime: number;
  /** `lowerMs <= right time - left time <= upperMs`. */
  readonly lowerMs: number;
  readonly upperMs: number;
  /** The other conditions. */
  readonly rest: readonly AstExpr[];
}

/** A column of one side, and what is added to it. */
interface Shifted {
  readonly side: "left" | "right";
  readonly column: number;
  readonly addMs: number;
}

/** `right - left` compared with a number. */
interface Bound {
  readonly leftTime: number;
  readonly rightTime: number;
  readonly lowerMs: number | undefined;
  readonly upperMs: number | undefined;
}

export function findInterval(
  on: AstExpr,
  left: readonly ScopeColumn[],
  right: readonly ScopeColumn[],
): Interval | undefined {
  const all = terms(on).map((term) => ({ term, bounds: boundsOf(term, left, right) }));
  // Other columns may be compared, too: the times are the first pair with both bounds.
  for (const { bounds: first } of all) {
    const pair = first?.[0];
    if (pair === undefined) continue;
    let found: Bound | undefined;
    const rest: AstExpr[] = [];
    for (const { term, bounds } of all) {
      if (bounds?.every((bound) => isSamePair(pair, bound)) !== true) rest.push(term);
      else for (const bound of bounds) found = narrowed(found, bound);
    }
    if (found?.lowerMs === undefined || found.upperMs === undefined) continue;
    const { leftTime, rightTime, lowerMs, upperMs } = found;
    return { leftTime, rightTime, lowerMs, upperMs, rest };
  }
  return undefined;
}

function terms(ast: AstExpr): readonly AstExpr[] {
  if (ast.kind !== "binary" || ast.op !== "and") return [ast];
  return [...terms(ast.left), ...terms(ast.right)];
}

function isSamePair(found: Bound, bound: Bound): boolean {
  return found.leftTime === bound.leftTime && found.rightTime === bound.rightTime;
}

function narrowed(found: Bound | undefined, bound: Bound): Bound {
  if (found === undefined) return bound;
  const lower = [found.lowerMs, bound.lowerMs].filter((ms) => ms !== undefined);
  const upper = [found.upperMs, bound.upperMs].filter((ms) => ms !== undefined);
  return {
    ...found,
    lowerMs: lower.length === 0 ? undefined : Math.max(...lower),
    upperMs: upper.length === 0 ? undefined : Math.min(...upper),
  };
}

function boundsOf(
  term: AstExpr,
  left: readonly ScopeColumn[],
  right: readonly ScopeColumn[],
): readonly Bound[] | undefined {
  const compare = (low: AstExpr, high: AstExpr, gapMs: number): Bound | undefined => {
    const from = shifted(low, left, right);
    const to = shifted(high, left, right);
    return from && to && atMost(from, to, gapMs);
  };
  if (term.kind === "between" && !term.negated) {
    const lower = compare(term.low, term.arg, 0);
    const upper = compare(term.arg, term.high, 0);
    return lower && upper && isSamePair(lower, upper) ? [lower, upper] : undefined;
  }
  if (term.kind !== "binary") return undefined;
  const bound = ((): Bound | undefined => {
    switch (term.op) {
      case "<=":
        return compare(term.left, term.right, 0);
      case "<":
        return compare(term.left, term.right, 1);
      case ">=":
        return compare(term.right, term.left, 0);
      case ">":
        return compare(term.right, term.left, 1);
      default:
        return undefined;
    }
  })();
  return bound && [bound];
}

/** `low + gap <= high`. */
function atMost(low: Shifted, high: Shifted, gapMs: number): Bound | undefined {
  if (low.side === high.side) return undefined;
  const differenceMs = low.addMs - high.addMs + gapMs;
  if (low.side === "left") {
    const pair = { leftTime: low.column, rightTime: high.column };
    return { ...pair, lowerMs: differenceMs, upperMs: undefined };
  }
  const pair = { leftTime: high.column, rightTime: low.column };
  return { ...pair, lowerMs: undefined, upperMs: -differenceMs };
}

function shifted(
  ast: AstExpr,
  left: readonly ScopeColumn[],
  right: readonly ScopeColumn[],
): Shifted | undefined {
  if (ast.kind === "name") {
    const onLeft = matchingColumns(left, ast.qualifier, ast.name);
    const onRight = matchingColumns(right, ast.qualifier, ast.name);
    if (onLeft.length + onRight.length !== 1) return undefined;
    const side = onLeft.length === 1 ? "left" : "right";
    return { side, column: (onLeft[0] ?? onRight[0]) as number, addMs: 0 };
  }
  if (ast.kind !== "binary" || (ast.op !== "+" && ast.op !== "-")) return undefined;
  const base = shifted(ast.left, left, right);
  const ms = msOf(ast.right);
  if (base === undefined || ms === undefined) return undefined;
  return { ...base, addMs: base.addMs + (ast.op === "+" ? ms : -ms) };
}

function msOf(ast: AstExpr): number | undefined {
  if (ast.kind === "duration") return ast.ms;
  if (ast.kind === "number" && /^\d{1,15}$/.test(ast.text)) return Number(ast.text);
  return undefined;
}
