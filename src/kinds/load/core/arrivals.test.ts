import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { type ArrivalOptions, Arrivals } from "./arrivals.ts";

function uniform(changes: Partial<ArrivalOptions> = {}): Arrivals {
  return new Arrivals({ pattern: "uniform", prng: createPrng(1), startMs: 0, ...changes });
}

function takeUntil(arrivals: Arrivals, untilMs: number): number[] {
  const taken: number[] = [];
  for (;;) {
    const dueMs = arrivals.peek();
    if (dueMs === undefined || dueMs > untilMs) return taken;
    taken.push(dueMs);
    arrivals.take();
  }
}

test("[AR1] a constant rate has even gaps, and three workers by turns are one", () => {
  const alone = uniform();
  alone.setRate(0, 300, 0);
  const all = takeUntil(alone, 1_000.001);
  assert.equal(all.length, 300);
  const shares = [0, 1, 2].flatMap((index) => {
    const share = uniform({ turn: { index, count: 3 } });
    share.setRate(0, 100, 0);
    return takeUntil(share, 1_000.001);
  });
  const together = shares.sort((a, b) => a - b);
  together.forEach((dueMs, nth) => {
    assert.ok(Math.abs(dueMs - (all[nth] ?? 0)) < 1e-6);
  });
});

test("[AR2] Poisson arrivals have the rate's mean and spread, and the seed's repetition", () => {
  const draw = (seed: number): number[] => {
    const arrivals = new Arrivals({ pattern: "poisson", prng: createPrng(seed), startMs: 0 });
    arrivals.setRate(0, 1_000, 0);
    return takeUntil(arrivals, 20_000);
  };
  const taken = draw(3);
  assert.deepEqual(draw(3), taken);
  assert.ok(Math.abs(taken.length - 20_000) < 600, `${taken.length} of about 20000`);
  const gaps = taken.slice(1).map((dueMs, nth) => dueMs - (taken[nth] ?? 0));
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
  assert.ok(Math.abs(Math.sqrt(variance) / mean - 1) < 0.05, "as wide as its mean");
});

test("[AR3] a ramp has as many arrivals as its integral, and whatever the changes none is lost", () => {
  const ramp = uniform();
  ramp.setRate(0, 200, 10_000);
  assert.ok(Math.abs(takeUntil(ramp, 10_000).length - 1_000) <= 1);
  const change = fc.record({
    afterMs: fc.integer({ min: 0, max: 2_000 }),
    rate: fc.constantFrom(0, 1, 10, 333),
    rampMs: fc.constantFrom(0, 100, 5_000),
    takesBefore: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
      const arrivals = uniform();
      let nowMs = 0;
      let integral = 0;
      let count = 0;
      for (const { afterMs, rate, rampMs, takesBefore } of changes) {
        const stepMs = 0.5;
        for (let at = 0; at < afterMs; at += stepMs) {
          integral += (arrivals.rateAt(nowMs + at + stepMs / 2) * stepMs) / 1000;
        }
        nowMs += afterMs;
        // Several changes at once, with nothing taken between, keep the last only.
        if (takesBefore || afterMs > 0) count += takeUntil(arrivals, nowMs).length;
        arrivals.setRate(nowMs, rate, rampMs);
      }
      assert.ok(Math.abs(count - integral) <= 1.01, `${count} for ${integral}`);
    }),
  );
});

test("[AR3] a change that comes while arrivals are overdue waits for them", () => {
  const arrivals = uniform();
  arrivals.setRate(0, 10, 0);
  arrivals.setRate(1_000, 1, 0);
  assert.deepEqual(
    takeUntil(arrivals, 3_000).map(Math.round),
    [100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000, 2_000, 3_000],
  );
  arrivals.setRate(3_000, 0, 0);
  assert.equal(arrivals.peek(), undefined);
});

test("[AR3] changes that lie ahead are the integral of the rates, however late somebody looks", () => {
  const arrivals = uniform();
  arrivals.setRate(0, 100, 0);
  // Up by a line, down by a line, and a step, all known beforehand; each told twice.
  const plan = [
    [10_000, 300, 10_000],
    [20_000, 0, 4_000],
    [24_000, 50, 0],
  ] as const;
  for (const [fromMs, rate, rampMs] of [...plan, ...plan]) arrivals.setRate(fromMs, rate, rampMs);
  const taken = takeUntil(arrivals, 30_000); // In one look.
  const between = (from: number, to: number): number =>
    taken.filter((ms) => ms > from && ms <= to).length;
  const near = (count: number, integral: number): void =>
    assert.ok(Math.abs(count - integral) <= 1, `${count} for ${integral}`);
  near(between(0, 10_000), 1_000);
  near(between(10_000, 20_000), 2_000);
  near(between(20_000, 24_000), 600);
  near(between(24_000, 30_000), 300);
  near(taken.length, 3_900);
  // One that is told late ends when it should have.
  const late = uniform();
  late.setRate(0, 100, 0);
  takeUntil(late, 4_000);
  late.setRate(2_000, 300, 4_000);
  assert.equal(Math.round(late.rateAt(6_000)), 300);
  assert.equal(Math.round(late.rateAt(5_000)), 200);
});
