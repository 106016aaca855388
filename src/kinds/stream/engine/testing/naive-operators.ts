/**
 * The operators once more, written for nothing but being right: rows are arrays of plain values,
 * times are BigInts, and everything is looked at again and again. The real ones must agree.
 */
import {
  type AggregateCall,
  isFloat,
  isSigned,
  type JoinKey,
  type Schema,
  type WindowAggregateOp,
  type WindowJoinOp,
  type WindowSpec,
} from "../../language/core/index.ts";
import { endOfTime, startOfTime } from "../core/index.ts";
import type { Row, Value } from "./rows.ts";

export interface NaiveOperator {
  push(input: number, rows: readonly Row[]): void;
  advance(watermark: bigint): void;
  readonly emitted: Row[];
  readonly late: Row[];
}

interface Window {
  readonly start: bigint;
  readonly end: bigint;
}

type FixedWindow = Exclude<WindowSpec, { readonly kind: "session" }>;

/** Every window that a time falls into. */
function windowsOf(window: FixedWindow, time: bigint): Window[] {
  const size = BigInt(window.sizeMs);
  const advance = window.kind === "tumbling" ? size : BigInt(window.advanceMs);
  const found: Window[] = [];
  const rest = ((time % advance) + advance) % advance;
  for (let start = time - rest; start + size > time; start -= advance) {
    found.push({ start, end: start + size });
  }
  return found;
}

/** What windowed operators have in common: which rows are late, which windows fire when. */
class NaiveWindows {
  readonly emitted: Row[] = [];
  readonly late: Row[] = [];
  readonly #window: FixedWindow;
  readonly #contents = new Map<string, Window & { readonly rows: Row[][] }>();
  readonly #fire: (window: Window, rows: readonly Row[][]) => Row[];
  #watermark = startOfTime;

  constructor(window: FixedWindow, fire: (window: Window, rows: readonly Row[][]) => Row[]) {
    this.#window = window;
    this.#fire = fire;
  }

