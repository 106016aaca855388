import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DialectError,
  notNull,
  type PlanNode,
  type PlanOp,
  type QuerySettings,
  type Schema,
} from "../../../language/core/index.ts";
import type { Batch } from "../batch.ts";
import { endOfTime, type Operator, type OperatorContext } from "../operator.ts";
import { Fragment } from "./fragment.ts";
import { QueryMemory } from "./query-memory.ts";

const schema: Schema = [{ name: "v", type: notNull("INT32") }];
const settings: QuerySettings = {
  late: "drop",
  lateSink: undefined,
  idleTimeoutMs: 5_000,
  parallelism: 1,
  checkpointIntervalMs: 10_000,
  bufferBytes: 4_096,
  memoryBytesMax: 1_000,
};

function batchOf(...values: number[]): Batch {
  return {
    rowCount: values.length,
    columns: [
      { kind: "fixed", type: "INT32", values: Int32Array.from(values), validity: undefined },
    ],
    selection: undefined,
  };
}

function valuesOf({ columns, selection, rowCount }: Batch): number[] {
  const [column] = columns;
  const values = column?.kind === "fixed" ? Array.from(column.values, Number) : [];
  return selection === undefined
    ? values.slice(0, rowCount)
    : Array.from(selection, (row) => values[row] ?? -1);
}

const source: PlanOp = {
  kind: "source",
  name: "s",
  type: "Test",
  config: {},
  parser: {},
  record: schema,
  columns: [0],
  ingestionTime: false,
};
const sink: PlanOp = { kind: "sink", name: "out", type: "Test", config: {}, formatter: {} };

function nodesOf(
  ...ops: readonly (readonly [op: PlanOp, inputs: readonly number[]])[]
): PlanNode[] {
  return ops.map(([op, inputs], id) => ({
    id,
    op,
    schema,
    inputs: inputs.map((node) => ({ node, shiftMs: op.kind === "union" ? 10 * node : 0 })),
  }));
}

/** An operator that writes down what it is told. */
function recorder(log: string[], name: string, context: OperatorContext): Operator {
  return {
    push: (input, batch) => {
      log.push(`${name} ${input} rows ${valuesOf(batch).join(" ")}`);
      context.emit(batch);
    },
    advance: (watermark) => log.push(`${name} at ${watermark === endOfTime ? "end" : watermark}`),
    snapshot: () => [
      { key: "log", generation: log.length, encode: () => new TextEncoder().encode(name) },
    ],
    restore: (sections) => log.push(`${name} restored ${sections.length}`),
  };
}

function fragmentOf(
  nodes: readonly PlanNode[],
  log: string[],
  more: Partial<QuerySettings> = {},
  create?: (context: OperatorContext) => Operator,
): Fragment {
  return new Fragment({
    nodes,
    settings: { ...settings, ...more },
    memory: new QueryMemory(settings.memoryBytesMax),
    edges: {
      createOutput: () => ({
        push: (_, batch) => log.push(`out ${valuesOf(batch).join(" ")}`),
        advance: (watermark) => log.push(watermark === endOfTime ? "out end" : `out ${watermark}`),
      }),
      inputCount: () => 1,
    },
    createOperator: (node, _inputs, context) =>
      create?.(context) ?? recorder(log, `${node.op.kind}`, context),
  });
}

const twoSources = nodesOf([source, []], [source, []], [{ kind: "union" }, [0, 1]], [sink, [2]]);

test("[SG1] an operator sees the least watermark of its inputs, each less its shift", () => {
  const log: string[] = [];
  const fragment = fragmentOf(twoSources, log);
  fragment.input(0).watermark(100n);
  assert.deepEqual(log, []);
  fragment.input(1).watermark(50n);
  assert.deepEqual(log, ["union at 40", "out 40"]);
  fragment.input(1).watermark(45n);
  assert.equal(log.length, 2);
});

test("[SG2] rows that are emitted go out before the watermark that made them", () => {
  const log: string[] = [];
  const late: Batch[] = [];
  const fragment = fragmentOf(twoSources, log, {}, (context) => ({
    push: (_, batch) => late.push(batch),
    advance: () => {
      for (const batch of late.splice(0)) context.emit(batch);
    },
  }));
  fragment.input(0).push(batchOf(7));
  fragment.input(0).end();
  fragment.input(1).end();
  assert.deepEqual(log, ["out 7", "out end"]);
  assert.equal(fragment.hasEnded, true);
});

test("[SG3] an idle input does not hold the others back until it speaks again", () => {
  const log: string[] = [];
  const fragment = fragmentOf(twoSources, log);
  fragment.input(0).watermark(100n);
  fragment.input(1).idle();
  assert.deepEqual(log, ["union at 100", "out 100"]);
  fragment.input(1).push(batchOf(1));
  fragment.input(0).watermark(200n);
  assert.deepEqual(log.slice(2), ["union 1 rows 1", "out 1"]);
  fragment.input(1).watermark(160n);
  assert.deepEqual(log.slice(4), ["union at 150", "out 150"]);
});

