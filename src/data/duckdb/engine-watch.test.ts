/** The second line of defence alone: kills a process that the kernel let grow too large. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { canMeasureMemory } from "../../ground/kernel/node/process-memory.ts";
import { VirtualClock } from "../../ground/kernel/testing/virtual-clock.ts";
import type { MemoryLimits } from "./core/index.ts";
import type { Loss } from "./engine-child.ts";
import { EngineWatch } from "./engine-watch.ts";

const mebibyte = 1024 ** 2;
/** This process stands in for the engine's, and exceeds DuckDB's minimum share. */
const taken = Buffer.alloc(160 * mebibyte, 1);

function watch(limits: MemoryLimits) {
  const clock = new VirtualClock();
  const losses: Loss[] = [];
  const child = { pid: process.pid, idle: false, kill: (loss: Loss) => void losses.push(loss) };
  const watching = new EngineWatch(limits, clock, () => ({
    shared: losses.length === 0 ? child : undefined,
    alone: undefined,
  }));
  return { clock, losses, watching };
}

test("[QE4] an engine's process that takes the whole above its limit is ended within 50 ms", {
  skip: !canMeasureMemory,
}, async () => {
  const limits = { engineBytesMax: 64 * mebibyte, treeBytesMax: 96 * mebibyte };
  const { clock, losses, watching } = watch(limits);
  watching.start();
  assert.equal(losses.length, 0);
  await clock.advance(50);
  assert.equal(losses[0]?.kind, "memory");
  assert.match(losses[0]?.message ?? "", /it took \d{3,} MiB, of 64 MiB that it may/);
  await clock.advance(10_000);
  assert.equal(losses.length, 1);
  assert.equal(taken.length, 160 * mebibyte);
});

test("[QE4] one that stays within is looked at again and again, and left alone", {
  skip: !canMeasureMemory,
}, async () => {
  const limits = { engineBytesMax: 64 * mebibyte, treeBytesMax: 96 * mebibyte };
  const ample = { ...limits, treeBytesMax: 1024 ** 4 };
  let now = ample;
  const { clock, losses, watching } = watch({
    get engineBytesMax() {
      return now.engineBytesMax;
    },
    get treeBytesMax() {
      return now.treeBytesMax;
    },
  });
  watching.start();
  await clock.advance(2_000);
  assert.equal(losses.length, 0);
  now = limits;
  await clock.advance(50);
  assert.equal(losses.length, 1);
});
