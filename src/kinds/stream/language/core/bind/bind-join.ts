/**
 * Binds joins: over a window, over an interval of time, and with a table of the lake. Equalities
 * between the two sides become keys, unless they compare floating-point numbers; the rest of the
 * condition is checked for each pair.
 */
import { type Field, isFloat, isInteger, notNull, nullable, type Schema } from "../data-type.ts";
import { DialectError } from "../dialect-error.ts";
import type { Expr } from "../expr.ts";
import type { AstExpr, AstJoin, AstRelation, AstWindow } from "../parse/ast.ts";
import type { JoinKey, PlanInput, PlanOp, WindowJoinOp } from "../plan.ts";
import { bindCondition, bindExpr } from "./bind-expr.ts";
import { type BindContext, ColumnAdder, project, scopeOf } from "./context.ts";
import { placeEventTime } from "./event-time.ts";
import { column, columnsOf, conjunction, conjuncts, mapColumns } from "./exprs.ts";
import { addIngestionTime } from "./ingestion-time.ts";
import { findInterval } from "./interval.ts";
import { findTable } from "./lake-tables.ts";
import type { Relation, ScopeColumn } from "./scope.ts";

type BindRelation = (ast: AstRelation, context: BindContext) => Relation;

export function bindJoin(ast: AstJoin, context: BindContext, bind: BindRelation): Relation {
  const left = bind(ast.left, context);
  if (ast.table) return bindLookup(ast, left, context);
  const right = bind(ast.right, context);
  if (ast.window !== undefined) return bindWindowJoin(ast, ast.window, left, right, context);
  return bindIntervalJoin(ast, left, right, context);
}

interface Side {
  node: number;
  readonly columns: readonly ScopeColumn[];
  readonly adder: ColumnAdder;
}

function sideOf(relation: Relation, context: BindContext): Side {
  const { node, columns } = relation;
  return { node, columns, adder: new ColumnAdder(context.graph.schema(node)) };
}

interface Condition {
  readonly keys: readonly JoinKey[];
  /** Over the columns of the left relation and then those of the right one. */
  readonly rest: readonly Expr[];
}

/** Equalities whose sides each belong to one relation become keys. */
function splitCondition(terms: readonly Expr[], left: Side, right: Side): Condition {
  const width = left.columns.length;
  const keys: JoinKey[] = [];
  const rest: Expr[] = [];
  for (const term of terms) {
    const key = keyOf(term, left, right, width);
    if (key === undefined) rest.push(term);
    else keys.push(key);
  }
  return { keys, rest };
}

function keyOf(term: Expr, left: Side, right: Side, width: number): JoinKey | undefined {
  if (term.kind !== "call") return undefined;
  if (term.fn !== "equal" && term.fn !== "null_safe_equal") return undefined;
  const [first, second] = term.args as readonly [Expr, Expr];
  if (isFloat(first.type.name)) return undefined;
  const nullSafe = term.fn === "null_safe_equal";
  for (const [one, other] of [
    [first, second],
    [second, first],
  ] as const) {
    if (!isOf(one, 0, width) || !isOf(other, width, Number.POSITIVE_INFINITY)) continue;
    const moved = mapColumns(other, (index, { type }) => column(index - width, type));
    return { left: left.adder.add(one, "key"), right: right.adder.add(moved, "key"), nullSafe };
  }
  return undefined;
}

/** Whether an expression reads columns of that range, and no others. */
function isOf(expr: Expr, from: number, to: number): boolean {
  const columns = [...columnsOf(expr)];
  return columns.length > 0 && columns.every((index) => index >= from && index < to);
}

/** The condition over the wider inputs of the operator. */
function residual(rest: readonly Expr[], width: number, newWidth: number): Expr | undefined {
  const all = conjunction(rest);
  return (
    all &&
    mapColumns(all, (index, { type }) =>
      column(index < width ? index : index - width + newWidth, type),
    )
  );
}

function bindOn(ast: AstJoin, left: Side, right: Side): readonly Expr[] {
  const scope = scopeOf([...left.columns, ...right.columns]);
  return conjuncts(bindCondition(ast.on, scope, "ON"));
}

