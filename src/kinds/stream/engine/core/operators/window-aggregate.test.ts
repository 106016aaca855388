import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DialectError,
  notNull,
  nullable,
  type Schema,
  type WindowAggregateOp,
} from "../../../language/core/index.ts";
import { driveOperator, type OperatorEvent } from "../../testing/drive-operator.ts";
import { asMultiset, type Row, toBatch } from "../../testing/rows.ts";
import { endOfTime, type OperatorContext } from "../operator.ts";
import { createWindowAggregate } from "./create-window-aggregate.ts";

const input: Schema = [
  { name: "ts", type: notNull("UINT64") },
  { name: "k", type: nullable("INT32") },
];
const output: Schema = [
  { name: "start", type: notNull("UINT64") },
  { name: "end", type: notNull("UINT64") },
  { name: "k", type: nullable("INT32") },
  { name: "n", type: notNull("UINT64") },
];
const countByKey = { fn: "count_all", arg: undefined, filter: undefined, distinct: false } as const;

function opOf(window: WindowAggregateOp["window"]): WindowAggregateOp {
  return { kind: "windowAggregate", window, time: 0, keys: [1], aggregates: [countByKey] };
}

function pushOf(...times: readonly number[]): OperatorEvent {
  const rows: Row[] = times.map((time) => [BigInt(time), 7n]);
  return { kind: "push", input: 0, rows, hidden: false };
}

function advanceTo(watermark: bigint): OperatorEvent {
  return { kind: "advance", watermark };
}

function run(window: WindowAggregateOp["window"], events: readonly OperatorEvent[]) {
  const create = (context: OperatorContext) =>
    createWindowAggregate(opOf(window), [input], output, context);
  return driveOperator(create, [input], events);
}

test("[SX42] a row with some of its windows fired joins the others and is not late", () => {
  const sliding = { kind: "sliding", sizeMs: 100, advanceMs: 50 } as const;
  const { emitted, late } = run(sliding, [
    pushOf(60),
    advanceTo(110n),
    pushOf(70, 20),
    advanceTo(endOfTime),
  ]);
  assert.deepEqual(asMultiset(emitted), ["0 | 100 | 7 | 1", "50 | 150 | 7 | 2"]);
  assert.deepEqual(asMultiset(late), ["20 | 7"]);
});

test("[SX42] a row in a gap is dropped and not late", () => {
  const gaps = { kind: "sliding", sizeMs: 10, advanceMs: 100 } as const;
  const { emitted, late } = run(gaps, [
    advanceTo(200n),
    pushOf(150, 205, 250),
    advanceTo(endOfTime),
  ]);
  assert.deepEqual(asMultiset(emitted), ["200 | 210 | 7 | 1"]);
  assert.deepEqual(late, []);
});

test("[SX43] a jump of a million years fires only windows with rows", () => {
  const sliding = { kind: "sliding", sizeMs: 10_000, advanceMs: 1 } as const;
  const far = 31_556_952_000_000_000;
  const { emitted } = run(sliding, [pushOf(0), advanceTo(BigInt(far)), pushOf(far)]);
  assert.equal(emitted.length, 1);
});

test("[SX44] a slice that did not change keeps its generation", () => {
  const context: OperatorContext = {
    emit: () => {},
    late: { add: () => {} },
    memory: { set: () => {} },
  };
  const window = { kind: "tumbling", sizeMs: 100 } as const;
  const operator = createWindowAggregate(opOf(window), [input], output, context);
  const generations = () =>
    new Map(operator.snapshot?.().map(({ key, generation }) => [key, generation]));
  operator.push(
    0,
    toBatch(input, [
      [10n, 1n],
      [110n, 1n],
    ]),
  );
  const before = generations();
  operator.push(0, toBatch(input, [[120n, 2n]]));
  const after = generations();
  assert.equal(after.get("slice 0"), before.get("slice 0"));
  assert.notEqual(after.get("slice 1"), before.get("slice 1"));
});

test("[SX44] state in another format is refused by name", () => {
  const context: OperatorContext = {
    emit: () => {},
    late: { add: () => {} },
    memory: { set: () => {} },
  };
  const window = { kind: "tumbling", sizeMs: 100 } as const;
  const operator = createWindowAggregate(opOf(window), [input], output, context);
  const session = createWindowAggregate(
    opOf({ kind: "session", gapMs: 5 }),
    [input],
    output,
    context,
  );
  const sections = (session.snapshot?.() ?? []).map((section) => {
    return { key: section.key, bytes: section.encode() };
  });
  assert.throws(
    () => operator.restore?.(sections),
    (error: unknown) =>
      error instanceof DialectError &&
      error.number === 2002 &&
      /sessionAggregate in format 1/.test(error.message),
  );
});

test("[SX45] the memory account follows the state up and down", () => {
  const rows = Array.from({ length: 5_000 }, (_, i): Row => [BigInt(i), BigInt(i)]);
  const events: OperatorEvent[] = [{ kind: "push", input: 0, rows, hidden: false }];
  const window = { kind: "tumbling", sizeMs: 10_000 } as const;
  const full = run(window, events);
  // A key of 4 bytes, its hash, about two slots, and a count of 8 bytes.
  assert.ok(full.bytes > 5_000 * 20 && full.bytes < 5_000 * 60, `${full.bytes} bytes`);
  const empty = run(window, [...events, advanceTo(endOfTime)]);
  assert.ok(empty.bytes < 1_000, `${empty.bytes} bytes`);
});

test("[SX45] room that is kept for the next windows is counted, and used again", () => {
  const rows = Array.from({ length: 5_000 }, (_, i): Row => [BigInt(i), BigInt(i)]);
  const events: OperatorEvent[] = [{ kind: "push", input: 0, rows, hidden: false }];
  const window = { kind: "tumbling", sizeMs: 10_000 } as const;
  const kept = run(window, [...events, advanceTo(10_000n)]);
  assert.ok(kept.bytes > 5_000 * 20 && kept.bytes < 5_000 * 60, `${kept.bytes} bytes`);
  const again = run(window, [...events, advanceTo(10_000n), pushOf(10_001), advanceTo(20_000n)]);
  assert.deepEqual(asMultiset(again.emitted).slice(-1), ["10000 | 20000 | 7 | 1"]);
});
