import assert from "node:assert/strict";
import { test } from "node:test";
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import { decideRefreshes } from "./decide-refreshes.ts";
import { dueAtMs, effectiveLagMs, expectedPathMs, freshAtMs } from "./due-time.ts";
import { TableGraph } from "./graph.ts";
import type {
  FailingTable,
  ScheduleDecision,
  ScheduledPending,
  ScheduledTable,
  ScheduleState,
} from "./schedule-state.ts";

const idle: Omit<ScheduledTable, "tableId" | "label" | "sources" | "cursors"> = {
  targetLag: { kind: "time", ms: 10_000 },
  status: "ACTIVE",
  statusReason: "",
  isVolatile: false,
  dataSnapshot: 3 as SnapshotId,
  dataTimeMs: 0,
  publishedSnapshot: 4 as SnapshotId,
  requestedAtMs: undefined,
  lateSinceMs: undefined,
  waitReason: "",
  lastError: undefined,
  failing: undefined,
  expectedDurationMs: 0,
  expectedResponseMs: 0,
  createdAtMs: 0,
  pending: undefined,
  isClaimed: false,
};

const requested: ScheduledPending = {
  trigger: "MANUAL",
  priority: 20,
  attempts: 0,
  notBeforeMs: 0,
  isRequested: true,
  isOwed: true,
  targetSnapshot: undefined,
  targetTimeMs: undefined,
  readyAtMs: undefined,
  lastQueuedSnapshot: undefined,
};

function targeted(snapshot: number, changes: Partial<ScheduledPending> = {}): ScheduledPending {
  return {
    ...requested,
    trigger: "SCHEDULED",
    priority: 0,
    isRequested: false,
    isOwed: false,
    targetSnapshot: snapshot as SnapshotId,
    targetTimeMs: 0,
    ...changes,
  };
}

function table(
  id: number,
  sources: readonly number[],
  changes: Partial<ScheduledTable> = {},
): ScheduledTable {
  return {
    tableId: id as TableId,
    label: `t${id}`,
    sources: sources as TableId[],
    cursors: new Map(
      sources.map((source) => [source as TableId, (source < 10 ? 3 : 4) as SnapshotId]),
    ),
    ...idle,
    ...changes,
  };
}

const downstream = { targetLag: { kind: "downstream" } } as const;

function decide(
  tables: readonly ScheduledTable[],
  nowMs: number,
  changes: Partial<ScheduleState> = {},
): ScheduleDecision {
  const state = {
    tables,
    snapshot: 9 as SnapshotId,
    mayHaveChanged: () => true,
    hasChanged: () => false,
    isThere: () => false,
    ...changes,
  };
  return decideRefreshes(state, nowMs, { targetIdleMsMax: 60_000 });
}

const brief = ({ targets, unchanged }: ScheduleDecision) => ({
  targets: targets.map(({ tableId, trigger }) => `${tableId} ${trigger}`),
  unchanged: unchanged.map(({ tableId }) => Number(tableId)),
});

test("[TS1] due is the data's time plus the target, less the expected duration, less a margin", () => {
  const due = (changes: Partial<ScheduledTable>): number | undefined => {
    const one = table(10, [1], changes);
    return dueAtMs(new TableGraph([one]), one);
  };
  assert.equal(due({}), 9_000);
  assert.equal(due({ dataTimeMs: 500, expectedDurationMs: 2_000 }), 7_500);
  assert.equal(
    due({ targetLag: { kind: "time", ms: 3_600_000 } }),
    3_595_000,
    "a margin of 5 s at most",
  );
  assert.equal(
    due({ targetLag: { kind: "time", ms: 200 } }),
    180,
    "less than a second is possible",
  );
  assert.equal(due({ dataTimeMs: undefined, createdAtMs: 77 }), 9_077, "ON_SCHEDULE");
  assert.equal(due(downstream), undefined);
});

