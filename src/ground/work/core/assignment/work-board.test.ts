import assert from "node:assert/strict";
import { test } from "node:test";
import { AssertionError } from "../../../kernel/errors.ts";
import type { WorkSpec } from "./messages.ts";
import { rankWorkers } from "./rendezvous.ts";
import { accepting, BoardDriver, draining, notAccepting } from "./testing/board-driver.ts";
import { queryId, sampleSpec, workerId } from "./testing/samples.ts";
import { WorkBoard } from "./work-board.ts";

/** An affinity key whose ranking of the workers starts with `wanted`. */
function keyFor(...wanted: readonly string[]): string {
  const workers = wanted.map(workerId);
  for (let index = 0; ; index += 1) {
    const ranked = rankWorkers(`key-${index}`, workers);
    if (ranked.every((worker, rank) => worker === wanted[rank])) return `key-${index}`;
  }
}

const w1 = sampleSpec("q", "w1", keyFor("a", "b", "c"));
const w2 = sampleSpec("q", "w2", keyFor("a", "b", "c"));
const w3 = sampleSpec("q", "w3", keyFor("b", "a", "c"));

/** A board with workers up. */
function boardWith(...workers: readonly string[]): BoardDriver {
  const driver = new BoardDriver();
  for (const worker of workers) driver.up(worker);
  return driver;
}

test("[WC17] one item, from submission to commit", () => {
  const board = boardWith("a");
  assert.deepEqual(board.submit("q", w1), ["a:assign#1(w1)"]);
  assert.deepEqual(board.accepted("a", w1), []);
  assert.deepEqual(board.board.counts(), {
    queued: 0,
    assigned: 0,
    running: 1,
    ready: 0,
    queries: 1,
  });
  assert.deepEqual(board.ready("a", w1), ["fetch#1(w1)"]);
  assert.deepEqual(board.fetched(w1), ["commit#1(w1)", "a:ack#1(w1)", "done(q)"]);
  assert.deepEqual(board.board.counts(), {
    queued: 0,
    assigned: 0,
    running: 0,
    ready: 0,
    queries: 0,
  });
  assert.deepEqual(board.board.snapshot().works, []);
});

test("[WC17] a query without work is done at once", () => {
  assert.deepEqual(new BoardDriver().submit("q"), ["done(q)"]);
});

test("[WC17] a query is done when its last item is committed", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1, w3);
  board.ready("a", w1);
  assert.deepEqual(board.fetched(w1), ["commit#1(w1)", "a:ack#1(w1)"]);
  board.ready("b", w3);
  assert.deepEqual(board.fetched(w3), ["commit#1(w3)", "b:ack#1(w3)", "done(q)"]);
});

test("[WC13] work submitted before any worker is up waits, and goes out in order of arrival", () => {
  const board = new BoardDriver();
  assert.deepEqual(board.submit("q", w1, w2), []);
  assert.deepEqual(board.submit("r", sampleSpec("r", "w4")), []);
  assert.equal(board.board.counts().queued, 3);
  assert.deepEqual(board.up("a"), ["a:assign#1(w1)", "a:assign#1(w2)", "a:assign#1(w4)"]);
});

test("[WC13] work that lost its worker goes before work that is new", () => {
  const board = new BoardDriver({ worksPerWorkerMax: 1 });
  board.up("a");
  board.up("b");
  board.submit("q", w1, w3);
  board.submit("r", sampleSpec("r", "w4"));
  assert.equal(board.stateOf(sampleSpec("r", "w4")), "queued");
  assert.deepEqual(board.down("a"), ["moved(w1, worker_lost)"]);
  assert.deepEqual(board.up("c"), ["c:assign#2(w1)"]);
});

test("[WC14] work goes to the worker that wants it most, and to the next one where that is full", () => {
  const board = new BoardDriver({ worksPerWorkerMax: 1 });
  for (const worker of ["c", "b", "a"]) board.up(worker);
  assert.deepEqual(board.submit("q", w1, w2), ["a:assign#1(w1)", "b:assign#1(w2)"]);
});

test("[WC14] the observation says whether the favourite of all workers that are up got it", () => {
  const board = new WorkBoard({ worksPerWorkerMax: 1 });
  for (const name of ["a", "b"]) {
    const names = { workerId: workerId(name), incarnation: "1" as never };
    board.step({ kind: "workerUp", ...names, admission: accepting });
  }
  const effects = board.step({ kind: "submit", queryId: queryId("q"), works: [w1, w2] });
  const hits = effects.flatMap((effect) =>
    effect.kind === "assigned" ? [effect.affinityHit] : [],
  );
  assert.deepEqual(hits, [true, false]);
});

