/**
 * Binds LAG and LAST_VALUE with OVER: functions that keep something for each key. The rows of a key
 * count in the order of their arrival; ORDER BY names the time that STATE TTL goes by.
 */
import { nullable } from "../data-type.ts";
import { DialectError } from "../dialect-error.ts";
import type { Expr } from "../expr.ts";
import type { AstCall, AstExpr, AstOver } from "../parse/ast.ts";
import type { KeyedOp } from "../plan.ts";
import { astKey, walkAst } from "./ast-key.ts";
import { bindExpr, type ExprScope } from "./bind-expr.ts";
import { bindTime } from "./bind-join.ts";
import { type BindContext, ColumnAdder, scopeOf } from "./context.ts";
import { placeEventTime } from "./event-time.ts";
import { column } from "./exprs.ts";
import type { Relation } from "./scope.ts";

export interface OverBinding {
  readonly node: number;
  readonly scope: ExprScope;
}

/** Adds a node for each such call in the expressions; the scope knows their results. */
export function bindOver(
  exprs: readonly AstExpr[],
  input: Relation,
  context: BindContext,
): OverBinding {
  const results = new Map<string, Expr>();
  let { node } = input;
  for (const ast of exprs.flatMap((expr) => [...walkAst(expr)])) {
    if (ast.kind !== "call" || ast.over === undefined || results.has(astKey(ast))) continue;
    const fn = functionOf(ast);
    const arg = bindExpr(ast.args[0] as AstExpr, scopeOf(input.columns));
    node = addKeyed({ node, columns: input.columns }, ast.over, ast, { ...fn, arg }, context);
    const schema = context.graph.schema(node);
    results.set(astKey(ast), column(schema.length - 1, nullable(arg.type.name)));
  }
  const plain = scopeOf(input.columns);
  const intercept = (ast: AstExpr): Expr | undefined =>
    ast.kind === "call" && ast.over !== undefined ? results.get(astKey(ast)) : undefined;
  return { node, scope: { ...plain, intercept } };
}

function functionOf(ast: AstCall): { readonly kind: "lag" | "lastValue"; readonly offset: number } {
  const { position } = ast;
  const [first, second] = ast.args;
  switch (ast.name.toUpperCase()) {
    case "LAG": {
      const offset = second === undefined ? 1 : second.kind === "number" ? Number(second.text) : 0;
      const isCounted = Number.isInteger(offset) && offset >= 1 && offset <= 1000;
      if (first === undefined || ast.args.length > 2 || !isCounted) {
        throw new DialectError(2002, "LAG takes a value and a number of rows from 1 to 1000", {
          position,
        });
      }
      return { kind: "lag", offset };
    }
    case "LAST_VALUE":
      if (ast.args.length !== 1) {
        throw new DialectError(2002, "LAST_VALUE takes one value", { position });
      }
      return { kind: "lastValue", offset: 0 };
    case "ROW_NUMBER":
      throw new DialectError(2008, "ROW_NUMBER stands in QUALIFY only", {
        position,
        hint: "QUALIFY ROW_NUMBER() OVER (PARTITION BY key ORDER BY value DESC) <= 10",
      });
    default:
      throw new DialectError(2008, `${ast.name} with OVER is not supported`, {
        position,
        hint: "LAG and LAST_VALUE are, and ROW_NUMBER in QUALIFY.",
      });
  }
}

type Keep =
  | { readonly kind: "lag" | "lastValue"; readonly offset: number; readonly arg: Expr }
  | { readonly kind: "deduplicate" };

/** A keyed operator over a relation; its result, if it has one, is the last column. */
export function addKeyed(
  input: Relation,
  over: AstOver,
  at: Pick<AstCall, "position">,
  keep: Keep,
  context: BindContext,
): number {
  const { graph } = context;
  const scope = scopeOf(input.columns);
  const adder = new ColumnAdder(graph.schema(input.node));
  const side = { node: input.node, columns: input.columns, adder };
  const keys = over.partition.map((key) => adder.add(bindExpr(key, scope), "key"));
  const arg = keep.kind === "deduplicate" ? 0 : adder.add(keep.arg, "argument");
  const [order, ...more] = over.order;
  if (more.length > 0 || order?.descending === true) {
    throw new DialectError(2008, "here rows are ordered by one time, ascending", {
      position: at.position,
      hint: "The newest rows of a key: QUALIFY ROW_NUMBER() OVER (…) in a query with a WINDOW.",
    });
  }
  const time = bindTime(side, order?.expr, at, context);
  const timed = placeEventTime(graph, adder.build(context, side.node), time, context.declaredBound);
  const schema = graph.schema(timed.node);
  const op: KeyedOp = { kind: "keyed", keys, time, ttlMs: over.ttlMs, fn: functionFor(keep, arg) };
  if (keep.kind === "deduplicate") return graph.add(op, [timed], schema);
  const result = { name: keep.kind, type: nullable(keep.arg.type.name) };
  return graph.add(op, [timed], [...schema, result]);
}

function functionFor(keep: Keep, arg: number): KeyedOp["fn"] {
  switch (keep.kind) {
    case "lag":
      return { kind: "lag", arg, offset: keep.offset };
    case "lastValue":
      return { kind: "lastValue", arg };
    case "deduplicate":
      return { kind: "deduplicate" };
  }
}
