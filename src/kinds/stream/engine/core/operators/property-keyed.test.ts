import { test } from "node:test";
import fc from "fast-check";
import {
  type DataType,
  type IntervalJoinOp,
  type KeyedOp,
  type LookupJoinOp,
  notNull,
  nullable,
  type TopNOp,
} from "../../../language/core/index.ts";
import {
  naiveIntervalJoin,
  naiveKeyed,
  naiveLookupJoin,
  naiveTopN,
} from "../../testing/naive-keyed.ts";
import { allTypes, numericTypes, typeArb, valueFor } from "../../testing/operator-arbitraries.ts";
import {
  check,
  drawnArb,
  isLess,
  lessExpr,
  numRuns,
  schemaOf,
} from "../../testing/operator-cases.ts";
import { type Row, toBatch } from "../../testing/rows.ts";
import { createIntervalJoin } from "./interval-join.ts";
import { createKeyed } from "./keyed.ts";
import { createLookupJoin } from "./lookup-join.ts";
import { createTopN } from "./top-n.ts";

/** Columns: the time, two keys, a number, anything, a flag. */
const typesArb = fc.record({
  keyTypes: fc.tuple(typeArb(allTypes), typeArb(allTypes)),
  number: typeArb(numericTypes),
  any: typeArb(allTypes),
});
type Types = typeof typesArb extends fc.Arbitrary<infer T> ? T : never;

function columnsOf(time: "UINT64" | "INT64", { keyTypes, number, any }: Types): DataType[] {
  return [notNull(time), ...keyTypes, number, any, nullable("BOOLEAN")];
}

function keysOf(count: number, nullSafe: boolean): IntervalJoinOp["keys"] {
  return [
    { left: 1, right: 1, nullSafe },
    { left: 2, right: 2, nullSafe: !nullSafe },
  ].slice(0, count);
}

test("[SX54] interval joins equal the naive one", () => {
  const arb = fc.record({
    types: typesArb,
    keyCount: fc.nat(2),
    nullSafe: fc.boolean(),
    hasResidual: fc.boolean(),
    interval: fc.constantFrom([0, 0], [-50, 50], [-200, -20], [10, 400], [0, 3_000]),
    drawn: drawnArb(2),
  });
  fc.assert(
    fc.property(arb, ({ types, keyCount, nullSafe, hasResidual, interval, drawn }) => {
      const schema = schemaOf(columnsOf(drawn.timeType, types));
      const op: IntervalJoinOp = {
        kind: "intervalJoin",
        leftTime: 0,
        rightTime: 0,
        lowerMs: interval[0] ?? 0,
        upperMs: interval[1] ?? 0,
        keys: keysOf(keyCount, nullSafe),
        residual: hasResidual ? lessExpr(types.number, types.number) : undefined,
      };
      check(
        (context) => createIntervalJoin(op, [schema, schema], [...schema, ...schema], context),
        () =>
          naiveIntervalJoin(op, (pair) => !hasResidual || isLess(pair[3] ?? null, pair[9] ?? null)),
        drawn,
        [schema, schema],
        [0, 0],
      );
    }),
    { numRuns },
  );
});

test("[SX55] lookup joins equal the naive one", () => {
  const arb = fc.record({
    types: typesArb,
    join: fc.constantFrom("inner" as const, "left" as const),
    keyCount: fc.integer({ min: 1, max: 2 }),
    nullSafe: fc.boolean(),
    codes: fc.array(fc.array(fc.nat(9), { minLength: 6, maxLength: 6 }), { maxLength: 30 }),
    drawn: drawnArb(1),
  });
  fc.assert(
    fc.property(arb, ({ types, join, keyCount, nullSafe, codes, drawn }) => {
      const schema = schemaOf(columnsOf(drawn.timeType, types));
      const table = codes.map((row): Row => {
        return schema.map(({ type }, i) => valueFor(type, row[i] ?? 0));
      });
      const keys = keysOf(keyCount, nullSafe);
      const op: LookupJoinOp = {
        kind: "lookupJoin",
        join,
        table: "t",
        columns: schema,
        keys,
        residual: undefined,
      };
      const version = toBatch(schema, table);
      check(
        (context) => {
          const lookupTable = () => ({ version });
          const joined = [...schema, ...schema];
          return createLookupJoin(op, [schema], joined, { ...context, lookupTable });
        },
        () => naiveLookupJoin(op, table),
        drawn,
        [schema],
        [0],
      );
    }),
    { numRuns },
  );
});

test("[SX56] the first rows of each window equal the naive ones", () => {
  const arb = fc.record({
    types: typesArb,
    partition: fc.constantFrom([], [1], [1, 2]),
    order: fc.array(fc.record({ column: fc.constantFrom(2, 3, 4), descending: fc.boolean() }), {
      minLength: 1,
      maxLength: 2,
    }),
    limit: fc.integer({ min: 1, max: 3 }),
    drawn: drawnArb(1),
  });
  fc.assert(
    fc.property(arb, ({ types, partition, order, limit, drawn }) => {
      const schema = schemaOf([...columnsOf(drawn.timeType, types), notNull("INT32")]);
      // Column 0 is the end of the window; the start is drawn beside it.
      const withStart = schema.map((field, i) =>
        i === 5 ? { ...field, type: notNull("UINT64") } : field,
      );
      const op: TopNOp = { kind: "topN", start: 5, end: 0, partition, order, limit };
      check(
        (context) => createTopN(op, [withStart], withStart, context),
        () => naiveTopN(op),
        // Behind a window every row to come ends after the watermark, and never with it.
        { ...drawn, boundMs: drawn.boundMs + 1 },
        [withStart],
        [0],
      );
    }),
    { numRuns },
  );
});

test("[SX57] keyed operators equal the naive ones", () => {
  const arb = fc.record({
    types: typesArb,
    keys: fc.constantFrom([1], [1, 2]),
    ttlMs: fc.constantFrom(undefined, 0, 100, 400),
    fn: fc.oneof(
      fc.record({
        kind: fc.constant("lag" as const),
        arg: fc.constantFrom(3, 4),
        offset: fc.integer({ min: 1, max: 3 }),
      }),
      fc.record({ kind: fc.constant("lastValue" as const), arg: fc.constantFrom(3, 4) }),
      fc.record({ kind: fc.constant("deduplicate" as const) }),
    ),
    drawn: drawnArb(1),
  });
  fc.assert(
    fc.property(arb, ({ types, keys, ttlMs, fn, drawn }) => {
      const schema = schemaOf(columnsOf(drawn.timeType, types));
      const op: KeyedOp = { kind: "keyed", keys, time: 0, ttlMs, fn };
      check(
        (context) => createKeyed(op, [schema], schema, context),
        () => naiveKeyed(op),
        drawn,
        [schema],
        [0],
      );
    }),
    { numRuns },
  );
});
