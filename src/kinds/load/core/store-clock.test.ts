import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { StoreClock } from "./store-clock.ts";

test("[LW3] the store's clock is known to within half of the quickest answer, and followed as it drifts", () => {
  const prng = createPrng("clock");
  const offsetAt = (ms: number): number => 1_700_000_000_000 + ms * 1e-5;
  const ask = (sentMs: number) => {
    const [there, back] = [1 + prng.next() * 50, 1 + prng.next() * 50];
    return [sentMs, sentMs + there + back, sentMs + there + offsetAt(sentMs)] as const;
  };
  let clock = StoreClock.of(...ask(0));
  for (let ms = 5_000; ms < 3_600_000; ms += 5_000) {
    clock = clock.heard(...ask(ms));
    if (ms < 600_000) continue;
    const off = Math.abs(clock.offsetMs - offsetAt(ms));
    assert.ok(off < 26, `${off} ms off`);
    assert.ok(Math.abs(clock.toLocalMs(offsetAt(ms) + ms) - ms) === off);
  }
});

test("[LW3] the quickest answer counts, whatever came before and after it, until it is old", () => {
  let clock = StoreClock.of(0, 400, 1_000); // 200 ms each way, if both are alike: 800 ms ahead.
  assert.deepEqual([clock.offsetMs, clock.errorMs], [800, 200]);
  clock = clock.heard(1_000, 1_002, 2_001);
  assert.deepEqual([clock.offsetMs, clock.errorMs], [1_000, 1]);
  clock = clock.heard(2_000, 2_400, 3_050);
  assert.deepEqual([clock.offsetMs, clock.errorMs], [1_000, 1]);
  clock = clock.heard(10_000_000, 10_000_400, 10_001_300);
  assert.deepEqual([clock.offsetMs, clock.errorMs], [1_100, 200]);
});
