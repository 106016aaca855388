import assert from "node:assert/strict";
import { test } from "node:test";
import { repeat, sleep, waitAtMost, within } from "./clock.ts";
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

test("what is repeated is done after each period, until it is cancelled", async () => {
  const clock = new VirtualClock();
  const times: number[] = [];
  const timer = repeat(clock, 100, () => {
    times.push(clock.nowMs());
    if (times.length === 3) timer.cancel();
  });
  await clock.advance(1_000);
  assert.deepEqual(times, [100, 200, 300]);
  assert.equal(clock.pendingCount, 0);
});

test("what is done within a time has a signal that aborts with the time or with the caller's", async () => {
  const clock = new VirtualClock();
  const act = async (signal: AbortSignal) => {
    await sleep(clock, 100, signal);
    return signal.aborted ? "aborted" : "done";
  };
  const aborter = new AbortController();
  const outcomes = Promise.all([
    within(clock, 200, act),
    within(clock, 50, act),
    within(clock, 200, act, aborter.signal),
  ]);
  await clock.advance(60);
  aborter.abort();
  await clock.advance(40);
  assert.deepEqual(await outcomes, ["done", "aborted", "aborted"]);
  assert.equal(clock.pendingCount, 0);
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

test("a wait with an end returns what came in time, or what stands for late", async () => {
  const clock = new VirtualClock();
  assert.equal(await waitAtMost(clock, 100, Promise.resolve("done")), "done");
  await assert.rejects(waitAtMost(clock, 100, Promise.reject(new Error("broken"))), /broken/);
  assert.equal(clock.pendingCount, 0);
  const never = Promise.withResolvers<string>();
  const waited = waitAtMost(clock, 100, never.promise, "late");
  await clock.advance(100);
  assert.equal(await waited, "late");
  never.reject(new Error("nobody waits for this any more"));
  await settleMicrotasks();
});
