import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "./clock.ts";
import { realClock } from "./node/real-clock.ts";
import { settleMicrotasks, VirtualClock } from "./testing/virtual-clock.ts";

test("a sleep ends after its time, and not before", async () => {
  const clock = new VirtualClock();
  let isAwake = false;
  const slept = sleep(clock, 100).then(() => {
    isAwake = true;
  });
  await clock.advance(99);
  assert(!isAwake);
  await clock.advance(1);
  await slept;
  assert(isAwake);
});

test("an abort ends a sleep at once, without an error, and leaves no timer", async () => {
  const clock = new VirtualClock();
  const aborter = new AbortController();
  const slept = sleep(clock, 100, aborter.signal);
  await settleMicrotasks();
  aborter.abort();
  await slept;
  assert.equal(clock.pendingCount, 0);
});

test("a signal that is aborted already means no sleep, and no timer", async () => {
  const clock = new VirtualClock();
  await sleep(clock, 100, AbortSignal.abort());
  assert.equal(clock.pendingCount, 0);
});

test("a sleep that ended has let go of its signal", async () => {
  const clock = new VirtualClock();
  const listeners = new Set<unknown>();
  const signal = {
    aborted: false,
    addEventListener: (_type: string, listener: unknown) => listeners.add(listener),
    removeEventListener: (_type: string, listener: unknown) => listeners.delete(listener),
  } as unknown as AbortSignal;
  const slept = sleep(clock, 100, signal);
  assert.equal(listeners.size, 1);
  await clock.advance(100);
  await slept;
  assert.equal(listeners.size, 0);
});

test("the real clock moves forward, fires after the delay, and cancels", async () => {
  const startMs = realClock.nowMs();
  const cancelled = realClock.after(1, () => assert.fail("it was cancelled"));
  cancelled.cancel();
  cancelled.cancel();
  await sleep(realClock, 15);
  assert(realClock.nowMs() - startMs >= 14);
  assert(realClock.wallMs() > 1_600_000_000_000);
});
