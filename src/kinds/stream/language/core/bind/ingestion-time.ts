/** Adds the time of reading as a last column: what a window without a time column goes by. */
import type { Field } from "../data-type.ts";
import { notNull } from "../data-type.ts";
import type { Expr } from "../expr.ts";
import type { LookupJoinOp, PlanInput } from "../plan.ts";
import { column, mapColumns } from "./exprs.ts";
import type { Graph } from "./graph.ts";

const field: Field = { name: "ingestion_time", type: notNull("UINT64") };

/** The node with the time as its last column; `undefined` behind a window, where there is none. */
export function addIngestionTime(graph: Graph, id: number): number | undefined {
  const { op, inputs, schema } = graph.node(id);
  const widened = [...schema, field];
  const below = (): number | undefined => addIngestionTime(graph, (inputs[0] as PlanInput).node);
  switch (op.kind) {
    case "source": {
      if (op.ingestionTime) return id;
      return graph.add({ ...op, ingestionTime: true }, [], widened);
    }
    case "filter":
    case "eventTime": {
      const input = below();
      return input === undefined ? undefined : graph.add(op, [input], widened);
    }
    case "project": {
      const input = below();
      if (input === undefined) return undefined;
      const time = column(graph.schema(input).length - 1, field.type);
      return graph.add({ ...op, exprs: [...op.exprs, time] }, [input], widened);
    }
    case "union": {
      const all = inputs.map(({ node }) => addIngestionTime(graph, node));
      if (all.some((node) => node === undefined)) return undefined;
      return graph.add(op, all as number[], widened);
    }
    case "keyed":
    case "lookupJoin": {
      const input = below();
      if (input === undefined) return undefined;
      const width = graph.schema((inputs[0] as PlanInput).node).length;
      const added = schema.slice(width);
      const moved = op.kind === "keyed" ? op : shiftResidual(op, width);
      const joined = graph.add(
        moved,
        [input, ...inputs.slice(1)],
        [...schema.slice(0, width), field, ...added],
      );
      const exprs: Expr[] = schema.map(({ type }, index) =>
        column(index < width ? index : index + 1, type),
      );
      exprs.push(column(width, field.type));
      return graph.add({ kind: "project", exprs }, [joined], widened);
    }
    default:
      return undefined;
  }
}

/** The columns of the table stand one place further behind. */
function shiftResidual(op: LookupJoinOp, width: number): LookupJoinOp {
  if (op.residual === undefined) return op;
  const residual = mapColumns(op.residual, (index, { type }) =>
    column(index < width ? index : index + 1, type),
  );
  return { ...op, residual };
}
