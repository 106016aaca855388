import assert from "node:assert/strict";
import { test } from "node:test";
import { placeQuery } from "../../catalog/core/placement/place-query.ts";
import { placed, planOf, topology } from "../../catalog/testing/placed-plans.ts";
import { figuresOf } from "../testing/figures.ts";
import type { FragmentStatistics } from "./commands.ts";
import { describeLive } from "./live-body.ts";
import { LiveFigures } from "./live-figures.ts";

const { plan, placement } = placed(
  placeQuery(planOf({ sources: ["w1", "w2"], sink: "w1", parallelism: 1 }), topology(["w1", "w2"])),
);
const rows = placement.map(({ fragment, workerId }) => ({
  ...{ fragment, worker_id: workerId, state: "RUNNING" as const },
}));
const now = Date.UTC(2030, 0);

/** Describes a query whose fragments sent these reports, the newest first. */
function describe(reports: Readonly<Record<string, readonly Partial<FragmentStatistics>[]>>) {
  const live = new LiveFigures();
  for (const { fragment, worker_id } of rows) {
    const told = reports[fragment] ?? [];
    for (const [at, figures] of told.entries()) {
      const fragments = [figuresOf({ ...figures, fragment })];
      const queries = [{ query: "7", epoch: 2, fragments }];
      const atMs = 1_000 * at;
      live.told(worker_id, { kind: "statistics", atMs, queries, peers: [] }, atMs);
    }
  }
  return describeLive({
    ...{ queryId: "7", epoch: 2, plan, fragments: rows, checkpoints: [], nowMs: 2_000 },
    wallMs: now,
    liveOf: (fragment) => live.of("7", 2, fragment, 2_000),
  });
}

const names = rows.map(({ fragment }) => fragment);
/** Two sources, the window that takes the rows of both, and the sink. */
const [first, second, window, last] = names as [string, string, string, string];
const to = { exchange: 0, to: window, bytes: 0 };
const source = { kind: "source", name: "s" } as const;

test("[SD60] the graph has every fragment with its operators, and every edge, before anything is told", () => {
  const body = describe({});
  assert.deepEqual(
    body.fragments.map(({ sources, sinks, worker_id, rows_in, told_at_ms }) => ({
      ...{ sources, sinks, worker_id, rows_in, told_at_ms },
    })),
    [
      { sources: ["s"], sinks: [], worker_id: "w1", rows_in: null, told_at_ms: null },
      { sources: ["s"], sinks: [], worker_id: "w2", rows_in: null, told_at_ms: null },
      { sources: [], sinks: [], worker_id: "w2", rows_in: null, told_at_ms: null },
      { sources: [], sinks: ["out"], worker_id: "w1", rows_in: null, told_at_ms: null },
    ],
  );
  assert.match(body.fragments[0]?.operators[0] ?? "", /^File source s \(CSV\) reading/);
  assert.deepEqual(
    body.edges.map((edge) => [edge.from, edge.to, edge.rows_per_second, edge.backlog_bytes]),
    [
      [first, window, null, null],
      [second, window, null, null],
      [window, last, null, null],
    ],
  );
  assert.equal(body.held_back_by, null);
});

test("[SD60] figures are of the newest report, rates of the last two", () => {
  const body = describe({
    [first]: [
      {
        rowsIn: 0,
        edges: [{ ...to, rows: 0, backlogBytes: 0, waitedMs: 0, watermarkMs: undefined }],
      },
      { rowsIn: 200, busyMs: 400 },
      {
        ...{ rowsIn: 500, busyMs: 900, waitedMs: 250, watermarkMs: now - 3_000, lateRows: 4 },
        edges: [{ ...to, rows: 60, backlogBytes: 77, waitedMs: 500, watermarkMs: now - 4_000 }],
      },
    ],
  });
  const [fragment] = body.fragments;
  assert.equal(fragment?.rows_in, 500);
  assert.equal(fragment.rows_out, 60);
  assert.equal(fragment.rows_in_per_second, 300);
  assert.equal(fragment.busy_ratio, 0.5);
  assert.equal(fragment.backpressure_ratio, 0.25);
  assert.equal(fragment.watermark_lag_ms, 3_000);
  assert.equal(fragment.late_rows, 4);
  assert.equal(fragment.told_at_ms, now);
  assert.deepEqual(body.edges[0], {
    ...{ from: first, to: window, rows_per_second: 60, backlog_bytes: 77, backpressure_ratio: 0.5 },
    ...{ watermark_ms: now - 4_000, watermark_lag_ms: 4_000 },
  });
});

