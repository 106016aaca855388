import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { Life } from "./life.ts";
import { Timeline } from "./timeline.ts";

test("timers of a frozen life have as much left as they had, and its clock goes on where it was", () => {
  const timeline = new Timeline(createPrng(1));
  const life = new Life("a", 1, timeline, createPrng(2), () => undefined);
  const fired: [string, number][] = [];
  const beganMs = life.nowMs();
  for (const [name, delayMs] of [
    ["before", 500],
    ["during", 2_000],
    ["after", 20_000],
  ] as const) {
    life.after(delayMs, () => fired.push([name, Math.round((life.nowMs() - beganMs) / 100)]));
  }
  timeline.at(1_000, () => life.freeze());
  timeline.at(11_000, () => life.resume());
  while (timeline.step(40_000));
  assert.deepEqual(fired, [
    ["before", 5],
    ["during", 20],
    ["after", 200],
  ]);
});
