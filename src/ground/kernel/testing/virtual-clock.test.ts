import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../clock.ts";
import { AssertionError } from "../errors.ts";
import { createPrng } from "../prng.ts";
import { VirtualClock } from "./virtual-clock.ts";

test("timers fire in the order of due time, then of creation, each at its own time", async () => {
  const clock = new VirtualClock();
  const fired: string[] = [];
  const note = (name: string) => () => fired.push(`${name}@${clock.nowMs()}`);
  clock.after(20, note("c"));
  clock.after(10, note("a"));
  clock.after(10, note("b"));
  clock.after(-5, note("now"));
  assert.deepEqual(fired, []);
  await clock.advance(15);
  assert.deepEqual(fired, ["now@0", "a@10", "b@10"]);
  assert.equal(clock.nowMs(), 15);
  await clock.runAll();
  assert.deepEqual(fired, ["now@0", "a@10", "b@10", "c@20"]);
  assert.equal(clock.pendingCount, 0);
});

test("a thousand timers come out sorted, whatever the order they went in", async () => {
  const prng = createPrng("timers");
  const clock = new VirtualClock();
  const fired: number[] = [];
  for (let index = 0; index < 1_000; index += 1) {
    const delayMs = prng.below(100);
    const timer = clock.after(delayMs, () => fired.push(delayMs));
    if (prng.below(4) === 0) timer.cancel();
  }
  const pendingCount = clock.pendingCount;
  await clock.runAll();
  assert.equal(fired.length, pendingCount);
  assert.deepEqual(
    fired,
    fired.toSorted((a, b) => a - b),
  );
});

test("a cancelled timer never fires; cancelling twice, or after it fired, does nothing", async () => {
  const clock = new VirtualClock();
  let fires = 0;
  const first = clock.after(5, () => {
    fires += 1;
  });
  const second = clock.after(5, () => {
    fires += 1;
  });
  second.cancel();
  second.cancel();
  assert.equal(clock.pendingCount, 1);
  await clock.advance(10);
  first.cancel();
  assert.equal(fires, 1);
  assert.equal(clock.pendingCount, 0);
});

test("promises that a timer set in motion are settled before the next timer", async () => {
  const clock = new VirtualClock();
  const log: string[] = [];
  const walk = async (name: string): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) {
      await Promise.resolve();
      log.push(`${name}${turn}`);
    }
  };
  clock.after(1, () => void walk("a"));
  clock.after(1, () => void walk("b"));
  await clock.advance(1);
  assert.deepEqual(log, ["a0", "a1", "a2", "b0", "b1", "b2"]);
});

test("timers that timers set are part of the same advance, where they are due in it", async () => {
  const clock = new VirtualClock();
  const wakings: number[] = [];
  const sleeper = async (): Promise<void> => {
    for (;;) {
      await sleep(clock, 10);
      wakings.push(clock.nowMs());
    }
  };
  void sleeper();
  await clock.advance(35);
  assert.deepEqual(wakings, [10, 20, 30]);
  await assert.rejects(clock.runAll(100), AssertionError);
});

test("wall time moves with virtual time", async () => {
  const clock = new VirtualClock({ startMs: 5, wallStartMs: 1_000 });
  await clock.advance(10);
  assert.equal(clock.nowMs(), 15);
  assert.equal(clock.wallMs(), 1_015);
});
