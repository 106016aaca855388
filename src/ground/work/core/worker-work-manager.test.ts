import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { answerBytesMax, contentBytesMax, keyOf, type WorkReport } from "./assignment/index.ts";
import { ExecutorBroken, type WorkReporter } from "./ports.ts";
import type { WorkerQueryObserver } from "./query-observer.ts";
import { ManualExecutor } from "./testing/manual-executor.ts";
import { MemoryArtifactSpool } from "./testing/memory-artifact-spool.ts";
import { testWork } from "./testing/test-works.ts";
import { type WorkerWorkLimits, WorkerWorkManager } from "./worker-work-manager.ts";

class RecordingReporter implements WorkReporter {
  readonly reports: { readonly session: string; readonly report: WorkReport }[] = [];
  readonly admissions: { readonly accepting: boolean; readonly draining: boolean }[] = [];

  report(session: string, report: WorkReport): boolean {
    this.reports.push({ session, report });
    return true;
  }

  setAdmission(admission: { readonly accepting: boolean; readonly draining: boolean }): void {
    this.admissions.push(admission);
  }

  kinds(): readonly string[] {
    return this.reports.map(({ report }) => report.kind);
  }
}

function newBench(limits: Partial<WorkerWorkLimits> = {}, capacityBytes = 1_000) {
  const clock = new VirtualClock();
  const executor = new ManualExecutor();
  const spool = new MemoryArtifactSpool(capacityBytes);
  const reporter = new RecordingReporter();
  const observed: unknown[][] = [];
  const observer = new Proxy<Partial<WorkerQueryObserver>>(
    {},
    {
      get:
        (_, name) =>
        (...values: unknown[]) =>
          observed.push([name, ...values]),
    },
  );
  const manager = new WorkerWorkManager({
    executor,
    spool,
    clock,
    logger: silentLogger,
    dataUrl: () => "http://127.0.0.1:1",
    limits: { slots: 1, queueMax: 1, ...limits },
    observer,
  });
  manager.attach(reporter);
  const settle = (): Promise<void> => clock.advance(0);
  return { clock, executor, spool, reporter, manager, observed, settle };
}

const work = testWork("q1");
const key = keyOf(work);

test("[QU1] [QU20] accepted work is executed and its artifact offered, with all eight fields", async () => {
  const { executor, spool, reporter, manager, settle } = newBench();
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  assert.deepEqual(reporter.kinds(), ["workAccepted"], "before it is executed");
  await settle();
  executor.produce(10);
  await settle();
  const [name] = spool.names;
  assert.deepEqual(reporter.reports.at(-1), {
    session: "s",
    report: {
      kind: "workReady",
      key,
      attempt: 1,
      artifact: {
        workId: "0",
        url: `http://127.0.0.1:1/artifacts/${name}`,
        sizeBytes: 10,
        checksum: `sha256:${"0".repeat(64)}`,
        rowCount: 3,
        minTs: 1,
        maxTs: 2,
        schemaVersion: 1,
      },
    },
  });
  assert.deepEqual(spool.stat(name ?? ""), { content: name, sizeBytes: 10, key });
});

test("[QU55] few bytes travel with the first offer; the artifact stays until it is acknowledged", async () => {
  const { executor, spool, reporter, manager, settle } = newBench({}, 1_000_000);
  const contentOf = async (sizeBytes: number, attempt: number) => {
    manager.obey("s", { kind: "assignWork", work, attempt });
    await settle();
    executor.produceBytes(new Uint8Array(sizeBytes).fill(7));
    await settle();
    return offered().content;
  };
  const offered = () => {
    const { report } = reporter.reports.at(-1) ?? {};
    assert.ok(report?.kind === "workReady");
    return report.artifact;
  };
  assert.deepEqual(await contentOf(contentBytesMax, 1), new Uint8Array(contentBytesMax).fill(7));
  assert.deepEqual([spool.names.length, manager.counts().ready], [1, 1]);
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  assert.equal(offered().content, undefined, "the second offer is fetched");
  manager.obey("s", { kind: "ackArtifact", key, attempt: 1 });
  await manager.whenIdle();
  assert.equal(await contentOf(contentBytesMax + 1, 2), undefined);
});

test("[QU54] a small answer is reported, and nothing of it is kept; one that is too large fails", async () => {
  const { executor, spool, reporter, manager, settle } = newBench();
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  await settle();
  executor.answer(new Uint8Array([1, 2]));
  await settle();
  const report = { kind: "workAnswered", key, attempt: 1, answer: new Uint8Array([1, 2]) };
  assert.deepEqual(reporter.reports.at(-1)?.report, report);
  assert.deepEqual([spool.names, manager.counts().ready], [[], 0]);
  await manager.whenIdle();
  manager.obey("s", { kind: "assignWork", work: testWork("q2"), attempt: 1 });
  await settle();
  executor.answer(new Uint8Array(answerBytesMax + 1));
  await settle();
  const failed = reporter.reports.at(-1)?.report;
  assert.ok(failed?.kind === "workFailed");
  assert.deepEqual([failed.code, failed.retryable], ["query_too_large", false]);
  assert.deepEqual(spool.names, []);
});