test("[WC35] the planner's choice is taken while that worker takes work, and has not failed the item", () => {
  const board = boardWith("a", "b", "c");
  const chosen = { ...w1, preferred: workerId("c") };
  assert.deepEqual(board.submit("q", chosen), ["c:assign#1(w1)"]);
  board.accepted("c", chosen);
  assert.deepEqual(board.failed("c", chosen, 1, true), [
    "moved(w1, work_failed)",
    "a:assign#2(w1)",
  ]);
  const gone = { ...sampleSpec("r", "w9", w1.affinityKey), preferred: workerId("elsewhere") };
  assert.deepEqual(board.submit("r", gone), ["a:assign#1(w9)"]);
});

test("[WC9] after a failure another worker is preferred, and the same one taken where there is no other", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1);
  board.accepted("a", w1);
  assert.deepEqual(board.failed("a", w1, 1, true), ["moved(w1, work_failed)", "b:assign#2(w1)"]);
  board.ready("b", w1, 2);
  // Both have failed it now, so the ranking decides again.
  assert.deepEqual(board.fetchFailed(w1, 2), [
    "b:ack#2(w1)",
    "moved(w1, fetch_failed)",
    "a:assign#3(w1)",
  ]);
  board.down("b");
  assert.deepEqual(board.failed("a", w1, 3, true), ["moved(w1, work_failed)", "a:assign#4(w1)"]);
});

test("[WC10] a full disk of our own fails the query and says so", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1, w3);
  board.ready("a", w1);
  assert.deepEqual(board.fetchFailed(w1, 1, "disk_full"), [
    "a:ack#1(w1)",
    "b:cancel#1(w3)",
    "failed(q, disk_full)",
  ]);
});

test("[WC11] nothing goes to a worker that is not accepting, and what waits goes when it does", () => {
  const board = new BoardDriver();
  board.up("a", "a1", notAccepting);
  assert.deepEqual(board.submit("q", w1), []);
  assert.deepEqual(board.admit("a", accepting), ["a:assign#1(w1)"]);
});

test("[WC11] nothing goes to a draining worker, even where it says that it accepts", () => {
  const board = new BoardDriver();
  board.up("a", "a1", { accepting: true, draining: true });
  assert.deepEqual(board.submit("q", w1), []);
});

test("[WC11] a worker that is not accepting keeps what it has not answered yet", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1);
  assert.deepEqual(board.admit("a", notAccepting), []);
  assert.equal(board.holderOf(w1), "a");
});

test("[WC20] a rejection puts the worker out of rotation until it speaks of its admission", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1);
  assert.deepEqual(board.rejected("a", w1, 1, "queue_full"), [
    "moved(w1, rejected)",
    "b:assign#2(w1)",
  ]);
  assert.deepEqual(board.submit("r", sampleSpec("r", "w4", w1.affinityKey)), ["b:assign#1(w4)"]);
  board.admit("a", accepting);
  assert.deepEqual(board.submit("s", sampleSpec("s", "w5", w1.affinityKey)), ["a:assign#1(w5)"]);
});

test("[WC20] a rejection of an attempt that is over counts all the same", () => {
  const board = boardWith("a");
  board.submit("q", w1);
  board.cancel("q");
  board.rejected("a", w1, 1, "queue_full");
  assert.deepEqual(board.submit("r", sampleSpec("r", "w4")), []);
});

test("[WC20] a resync tries a worker again that rejected and says that it accepts", () => {
  const board = boardWith("a");
  board.submit("q", w1);
  assert.deepEqual(board.rejected("a", w1, 1, "queue_full"), ["moved(w1, rejected)"]);
  assert.deepEqual(board.resync(), ["a:assign#2(w1)"]);
  board.admit("a", draining);
  assert.deepEqual(board.resync(), []);
});

test("[WC20] rejected while draining flips: each order ends with the worker in rotation", () => {
  // The worker drained, rejected, and stopped draining; its messages come in that order.
  const board = boardWith("a");
  board.submit("q", w1);
  assert.deepEqual(board.admit("a", draining), ["a:cancel#1(w1)", "moved(w1, worker_draining)"]);
  assert.deepEqual(board.rejected("a", w1, 1, "draining"), []);
  assert.deepEqual(board.admit("a", accepting), ["a:assign#2(w1)"]);
});

