import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "../../../../ground/observe/index.ts";
import type { FragmentRow, QueryRow } from "../../catalog/core/index.ts";
import { createStreamMetrics } from "../stream-metrics.ts";
import { figuresOf } from "../testing/figures.ts";
import { fragmentRow, queryRow } from "../testing/views.ts";
import { LiveFigures } from "./live-figures.ts";
import {
  fragmentsListedMax,
  gaugesOf,
  queriesListedMax,
  type StreamGauges,
  type WatchedRows,
} from "./stream-gauges.ts";

const wallMs = 1_800_000_000_000;
const nowMs = 100_000;

function rowsOf(
  queries: readonly QueryRow[],
  fragments: readonly FragmentRow[] = [],
  more: Partial<WatchedRows> = {},
): WatchedRows {
  const none = { checkpoints: new Map(), intervals: new Map(), slots: 0, slotsUsed: 0 };
  return { ...none, nowMs, queries, fragments, ...more };
}

const running = queryRow({ query_id: "7", name: "hot", state: "RUNNING", epoch: 3 });
const fragments = [
  fragmentRow("f0@w1", "RUNNING", { query_id: "7", epoch: 3 }),
  fragmentRow("f1@w2", "PENDING", { query_id: "7", epoch: 3 }),
];

function told(): LiveFigures {
  const figures = new LiveFigures();
  const edge = { exchange: 0, to: "f1", rows: 0, bytes: 0, waitedMs: 0, watermarkMs: undefined };
  for (const at of [0, 1]) {
    const one = figuresOf({
      ...{ rowsIn: 100 * at, rowsReceived: 5, rowsOut: 40, bytesIn: 900, bytesOut: 80 },
      ...{ lateRows: 2, malformed: 1, stateBytes: 4_096, watermarkMs: wallMs - 12_500 },
      ...{ busyMs: 250 * at, waitedMs: 500 * at, edges: [{ ...edge, backlogBytes: 64 }] },
    });
    const queries = [{ query: "7", epoch: 3, fragments: [one] }];
    figures.told("w1", { kind: "statistics", atMs: 1_000 * at, queries, peers: [] }, 1_000 * at);
  }
  return figures;
}

function gauges(rows: WatchedRows): StreamGauges {
  const figures = told();
  return gaugesOf(rows, (...names) => figures.of(...names, 1_000), wallMs);
}

