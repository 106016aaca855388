/**
 * Splits an aggregation into one in front of an exchange and one behind it: each sender aggregates
 * its rows by slice and key, and the receiver puts these together. Only what gives exactly the same
 * results is split: counts, sums and averages of integers, least and greatest values. Sums of
 * floats depend on their order, AVG of 64-bit integers needs more than 64 bits, and the others need
 * the values themselves. Rule: SY93.
 */
import { call, castTo, column } from "../bind/exprs.ts";
import {
  type DataType,
  type Field,
  isFloat,
  isInteger,
  isSigned,
  notNull,
  nullable,
  type Schema,
  widthOf,
} from "../data-type.ts";
import type { Expr } from "../expr.ts";
import type { AggregateCall, PartialAggregateOp, WindowAggregateOp } from "../plan.ts";

export interface SplitAggregate {
  readonly partial: PartialAggregateOp;
  readonly partialSchema: Schema;
  readonly final: WindowAggregateOp;
  readonly finalSchema: Schema;
  /** What makes the columns of the whole aggregation of those of `final`. */
  readonly results: readonly Expr[];
}

/** A value that a sender keeps for each key, and how receivers put two of them together. */
interface Part {
  readonly call: AggregateCall;
  readonly type: DataType;
  readonly merge: "sum" | "min" | "max";
}

/** `undefined` where the aggregation stays whole. */
export function splitAggregate(
  op: WindowAggregateOp,
  input: Schema,
  output: Schema,
): SplitAggregate | undefined {
  const { window, keys, time } = op;
  if (window.kind === "session") return undefined;
  const parts: Part[] = [];
  const results: Expr[] = [];
  const first = 2 + keys.length;
  for (const [index, one] of op.aggregates.entries()) {
    const made = partsOf(one, input);
    if (made === undefined) return undefined;
    const values = made.map((part, at) => column(first + parts.length + at, part.type));
    parts.push(...made);
    results.push(resultOf(values, (output[first + index] as Field).type));
  }
  const bounds: Schema = ["slice_start", "slice_end"].map((name) => ({
    name,
    type: notNull("UINT64"),
  }));
  const keyFields = keys.map((key) => input[key] as Field);
  const values = parts.map(({ type }, at): Field => ({ name: `part_${at + 1}`, type }));
  const frame = output.slice(0, first);
  const partial: PartialAggregateOp = {
    ...{ kind: "partialAggregate", window, time, keys },
    aggregates: parts.map((part) => part.call),
  };
  const final: WindowAggregateOp = {
    ...{ kind: "windowAggregate", window, time: 0, keys: keys.map((_, at) => at + 2) },
    aggregates: parts.map(({ merge }, at) => ({
      ...{ fn: merge, arg: first + at, filter: undefined, distinct: false },
    })),
  };
  return {
    partial,
    partialSchema: [...bounds, ...keyFields, ...values],
    final,
    finalSchema: [...frame, ...values],
    results: [...frame.map(({ type }, at) => column(at, type)), ...results],
  };
}

function partsOf(one: AggregateCall, input: Schema): readonly Part[] | undefined {
  const { fn, arg, distinct } = one;
  const count: Part = {
    call: { ...one, fn, distinct: false },
    type: notNull("UINT64"),
    merge: "sum",
  };
  if (fn === "count_all") return [count];
  const type = arg === undefined ? undefined : input[arg]?.type;
  if (type === undefined) return undefined;
  // The least and the greatest of different values are those of all values.
  if (fn === "min" || fn === "max") {
    return [{ call: { ...one, distinct: false }, type: { ...type, nullable: true }, merge: fn }];
  }
  if (distinct) return undefined;
  if (fn === "count") return [count];
  if (!isInteger(type.name) || isFloat(type.name)) return undefined;
  const sum: Part = {
    call: { ...one, fn: "sum" },
    type: nullable(isSigned(type.name) ? "INT64" : "UINT64"),
    merge: "sum",
  };
  if (fn === "sum") return [sum];
  if (fn !== "avg" || widthOf(type.name) > 4) return undefined;
  return [sum, { ...count, call: { ...one, fn: "count" } }];
}

/** One value is the result; two are the sum and the count of an average. */
function resultOf([value, count]: readonly Expr[], type: DataType): Expr {
  if (count === undefined) return { ...(value as Expr), type };
  const floats = [value as Expr, count].map((part) => castTo(part, "FLOAT64"));
  return { ...call("divide", floats, "FLOAT64"), type };
}
