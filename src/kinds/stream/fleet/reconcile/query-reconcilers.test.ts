/** Reconcilers over a real catalog and workers of the model, in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasEnded } from "../../catalog/core/index.ts";
import { FleetWorld } from "../testing/fleet-world.ts";
import { failure } from "../testing/views.ts";

async function world(...workers: readonly string[]): Promise<FleetWorld> {
  const made = new FleetWorld(workers);
  await made.open();
  await made.lead();
  await made.clock.advance(5_000);
  return made;
}

test("[SD10, SD11] a query is deployed on two workers within a moment", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(200);
  assert.equal((await fleet.query("q1"))?.state, "RUNNING");
  assert.deepEqual(await fleet.history("q1"), ["DEPLOYING", "RUNNING"]);
  assert.deepEqual(fleet.workers.get("w2")?.running(), ["q1/f1 1"]);
});

test("[SD14] a drop frees the name when all is confirmed gone, and the slots", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  fleet.workers.get("w2")?.disconnect();
  await fleet.drop("q1", "HARD");
  await fleet.clock.advance(100_000);
  assert.equal((await fleet.query("q1"))?.state, "STOPPING");
  assert.deepEqual(await fleet.slotsUsed(), { w1: 0, w2: 1 });
  fleet.reconnect("w2");
  await fleet.clock.advance(2_000);
  assert.equal(await fleet.query("q1"), undefined);
  assert.deepEqual(await fleet.slotsUsed(), { w1: 0, w2: 0 });
  assert.deepEqual(fleet.workers.get("w2")?.reported(), []);
  assert.deepEqual((await fleet.history("q1")).slice(-3), ["STOPPING", "STOPPED", "gone"]);
});

test("[SD22] a soft stop is told once, to the worker with the source", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  await fleet.drop("q1", "SOFT");
  await fleet.clock.advance(30_000);
  const stops = [...fleet.workers.values()].map(
    ({ obeyed }) => obeyed.filter((each) => each.startsWith("stop")).length,
  );
  assert.deepEqual(stops, [1, 0]);
  fleet.workers.get("w2")?.end("q1", "TERMINATED");
  await fleet.clock.advance(3_000);
  assert.equal(await fleet.query("q1"), undefined);
});

test("[SD12] a terminal refusal leaves FAILED with worker and reason, and nothing behind", async () => {
  const fleet = await world("w1", "w2");
  fleet.workers.get("w2")?.refuseNext(failure({ retry: "never", message: "the port is taken" }));
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(5_000);
  const row = await fleet.query("q1");
  assert.equal(row?.state, "FAILED");
  assert.match(row?.state_reason ?? "", /f1 failed on w2: the port is taken/);
  assert.equal(row?.error_worker_id, "w2");
  assert.deepEqual(fleet.workers.get("w1")?.reported(), []);
  assert.deepEqual(await fleet.slotsUsed(), { w1: 0, w2: 0 });
  await fleet.drop("q1", "HARD");
  await fleet.clock.advance(1_000);
  assert.equal(await fleet.query("q1"), undefined);
});

test("[SD12] transient refusals are tried again until it runs", async () => {
  const fleet = await world("w1");
  for (let nth = 0; nth < 5; nth += 1) fleet.workers.get("w1")?.refuseNext(failure());
  await fleet.create("q1", ["f0@w1"]);
  await fleet.clock.advance(30_000);
  assert.equal((await fleet.query("q1"))?.state, "RUNNING");
});

test("[SD13] a deployment that cannot be done fails after ten reachable minutes", async () => {
  const fleet = await world("w1", "w2");
  fleet.workers.get("w2")?.disconnect();
  await fleet.create("q1", ["f0@w1", "f1@w2!"]);
  await fleet.clock.advance(3_600_000);
  assert.equal((await fleet.query("q1"))?.state, "DEPLOYING", "an hour without w2");
  for (let nth = 0; nth < 1_000; nth += 1) fleet.workers.get("w2")?.refuseNext(failure());
  fleet.reconnect("w2");
  await fleet.clock.advance(300_000);
  assert.equal((await fleet.query("q1"))?.state, "DEPLOYING", "five minutes with it");
  await fleet.lead();
  await fleet.clock.advance(400_000);
  assert.equal((await fleet.query("q1"))?.state, "FAILED", "another coordinator went on counting");
});

test("[SD16, SD17] a fragment moves when its worker stays away, and is stopped when that returns", async () => {
  const fleet = await world("w1", "w2", "w3");
  await fleet.create("q1", ["f0@w1!", "f1@w2"]);
  await fleet.clock.advance(1_000);
  fleet.workers.get("w2")?.disconnect();
  await fleet.clock.advance(5_000);
  assert.equal((await fleet.query("q1"))?.state, "DEPLOYING");
  await fleet.clock.advance(10_000);
  const row = await fleet.query("q1");
  assert.deepEqual([row?.state, row?.epoch], ["RUNNING", 2]);
  assert.deepEqual(fleet.workers.get("w2")?.running(), ["q1/f1 1"], "the old one runs on");
  fleet.reconnect("w2");
  await fleet.clock.advance(3_000);
  assert.deepEqual(fleet.workers.get("w2")?.reported(), []);
  assert.deepEqual(await fleet.slotsUsed(), { w1: 2, w2: 0 });
});

test("[SD16] with REPLACE_AFTER 0 it moves as soon as its worker is out of reach", async () => {
  const fleet = await world("w1", "w2", "w3");
  fleet.settings = { replaceAfterMs: 0 };
  await fleet.create("q1", ["f0@w1!", "f1@w2"]);
  await fleet.clock.advance(1_000);
  fleet.workers.get("w2")?.disconnect();
  await fleet.clock.advance(500);
  const row = await fleet.query("q1");
  assert.deepEqual([row?.state, row?.epoch], ["RUNNING", 2]);
});

test("[SD18] a new coordinator touches nothing that runs", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  const commands = () =>
    [...fleet.workers.values()].flatMap(({ obeyed }) =>
      obeyed.filter((each) => !each.startsWith("triggerCheckpoint")),
    );
  const before = commands();
  await fleet.lead();
  await fleet.clock.advance(60_000);
  assert.deepEqual(commands(), before);
  assert.deepEqual(await fleet.history("q1"), ["DEPLOYING", "RUNNING"]);
});

test("[SD19] a fragment that fails again and again ends in FAILED", async () => {
  const fleet = await world("w1");
  await fleet.create("q1", ["f0@w1"]);
  for (let nth = 0; nth < 3; nth += 1) {
    await fleet.clock.advance(5_000);
    fleet.workers.get("w1")?.end("q1", "FAILED", failure());
  }
  await fleet.clock.advance(5_000);
  const row = await fleet.query("q1");
  assert.deepEqual([row?.state, row?.epoch], ["FAILED", 3]);
});

test("[SD20] a hundred queries are deployed in few transactions", async () => {
  const fleet = await world("w1", "w2");
  let pokes = 0;
  for (let nth = 0; nth < 100; nth += 1) await fleet.create(`q${nth}`, ["f0@w1", "f1@w2"]);
  fleet.store.onPoke(() => {
    pokes += 1;
  });
  await fleet.clock.advance(5_000);
  const queries = await fleet.queries();
  assert.ok(queries.every(({ state }) => state === "RUNNING"));
  assert.ok(pokes < 100, `${pokes} transactions for 300 changes of queries and 600 of fragments`);
});

test("[SD21] a query whose sources end is TERMINATED, and its workers forget it", async () => {
  const fleet = await world("w1");
  await fleet.create("q1", ["f0@w1"]);
  await fleet.clock.advance(1_000);
  fleet.workers.get("w1")?.end("q1", "TERMINATED");
  await fleet.clock.advance(3_000);
  assert.equal((await fleet.query("q1"))?.state, "TERMINATED");
  assert.deepEqual(fleet.workers.get("w1")?.reported(), []);
  assert.deepEqual(await fleet.slotsUsed(), { w1: 0 });
});

test("[SD30] what changes by itself is known at once", async () => {
  const fleet = await world("w1", "w2");
  for (const name of ["q1", "q2", "q3"]) await fleet.create(name, ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(900);
  await fleet.want("q1", "PAUSED");
  for (const worker of fleet.workers.values()) worker.end("q2", "TERMINATED");
  fleet.workers.get("w2")?.end("q3", "FAILED", failure());
  await fleet.clock.advance(300);
  const states = (await fleet.queries()).map(({ state, epoch }) => `${state} ${epoch}`);
  assert.deepEqual(states, ["PAUSED 1", "TERMINATED 1", "RUNNING 2"]);
});

test("[SD11] a query is paused, gives its slots back, and is resumed", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  await fleet.want("q1", "PAUSED");
  await fleet.clock.advance(70_000);
  assert.equal((await fleet.query("q1"))?.state, "PAUSED");
  assert.deepEqual(await fleet.slotsUsed(), { w1: 0, w2: 0 });
  await fleet.want("q1", "RUNNING");
  await fleet.clock.advance(1_000);
  const row = await fleet.query("q1");
  assert.deepEqual([row?.state, row?.epoch], ["RUNNING", 2]);
});

test("[SD23] a drain moves what may move, and what is pinned waits for its end", async () => {
  const fleet = await world("w1", "w2", "w3");
  await fleet.create("q1", ["f0@w1!", "f1@w2"]);
  await fleet.clock.advance(1_000);
  await fleet.drain("w2", 1);
  await fleet.clock.advance(3_000);
  const moved = await fleet.query("q1");
  assert.deepEqual([moved?.state, moved?.epoch], ["RUNNING", 2]);
  assert.deepEqual(fleet.workers.get("w2")?.reported(), []);
  assert.deepEqual(fleet.workers.get("w1")?.running(), ["q1/f0 2", "q1/f1 2"]);
  await fleet.drain("w1", 1);
  await fleet.clock.advance(3_600_000);
  const waiting = await fleet.query("q1");
  assert.deepEqual([waiting?.state, waiting?.epoch], ["DEPLOYING", 3]);
  assert.match(waiting?.state_reason ?? "", /moving f1; f0 waits for w1, which drains/);
  assert.deepEqual(fleet.workers.get("w1")?.reported(), []);
  for (const name of ["w1", "w2"]) await fleet.drain(name, 0);
  await fleet.clock.advance(60_000);
  const row = await fleet.query("q1");
  assert.deepEqual([row?.state, row?.epoch], ["RUNNING", 3]);
});

test("[SD23] where no other worker takes anything, the query waits and its workers forget it", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  for (const name of ["w1", "w2"]) await fleet.drain(name, 1);
  await fleet.clock.advance(10_000);
  assert.equal((await fleet.query("q1"))?.state, "DEPLOYING");
  for (const worker of fleet.workers.values()) assert.deepEqual(worker.reported(), []);
  for (const name of ["w1", "w2"]) await fleet.drain(name, 0);
  await fleet.clock.advance(10_000);
  const row = await fleet.query("q1");
  assert.deepEqual([row?.state, row?.epoch], ["RUNNING", 2]);
});

for (const isNew of [false, true]) {
  const who = isNew ? "another coordinator goes on" : "the coordinator goes on";
  test(`[SD31] a query leaves from its very end, and ${who}`, async () => {
    const fleet = await world("w1", "w2", "w3");
    await fleet.create("q1", ["f0@w1", "f1@w2"]);
    await fleet.clock.advance(1_000);
    await fleet.drain("w2", 1);
    await fleet.clock.advance(40);
    if (isNew) {
      await fleet.lead();
      for (const name of ["w1", "w2", "w3"]) fleet.reconnect(name);
    }
    await fleet.clock.advance(20_000);
    const row = await fleet.query("q1");
    assert.deepEqual([row?.state, row?.epoch], ["RUNNING", 2]);
    const ends = [...fleet.workers.values()].flatMap(({ saved }) =>
      saved.filter((each) => each.includes(" 1 ")),
    );
    assert.deepEqual(new Set(ends), new Set(["q1/f0 1 STOPPED", "q1/f1 1 TERMINATED"]));
    assert.deepEqual(fleet.workers.get("w1")?.restoredAt, ["2", "2"]);
    assert.deepEqual(fleet.workers.get("w2")?.reported(), []);
  });
}

test("[SD24, SD27] checkpoints are recorded while it runs, and a new epoch goes on from the newest", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(35_000);
  assert.deepEqual(await fleet.checkpoints("q1"), [[3, 1]]);
  fleet.workers.get("w2")?.restart();
  fleet.reconnect("w2");
  await fleet.clock.advance(2_000);
  assert.equal((await fleet.query("q1"))?.epoch, 2);
  assert.deepEqual(fleet.workers.get("w2")?.restoredAt, ["3"]);
  await fleet.clock.advance(15_000);
  assert.deepEqual(await fleet.checkpoints("q1"), [[4, 2]]);
});

test("[SD48] the checkpoints of a hundred queries are recorded in few transactions", async () => {
  const fleet = await world("w1", "w2");
  for (let nth = 0; nth < 100; nth += 1) await fleet.create(`q${nth}`, ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(5_000);
  const run = fleet.store.catalogTransaction.bind(fleet.store);
  let transactions = 0;
  Object.assign(fleet.store, {
    catalogTransaction: (...args: Parameters<typeof run>) => {
      transactions += 1;
      return run(...args);
    },
  });
  await fleet.clock.advance(12_000);
  for (let nth = 0; nth < 100; nth += 1) {
    assert.deepEqual(await fleet.checkpoints(`q${nth}`), [[1, 1]]);
  }
  assert.ok(transactions < 20, `${transactions} transactions for 100 checkpoints`);
});

test("[SD47] a checkpoint that cannot be recorded holds back no other one", async () => {
  const fleet = await world("w1");
  for (const query of ["q1", "q2", "q3"]) await fleet.create(query, ["f0@w1"]);
  fleet.workers.get("w1")?.unfit.add("q2");
  await fleet.clock.advance(13_000);
  assert.deepEqual(await fleet.checkpoints("q1"), [[1, 1]]);
  assert.deepEqual(await fleet.checkpoints("q2"), []);
  assert.deepEqual(await fleet.checkpoints("q3"), [[1, 1]]);
});

test("[SD40] a savepoint that was asked for is taken at once, by a new epoch or leader, too", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(2_000);
  await fleet.askForSavepoint("q1");
  await fleet.clock.advance(500);
  assert.deepEqual(await fleet.checkpoints("q1"), [[1, 1]]);
  assert.equal((await fleet.query("q1"))?.savepoints_taken, 1);
  fleet.workers.get("w2")?.disconnect();
  await fleet.clock.advance(1_000);
  await fleet.askForSavepoint("q1");
  await fleet.lead();
  await fleet.clock.advance(25_000);
  assert.equal((await fleet.query("q1"))?.savepoints_taken, 2);
  assert.deepEqual(
    (await fleet.checkpoints("q1")).slice(0, 2).map(([checkpoint]) => checkpoint),
    [1, 2],
  );
  await fleet.clock.advance(30_000);
  assert.equal((await fleet.checkpoints("q1")).length, 3, "two savepoints, and the newest");
});

test("[SD26] the last checkpoint is recorded before the workers forget the query", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  for (const worker of fleet.workers.values()) worker.end("q1", "TERMINATED");
  await fleet.clock.advance(3_000);
  assert.equal((await fleet.query("q1"))?.state, "TERMINATED");
  assert.deepEqual(await fleet.checkpoints("q1"), [[2, 1]]);
  const obeyed = fleet.workers.get("w1")?.obeyed ?? [];
  assert.ok(obeyed.indexOf("triggerCheckpoint q1 1") < obeyed.indexOf("unregister q1 1"));
});

test("[SD71] a preview takes no checkpoint, not even at its end", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"], { is_preview: 1 });
  await fleet.clock.advance(60_000);
  for (const worker of fleet.workers.values()) worker.end("q1", "TERMINATED");
  await fleet.clock.advance(3_000);
  assert.equal((await fleet.query("q1"))?.state, "TERMINATED");
  assert.deepEqual(await fleet.checkpoints("q1"), []);
  const obeyed = fleet.workers.get("w1")?.obeyed ?? [];
  assert.ok(!obeyed.some((each) => each.startsWith("triggerCheckpoint")));
  await fleet.drop("q1", "HARD");
  await fleet.clock.advance(3_000);
  assert.equal(await fleet.query("q1"), undefined);
  assert.deepEqual(await fleet.slotsUsed(), { w1: 0, w2: 0 });
});

test("[SD26] a worker that loses its last state before it is recorded runs again", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  fleet.workers.get("w1")?.end("q1", "TERMINATED");
  await fleet.clock.advance(2_000);
  fleet.workers.get("w1")?.restart();
  fleet.reconnect("w1");
  await fleet.clock.advance(2_000);
  const row = await fleet.query("q1");
  assert.deepEqual([row?.state, row?.epoch], ["RUNNING", 2]);
});

test("[SD19, SD27] a complete checkpoint ends the row of failures", async () => {
  const fleet = await world("w1");
  await fleet.create("q1", ["f0@w1"]);
  for (let nth = 0; nth < 5; nth += 1) {
    await fleet.clock.advance(15_000);
    fleet.workers.get("w1")?.end("q1", "FAILED", failure());
  }
  await fleet.clock.advance(5_000);
  const row = await fleet.query("q1");
  assert.deepEqual([row?.state, row?.epoch, row?.failures_in_a_row], ["RUNNING", 6, 1]);
});

test("[SD29] a query that takes the place of another one begins when that is gone", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  fleet.workers.get("w2")?.disconnect();
  await fleet.replace("q1", "q2", ["f0@w1", "f1@w1"]);
  await fleet.clock.advance(60_000);
  const older = await fleet.query("q1");
  assert.deepEqual([older?.state, older?.state_reason], ["STOPPING", "the query q2 replaces it"]);
  assert.equal((await fleet.query("q2"))?.state, "PENDING");
  assert.ok([...fleet.workers.values()].every(({ obeyed }) => !obeyed.some((it) => /q2/.test(it))));
  // A new coordinator has sessions with all workers.
  await fleet.lead();
  await fleet.clock.advance(6_000);
  assert.equal(await fleet.query("q1"), undefined);
  assert.equal((await fleet.query("q2"))?.state, "RUNNING");
  assert.deepEqual(fleet.workers.get("w1")?.running(), ["q2/f0 1", "q2/f1 1"]);
  assert.deepEqual(await fleet.slotsUsed(), { w1: 2, w2: 0 });
});

test("[SD29] ended, failed and paused queries are replaced within a moment", async () => {
  for (const end of ["TERMINATED", "FAILED", "PAUSED"] as const) {
    const fleet = await world("w1");
    await fleet.create("q1", ["f0@w1"]);
    await fleet.clock.advance(1_000);
    if (end === "PAUSED") await fleet.want("q1", "PAUSED");
    else fleet.workers.get("w1")?.end("q1", end, end === "FAILED" ? lasting : undefined);
    await fleet.clock.advance(70_000);
    assert.equal((await fleet.query("q1"))?.state, end);
    await fleet.replace("q1", "q2", ["f0@w1"]);
    await fleet.clock.advance(3_000);
    assert.equal(await fleet.query("q1"), undefined);
    assert.equal((await fleet.query("q2"))?.state, "RUNNING", end);
    await checkSettled(fleet);
  }
});

test("[SD29] a successor that is dropped while it waits keeps the name until all is gone", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  fleet.workers.get("w2")?.disconnect();
  await fleet.replace("q1", "q2", ["f0@w1", "f1@w2"]);
  await fleet.drop("q2", "HARD");
  await fleet.clock.advance(30_000);
  const waiting = await fleet.query("q2");
  assert.equal(waiting?.state, "STOPPED");
  assert.match(
    waiting?.state_reason ?? "",
    /its name is free when the query q1, which it replaces/,
  );
  fleet.reconnect("w2");
  await fleet.clock.advance(3_000);
  assert.deepEqual(await fleet.queries(), []);
  assert.deepEqual(await fleet.slotsUsed(), { w1: 0, w2: 0 });
});

test("[SD29] a replacement is replaced, paused and resumed while it waits", async () => {
  const fleet = await world("w1", "w2");
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  fleet.workers.get("w2")?.disconnect();
  await fleet.replace("q1", "q2", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(1_000);
  await fleet.replace("q2", "q3", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(5_000);
  await fleet.want("q3", "PAUSED");
  await fleet.clock.advance(5_000);
  assert.equal((await fleet.query("q3"))?.state, "PAUSED");
  await fleet.want("q3", "RUNNING");
  await fleet.clock.advance(30_000);
  assert.equal((await fleet.query("q3"))?.state, "PENDING");
  fleet.reconnect("w2");
  await fleet.clock.advance(5_000);
  assert.deepEqual(
    (await fleet.queries()).map(({ query_id, state }) => [query_id, state]),
    [["q3", "RUNNING"]],
  );
  await checkSettled(fleet);
});

const lasting = failure({ retry: "never" });

const names = ["w1", "w2", "w3"];
const step = fc.record({
  pauseMs: fc.nat({ max: 20_000 }),
  what: fc.constantFrom(
    "create",
    "replace",
    "dropSoft",
    "dropHard",
    "pause",
    "resume",
    "disconnect",
    "restart",
    "reconnect",
    "fail",
    "refuse",
    "lead",
    "drain",
    "undrain",
  ),
  worker: fc.constantFrom(...names),
  query: fc.constantFrom("q1", "q2"),
});

test("[SD10, SD14, SD15, SD16, SD17, SD29] whatever happens, in the end the workers have what is wanted", async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
    const fleet = await world(...names);
    let replaced = 0;
    for (const { pauseMs, what, worker, query } of steps) {
      const there = fleet.workers.get(worker);
      const newest = await newestOf(fleet, query);
      const target = newest ?? query;
      const isWanted = (await fleet.query(target))?.desired_state !== "STOPPED";
      if (what === "replace" && newest !== undefined) {
        replaced += 1;
        const places = replaced % 2 === 0 ? ["f0@w1!", "f1@w2", "f2@w2"] : ["f0@w3", "f1@w1!"];
        await fleet.replace(newest, `${query}.${replaced}`, places);
      } else if (what === "create" && newest === undefined) {
        await fleet.create(query, ["f0@w1!", "f1@w2", "f2@w3", "f3@w2"]);
      } else if (what === "dropSoft" || what === "dropHard") {
        if (isWanted) await fleet.drop(target, what === "dropSoft" ? "SOFT" : "HARD");
      } else if (what === "pause" && isWanted) await fleet.want(target, "PAUSED");
      else if (what === "resume" && isWanted) await fleet.want(target, "RUNNING");
      else if (what === "disconnect") there?.disconnect();
      else if (what === "restart") there?.restart();
      else if (what === "reconnect") fleet.reconnect(worker);
      else if (what === "fail") there?.end(target, "FAILED", failure());
      else if (what === "refuse") there?.refuseNext(failure());
      else if (what === "lead") await fleet.lead();
      else if (what === "drain") await fleet.drain(worker, 1);
      else if (what === "undrain") await fleet.drain(worker, 0);
      await fleet.clock.advance(pauseMs);
      await checkSlots(fleet);
    }
    for (const name of names) {
      fleet.reconnect(name);
      await fleet.drain(name, 0); // What is pinned would wait for it.
    }
    await fleet.clock.advance(300_000);
    await checkSettled(fleet);
    for (const { query_id, epoch } of await fleet.queries()) {
      assert.ok(epoch < 100, `${query_id} was deployed ${epoch} times`);
    }
  });
  await fc.assert(property, { numRuns: 60 });
});

/** The query that has the name at present. */
async function newestOf(fleet: FleetWorld, name: string): Promise<string | undefined> {
  const queries = await fleet.queries();
  return queries.find((row) => row.name === name && row.superseded_by === null)?.query_id;
}

