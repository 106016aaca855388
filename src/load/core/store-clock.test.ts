import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../kernel/prng.ts";
import { StoreClock } from "./store-clock.ts";

test("[LW3] the store's clock is known to within half of the quickest answer, and followed as it drifts", () => {
  const prng = createPrng("clock");
  const offsetAt = (ms: number): number => 1_700_000_000_000 + ms * 1e-5;
  const ask = (sentMs: number) => {
    const [there, back] = [1 + prng.next() * 50, 1 + prng.next() * 50];
    return [sentMs, sentMs + there + back, sentMs + there + offsetAt(sentMs)] as const;
  };
  const clock = new StoreClock(...ask(0));
  for (let ms = 5_000; ms < 3_600_000; ms += 5_000) {
    clock.note(...ask(ms));
    if (ms < 600_000) continue;
    const off = Math.abs(clock.offsetMs - offsetAt(ms));
    assert.ok(off < 26, `${off} ms off`);
    assert.ok(Math.abs(clock.toLocalMs(offsetAt(ms) + ms) - ms) === off);
  }
});