test("[SG4] the end of a read buffer reaches only what makes watermarks of it", () => {
  const log: string[] = [];
  const nodes = nodesOf(
    [source, []],
    [{ kind: "eventTime", column: 0, boundMs: 0 }, [0]],
    [sink, [1]],
  );
  let greatest = 0n;
  const fragment = fragmentOf(nodes, log, {}, (context) => ({
    push: (_, batch) => {
      greatest = BigInt(Math.max(Number(greatest), ...valuesOf(batch)));
      context.emit(batch);
    },
    mark: () => undefined,
    outputWatermark: () => greatest,
  }));
  fragment.input(0).push(batchOf(5, 9));
  assert.deepEqual(log, ["out 5 9"]);
  fragment.input(0).mark();
  assert.deepEqual(log, ["out 5 9", "out 9"]);
});

test("[SG5] late rows are counted, put aside with their lateness, or fail the query", () => {
  const nodes = nodesOf([source, []], [{ kind: "union" }, [0]], [sink, [1]], [sink, []]);
  const tooLate = (context: OperatorContext): Operator => ({
    push: (_, batch) => context.late.add(batch, Int32Array.of(1), Float64Array.of(30)),
  });
  const dropped = fragmentOf(nodes, [], {}, tooLate);
  dropped.input(0).push(batchOf(1, 2));
  assert.equal(dropped.counts(1).lateRows, 1);

  const log: string[] = [];
  const aside = fragmentOf(nodes, log, { late: "side", lateSink: 3 }, tooLate);
  aside.input(0).push(batchOf(1, 2));
  assert.deepEqual(log, ["out 2"]);

  const failing = fragmentOf(nodes, [], { late: "fail" }, tooLate);
  assert.throws(
    () => failing.input(0).push(batchOf(1, 2)),
    (thrown) => thrown instanceof DialectError && thrown.number === 3014,
  );
});

test("[SG6] the operator that passes the memory limit is named with its size", () => {
  const fragment = fragmentOf(twoSources, [], {}, (context) => ({
    push: (_, batch) => context.memory.set(400 * batch.rowCount),
  }));
  fragment.input(0).push(batchOf(1, 2));
  fragment.input(0).push(batchOf(1));
  assert.equal(fragment.counts(2).stateBytes, 400);
  assert.throws(
    () => fragment.input(0).push(batchOf(1, 2, 3)),
    /operator 2 \(union\) holds 0.0 MB/,
  );
});

test("[SG7] a fragment that is restored goes on with the time that was promised", () => {
  const first = fragmentOf(twoSources, []);
  first.input(0).watermark(100n);
  first.input(1).watermark(90n);
  const states = first.snapshot().map(({ sections, ...state }) => ({
    ...state,
    sections: sections.map((each) => ({ key: each.key, bytes: each.encode() })),
  }));
  const log: string[] = [];
  const second = fragmentOf(twoSources, log);
  second.restore(states);
  assert.deepEqual(log, ["union restored 1"]);
  second.input(0).watermark(70n);
  second.input(1).watermark(80n);
  assert.equal(log.length, 1);
  second.input(0).watermark(120n);
  second.input(1).watermark(120n);
  assert.deepEqual(log.slice(1), ["union at 110", "out 110"]);
});

test("[SG7] a fragment that is restored tells those behind its exchanges again what it promised", () => {
  const exchange: PlanOp = { kind: "exchange", keys: [] };
  const nodes = nodesOf([source, []], [exchange, [0]], [source, []], [exchange, [2]]);
  const first = fragmentOf(nodes, []);
  first.input(0).watermark(100n);
  first.input(2).end();
  const states = first.snapshot().map((state) => ({ ...state, sections: [] }));
  const log: string[] = [];
  const second = fragmentOf(nodes, log);
  second.restore(states);
  assert.deepEqual(log, ["out 100", "out end"]);
  second.input(0).watermark(100n);
  second.input(2).end();
  assert.equal(log.length, 2);
});

test("[SG8] a fragment counts the rows in and out of every operator", () => {
  const fragment = fragmentOf(twoSources, []);
  fragment.input(0).push({ ...batchOf(1, 2, 3), selection: Int32Array.of(0, 2) });
  fragment.input(1).push(batchOf());
  const { rowsIn, rowsOut } = fragment.counts(2);
  assert.deepEqual([rowsIn, rowsOut, fragment.counts(3).rowsIn], [2, 2, 2]);
});

test("[SG9] what holds a watermark back can be asked for", () => {
  const fragment = fragmentOf(twoSources, []);
  fragment.input(0).watermark(100n);
  fragment.input(1).watermark(120n);
  assert.equal(fragment.slowestInput(2), 0);
  fragment.input(0).watermark(200n);
  assert.equal(fragment.slowestInput(2), 1);
});
