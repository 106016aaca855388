/** The cases that the property tests of the operators share. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type AggregateCall,
  type AggregateFunction,
  type DataType,
  type Expr,
  isFloat,
  isSigned,
  notNull,
  nullable,
  type Schema,
  type WindowSpec,
} from "../../language/core/index.ts";
import type { Operator, OperatorContext } from "../core/index.ts";
import { driveOperator } from "./drive-operator.ts";
import type { NaiveOperator } from "./naive-operators.ts";
import {
  allTypes,
  type Drawn,
  disorderMs,
  eventsArb,
  numericTypes,
  originArb,
  recut,
  timeTypeArb,
  toEvents,
  typeArb,
} from "./operator-arbitraries.ts";
import { asMultiset } from "./rows.ts";

/** The cases of each operator; more of them with the environment variable. */
export const numRuns = Number(process.env.CAPSTAN_STREAM_OPERATOR_CASES ?? 60);

export type FixedWindow = Exclude<WindowSpec, { readonly kind: "session" }>;

export const windowArb: fc.Arbitrary<FixedWindow> = fc.oneof(
  fc.record({ kind: fc.constant("tumbling" as const), sizeMs: fc.constantFrom(1, 7, 100, 1_000) }),
  fc.record({
    kind: fc.constant("sliding" as const),
    sizeMs: fc.constantFrom(10, 100, 250, 300, 1_000),
    advanceMs: fc.constantFrom(7, 50, 100, 130, 400),
  }),
);

export function drawnArb(inputCount: number): fc.Arbitrary<Drawn> {
  return timeTypeArb.chain((timeType) =>
    fc.record({
      timeType: fc.constant(timeType),
      origin: originArb(timeType),
      boundMs: fc.constantFrom(0, 50, disorderMs, 1_000),
      events: eventsArb(inputCount),
    }),
  );
}

/** The operator and the naive one agree on what they emit and on what is late. */
export function check(
  create: (context: OperatorContext) => Operator,
  createNaive: () => NaiveOperator,
  drawn: Drawn,
  schemas: readonly Schema[],
  times: readonly number[],
): void {
  const naive = createNaive();
  const events = toEvents(drawn, schemas, times);
  for (const event of events) {
    if (event.kind === "push") naive.push(event.input, event.rows);
    else if (event.kind === "advance") naive.advance(event.watermark);
  }
  const driven = driveOperator(create, schemas, events);
  assert.deepEqual(asMultiset(driven.emitted), asMultiset(naive.emitted));
  assert.deepEqual(asMultiset(driven.late), asMultiset(naive.late));
  if (drawn.boundMs < disorderMs) return;
  // Within the bound nothing depends on how the rows are cut into batches.
  const other = driveOperator(create, schemas, toEvents(recut(drawn, 3), schemas, times));
  assert.deepEqual(asMultiset(other.emitted), asMultiset(naive.emitted));
  // What is late then is so because its time is before 0, where there are no windows.
  assert.deepEqual(asMultiset(other.late), asMultiset(naive.late));
  const isBeforeZero = (row: (typeof other.late)[number]): boolean =>
    times.some((time) => typeof row[time] === "bigint" && row[time] < 0n);
  assert.deepEqual(
    other.late.filter((row) => !isBeforeZero(row)),
    [],
  );
}

const functions: readonly AggregateFunction[] = [
  "count_all",
  "count",
  "sum",
  "min",
  "max",
  "avg",
  "median",
  "stddev_samp",
  "stddev_pop",
  "var_samp",
  "var_pop",
  "first",
  "last",
];

function resultType(fn: AggregateFunction, { name }: DataType): DataType {
  if (fn === "count" || fn === "count_all") return notNull("UINT64");
  if (fn === "min" || fn === "max" || fn === "first" || fn === "last") return nullable(name);
  if (fn !== "sum") return nullable("FLOAT64");
  if (isFloat(name)) return nullable(name);
  return nullable(isSigned(name) ? "INT64" : "UINT64");
}

/** Columns: the time, two keys, a number, anything, a flag. */
export const aggregateArb = fc
  .record({
    window: windowArb,
    keyTypes: fc.tuple(typeArb(allTypes), typeArb(allTypes)),
    keys: fc.constantFrom([], [1], [2, 1]),
    number: typeArb(numericTypes),
    any: typeArb(allTypes),
    calls: fc.array(
      fc.record({
        fn: fc.constantFrom(...functions),
        onAny: fc.boolean(),
        filtered: fc.nat(3).map((dice) => dice === 0),
        distinct: fc.nat(3).map((dice) => dice === 0),
      }),
      { maxLength: 4 },
    ),
    drawn: drawnArb(1),
  })
  .map(({ window, keyTypes, keys, number, any, calls, drawn }) => {
    const input = schemaOf([
      notNull(drawn.timeType),
      keyTypes[0],
      keyTypes[1],
      number,
      any,
      nullable("BOOLEAN"),
    ]);
    const aggregates = calls.map(({ fn, onAny, filtered, distinct }): AggregateCall => {
      const takesAny = ["count", "min", "max", "first", "last"].includes(fn);
      const arg = fn === "count_all" ? undefined : onAny && takesAny ? 4 : 3;
      const isDistinct = distinct && fn !== "count_all" && !fn.startsWith("var");
      return { fn, arg, filter: filtered ? 5 : undefined, distinct: isDistinct };
    });
    const op = { kind: "windowAggregate" as const, window, time: 0, keys, aggregates };
    const output = schemaOf([
      notNull(drawn.timeType),
      notNull(drawn.timeType),
      ...keys.map((key) => input[key]?.type ?? notNull("INT8")),
      ...aggregates.map(({ fn, arg }) => resultType(fn, input[arg ?? 0]?.type ?? notNull("INT8"))),
    ]);
    return { op, input, output, drawn };
  });

export function schemaOf(types: readonly DataType[]): Schema {
  return types.map((type, i) => ({ name: `c${i}`, type }));
}

/** Column 3 of the left side is less than column 3 of the right one, both as FLOAT64. */
export function lessExpr(left: DataType, right: DataType): Expr {
  const asFloat = (index: number, type: DataType): Expr => {
    return {
      kind: "cast",
      arg: { kind: "column", index, type },
      type: { name: "FLOAT64", nullable: type.nullable },
    };
  };
  const args = [asFloat(3, left), asFloat(9, right)];
  return { kind: "call", fn: "less", args, type: nullable("BOOLEAN") };
}

export function isLess(a: unknown, b: unknown): boolean {
  return a !== null && b !== null && Number(a) < Number(b);
}
