/** What an operator does, the state that it keeps, and what about it is worth a warning. */
import type { Schema } from "../data-type.ts";
import type { AggregateCall, JoinKey, PlanOp, WindowSpec } from "../plan.ts";
import { printExpr } from "./print-expr.ts";

export interface OpDescription {
  readonly text: string;
  /** Absent for operators that keep nothing. */
  readonly state: string | undefined;
  readonly warning: string | undefined;
}

export function describeOp(op: PlanOp, inputs: readonly Schema[]): OpDescription {
  const [first = [], second = []] = inputs;
  const nested =
    "There is no equality between both sides: every pair of rows of a window is compared.";
  switch (op.kind) {
    case "source":
      return plain(
        `${op.type} source ${op.name}${formatOf(op.parser.TYPE)} reading ${namesOf(op.record, op.columns)}${op.ingestionTime ? " and the time of reading" : ""}`,
      );
    case "sink":
      return plain(`${op.type} sink ${op.name}${formatOf(op.formatter.TYPE)}`);
    case "eventTime": {
      const bound = op.boundMs === 0 ? "" : `, at most ${duration(op.boundMs)} out of order`;
      return withState(`time from ${nameOf(first, op.column)}${bound}`, "the largest time so far");
    }
    case "filter":
      return plain(`filter ${printExpr(op.predicate, first)}`);
    case "project":
      return plain(`project ${op.exprs.map((expr) => printExpr(expr, first)).join(", ")}`);
    case "union":
      return plain("union");
    case "windowAggregate": {
      const calls = op.aggregates.map((call) => describeCall(call, first)).join(", ");
      const keys = op.keys.length === 0 ? "" : ` by ${namesOf(first, op.keys)}`;
      const text = `aggregate over ${describeWindow(op.window)} of ${nameOf(first, op.time)}${keys}: ${calls || "nothing"}`;
      return withState(text, aggregateState(op.window, op.aggregates, op.keys.length));
    }
    case "partialAggregate": {
      const calls = op.aggregates.map((call) => describeCall(call, first)).join(", ");
      const keys = op.keys.length === 0 ? "" : ` by ${namesOf(first, op.keys)}`;
      const text = `aggregate a part over slices of ${describeWindow(op.window)} of ${nameOf(first, op.time)}${keys}: ${calls || "nothing"}`;
      return withState(text, aggregateState(op.window, op.aggregates, op.keys.length));
    }
    case "windowJoin": {
      const text = `${op.join} join over ${describeWindow(op.window)} of ${nameOf(first, op.leftTime)} and ${nameOf(second, op.rightTime)}${describeKeys(op.keys, first, second)}`;
      const residual = op.residual && ` where ${printExpr(op.residual, [...first, ...second])}`;
      const state = "all rows of both sides in open windows";
      const warning = op.keys.length === 0 ? nested : undefined;
      return { text: text + (residual ?? ""), state, warning };
    }
    case "intervalJoin": {
      const text = `join where ${nameOf(second, op.rightTime)} lies from ${duration(op.lowerMs)} to ${duration(op.upperMs)} after ${nameOf(first, op.leftTime)}${describeKeys(op.keys, first, second)}`;
      const state = `rows of both sides for ${duration(op.upperMs - op.lowerMs)}`;
      return { text, state, warning: op.keys.length === 0 ? nested : undefined };
    }
    case "lookupJoin":
      return withState(
        `${op.join} join with the table ${op.table}${describeKeys(op.keys, first, op.columns)}`,
        "the newest version of the table",
      );
    case "topN": {
      const order = op.order.map(
        ({ column, descending }) => `${nameOf(first, column)}${descending ? " DESC" : ""}`,
      );
      const by = op.partition.length === 0 ? "" : ` for each ${namesOf(first, op.partition)}`;
      return withState(
        `the first ${op.limit} rows${by} by ${order.join(", ") || "arrival"}`,
        `at most ${op.limit} rows for each partition of an open window`,
      );
    }
    case "keyed": {
      const kept =
        op.ttlMs === undefined ? "for ever" : `for ${duration(op.ttlMs)} after its last row`;
      return {
        text: `${describeKeyed(op, first)} for each ${namesOf(first, op.keys) || "stream"}`,
        state: `an entry for each key, ${kept}`,
        warning:
          op.ttlMs === undefined
            ? "The state grows with the number of keys: add STATE TTL 1 HOUR."
            : undefined,
      };
    }
    case "exchange":
      return plain(
        op.keys.length === 0 ? "exchange of all rows" : `exchange by ${namesOf(first, op.keys)}`,
      );
  }
}

function plain(text: string): OpDescription {
  return { text, state: undefined, warning: undefined };
}

function withState(text: string, state: string): OpDescription {
  return { text, state, warning: undefined };
}

function formatOf(type: string | number | boolean | undefined): string {
  return type === undefined ? "" : ` (${type})`;
}

function nameOf(schema: Schema, index: number): string {
  return schema[index]?.name ?? `#${index}`;
}

function namesOf(schema: Schema, indexes: readonly number[]): string {
  return indexes.map((index) => nameOf(schema, index)).join(", ");
}

export function duration(ms: number): string {
  for (const [unit, size] of [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1000],
  ] as const) {
    if (ms !== 0 && ms % size === 0) return `${ms / size} ${unit}`;
  }
  return `${ms} ms`;
}

function describeWindow(window: WindowSpec): string {
  switch (window.kind) {
    case "tumbling":
      return `windows of ${duration(window.sizeMs)}`;
    case "sliding":
      return `windows of ${duration(window.sizeMs)} every ${duration(window.advanceMs)}`;
    case "session":
      return `sessions with gaps of ${duration(window.gapMs)}`;
  }
}

function describeCall({ fn, arg, distinct, filter }: AggregateCall, input: Schema): string {
  const name = fn === "count_all" ? "COUNT" : fn.toUpperCase();
  const of = arg === undefined ? "*" : `${distinct ? "DISTINCT " : ""}${nameOf(input, arg)}`;
  return `${name}(${of})${filter === undefined ? "" : ` where ${nameOf(input, filter)}`}`;
}

function describeKeys(keys: readonly JoinKey[], left: Schema, right: Schema): string {
  if (keys.length === 0) return "";
  const pairs = keys.map(
    (key) => `${nameOf(left, key.left)} ${key.nullSafe ? "<=>" : "="} ${nameOf(right, key.right)}`,
  );
  return ` on ${pairs.join(" and ")}`;
}

function aggregateState(
  window: WindowSpec,
  calls: readonly AggregateCall[],
  keyCount: number,
): string {
  const values = calls.some(({ fn, distinct }) => fn === "median" || distinct);
  const each = keyCount === 0 ? "one result" : "one result for each key";
  const per = window.kind === "session" ? "open session" : "slice of open windows";
  return `${each} and ${per}${values ? ", and the values of MEDIAN and DISTINCT" : ""}`;
}

function describeKeyed(op: Extract<PlanOp, { readonly kind: "keyed" }>, input: Schema): string {
  switch (op.fn.kind) {
    case "lag":
      return `${nameOf(input, op.fn.arg)} of ${op.fn.offset} rows before`;
    case "lastValue":
      return `the last value of ${nameOf(input, op.fn.arg)}`;
    case "deduplicate":
      return "the first row";
  }
}