test("[WC15] what a draining worker has not accepted moves at once; what it accepted stays", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1, w2);
  board.accepted("a", w1);
  assert.deepEqual(board.admit("a", draining), [
    "a:cancel#1(w2)",
    "moved(w2, worker_draining)",
    "b:assign#2(w2)",
  ]);
  assert.equal(board.holderOf(w1), "a");
  assert.deepEqual(board.ready("a", w1), ["fetch#1(w1)"]);
  assert.deepEqual(board.fetched(w1), ["commit#1(w1)", "a:ack#1(w1)"]);
});

test("[WC4] an acceptance that crossed the move off a draining worker changes nothing", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1);
  board.admit("a", draining);
  assert.equal(board.holderOf(w1), "b");
  assert.deepEqual(board.accepted("a", w1, 1), []);
  assert.equal(board.stateOf(w1), "assigned");
});

test("[WC4] an artifact of an earlier attempt is acknowledged, not fetched, and nothing is committed by it", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1);
  board.admit("a", draining);
  assert.deepEqual(board.ready("a", w1, 1), ["a:ack#1(w1)"]);
  board.ready("b", w1, 2);
  assert.deepEqual(board.fetched(w1, 1), []);
  assert.deepEqual(board.fetched(w1, 2), ["commit#2(w1)", "b:ack#2(w1)", "done(q)"]);
});

test("[WC5] a second offer of what was committed is acknowledged again", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1, w3);
  board.ready("a", w1);
  board.fetched(w1);
  assert.deepEqual(board.ready("a", w1), ["a:ack#1(w1)"]);
  assert.deepEqual(board.fetched(w1), []);
  board.ready("b", w3);
  board.fetched(w3);
  assert.deepEqual(board.ready("a", w1), ["a:ack#1(w1)"]);
});

test("[WC16] a worker that goes down loses all that is not committed, at once", () => {
  const board = boardWith("a", "b");
  const [assigned, running, ready, committed] = ["w1", "w2", "w3", "w4"].map((name) =>
    sampleSpec("q", name, w1.affinityKey),
  ) as [WorkSpec, WorkSpec, WorkSpec, WorkSpec];
  board.submit("q", assigned, running, ready, committed);
  board.accepted("a", running);
  board.ready("a", ready);
  board.ready("a", committed);
  board.fetched(committed);
  assert.deepEqual(board.down("a"), [
    "moved(w1, worker_lost)",
    "moved(w2, worker_lost)",
    "abortFetch#1(w3)",
    "moved(w3, worker_lost)",
    "b:assign#2(w1)",
    "b:assign#2(w2)",
    "b:assign#2(w3)",
  ]);
});

test("[WC16] what a fetch says after its worker went down is ignored", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1);
  board.ready("a", w1);
  board.down("a");
  assert.deepEqual(board.fetchFailed(w1, 1), []);
  assert.deepEqual(board.fetched(w1, 1), []);
  assert.equal(board.stateOf(w1), "assigned");
});

test("[WC12] reports and admission of a worker that is down are ignored", () => {
  const board = boardWith("a");
  board.submit("q", w1);
  board.down("a");
  assert.deepEqual(board.ready("a", w1), []);
  assert.deepEqual(board.admit("a", accepting), []);
  assert.deepEqual(board.down("a"), []);
  assert.equal(board.stateOf(w1), "queued");
});

for (const { name, run } of [
  { name: "the same incarnation", run: "a1" },
  { name: "a new incarnation", run: "a2" },
]) {
  test(`[WC16] down and up with ${name}: work goes out under a new attempt, old reports are stale`, () => {
    const board = boardWith("a");
    board.submit("q", w1);
    board.accepted("a", w1);
    board.down("a");
    assert.deepEqual(board.up("a", run), ["a:assign#2(w1)"]);
    assert.deepEqual(board.ready("a", w1, 1), ["a:ack#1(w1)"]);
    assert.equal(board.stateOf(w1), "assigned");
  });

  test(`[WC16] up without down, with ${name}: the old session's work is lost with it`, () => {
    const board = boardWith("a");
    board.submit("q", w1);
    board.ready("a", w1);
    assert.deepEqual(board.up("a", run), [
      "abortFetch#1(w1)",
      "moved(w1, worker_lost)",
      "a:assign#2(w1)",
    ]);
    assert.equal(board.board.view().length, 1);
  });
}