test("[TS2] a table that cannot hold its target is refreshed often, and does not spin", () => {
  const due = (lagMs: number, expectedDurationMs: number): number | undefined => {
    const one = table(10, [1], { targetLag: { kind: "time", ms: lagMs }, expectedDurationMs });
    return dueAtMs(new TableGraph([one]), one);
  };
  assert.equal(due(1_000, 5_000), 250);
  assert.equal(due(40, 0), 50);
});

test("[TS1] what it reads takes its time, too: side by side, and one after the other", () => {
  const duration = (ms: number) => ({ expectedDurationMs: ms });
  const tables = [
    table(10, [1], duration(100)),
    table(11, [1], duration(300)),
    table(12, [10, 11], duration(20)),
  ];
  const graph = new TableGraph(tables);
  assert.equal(expectedPathMs(graph, tables[2] as ScheduledTable), 320);
  assert.equal(dueAtMs(graph, tables[2] as ScheduledTable), 8_680);
  const crowded = { ...(tables[2] as ScheduledTable), expectedResponseMs: 3_000 };
  assert.equal(dueAtMs(graph, crowded), 6_000, "it has to wait for workers");
});

test("[TS3] a DOWNSTREAM table has the strictest target of those who read it", () => {
  const tables = [
    table(10, [1], downstream),
    table(11, [10], downstream),
    table(12, [11]),
    table(13, [10], { targetLag: { kind: "time", ms: 3_000 } }),
    table(14, [1], downstream),
  ];
  const graph = new TableGraph(tables);
  const lags = tables.map((one) => effectiveLagMs(graph, one));
  assert.deepEqual(lags, [3_000, 10_000, 10_000, 3_000, undefined]);
  assert.deepEqual(brief(decide(tables, 5_000)), {
    targets: ["10 DOWNSTREAM", "13 SCHEDULED"],
    unchanged: [],
  });
});

test("[TG7] a DOWNSTREAM table is as fresh as the freshest of its readers, and no other table is", () => {
  const tables = [
    table(10, [1], { ...downstream, dataTimeMs: 1_000 }),
    table(11, [10], { ...downstream, dataTimeMs: 2_000 }),
    table(12, [11], { dataTimeMs: 9_000 }),
    table(13, [1], { dataTimeMs: 3_000 }),
    table(14, [13], { dataTimeMs: 8_000 }),
    table(15, [1], { ...downstream, dataTimeMs: undefined }),
    table(16, [15], { dataTimeMs: 8_000 }),
  ];
  const graph = new TableGraph(tables);
  assert.deepEqual(
    tables.map((one) => freshAtMs(graph, one)),
    [9_000, 9_000, 9_000, 3_000, 8_000, undefined, 8_000],
  );
});

test("[TS1] not due: nothing is decided, and it says when to look again", () => {
  const decision = decide([table(10, [1]), table(11, [1], { dataTimeMs: 1_000 })], 8_999);
  assert.deepEqual(brief(decision), { targets: [], unchanged: [] });
  assert.equal(decision.wakeAtMs, 9_000);
});

test("[TS4] a due table takes all that it reads along, and nothing else", () => {
  const tables = [
    table(10, [1], downstream),
    table(11, [10], { ...downstream, dataTimeMs: 8_000 }),
    table(12, [11]),
    table(13, [11], { dataTimeMs: 8_000 }),
    table(20, [1], { dataTimeMs: 8_000 }),
  ];
  assert.deepEqual(brief(decide(tables, 9_000)), {
    targets: ["10 DOWNSTREAM", "11 DOWNSTREAM", "12 SCHEDULED"],
    unchanged: [],
  });
});

