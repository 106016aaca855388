import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  HeatMap,
  RunPhase,
  RunSecond,
  Scenario,
  WorkerSecond,
} from "../../../api/gen/types.ts";
import { settingsOf, valueText } from "./config-paths.ts";
import { barsOf, cellAt, extentOf, heatColour, sinceLoad } from "./heat-grid.ts";
import { formatElapsed, pollSeriesOf, seriesOf, workerHistories } from "./run-series.ts";
import { searchAnswer } from "./search-answer.ts";

function second(at: number, phase: RunPhase, changes: Partial<RunSecond> = {}): RunSecond {
  return {
    timestamp_ms: 1_000_000 + at * 1000,
    elapsed_seconds: at,
    phase,
    qps: 100,
    error_count: 0,
    active_connections: 4,
    target_connections: 4,
    interval_p50_ms: 1,
    interval_p95_ms: 2,
    interval_p99_ms: 3,
    ...changes,
  };
}

test("[WEB62] time begins with the load; errors are of the second; warm-up is told apart", () => {
  const seconds = [
    second(0, "PREPARING", { qps: 0 }),
    second(5, "WARMUP", { error_count: 4, interval_p95_ms: null }),
    second(6, "WARMUP", { error_count: 4 }),
    second(7, "MEASUREMENT", { error_count: 3 }),
    second(9, "MEASUREMENT", { error_count: 7 }),
    second(10, "COOLDOWN", { error_count: 7 }),
  ];
  const series = seriesOf(seconds);
  assert.deepEqual(series.x, [0, 1, 2, 4]);
  assert.deepEqual(series.errors, [4, 0, 3, 2]);
  assert.deepEqual(series.p95, [null, 2, 2, 2]);
  assert.equal(series.measuredFrom, 2);
  assert.equal(seriesOf(seconds.slice(3)).measuredFrom, 0);
  assert.deepEqual(seriesOf([]).x, []);
  const poll = {
    timestamp_ms: 1_003_000,
    elapsed_seconds: 3,
    warehouse_name: "w",
    running: 2,
    queued: null,
  };
  const later = { ...poll, timestamp_ms: 1_008_000 };
  assert.deepEqual(pollSeriesOf([poll, later], seconds), {
    x: [3],
    running: [2],
    queued: [null],
  });
  assert.deepEqual([0, 2.25, 59, 90, 3_723].map(formatElapsed), [
    "0 s",
    "2.3 s",
    "59 s",
    "1:30",
    "1:02:03",
  ]);
});

test("[WEB62] a worker's peaks; what was never told is not known", () => {
  const row = (id: string, qps: number, delay?: number): WorkerSecond => ({
    worker_id: id,
    timestamp_ms: 1,
    qps,
    p95_latency_ms: null,
    memory_percent: null,
    active_connections: 1,
    error_count: 0,
    cpu_percent: delay === undefined ? null : qps / 10,
    custom_metrics: delay === undefined ? {} : { health: { event_loop_delay_ms_p99: delay } },
  });
  const found = workerHistories([row("a", 10, 3), row("b", 5), row("a", 30, 1)]);
  assert.deepEqual(found.get("a"), { qps: [10, 30], cpuPercentMax: 3, loopDelayMsMax: 3 });
  assert.deepEqual(found.get("b"), { qps: [5], cpuPercentMax: null, loopDelayMsMax: null });
});

const map: HeatMap = {
  start_ms: 0,
  bucket_seconds: 2,
  cells: [
    { at_seconds: 0, low_ms: 1, high_ms: 2 ** 0.25, count: 10 },
    { at_seconds: 2, low_ms: 1, high_ms: 2 ** 0.25, count: 5 },
    { at_seconds: 2, low_ms: 2 ** 0.75, high_ms: 2, count: 1 },
  ],
};

test("[WEB63] the heat map gives bars over the whole run, gaps included, and cells by place", () => {
  assert.deepEqual(
    barsOf(map).map(({ count }) => count),
    [15, 0, 0, 1],
  );
  assert.equal(barsOf(map)[3]?.highMs, 2);
  assert.deepEqual(extentOf(map), {
    startSeconds: 0,
    endSeconds: 4,
    lowMs: 1,
    highMs: 2,
    countMax: 10,
  });
  assert.equal(cellAt(map, 3.9, 1.1)?.count, 5);
  assert.equal(cellAt(map, 3.9, 1.3), undefined);
  assert.deepEqual(barsOf({ ...map, cells: [] }), []);
  assert.equal(extentOf({ ...map, cells: [] }), undefined);
  const later = sinceLoad({ ...map, start_ms: 1_005_000 }, 1_000_000);
  assert.deepEqual(
    later.cells.map(({ at_seconds: at }) => at),
    [5, 7, 7],
  );
  assert.equal(sinceLoad(map, undefined), map);
});

/** The perceived lightness of a colour. */
function lightness(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? []).map(Number);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

for (const scheme of ["light", "dark"] as const) {
  test(`[WEB63] more is ${scheme === "light" ? "darker" : "lighter"}, whatever the hue: ${scheme}`, () => {
    const shades = [1, 3, 10, 30, 100, 300, 1_000].map((count) =>
      lightness(heatColour(count, 1_000, scheme)),
    );
    const sorted = shades.toSorted((a, b) => (scheme === "light" ? b - a : a - b));
    assert.deepEqual(shades, sorted);
    assert.ok(Math.abs((shades.at(-1) ?? 0) - (shades[0] ?? 0)) > 140);
    assert.equal(heatColour(1, 1, scheme), heatColour(9, 9, scheme));
  });
}

test("[WEB64] settings by path; statements and what is not set are left out", () => {
  const scenario = {
    template_name: "t",
    target: { url: "sqlite:x", password_env: null, load_sql: ["CREATE"], reset_sql: [] },
    workload: { seed: 1, stages: [], operations: [{}], target_qps: null },
    scaling: { mode: "AUTO" },
    slos: [{ of: "ALL" }],
  } as unknown as Scenario;
  assert.deepEqual(settingsOf(scenario), [
    ["target.url", "sqlite:x"],
    ["workload.seed", "1"],
    ["scaling.mode", "AUTO"],
  ]);
  assert.deepEqual([undefined, null, "a", { b: 1 }].map(valueText), [
    "not there",
    "not set",
    "a",
    '{"b":1}',
  ]);
});

test("[WEB65] a search's answer is confirmed, a range, or a least number, and nothing else", () => {
  const found = { max_concurrency: 4, qps: 1, p95_latency_ms: 1, reason: "" };
  assert.equal(
    searchAnswer({ ...found, true_max: true, low: 4, high: 4 }),
    "4 connections, confirmed",
  );
  assert.equal(
    searchAnswer({ ...found, true_max: false, low: 4, high: 9 }),
    "Between 4 and 9 connections",
  );
  assert.equal(
    searchAnswer({ ...found, true_max: false, low: 4, high: null }),
    "At least 4 connections",
  );
  assert.equal(searchAnswer({ ...found, true_max: false }), "4 connections, not confirmed");
});
