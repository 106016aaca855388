/** The machine of a load worker, step by step: what happens, the state after it, what is done. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { testRun, testWorker } from "../testing/ids.ts";
import { scenarioOf } from "../testing/scenario.ts";
import type { SequencedEvent } from "./control-events.ts";
import { newLoadWorker, step, wakeMsOf } from "./load-worker-machine.ts";
import type { LoadWorkerEffect, LoadWorkerEvent, LoadWorkerState } from "./load-worker-state.ts";
import type { RunView, WorkerIdentity } from "./worker-control.ts";

const worker: WorkerIdentity = {
  runId: testRun("run"),
  workerId: testWorker("worker-1"),
  groupId: 1,
  groupCount: 2,
  testId: "test",
  incarnation: "i-1",
  hostName: "here",
  processId: 1,
};
/** The store's clock is the worker's, and 1,000 s ahead. */
const offsetMs = 1_000_000;
const row: RunView = {
  runId: testRun("run"),
  status: "RUNNING",
  phase: "PREPARING",
  scenario: scenarioOf({ workload: { concurrentConnections: 4 } }),
  targetSecret: null,
  targets: {},
  startTimeMs: null,
  warmupStartTimeMs: null,
  warmupEndTimeMs: null,
  stopTimeMs: null,
  leaseLapsedMs: 0,
  nowMs: offsetMs,
};
const measuring = { ...row, phase: "MEASUREMENT" } as const;

type WithoutTime<Event> = Event extends unknown ? Omit<Event, "nowMs"> : never;
type Happened = WithoutTime<LoadWorkerEvent>;
/** At a moment something happens: the state is then this, and these are the effects. */
type Line = readonly [nowMs: number, Happened, state: LoadWorkerState["state"], effects: string];

const time: Happened = { kind: "time" };
const row0 = (view: RunView | undefined = row): Happened => ({ kind: "rowRead", sentMs: 0, view });
const told = (...events: readonly object[]): Happened => ({
  kind: "eventsRead",
  sentMs: 0,
  events: events.map((event, index) => ({
    to: { scope: "RUN" },
    sequence: index + 1,
    ...event,
  })) as unknown as readonly SequencedEvent[],
});
const start = { type: "START", expectedWorkers: 2 };
const stop = { type: "STOP", reason: "user_requested", drainMs: 9_000, atMs: null };
const ok: Happened = { kind: "beaten", answer: "ok" };
const stored: Happened = { kind: "snapshotStored", answer: "ok" };
const logged: Happened = { kind: "logged" };
const away = (isLasting = false): Happened => ({
  kind: "callFailed",
  message: "away",
  isLasting,
  thrown: "away",
  random: 1,
});
const cannot = (isLasting: boolean): Happened => ({
  kind: "connectFailed",
  message: "no",
  isLasting,
});

const registered: readonly Line[] = [
  [0, time, "registering", "register"],
  [0, row0(), "preparing", "open readEvents"],
];
const ready: readonly Line[] = [
  ...registered,
  [0, told(), "preparing", "settle beat"],
  [0, { kind: "opened" }, "preparing", "connect"],
  [0, ok, "preparing", "storeSnapshot"],
  [0, { kind: "snapshotStored", answer: "nothing" }, "preparing", "flushLog"],
  [0, logged, "preparing", ""],
  [500, { kind: "connected" }, "ready", "say readEvents"],
];
const running: readonly Line[] = [
  [0, time, "registering", "register"],
  [0, row0(measuring), "preparing", "open readEvents"],
  [0, { kind: "opened" }, "preparing", "connect"],
  [0, { kind: "connected" }, "running", "say start say announcePhase"],
  [0, told(), "running", "settle beat"],
  [0, ok, "running", "storeSnapshot"],
  [0, stored, "running", "flushLog"],
  [0, logged, "running", ""],
];
const draining: readonly Line[] = [
  ...running,
  [1_000, time, "running", "takeSnapshot readEvents"],
  [1_000, told(stop), "draining", "stopAt say drain settle beat"],
];
const finishing: readonly Line[] = [
  ...draining,
  [1_100, ok, "draining", "storeSnapshot"],
  [1_100, stored, "draining", "flushLog"],
  [1_100, logged, "draining", ""],
  [1_200, { kind: "drained" }, "draining", "close"],
  [1_200, { kind: "closed" }, "draining", "finishRecords"],
  [1_200, { kind: "recorded" }, "finishing", "takeSnapshot storeSnapshot"],
];