/** The place of a time, which is an integer; the time of reading where none is given. */
export function bindTime(
  side: Side,
  time: AstExpr | undefined,
  window: Pick<AstWindow, "position">,
  context: BindContext,
): number {
  if (time === undefined) {
    const node = addIngestionTime(context.graph, side.node);
    if (node === undefined) {
      throw new DialectError(2000, "behind a window this window needs a time column", {
        position: window.position,
        hint: "Name start or end of the inner window: WINDOW TUMBLING(start, SIZE …).",
      });
    }
    side.node = node;
    const last = context.graph.schema(node).length - 1;
    return side.adder.add(column(last, notNull("UINT64")), "ingestion_time");
  }
  const expr = bindExpr(time, scopeOf(side.columns));
  if (!isInteger(expr.type.name)) {
    throw new DialectError(2006, `the time is ${expr.type.name}, expected UINT64 or INT64`, {
      position: time.position,
      hint: "A time is milliseconds since 1970; PARSE_TIME makes it from ISO 8601 text.",
    });
  }
  return side.adder.add(expr, "time");
}

function bindWindowJoin(
  ast: AstJoin,
  window: AstWindow,
  leftRelation: Relation,
  rightRelation: Relation,
  context: BindContext,
): Relation {
  if (window.kind === "session") {
    throw new DialectError(2008, "a join over SESSION windows is not supported", {
      position: window.position,
    });
  }
  const left = sideOf(leftRelation, context);
  const right = sideOf(rightRelation, context);
  const { keys, rest } = splitCondition(bindOn(ast, left, right), left, right);
  const leftTime = bindTime(left, window.times[0], window, context);
  const rightTime = bindTime(right, window.times[1], window, context);
  const leftInput = timedInput(left, leftTime, context);
  const rightInput = timedInput(right, rightTime, context);
  const op: WindowJoinOp = {
    kind: "windowJoin",
    join: ast.join,
    window: windowSpec(window) as WindowJoinOp["window"],
    leftTime,
    rightTime,
    keys,
    residual: residual(rest, left.columns.length, context.graph.schema(leftInput.node).length),
  };
  return joined(op, ast.join, [leftInput, rightInput], [left, right], windowBounds, context);
}

export function windowSpec(window: AstWindow): import("../plan.ts").WindowSpec {
  const { kind, sizeMs, advanceMs } = window;
  if (kind === "session") return { kind, gapMs: sizeMs };
  if (kind === "sliding" && advanceMs !== undefined && advanceMs !== sizeMs) {
    return { kind, sizeMs, advanceMs };
  }
  return { kind: "tumbling", sizeMs };
}

function timedInput(side: Side, time: number, context: BindContext): PlanInput {
  const built = side.adder.build(context, side.node);
  return placeEventTime(context.graph, built, time, context.declaredBound);
}

export const windowBounds: readonly ScopeColumn[] = ["start", "end"].map((name) => ({
  name,
  qualifier: undefined,
  type: notNull("UINT64"),
  isWindowBound: true,
}));

/** The operator, and behind it a projection that leaves the added columns out. */
function joined(
  op: PlanOp,
  join: AstJoin["join"],
  inputs: readonly [PlanInput, PlanInput],
  sides: readonly [Side, Side],
  bounds: readonly ScopeColumn[],
  context: BindContext,
): Relation {
  const isLeftOptional = join === "right" || join === "full";
  const isRightOptional = join === "left" || join === "full";
  const [leftSchema, rightSchema] = inputs.map(({ node }) => context.graph.schema(node)) as [
    Schema,
    Schema,
  ];
  const schema: readonly Field[] = [
    ...bounds.map(({ name, type }) => ({ name, type })),
    ...leftSchema.map((field) => optional(field, isLeftOptional)),
    ...rightSchema.map((field) => optional(field, isRightOptional)),
  ];
  const node = context.graph.add(op, inputs, schema);
  const leftStart = bounds.length;
  const rightStart = leftStart + leftSchema.length;
  const columns: ScopeColumn[] = [
    ...bounds,
    ...sides[0].columns.map((one) => unbound(optional(one, isLeftOptional))),
    ...sides[1].columns.map((one) => unbound(optional(one, isRightOptional))),
  ];
  const places = [
    ...bounds.map((_, index) => index),
    ...sides[0].columns.map((_, index) => leftStart + index),
    ...sides[1].columns.map((_, index) => rightStart + index),
  ];
  const exprs = columns.map(({ type }, index) => column(places[index] as number, type));
  const names = columns.map(({ name }) => name);
  return { node: project(context, node, exprs, names), columns };
}