test("[QU54] cancelled while it executes, an answer is not reported", async () => {
  const { executor, spool, reporter, manager, settle } = newBench();
  executor.endsOnAbort = false;
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  await settle();
  manager.obey("s", { kind: "cancelWork", key, attempt: 1 });
  executor.answer(new Uint8Array());
  await settle();
  assert.deepEqual(reporter.kinds(), ["workAccepted"]);
  assert.deepEqual([spool.names, manager.counts().executing], [[], 0]);
});

test("[QU3] times that no frame can carry are left out: they would end the session", async () => {
  const { executor, reporter, manager, settle } = newBench();
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  await settle();
  executor.range = { minTs: -1e303, maxTs: 2.5 };
  executor.produce();
  await settle();
  const { report } = reporter.reports.at(-1) ?? {};
  assert.ok(report?.kind === "workReady");
  assert.deepEqual([report.artifact.minTs, report.artifact.maxTs], [undefined, undefined]);
});

test("[QU20] what fits neither a slot nor the queue is rejected; the next starts when a slot is free", async () => {
  const { executor, reporter, manager, settle } = newBench();
  manager.obey("s", { kind: "assignWork", work: testWork("q1"), attempt: 1 });
  manager.obey("s", { kind: "assignWork", work: testWork("q2"), attempt: 1 });
  manager.obey("s", { kind: "assignWork", work: testWork("q3"), attempt: 1 });
  await settle();
  assert.deepEqual(reporter.kinds(), ["workAccepted", "workAccepted", "workRejected"]);
  assert.deepEqual(reporter.admissions, [{ accepting: false, draining: false }]);
  assert.deepEqual(manager.counts(), {
    queued: 1,
    oldestQueuedMs: 0,
    executing: 1,
    ready: 0,
    completedTotal: 0,
    failedTotal: 0,
  });
  executor.produce();
  await settle();
  assert.equal(executor.executions.length, 2);
  assert.deepEqual(reporter.admissions.at(-1), { accepting: true, draining: false });
});

test("[QP14] a worker knows how long the first in its queue has waited, cancelled ones not counted", async () => {
  const { clock, executor, manager, settle } = newBench({ queueMax: 3 });
  manager.obey("s", { kind: "assignWork", work: testWork("q1"), attempt: 1 });
  await clock.advance(1_000);
  manager.obey("s", { kind: "assignWork", work: testWork("q2"), attempt: 1 });
  await clock.advance(1_000);
  manager.obey("s", { kind: "assignWork", work: testWork("q3"), attempt: 1 });
  await clock.advance(500);
  assert.equal(manager.counts().oldestQueuedMs, 1_500);
  manager.obey("s", { kind: "cancelWork", key: testWork("q2"), attempt: 1 });
  assert.equal(manager.counts().oldestQueuedMs, 500);
  executor.produce();
  await settle();
  assert.deepEqual([manager.counts().queued, manager.counts().oldestQueuedMs], [0, 0]);
});

test("[QU7] an artifact goes 10 minutes after it was offered, and the work may be tried again", async () => {
  const { clock, executor, spool, reporter, manager, observed, settle } = newBench();
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  await settle();
  executor.produce();
  await settle();
  assert.equal(clock.pendingCount, 1, "one timer");
  await clock.advance(599_999);
  assert.equal(spool.names.length, 1);
  await clock.advance(1);
  assert.equal(spool.names.length, 0);
  const last = reporter.reports.at(-1)?.report;
  assert.ok(last?.kind === "workFailed");
  assert.deepEqual([last.code, last.retryable], ["artifact_lost", true]);
  assert.deepEqual(
    observed.findLast(([name]) => name === "artifactCleaned"),
    ["artifactCleaned", "ttl"],
  );
  assert.equal(clock.pendingCount, 0);
});

test("[QU7] an acknowledged artifact goes after 30 seconds, whatever expires later", async () => {
  const { clock, executor, spool, manager, observed, settle } = newBench({ slots: 2 });
  for (const queryId of ["q1", "q2"]) {
    manager.obey("s", { kind: "assignWork", work: testWork(queryId), attempt: 1 });
    await settle();
    executor.produce();
    await settle();
  }
  await clock.advance(1_000);
  manager.obey("s", { kind: "ackArtifact", key, attempt: 1 });
  await clock.advance(29_999);
  assert.equal(spool.names.length, 2);
  await clock.advance(1);
  assert.equal(spool.names.length, 1);
  assert.deepEqual(
    observed.findLast(([name]) => name === "artifactCleaned"),
    ["artifactCleaned", "acked"],
  );
  await clock.advance(570_000 - 1_000);
  assert.equal(spool.names.length, 0);
});

