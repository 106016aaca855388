import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  decideControllerShares,
  decideMemory,
  decideWorkerShares,
  type MemoryShares,
} from "./decide-shares.ts";

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

const sumOf = ({ baseBytes, columnBytes, engineKeptBytes, workBytes }: MemoryShares): number =>
  baseBytes + columnBytes + engineKeptBytes + workBytes;

test("[PR17] each pool of a worker has a thread for every core that the worker may count on", () => {
  const cases = [
    [{ cores: 8 }, { slots: 8, engineThreads: 8, computeThreads: 8, streamThreads: 8 }],
    [{ cores: 1 }, { slots: 1, engineThreads: 1, computeThreads: 1, streamThreads: 1 }],
    [
      { cores: 8, slots: 3, computeThreads: 4 }, // Two workers on the machine.
      { slots: 3, engineThreads: 8, computeThreads: 4, streamThreads: 4 },
    ],
  ] as const;
  for (const [given, want] of cases) {
    const { cpu } = decideWorkerShares({ ...given, limitBytes: gibibyte });
    assert.deepEqual(cpu, { cores: given.cores, ...want });
  }
});

test("[PR17] a coordinator reads results and evaluates, with few threads and no streams", () => {
  const { cpu, memory } = decideControllerShares({ cores: 64, limitBytes: gibibyte });
  assert.deepEqual(cpu, {
    cores: 64,
    slots: 4,
    engineThreads: 2,
    computeThreads: 2,
    streamThreads: 0,
  });
  assert.deepEqual([memory.columnBytes, memory.streamBytes], [0, 0]);
});

test("[PR18] the shares of memory add up to the limit, and every share is in it", () => {
  const limits = fc.record({
    limitMebibytes: fc.integer({ min: 1024, max: 1_000_000 }),
    columnMebibytes: fc.option(fc.integer({ min: 0, max: 256 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(limits, ({ limitMebibytes, columnMebibytes }) => {
      const limitBytes = limitMebibytes * mebibyte;
      const columnBytes = columnMebibytes === undefined ? undefined : columnMebibytes * mebibyte;
      const { memory } = decideWorkerShares({ cores: 4, limitBytes, columnBytes });
      assert.ok(limitBytes - sumOf(memory) >= 0 && limitBytes - sumOf(memory) < 2);
      assert.ok(memory.streamBytes <= limitBytes / 4);
      assert.ok(memory.streamBytes <= (memory.workBytes * 2) / 3);
      assert.equal(memory.engineBytes, limitBytes - memory.baseBytes - memory.columnBytes);
    }),
  );
});

const cases = [
  ["a small coordinator", 700, 0, 177],
  ["a coordinator of 1 GiB", 1024, 0, 307],
  ["a coordinator of 8 GiB", 8192, 0, 3174],
  ["a small worker", 700, 160, 113],
  ["a worker of 1 GiB", 1024, 160, 243],
  ["a limit that is too small for anything", 256, 160, 32],
] as const;
for (const [name, limit, columns, mebibytes] of cases) {
  test(`[PR18] work of ${name} has what the engine cannot keep, or an eighth`, () => {
    const { workBytes } = decideMemory(limit * mebibyte, columns * mebibyte);
    assert.equal(Math.floor(workBytes / mebibyte), mebibytes);
  });
}

test("[PR18] one of two workers on a machine of 24 GiB", () => {
  const { memory } = decideWorkerShares({ cores: 8, limitBytes: 6 * gibibyte });
  const inMebibytes = Object.fromEntries(
    Object.entries(memory).map(([name, bytes]) => [name, Math.floor(bytes / mebibyte)]),
  );
  assert.deepEqual(inMebibytes, {
    limitBytes: 6144,
    limitBytesMin: 544,
    baseBytes: 192,
    columnBytes: 160,
    engineBytes: 5792,
    engineKeptBytes: 3500,
    workBytes: 2291,
    streamBytes: 1527,
  });
});

test("[PR5] [QE4] what a limit leaves for the engine, and the least that it can be", () => {
  const { engineBytes, limitBytesMin } = decideMemory(1024 * mebibyte, 160 * mebibyte);
  assert.deepEqual([engineBytes, limitBytesMin], [672 * mebibyte, 544 * mebibyte]);
  assert.equal(decideMemory(300 * mebibyte, 75 * mebibyte).engineBytes, 192 * mebibyte);
});