test("[WC8] two workers lost under one item fail its query, and cancel its siblings where they live", () => {
  const board = boardWith("a", "b", "c");
  const sibling = sampleSpec("q", "sibling", keyFor("c", "b", "a"));
  board.submit("q", w1, sibling);
  board.accepted("a", w1);
  assert.deepEqual(board.down("a"), ["moved(w1, worker_lost)", "b:assign#2(w1)"]);
  board.accepted("b", w1, 2);
  assert.deepEqual(board.down("b"), ["c:cancel#1(sibling)", "failed(q, work_poisonous)"]);
});

test("[WC8, WC12] siblings on the worker that was lost are not cancelled there", () => {
  const board = boardWith("a", "b", "c");
  board.submit("q", w1, w2);
  board.accepted("a", w1);
  board.accepted("a", w2);
  board.down("a");
  board.accepted("b", w1, 2);
  board.accepted("b", w2, 2);
  // Both items are poisonous; the query fails once, and nothing is sent to b.
  assert.deepEqual(board.down("b"), ["failed(q, work_poisonous)"]);
});

test("[WC8] a worker that returns with the same incarnation did not die", () => {
  const board = boardWith("a", "b", "c");
  board.submit("q", w1);
  board.accepted("a", w1);
  board.down("a");
  board.accepted("b", w1, 2);
  board.up("a", "a1");
  assert.deepEqual(board.down("b"), ["moved(w1, worker_lost)", "a:assign#3(w1)"]);
  board.accepted("a", w1, 3);
  // b is still down, so this is the second loss.
  assert.deepEqual(board.down("a"), ["failed(q, work_poisonous)"]);
});

test("[WC8] a worker that returns with a new incarnation did", () => {
  const board = boardWith("a", "b", "c");
  board.submit("q", w1);
  board.accepted("a", w1);
  board.down("a");
  board.up("a", "a2");
  board.accepted("b", w1, 2);
  assert.deepEqual(board.down("b"), ["failed(q, work_poisonous)"]);
});

test("[WC8] a session replaced under a living worker is no loss", () => {
  const board = boardWith("a");
  board.submit("q", w1);
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    board.accepted("a", w1, attempt);
    assert.deepEqual(board.up("a", "a1").length, 2);
  }
});

test("[WC8] nor is it the second of two", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1);
  board.accepted("a", w1);
  board.down("a");
  board.accepted("b", w1, 2);
  assert.deepEqual(board.up("b", "b1"), ["moved(w1, worker_lost)", "b:assign#3(w1)"]);
  board.accepted("b", w1, 3);
  assert.deepEqual(board.up("b", "b2"), ["failed(q, work_poisonous)"]);
});

test("[WC8] a suspicion ends with its query, also where the worker never returns", () => {
  const board = boardWith("a");
  board.submit("q", w1);
  board.accepted("a", w1);
  board.down("a");
  assert.equal(board.board.snapshot().suspectCount, 1);
  board.cancel("q");
  assert.equal(board.board.snapshot().suspectCount, 0);
});

test("[WC8] forgiveness does not change an item's place in the queue", () => {
  const board = new BoardDriver({ worksPerWorkerMax: 1 });
  board.up("a");
  board.up("b");
  board.submit("q", w1, w3);
  board.accepted("a", w1);
  board.accepted("b", w3);
  board.down("a");
  board.down("b");
  assert.deepEqual(board.up("a", "a1", notAccepting), []);
  assert.deepEqual(board.up("c"), ["c:assign#2(w1)"]);
});

test("[WC34] an item that may have killed two workers is held back until one is back, whoever else is there", () => {
  const board = boardWith("a", "b", "c");
  board.submit("q", w1);
  assert.deepEqual(board.down("a"), ["moved(w1, worker_lost)", "b:assign#2(w1)"]);
  assert.deepEqual(board.down("b"), ["moved(w1, worker_lost)"]);
  assert.deepEqual(
    board.board.snapshot().works.map(({ state, heldBack }) => [state, heldBack]),
    [["queued", true]],
  );
  assert.deepEqual(board.submit("r", sampleSpec("r", "w4")), ["c:assign#1(w4)"]);
  assert.deepEqual(board.up("b", "b1", notAccepting), ["c:assign#3(w1)"]);
});