test("[SD65] every metric of a query and its fragments is there by name, and goes with the query", async () => {
  const metrics = new Metrics({ process: "coordinator", version: "0" });
  let current: StreamGauges | undefined = gauges(
    rowsOf([running], fragments, {
      checkpoints: new Map([["7", { durationMs: 1_500, sizeBytes: 77, completedAtMs: 95_000 }]]),
      intervals: new Map([["7", 10_000]]),
      ...{ slots: 2_000, slotsUsed: 2 },
    }),
  );
  createStreamMetrics(metrics, () => current);
  const lines = (await metrics.text()).split("\n").filter((line) => /^capstan_stream/.test(line));
  const f0 = 'query="hot",fragment="f0",worker="w1",process="coordinator"';
  const hot = 'query="hot",process="coordinator"';
  for (const line of [
    'capstan_stream_queries{state="RUNNING",process="coordinator"} 1',
    'capstan_stream_queries_unlisted{process="coordinator"} 0',
    'capstan_stream_slots{process="coordinator"} 2000',
    'capstan_stream_slots_used{process="coordinator"} 2',
    'capstan_stream_query_state_seconds{query="hot",state="RUNNING",process="coordinator"} 99.999',
    `capstan_stream_query_restarts{${hot}} 2`,
    `capstan_stream_checkpoint_duration_seconds{${hot}} 1.5`,
    `capstan_stream_checkpoint_size_bytes{${hot}} 77`,
    `capstan_stream_checkpoint_age_seconds{${hot}} 5`,
    `capstan_stream_checkpoint_interval_seconds{${hot}} 10`,
    `capstan_stream_rows_in_total{${f0}} 105`,
    `capstan_stream_rows_out_total{${f0}} 40`,
    `capstan_stream_bytes_in_total{${f0}} 900`,
    `capstan_stream_bytes_out_total{${f0}} 80`,
    `capstan_stream_late_rows_total{${f0}} 2`,
    `capstan_stream_malformed_rows_total{${f0}} 1`,
    `capstan_stream_state_bytes{${f0}} 4096`,
    `capstan_stream_backlog_bytes{${f0}} 64`,
    `capstan_stream_watermark_lag_seconds{${f0}} 12.5`,
    `capstan_stream_backpressure_ratio{${f0}} 0.5`,
    `capstan_stream_busy_ratio{${f0}} 0.25`,
  ]) {
    assert.ok(lines.includes(line), `${line} is not among\n${lines.join("\n")}`);
  }
  current = gauges(rowsOf([]));
  assert.doesNotMatch(await metrics.text(), /^capstan_stream_\w+\{.*hot/m);
  current = undefined; // Another process leads.
  assert.match(await metrics.text(), /^capstan_stream_slots\{process="coordinator"\} Nan$/m);
});

test("[SD65] a failed query says whether its deployment took too long", () => {
  const failed = (state_reason: string) =>
    gauges(rowsOf([queryRow({ state: "FAILED", state_reason })])).queries[0]?.failure;
  assert.equal(failed("not deployed within 10 min (epoch 1): f0 on w1"), "deploy_timeout");
  assert.equal(failed("the file a.csv cannot be read"), "error");
  assert.equal(gauges(rowsOf([running])).queries[0]?.failure, undefined);
});

test("[SD65] a query that is to run and has no checkpoint is as old as its first one would be", () => {
  const ageOf = (row: Partial<QueryRow>) =>
    gauges(rowsOf([queryRow({ created_at_ms: 40_000, ...row })])).queries[0]?.checkpointAgeSeconds;
  assert.equal(ageOf({ state: "RUNNING" }), 60);
  assert.equal(ageOf({ state: "PAUSED" }), undefined);
});

test("[SD66] the listed queries and fragments are bounded, and those that do not run come first", () => {
  const queries = Array.from({ length: 150 }, (_, at) =>
    queryRow({ query_id: `${at + 1}`, name: `q${at + 1}`, state: at < 148 ? "RUNNING" : "FAILED" }),
  );
  const found = gauges(rowsOf(queries));
  assert.equal(found.queries.length, queriesListedMax);
  assert.deepEqual(
    found.queries.slice(0, 3).map(({ query }) => query),
    ["q149", "q150", "q1"],
  );
  assert.equal(found.unlistedQueries, 50);
  assert.deepEqual(found.queryCounts, { RUNNING: 148, FAILED: 2 });
  const many = Array.from({ length: 1_100 }, () => fragments[0] as FragmentRow);
  assert.equal(gauges(rowsOf([running], many)).fragments.length, fragmentsListedMax);
});

test("[SD66] a query that another one replaced is not listed beside it", () => {
  const old = queryRow({ query_id: "1", name: "hot", superseded_by: "7", state: "STOPPING" });
  const found = gauges(rowsOf([old, running]));
  assert.deepEqual(
    found.queries.map(({ query, state }) => [query, state]),
    [["hot", "RUNNING"]],
  );
});

test("[SD68] the load counts fragments that are to run, and takes the worst figures", () => {
  const { load } = gauges(rowsOf([running], fragments, { slots: 9, slotsUsed: 2 }));
  assert.deepEqual(load, {
    ...{ fragments: 2, waitingFragments: 1, slots: 9, slotsUsed: 2 },
    ...{ watermarkLagSeconds: 12.5, backlogBytes: 64, busyRatio: 0.25, backpressureRatio: 0.5 },
  });
  const paused = { ...running, state: "PAUSED" as const };
  assert.equal(gauges(rowsOf([paused], fragments)).load.fragments, 0);
});