  take(input: number, row: Row, time: Value): void {
    if (time === null) return;
    const windows = windowsOf(this.#window, time as bigint);
    // No window begins before 0.
    const open = windows.filter(({ start, end }) => start >= 0n && end > this.#watermark);
    if (windows.length > 0 && open.length === 0) this.late.push(row);
    for (const window of open) {
      const key = `${window.start}`;
      const content = this.#contents.get(key) ?? { ...window, rows: [[], []] };
      this.#contents.set(key, content);
      content.rows[input]?.push(row);
    }
  }

  advance(watermark: bigint): void {
    this.#watermark = watermark;
    for (const [key, { start, end, rows }] of this.#contents) {
      if (end > watermark && watermark !== endOfTime) continue;
      this.#contents.delete(key);
      this.emitted.push(...this.#fire({ start, end }, rows));
    }
  }
}

export function clamped(time: bigint, signed: boolean): bigint {
  const [least, greatest] = signed ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n];
  return time < least ? least : time > greatest ? greatest : time;
}

export function naiveWindowAggregate(
  op: WindowAggregateOp & { readonly window: FixedWindow },
  input: Schema,
  output: Schema,
): NaiveOperator {
  const signed = isSigned(input[op.time]?.type.name ?? "UINT64");
  const windows = new NaiveWindows(op.window, ({ start, end }, [rows = []]) =>
    groupsOf(rows, op.keys).map(({ key, rows: group }) => [
      clamped(start, signed),
      clamped(end, signed),
      ...key,
      ...aggregatesOf(op, group, input, output),
    ]),
  );
  return {
    push: (_input, rows) => {
      for (const row of rows) windows.take(0, row, row[op.time] ?? null);
    },
    advance: (watermark) => windows.advance(watermark),
    emitted: windows.emitted,
    late: windows.late,
  };
}

/** The keys are shown as the first row of the group has them. */
export function groupsOf(
  rows: readonly Row[],
  keys: readonly number[],
): { readonly key: Row; readonly rows: Row[] }[] {
  const groups = new Map<string, { readonly key: Row; readonly rows: Row[] }>();
  for (const row of rows) {
    const key = keys.map((index) => row[index] ?? null);
    const text = key.map((value) => `${typeof value} ${value}`).join("|");
    const group = groups.get(text) ?? { key, rows: [] };
    groups.set(text, group);
    group.rows.push(row);
  }
  return [...groups.values()];
}

export function aggregatesOf(
  op: Pick<WindowAggregateOp, "aggregates" | "time">,
  rows: readonly Row[],
  input: Schema,
  output: Schema,
): Value[] {
  const first = output.length - op.aggregates.length;
  return op.aggregates.map((call, i) => {
    const { arg, filter, fn } = call;
    const passed = rows.filter((row) => filter === undefined || row[filter] === 1n);
    if (arg === undefined) return BigInt(passed.length);
    const filled = passed.filter((row) => row[arg] !== null);
    const ordered = filled.toSorted((a, b) => compare(a[op.time] ?? null, b[op.time] ?? null));
    if (fn === "first") return ordered[0]?.[arg] ?? null;
    if (fn === "last") return lastOf(ordered, op.time)?.[arg] ?? null;
    let values = filled.map((row) => row[arg] ?? null);
    if (call.distinct) values = [...new Map(values.map((value) => [`${value}`, value])).values()];
    const isFloatArg = isFloat(input[arg]?.type.name ?? "INT64");
    return aggregate(fn, values, isFloatArg, output[first + i]?.type.name ?? "INT64");
  });
}

/** Of equal times the last to arrive, which a stable sort leaves at the end. */
function lastOf(ordered: readonly Row[], time: number): Row | undefined {
  return ordered.findLast((row) => row[time] === ordered.at(-1)?.[time]);
}

function aggregate(
  fn: AggregateCall["fn"],
  values: readonly Value[],
  isFloatArg: boolean,
  result: string,
): Value {
  if (fn === "count") return BigInt(values.length);
  if (values.length === 0) return null;
  const sorted = values.toSorted(compare);
  const numbers = sorted.map(Number);
  const sum = numbers.reduce((a, b) => a + b, 0);
  const exact = isFloatArg ? 0n : values.reduce<bigint>((a, b) => a + (b as bigint), 0n);
  const mean = (isFloatArg ? sum : Number(exact)) / values.length;
  const half = values.length >> 1;
  const spread = numbers.reduce((a, b) => a + (b - mean) ** 2, 0);
  const variance = (divisor: number) => (divisor > 0 ? spread / divisor : null);
  const root = (square: number | null) => (square === null ? null : Math.sqrt(square));
  switch (fn) {
    case "sum":
      if (isFloatArg) return result === "FLOAT32" ? Math.fround(sum) : sum;
      return result === "INT64" ? BigInt.asIntN(64, exact) : BigInt.asUintN(64, exact);
    case "min":
      return sorted[0] ?? null;
    case "max":
      return sorted.at(-1) ?? null;
    case "avg":
      return mean;
    case "median":
      if (values.length % 2 === 1) return numbers[half] ?? null;
      return ((numbers[half - 1] ?? 0) + (numbers[half] ?? 0)) / 2;
    case "var_samp":
      return variance(values.length - 1);
    case "var_pop":
      return variance(values.length);
    case "stddev_samp":
      return root(variance(values.length - 1));
    case "stddev_pop":
      return root(variance(values.length));
    default:
      throw new Error(`${fn} is computed elsewhere`);
  }
}

/** NULLs first, texts by their bytes. */
export function compare(a: Value, b: Value): number {
  if (a === null || b === null) return (a === null ? 0 : 1) - (b === null ? 0 : 1);
  if (typeof a === "string" || typeof b === "string") {
    return Buffer.compare(Buffer.from(`${a}`), Buffer.from(`${b}`));
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

export function keysMatch(keys: readonly JoinKey[], left: Row, right: Row): boolean {
  return keys.every(({ left: l, right: r, nullSafe }) => {
    const [a, b] = [left[l] ?? null, right[r] ?? null];
    if (a === null || b === null) return nullSafe && a === b;
    return a === b;
  });
}

export function naiveWindowJoin(
  op: WindowJoinOp,
  left: Schema,
  right: Schema,
  residual: (pair: Row) => boolean,
): NaiveOperator {
  const types = [left[op.leftTime]?.type.name, right[op.rightTime]?.type.name];
  const signed = types.some((name) => isSigned(name ?? "UINT64"));
  const windows = new NaiveWindows(op.window, ({ start, end }, [lefts = [], rights = []]) => {
    const head = [clamped(start, signed), clamped(end, signed)];
    const pairs = lefts.flatMap((a) => rights.map((b) => ({ a, b })));
    const matched = pairs.filter(({ a, b }) => keysMatch(op.keys, a, b) && residual([...a, ...b]));
    const found = matched.map(({ a, b }) => [...head, ...a, ...b]);
    const [leftAlone, rightAlone] = [new Set(lefts), new Set(rights)];
    for (const { a, b } of matched) {
      leftAlone.delete(a);
      rightAlone.delete(b);
    }
    if (op.join === "left" || op.join === "full") {
      for (const a of leftAlone) found.push([...head, ...a, ...right.map(() => null)]);
    }
    if (op.join === "right" || op.join === "full") {
      for (const b of rightAlone) found.push([...head, ...left.map(() => null), ...b]);
    }
    return found;
  });
  const times = [op.leftTime, op.rightTime];
  return {
    push: (input, rows) => {
      // Each arrival is a row of its own, though two may have the same values.
      for (const row of rows) windows.take(input, [...row], row[times[input] ?? 0] ?? null);
    },
    advance: (watermark) => windows.advance(watermark),
    emitted: windows.emitted,
    late: windows.late,
  };
}
