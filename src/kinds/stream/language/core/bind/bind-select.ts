/** Binds one SELECT: FROM, WHERE, the window with its aggregates, HAVING, and the list. */
import { DialectError } from "../dialect-error.ts";
import type { Expr } from "../expr.ts";
import type { AstExpr, AstSelect, AstSelectItem } from "../parse/ast.ts";
import { aggregateOf, isAggregateName } from "./aggregates.ts";
import { walkAst } from "./ast-key.ts";
import { AggregateBinder } from "./bind-aggregate.ts";
import { bindCondition, bindExpr, type ExprScope } from "./bind-expr.ts";
import { bindOver } from "./bind-over.ts";
import { bindQualify, bindRowWindows, qualifyPlain } from "./bind-qualify.ts";
import { bindRelation } from "./bind-relation.ts";
import { type BindContext, project, scopeOf } from "./context.ts";
import { placeEventTime } from "./event-time.ts";
import type { Relation } from "./scope.ts";
import { bindItems, type OutputColumn } from "./select-items.ts";

export function bindSelect(ast: AstSelect, context: BindContext): Relation {
  refuseUnsupported(ast);
  const from = bindWatermark(ast, bindRelation(ast.from, context), context);
  const filtered = addFilter(from, ast.where, scopeOf(from.columns), "WHERE", context);
  if (ast.window === undefined) {
    refuseAggregates(ast);
    return bindPlain(ast, filtered, context);
  }
  if (isOfRows(ast)) {
    const rows = bindRowWindows(ast, ast.window, filtered, context);
    const scope = scopeOf(rows.columns);
    const { apply } = bindQualify(ast.qualify as AstExpr, scope, context);
    return bindPlain(
      { ...ast, qualify: undefined },
      { ...rows, node: apply(rows.node, 0, 1) },
      context,
    );
  }
  return bindWindowed(ast, new AggregateBinder(ast, ast.window, filtered, context), context);
}

/** A window with QUALIFY and without keys and aggregates is about rows as they are. */
function isOfRows(ast: AstSelect): boolean {
  if (ast.qualify === undefined || ast.groupBy !== undefined || ast.having !== undefined) {
    return false;
  }
  return findAggregate(ast) === undefined;
}

function refuseUnsupported(ast: AstSelect): void {
  if (ast.distinct) {
    throw new DialectError(2008, "SELECT DISTINCT is not supported on a stream", {
      position: ast.position,
      hint: "The first row of each key: QUALIFY ROW_NUMBER() OVER (PARTITION BY key STATE TTL 1 HOUR) = 1.",
    });
  }
}

/** `WATERMARK(ts, 5 SEC)`: how far rows may be out of order by that column. */
function bindWatermark(ast: AstSelect, from: Relation, context: BindContext): Relation {
  if (ast.watermark === undefined) return from;
  const { column, boundMs, position } = ast.watermark;
  const expr = bindExpr(column, scopeOf(from.columns));
  if (expr.kind !== "column") {
    throw new DialectError(2000, "WATERMARK takes a column", { position });
  }
  const { graph, declaredBound } = context;
  const { node } = placeEventTime(graph, from.node, expr.index, declaredBound, boundMs);
  return { ...from, node };
}

function addFilter(
  relation: Relation,
  ast: AstExpr | undefined,
  scope: ExprScope,
  clause: string,
  context: BindContext,
): Relation {
  if (ast === undefined) return relation;
  const predicate = bindCondition(ast, scope, clause);
  const { graph } = context;
  const op = { kind: "filter", predicate } as const;
  return { ...relation, node: graph.add(op, [relation.node], graph.schema(relation.node)) };
}

/** Without a window nothing can be grouped: rows would have to be taken back. */
function refuseAggregates(ast: AstSelect): void {
  const aggregate = findAggregate(ast);
  const what = ast.groupBy !== undefined ? "GROUP BY" : ast.having ? "HAVING" : undefined;
  if (aggregate === undefined && what === undefined) return;
  throw new DialectError(2000, `${what ?? "an aggregate"} needs a window`, {
    position: aggregate?.position ?? ast.position,
    hint: "Add WINDOW TUMBLING(time, SIZE 10 SEC). For an answer that keeps updating, write the rows INTO a Lake sink and make a dynamic table over it.",
  });
}

function findAggregate(ast: AstSelect): AstExpr | undefined {
  return ast.items
    .flatMap((item) => (item.kind === "expr" ? [...walkAst(item.expr)] : []))
    .find((one) => one.kind === "call" && one.over === undefined && isAggregateName(one.name));
}

function bindPlain(ast: AstSelect, from: Relation, context: BindContext): Relation {
  const input = ast.qualify === undefined ? from : qualifyPlain(ast.qualify, from, context);
  const exprs = ast.items.flatMap((item) => (item.kind === "expr" ? [item.expr] : []));
  const { node, scope } = bindOver(exprs, input, context);
  const outputs = bindItems(ast.items, input.columns, (item) => {
    const expr = bindExpr(item.expr, scope);
    return { expr, ...nameOfItem(item, expr, input) };
  });
  return projected(outputs, node, context);
}

function nameOfItem(
  item: AstSelectItem & { readonly kind: "expr" },
  expr: Expr,
  input: Pick<Relation, "columns">,
): { readonly name: string; readonly qualifier: string | undefined } {
  if (item.expr.kind !== "name" || expr.kind !== "column") {
    return { name: item.text, qualifier: undefined };
  }
  const found = input.columns[expr.index];
  return { name: found?.name ?? item.text, qualifier: found?.qualifier };
}

function projected(
  outputs: readonly OutputColumn[],
  input: number,
  context: BindContext,
): Relation {
  const exprs = outputs.map(({ expr }) => expr);
  const names = outputs.map(({ name }) => name);
  const columns = outputs.map(({ name, qualifier, expr }) => ({
    name,
    qualifier,
    type: expr.type,
  }));
  return { node: project(context, input, exprs, names), columns };
}

function bindWindowed(ast: AstSelect, window: AggregateBinder, context: BindContext): Relation {
  const outputs = bindItems(ast.items, window.columns, (item) => {
    const expr = bindExpr(item.expr, window.scope);
    if (item.expr.kind === "call" && aggregateOf(item.expr.name) !== undefined) {
      return { expr, name: window.nameOf(item.expr), qualifier: undefined };
    }
    return { expr, ...nameOfItem(item, expr, window) };
  });
  const scope = havingScope(window.scope, outputs);
  const having = ast.having && bindCondition(ast.having, scope, "HAVING");
  const qualify = ast.qualify && bindQualify(ast.qualify, scope, context);
  const { graph } = context;
  const aggregated = window.build();
  const filtered =
    having === undefined
      ? aggregated
      : graph.add({ kind: "filter", predicate: having }, [aggregated], graph.schema(aggregated));
  const node = qualify === undefined ? filtered : qualify.apply(filtered, 0, 1);
  return projected(outputs, node, context);
}

/** HAVING sees the names of the list, too. */
function havingScope(inner: ExprScope, outputs: readonly OutputColumn[]): ExprScope {
  return {
    intercept: inner.intercept,
    resolve: (qualifier, name, position) => {
      const output = outputs.find((one) => one.name.toUpperCase() === name.toUpperCase());
      if (qualifier === undefined && output !== undefined) return output.expr;
      return inner.resolve(qualifier, name, position);
    },
  };
}
