import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresOf, slowestWorker } from "./figures.ts";
import { SeriesBook } from "./series-book.ts";

const operations = [
  { name: "read", kind: "POINT_LOOKUP" },
  { name: "write", kind: "UPDATE" },
] as const;

test("[WS2] an operation belongs to the phase and step in which it began", () => {
  const book = new SeriesBook(operations, "WARMUP");
  const early = book.token;
  book.record(early, 0, 100, 90, undefined, 1);
  book.enter("MEASUREMENT", 1);
  book.record(early, 0, 200, 190, undefined, 1);
  book.record(book.token, 1, 300, 290, "timeout", 0);
  const found = book
    .snapshot()
    .map(({ operation, phase, step, ops }) => [operation, phase, step, ops]);
  assert.deepEqual(found, [
    ["read", "WARMUP", 0, 2],
    ["write", "MEASUREMENT", 1, 1],
  ]);
  assert.equal(book.responses().count, 2, "of successes, of all phases");
});

test("[WS1] a snapshot is cumulative, and one that was taken does not change", () => {
  const book = new SeriesBook(operations, "MEASUREMENT");
  book.record(book.token, 0, 100, 100, undefined, 1);
  const first = book.snapshot();
  book.record(book.token, 0, 100, 100, "deadlock", 2);
  assert.equal(first[0]?.ops, 1);
  assert.deepEqual(book.snapshot()[0]?.errors, { deadlock: 1 });
  assert.equal(book.snapshot()[0]?.ops, 2);
  assert.equal(book.snapshot()[0], book.snapshot()[0]);
});

test("[FG1] [FG2] [FG3] counts are sums, percentiles are of all, the slowest worker's stand beside", () => {
  const quick = new SeriesBook(operations, "MEASUREMENT");
  for (let nth = 1; nth <= 990; nth += 1) quick.record(quick.token, 0, 100, 90, undefined, 1);
  const slow = new SeriesBook(operations, "MEASUREMENT");
  for (let nth = 1; nth <= 10; nth += 1) slow.record(slow.token, 1, 9_000, 150, "timeout", 0);
  slow.giveUp({ token: slow.token, operation: 0, waitedUs: 200, count: 5 });
  const all = figuresOf([...quick.snapshot(), ...slow.snapshot()]);
  assert.deepEqual([all.ops, all.reads, all.writes, all.errors], [1000, 990, 10, 10]);
  assert.deepEqual(all.errorsByKind, { timeout: 10 });
  assert.equal(all.response.percentileUs(0.99), 100);
  assert.deepEqual(slowestWorker([quick.snapshot(), slow.snapshot(), []]), {
    p95_latency_ms: 0.2,
    p99_latency_ms: 0.2,
  });
});
