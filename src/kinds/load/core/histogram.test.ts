import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Histogram, mergeHistograms } from "./histogram.ts";

const latency = fc.oneof(
  fc.nat({ max: 300 }),
  fc.nat({ max: 100_000 }),
  fc.double({ min: 0, max: 4_000_000_000, noNaN: true }).map(Math.round),
);
const latencies = fc.array(latency, { minLength: 1, maxLength: 200 });

function of(values: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

function sameFigures(left: Histogram, right: Histogram): void {
  assert.deepEqual([...left.buckets()], [...right.buckets()]);
  assert.deepEqual(
    [left.count, left.sumUs, left.minUs, left.maxUs],
    [right.count, right.sumUs, right.minUs, right.maxUs],
  );
}

test("[HI1] a percentile is within 0.4 % of the value of its rank", () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(latencies, share, (values, at) => {
      const sorted = [...values].sort((a, b) => a - b);
      const exact = sorted[Math.max(0, Math.ceil(at * sorted.length) - 1)] ?? 0;
      const found = of(values).percentileUs(at) ?? Number.NaN;
      assert.ok(Math.abs(found - exact) <= Math.max(0.5, exact * 0.004), `${found} for ${exact}`);
    }),
  );
});

test("[HI1] merged from 20 uneven workers it is within 0.4 % of the exact one", () => {
  const workers = Array.from({ length: 20 }, (_, worker) =>
    Array.from({ length: 50 * (worker + 1) ** 2 }, (_, nth) =>
      Math.round((1 + worker) * 100 * Math.exp(((nth * 7919) % 1000) / 200)),
    ),
  );
  const all = workers.flat().sort((a, b) => a - b);
  const merged = mergeHistograms(workers.map(of));
  for (const share of [0.5, 0.9, 0.95, 0.99, 0.999]) {
    const exact = all[Math.ceil(share * all.length) - 1] ?? 0;
    const found = merged.percentileUs(share) ?? 0;
    assert.ok(Math.abs(found / exact - 1) <= 0.004, `p${share * 100}: ${found} for ${exact}`);
  }
});

test("[HI2] merging is adding, and an earlier state can be taken away again", () => {
  fc.assert(
    fc.property(latencies, latencies, latencies, (a, b, c) => {
      const whole = of([...a, ...b, ...c]);
      sameFigures(mergeHistograms([of(c), mergeHistograms([of(b), of(a)])]), whole);
      const since = whole.since(of(a));
      assert.deepEqual([...since.buckets()], [...of([...b, ...c]).buckets()]);
      assert.equal(since.sumUs, of([...b, ...c]).sumUs);
    }),
  );
});

test("[HI3] what is too long counts as the longest, and the greatest stays exact", () => {
  const histogram = of([7, 5_000_000_000, -3]);
  assert.deepEqual([histogram.count, histogram.minUs, histogram.maxUs], [3, 0, 5_000_000_000]);
  assert.equal(histogram.sumUs, 5_000_000_007);
  assert.equal(histogram.countUpTo(7), 2);
  assert.equal(new Histogram().percentileUs(0.5), undefined);
});

test("[HI4] decoded it is what was encoded", () => {
  fc.assert(
    fc.property(fc.array(latency, { maxLength: 100 }), (values) => {
      const histogram = of(values);
      const decoded = Histogram.decode(histogram.encode());
      assert.ok(decoded !== undefined);
      sameFigures(decoded, histogram);
    }),
  );
});

test("[HI4] other text is refused, or is a histogram's", () => {
  for (const text of ["!", "AA==", "gICA", btoa("\u0005\u0002\u0007\u0001\u0001")]) {
    assert.equal(Histogram.decode(text), undefined, text);
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const decoded = Histogram.decode(btoa(String.fromCharCode(...bytes)));
      if (decoded !== undefined) assert.ok(Number.isFinite(decoded.count));
    }),
  );
});
