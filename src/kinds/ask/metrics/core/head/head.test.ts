import assert from "node:assert/strict";
import { test } from "node:test";
import { Labels } from "../../../promql/core/index.ts";
import { batchOf, everySeries } from "../../testing/sample-batches.ts";
import { Head, headLimitsDefault } from "./head.ts";

const hourMs = 3_600_000;
const nowMs = 100 * hourMs;
const everything = {
  matchers: everySeries,
  shard: 0,
  shardCount: 1,
  minMs: -Infinity,
  maxMs: Infinity,
};

/** Appends one sample for each name, as one append. */
function append(head: Head, seq: number, ts: number, names: readonly string[]): void {
  const rows = names.map((name) => [Labels.of({ __name__: name }), { ts, value: 1 }] as const);
  head.append(batchOf(rows), seq, nowMs, 0);
}

/**
 * Seals the head and drops the sealed generation, as when no reader holds its snapshots any more.
 */
function sealAndDrop(head: Head, seq: number): void {
  const { frozen } = head.freeze(seq);
  head.markPublished(frozen, seq);
  head.drop(frozen);
}

test("[MH19] a series that stays away is forgotten two hours later, however often the head is sealed", () => {
  const head = new Head(headLimitsDefault, 1);
  append(head, 1, nowMs - 4 * hourMs, ["steady", "away"]);
  sealAndDrop(head, 1);
  assert.equal(head.seriesCount, 2);
  for (const [index, ago] of [3, 2, 1].entries()) {
    append(head, 2 + index, nowMs - ago * hourMs, ["steady"]);
    sealAndDrop(head, 2 + index);
  }
  assert.equal(head.seriesCount, 1);
});

test("[MH19] a series of which everything was refused is not remembered", () => {
  const head = new Head(headLimitsDefault, 1);
  append(head, 1, nowMs, ["steady"]);
  append(head, 2, nowMs - 2 * hourMs, ["too old"]);
  append(head, 3, nowMs + hourMs, ["too new", "steady"]);
  assert.equal(head.seriesCount, 1);
});

test("[MH5] metadata as long as a book is not kept", () => {
  const head = new Head(headLimitsDefault, 1);
  const metadata = { metric: "up", type: "gauge", help: "x".repeat(10_000), unit: "" } as const;
  head.append({ ...batchOf([]), metadata: [metadata] }, 1, nowMs, 0);
  assert.deepEqual(head.metadata(undefined), []);
  head.append({ ...batchOf([]), metadata: [{ ...metadata, help: "Short." }] }, 2, nowMs, 0);
  assert.equal(head.metadata("up").length, 1);
});

test("[MH20] an hour that is sent backwards takes no longer than one in order", () => {
  const head = new Head(headLimitsDefault, 1);
  const count = 300_000;
  const labels = Labels.of({ __name__: "up" });
  const batch = {
    ...batchOf([[labels, { ts: nowMs, value: 0 }]]),
    count,
    seriesIndex: new Uint32Array(count),
    ts: Float64Array.from({ length: count }, (_, index) => nowMs - index * 10),
    values: Float64Array.from({ length: count }, (_, index) => index),
  };
  const timed = (given: typeof batch, into: Head): number => {
    const startedMs = performance.now();
    assert.equal(into.append(given, 1, nowMs, 0).outcome.appended, count);
    into.slice(everything, 1);
    return performance.now() - startedMs;
  };
  const inOrder = { ...batch, ts: batch.ts.toReversed() };
  const inOrderMs = timed(inOrder, new Head(headLimitsDefault, 1));
  const tookMs = timed(batch, head);
  const [series] = head.slice(everything, 1);
  assert.deepEqual(series?.samples.ts.toReversed(), batch.ts);
  assert.deepEqual(series?.samples.values.toReversed(), batch.values);
  // A quadratic implementation takes 15 s, 200 times as long as in order.
  assert.ok(tookMs < Math.max(5_000, 20 * inOrderMs), `${tookMs} ms; in order ${inOrderMs} ms`);
  assert.equal(head.append(batch, 2, nowMs, 0).outcome.duplicates, count);
});