test("[QU21] a lost session's work is aborted, its artifacts deleted, and nothing reported", async () => {
  const { executor, spool, reporter, manager, settle } = newBench({ slots: 2 });
  manager.obey("s", { kind: "assignWork", work: testWork("q1"), attempt: 1 });
  await settle();
  executor.produce();
  await settle();
  manager.obey("s", { kind: "assignWork", work: testWork("q2"), attempt: 1 });
  manager.obey("other", { kind: "assignWork", work: testWork("q3"), attempt: 1 });
  await settle();
  const before = reporter.reports.length;
  manager.sessionLost("s");
  await settle();
  assert.equal(executor.executions[1]?.signal.aborted, true);
  assert.equal(executor.executions[2]?.signal.aborted, false);
  assert.equal(spool.names.length, 1, "the slot of the other session's");
  assert.equal(reporter.reports.length, before);
});

test("[QU22] a cancelled execution keeps its slot until it has stopped", async () => {
  const { clock, executor, spool, reporter, manager, observed, settle } = newBench();
  executor.endsOnAbort = false;
  manager.obey("s", { kind: "assignWork", work: testWork("q1"), attempt: 1 });
  manager.obey("s", { kind: "assignWork", work: testWork("q2"), attempt: 1 });
  await settle();
  manager.obey("s", { kind: "cancelWork", key, attempt: 1 });
  await clock.advance(40);
  assert.equal(executor.executions.length, 1);
  executor.fail(new OperatingError("cancelled", "never", "stopped"));
  await settle();
  assert.equal(executor.executions.length, 2);
  assert.equal(spool.names.length, 1);
  assert.deepEqual(reporter.kinds(), ["workAccepted", "workAccepted"]);
  assert.deepEqual(observed.find(([name]) => name === "executionCancelled")?.slice(0, 3), [
    "executionCancelled",
    "test",
    40,
  ]);
});

test("[QU22] an execution that was done before its cancellation reached it leaves nothing", async () => {
  const { executor, spool, manager, settle } = newBench();
  executor.endsOnAbort = false;
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  await settle();
  manager.obey("s", { kind: "cancelWork", key, attempt: 1 });
  executor.produce();
  await settle();
  assert.deepEqual(spool.names, []);
  assert.equal(manager.counts().completedTotal, 0);
});

test("[QU22] work that is cancelled before it started is never executed", async () => {
  const { executor, spool, manager, settle } = newBench();
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  manager.obey("s", { kind: "cancelWork", key, attempt: 1 });
  await settle();
  assert.equal(executor.executions.length, 0);
  assert.deepEqual(spool.names, []);
  assert.equal(manager.counts().executing, 0);
});

const windowless = { hint: "Add one.", number: 3014, position: { line: 1, column: 8 } };
const failures = [
  { thrown: new OperatingError("bad_sql", "never", "no"), code: "bad_sql", retryable: false },
  {
    thrown: new OperatingError("overloaded", "backoff", "no"),
    code: "overloaded",
    retryable: true,
  },
  { thrown: new Error("no"), code: "query_failed", retryable: false },
  {
    thrown: new OperatingError("bad_request", "never", "no", windowless),
    code: "bad_request",
    retryable: false,
    details: windowless,
  },
];
for (const { thrown, code, retryable, details } of failures) {
  test(`[QU23] an execution that fails with ${code} is reported as it is`, async () => {
    const { executor, spool, reporter, manager, settle } = newBench();
    manager.obey("s", { kind: "assignWork", work, attempt: 1 });
    await settle();
    executor.fail(thrown);
    await settle();
    const report = { kind: "workFailed", key, attempt: 1, code, message: "no", retryable };
    assert.deepEqual(reporter.reports.at(-1), { session: "s", report: { ...report, ...details } });
    assert.deepEqual(spool.names, []);
    assert.equal(manager.counts().failedTotal, 1);
  });
}

test("[QU48] of an executor that broke no word is said, and nothing else is started on it", async () => {
  const { executor, spool, reporter, manager, settle } = newBench();
  manager.obey("s", { kind: "assignWork", work: testWork("q1"), attempt: 1 });
  manager.obey("s", { kind: "assignWork", work: testWork("q2"), attempt: 1 });
  await settle();
  executor.fail(new ExecutorBroken("the engine broke"));
  await settle();
  assert.deepEqual(reporter.kinds(), ["workAccepted", "workAccepted"]);
  assert.equal(executor.executions.length, 1);
  assert.deepEqual(spool.names, []);
  manager.close();
  await settle();
});

