import { test } from "node:test";
import fc from "fast-check";
import {
  notNull,
  nullable,
  type WindowAggregateOp,
  type WindowJoinOp,
} from "../../../language/core/index.ts";
import { naiveSessionAggregate } from "../../testing/naive-keyed.ts";
import { naiveWindowAggregate, naiveWindowJoin } from "../../testing/naive-operators.ts";
import { allTypes, numericTypes, typeArb } from "../../testing/operator-arbitraries.ts";
import {
  aggregateArb,
  check,
  drawnArb,
  isLess,
  lessExpr,
  numRuns,
  schemaOf,
  windowArb,
} from "../../testing/operator-cases.ts";
import { createWindowAggregate } from "./create-window-aggregate.ts";
import { createWindowJoin } from "./window-join.ts";

test("[SX40] window aggregation equals the naive one", () => {
  fc.assert(
    fc.property(aggregateArb, ({ op, input, output, drawn }) => {
      check(
        (context) =>
          createWindowAggregate(op satisfies WindowAggregateOp, [input], output, context),
        () => naiveWindowAggregate(op, input, output),
        drawn,
        [input],
        [0],
      );
    }),
    { numRuns },
  );
});

test("[SX41] session aggregation equals the naive one", () => {
  const gapArb = fc.constantFrom(1, 20, 60, 150);
  fc.assert(
    fc.property(aggregateArb, gapArb, ({ op: sliced, input, output, drawn }, gapMs) => {
      const op: WindowAggregateOp = { ...sliced, window: { kind: "session", gapMs } };
      check(
        (context) => createWindowAggregate(op, [input], output, context),
        () => naiveSessionAggregate(op, gapMs, input, output),
        drawn,
        [input],
        [0],
      );
    }),
    { numRuns },
  );
});

const joinArb = fc
  .record({
    join: fc.constantFrom("inner", "left", "right", "full"),
    window: windowArb,
    keyTypes: fc.tuple(typeArb(allTypes), typeArb(allTypes)),
    nullables: fc.tuple(fc.boolean(), fc.boolean()),
    keyCount: fc.nat(2),
    nullSafe: fc.boolean(),
    hasResidual: fc.boolean(),
    number: typeArb(numericTypes),
    any: typeArb(allTypes),
    drawn: drawnArb(2),
  })
  .map(({ keyTypes, nullables, keyCount, nullSafe, hasResidual, number, any, drawn, ...rest }) => {
    const time = notNull(drawn.timeType);
    const left = schemaOf([time, ...keyTypes, number, any, nullable("BOOLEAN")]);
    const rightKeys = keyTypes.map(({ name }, i) => ({ name, nullable: nullables[i] ?? false }));
    const right = schemaOf([time, ...rightKeys, number, any, nullable("BOOLEAN")]);
    const keys = [
      { left: 1, right: 1, nullSafe },
      { left: 2, right: 2, nullSafe: !nullSafe },
    ].slice(0, keyCount);
    const op: WindowJoinOp = {
      kind: "windowJoin",
      ...rest,
      leftTime: 0,
      rightTime: 0,
      keys,
      residual: hasResidual ? lessExpr(number, number) : undefined,
    };
    const output = [...schemaOf([time, time]), ...left, ...right];
    return { op, left, right, output, drawn };
  });

test("[SX49] windowed joins equal the naive one", () => {
  fc.assert(
    fc.property(joinArb, ({ op, left, right, output, drawn }) => {
      const residual = op.residual === undefined ? () => true : undefined;
      check(
        (context) => createWindowJoin(op, [left, right], output, context),
        () =>
          naiveWindowJoin(
            op,
            left,
            right,
            residual ?? ((pair) => isLess(pair[3] ?? null, pair[9] ?? null)),
          ),
        drawn,
        [left, right],
        [0, 0],
      );
    }),
    { numRuns },
  );
});