test("[TS18] what is due soon joins a round that has what it reads, and brings the rest of it", () => {
  const tables = [
    table(10, [1], downstream),
    table(11, [10]),
    table(12, [10], { dataTimeMs: 2_500 }), // Due at 11,500: within a quarter of its target lag.
    table(13, [10], { dataTimeMs: 2_501 }),
    table(14, [1], downstream),
    table(15, [10, 14], { dataTimeMs: 2_000 }),
    table(16, [14], { dataTimeMs: 2_000 }),
    table(20, [1], { dataTimeMs: 2_000 }),
  ];
  const { targets } = decide(tables, 9_000);
  assert.deepEqual(
    targets.map(({ tableId, trigger, dueMs }) => [tableId, trigger, dueMs]),
    [
      [10, "DOWNSTREAM", 9_000],
      [14, "DOWNSTREAM", 11_000],
      [11, "SCHEDULED", 9_000],
      [12, "SCHEDULED", 11_500],
      [15, "SCHEDULED", 11_000],
      [16, "SCHEDULED", 11_000],
    ],
  );
});

test("[TS2] [TS18] nobody joins oftener than four times in a target", () => {
  const busy = { expectedResponseMs: 20_000 };
  const tables = [
    table(10, [1], downstream),
    table(11, [10]),
    table(12, [10], { dataTimeMs: 6_501, ...busy }),
    table(13, [10], { dataTimeMs: 6_500, ...busy }),
  ];
  assert.deepEqual(brief(decide(tables, 9_000)).targets, [
    "10 DOWNSTREAM",
    "11 SCHEDULED",
    "13 SCHEDULED",
  ]);
});

test("[TS4] a request hurries what it reads: they get its priority and its due time", () => {
  const tables = [
    table(10, [1], { dataTimeMs: 8_000 }),
    table(11, [10], { dataTimeMs: 8_000, pending: requested, requestedAtMs: 8_999 }),
  ];
  const { targets } = decide(tables, 9_000);
  assert.deepEqual(
    targets.map(({ tableId, trigger, priority, dueMs }) => [tableId, trigger, priority, dueMs]),
    [
      [10, "DOWNSTREAM", 20, 9_000],
      [11, "MANUAL", 20, 9_000],
    ],
  );
});

test("[TS7] a table that has a target wants no other; one that is to be read by another gets it queued", () => {
  const busy = table(10, [1], { pending: targeted(7, { readyAtMs: 8_000 }), isClaimed: true });
  assert.deepEqual(brief(decide([busy], 9_000)).targets, []);
  const reader = table(11, [10]);
  assert.deepEqual(brief(decide([busy, reader], 9_000)).targets, ["10 DOWNSTREAM", "11 SCHEDULED"]);
  const queued = { ...busy, pending: targeted(7, { lastQueuedSnapshot: 9 as SnapshotId }) };
  assert.deepEqual(brief(decide([queued, reader], 9_000)).targets, ["11 SCHEDULED"], "once");
});

test("[TS7] a snapshot that is older than what was chosen already is not chosen", () => {
  const tables = [table(10, [1]), table(11, [10], { dataSnapshot: 12 as SnapshotId })];
  assert.deepEqual(brief(decide(tables, 9_000)), { targets: [], unchanged: [] });
});

test("[TS8] unchanged sources: no work. One that changed: work for it and for its readers", () => {
  const tables = [table(10, [1], downstream), table(11, [2], downstream), table(12, [10, 11])];
  const of = (...changed: readonly number[]) =>
    brief(decide(tables, 9_000, { mayHaveChanged: (source) => changed.includes(source) }));
  assert.deepEqual(of(), { targets: [], unchanged: [10, 11, 12] });
  assert.deepEqual(of(2), { targets: ["11 DOWNSTREAM", "12 SCHEDULED"], unchanged: [10] });
});

test("[TS8] never filled, volatile, or not read before: there is work although nothing changed", () => {
  const never = { dataSnapshot: undefined, dataTimeMs: undefined, publishedSnapshot: undefined };
  const same = { mayHaveChanged: () => false };
  const work = (changes: Partial<ScheduledTable>): string[] =>
    brief(decide([table(10, [1], changes)], 9_000, same)).targets;
  assert.deepEqual(work({}), []);
  assert.deepEqual(work({ ...never, status: "INITIALIZING" }), ["10 SCHEDULED"]);
  assert.deepEqual(work({ isVolatile: true }), ["10 SCHEDULED"]);
  assert.deepEqual(work({ cursors: new Map([[1 as TableId, undefined]]) }), ["10 SCHEDULED"]);
});