test("[QU23] a message of any length fits into a frame, with its beginning and its end", async () => {
  const { executor, reporter, manager, settle } = newBench();
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  await settle();
  executor.fail(new OperatingError("bad_sql", "never", `begin ${"x".repeat(1_000_000)} end`));
  await settle();
  const report = reporter.reports.at(-1)?.report;
  assert.ok(report?.kind === "workFailed");
  assert.ok(report.message.length < 5_000);
  assert.match(report.message, /^begin x+ … x+ end$/);
});

test("[QU24] a full disk is to be tried elsewhere, and the worker pauses", async () => {
  const { clock, executor, spool, reporter, manager, settle } = newBench({}, 100);
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  await settle();
  executor.produce(95); // Above the high watermark.
  await settle();
  const last = reporter.reports.at(-1)?.report;
  assert.ok(last?.kind === "workFailed");
  assert.deepEqual([last.code, last.retryable], ["disk_full", true]);
  assert.deepEqual(spool.names, []);
  assert.deepEqual(reporter.admissions, [{ accepting: false, draining: false }]);
  manager.obey("s", { kind: "assignWork", work: testWork("q2"), attempt: 1 });
  assert.equal(reporter.kinds().at(-1), "workRejected");
  await clock.advance(2_000);
  assert.deepEqual(reporter.admissions.at(-1), { accepting: true, draining: false });
});

test("[QU25] draining finishes what was accepted, fetch and acknowledgement included", async () => {
  const { executor, reporter, manager, settle } = newBench();
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  manager.setDraining(true);
  assert.deepEqual(reporter.admissions, [{ accepting: false, draining: true }]);
  manager.obey("s", { kind: "assignWork", work: testWork("q2"), attempt: 1 });
  const rejected = reporter.reports.at(-1)?.report;
  assert.ok(rejected?.kind === "workRejected" && rejected.reason === "draining");
  let idle = false;
  const waiting = manager.whenIdle().then(() => {
    idle = true;
  });
  await settle();
  executor.produce();
  await settle();
  assert.equal(idle, false, "not yet fetched");
  manager.obey("s", { kind: "ackArtifact", key, attempt: 1 });
  await waiting;
  await manager.whenIdle();
});

test("[QU26] [QU8] an artifact that is evicted before it was fetched may be tried again", async () => {
  const { executor, spool, reporter, manager, observed, settle } = newBench({}, 100);
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  await settle();
  executor.produce(60);
  await settle();
  manager.obey("s", { kind: "assignWork", work: testWork("q2"), attempt: 1 });
  await settle();
  executor.produce(60);
  await settle();
  assert.equal(spool.names.length, 1);
  const failed = reporter.reports.find(({ report }) => report.kind === "workFailed")?.report;
  assert.ok(failed?.kind === "workFailed");
  assert.deepEqual([failed.key, failed.code, failed.retryable], [key, "artifact_lost", true]);
  assert.deepEqual(
    observed.find(([name]) => name === "artifactCleaned"),
    ["artifactCleaned", "evicted"],
  );
  assert.equal(reporter.kinds().filter((kind) => kind === "workReady").length, 2);
});

test("[QU26] an acknowledged artifact is evicted without a word, before one that is wanted", async () => {
  const { executor, spool, reporter, manager, settle } = newBench({}, 100);
  for (const queryId of ["q1", "q2", "q3"]) {
    manager.obey("s", { kind: "assignWork", work: testWork(queryId), attempt: 1 });
    await settle();
    executor.produce(40);
    await settle();
    if (queryId === "q2")
      manager.obey("s", { kind: "ackArtifact", key: keyOf(testWork("q2")), attempt: 1 });
  }
  assert.deepEqual(spool.names, ["memory-1", "memory-3"]);
  assert.equal(reporter.kinds().includes("workFailed"), false);
});

test("[QU21] closing aborts and deletes everything", async () => {
  const { clock, executor, spool, manager, settle } = newBench({ slots: 2 });
  manager.obey("s", { kind: "assignWork", work: testWork("q1"), attempt: 1 });
  await settle();
  executor.produce();
  await settle();
  manager.obey("s", { kind: "assignWork", work: testWork("q2"), attempt: 1 });
  await settle();
  manager.close();
  await settle();
  assert.deepEqual(spool.names, []);
  assert.equal(clock.pendingCount, 0);
  await manager.whenIdle();
});

test("[QU27] what the spec wants measured is observed", async () => {
  const { clock, executor, manager, observed, settle } = newBench();
  manager.obey("s", { kind: "assignWork", work, attempt: 1 });
  await clock.advance(12);
  executor.produce(10);
  await settle();
  assert.deepEqual(observed, [
    ["workerQueueChanged", 0, 1],
    ["executionEnded", "test", "done", 12, undefined, work],
    ["workerQueueChanged", 0, 0],
    ["spoolChanged", 10, 890],
  ]);
});
