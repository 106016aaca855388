import assert from "node:assert/strict";
import { test } from "node:test";
import { testRun, testWorker } from "../testing/ids.ts";
import { scenarioOf } from "../testing/scenario.ts";
import type { ControlEvent, WorkerTarget } from "./control-events.ts";
import { dueMsOf, type Inbox, receive, takeDue } from "./event-inbox.ts";
import { StoreClock } from "./store-clock.ts";
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
const targetOf = (connections: number): WorkerTarget => ({
  connections,
  qps: null,
  stepId: null,
  stepNumber: null,
});
const view: RunView = {
  runId: testRun("run"),
  status: "RUNNING",
  phase: "PREPARING",
  scenario: scenarioOf({}),
  targetSecret: null,
  targets: {},
  startTimeMs: null,
  warmupStartTimeMs: null,
  warmupEndTimeMs: null,
  stopTimeMs: null,
  leaseLapsedMs: 0,
  nowMs: 0,
};
const empty: Inbox = { lastSequence: 0, phase: "PREPARING", target: targetOf(1), pending: [] };
/** Now is 100 by the worker's clock, and 1,100 by the store's. */
const nowMs = 100;
const clock = StoreClock.of(0, 0, 1_000);

const run = { scope: "RUN" } as const;
const phase = (name: "WARMUP" | "MEASUREMENT", atMs: number | null = null): ControlEvent => ({
  type: "SET_PHASE",
  to: run,
  phase: name,
  atMs,
});
const target = (
  connections: number,
  atMs: number | null = null,
  workerId = testWorker("worker-1"),
): ControlEvent => ({
  type: "SET_WORKER_TARGET",
  to: { scope: "WORKER", workerId },
  target: targetOf(connections),
  rampSeconds: 2,
  reason: "test",
  atMs,
});
const stop: ControlEvent = {
  type: "STOP",
  to: run,
  reason: "guardrail",
  initiatedBy: "test",
  drainMs: 5,
  atMs: 1_050,
};

interface Case {
  readonly name: string;
  readonly events?: readonly ControlEvent[];
  readonly row?: Partial<RunView>;
  /** What is told at once. */
  readonly told: string;
  /** What is told 1 s later, and when that is due. */
  readonly later?: string;
  readonly dueMs?: number;
}

const cases: readonly Case[] = [
  {
    name: "[LW3] what has no moment, or one that has passed, is now",
    events: [phase("WARMUP"), phase("MEASUREMENT", 1_090)],
    told: "now WARMUP@100, now MEASUREMENT@90",
  },
  {
    name: "[LW3] what lies ahead is told when it is known, and at its moment",
    events: [phase("MEASUREMENT", 1_300), target(7, 1_200)],
    told: "ahead MEASUREMENT@300, ahead 7@200",
    later: "now 7@200, now MEASUREMENT@300",
    dueMs: 200,
  },
  {
    name: "[LW5] what a later event has set an earlier one does not undo",
    events: [target(7, 1_200), target(3)],
    told: "ahead 7@200, now 3@100",
  },
  {
    name: "[LW5] nor when the later one has the earlier moment",
    events: [target(7, 1_300), target(3, 1_200)],
    told: "ahead 7@300, ahead 3@200",
    later: "now 3@200",
    dueMs: 200,
  },
  {
    name: "[LW5] events of another worker do nothing",
    events: [target(7, null, testWorker("worker-0"))],
    told: "",
  },
  {
    name: "[LW20] a STOP is of the moment that it says",
    events: [stop],
    told: "stop 5@50",
  },
  {
    name: "[LW4] phases never go back",
    events: [phase("MEASUREMENT"), phase("WARMUP")],
    told: "now MEASUREMENT@100",
  },
  {
    name: "[LW4] what the row says and events did not is made up for",
    row: { phase: "WARMUP", targets: { "worker-1": targetOf(9) } },
    told: "start, now WARMUP@100, now 9@100",
  },
  {
    name: "[LW4] the row's MEASUREMENT begins when it says",
    row: { phase: "MEASUREMENT", warmupEndTimeMs: 1_040 },
    told: "start, now MEASUREMENT@40",
  },
  {
    name: "[LW4] a row that is ahead of a moment hurries nothing",
    row: { phase: "MEASUREMENT", warmupEndTimeMs: 1_400, targets: { "worker-1": targetOf(9) } },
    told: "",
  },
  {
    name: "[LW4] nor does one that repeats what waits, or came just now",
    events: [phase("MEASUREMENT", 1_300), target(3)],
    row: { phase: "MEASUREMENT", targets: { "worker-1": targetOf(9) } },
    told: "ahead MEASUREMENT@300, now 3@100, start",
    later: "now MEASUREMENT@300",
    dueMs: 300,
  },
  {
    name: "[LW4] [LW20] a run that stops says so by its row, with its moment",
    row: { status: "STOPPING", stopTimeMs: 1_070, phase: "WARMUP" },
    told: "stop 120000@70",
  },
];

for (const { name, events = [], row, told, later = "", dueMs = Infinity } of cases) {
  test(name, () => {
    const sequenced = events.map((event, index) => ({ ...event, sequence: index + 1 }));
    const known = row === undefined ? undefined : { ...view, ...row };
    const first = receive(empty, { events: sequenced, view: known, worker, clock, nowMs });
    const inbox = first.at(-1)?.[0] ?? empty;
    assert.equal(shown(first), told);
    assert.deepEqual([inbox.lastSequence, dueMsOf(inbox)], [events.length, dueMs]);
    assert.equal(shown(takeDue(inbox, nowMs + 1_000)), later);
    const again = receive(inbox, { events: sequenced, view: undefined, worker, clock, nowMs });
    assert.equal(shown(again), "", "each once");
  });
}

function shown(deliveries: ReturnType<typeof receive>): string {
  const lines = deliveries.flatMap(([, told]) => {
    if (told === undefined) return [];
    if (told.kind === "start") return ["start"];
    if (told.kind === "stop") return [`stop ${told.drainMs}@${told.atMs}`];
    const { change } = told;
    return "phase" in change
      ? [`${told.kind} ${change.phase.phase}@${change.phase.fromMs}`]
      : [`${told.kind} ${change.target.target.connections}@${change.target.fromMs}`];
  });
  return lines.join(", ");
}
