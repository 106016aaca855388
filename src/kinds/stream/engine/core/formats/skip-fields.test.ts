import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../../../ground/kernel/prng.ts";
import { fieldSkipper } from "./skip-fields.ts";

const [comma, lineFeed, quote] = [44, 10, 34];

test("[SX154] the vectors find what a loop over the bytes finds", () => {
  const skipper = fieldSkipper();
  assert.ok(skipper !== undefined, "this processor has vectors of 16 bytes");
  const outcomes = { found: 0, stopped: 0 };
  for (let seed = 0; seed < 2_000; seed += 1) {
    const prng = createPrng(`skip ${seed}`);
    const rarity = 1 + prng.below(60);
    const special = [comma, lineFeed, quote];
    const bytes = Uint8Array.from({ length: 1 + prng.below(300) }, () =>
      prng.below(rarity) === 0 ? (special[prng.below(3)] as number) : prng.below(256),
    );
    const start = prng.below(bytes.length);
    const whole = Uint8Array.of(...bytes, comma, comma, comma, lineFeed, comma);
    assert.ok(skipper.load(whole, start, whole.length));
    const from = prng.below(whole.length - start - 5);
    const count = 1 + prng.below(4);
    const [wanted, stop] = prng.below(2) === 0 ? [comma, lineFeed] : [lineFeed, comma];
    const expected = plainSkip(whole.subarray(start), from, { count, wanted, stop });
    assert.equal(skipper.skip(from, count, wanted, stop), expected);
    outcomes[expected < 0 ? "stopped" : "found"] += 1;
  }
  assert.ok(Math.min(outcomes.found, outcomes.stopped) > 200, JSON.stringify(outcomes));
});

test("[SX154] what is longer than the memory of the vectors is not loaded", () => {
  assert.equal(fieldSkipper()?.load(new Uint8Array(1_000_000), 0, 1_000_000), false);
});

interface Search {
  readonly count: number;
  readonly wanted: number;
  readonly stop: number;
}

function plainSkip(bytes: Uint8Array, from: number, { count, wanted, stop }: Search): number {
  let left = count;
  for (let at = from; ; at += 1) {
    if (bytes[at] === wanted) left -= 1;
    if (left === 0) return at;
    if (bytes[at] === stop || bytes[at] === quote) return -1;
  }
}
