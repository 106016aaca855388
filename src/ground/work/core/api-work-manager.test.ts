import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import type { QueryId } from "../../kernel/ids.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { type ApiWorkLimits, ApiWorkManager } from "./api-work-manager.ts";
import { keyOf } from "./assignment/index.ts";
import { answerOf, artifactOf } from "./ports.ts";
import type { ApiQueryObserver } from "./query-observer.ts";
import { FakeWorkerPool } from "./testing/fake-worker-pool.ts";
import { ManualFetcher } from "./testing/manual-fetcher.ts";
import { testArtifact, testWork } from "./testing/test-works.ts";

interface Bench {
  readonly clock: VirtualClock;
  readonly pool: FakeWorkerPool;
  readonly fetcher: ManualFetcher;
  readonly manager: ApiWorkManager;
  readonly observed: readonly (readonly unknown[])[];
}

function newBench(limits: Partial<ApiWorkLimits> = {}): Bench {
  const clock = new VirtualClock();
  const pool = new FakeWorkerPool();
  const fetcher = new ManualFetcher();
  const observed: unknown[][] = [];
  const observer = new Proxy<Partial<ApiQueryObserver>>(
    {},
    {
      get:
        (_, name) =>
        (...values: unknown[]) =>
          observed.push([name, ...values]),
    },
  );
  const manager = new ApiWorkManager({
    pool,
    fetcher,
    clock,
    logger: silentLogger,
    limits,
    observer,
  });
  return { clock, pool, fetcher, manager, observed };
}

const q1 = "q1" as QueryId;

function request(queryId = "q1", workIds = ["0"]): Parameters<ApiWorkManager["run"]>[0] {
  return {
    queryId: queryId as QueryId,
    works: workIds.map((workId) => testWork(queryId, workId)),
    deadlineMs: 1_000,
    text: `text of ${queryId}`,
  };
}

function fails(code: string): (thrown: unknown) => boolean {
  return (thrown) => {
    assert.ok(thrown instanceof OperatingError, String(thrown));
    assert.equal(thrown.code, code);
    return true;
  };
}

test("[QU54] an answer is committed as it comes: nothing is fetched or acknowledged, and a late one changes nothing", async () => {
  const { clock, pool, fetcher, manager } = newBench();
  const w1 = pool.up("w1");
  const running = manager.run(request("q1", ["0", "1"]));
  const answer = (workId: string, attempt: number, text: string): void =>
    pool.report(w1, {
      kind: "workAnswered",
      key: keyOf(testWork("q1", workId)),
      attempt,
      answer: new TextEncoder().encode(text),
    });
  answer("0", 2, "of no attempt that there was");
  answer("0", 1, "one");
  answer("0", 1, "another");
  assert.equal(manager.queue().depth, 1);
  answer("1", 1, "two");
  await clock.advance(0);
  const texts = (await running).map((result) => new TextDecoder().decode(answerOf(result)));
  assert.deepEqual(texts, ["one", "two"]);
  assert.throws(() => artifactOf(new Uint8Array()), fails("query_failed"));
  assert.deepEqual(pool.kinds(), ["assignWork", "assignWork"]);
  assert.equal(fetcher.alive.size, 0);
  assert.equal(manager.get(q1)?.state, "done");
  assert.equal(manager.get(q1)?.rowCount, undefined);
});

test("[QU10] a query's caller gets its artifacts, in the order of its works", async () => {
  const { clock, pool, fetcher, manager } = newBench();
  pool.up("w1");
  const committed: string[] = [];
  const running = manager.run({
    ...request("q1", ["0", "1"]),
    onCommitted: (work) => committed.push(work.workId),
  });
  const [first, second] = pool.sent;
  assert.ok(first?.command.kind === "assignWork" && second?.command.kind === "assignWork");
  for (const { workerId, command } of [second, first]) {
    assert.ok(command.kind === "assignWork");
    const { work, attempt } = command;
    const artifact = testArtifact(work.workId);
    pool.report(workerId, { kind: "workReady", key: keyOf(work), attempt, artifact });
  }
  fetcher.arrive(0);
  fetcher.arrive(1);
  await clock.advance(0);
  const artifacts = (await running).map(artifactOf);
  assert.deepEqual(
    artifacts.map(({ artifact }) => artifact.workId),
    ["0", "1"],
  );
  assert.deepEqual(committed, ["1", "0"], "as they arrive");
  assert.deepEqual(pool.kinds().slice(2), ["ackArtifact", "ackArtifact"]);
  assert.equal(fetcher.alive.size, 2, "they are the caller's now");
  assert.equal(manager.get(q1)?.state, "done");
  assert.equal(clock.pendingCount, 0, "no timer is left");
});