test("[TS9] nothing that reads a suspended or failed table is started, and it says why", () => {
  const tables = [
    table(10, [1], { status: "FAILED", statusReason: "no column x" }),
    table(11, [10]),
    table(12, [11]),
    table(20, [1], { status: "SUSPENDED" }),
  ];
  const decision = decide(tables, 9_000);
  assert.deepEqual(brief(decision), { targets: [], unchanged: [] });
  const reason = "waits for t10, which is FAILED: no column x";
  assert.deepEqual(decision.waits, [
    { tableId: 11, reason },
    { tableId: 12, reason },
  ]);
});

test("[TS9] what waits for a refresh that failed says so, and stops saying so", () => {
  const failing = table(10, [1], {
    pending: targeted(7, { attempts: 2, readyAtMs: 8_000 }),
    lastError: "query_failed: division by zero",
  });
  const waiting = table(11, [10], { pending: targeted(7) });
  const reason = "waits for t10, whose refresh failed: query_failed: division by zero";
  assert.deepEqual(decide([failing, waiting], 9_000).waits, [{ tableId: 11, reason }]);
  const told = { ...waiting, waitReason: reason };
  assert.deepEqual(decide([failing, told], 9_000).waits, []);
  assert.deepEqual(decide([table(10, [1]), told], 1).waits, [{ tableId: 11, reason: "" }]);
});

test("[TS10] a target that nobody claims in time is abandoned with those around it; one that waits is not", () => {
  const stale = table(10, [1], { pending: targeted(7, { readyAtMs: 0 }) });
  const reader = table(11, [10], { pending: targeted(7, { isOwed: true }) });
  const other = table(20, [1], { pending: targeted(7, { readyAtMs: 50_000 }) });
  const early = decide([stale, reader, other], 59_999);
  assert.deepEqual([early.abandoned, early.wakeAtMs], [[], 60_000]);
  const decision = decide([stale, reader, other], 60_000);
  assert.deepEqual(decision.abandoned, [10, 11]);
  assert.deepEqual(brief(decision).targets, ["10 SCHEDULED", "11 MANUAL"]);
  const backingOff = table(10, [1], {
    pending: targeted(7, { readyAtMs: 0, notBeforeMs: 50_000 }),
  });
  assert.deepEqual(decide([backingOff], 60_000).abandoned, []);
});

const failing: FailingTable = {
  readSnapshots: new Map([
    [1 as TableId, 7 as SnapshotId],
    [10 as TableId, 8 as SnapshotId],
  ]),
  missingPath: undefined,
  changedRetryAtMs: 2_000,
  retryAtMs: undefined,
};
const since = (from: number): Partial<ScheduleState> => ({ hasChanged: (_, at) => at <= from });

test("[TC20, TC21] what failures stopped is tried when what it read has changed, and the pause is over", () => {
  for (const status of ["FAILED", "SUSPENDED"] as const) {
    const one = table(10, [1], { status, failing });
    const tried = (nowMs: number, changes: Partial<ScheduleState> = {}) =>
      brief(decide([one], nowMs, changes)).targets;
    assert.deepEqual(tried(1e9), [], "the same rows fail again");
    assert.deepEqual(tried(2_000, since(7)), ["10 SCHEDULED"]);
    const early = decide([one], 1_999, since(7));
    assert.deepEqual([brief(early).targets, early.wakeAtMs], [[], 2_000]);
    const byHand = table(10, [1], { status });
    assert.deepEqual(brief(decide([byHand], 1e9, since(7))).targets, [], "a person's suspension");
    const moved = table(10, [2], { status, failing });
    assert.deepEqual(brief(decide([moved], 2_000)).targets, ["10 SCHEDULED"], "another source");
    const asked = table(10, [1], { status, failing, pending: requested });
    assert.deepEqual(brief(decide([asked], 1)).targets, ["10 MANUAL"], "somebody asks");
  }
});