async function checkSlots(fleet: FleetWorld): Promise<void> {
  const held: Record<string, number> = {};
  for (const { worker_id, holds_slot } of await fleet.fragments()) {
    held[worker_id] = (held[worker_id] ?? 0) + holds_slot;
  }
  for (const [worker, used] of Object.entries(await fleet.slotsUsed())) {
    assert.equal(used, held[worker] ?? 0, `slots of ${worker}`);
  }
}

async function checkSettled(fleet: FleetWorld): Promise<void> {
  await checkSlots(fleet);
  const queries = await fleet.queries();
  for (const { query_id, state, desired_state } of queries) {
    assert.notEqual(desired_state, "STOPPED", `${query_id} is gone, not ${state}`);
    const wanted = desired_state === "PAUSED" ? "PAUSED" : "RUNNING";
    assert.ok(state === wanted || state === "FAILED", `${query_id} is ${state}, not ${wanted}`);
  }
  const wanted = (await fleet.fragments()).flatMap(
    ({ query_id, fragment, worker_id, epoch, state }) =>
      hasEnded(state) ? [] : `${worker_id}: ${query_id}/${fragment} ${epoch}`,
  );
  const found = [...fleet.workers.values()].flatMap((worker) =>
    worker.running().map((each) => `${worker.id}: ${each}`),
  );
  assert.deepEqual(found.toSorted(), wanted.toSorted());
  const owed = await fleet.store.read(({ db }) =>
    db.selectFrom("query_cleanups").selectAll().execute(),
  );
  assert.deepEqual(owed, []);
}