function unbound(one: ScopeColumn): ScopeColumn {
  return { ...one, isWindowBound: false };
}

function optional<T extends { readonly type: Field["type"] }>(field: T, isOptional: boolean): T {
  return isOptional ? { ...field, type: nullable(field.type.name) } : field;
}

function bindIntervalJoin(
  ast: AstJoin,
  leftRelation: Relation,
  rightRelation: Relation,
  context: BindContext,
): Relation {
  const left = sideOf(leftRelation, context);
  const right = sideOf(rightRelation, context);
  const interval = findInterval(ast.on, leftRelation.columns, rightRelation.columns);
  if (interval === undefined || ast.join !== "inner") {
    throw new DialectError(2000, "a join of two streams needs a window or an interval of time", {
      position: ast.position,
      hint: "Add WINDOW TUMBLING(left_time, right_time, SIZE 10 SEC), or, to an inner join, a condition such as b.ts BETWEEN a.ts - 5 SEC AND a.ts + 5 SEC.",
    });
  }
  const scope = scopeOf([...left.columns, ...right.columns]);
  const terms = interval.rest.flatMap((one) => conjuncts(bindCondition(one, scope, "ON")));
  const { keys, rest } = splitCondition(terms, left, right);
  const { leftTime, rightTime, lowerMs, upperMs } = interval;
  for (const [side, time] of [
    [left, leftTime],
    [right, rightTime],
  ] as const) {
    const type = side.columns[time]?.type.name;
    if (type !== undefined && isInteger(type)) continue;
    throw new DialectError(2006, `the time is ${type}, expected UINT64 or INT64`, {
      position: ast.position,
    });
  }
  const leftInput = timedInput(left, leftTime, context);
  const rightInput = timedInput(right, rightTime, context);
  const width = context.graph.schema(leftInput.node).length;
  const op: PlanOp = {
    ...{ kind: "intervalJoin", leftTime, rightTime, lowerMs, upperMs, keys },
    residual: residual(rest, left.columns.length, width),
  };
  return joined(op, "inner", [leftInput, rightInput], [left, right], [], context);
}

function bindLookup(ast: AstJoin, leftRelation: Relation, context: BindContext): Relation {
  const name = ast.right.kind === "named" ? ast.right.name : "";
  if (ast.right.kind !== "named") {
    throw new DialectError(2000, "JOIN TABLE takes the name of a table", {
      position: ast.right.position,
    });
  }
  const table = findTable(name, context.catalog, ast.right.position);
  if (ast.join !== "inner" && ast.join !== "left") {
    throw new DialectError(2008, "a join with a table is INNER or LEFT", {
      position: ast.position,
    });
  }
  const qualifier = ast.right.alias ?? table.name;
  const left = sideOf(leftRelation, context);
  const right: Side = {
    node: -1,
    columns: table.schema.map(({ name: one, type }) => ({ name: one, type, qualifier })),
    adder: new ColumnAdder(table.schema),
  };
  const { keys, rest } = splitCondition(bindOn(ast, left, right), left, right);
  const computed = keys.find((key) => key.right >= table.schema.length);
  if (keys.length === 0 || computed !== undefined) {
    throw new DialectError(2000, "a join with a table needs an equality with one of its columns", {
      position: ast.on.position,
    });
  }
  const input = left.adder.build(context, left.node);
  const width = context.graph.schema(input).length;
  const op: PlanOp = {
    ...{ kind: "lookupJoin", join: ast.join, table: table.name, columns: table.schema, keys },
    residual: residual(rest, left.columns.length, width),
  };
  const isOptional = ast.join === "left";
  const tableFields = table.schema.map((field) => optional(field, isOptional));
  const schema = [...context.graph.schema(input), ...tableFields];
  const node = context.graph.add(op, [input], schema);
  const columns = [
    ...left.columns.map(unbound),
    ...right.columns.map((one) => optional(one, isOptional)),
  ];
  const exprs = columns.map(({ type }, index) =>
    column(index < left.columns.length ? index : index - left.columns.length + width, type),
  );
  const names = columns.map((one) => one.name);
  return { node: project(context, node, exprs, names), columns };
}