test("[TC20] a file that is back, a source that was published, and time are reasons to try again", () => {
  const path = "t/a.parquet";
  const lost = table(10, [1], { status: "SUSPENDED", failing: { ...failing, missingPath: path } });
  assert.deepEqual(brief(decide([lost], 9_000)).targets, []);
  const isThere = (each: string) => each === path;
  assert.deepEqual(brief(decide([lost], 9_000, { isThere })).targets, ["10 SCHEDULED"]);
  const patient = table(10, [1], {
    status: "SUSPENDED",
    failing: { ...failing, retryAtMs: 5_000 },
  });
  assert.equal(decide([patient], 4_000).wakeAtMs, 5_000);
  assert.deepEqual(brief(decide([patient], 5_000)).targets, ["10 SCHEDULED"]);
  const below = (published: number, status: ScheduledTable["status"] = "ACTIVE") =>
    brief(
      decide(
        [
          table(10, [1], {
            ...downstream,
            publishedSnapshot: published as SnapshotId,
            dataSnapshot: 9 as SnapshotId,
            status,
          }),
          table(11, [10], { status: "FAILED", failing }),
        ],
        3_000,
      ),
    ).targets;
  assert.deepEqual(below(8), [], "it read just that");
  assert.deepEqual(below(9), ["11 SCHEDULED"]);
  assert.deepEqual(below(9, "FAILED"), [], "what it reads comes first");
});

test("[TC22] a target that failed makes way when a source changes, with its readers' and nobody else's", () => {
  const failed = targeted(7, { readyAtMs: 0, notBeforeMs: 60_000, attempts: 2 });
  const tables = (changes: Partial<ScheduledTable> = {}) => [
    table(10, [1], { failing, pending: failed, ...changes }),
    table(11, [10], { ...downstream, pending: targeted(7) }),
    table(12, [1], { ...downstream, pending: targeted(7) }),
    table(13, [11, 12], { ...downstream, pending: targeted(7) }),
  ];
  const abandoned = (changes: Partial<ScheduledTable> = {}, state = since(7)) =>
    decide(tables(changes), 10_000, state).abandoned;
  assert.deepEqual(abandoned({}, {}), [], "nothing has changed");
  assert.deepEqual(abandoned(), [10, 11, 13]);
  assert.deepEqual(abandoned({ isClaimed: true }), [], "somebody works on it");
  const fresh = { pending: targeted(8, { readyAtMs: 0 }) };
  assert.deepEqual(abandoned(fresh), [], "it has not been tried yet");
  assert.ok(brief(decide(tables(), 10_000, since(7))).targets.includes("10 SCHEDULED"));
});

test("[TS11] a request of this very moment waits for the next", () => {
  const one = table(10, [1], { ...downstream, pending: requested, requestedAtMs: 9_000 });
  const early = decide([one], 9_000);
  assert.deepEqual([brief(early).targets, early.wakeAtMs], [[], 9_001]);
  assert.deepEqual(brief(decide([one], 9_001)).targets, ["10 MANUAL"]);
});

test("[TS12] late is a table whose data is older than its target; suspended ones are not", () => {
  const lateness = (changes: Partial<ScheduledTable>, nowMs: number) =>
    decide([table(10, [1], changes)], nowMs).lateness;
  assert.deepEqual(lateness({}, 10_000), []);
  assert.deepEqual(lateness({}, 10_001), [{ tableId: 10, lateSinceMs: 10_000 }]);
  assert.deepEqual(lateness({ lateSinceMs: 10_000 }, 12_000), []);
  const fresh = { lateSinceMs: 10_000, dataTimeMs: 11_000 };
  assert.deepEqual(lateness(fresh, 12_000), [{ tableId: 10, lateSinceMs: undefined }]);
  assert.deepEqual(lateness({ status: "SUSPENDED" }, 99_000), []);
});
