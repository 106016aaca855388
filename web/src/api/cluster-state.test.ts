import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ClusterState,
  changesMax,
  initialCluster,
  samplesMax,
  stepCluster,
  workersOf,
} from "./cluster-state.ts";
import type { LiveFrame, WatchMessage } from "./gen/types.ts";
import type { WorkerRow } from "./worker-condition.ts";

const row: WorkerRow = {
  worker_id: "worker-1",
  host_name: "127.0.0.1",
  grpc_port: 1,
  data_port: 2,
  capacity: 2,
  state: "ACTIVE",
  state_reason: "answers",
  state_changed_at_ms: 0,
  drain_requested: false,
  accepting_work: true,
  draining: false,
  incarnation: "a",
  software_version: "0.1.0",
  registered_at_ms: 0,
};

function watched(state: ClusterState, ...events: readonly WatchMessage[]): ClusterState {
  return events.reduce((s, event) => stepCluster(s, { kind: "watched", event, nowMs: 5 }), state);
}

function snapshot(revision: number, ...data: readonly WorkerRow[]): WatchMessage {
  return { type: "SNAPSHOT", revision, data };
}

function update(revision: number, changes: Partial<WorkerRow>): WatchMessage {
  const data = { ...row, ...changes };
  return { type: "EVENT", op: "UPDATE", key: data.worker_id, revision, data };
}

function frame(completed: number, workers: LiveFrame["workers"] = []): LiveFrame {
  return {
    attention: { total: 0, items: [] },
    status: {
      version: "0.1.0",
      role: "leader",
      lease: null,
      store: null,
      workers: { active: 0, unreachable: 0, draining: 0 },
      queries: {
        running: 0,
        queued: 0,
        completed_total: completed,
        failed_total: 0,
        oldest_age_ms: 0,
      },
      stored_files: null,
      parts: [],
      started_at_ms: 0,
      uptime_ms: 0,
    },
    workers,
    queries: [],
  };
}

test("[WEB3] a snapshot replaces all rows, and the first one is no news", () => {
  const state = watched(initialCluster, snapshot(3, row));
  assert.deepEqual(workersOf(state), [{ ...row, live: null }]);
  assert.equal(state.revision, 3);
  assert.deepEqual(state.changes, []);
});

test("[WEB3] going unreachable, returning and leaving are recorded, newest first", () => {
  const state = watched(
    initialCluster,
    snapshot(1, row),
    update(2, { state: "UNREACHABLE", state_reason: "three misses" }),
    update(3, { incarnation: "b" }),
    { type: "EVENT", op: "DROP", key: "worker-1", revision: 4 },
  );
  assert.deepEqual(
    state.changes.map(({ condition, reason }) => `${condition}: ${reason}`),
    ["dropped: ", "active: answers", "restarted: a new process", "unreachable: three misses"],
  );
  assert.deepEqual(workersOf(state), []);
});

test("[WEB3] what was missed while the stream was down shows as differences of two snapshots", () => {
  const gone = { ...row, worker_id: "worker-2" };
  const state = watched(
    initialCluster,
    snapshot(1, row, gone),
    snapshot(9, { ...row, drain_requested: true }),
  );
  assert.deepEqual(
    state.changes.map(({ workerId, condition }) => `${workerId} ${condition}`),
    ["worker-1 draining", "worker-2 dropped"],
  );
});

test("[WEB3] an event that was seen already changes nothing", () => {
  const state = watched(initialCluster, snapshot(5, row));
  assert.equal(watched(state, update(5, { state: "UNREACHABLE" })), state);
});

test("[WEB3] the live frame adds facts, and rows only while there is no snapshot", () => {
  const live = { session: true, rtt_ms: 1, last_answer_ms_ago: 2, facts: { cpu_ratio: "0.5" } };
  const worker = { ...row, live };
  const early = stepCluster(initialCluster, { kind: "live", frame: frame(0, [worker]) });
  assert.deepEqual(workersOf(early), [worker]);
  const late = watched(early, snapshot(1, { ...row, state: "UNREACHABLE" }));
  assert.deepEqual(workersOf(late), [{ ...worker, state: "UNREACHABLE" }]);
  assert.deepEqual(late.cpuSamples.get("worker-1"), [0.5]);
});

test("[WEB3] ended queries are counted by second, and a restart is not a negative one", () => {
  const totals = [10, 13, 13, 2, 4];
  const state = totals.reduce(
    (s, total) => stepCluster(s, { kind: "live", frame: frame(total) }),
    initialCluster,
  );
  assert.deepEqual(state.endedSamples, [3, 0, 0, 2]);
});

test("[WEB3] history and samples are bounded", () => {
  let state = watched(initialCluster, snapshot(1, row));
  for (let turn = 0; turn < changesMax + 50; turn += 1) {
    state = watched(state, update(2 + turn, { state: turn % 2 === 0 ? "UNREACHABLE" : "ACTIVE" }));
    state = stepCluster(state, { kind: "live", frame: frame(turn) });
  }
  assert.equal(state.changes.length, changesMax);
  assert.equal(state.endedSamples.length, samplesMax);
});
