/**
 * Load workers on other machines, in virtual time: rows, Capstan's workers that read them, and a
 * coordinator that watches.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunId } from "../core/ids.ts";
import { RunWorld } from "../orchestrator/testing/run-world.ts";
import { ProcessStore } from "../store/process-store.ts";
import { scenarioOf } from "../testing/scenario.ts";

const target = { url: "postgres://db.example/x", allowedHosts: ["db.example"] };
const workload = { durationSeconds: 20, warmupSeconds: 3, concurrentConnections: 12 };
const four = scenarioOf({ target, workload, scaling: { workerCount: 4 } });

async function statesOf(world: RunWorld, runId: RunId): Promise<readonly string[]> {
  return (await world.processes(runId)).map(
    ({ workerId, startedBy, state }) => `${workerId} ${startedBy} ${state}`,
  );
}

async function setState(
  { store }: RunWorld,
  name: string,
  state: "ACTIVE" | "UNREACHABLE",
): Promise<void> {
  await store.catalogTransaction((tx) => tx.update("workers", name, { state }));
}

test("[HS1] [HO1] [PH1] a run is loaded from the machines of Capstan's workers, and adds up", async () => {
  const world = new RunWorld();
  const hosts = await Promise.all(["a", "b"].map((name) => world.addHost(name)));
  for (const { startAnew } of hosts) startAnew().start();
  const coordinator = await world.lead();
  const runId = await world.start(coordinator, four);
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT");
  assert.equal(world.machine.all.length, 0, "nobody is here");
  assert.deepEqual(
    hosts.map(({ machine }) => machine.all.length),
    [2, 2],
  );
  const { workers } = await world.look(runId);
  assert.deepEqual(
    new Set(workers.map(({ hostName }) => hostName)),
    new Set(["a.example", "b.example"]),
  );
  await world.untilEnd(runId);
  await world.clock.advance(5_000);
  const done = hosts.flatMap(({ machine }) => machine.all.map(({ measuredOps }) => measuredOps));
  assert.equal((await world.parent(runId)).status, "COMPLETED");
  assert.equal(
    (await world.parent(runId)).total_operations,
    done.reduce((sum, ops) => sum + ops, 0),
  );
  assert.ok((await statesOf(world, runId)).every((text) => text.endsWith(" ENDED")));
});

test("[HO1] what is this machine's is loaded from here, whoever is elsewhere", async () => {
  const world = new RunWorld();
  const { machine, startAnew } = await world.addHost("a");
  startAnew().start();
  const runId = await world.start(await world.lead(), scenarioOf({ workload }));
  await world.untilEnd(runId);
  assert.equal(machine.all.length, 0);
  assert.ok(world.machine.all.length > 0);
  assert.deepEqual(await world.processes(runId), []);
});

test("[HS2] what nobody takes is given to another, then started here, or fails with the reason", async () => {
  const world = new RunWorld();
  await world.addHost("a", { capacity: 100 });
  const b = await world.addHost("b");
  const coordinator = await world.lead();
  const two = scenarioOf({ target, workload, scaling: { workerCount: 2 } });
  b.startAnew().start();
  const runId = await world.start(coordinator, two);
  await world.clock.advance(3_000);
  assert.deepEqual(await statesOf(world, runId), ["worker-0 a WANTED", "worker-1 a WANTED"]);
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT", 60);
  assert.deepEqual(await statesOf(world, runId), ["worker-0 b STARTED", "worker-1 b STARTED"]);
  await world.untilEnd(runId);

  await setState(world, "b", "UNREACHABLE");
  const here = await world.start(coordinator, two);
  await world.untilEnd(here, 120);
  assert.equal((await world.parent(here)).status, "COMPLETED");
  assert.equal(world.machine.all.length, 2);
  assert.deepEqual(await world.processes(here), []);

  const scaling = { workerCount: 2, placement: "WORKERS" } as const;
  const lost = await world.start(coordinator, scenarioOf({ target, workload, scaling }));
  await world.untilEnd(lost, 120);
  assert.equal((await world.parent(lost)).status, "FAILED");
  const [process] = await world.processes(lost);
  assert.equal(process?.state, "FAILED");
  assert.match(process?.reason ?? "", /none of a started it/);
});

test("[HO1] Capstan's workers that do not know the store are not asked", async () => {
  const world = new RunWorld();
  const { machine, startAnew } = await world.addHost("a");
  world.unable.add("a");
  startAnew().start();
  const runId = await world.start(await world.lead(), four);
  await world.untilEnd(runId);
  assert.equal((await world.parent(runId)).status, "COMPLETED");
  assert.deepEqual([machine.all.length, world.machine.all.length], [0, 4]);
});

test("[HO2] a template that wants Capstan's workers, where there are none, fails", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  const runId = await world.start(
    coordinator,
    scenarioOf({ target, workload, scaling: { placement: "WORKERS" } }),
  );
  await world.untilEnd(runId, 120);
  assert.equal((await world.parent(runId)).status, "FAILED");
  assert.equal(world.machine.all.length, 0);
});

test("[HS3] [PH4] a Capstan worker that is gone, and comes back, costs no load worker", async () => {
  const world = new RunWorld();
  const a = await world.addHost("a");
  const before = a.startAnew();
  before.start();
  const runId = await world.start(await world.lead(), four);
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT");
  await before.stop();
  await setState(world, "a", "UNREACHABLE");
  await world.clock.advance(5_000);
  await setState(world, "a", "ACTIVE");
  a.startAnew().start();
  await world.untilEnd(runId);
  assert.equal((await world.parent(runId)).status, "COMPLETED");
  assert.equal(a.machine.all.length, 4, "nobody was started twice");
  await world.clock.advance(5_000);
  assert.ok((await statesOf(world, runId)).every((text) => text.endsWith(" ENDED")));
});

test("[HS1] a successor of the coordinator knows what is elsewhere, and starts nobody again", async () => {
  const world = new RunWorld();
  const a = await world.addHost("a");
  a.startAnew().start();
  const first = await world.lead();
  const runId = await world.start(first, four);
  await world.clock.advance(1_000);
  first.crash();
  await world.lead();
  await world.untilEnd(runId);
  assert.equal((await world.parent(runId)).status, "COMPLETED");
  assert.equal(a.machine.all.length, 4);
  assert.equal(world.machine.all.length, 0);
});

test("[HS1] a load worker that is killed elsewhere is known to be gone before its heartbeats are missed", async () => {
  const world = new RunWorld();
  const a = await world.addHost("a");
  a.startAnew().start();
  const runId = await world.start(await world.lead(), four);
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT");
  const [victim] = a.machine.processes.keys();
  a.machine.kill(victim ?? 0);
  await world.until(runId, ({ workers }) => workers.some(({ status }) => status === "DEAD"), 5);
  await world.untilEnd(runId);
  assert.equal((await world.parent(runId)).status, "COMPLETED");
});

test("[PH2] what was taken before a restart is found by its heartbeat, or started again", async () => {
  const world = new RunWorld();
  const a = await world.addHost("a");
  const runId = await world.start(await world.lead(), four);
  await world.clock.advance(100);
  const store = new ProcessStore(world.store);
  const wanted = await world.processes(runId);
  for (const process of wanted) await store.advance(process, { state: "STARTING" });
  const [first] = wanted;
  a.machine.start(first ?? assert.fail());
  await world.clock.advance(1_000);
  a.startAnew().start();
  await world.clock.advance(3_000);
  assert.deepEqual(
    (await statesOf(world, runId)).map((text) => text.split(" ").at(-1)),
    ["STARTED", "STARTING", "STARTING", "STARTING"],
  );
  assert.equal(a.machine.all.length, 1);
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT", 60);
  assert.equal(a.machine.all.length, 4);
  await world.untilEnd(runId);
});

test("[PH2] a load worker that was started and not heard of yet is not taken for ended by a restart", async () => {
  const world = new RunWorld();
  const a = await world.addHost("a");
  a.machine.startMs = 4_000;
  const before = a.startAnew();
  before.start();
  const runId = await world.start(await world.lead(), four);
  await world.clock.advance(1_500);
  assert.ok((await statesOf(world, runId)).every((text) => text.endsWith(" STARTED")));
  await before.stop();
  a.startAnew().start();
  await world.untilEnd(runId);
  assert.equal((await world.parent(runId)).status, "COMPLETED");
  assert.equal(a.machine.all.length, 4);
});

test("[PH5] a Capstan worker with a failed part takes no process, and sees to those that it has; another takes them", async () => {
  const world = new RunWorld();
  const [a, b] = [await world.addHost("a", { capacity: 100 }), await world.addHost("b")];
  for (const { startAnew } of [a, b]) startAnew().start();
  const coordinator = await world.lead();
  const two = scenarioOf({ target, workload, scaling: { workerCount: 2 } });
  const before = await world.start(coordinator, two);
  await world.until(before, ({ run }) => run.phase === "MEASUREMENT");
  world.unwell.add("a");
  const runId = await world.start(coordinator, two);
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT", 60);
  assert.deepEqual(await statesOf(world, runId), ["worker-0 b STARTED", "worker-1 b STARTED"]);
  await world.untilEnd(before);
  await world.clock.advance(5_000);
  assert.deepEqual(await statesOf(world, before), ["worker-0 a ENDED", "worker-1 a ENDED"]);
  await world.untilEnd(runId);

  world.unwell.delete("a");
  const after = await world.start(coordinator, two);
  await world.until(after, ({ run }) => run.phase === "MEASUREMENT", 60);
  assert.deepEqual(await statesOf(world, after), ["worker-0 a STARTED", "worker-1 a STARTED"]);
});

test("[PH3] what nobody took of a run that was stopped is started nowhere", async () => {
  const world = new RunWorld();
  await world.addHost("a");
  const coordinator = await world.lead();
  const runId = await world.start(coordinator, four);
  await world.clock.advance(1_000);
  await coordinator.orchestrator.stopRun(runId, "me");
  await world.untilEnd(runId, 120);
  await world.clock.advance(60_000);
  assert.equal(world.machine.all.length, 0);
  assert.ok((await statesOf(world, runId)).every((text) => text.endsWith(" FAILED")));
});

test("[PH3] who should be gone gets its signals elsewhere, once each", async () => {
  const world = new RunWorld();
  const a = await world.addHost("a");
  a.machine.drainMs = 1e9;
  a.startAnew().start();
  const one = scenarioOf({ target, workload, scaling: { workerCount: 1 } });
  const runId = await world.start(await world.lead(), one);
  await world.untilEnd(runId, 300);
  await world.clock.advance(120_000);
  assert.deepEqual(a.machine.signals, ["worker-0 SIGTERM", "worker-0 SIGKILL"]);
  assert.deepEqual(await statesOf(world, runId), ["worker-0 a ENDED"]);
});

test("[PS1] a Capstan worker changes only what is still its own", async () => {
  const world = new RunWorld();
  await world.addHost("a");
  const runId = await world.start(await world.lead(), four);
  await world.clock.advance(100);
  const store = new ProcessStore(world.store);
  const [process = assert.fail()] = await world.processes(runId);
  assert.equal(await store.advance({ ...process, startedBy: "b" }, { state: "STARTED" }), false);
  assert.equal(await store.advance({ ...process, state: "ENDED" }, { state: "STARTED" }), false);
  assert.equal(await store.advance(process, { state: "STARTING" }), true);
  assert.equal(await store.advance(process, { state: "STARTING" }), false);
});
