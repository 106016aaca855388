import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs } from "./backoff.ts";

const backoff = { minMs: 100, maxMs: 1_000 };

const cases = [
  { failures: 0, want: 0 },
  { failures: 1, want: 100 },
  { failures: 2, want: 200 },
  { failures: 4, want: 800 },
  { failures: 5, want: 1_000 },
  { failures: 10_000, want: 1_000 },
];
for (const { failures, want } of cases) {
  test(`[BO1] after ${failures} failures the pause is ${want} ms, less up to half`, () => {
    assert.equal(backoffMs(backoff, failures), want);
    assert.equal(backoffMs(backoff, failures, 0.5), want * 0.75);
    assert.equal(backoffMs(backoff, failures, 0), want / 2);
  });
}