test("[SD44] a recovery says what sources that cannot be read again have lost", async () => {
  const fleet = await world("w1", "w2");
  const op = { kind: "source", name: "bids", type: "TCP" };
  fleet.nodes = [
    { id: 0, op },
    { id: 1, op: { ...op, name: "file", type: "File" } },
  ] as never;
  await fleet.create("q1", ["f0@w1", "f1@w2"]);
  await fleet.clock.advance(2_000);
  for (const afterMs of [0, 12_000]) {
    await fleet.clock.advance(afterMs);
    fleet.workers.get("w2")?.restart();
    fleet.reconnect("w2");
    await fleet.clock.advance(2_000);
  }
  const lost = (since: string) =>
    `the worker w2 has lost the fragment f1; what bids (TCP) gave ${since} is lost, since it cannot be read again`;
  assert.deepEqual(await fleet.recoveries("q1"), [lost("so far"), lost("since checkpoint 1")]);
});

test("[SD44] a query that leaves a worker which drains has lost nothing", async () => {
  const fleet = await world("w1", "w2");
  fleet.nodes = [{ id: 0, op: { kind: "source", name: "bids", type: "TCP" } }] as never;
  await fleet.create("q1", ["f0@w1", "f1@w1"]);
  await fleet.clock.advance(2_000);
  await fleet.drain("w1", 1);
  await fleet.clock.advance(5_000);
  const [reason = "", ...more] = await fleet.recoveries("q1");
  assert.deepEqual(more, []);
  assert.match(reason, /w1 drains: moving f0, f1$/);
});