test("[SD63] a time that is no clock's has no lag", () => {
  const body = describe({ [first]: [{ watermarkMs: 5_000 }] });
  const [{ watermark_ms, watermark_lag_ms } = {}] = body.fragments;
  assert.deepEqual([watermark_ms, watermark_lag_ms], [5_000, null]);
});

const at = (watermarkMs: number | undefined, more: Partial<FragmentStatistics> = {}) => [
  { watermarkMs, slowest: source, rowsIn: 10, ...more },
  { watermarkMs, slowest: source, rowsIn: 20, ...more },
];
const behind = (fragment: string) => [
  { watermarkMs: 10, slowest: { kind: "fragment" as const, fragment } },
];
/** The sink waits for the window, and that for the second source. */
const chain = { [window]: behind(second), [last]: behind(window) };

const heldBack = [
  {
    name: "the slower source, from the sink upwards",
    reports: { [first]: at(90), [second]: at(10), ...chain },
    want: { fragment: second, source: "s", watermark_ms: 10 },
    reason: /^the source s is behind the other inputs$/,
  },
  {
    name: "a source without any rows",
    reports: {
      [first]: at(90),
      [second]: at(undefined, { rowsIn: 0 }),
      ...chain,
    },
    want: { fragment: second, source: "s", watermark_ms: null },
    reason: /^the source s has given no rows yet$/,
  },
  {
    name: "a source that gives none any more",
    reports: { [first]: at(90), [second]: at(10, { rowsIn: 20 }), ...chain },
    want: { fragment: second, source: "s", watermark_ms: 10 },
    reason: /gives no rows at the moment$/,
  },
  {
    name: "a source that waits for room",
    reports: {
      [first]: at(90),
      [second]: [...at(10), { watermarkMs: 10, slowest: source, rowsIn: 20, waitedMs: 900 }],
      ...chain,
    },
    want: { fragment: second, source: "s", watermark_ms: 10 },
    reason: /is read slowly, because what follows it has no room$/,
  },
  {
    name: "a fragment of which nothing is heard",
    reports: { [first]: at(90), ...chain },
    want: { fragment: second, source: null, watermark_ms: null },
    reason: /^w2 has told nothing of s1\.0 of late$/,
  },
  {
    name: "a fragment whose sources make its time together",
    reports: {
      [first]: at(90),
      [second]: [{ watermarkMs: 10, slowest: undefined }],
      ...chain,
    },
    want: { fragment: second, source: null, watermark_ms: 10 },
    reason: /several sources/,
  },
];
for (const { name, reports, want, reason } of heldBack) {
  test(`[SD62] the watermark is held back by ${name}`, () => {
    const { held_back_by } = describe(reports);
    const { reason: said, ...found } = held_back_by ?? { reason: "" };
    assert.deepEqual(found, want);
    assert.match(said, reason);
  });
}

test("[SC93] a source whose rows do not move time on is named so, after three seconds", () => {
  const reasonAfter = (reports: number): string | undefined => {
    const told = Array.from({ length: reports }, (_, at) => ({
      ...{ rowsIn: 10 + at, watermarkMs: 10, slowest: source },
    }));
    return describe({ [first]: at(90), [second]: told, ...chain }).held_back_by?.reason;
  };
  assert.equal(reasonAfter(4), "the rows of the source s do not move time on");
  assert.equal(reasonAfter(3), "the source s is behind the other inputs");
});

test("[SD62] nothing is held back where all has ended", () => {
  assert.equal(describe({ [last]: [{ watermarkMs: undefined }] }).held_back_by, null);
  assert.equal(describe({}).held_back_by, null);
});