test("[QU56] a rehearsal is executed, and nothing tells of it", async () => {
  const { clock, pool, fetcher, manager, observed } = newBench();
  const counts = manager.counts();
  pool.up("w1");
  const running = manager.run({ ...request(), isRehearsal: true });
  assert.deepEqual([manager.counts(), manager.list(), manager.queue().depth], [counts, [], 0]);
  pool.ready();
  fetcher.arrive(0);
  await clock.advance(0);
  assert.equal((await running).length, 1);
  assert.deepEqual(pool.kinds(), ["assignWork", "ackArtifact"]);
  const lost = manager.run({ ...request("q2"), isRehearsal: true });
  lost.catch(() => undefined);
  pool.up("w2");
  pool.down(pool.lastAssigned().workerId);
  manager.cancel("q2" as QueryId);
  await assert.rejects(lost, fails("cancelled"));
  assert.deepEqual([manager.counts(), manager.list(), manager.queue().depth], [counts, [], 0]);
  assert.deepEqual(observed, [["workReassigned", "worker_lost"]]);
});

test("[QU10] a query without works is done at once", async () => {
  const { manager } = newBench();
  assert.deepEqual(await manager.run(request("q1", [])), []);
});

test("[QU10] a failure that another try cannot cure fails the query, and its siblings are cancelled", async () => {
  const { clock, pool, fetcher, manager } = newBench();
  pool.up("w1");
  const running = manager.run(request("q1", ["0", "1"]));
  const details = { hint: "Name it.", number: 2000, position: { line: 3, column: 1 } };
  const [first, second] = pool.sent;
  assert.ok(first?.command.kind === "assignWork" && second?.command.kind === "assignWork");
  const key = keyOf(second.command.work);
  const artifact = testArtifact("1");
  pool.report(second.workerId, { kind: "workReady", key, attempt: 1, artifact });
  fetcher.arrive();
  await clock.advance(0);
  pool.report(first.workerId, {
    kind: "workFailed",
    key: keyOf(first.command.work),
    attempt: 1,
    code: "bad_request",
    message: "no such column",
    retryable: false,
    ...details,
  });
  await assert.rejects(running, { code: "bad_request", ...details });
  assert.equal(fetcher.alive.size, 0, "what was committed is deleted");
  assert.deepEqual(manager.get(q1)?.error, { code: "bad_request", message: "no such column" });
});

test("[QU10] a code that this version does not know is named in the message", async () => {
  const { pool, manager } = newBench();
  pool.up("w1");
  const running = manager.run(request());
  const { workerId, command } = pool.lastAssigned();
  pool.report(workerId, {
    kind: "workFailed",
    key: keyOf(command.work),
    attempt: 1,
    code: "from_the_future",
    message: "odd",
    retryable: false,
  });
  await assert.rejects(running, /odd \(from_the_future\)/);
});

test("[QU11] a completion that nobody waits for is acknowledged, and its copy deleted", async () => {
  const { clock, pool, fetcher, manager } = newBench();
  pool.up("w1");
  const running = manager.run(request());
  pool.ready();
  assert.equal(manager.cancel(q1), true);
  await assert.rejects(running, fails("cancelled"));
  assert.equal(fetcher.fetches[0]?.signal.aborted, true);
  fetcher.arrive(); // Too late to stop.
  await clock.advance(0);
  assert.equal(fetcher.alive.size, 0);
  const late = testArtifact("0");
  pool.report(pool.lastAssigned().workerId, {
    kind: "workReady",
    key: keyOf(testWork("q1")),
    attempt: 1,
    artifact: late,
  });
  assert.equal(pool.kinds().at(-1), "ackArtifact");
});

