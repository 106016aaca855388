import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveQuery, StreamQuery } from "../../api/gen/types.ts";
import { queryKey } from "./links.ts";
import { totalsOf } from "./query/live-figures.ts";
import { silenceOf, stepOutputs } from "./query/silence.ts";
import { conditionOf, reasonOf, wantedText } from "./query-condition.ts";
import { listQueries, type QueriesView } from "./query-list.ts";

const base: StreamQuery = {
  query_id: "4",
  name: "hot",
  state: "RUNNING",
  detail: null,
  state_reason: "every fragment is running",
  desired_state: "RUNNING",
  stop_mode: null,
  epoch: 1,
  superseded_by: null,
  guarantee: "exactly once",
  is_preview: false,
  error: null,
  fragments: { RUNNING: 2 },
  statement: "SELECT ts FROM bids INTO hot",
  created_at_ms: 10,
  state_changed_at_ms: 20,
};

test("[WEB71] a condition is the worst that is true, with its reason and where", () => {
  const of = (changes: Partial<StreamQuery>) => conditionOf({ ...base, ...changes });
  assert.equal(of({}), "running");
  assert.equal(of({ state: "DEPLOYING" }), "deploying");
  assert.equal(of({ state: "DEPLOYING", epoch: 2 }), "redeploying");
  assert.equal(of({ state: "DEPLOYING", epoch: 2, detail: "PARTIALLY_DEPLOYED" }), "partial");
  assert.equal(of({ state: "TERMINATING", detail: "STOPPING_STUCK" }), "stuck");
  assert.equal(of({ state: "STOPPED" }), "stopping");
  assert.equal(of({ state: "TERMINATED" }), "ended");
  assert.equal(reasonOf(base), "", "a running query needs no reason");
  const error = { code: "InvalidConfig", number: null, worker_id: "worker-2" };
  const failed = { ...base, state: "FAILED", error } as const;
  assert.equal(
    reasonOf({ ...failed, state_reason: "a port is taken" }),
    "worker-2: a port is taken",
  );
  const named = { ...failed, state_reason: "on worker-2 a port is taken" };
  assert.equal(reasonOf(named), "on worker-2 a port is taken");
  const stopping = { ...base, state: "STOPPING", desired_state: "STOPPED" } as const;
  assert.equal(wantedText({ ...stopping, stop_mode: "SOFT" }), "is being stopped softly");
  assert.equal(wantedText({ ...base, desired_state: "PAUSED" }), "is being paused");
  assert.equal(wantedText({ ...base, state: "PAUSED", desired_state: "PAUSED" }), "");
});

test("[WEB72] the worst first; by name, statement, reason and state", () => {
  const queries = [
    base,
    { ...base, query_id: "5", name: null, state: "FAILED", state_reason: "oops" } as const,
    { ...base, query_id: "6", name: "cold", state_changed_at_ms: 30 },
  ];
  const view: QueriesView = { text: "", condition: "all", sort: "state", descending: false };
  const found = (changes: Partial<QueriesView>): readonly string[] =>
    listQueries(queries, { ...view, ...changes }).map(({ query_id }) => query_id);
  assert.deepEqual(found({}), ["5", "6", "4"]);
  assert.deepEqual(found({ sort: "changed", descending: true })[0], "6");
  assert.deepEqual(found({ text: "OOPS" }), ["5"]);
  assert.deepEqual(found({ text: "cold" }), ["6"]);
  assert.deepEqual(found({ condition: "running" }), ["6", "4"]);
  assert.equal(queryKey(base), "hot");
  assert.equal(queryKey({ ...base, superseded_by: "9" }), "4", "the name is the successor's");
});

const fragment: LiveQuery["fragments"][number] = {
  fragment: "a",
  worker_id: "worker-1",
  state: "RUNNING",
  operators: [],
  sources: ["bids"],
  sinks: [],
  rows_in: 10,
  rows_out: 5,
  rows_in_per_second: 100,
  rows_out_per_second: 50,
  bytes_in_per_second: 0,
  bytes_out_per_second: 0,
  late_rows: 1,
  malformed_rows: 0,
  state_bytes: 7,
  watermark_ms: 5_000,
  watermark_lag_ms: null,
  busy_ratio: 0,
  backpressure_ratio: 0.5,
  told_at_ms: 0,
};

test("[WEB73, WEB4] figures of a query are sums that leave nothing out, and lags without a clock", () => {
  const writer = { ...fragment, fragment: "b", sources: [], sinks: ["hot"], watermark_ms: 4_000 };
  const edge = { from: "a", to: "b", rows_per_second: 50, backlog_bytes: 0 };
  const live: LiveQuery = {
    query_id: "4",
    epoch: 1,
    at_ms: 0,
    fragments: [fragment, { ...writer, backpressure_ratio: 0 }],
    edges: [{ ...edge, backpressure_ratio: 0.5, watermark_ms: 4_500, watermark_lag_ms: null }],
    checkpoints: [],
    held_back_by: null,
  };
  const totals = totalsOf(live);
  assert.deepEqual([totals.rowsInPerSecond, totals.rowsOutPerSecond], [100, 50]);
  assert.deepEqual([totals.lateRows, totals.stateBytes], [2, 14]);
  assert.deepEqual(totals.backpressure, { ratio: 0.5, fragment: "a" });
  assert.equal(totals.watermarkLagMs, 1_000, "behind the fragment that is furthest");
  const [first] = live.fragments;
  const untold = { ...live, fragments: [first ?? fragment, { ...writer, late_rows: null }] };
  assert.equal(totalsOf(untold).lateRows, undefined, "a part would look like the whole");
});

test("[WEB72] no rows come out when none has for ten seconds, or none ever", () => {
  const held_back_by = { fragment: "a", source: "bids", watermark_ms: 0, reason: "bids is behind" };
  const at = (seconds: number, rows_out: number | null): LiveQuery => ({
    ...{ query_id: "4", epoch: 1, at_ms: seconds * 1_000, edges: [], checkpoints: [] },
    fragments: [{ ...fragment, sinks: ["hot"], rows_out }],
    held_back_by,
  });
  let outputs: ReturnType<typeof stepOutputs> = new Map();
  const look = (live: LiveQuery): string => {
    outputs = stepOutputs(outputs, new Map([["4", live]]));
    return silenceOf(live, outputs.get("4"));
  };
  assert.equal(look(at(0, 0)), "no rows come out: bids is behind");
  assert.equal(look(at(1, 7)), "");
  assert.equal(look(at(10, 7)), "");
  assert.equal(look(at(11, 7)), "no rows come out: bids is behind");
  assert.equal(look({ ...at(12, 7), held_back_by: null }), "", "no event time");
  assert.equal(look({ ...at(13, 7), epoch: 2 }), "", "it has begun again");
  assert.equal(look(at(14, null)), "", "nobody knows");
});
