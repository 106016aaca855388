/**
 * Moves conditions towards the sources: through projections and unions, and to the side of an inner
 * join that they are about. A condition never goes below an `eventTime` node, because the rows that
 * it drops advance the time; and one that can fail never goes where it sees more rows.
 */
import { column, columnsOf, conjunction, conjuncts, mapColumns } from "../bind/exprs.ts";
import type { Graph } from "../bind/graph.ts";
import type { Expr, FunctionName } from "../expr.ts";
import type { Plan, PlanInput, PlanOp } from "../plan.ts";
import { rebuild } from "./rebuild.ts";

export function pushFilters(plan: Plan): Plan {
  return rebuild(plan, (graph, { op, schema }, inputs) => {
    const [input] = inputs;
    if (op.kind !== "filter" || input === undefined) return graph.add(op, inputs, schema);
    return place(graph, conjuncts(op.predicate), input);
  });
}

const failing: ReadonlySet<FunctionName> = new Set<FunctionName>([
  ...(["divide", "modulo", "abs", "negate", "text_to_number", "parse_number"] as const),
  ...(["parse_iso_time", "from_base64", "json_extract", "power"] as const),
  ...(["regexp_matches", "regexp_extract", "regexp_replace"] as const),
]);

/** Whether a condition may throw for some row. */
export function canFail(expr: Expr): boolean {
  switch (expr.kind) {
    case "column":
    case "literal":
      return false;
    case "cast":
      return canFail(expr.arg);
    case "call":
      return failing.has(expr.fn) || expr.args.some(canFail);
    case "case":
      return (
        expr.branches.some(({ when, then }) => canFail(when) || canFail(then)) ||
        (expr.otherwise !== undefined && canFail(expr.otherwise))
      );
  }
}

/** The rows of `input` for which all terms are true. */
function place(graph: Graph, terms: readonly Expr[], input: PlanInput): number {
  if (terms.length === 0) return input.node;
  const { op, inputs, schema } = graph.node(input.node);
  const [below] = inputs;
  switch (op.kind) {
    case "project": {
      const cheap = terms.filter((term) =>
        [...columnsOf(term)].every((index) => isCheap(op.exprs[index] as Expr)),
      );
      if (cheap.length === 0 || below === undefined) return stay(graph, terms, input);
      const moved = cheap.map((term) => mapColumns(term, (index) => op.exprs[index] as Expr));
      const lower = place(graph, moved, below);
      const project = graph.add(op, [{ node: lower, shiftMs: below.shiftMs }], schema);
      return stay(graph, without(terms, cheap), { node: project, shiftMs: 0 });
    }
    case "union": {
      const all = inputs.map((one) => ({ node: place(graph, terms, one), shiftMs: one.shiftMs }));
      return graph.add(op, all, schema);
    }
    case "filter": {
      if (below === undefined || terms.some(canFail)) return stay(graph, terms, input);
      return stay(graph, [...conjuncts(op.predicate), ...terms], below);
    }
    case "windowJoin":
    case "intervalJoin":
      return placeJoin(graph, terms, input, op);
    default:
      return stay(graph, terms, input);
  }
}

function isCheap(expr: Expr): boolean {
  return expr.kind === "column" || expr.kind === "literal";
}

function without(terms: readonly Expr[], taken: readonly Expr[]): readonly Expr[] {
  return terms.filter((term) => !taken.includes(term));
}

function stay(graph: Graph, terms: readonly Expr[], input: PlanInput): number {
  const predicate = conjunction(terms);
  if (predicate === undefined) return input.node;
  return graph.add({ kind: "filter", predicate }, [input], graph.schema(input.node));
}

/** Terms about the columns of one side go below an inner join. */
function placeJoin(
  graph: Graph,
  terms: readonly Expr[],
  input: PlanInput,
  op: Extract<PlanOp, { readonly kind: "windowJoin" | "intervalJoin" }>,
): number {
  const { inputs, schema } = graph.node(input.node);
  const [left, right] = inputs;
  if (left === undefined || right === undefined) return stay(graph, terms, input);
  if (op.kind === "windowJoin" && op.join !== "inner") return stay(graph, terms, input);
  const first = op.kind === "windowJoin" ? 2 : 0;
  const middle = first + graph.schema(left.node).length;
  const isWithin = (term: Expr, from: number, to: number): boolean => {
    const columns = [...columnsOf(term)];
    return columns.length > 0 && columns.every((index) => index >= from && index < to);
  };
  const total = terms.filter((term) => !canFail(term));
  const toLeft = total.filter((term) => isWithin(term, first, middle));
  const toRight = total.filter((term) => isWithin(term, middle, schema.length));
  if (toLeft.length + toRight.length === 0) return stay(graph, terms, input);
  const down = (side: PlanInput, moved: readonly Expr[], offset: number): PlanInput => ({
    node: place(
      graph,
      moved.map((term) => mapColumns(term, (index, { type }) => column(index - offset, type))),
      side,
    ),
    shiftMs: side.shiftMs,
  });
  const join = graph.add(op, [down(left, toLeft, first), down(right, toRight, middle)], schema);
  return stay(graph, without(terms, [...toLeft, ...toRight]), { node: join, shiftMs: 0 });
}