for (const code of ["artifact_lost", "artifact_corrupt"] as const) {
  test(`[QU2] [QU8] ${code}: the work is executed anew, elsewhere`, async () => {
    const { clock, pool, fetcher, manager, observed } = newBench();
    pool.up("w1");
    pool.up("w2");
    const running = manager.run(request());
    const first = pool.lastAssigned().workerId;
    pool.ready();
    fetcher.fail(new OperatingError(code, "backoff", "gone"));
    await clock.advance(0);
    const second = pool.lastAssigned();
    assert.notEqual(second.workerId, first);
    assert.equal(second.command.attempt, 2);
    pool.ready();
    fetcher.arrive();
    await clock.advance(0);
    assert.equal((await running).length, 1);
    const names = observed.map(([name]) => name);
    assert.equal(names.includes("checksumMismatch"), code === "artifact_corrupt");
    assert.ok(names.includes("workReassigned"));
    assert.equal(manager.get(q1)?.attempts, 2);
  });
}

test("[QU8] an artifact that expired or was evicted on its worker is executed anew", async () => {
  const { clock, pool, fetcher, manager } = newBench();
  pool.up("w1");
  const running = manager.run(request());
  pool.ready();
  const { workerId, command } = pool.lastAssigned();
  pool.report(workerId, {
    kind: "workFailed",
    key: keyOf(command.work),
    attempt: 1,
    code: "artifact_lost",
    message: "the artifact expired before it was fetched",
    retryable: true,
  });
  assert.equal(fetcher.fetches[0]?.signal.aborted, true);
  assert.equal(pool.lastAssigned().command.attempt, 2);
  pool.ready();
  fetcher.arrive();
  await clock.advance(0);
  assert.equal((await running).length, 1);
});

test("[QU12] past its deadline a query fails, is cancelled on its worker, and says why", async () => {
  const { clock, pool, manager } = newBench();
  const alone = assert.rejects(manager.run(request("q0")), (thrown) => {
    assert.ok(thrown instanceof OperatingError);
    assert.match(thrown.hint ?? "", /no worker is connected/);
    return fails("deadline_exceeded")(thrown);
  });
  await clock.advance(1_000);
  await alone;
  const workerId = pool.up("w1");
  const running = assert.rejects(manager.run(request()), fails("deadline_exceeded"));
  pool.accept();
  await clock.advance(999);
  assert.equal(manager.get(q1)?.state, "running");
  await clock.advance(1);
  await running;
  assert.deepEqual(pool.sent.at(-1), {
    workerId,
    command: { kind: "cancelWork", key: keyOf(testWork("q1")), attempt: 1 },
  });
  assert.equal(manager.get(q1)?.state, "failed");
});

test("[QU12] past its deadline a query says that the workers' disks are full", async () => {
  const { clock, pool, manager } = newBench();
  const workerId = pool.up("w1");
  const running = assert.rejects(manager.run(request()), (thrown) => {
    assert.ok(thrown instanceof OperatingError);
    assert.match(thrown.hint ?? "", /disks of all workers are full/);
    return fails("deadline_exceeded")(thrown);
  });
  pool.accept();
  const failure = { code: "disk_full", message: "no space", retryable: true };
  pool.admission(workerId, false, false);
  pool.report(workerId, { kind: "workFailed", key: keyOf(testWork("q1")), attempt: 1, ...failure });
  await clock.advance(1_000);
  await running;
});

for (const [code, what] of [
  ["data_corrupt", "damaged"],
  ["store_corrupt", "missing"],
] as const) {
  test(`[LK52] a work that fails with ${code} is told at once as ${what} data`, async () => {
    const { pool, manager, observed } = newBench();
    const workerId = pool.up("w1");
    const running = assert.rejects(manager.run(request()), fails(code));
    pool.accept();
    const failure = { code, message: "segment s1 is not what it was", retryable: false };
    const key = keyOf(testWork("q1"));
    pool.report(workerId, { kind: "workFailed", key, attempt: 1, ...failure });
    await running;
    const told = observed.filter(([name]) => name === "dataCorrupt");
    assert.deepEqual(told, [["dataCorrupt", what, failure.message]]);
  });
}

