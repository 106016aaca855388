/** An operator over inputs that have fewer columns than they had. */
import { column, mapColumns } from "../bind/exprs.ts";
import type { Field } from "../data-type.ts";
import type { Expr } from "../expr.ts";
import type { AggregateCall, JoinKey, PlanOp } from "../plan.ts";

/**
 * `kept` are the columns of the node that stay, `available` those of each input, and `widths` how
 * many the inputs had before.
 */
export function narrowOp(
  op: PlanOp,
  kept: readonly number[],
  available: readonly (readonly number[])[],
  widths: readonly number[],
): PlanOp {
  const of = (index: number, place = 0): number => (available[place] ?? []).indexOf(index);
  const all = (indexes: readonly number[]): readonly number[] => indexes.map((index) => of(index));
  const move = (expr: Expr): Expr => moveSides(expr, available, widths);
  switch (op.kind) {
    case "source": {
      const fields = op.ingestionTime ? kept.slice(0, -1) : kept;
      return { ...op, columns: fields.map((index) => op.columns[index] as number) };
    }
    case "eventTime":
      return { ...op, column: of(op.column) };
    case "filter":
      return { ...op, predicate: move(op.predicate) };
    case "project":
      return { ...op, exprs: kept.map((index) => move(op.exprs[index] as Expr)) };
    case "windowAggregate": {
      const keyCount = op.keys.length;
      const calls = op.aggregates.filter((_, index) => kept.includes(2 + keyCount + index));
      return {
        ...op,
        time: of(op.time),
        keys: all(op.keys),
        aggregates: calls.map(
          (call): AggregateCall => ({
            ...call,
            arg: call.arg === undefined ? undefined : of(call.arg),
            filter: call.filter === undefined ? undefined : of(call.filter),
          }),
        ),
      };
    }
    case "windowJoin":
    case "intervalJoin":
      return {
        ...op,
        leftTime: of(op.leftTime),
        rightTime: of(op.rightTime, 1),
        keys: op.keys.map(
          (key): JoinKey => ({ ...key, left: of(key.left), right: of(key.right, 1) }),
        ),
        residual: op.residual && move(op.residual),
      };
    case "lookupJoin": {
      const width = widths[0] ?? 0;
      const table = kept.filter((index) => index >= width).map((index) => index - width);
      // The table is no input, and its columns stand where those of a second one would.
      const sides = [available[0] ?? [], table];
      return {
        ...op,
        columns: table.map((index) => op.columns[index] as Field),
        keys: op.keys.map(
          ({ left, right, ...key }): JoinKey => ({
            ...{ ...key, left: of(left), right: table.indexOf(right) },
          }),
        ),
        residual: op.residual && moveSides(op.residual, sides, widths),
      };
    }
    case "topN":
      return {
        ...op,
        start: of(op.start),
        end: of(op.end),
        partition: all(op.partition),
        order: op.order.map((key) => ({ ...key, column: of(key.column) })),
      };
    case "keyed": {
      const fn = op.fn.kind === "deduplicate" ? op.fn : { ...op.fn, arg: of(op.fn.arg) };
      return { ...op, fn, keys: all(op.keys), time: of(op.time) };
    }
    case "exchange":
      return { ...op, keys: all(op.keys) };
    default:
      return op;
  }
}

/** Over the columns of the first input and then those of the second one. */
function moveSides(
  expr: Expr,
  [first = [], second = []]: readonly (readonly number[])[],
  [width = 0]: readonly number[],
): Expr {
  return mapColumns(expr, (index, { type }) =>
    index < width
      ? column(first.indexOf(index), type)
      : column(first.length + second.indexOf(index - width), type),
  );
}
