import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { drive } from "./drive.ts";
import { Timeline } from "./timeline.ts";

test("events fire in order of time, and cancelled ones never", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(50), fc.boolean())), fc.string(), (entries, seed) => {
      const timeline = new Timeline(createPrng(seed));
      const fired: number[] = [];
      for (const [delayMs, cancelled] of entries) {
        const event = timeline.after(delayMs, () => fired.push(timeline.nowMs));
        if (cancelled) event.fire = undefined;
      }
      while (timeline.step(1_000));
      const kept = entries.filter(([, cancelled]) => !cancelled).map(([delayMs]) => delayMs);
      assert.deepEqual(
        fired,
        kept.toSorted((a, b) => a - b),
      );
      assert.equal(timeline.nowMs, 1_000);
    }),
  );
});

test("the order within one moment is the seed's", () => {
  const orderOf = (seed: number): string => {
    const timeline = new Timeline(createPrng(seed));
    let order = "";
    for (const name of "abcdefgh") {
      timeline.at(5, () => {
        order += name;
      });
    }
    while (timeline.step(10));
    return order;
  };
  assert.equal(orderOf(1), orderOf(1));
  assert.notEqual(orderOf(1), orderOf(2));
});

test("microtasks are drained between two steps, however deep", async () => {
  const log: string[] = [];
  const deep = async (): Promise<void> => {
    for (let index = 0; index < 1_000; index += 1) await undefined;
    log.push("deep");
  };
  let steps = 0;
  let pending: Promise<void> | undefined;
  await drive(() => {
    steps += 1;
    log.push(`step ${steps}`);
    if (steps === 1) pending = deep();
    return steps < 2;
  });
  await pending;
  assert.deepEqual(log, ["step 1", "deep", "step 2"]);
});
