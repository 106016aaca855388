import assert from "node:assert/strict";
import { test } from "node:test";
import type { FindMaxStep, LogLine, RunSecond, RunUpdate } from "../../../api/gen/types.ts";
import { columnsOf, lastStoredMs } from "./chart-seconds.ts";
import { filterLogs } from "./filter-logs.ts";
import {
  type GeneratorWatch,
  generatorWarnings,
  stepGenerator,
  unwatched,
} from "./generator-warning.ts";
import { type LiveRun, logLinesMax, stepLiveRun, unknownRun } from "./live-run.ts";
import { stepColumns } from "./step-columns.ts";

const line = (sequence: number): LogLine => ({
  sequence,
  level: "INFO",
  message: `line ${sequence}`,
  worker_id: null,
  timestamp: "2026-01-01T00:00:00.000Z",
});

const row = (atMs: number, p95: number): RunSecond => ({
  timestamp_ms: atMs,
  elapsed_seconds: 0,
  phase: "MEASUREMENT",
  error_count: 0,
  qps: 90,
  active_connections: 4,
  target_connections: 4,
  interval_p50_ms: 1,
  interval_p95_ms: p95,
  interval_p99_ms: 9,
});

function updated(state: LiveRun, atMs: number, logs: readonly LogLine[] = []): LiveRun {
  const update = {
    status: "RUNNING",
    phase: "MEASUREMENT",
    timestamp: new Date(atMs).toISOString(),
    run: { aggregate_metrics: { qps: 100, target_qps: 120 }, figures_phase: "MEASUREMENT" },
    timing: { elapsed_display_seconds: 1, phase_elapsed_seconds: 1, phase_duration_seconds: 9 },
    custom_metrics: { resources: {} },
    logs,
  } as unknown as RunUpdate;
  return stepLiveRun(state, { kind: "update", update, nowMs: 5, isOpenEnded: false });
}

test("[WEB51] log lines are there once and in order, whatever is sent again, and bounded", () => {
  const sequences = ({ logs }: LiveRun): readonly number[] => logs.map((each) => each.sequence);
  const first = updated(unknownRun, 1_000, [line(1), line(2)]);
  const again = updated(first, 2_000, [line(1), line(2), line(3)]);
  assert.deepEqual(sequences(again), [1, 2, 3]);
  const earlier = stepLiveRun(updated(unknownRun, 0, [line(7)]), {
    kind: "logs",
    lines: [line(5), line(6), line(7)],
  });
  assert.deepEqual(sequences(earlier), [5, 6, 7]);
  const many = Array.from({ length: logLinesMax + 10 }, (_, at) => line(at + 1));
  const full = stepLiveRun(first, { kind: "logs", lines: many });
  assert.deepEqual([full.logs.length, full.logs.at(-1)?.sequence], [logLinesMax, logLinesMax + 10]);
});

test("[WEB51] a second is there once; what the store says of it counts, whichever came first", () => {
  const live = updated(updated(unknownRun, 1_200), 2_200);
  const stored = stepLiveRun(live, { kind: "seconds", rows: [row(1_900, 5), row(2_900, 6)] });
  const after = updated(stored, 2_400);
  assert.deepEqual(
    after.seconds.map(({ atMs, qps, p95Ms, targetQps }) => [atMs, qps, p95Ms, targetQps]),
    [
      [1_900, 90, 5, 120],
      [2_900, 90, 6, 120],
    ],
  );
  assert.equal(lastStoredMs(updated(after, 3_200).seconds), 2_900);
});

test("[WEB51] missing seconds are a gap in the line; without a value there is no point", () => {
  const rows = [row(1_000, 5), row(2_000, 6), row(9_000, 7)];
  const { seconds } = updated(stepLiveRun(unknownRun, { kind: "seconds", rows }), 10_500);
  assert.deepEqual(columnsOf(seconds, [({ p95Ms }) => p95Ms]), [
    [1, 2, 5.5, 9],
    [5, 6, null, 7],
  ]);
  assert.deepEqual(columnsOf(seconds, [({ qps }) => qps])[0], [1, 2, 5.5, 9, 10.5]);
});

test("[WEB51] a quarter of the seconds bound by the generator, and every dropped arrival, is said", () => {
  const watched = (...seconds: readonly object[]): readonly string[] =>
    generatorWarnings(
      seconds.reduce<GeneratorWatch>(
        (watch, resources) =>
          stepGenerator(watch, { custom_metrics: { resources } as RunUpdate["custom_metrics"] }),
        unwatched,
      ),
    );
  const calm = { generator_bound_reason: null, dropped: 0 };
  const busy = { generator_bound_reason: "its thread was 99 % busy", dropped: 0 };
  assert.deepEqual(watched({}, calm), []);
  assert.match(watched(calm, busy, calm)[0] ?? "", /1 of 3.*may be faster.* 99 % busy/);
  assert.deepEqual(watched(busy, ...Array.from({ length: 4 }, () => calm)), []);
  assert.match(watched({ dropped: 1 })[0] ?? "", /^1 arrival was dropped/);
});

test("[WEB51] the log is filtered by level; steps are a line by connections", () => {
  const levels = ["INFO", "WARNING", "ERROR"].map((level, at) => ({ ...line(at), level }));
  assert.equal(filterLogs(levels, "all").length, 3);
  assert.deepEqual(filterLogs(levels, "trouble"), levels.slice(1));
  assert.deepEqual(filterLogs(levels, "errors"), levels.slice(2));
  const step = (number: number, connections: number, qps: number): FindMaxStep =>
    ({
      step_number: number,
      total_target_connections: connections,
      qps,
    }) as FindMaxStep;
  assert.deepEqual(stepColumns([step(3, 15, 7), step(2, 25, 9), step(1, 15, 5)]), {
    connections: [15, 25],
    qps: [7, 9],
  });
});
