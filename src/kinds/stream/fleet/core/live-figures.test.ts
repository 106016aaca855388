import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresOf } from "../testing/figures.ts";
import type { FragmentStatistics } from "./commands.ts";
import { LiveFigures } from "./live-figures.ts";

const edge = { exchange: 3, to: "s1.0", backlogBytes: 0, watermarkMs: undefined };
const told = (fragments: readonly FragmentStatistics[], atMs?: number, epoch = 1) => ({
  kind: "statistics" as const,
  ...{ atMs, queries: [{ query: "q", epoch, fragments }], peers: [] },
});

test("[SD61] rates are between the two newest reports, by the worker's clock", () => {
  const live = new LiveFigures();
  const first = figuresOf({
    ...{ rowsIn: 100, rowsReceived: 50, bytesIn: 1_000, rowsOut: 10, bytesOut: 500 },
    ...{ busyMs: 100, waitedMs: 0, edges: [{ ...edge, rows: 20, bytes: 200, waitedMs: 0 }] },
  });
  live.told("w1", told([first], 5_000), 90_000);
  assert.equal(live.of("q", 1, "f0", 90_000)?.rates, undefined);
  const second = figuresOf({
    ...{ rowsIn: 300, rowsReceived: 150, bytesIn: 3_000, rowsOut: 30, bytesOut: 1_500 },
    ...{
      busyMs: 600,
      waitedMs: 2_500,
      edges: [{ ...edge, rows: 40, bytes: 400, waitedMs: 1_000 }],
    },
  });
  live.told("w1", told([second], 7_000), 91_000);
  const found = live.of("q", 1, "f0", 91_500);
  assert.deepEqual([found?.workerId, found?.heardMs, found?.figures], ["w1", 91_000, second]);
  assert.deepEqual(found?.rates, {
    rowsIn: 150,
    rowsOut: 20,
    bytesIn: 1_000,
    bytesOut: 500,
    busyRatio: 0.25,
    backpressureRatio: 1, // Measured times may pass the interval a little.
    edges: [{ exchange: 3, to: "s1.0", rows: 10, backpressureRatio: 0.5 }],
  });
});

test("[SD61] an older worker tells neither its clock nor shares of time", () => {
  const live = new LiveFigures();
  const old = { busyMs: undefined, waitedMs: undefined };
  live.told("w1", told([figuresOf({ ...old, rowsIn: 0 })]), 1_000);
  live.told("w1", told([figuresOf({ ...old, rowsIn: 10 })]), 3_000);
  const { rates } = live.of("q", 1, "f0", 3_000) ?? {};
  assert.deepEqual(
    [rates?.rowsIn, rates?.busyRatio, rates?.backpressureRatio],
    [5, undefined, undefined],
  );
});

test("[SD60] figures of an older epoch, of 5 s ago, or of another query are none", () => {
  const live = new LiveFigures();
  live.told("w1", told([figuresOf({ rowsIn: 7 })], 0, 2), 1_000);
  live.told("w2", told([figuresOf({ rowsIn: 1 })], 9, 1), 1_500);
  assert.equal(live.of("q", 2, "f0", 6_000)?.figures.rowsIn, 7);
  assert.equal(live.of("q", 1, "f0", 1_500), undefined);
  assert.equal(live.of("q", 2, "f0", 6_001), undefined);
  assert.equal(live.of("p", 2, "f0", 1_000), undefined);
});

test("[SD61] a worker that restarted, and another one, begin anew", () => {
  const live = new LiveFigures();
  live.told("w1", told([figuresOf({ rowsIn: 100 })], 50_000), 1_000);
  live.told("w1", told([figuresOf({ rowsIn: 5 })], 2_000), 2_000);
  assert.equal(live.of("q", 1, "f0", 2_000)?.rates, undefined);
  live.told("w2", told([figuresOf({ rowsIn: 50 })], 3_000), 3_000);
  assert.equal(live.of("q", 1, "f0", 3_000)?.rates, undefined);
});

test("[SD60] what nobody tells any more is forgotten", () => {
  const live = new LiveFigures();
  for (let query = 0; query < 100; query += 1) {
    const queries = [{ query: `q${query}`, epoch: 1, fragments: [figuresOf({})] }];
    live.told("w1", { kind: "statistics", atMs: 0, queries, peers: [] }, query);
  }
  assert.equal(live.queryCount, 100);
  live.told("w1", told([figuresOf({})], 0), 200_000);
  assert.equal(live.queryCount, 1);
});
