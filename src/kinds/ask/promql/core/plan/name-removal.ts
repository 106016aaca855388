/**
 * Decides whether a query may be cut into spans. It may not if one series of its result can combine
 * samples whose name is removed with samples whose name stays: with delayed removal the first
 * sample decides for all, and a span does not know the first. Only `or` combines such samples.
 */
import type { Aggregate, Binary, Call, Expr } from "../ast.ts";
import { absentLabels } from "../eval/absent-node.ts";
import { isArithmetic, isComparison, isSetOperator } from "../eval/float-operators.ts";
import { metadataLabels, withoutMetadata } from "../eval/result-labels.ts";
import { kernelKeepsName } from "../kernels/range-kernels.ts";
import { metricNameLabel } from "../labels.ts";
import { typeOf } from "../parse/type-of.ts";
import { withoutParens } from "./step-invariance.ts";

/** What happens to the names of an expression's series at the end. `none`: they have no name. */
type NameFate = "stays" | "goes" | "none" | "mixed";

export function isDivisible(expr: Expr): boolean {
  return fateOf(expr) !== "mixed";
}

/** `mixed` anywhere below counts, unless an aggregation has removed the names. */
function fateOf(parenthesized: Expr): NameFate {
  const expr = withoutParens(parenthesized);
  switch (expr.kind) {
    case "vectorSelector":
    case "matrixSelector":
      return "stays";
    case "subquery":
      return fateOf(expr.expr);
    case "unary":
      return worst(fateOf(expr.expr), expr.op === "-" ? "goes" : undefined);
    case "aggregate":
      return fateOfAggregate(expr);
    case "call":
      return fateOfCall(expr);
    case "binary":
      return fateOfBinary(expr);
    default:
      return "none";
  }
}

/** The fate after an operation, unless it is mixed already. */
function worst(fate: NameFate, made: NameFate | undefined): NameFate {
  return fate === "mixed" ? fate : (made ?? fate);
}

const selecting: ReadonlySet<string> = new Set(["topk", "bottomk", "limitk", "limit_ratio"]);

function fateOfAggregate({ op, expr, grouping, without }: Aggregate): NameFate {
  const fate = fateOf(expr);
  if (selecting.has(op)) return fate;
  return !without && grouping.some((name) => metadataLabels.has(name)) ? fate : "none";
}

const passing: ReadonlySet<string> = new Set([
  "label_join",
  "label_replace",
  "info",
  "sort",
  "sort_desc",
  "sort_by_label",
  "sort_by_label_desc",
]);
const nameless: ReadonlySet<string> = new Set(["absent", "vector", "scalar"]);

function fateOfCall({ name, args }: Call): NameFate {
  if (nameless.has(name)) return "none";
  if (name === "absent_over_time") return fateOfAbsentLabels(args);
  const vector = args.map(withoutParens).find((arg) => ["vector", "matrix"].includes(typeOf(arg)));
  if (vector === undefined) return "none";
  const fate = fateOf(vector);
  if (kernelKeepsName(name)) return fate;
  if (!passing.has(name)) return worst(fate, "goes");
  // The labels decide which series get a new name and keep it.
  const target = args[1] && withoutParens(args[1]);
  const renames = name.startsWith("label_") && target?.kind === "string";
  return renames && target.value === metricNameLabel && fate === "goes" ? "mixed" : fate;
}

/** They have no name, but may have a type and a unit, which are removed like one. */
function fateOfAbsentLabels([arg]: Call["args"]): NameFate {
  const labels = arg && absentLabels(withoutParens(arg));
  return labels !== undefined && withoutMetadata(labels).key !== labels.key ? "goes" : "none";
}

function fateOfBinary({ op, left, right, returnBool }: Binary): NameFate {
  const fates = [left, right].map(fateOf) as [NameFate, NameFate];
  if (fates.includes("mixed")) return "mixed";
  const [first, second] = fates;
  if (op === "or") {
    if (first === second || second === "none") return first;
    return first === "none" ? second : "mixed";
  }
  if (isSetOperator(op)) return first;
  const withScalar = typeOf(left) === "scalar" || typeOf(right) === "scalar";
  if (returnBool) return "goes";
  if (withScalar) return isArithmetic(op) ? "goes" : first === "none" ? second : first;
  return isComparison(op) ? "stays" : "none";
}
