/**
 * Puts `eventTime` nodes where watermarks are made: directly above the sources that a time column
 * comes from, so that rows which a filter drops advance the time, too. Behind a window the times
 * follow from its watermark by a shift. A time that is computed gets its node directly below the
 * consumer.
 */

import type { Expr } from "../expr.ts";
import type { PlanInput, PlanOp, WindowSpec } from "../plan.ts";
import type { Graph } from "./graph.ts";

/** The bound of `WATERMARK(…)` that a source was declared with. */
export type DeclaredBound = (source: string, column: string) => number;

interface Placed {
  readonly node: number;
  readonly shiftMs: number;
}

/** The input of an operator that reads the time from `column`. */
export function placeEventTime(
  graph: Graph,
  node: number,
  column: number,
  declared: DeclaredBound,
  boundMs?: number,
): PlanInput {
  const placed = place(graph, node, column, declared, boundMs);
  if (placed !== undefined) return placed;
  const op: PlanOp = { kind: "eventTime", column, boundMs: boundMs ?? 0 };
  return { node: graph.add(op, [node], graph.schema(node)), shiftMs: 0 };
}

/** `undefined` where the column is no time that the nodes below know. */
function place(
  graph: Graph,
  id: number,
  column: number,
  declared: DeclaredBound,
  boundMs: number | undefined,
): Placed | undefined {
  const { op, inputs, schema } = graph.node(id);
  const through = (below: number): Placed | undefined => {
    const [input, ...others] = inputs;
    if (input === undefined) return undefined;
    const placed = place(graph, input.node, below, declared, boundMs);
    if (placed === undefined) return undefined;
    const moved = { node: placed.node, shiftMs: input.shiftMs };
    return { node: graph.withInputs(id, [moved, ...others]), shiftMs: placed.shiftMs };
  };
  switch (op.kind) {
    case "source": {
      const name = schema[column]?.name ?? "";
      const bound = boundMs ?? declared(op.name, name);
      const time: PlanOp = { kind: "eventTime", column, boundMs: bound };
      return { node: graph.add(time, [id], schema), shiftMs: 0 };
    }
    case "eventTime":
      return op.column === column ? { node: id, shiftMs: 0 } : undefined;
    case "filter":
      return through(column);
    case "topN":
      // Rows that are in no window below leave when theirs ends, long after their time.
      return isComputed(graph, (inputs[0] as PlanInput).node, op.end) ? undefined : through(column);
    case "lookupJoin":
    case "keyed": {
      const width = graph.schema((inputs[0] as PlanInput).node).length;
      return column < width ? through(column) : undefined;
    }
    case "project": {
      const expr = op.exprs[column] as Expr;
      return expr.kind === "column" ? through(expr.index) : undefined;
    }
    case "union":
      return placeUnion(graph, id, column, declared, boundMs);
    case "windowAggregate":
      return windowShift(id, column, op.window);
    case "windowJoin": {
      const bound = windowShift(id, column, op.window);
      if (bound !== undefined) return bound;
      const leftWidth = graph.schema((inputs[0] as PlanInput).node).length;
      const isTime = column - 2 === op.leftTime || column - 2 - leftWidth === op.rightTime;
      return isTime ? { node: id, shiftMs: op.window.sizeMs } : undefined;
    }
    case "intervalJoin": {
      const leftWidth = graph.schema((inputs[0] as PlanInput).node).length;
      if (column === op.leftTime) return { node: id, shiftMs: Math.max(0, op.upperMs) };
      if (column - leftWidth !== op.rightTime) return undefined;
      return { node: id, shiftMs: Math.max(0, -op.lowerMs) };
    }
    default:
      return undefined;
  }
}

/** The `end` of a window is its time, the `start` lies before it. A session's may lie anywhere. */
function windowShift(id: number, column: number, window: WindowSpec): Placed | undefined {
  if (column === 1) return { node: id, shiftMs: 0 };
  if (column !== 0 || window.kind === "session") return undefined;
  return { node: id, shiftMs: window.sizeMs };
}

function placeUnion(
  graph: Graph,
  id: number,
  column: number,
  declared: DeclaredBound,
  boundMs: number | undefined,
): Placed | undefined {
  const inputs: PlanInput[] = [];
  for (const { node, shiftMs } of graph.node(id).inputs) {
    const placed = place(graph, node, column, declared, boundMs);
    if (placed === undefined) return undefined;
    inputs.push({ node: placed.node, shiftMs: shiftMs + placed.shiftMs });
  }
  return { node: graph.withInputs(id, inputs), shiftMs: 0 };
}

/** Whether a projection below computes the column. */
function isComputed(graph: Graph, id: number, column: number): boolean {
  const { op, inputs } = graph.node(id);
  const below = inputs[0];
  if (below === undefined) return false;
  if (op.kind === "filter") return isComputed(graph, below.node, column);
  if (op.kind !== "project") return false;
  const expr = op.exprs[column] as Expr;
  return expr.kind !== "column" || isComputed(graph, below.node, expr.index);
}
