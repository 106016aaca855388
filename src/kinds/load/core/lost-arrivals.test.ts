import assert from "node:assert/strict";
import { test } from "node:test";
import { lostArrivals } from "./lost-arrivals.ts";

const [look, put] = [{ weight: 75 }, { weight: 25 }];
const told = (atMs: number, qps: number, rampMs = 0) => ({ atMs, qps, rampMs });

for (const [name, rates, fromMs, toMs, wanted] of [
  ["a constant rate", [told(0, 50)], 5_000, 8_000, 150],
  ["the integral of a ramp", [told(0, 0), told(2_000, 100, 10_000)], 4_000, 7_000, 105],
  ["a change in between", [told(0, 50), told(6_000, 100)], 5_000, 8_000, 250],
  ["nothing, when the others had its share at once", [told(0, 50)], 8_000, 8_000, 0],
  ["nothing, when it was told nothing", [], 5_000, 8_000, 0],
] as const) {
  test(`[FI6] what was due on a lost worker: ${name}`, () => {
    const lost = lostArrivals({ rates, fromMs, toMs, endMs: 14_000 }, [look, put]);
    const [ofLook, ofPut] = [lost.get(look)?.count ?? 0, lost.get(put)?.count ?? 0];
    assert.ok(Math.abs(ofLook + ofPut - wanted) <= 1, `${ofLook + ofPut} for ${wanted}`);
    assert.ok(Math.abs(ofLook - wanted * 0.75) <= 1, `${ofLook} by weight`);
    if (wanted > 0) assert.ok((lost.get(look)?.minUs ?? 0) >= (14_000 - toMs) * 1000);
  });
}
