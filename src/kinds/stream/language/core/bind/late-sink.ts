/**
 * The sink for late rows: `SET('side' AS "QUERY".LATE, 'late_rows' AS "QUERY".LATE_SINK)`. It takes
 * the rows of the query's window as they came, and behind them how many milliseconds they were
 * late.
 */
import { type Field, notNull, type Schema } from "../data-type.ts";
import { DialectError, type Position } from "../dialect-error.ts";
import type { PlanNode, PlanOp, SinkOp } from "../plan.ts";
import { meantOrKnown } from "../suggest.ts";
import type { BindContext } from "./context.ts";

const windowed: ReadonlySet<string> = new Set([
  ...["windowAggregate", "windowJoin", "intervalJoin", "topN"],
]);

/** Whether rows can be late for the operator. */
export function hasLateRows({ kind }: PlanOp): boolean {
  return windowed.has(kind);
}

/** Adds the sink to the graph; `nodes` are those that the query needs so far. */
export function addLateSink(
  name: string | undefined,
  nodes: readonly PlanNode[],
  context: BindContext,
  position: Position,
): number {
  if (name === undefined) {
    throw new DialectError(1000, "late rows need a sink", {
      position,
      hint: "Add 'name' AS \"QUERY\".LATE_SINK to the settings of the query.",
    });
  }
  const sink = context.catalog.sink(name);
  if (sink === undefined) {
    throw new DialectError(2033, `there is no sink ${name}`, {
      position,
      hint: meantOrKnown(name, context.catalog.names("sink"), "sink"),
    });
  }
  const { schema, ...rest } = sink;
  if (schema !== undefined) {
    throw new DialectError(2003, `the sink ${sink.name} for late rows has a schema of its own`, {
      position,
      hint: `Leave the columns out: CREATE SINK ${sink.name} TYPE ${sink.type} ….`,
    });
  }
  const [consumer, ...others] = nodes.filter(({ op }) => hasLateRows(op));
  const input = consumer?.inputs[0];
  if (
    consumer === undefined ||
    input === undefined ||
    others.length > 0 ||
    consumer.inputs.length > 1
  ) {
    throw new DialectError(
      2008,
      "late rows go to a sink from a query with one window over one input",
      {
        position,
        hint: "Let them be dropped and counted ('drop'), or let the query fail ('fail').",
      },
    );
  }
  const op: SinkOp = { kind: "sink", ...rest };
  return context.graph.add(op, [], lateSchema((nodes[input.node] as PlanNode).schema));
}

/** Every name stands once. */
function lateSchema(input: Schema): Schema {
  const taken = new Set<string>();
  return [...input, { name: "late_ms", type: notNull("UINT64") }].map(({ name, type }): Field => {
    let free = name;
    for (let count = 2; taken.has(free.toUpperCase()); count += 1) free = `${name}_${count}`;
    taken.add(free.toUpperCase());
    return { name: free, type };
  });
}
