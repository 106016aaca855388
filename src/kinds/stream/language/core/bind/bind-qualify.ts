/**
 * Binds `QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) <= n`: the first rows of each
 * partition of a window, or, on a stream without one, the first row of each key.
 */
import { isInteger, notNull } from "../data-type.ts";
import { DialectError } from "../dialect-error.ts";
import type { AstCall, AstExpr, AstOver, AstSelect, AstWindow } from "../parse/ast.ts";
import type { PlanOp, SortKey } from "../plan.ts";
import { bindExpr, type ExprScope } from "./bind-expr.ts";
import { windowBounds } from "./bind-join.ts";
import { addKeyed } from "./bind-over.ts";
import { type BindContext, ColumnAdder, project, scopeOf } from "./context.ts";
import { placeEventTime } from "./event-time.ts";
import { call, castTo, column, literal } from "./exprs.ts";
import type { Graph } from "./graph.ts";
import type { Relation } from "./scope.ts";

const limitMax = 100_000;

interface Qualification {
  readonly over: AstOver;
  readonly limit: number;
  readonly call: AstCall;
}

function readQualify(ast: AstExpr): Qualification {
  const bad = new DialectError(2008, "QUALIFY takes ROW_NUMBER() OVER (…) <= n", {
    position: ast.position,
    hint: "QUALIFY ROW_NUMBER() OVER (PARTITION BY key ORDER BY value DESC) <= 10",
  });
  if (ast.kind !== "binary" || ast.right.kind !== "number" || ast.left.kind !== "call") throw bad;
  const { left, right } = ast;
  const number = Number(right.text);
  const limit = ast.op === "<" ? number - 1 : number;
  const isRowNumber = left.name.toUpperCase() === "ROW_NUMBER" && left.args.length === 0;
  const isLimit = ast.op === "<=" || ast.op === "<" || (ast.op === "=" && limit === 1);
  if (!isRowNumber || !isLimit || left.over === undefined) throw bad;
  if (!Number.isInteger(limit) || limit < 1 || limit > limitMax) {
    throw new DialectError(2010, `QUALIFY takes 1 to ${limitMax} rows`, {
      position: right.position,
    });
  }
  return { over: left.over, limit, call: left };
}

/** What is partitioned and ordered by, bound before the node below is made. */
export interface BoundQualify {
  readonly apply: (node: number, start: number, end: number) => number;
}

export function bindQualify(ast: AstExpr, scope: ExprScope, context: BindContext): BoundQualify {
  const { over, limit } = readQualify(ast);
  const partition = over.partition.map((key) => bindExpr(key, scope));
  const order = over.order.map(({ expr, descending }) => ({
    expr: bindExpr(expr, scope),
    descending,
  }));
  return {
    apply: (node, start, end) => {
      const adder = new ColumnAdder(context.graph.schema(node));
      const op: PlanOp = {
        kind: "topN",
        start,
        end,
        partition: partition.map((key) => adder.add(key, "key")),
        order: order.map(
          ({ expr, descending }): SortKey => ({ column: adder.add(expr, "order"), descending }),
        ),
        limit,
      };
      const built = adder.build(context, node);
      return context.graph.add(op, [built], context.graph.schema(built));
    },
  };
}

/** Without a window of its own the query's rows are those of a window below, or of a stream. */
export function qualifyPlain(ast: AstExpr, input: Relation, context: BindContext): Relation {
  const { over, limit, call: rowNumber } = readQualify(ast);
  const places = input.columns.map((_, index) => boundOf(context.graph, input.node, index));
  const [start, end] = [places.indexOf("start"), places.indexOf("end")];
  if (start !== -1 && end !== -1) {
    const bound = bindQualify(ast, scopeOf(input.columns), context);
    return { ...input, node: bound.apply(input.node, start, end) };
  }
  if (limit !== 1) {
    throw new DialectError(2000, "the first rows of a stream are those of a window", {
      position: ast.position,
      hint: "Add WINDOW TUMBLING(time, SIZE 10 SEC), or select start and end of the window below.",
    });
  }
  return { ...input, node: addKeyed(input, over, rowNumber, { kind: "deduplicate" }, context) };
}

/** Which bound of a window a column is. */
function boundOf(graph: Graph, id: number, index: number): "start" | "end" | undefined {
  const { op, inputs } = graph.node(id);
  const below = inputs[0]?.node;
  switch (op.kind) {
    case "windowAggregate":
    case "windowJoin":
      return index === 0 ? "start" : index === 1 ? "end" : undefined;
    case "filter":
    case "topN":
      return below === undefined ? undefined : boundOf(graph, below, index);
    case "project": {
      const expr = op.exprs[index];
      if (expr?.kind !== "column" || below === undefined) return undefined;
      return boundOf(graph, below, expr.index);
    }
    default:
      return undefined;
  }
}

/** The rows of a stream with the window that each is in, where nothing is aggregated. */
export function bindRowWindows(
  ast: AstSelect,
  window: AstWindow,
  input: Relation,
  context: BindContext,
): Relation {
  const [time] = window.times;
  if (window.kind !== "tumbling" || time === undefined) {
    throw new DialectError(2008, "the rows of a window are those of TUMBLING with a time column", {
      position: window.position,
    });
  }
  const at = bindExpr(time, scopeOf(input.columns));
  if (!isInteger(at.type.name)) {
    throw new DialectError(2006, `the time is ${at.type.name}, expected UINT64 or INT64`, {
      position: time.position,
    });
  }
  const timeColumn = at.kind === "column" ? at.index : undefined;
  if (timeColumn === undefined) {
    throw new DialectError(2008, "here the time of a window is a column", {
      position: ast.position,
    });
  }
  const { graph, declaredBound } = context;
  const timed = placeEventTime(graph, input.node, timeColumn, declaredBound);
  const size = literal(String(window.sizeMs), "UINT64");
  const exact = castTo(at, "UINT64");
  const rest = call("modulo", [exact, size], "UINT64");
  const start = call("subtract", [exact, rest], "UINT64");
  const end = call("add", [start, size], "UINT64");
  const own = input.columns.map(({ type }, index) => column(index, type));
  const columns = [
    ...windowBounds.map((one) => ({
      ...one,
      type: at.type.nullable ? start.type : notNull("UINT64"),
    })),
    ...input.columns.map((one) => ({ ...one, isWindowBound: false })),
  ];
  const names = columns.map(({ name }) => name);
  return { node: project(context, timed.node, [start, end, ...own], names), columns };
}