test("[QU12] the deadline is for the artifacts, not for reading them", async () => {
  const { clock, pool, fetcher, manager } = newBench();
  pool.up("w1");
  const handle = manager.open(request());
  pool.ready();
  fetcher.arrive();
  await clock.advance(5_000);
  assert.equal(handle.signal.aborted, false);
  assert.equal(manager.get(q1)?.state, "running");
  handle.finish();
  handle.finish();
  assert.equal(manager.get(q1)?.state, "done");
  assert.equal(manager.counts().completedTotal, 1);
});

test("[QU13] a caller that goes away cancels its query at once", async () => {
  const { pool, manager } = newBench();
  pool.up("w1");
  const gone = new AbortController();
  const running = manager.run(request(), gone.signal);
  pool.accept();
  gone.abort();
  assert.equal(pool.kinds().at(-1), "cancelWork");
  await assert.rejects(running, fails("cancelled"));
  assert.equal(manager.get(q1)?.state, "cancelled");
  await assert.rejects(manager.run(request("q2"), gone.signal), fails("cancelled"));
});

test("[QU13] a query that is being read can be cancelled too", async () => {
  const { clock, pool, fetcher, manager } = newBench();
  pool.up("w1");
  const handle = manager.open(request());
  pool.ready();
  fetcher.arrive();
  await clock.advance(0);
  assert.equal(manager.cancel(q1, "enough"), true);
  assert.equal(handle.signal.aborted, true);
  assert.ok(handle.signal.reason instanceof OperatingError);
  assert.equal(handle.signal.reason.message, "enough");
  assert.equal((await handle.artifacts).length, 1, "the caller owns them, and deletes them");
  assert.equal(manager.cancel(q1), false);
  assert.equal(manager.get(q1)?.state, "cancelled");
});

test("[QU13] a callback may cancel the query that called it", async () => {
  const { clock, pool, fetcher, manager } = newBench();
  pool.up("w1");
  const running = manager.run({
    ...request("q1", ["0", "1"]),
    onCommitted: () => manager.cancel(q1),
  });
  const cancelled = assert.rejects(running, fails("cancelled"));
  pool.ready();
  fetcher.arrive();
  await clock.advance(0);
  await cancelled;
  assert.equal(fetcher.alive.size, 0);
});

test("[QU14] the work of a lost worker moves at once, fetches included", async () => {
  const { clock, pool, fetcher, manager } = newBench();
  const w1 = pool.up("w1");
  const running = manager.run(request());
  pool.ready();
  const w2 = pool.up("w2");
  pool.down(w1);
  assert.equal(fetcher.fetches[0]?.signal.aborted, true);
  assert.equal(pool.lastAssigned().workerId, w2);
  pool.ready();
  fetcher.arrive(1);
  await clock.advance(0);
  assert.equal((await running).length, 1);
});

test("[QU15] too many queries, works or ids in use are refused", async () => {
  const { manager } = newBench({ queriesMax: 2, worksMax: 3 });
  const first = manager.run(request("q1", ["0", "1"]));
  await assert.rejects(manager.run(request("q1")), fails("already_exists"));
  await assert.rejects(manager.run(request("q2", ["0", "1"])), fails("overloaded"));
  const third = manager.run(request("q3"));
  await assert.rejects(manager.run(request("q4")), fails("overloaded"));
  manager.cancel(q1);
  manager.cancel("q3" as QueryId);
  await assert.rejects(first, fails("cancelled"));
  await assert.rejects(third, fails("cancelled"));
  assert.equal(manager.queue().depth, 0);
});

test("[QU15] work that would not fit into a frame never gets on a session", async () => {
  const { pool, manager } = newBench({ bodyLengthMax: 100 });
  pool.up("w1");
  const works = [testWork("q1", "0", "x".repeat(101))];
  await assert.rejects(manager.run({ ...request(), works }), fails("query_too_large"));
  assert.deepEqual(pool.sent, []);
});

test("[QU15] fetches are bounded; the others wait their turn", async () => {
  const { clock, pool, fetcher, manager } = newBench({ fetchesMax: 1 });
  pool.up("w1");
  const first = manager.run(request("q1"));
  pool.ready();
  const second = manager.run(request("q2"));
  pool.ready();
  const third = manager.run(request("q3"));
  pool.ready();
  assert.equal(fetcher.fetches.length, 1);
  manager.cancel("q2" as QueryId);
  await assert.rejects(second, fails("cancelled"));
  fetcher.arrive(0);
  await clock.advance(0);
  assert.equal(fetcher.fetches.length, 2, "the cancelled one is skipped");
  fetcher.arrive(1);
  await clock.advance(0);
  await Promise.all([first, third]);
});