interface Case {
  readonly name: string;
  readonly lines: readonly Line[];
  /** How it ends: of which kind, with which status. */
  readonly end?: readonly [kind: string, status: string];
}

const cases: readonly Case[] = [
  {
    name: "[LW1] READY is said at once, and the load begins with what came with START",
    lines: [
      ...ready,
      [
        600,
        told(start, { type: "SET_PHASE", phase: "WARMUP", atMs: null }),
        "running",
        "settle start say beat",
      ],
    ],
  },
  {
    name: "[LW3] the store's clock is asked for until it is known well enough",
    lines: [
      [0, time, "registering", "register"],
      [500, row0(), "tuning", "readRow"],
      [600, { kind: "rowRead", sentMs: 500, view: row }, "tuning", "readRow"],
      [601, { kind: "rowRead", sentMs: 600, view: row }, "preparing", "open readEvents"],
    ],
  },
  {
    name: "[LW9] a run that has ended is not opened for, and its worker completes",
    end: ["run_ended", "COMPLETED"],
    lines: [
      [0, time, "registering", "register"],
      [0, row0({ ...row, status: "CANCELLED" }), "draining", "say close readEvents"],
      [0, { kind: "closed" }, "draining", "finishRecords"],
      [0, { kind: "recorded" }, "draining", ""],
      [0, told(), "finishing", "settle takeSnapshot storeSnapshot"],
      [0, stored, "finishing", "flushLog"],
      [0, logged, "finishing", "finish"],
      [0, { kind: "finished" }, "over", ""],
    ],
  },
  {
    name: "[LW9] there is no such run",
    end: ["run_gone", "FAILED"],
    lines: [
      [0, time, "registering", "register"],
      [0, { kind: "rowRead", sentMs: 0, view: undefined }, "over", ""],
    ],
  },
  {
    name: "[LW7] a store that is away from the beginning is asked again, and given up after 60 s",
    end: ["store_lost", "FAILED"],
    lines: [
      [0, time, "registering", "register"],
      [0, away(), "registering", ""],
      [999, time, "registering", ""],
      [1_000, time, "registering", "register"],
      [60_000, away(), "over", ""],
    ],
  },
  {
    name: "[LW7] what the store refuses for good ends a worker that has not registered with its words",
    lines: [
      [0, time, "registering", "register"],
      [0, away(true), "broken", ""],
      [0, row0(), "broken", ""],
    ],
  },
  {
    name: "[LW7] a round that fails is begun again after a pause, and the load goes on",
    end: ["store_lost", "FAILED"],
    lines: [
      ...running,
      [1_000, time, "running", "takeSnapshot readEvents"],
      [1_500, away(), "running", "warn"],
      [2_000, time, "running", "takeSnapshot"],
      [2_500, time, "running", "readEvents"],
      [60_000, time, "draining", "say close takeSnapshot"],
      [60_000, { kind: "closed" }, "draining", "finishRecords"],
      [60_000, { kind: "recorded" }, "over", ""],
    ],
  },
  {
    name: "[LW8] without START for 120 s it ends",
    lines: [
      ...ready,
      [600, told(), "ready", "settle beat"],
      [600, ok, "ready", "storeSnapshot"],
      [100_000, stored, "ready", "flushLog"],
      [119_999, { kind: "logged" }, "ready", "readRow"],
      [120_000, time, "draining", "say close"],
    ],
  },
  {
    name: "[LW13] connecting is tried again for 30 s; what is refused for good is not",
    lines: [
      ...registered,
      [0, { kind: "opened" }, "preparing", "connect"],
      [100, cannot(false), "preparing", "trouble"],
      [1_100, time, "preparing", "connect"],
      [30_100, cannot(false), "draining", "say close"],
    ],
  },
  {
    name: "[LW13] a target that cannot be opened fails it",
    lines: [...registered, [100, cannot(true), "draining", "say close"]],
  },
  {
    name: "[LW6] after STOP it drains, closes, waits for records, and says its last word",
    end: ["stopped", "COMPLETED"],
    lines: [
      ...finishing,
      [1_300, stored, "finishing", "flushLog"],
      [1_300, logged, "finishing", "finish"],
      [1_300, { kind: "finished" }, "over", ""],
    ],
  },
  {
    name: "[LW6] the last word waits for the call that is under way",
    lines: [
      ...draining,
      [1_200, { kind: "drained" }, "draining", "close"],
      [1_200, { kind: "closed" }, "draining", "finishRecords"],
      [1_200, { kind: "recorded" }, "draining", ""],
      [1_300, ok, "finishing", "takeSnapshot storeSnapshot"],
    ],
  },
  {
    name: "[LW6] a later STOP that gives less time cuts the draining short",
    lines: [
      ...draining,
      [1_100, ok, "draining", "storeSnapshot"],
      [1_100, stored, "draining", "flushLog"],
      [1_100, logged, "draining", ""],
      [2_000, time, "draining", "takeSnapshot readEvents"],
      [
        2_000,
        told(stop, { ...stop, sequence: 2, drainMs: 2_000 }),
        "draining",
        "stopAt settle beat",
      ],
      [4_000, time, "draining", "close takeSnapshot"],
    ],
  },
  {
    name: "[LW7] last figures that cannot be stored for 60 s have failed it",
    end: ["store_lost", "FAILED"],
    lines: [
      ...finishing,
      [1_300, away(), "finishing", "warn"],
      [2_300, time, "finishing", "storeSnapshot"],
      [61_100, away(), "over", "warn"],
    ],
  },
  {
    name: "[LW9] one whose place is taken says nothing more, also while it drains",
    end: ["superseded", "FAILED"],
    lines: [
      ...draining,
      [1_100, { kind: "beaten", answer: "superseded" }, "draining", "close"],
      [1_100, { kind: "closed" }, "draining", "finishRecords"],
      [1_100, { kind: "recorded" }, "over", ""],
    ],
  },
  {
    name: "[LW9] nor when it is found out by the last figures",
    end: ["superseded", "FAILED"],
    lines: [...finishing, [1_300, { kind: "snapshotStored", answer: "superseded" }, "over", ""]],
  },
  {
    name: "[LW11] a signal before it registered ends it at once; one that asks already waits",
    end: ["terminated", "FAILED"],
    lines: [[0, { kind: "terminated" }, "over", ""]],
  },
  {
    name: "[LW11] a signal while it registers counts once the store has answered",
    lines: [
      [0, time, "registering", "register"],
      [1, { kind: "terminated" }, "registering", ""],
      [2, row0(), "draining", "say drain readEvents"],
    ],
  },
  {
    name: "[LW11] a signal drains it for 5 s, and a worse end does not wait for that",
    lines: [
      ...running,
      [100, { kind: "terminated" }, "draining", "say drain readEvents"],
      [200, { kind: "targetFailed", message: "too much memory" }, "draining", "close"],
    ],
  },
];

function play(lines: readonly Line[]) {
  let state = newLoadWorker(worker, 0);
  let effects: readonly LoadWorkerEffect[] = [];
  for (const [index, [nowMs, happened, want, wanted]] of lines.entries()) {
    [state, effects] = step(state, { ...happened, nowMs } as LoadWorkerEvent);
    const kinds = effects.map(({ kind }) => kind).join(" ");
    assert.deepEqual([state.state, kinds], [want, wanted], `line ${index}: ${happened.kind}`);
    assert.ok(wakeMsOf(state) > nowMs, `line ${index}: nothing that is due is left`);
  }
  return { state, effects };
}

for (const { name, lines, end } of cases) {
  test(name, () => {
    const { state } = play(lines);
    if (end === undefined) return;
    assert.ok(state.state === "over");
    assert.deepEqual([state.end.kind, state.end.status], end);
  });
}

test("[LW6] [LW12] who drains is in COOLDOWN, and says which status it ends with", () => {
  const { effects } = play(finishing);
  const [snapshot] = effects;
  assert.ok(snapshot?.kind === "takeSnapshot");
  assert.deepEqual([snapshot.status, snapshot.phase], ["COMPLETED", "COOLDOWN"]);
});
