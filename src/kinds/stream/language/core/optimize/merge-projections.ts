/** Makes one projection of two that follow each other, and leaves out those that change nothing. */
import { mapColumns } from "../bind/exprs.ts";
import type { Graph } from "../bind/graph.ts";
import type { Expr } from "../expr.ts";
import type { Plan, PlanInput } from "../plan.ts";
import { rebuild } from "./rebuild.ts";

export function mergeProjections(plan: Plan): Plan {
  return rebuild(plan, (graph, { op, schema }, inputs) => {
    const [input] = inputs;
    if (op.kind !== "project" || input === undefined) return graph.add(op, inputs, schema);
    const { exprs, below } = merged(graph, op.exprs, input);
    if (isIdentity(exprs, graph, below)) return below.node;
    return graph.add({ kind: "project", exprs }, [below], schema);
  });
}

function merged(
  graph: Graph,
  exprs: readonly Expr[],
  input: PlanInput,
): { readonly exprs: readonly Expr[]; readonly below: PlanInput } {
  const { op, inputs } = graph.node(input.node);
  const [below] = inputs;
  if (op.kind !== "project" || below === undefined || !isWorthwhile(exprs, op.exprs)) {
    return { exprs, below: input };
  }
  const substituted = exprs.map((expr) => mapColumns(expr, (index) => op.exprs[index] as Expr));
  return {
    exprs: substituted,
    below: { node: below.node, shiftMs: below.shiftMs + input.shiftMs },
  };
}

/** What is computed below must not be computed twice above. */
function isWorthwhile(upper: readonly Expr[], lower: readonly Expr[]): boolean {
  const uses = new Map<number, number>();
  for (const expr of upper) {
    mapColumns(expr, (index, column) => {
      uses.set(index, (uses.get(index) ?? 0) + 1);
      return column;
    });
  }
  return lower.every((expr, index) => {
    if (expr.kind === "column" || expr.kind === "literal") return true;
    return (uses.get(index) ?? 0) <= 1;
  });
}

function isIdentity(exprs: readonly Expr[], graph: Graph, input: PlanInput): boolean {
  if (input.shiftMs !== 0 || graph.schema(input.node).length !== exprs.length) return false;
  return exprs.every((expr, index) => expr.kind === "column" && expr.index === index);
}