test("[QU16] running queries and the last that ended are listed, newest first", async () => {
  const { clock, pool, manager } = newBench({ recordsMax: 2 });
  for (const queryId of ["q1", "q2", "q3"]) {
    const running = manager.run(request(queryId));
    await clock.advance(10);
    manager.cancel(queryId as QueryId);
    await assert.rejects(running);
  }
  pool.up("w1");
  manager.run(request("q4")).catch(() => undefined);
  pool.accept();
  await clock.advance(7);
  manager.run({ ...request("q5"), text: "x".repeat(2_000) }).catch(() => undefined);
  const records = manager.list();
  assert.deepEqual(
    records.map(({ queryId, state }) => [queryId, state]),
    [
      ["q5", "queued"],
      ["q4", "running"],
      ["q3", "cancelled"],
      ["q2", "cancelled"],
    ],
  );
  assert.equal(records[0]?.text.length, 1_001);
  const q4 = records[1];
  assert.deepEqual(
    [q4?.kind, q4?.text, q4?.durationMs, q4?.workerId, q4?.attempts],
    ["test", "text of q4", 7, "w1", 1],
  );
  manager.close();
});

test("[QU17] depth and oldest age of the queue are of works that no worker has accepted", async () => {
  const { clock, pool, manager } = newBench();
  manager.run(request("q1")).catch(() => undefined);
  await clock.advance(100);
  manager.run(request("q2")).catch(() => undefined);
  await clock.advance(50);
  assert.deepEqual(manager.queue(), { depth: 2, oldestAgeMs: 150 });
  const w1 = pool.up("w1");
  const [first] = pool.sent;
  assert.ok(first?.command.kind === "assignWork");
  pool.report(w1, { kind: "workAccepted", key: keyOf(first.command.work), attempt: 1 });
  assert.deepEqual(manager.queue(), { depth: 1, oldestAgeMs: 50 });
  pool.down(w1);
  await clock.advance(10);
  assert.deepEqual(manager.queue(), { depth: 2, oldestAgeMs: 60 });
  manager.close();
  assert.deepEqual(manager.queue(), { depth: 0, oldestAgeMs: 0 });
});

test("[QU17] a worker that turned work away is asked again after a while", async () => {
  const { clock, pool, manager } = newBench({ resyncMs: 500 });
  const w1 = pool.up("w1");
  manager.run(request()).catch(() => undefined);
  const key = keyOf(testWork("q1"));
  pool.report(w1, { kind: "workRejected", key, attempt: 1, reason: "queue_full" });
  assert.equal(pool.sent.length, 1);
  await clock.advance(500);
  assert.equal(pool.lastAssigned().command.attempt, 2);
  manager.close();
  assert.equal(clock.pendingCount, 0);
});

test("[QU18] closing cancels everything and refuses what comes", async () => {
  const { clock, pool, fetcher, manager } = newBench();
  pool.up("w1");
  const read = manager.open(request("q1"));
  pool.ready();
  fetcher.arrive();
  await clock.advance(0);
  const running = manager.run(request("q2"));
  manager.close();
  manager.close();
  await assert.rejects(running, fails("shutting_down"));
  assert.equal(read.signal.aborted, true);
  assert.throws(() => manager.open(request("q3")), fails("shutting_down"));
  assert.equal(clock.pendingCount, 0);
});

test("[QU19] what the spec wants measured is observed", async () => {
  const { clock, pool, fetcher, manager, observed } = newBench();
  pool.up("w1");
  const running = manager.run(request());
  await clock.advance(5);
  pool.accept();
  await clock.advance(10);
  pool.ready();
  await clock.advance(3);
  fetcher.arrive();
  await clock.advance(0);
  await running;
  await clock.advance(0);
  const key = keyOf(testWork("q1"));
  assert.deepEqual(observed, [
    ["queryStarted", "test"],
    ["workAssigned", "w1", true],
    ["workAccepted", "w1", 5, key],
    ["artifactFetched", 0, 3, 10, key],
    ["firstResult", "test", 18],
    ["queryEnded", "test", "done", 18, undefined],
  ]);
});
