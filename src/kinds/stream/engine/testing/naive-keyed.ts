/** The naive operators whose state is by key or by window of the rows, beside those of windows. */
import type {
  IntervalJoinOp,
  KeyedOp,
  LookupJoinOp,
  Schema,
  TopNOp,
  WindowAggregateOp,
} from "../../language/core/index.ts";
import { endOfTime, startOfTime } from "../core/index.ts";
import {
  aggregatesOf,
  clamped,
  compare,
  groupsOf,
  keysMatch,
  type NaiveOperator,
} from "./naive-operators.ts";
import type { Row, Value } from "./rows.ts";

interface Session {
  readonly key: string;
  rows: Row[];
  first: bigint;
  last: bigint;
}

export function naiveSessionAggregate(
  op: WindowAggregateOp,
  gapMs: number,
  input: Schema,
  output: Schema,
): NaiveOperator {
  const gap = BigInt(gapMs);
  const signed = output[0]?.type.name === "INT64";
  let sessions: Session[] = [];
  let watermark = startOfTime;
  const naive: NaiveOperator = {
    emitted: [],
    late: [],
    push: (_input, rows) => {
      for (const row of rows) {
        const time = row[op.time] as bigint;
        const key = JSON.stringify(op.keys.map((index) => `${typeof row[index]} ${row[index]}`));
        const met = sessions.filter(
          (each) => each.key === key && time - each.last < gap && each.first - time < gap,
        );
        if (met.length === 0 && time + gap <= watermark) {
          naive.late.push(row);
          continue;
        }
        const times = [time, ...met.flatMap(({ first, last }) => [first, last])];
        times.sort((a, b) => compare(a, b));
        sessions = sessions.filter((each) => !met.includes(each));
        const all = [...met.flatMap((each) => each.rows), row];
        sessions.push({ key, rows: all, first: times[0] ?? time, last: times.at(-1) ?? time });
      }
    },
    advance: (now) => {
      watermark = now;
      const ended = sessions.filter(({ last }) => last + gap <= now || now === endOfTime);
      sessions = sessions.filter((each) => !ended.includes(each));
      for (const { rows, first, last } of ended) {
        for (const { key, rows: group } of groupsOf(rows, op.keys)) {
          const bounds = [first, last + gap].map((time) => clamped(time, signed));
          naive.emitted.push([...bounds, ...key, ...aggregatesOf(op, group, input, output)]);
        }
      }
    },
  };
  return naive;
}

export function naiveIntervalJoin(
  op: IntervalJoinOp,
  residual: (pair: Row) => boolean,
): NaiveOperator {
  const [lower, upper] = [BigInt(op.lowerMs), BigInt(op.upperMs)];
  const kept: [Row[], Row[]] = [[], []];
  let watermark = startOfTime;
  const hasGone = (input: number, row: Row): boolean =>
    input === 0
      ? (row[op.leftTime] as bigint) + upper < watermark
      : (row[op.rightTime] as bigint) - lower < watermark;
  const naive: NaiveOperator = {
    emitted: [],
    late: [],
    push: (input, rows) => {
      for (const row of rows) {
        const time = row[input === 0 ? op.leftTime : op.rightTime] as bigint;
        if (time < watermark && hasGone(input, row)) {
          naive.late.push(row);
          continue;
        }
        for (const other of kept[1 - input] ?? []) {
          const [left, right] = input === 0 ? [row, other] : [other, row];
          const between = (right[op.rightTime] as bigint) - (left[op.leftTime] as bigint);
          const isNear = between >= lower && between <= upper && !hasGone(1 - input, other);
          if (isNear && keysMatch(op.keys, left, right) && residual([...left, ...right])) {
            naive.emitted.push([...left, ...right]);
          }
        }
        kept[input]?.push(row);
      }
    },
    advance: (now) => {
      watermark = now;
    },
  };
  return naive;
}

export function naiveLookupJoin(op: LookupJoinOp, table: readonly Row[]): NaiveOperator {
  const naive: NaiveOperator = {
    emitted: [],
    late: [],
    push: (_input, rows) => {
      for (const row of rows) {
        const found = table.filter((other) => keysMatch(op.keys, row, other));
        for (const other of found) naive.emitted.push([...row, ...other]);
        if (found.length === 0 && op.join === "left") {
          naive.emitted.push([...row, ...op.columns.map(() => null)]);
        }
      }
    },
    advance: () => {},
  };
  return naive;
}

export function naiveTopN(op: TopNOp): NaiveOperator {
  let kept: Row[] = [];
  let watermark = startOfTime;
  const isOver = (row: Row, now: bigint): boolean => (row[op.end] as bigint) <= now;
  const order = (a: Row, b: Row): number => {
    for (const { column, descending } of op.order) {
      const [x, y] = [a[column] ?? null, b[column] ?? null];
      if (x === null || y === null) {
        if (x !== y) return x === null ? 1 : -1;
        continue;
      }
      const sign = compare(x, y);
      if (sign !== 0) return descending ? -sign : sign;
    }
    return 0;
  };
  const naive: NaiveOperator = {
    emitted: [],
    late: [],
    push: (_input, rows) => {
      for (const row of rows) (isOver(row, watermark) ? naive.late : kept).push(row);
    },
    advance: (now) => {
      watermark = now;
      const over = kept.filter((row) => isOver(row, now) || now === endOfTime);
      kept = kept.filter((row) => !over.includes(row));
      for (const { rows } of groupsOf(over, [op.start, op.end, ...op.partition])) {
        naive.emitted.push(...rows.toSorted(order).slice(0, op.limit));
      }
    },
  };
  return naive;
}

export function naiveKeyed(op: KeyedOp): NaiveOperator {
  const states = new Map<string, { seen: bigint; values: Value[] }>();
  let watermark = startOfTime;
  const naive: NaiveOperator = {
    emitted: [],
    late: [],
    push: (_input, rows) => {
      for (const row of rows) {
        const time = row[op.time] as bigint;
        const key = JSON.stringify(op.keys.map((index) => `${typeof row[index]} ${row[index]}`));
        const ttl = op.ttlMs === undefined ? undefined : BigInt(op.ttlMs);
        const found = states.get(key);
        const isForgotten =
          found !== undefined &&
          ttl !== undefined &&
          (time - found.seen > ttl || watermark - found.seen > ttl);
        const state = found === undefined || isForgotten ? { seen: time, values: [] } : found;
        states.set(key, state);
        if (time > state.seen) state.seen = time;
        const { fn } = op;
        if (fn.kind === "deduplicate") {
          if (state !== found) naive.emitted.push(row);
          continue;
        }
        const value = row[fn.arg] ?? null;
        if (fn.kind === "lag") naive.emitted.push([...row, state.values.at(-fn.offset) ?? null]);
        if (fn.kind === "lag" || value !== null) state.values.push(value);
        if (fn.kind === "lastValue") naive.emitted.push([...row, state.values.at(-1) ?? null]);
      }
    },
    advance: (now) => {
      watermark = now;
    },
  };
  return naive;
}