test("[WC34] and is poisonous when both are back as others", () => {
  const board = boardWith("a", "b", "c");
  board.submit("q", w1);
  board.down("a");
  board.down("b");
  assert.deepEqual(board.up("a", "a2"), []);
  assert.deepEqual(board.up("b", "b2"), ["failed(q, work_poisonous)"]);
  assert.equal(board.board.snapshot().suspectCount, 0);
});

test("[WC17] an item that fails for good cancels its siblings, then fails the query", () => {
  const board = boardWith("a", "b");
  board.submit("q", w1, w3);
  board.accepted("b", w3);
  assert.deepEqual(board.failed("a", w1, 1, false), ["b:cancel#1(w3)", "failed(q, bad_sql)"]);
  assert.deepEqual(board.ready("b", w3), ["b:ack#1(w3)"]);
  assert.deepEqual(board.failed("a", w1, 1, false), []);
});

test("[WC7] attempts are capped, and the query says what the last one met", () => {
  const board = new BoardDriver({ attemptsMax: 2 });
  board.up("a");
  board.submit("q", w1);
  board.failed("a", w1, 1, true);
  assert.deepEqual(board.failed("a", w1, 2, true), ["failed(q, query_failed)"]);
});

test("[WC18] cancelling a query frees every item wherever it is, once", () => {
  const board = new BoardDriver({ worksPerWorkerMax: 2 });
  board.up("a");
  const [ready, committed, running, assigned, queued] = ["w1", "w2", "w3", "w4", "w5"].map((name) =>
    sampleSpec("q", name),
  ) as [WorkSpec, WorkSpec, WorkSpec, WorkSpec, WorkSpec];
  board.submit("q", ready, committed, running, assigned, queued);
  board.ready("a", ready);
  board.ready("a", committed);
  board.fetched(committed);
  board.accepted("a", running);
  assert.deepEqual(
    [ready, committed, running, assigned, queued].map((spec) => board.stateOf(spec)),
    ["ready", "committed", "running", "assigned", "queued"],
  );
  assert.deepEqual(board.cancel("q", "deadline_exceeded"), [
    "abortFetch#1(w1)",
    "a:cancel#1(w1)",
    "a:cancel#1(w3)",
    "a:cancel#1(w4)",
    "cancelled(q, deadline_exceeded)",
  ]);
  assert.deepEqual(board.cancel("q"), []);
  assert.deepEqual(board.accepted("a", assigned), []);
  assert.deepEqual(board.fetched(ready), []);
  assert.deepEqual(board.fetchFailed(ready), []);
  assert.deepEqual(board.ready("a", running), ["a:ack#1(w3)"]);
  assert.deepEqual(board.board.counts(), {
    queued: 0,
    assigned: 0,
    running: 0,
    ready: 0,
    queries: 0,
  });
});

test("[WC18] cancelling queued work takes it out of the queue, and the place it freed is used", () => {
  const board = new BoardDriver({ worksPerWorkerMax: 1 });
  board.up("a");
  board.submit("q", w1);
  board.submit("r", sampleSpec("r", "w4"));
  board.submit("s", sampleSpec("s", "w5"));
  assert.deepEqual(board.cancel("r"), ["cancelled(r, cancelled)"]);
  assert.deepEqual(board.cancel("q"), [
    "a:cancel#1(w1)",
    "cancelled(q, cancelled)",
    "a:assign#1(w5)",
  ]);
});

test("[WC19] a submission that does not fit is refused, and leaves nothing behind", () => {
  const board = new BoardDriver({ worksMax: 2, queriesMax: 2 });
  assert.deepEqual(board.submit("q", w1, w2, w3), ["failed(q, overloaded)"]);
  assert.deepEqual(board.submit("q", w1), []);
  assert.deepEqual(board.submit("r"), ["done(r)"]);
  assert.deepEqual(board.submit("r", sampleSpec("r", "w4")), []);
  assert.deepEqual(board.submit("s"), ["failed(s, overloaded)"]);
  assert.equal(board.board.counts().queued, 2);
  board.cancel("q");
  assert.deepEqual(board.submit("s"), ["done(s)"]);
});

test("[WC19] an id that is in use, an item twice, or another query's item is the caller's bug", () => {
  const board = new BoardDriver();
  board.submit("q", w1);
  assert.throws(() => board.submit("q", w2), AssertionError);
  assert.throws(() => board.submit("r", w2), AssertionError);
  const twice = sampleSpec("s", "w");
  assert.throws(() => board.submit("s", twice, twice), AssertionError);
});
