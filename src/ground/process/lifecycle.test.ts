import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogFields, silentLogger } from "../kernel/logger.ts";
import { realClock } from "../kernel/node/real-clock.ts";
import { runStopSteps } from "./lifecycle.ts";
import { decideMemoryBytes, parseBytes } from "./memory-share.ts";

test("[PR4] every step runs, in order, whatever the ones before it did", async () => {
  const ran: string[] = [];
  const warned: LogFields[] = [];
  const logger = { ...silentLogger, warn: (fields: LogFields) => void warned.push(fields) };
  const step = (name: string, run: () => Promise<void>) => ({
    name,
    timeoutMs: 50,
    run: () => {
      ran.push(name);
      return run();
    },
  });
  await runStopSteps(
    [
      step("good", async () => undefined),
      step("fails", async () => {
        throw new Error("broken");
      }),
      step("hangs", () => new Promise(() => undefined)),
      step("last", async () => undefined),
    ],
    realClock,
    logger,
  );
  assert.deepEqual(ran, ["good", "fails", "hangs", "last"]);
  assert.deepEqual(
    warned.map(({ step: name, outcome }) => [name, outcome]),
    [
      ["fails", "broken"],
      ["hangs", "timed out"],
    ],
  );
});

test("[PR5] memory is shared fairly, and nobody gets too little to work", () => {
  const gib = 1024 ** 3;
  assert.equal(decideMemoryBytes("worker", { totalBytes: 16 * gib, workers: 2 }), 4 * gib);
  assert.equal(decideMemoryBytes("worker", { totalBytes: gib, workers: 8 }), gib / 4);
  assert.ok(decideMemoryBytes("coordinator", { totalBytes: 16 * gib, workers: 2 }) < 2 * gib);
});

test("[PR5] sizes are read as people write them", () => {
  const cases = [
    ["512MB", 512 * 1024 ** 2],
    ["4g", 4 * 1024 ** 3],
    ["1.5 GiB", 1.5 * 1024 ** 3],
    ["1048576", 1048576],
    ["x", undefined],
    ["-1", undefined],
    ["1 PB", undefined],
  ] as const;
  for (const [text, bytes] of cases) assert.equal(parseBytes(text), bytes, text);
});
