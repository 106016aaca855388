/**
 * Leaves out what nobody reads, down to the columns that a source parses, and aggregates that are
 * not used. Every node keeps at least one column, which carries the number of rows. Where a node
 * that passes its input on shares it with another that reads more, a projection stands between.
 */
import { column, columnsOf } from "../bind/exprs.ts";
import type { Graph } from "../bind/graph.ts";
import { type Schema, widthOf } from "../data-type.ts";
import type { Expr } from "../expr.ts";
import type { AggregateCall, Plan, PlanInput, PlanNode, PlanOp } from "../plan.ts";
import { narrowOp } from "./narrow-op.ts";
import { rebuild } from "./rebuild.ts";

export function pruneColumns(plan: Plan): Plan {
  const kept = keptColumns(plan);
  return rebuild(plan, (graph, node, inputs) => {
    const own = kept[node.id] as readonly number[];
    const isExact = passesOn(node.op);
    const available = node.inputs.map((input, place) =>
      isExact ? wanted(node, place, own, plan) : (kept[input.node] as readonly number[]),
    );
    const narrowed = inputs.map((input, place) => {
      const from = kept[(node.inputs[place] as PlanInput).node] as readonly number[];
      return isExact ? select(graph, input, from, available[place] as readonly number[]) : input;
    });
    const widths = node.inputs.map((_, place) => widthOfInput(node, place, plan));
    const schema = own.map((index) => node.schema[index] as Schema[number]);
    return graph.add(narrowOp(node.op, own, available, widths), narrowed, schema);
  });
}

/** A projection to some of the columns, where they are not all of them. */
function select(
  graph: Graph,
  input: PlanInput,
  from: readonly number[],
  to: readonly number[],
): PlanInput {
  if (from.length === to.length) return input;
  const schema = graph.schema(input.node);
  const places = to.map((index) => from.indexOf(index));
  const fields = places.map((index) => schema[index] as Schema[number]);
  const exprs = places.map((index, at) => column(index, (fields[at] as Schema[number]).type));
  return { ...input, node: graph.add({ kind: "project", exprs }, [input.node], fields) };
}

/** Whether the columns of the inputs are columns of the node, all of them. */
function passesOn(op: PlanOp): boolean {
  return op.kind !== "project" && op.kind !== "windowAggregate" && op.kind !== "source";
}

/** For each node the columns that stay, in order. */
function keptColumns(plan: Plan): readonly (readonly number[])[] {
  const needed = plan.nodes.map(() => new Set<number>());
  const kept: (readonly number[])[] = plan.nodes.map(() => []);
  for (const node of plan.nodes.toReversed()) {
    const own = needed[node.id] as Set<number>;
    for (const index of readAndPassedOn(node, plan)) own.add(index);
    if (own.size === 0) own.add(cheapest(node.schema));
    const chosen = sorted(own);
    kept[node.id] = chosen;
    for (const [place, input] of node.inputs.entries()) {
      const into = needed[input.node] as Set<number>;
      for (const index of wanted(node, place, chosen, plan)) into.add(index);
    }
  }
  return kept;
}

function sorted(indexes: Iterable<number>): readonly number[] {
  return [...new Set(indexes)].sort((one, other) => one - other);
}

function cheapest(schema: Schema): number {
  const widths = schema.map(({ type }) => widthOf(type.name) || Number.POSITIVE_INFINITY);
  return Math.max(0, widths.indexOf(Math.min(...widths)));
}

function widthOfInput(node: PlanNode, place: number, plan: Plan): number {
  const input = node.inputs[place];
  return input === undefined ? 0 : (plan.nodes[input.node]?.schema.length ?? 0);
}

/** Columns of the node that stay because the operator reads them, or has them by its nature. */
function readAndPassedOn(node: PlanNode, plan: Plan): readonly number[] {
  const { op, schema } = node;
  switch (op.kind) {
    case "sink":
      return schema.map((_, index) => index);
    case "source":
      return op.ingestionTime ? [schema.length - 1] : [];
    case "windowAggregate":
      return [0, 1, ...op.keys.map((_, index) => index + 2)];
    case "filter":
      return [...columnsOf(op.predicate)];
    case "eventTime":
      return [op.column];
    case "topN":
      return [op.start, op.end, ...op.partition, ...op.order.map((key) => key.column)];
    case "keyed": {
      const added = op.fn.kind === "deduplicate" ? [] : [op.fn.arg, schema.length - 1];
      return [...op.keys, op.time, ...added];
    }
    case "exchange":
      return op.keys;
    case "windowJoin":
    case "intervalJoin":
      return readByJoin(op, widthOfInput(node, 0, plan));
    case "lookupJoin": {
      const width = widthOfInput(node, 0, plan);
      const table = op.keys.map(({ right }) => width + right);
      return [...op.keys.map(({ left }) => left), ...columnsOfResidual(op.residual), ...table];
    }
    default:
      return [];
  }
}

function readByJoin(
  op: Extract<PlanOp, { readonly kind: "windowJoin" | "intervalJoin" }>,
  leftWidth: number,
): readonly number[] {
  const read = [
    op.leftTime,
    leftWidth + op.rightTime,
    ...op.keys.flatMap(({ left, right }) => [left, leftWidth + right]),
    ...columnsOfResidual(op.residual),
  ];
  return op.kind === "windowJoin" ? [0, 1, ...read.map((index) => index + 2)] : read;
}

function columnsOfResidual(residual: Expr | undefined): readonly number[] {
  return residual === undefined ? [] : [...columnsOf(residual)];
}

/** The columns of an input that a node reads, given those that it keeps. */
function wanted(
  node: PlanNode,
  place: number,
  kept: readonly number[],
  plan: Plan,
): readonly number[] {
  const { op } = node;
  switch (op.kind) {
    case "project":
      return sorted(kept.flatMap((index) => [...columnsOf(op.exprs[index] as Expr)]));
    case "windowAggregate": {
      const calls = keptCalls(op.keys.length, op.aggregates, kept);
      const args = calls.flatMap(({ arg, filter }) => [arg, filter]);
      return sorted([op.time, ...op.keys, ...args.filter((index) => index !== undefined)]);
    }
    case "windowJoin":
    case "intervalJoin": {
      const first =
        (op.kind === "windowJoin" ? 2 : 0) + (place === 0 ? 0 : widthOfInput(node, 0, plan));
      const width = widthOfInput(node, place, plan);
      return kept.map((index) => index - first).filter((index) => index >= 0 && index < width);
    }
    case "lookupJoin":
    case "keyed": {
      const width = widthOfInput(node, 0, plan);
      return kept.filter((index) => index < width);
    }
    default:
      return kept;
  }
}

/** The aggregates whose results are kept. */
function keptCalls(
  keyCount: number,
  calls: readonly AggregateCall[],
  kept: readonly number[],
): readonly AggregateCall[] {
  return calls.filter((_, index) => kept.includes(2 + keyCount + index));
}
