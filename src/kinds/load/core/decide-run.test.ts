import assert from "node:assert/strict";
import { test } from "node:test";
import { testWorker } from "../testing/ids.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { decideRun, type RunAction, type RunFacts, type RunWorkerFacts } from "./decide-run.ts";
import { mayFollow, runStatuses } from "./run-state.ts";

const scenario = scenarioOf();

function worker(nth: number, changes: Partial<RunWorkerFacts> = {}): RunWorkerFacts {
  return {
    workerId: testWorker(`worker-${nth}`),
    status: "RUNNING",
    lastHeartbeatMs: 0,
    isGone: false,
    ...changes,
  };
}

function facts(changes: Partial<RunFacts>): RunFacts {
  return {
    nowMs: 0,
    status: "RUNNING",
    phase: "PREPARING",
    scenario,
    startTimeMs: 0,
    warmupStartTimeMs: null,
    warmupEndTimeMs: null,
    stopTimeMs: null,
    stopReason: null,
    measurementAnnouncedMs: null,
    expectedWorkers: 2,
    workers: [],
    ...changes,
  };
}

const kinds = (actions: readonly RunAction[]): string[] => actions.map(({ kind }) => kind);

test("[DN1] all workers ready: it begins; not all after two minutes: it failed", () => {
  const ready = [worker(0, { status: "READY" }), worker(1, { status: "READY" })];
  assert.deepEqual(decideRun(facts({ workers: ready })), [{ kind: "begin", phase: "WARMUP" }]);
  const cold = scenarioOf({ workload: { warmupSeconds: 0 } });
  assert.deepEqual(decideRun(facts({ workers: ready, scenario: cold })), [
    { kind: "begin", phase: "MEASUREMENT" },
  ]);
  const one = [worker(0, { status: "READY", lastHeartbeatMs: 119_999 })];
  assert.deepEqual(decideRun(facts({ workers: one, nowMs: 119_999 })), []);
  const [stop] = decideRun(facts({ workers: one, nowMs: 120_000 }));
  assert.equal(
    stop?.kind === "stop" && stop.cancellationReason,
    "Worker failure: 1 of 2 workers were ready after 120 s",
  );
});

test("[DN1] [DN5] measurement is announced, entered at its moment, and ends after its duration", () => {
  const warm = { phase: "WARMUP", warmupStartTimeMs: 1_000 } as const;
  const at = (nowMs: number, changes: Partial<RunFacts> = {}): readonly RunAction[] =>
    decideRun(
      facts({ nowMs, workers: [worker(0, { lastHeartbeatMs: nowMs })], ...warm, ...changes }),
    );
  assert.deepEqual(at(5_999), []);
  assert.deepEqual(at(6_000), [{ kind: "announceMeasurement", atMs: 11_000 }]);
  assert.deepEqual(at(7_000, { measurementAnnouncedMs: 11_000 }), []);
  assert.deepEqual(at(11_200, { measurementAnnouncedMs: 11_000 }), [
    { kind: "enterMeasurement", atMs: 11_000 },
  ]);
  const measuring = { phase: "MEASUREMENT", warmupEndTimeMs: 11_000 } as const;
  assert.deepEqual(at(40_999, measuring), []);
  assert.deepEqual(at(41_000, measuring), [
    { kind: "stop", reason: "duration_elapsed", status: "STOPPING", cancellationReason: null },
  ]);
});

test("[DN3] a lost worker is marked once; the run goes on while more than half are left", () => {
  const measuring = {
    phase: "MEASUREMENT",
    warmupEndTimeMs: 0,
    nowMs: 20_000,
    expectedWorkers: 5,
  } as const;
  const four = [0, 1, 2, 3].map((nth) => worker(nth, { lastHeartbeatMs: 20_000 }));
  const gone = worker(4, { isGone: true });
  assert.deepEqual(decideRun(facts({ ...measuring, workers: [...four, gone] })), [
    { kind: "markDead", workerId: "worker-4", why: "its process ended" },
    { kind: "warn", message: "1/5 workers unresponsive" },
  ]);
  const marked = worker(4, { status: "DEAD" });
  assert.deepEqual(decideRun(facts({ ...measuring, workers: [...four, marked] })), []);
  const late = [
    ...four.slice(0, 2),
    ...[2, 3, 4].map((nth) => worker(nth, { lastHeartbeatMs: 20_000 - 60_000 })),
  ];
  const actions = decideRun(facts({ ...measuring, workers: late }));
  assert.deepEqual(kinds(actions), ["markDead", "markDead", "markDead", "stop"]);
  const stop = actions.at(-1);
  assert.ok(stop?.kind === "stop" && stop.status === "CANCELLING");
  assert.equal(stop.cancellationReason, "Worker failure: 3 worker(s) stopped responding");
  const lenient = scenarioOf({ scaling: { minHealthyWorkers: 1 } });
  assert.ok(
    !kinds(decideRun(facts({ ...measuring, workers: late, scenario: lenient }))).includes("stop"),
  );
});

test("[DN2] [DN4] what ends how: when nobody is left, or draining took too long", () => {
  const stopping = {
    status: "STOPPING",
    phase: "COOLDOWN",
    stopTimeMs: 0,
    stopReason: "duration_elapsed",
  } as const;
  const busy = worker(0, { status: "DRAINING", lastHeartbeatMs: 100_000 });
  assert.deepEqual(decideRun(facts({ ...stopping, nowMs: 100_000, workers: [busy] })), []);
  assert.deepEqual(decideRun(facts({ ...stopping, nowMs: 120_000, workers: [busy] })), [
    { kind: "finalize", status: "COMPLETED" },
  ]);
  const done = [worker(0, { status: "COMPLETED" }), worker(1, { isGone: true })];
  assert.deepEqual(kinds(decideRun(facts({ ...stopping, workers: done }))), [
    "markDead",
    "finalize",
  ]);
  const ends = (stopReason: "user_requested" | "guardrail" | "worker_failure"): unknown =>
    decideRun(facts({ ...stopping, status: "CANCELLING", stopReason, workers: [] }));
  assert.deepEqual(ends("user_requested"), [{ kind: "finalize", status: "CANCELLED" }]);
  assert.deepEqual(ends("guardrail"), [{ kind: "finalize", status: "FAILED" }]);
  assert.deepEqual(ends("worker_failure"), [{ kind: "finalize", status: "FAILED" }]);
});

test("[DN2] nothing follows an end, and nothing is done about it", () => {
  for (const status of ["COMPLETED", "FAILED", "CANCELLED"] as const) {
    for (const to of runStatuses) assert.equal(mayFollow(status, to), false);
    assert.deepEqual(decideRun(facts({ status, nowMs: 1e9, workers: [worker(0)] })), []);
  }
});
