import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AssertionError, OperatingError } from "../../kernel/errors.ts";
import type { LeaseEpoch, SessionEpoch } from "../../kernel/ids.ts";
import type { Envelope, WorkerFrame } from "./frames.ts";
import type { Dialer, LinkHandlers } from "./link.ts";
import { BusyTurns } from "./testing/busy-turns.ts";
import {
  ClusterFixture,
  RecordingObserver,
  recordingLogger,
  workerId,
} from "./testing/cluster-fixture.ts";
import {
  payloadOf,
  RecordingChannel,
  RecordingListener,
  spoken,
  spokenFrame,
} from "./testing/recording-listener.ts";
import type { WorkerListener } from "./worker-pool.ts";

const one = workerId("worker-1");

test("[CL1] a worker is dialled, greeted and spoken to, and what it says comes back in order", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const pool = cluster.pool();
  const listener = new RecordingListener();
  pool.listen(listener);
  assert.equal(pool.send(one, spoken.name, payloadOf("first")), false);
  pool.setTargets([{ address: worker.address, workerId: one }]);
  await cluster.clock.advance(10);
  assert.equal(pool.send(one, spoken.name, payloadOf("first")), true);
  assert.equal(pool.send(one, spoken.name, payloadOf("second")), true);
  await cluster.clock.advance(10);
  const session = "controller-1#1";
  assert.deepEqual(worker.handler.take(), [`frame ${session} first`, `frame ${session} second`]);
  assert.equal(worker.endpoint.send(session, spoken.name, payloadOf("third")), true);
  worker.endpoint.setAdmission({ accepting: false, draining: true });
  assert.equal(worker.endpoint.send(session, spoken.name, payloadOf("fourth")), true);
  worker.endpoint.setFact("queue_depth", "3");
  await cluster.clock.advance(2_000);
  assert.deepEqual(listener.take(), [
    "up worker-1 worker-1-7001",
    "frame worker-1 third",
    "admission worker-1 accepting=false draining=true",
    "frame worker-1 fourth",
  ]);
  const view = pool.view(one);
  assert.deepEqual(view?.live?.facts, { queue_depth: "3" });
  assert.deepEqual(view?.live?.admission, { accepting: false, draining: true });
  assert.equal(view?.live?.rttMs, 2);
  assert.equal(view?.state, "live");
  pool.close();
  assert.deepEqual(listener.take(), ["down worker-1 this controller ended the session"]);
  await cluster.clock.runAll();
  assert.deepEqual(worker.handler.take(), [`lost ${session}`]);
});

test("[CL39] a worker that does not speak a channel has a session all the same, without it", async () => {
  const cluster = new ClusterFixture();
  const both = [new RecordingChannel(), new RecordingChannel("fragments")];
  const old = cluster.worker("worker-1");
  const next = cluster.worker("worker-2", { channels: both });
  const fragments = { name: "fragments", oldest: 1, newest: 1 };
  const pool = cluster.pool("coordinator", { channels: [spoken, fragments] });
  const [onSpoken, onFragments] = [new RecordingListener(), new RecordingListener("fragments")];
  const downs: string[] = [];
  pool.listen(onSpoken);
  pool.listen(onFragments);
  pool.listen({ workerDown: (workerId) => downs.push(workerId) });
  pool.setTargets([old, next]);
  await cluster.clock.advance(10);
  assert.deepEqual(onSpoken.take(), ["up worker-1 worker-1-7001", "up worker-2 worker-2-7002"]);
  assert.deepEqual(onFragments.take(), ["up worker-2 worker-2-7002"]);
  assert.equal(pool.view(one)?.live?.channels.has("fragments"), false);
  assert.equal(pool.view(workerId("worker-2"))?.live?.channels.has("fragments"), true);
  assert.equal(pool.send(one, "fragments", payloadOf("x")), false);
  assert.equal(pool.send(workerId("worker-2"), "fragments", payloadOf("a")), true);
  assert.equal(pool.send(workerId("worker-2"), spoken.name, payloadOf("b")), true);
  assert.equal(next.endpoint.send("controller-1#2", "fragments", payloadOf("c")), true);
  assert.equal(old.endpoint.send("controller-1#1", "fragments", payloadOf("c")), false);
  await cluster.clock.advance(10);
  assert.deepEqual(onFragments.take(), ["frame worker-2 c"]);
  assert.deepEqual(onSpoken.take(), []);
  pool.close();
  await cluster.clock.advance(10);
  assert.deepEqual(
    both.map((channel) => channel.take()),
    [
      ["frame controller-1#2 b", "lost controller-1#2"],
      ["frame controller-1#2 a", "lost controller-1#2"],
    ],
  );
  assert.deepEqual(old.handler.take(), ["lost controller-1#1"]);
  assert.deepEqual(onFragments.take(), ["down worker-2 this controller ended the session"]);
  assert.deepEqual(downs, ["worker-1", "worker-2"]);
});

test("[CL39] a frame that a channel cannot read ends the session, on either side", async () => {
  const cluster = new ClusterFixture();
  const unreadable = (): never => {
    throw new OperatingError("protocol_violation", "never", "key is missing");
  };
  const worker = cluster.worker("worker-1");
  const pool = cluster.pool();
  const listener = new RecordingListener();
  pool.listen(listener);
  pool.setTargets([worker]);
  await cluster.clock.advance(10);
  listener.workerFrame = unreadable;
  worker.endpoint.send("controller-1#1", spoken.name, payloadOf("?"));
  await cluster.clock.advance(10);
  assert.equal(listener.take().at(-1), "down worker-1 protocol violation: key is missing");
  await cluster.clock.advance(20_000);
  worker.handler.take();
  worker.handler.receive = unreadable;
  pool.send(one, spoken.name, payloadOf("?"));
  await cluster.clock.advance(10);
  assert.deepEqual(worker.handler.take(), ["lost controller-1#2"]);
  assert.match(
    listener.take().at(-1) ?? "",
    /refused by the worker \(bad_frame\): .*key is missing/,
  );
});

test("[CL1] a new listener is told of every live session, an old one can leave", async () => {
  const cluster = new ClusterFixture();
  const pool = cluster.pool();
  pool.setTargets([cluster.worker("worker-1"), cluster.worker("worker-2")]);
  await cluster.clock.advance(10);
  const listener = new RecordingListener();
  const leave = pool.listen(listener);
  assert.deepEqual(listener.take(), ["up worker-1 worker-1-7001", "up worker-2 worker-2-7002"]);
  leave();
  pool.close();
  assert.deepEqual(listener.take(), []);
});

test("[CL3] a worker falls silent at any moment, at any round trip: detected within 3.5 s of its last answer", async () => {
  const silences = fc.asyncProperty(
    fc.integer({ min: 0, max: 450 }),
    fc.integer({ min: 1_000, max: 9_000 }),
    async (latencyMs, silentAtMs) => {
      const cluster = new ClusterFixture();
      cluster.network.latencyMs = latencyMs;
      const worker = cluster.worker("worker-1");
      const pool = cluster.pool();
      const listener = new RecordingListener();
      pool.listen(listener);
      pool.setTargets([worker]);
      await cluster.clock.advance(silentAtMs);
      const live = pool.view(one)?.live;
      assert.ok(live !== undefined);
      cluster.network.silence(worker.port);
      await cluster.clock.advance(live.lastAnswerMs + 3_500 - cluster.clock.nowMs());
      assert.equal(pool.view(one)?.live, undefined);
      assert.equal(listener.take().at(-1), "down worker-1 3 heartbeats unanswered");
    },
  );
  await fc.assert(silences, { numRuns: 60 });
});

for (const turnMs of [300, 600, 900]) {
  test(`[CL42] a controller whose turns take ${turnMs} ms loses no worker that answers at once`, async () => {
    // At whatever moment between two heartbeats it begins.
    for (let beginsMs = 5_000; beginsMs < 6_000; beginsMs += 50) {
      const cluster = new ClusterFixture();
      const worker = cluster.worker("worker-1");
      const busy = new BusyTurns(cluster.clock);
      const observer = new RecordingObserver();
      const dialer = busy.reading(cluster.network);
      const pool = cluster.pool("coordinator", { clock: busy, dialer, observer });
      pool.setTargets([worker]);
      await cluster.clock.advance(beginsMs);
      busy.turnMs = turnMs;
      await cluster.clock.advance(30_000);
      assert.ok(observer.rttsMs.length > 15, "heartbeats are answered");
      assert.equal(observer.misses, 0);

      cluster.network.silence(worker.port);
      await cluster.clock.advance(3_500 + 3 * (1_000 + turnMs));
      assert.equal(pool.view(one)?.live, undefined, "one that is silent is found all the same");
      pool.close();
    }
  });
}

test("[CL3] the loss of the link is failure at once, and the worker is back after a short backoff", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const observer = new RecordingObserver();
  const pool = cluster.pool("coordinator", { observer });
  const listener = new RecordingListener();
  pool.listen(listener);
  pool.setTargets([worker]);
  await cluster.clock.advance(20_000);
  listener.take();
  assert.equal(observer.active, 1);
  cluster.network.cut(worker.port, "connection lost");
  await cluster.clock.advance(1);
  assert.deepEqual(listener.take(), ["down worker-1 connection lost"]);
  assert.equal(observer.active, 0);
  await cluster.clock.advance(250);
  assert.deepEqual(listener.take(), ["up worker-1 worker-1-7001"]);
  assert.deepEqual(worker.handler.take(), ["lost controller-1#1"]);
  assert.deepEqual(observer.downs, ["link_lost"]);
  const [first, second] = observer.reconnectsMs;
  assert.equal(first, undefined);
  assert.ok(second !== undefined && second >= 100 && second <= 210, `${second}`);
  assert.equal(observer.misses, 0);
  assert.ok(observer.rttsMs.length > 15 && observer.rttsMs.every((rttMs) => rttMs === 2));
});

test("[CL3] a worker that comes back at another address has reconnected, too", async () => {
  const cluster = new ClusterFixture();
  const before = cluster.worker("worker-1");
  const observer = new RecordingObserver();
  const pool = cluster.pool("coordinator", { observer });
  pool.setTargets([before]);
  await cluster.clock.advance(5_000);
  cluster.network.cut(before.port, "killed");
  await cluster.clock.advance(10);
  pool.setTargets([]);
  await cluster.clock.advance(3_000);
  pool.setTargets([cluster.worker("worker-1")]);
  await cluster.clock.advance(1_000);
  const [first, second] = observer.reconnectsMs;
  assert.equal(first, undefined);
  assert.ok(second !== undefined && second >= 3_000 && second <= 4_000, `${second}`);
});

test("[CL3] a worker that is listed at another address while its old session still counts as live has reconnected, too", async () => {
  const cluster = new ClusterFixture();
  const before = cluster.worker("worker-1");
  const observer = new RecordingObserver();
  const pool = cluster.pool("coordinator", { observer });
  pool.setTargets([{ ...before, workerId: one }]);
  await cluster.clock.advance(5_000);
  pool.setTargets([{ ...cluster.worker("worker-1"), workerId: one }]);
  await cluster.clock.advance(1_000);
  const [first, second] = observer.reconnectsMs;
  assert.equal(first, undefined);
  assert.ok(second !== undefined && second <= 1_000, `${second}`);
});

test("[CL15] an unreachable worker is probed at most every 5 to 10 s; a poke, or a new registration, dials at once", async () => {
  const cluster = new ClusterFixture();
  const address = { host: "memory", grpcPort: 9 };
  const observer = new RecordingObserver();
  const pool = cluster.pool("coordinator", { observer });
  pool.setTargets([{ address, workerId: one }]);
  await cluster.clock.advance(60_000);
  assert.equal(pool.view(one)?.downReason, "connection refused");
  assert.deepEqual(new Set(observer.failedDials), new Set(["link_lost"]));
  const dialsBefore = cluster.network.dials;
  await cluster.clock.advance(100_000);
  const dials = cluster.network.dials - dialsBefore;
  assert.ok(dials >= 9 && dials <= 21, `${dials} dials in 100 s`);
  const pokes = [
    () => pool.poke(one),
    () => pool.poke(address),
    () => pool.setTargets([{ address, workerId: one, registration: "2" }]),
  ];
  for (const poke of pokes) {
    await cluster.clock.advance(30_000);
    const before = cluster.network.dials;
    poke();
    assert.equal(cluster.network.dials, before + 1);
  }
});

test("[CL7] every dial has a larger epoch, over all targets", async () => {
  const cluster = new ClusterFixture();
  const first = cluster.worker("worker-1");
  const second = cluster.worker("worker-2");
  const pool = cluster.pool();
  pool.setTargets([first, second]);
  await cluster.clock.advance(10);
  cluster.network.cut(first.port, "connection lost");
  await cluster.clock.advance(500);
  const epochs = pool.views().map((view) => view.live?.epoch);
  assert.deepEqual(epochs, [3, 2]);
});

test("[CL4] frames and closings of an older dial do nothing", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const dialled: LinkHandlers<Envelope<WorkerFrame>>[] = [];
  const dialer: Dialer = {
    dial: (address, handlers) => {
      dialled.push(handlers);
      return cluster.network.dial(address, handlers);
    },
  };
  const pool = cluster.pool("coordinator", { dialer });
  pool.setTargets([worker]);
  await cluster.clock.advance(10);
  cluster.network.cut(worker.port, "connection lost");
  await cluster.clock.advance(500);
  const listener = new RecordingListener();
  pool.listen(listener);
  listener.take();
  const report = spokenFrame("hi");
  dialled[0]?.onFrame({ epoch: 1 as SessionEpoch, frame: report });
  dialled[1]?.onFrame({ epoch: 1 as SessionEpoch, frame: report });
  dialled[0]?.onClose("late");
  assert.deepEqual(listener.take(), []);
  dialled[1]?.onFrame({ epoch: 2 as SessionEpoch, frame: report });
  assert.deepEqual(listener.take(), ["frame worker-1 hi"]);
});

test("[CL17] a worker of another name than expected is not let in, and keeps its own session", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-2");
  const { address } = worker;
  const lines: string[] = [];
  const pool = cluster.pool("coordinator", { logger: recordingLogger(lines) });
  pool.setTargets([
    { address, workerId: workerId("worker-2") },
    { address, workerId: one }, // Its row is old: worker-2 has its port now.
  ]);
  await cluster.clock.advance(60_000);
  assert.equal(pool.view(one)?.live, undefined);
  assert.deepEqual(lines, [
    "worker not reached: refused by the worker (wrong_worker): this is worker worker-2, not worker-1",
  ]);
  assert.deepEqual(worker.handler.take(), []);
  assert.deepEqual(
    worker.endpoint.sessions().map(({ epoch }) => epoch),
    [1],
  );
});

test("[CL6] two workers with one name: the second is refused and logged, and takes over when the first is gone", async () => {
  const cluster = new ClusterFixture();
  const first = cluster.worker("worker-1");
  const second = cluster.worker("worker-1");
  const lines: string[] = [];
  const pool = cluster.pool("coordinator", { logger: recordingLogger(lines) });
  const listener = new RecordingListener();
  pool.listen(listener);
  pool.setTargets([first, second]);
  await cluster.clock.advance(60_000);
  assert.deepEqual(listener.take(), ["up worker-1 worker-1-7001"]);
  assert.deepEqual(lines, [
    "worker not reached: worker worker-1 is already connected at memory:7001",
  ]);
  assert.equal(cluster.network.dials, 2);
  cluster.network.kill(first.port);
  await cluster.clock.advance(12_000);
  assert.deepEqual(listener.take(), ["down worker-1 connection lost", "up worker-1 worker-1-7002"]);
});

test("[CL6] one worker at two addresses keeps one session", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const alias = cluster.network.listen(7900, worker.endpoint.accept);
  const pool = cluster.pool();
  const listener = new RecordingListener();
  pool.listen(listener);
  pool.setTargets([{ address: worker.address }, { address: alias }]);
  await cluster.clock.advance(5_000);
  listener.take();
  await cluster.clock.advance(120_000);
  assert.deepEqual(listener.take(), []); // No flapping.
  assert.equal(pool.views().filter((view) => view.live !== undefined).length, 1);
});

test("[CL18] a target that is gone is told goodbye; one that moved is dialled at its new address", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const elsewhere = cluster.network.listen(7900, worker.endpoint.accept);
  const pool = cluster.pool();
  const listener = new RecordingListener();
  pool.listen(listener);
  pool.setTargets([{ address: worker.address, workerId: one }]);
  await cluster.clock.advance(10);
  pool.setTargets([{ address: elsewhere, workerId: one }]);
  await cluster.clock.advance(10);
  assert.deepEqual(listener.take(), [
    "up worker-1 worker-1-7001",
    "down worker-1 this controller ended the session",
    "up worker-1 worker-1-7001",
  ]);
  pool.setTargets([]);
  await cluster.clock.runAll();
  assert.deepEqual(pool.views(), []);
  assert.deepEqual(worker.endpoint.sessions(), []);
});

test("[CL19] the wish to drain is told at once, and again to every new session", async () => {
  const cluster = new ClusterFixture();
  const wishes: boolean[] = [];
  const worker = cluster.worker("worker-1", { onSetDraining: (wish) => wishes.push(wish) });
  const pool = cluster.pool();
  pool.setTargets([worker]);
  await cluster.clock.advance(10);
  pool.setDraining(one, true);
  pool.setDraining(one, true);
  await cluster.clock.advance(10);
  assert.deepEqual(wishes, [true]);
  cluster.network.cut(worker.port, "connection lost");
  await cluster.clock.advance(500);
  assert.deepEqual(wishes, [true, true]);
  pool.setDraining(one, false);
  await cluster.clock.advance(10);
  assert.deepEqual(wishes, [true, true, false]);
  assert.throws(() => cluster.pool("query_api").setDraining(one, true), AssertionError);
});

test("[CL20] a dropped worker is told so and not dialled again", async () => {
  const cluster = new ClusterFixture();
  let dropped = 0;
  const worker = cluster.worker("worker-1", {
    onDropped: () => {
      dropped += 1;
    },
  });
  const pool = cluster.pool();
  pool.setTargets([worker]);
  await cluster.clock.advance(10);
  pool.drop(one);
  await cluster.clock.advance(60_000);
  assert.equal(dropped, 1);
  assert.equal(cluster.network.dials, 1);
});

test("[CL8] listeners hear things in order, whatever they call from inside a callback", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const pool = cluster.pool();
  const late = new RecordingListener();
  const dropper = new RecordingListener();
  dropper.workerUp = (up) => {
    dropper.lines.push("up");
    pool.drop(up.workerId);
    pool.listen(late);
    assert.equal(pool.send(up.workerId, spoken.name, payloadOf("hi")), false);
  };
  const other = new RecordingListener();
  pool.listen(dropper);
  pool.listen(other);
  pool.setTargets([worker]);
  await cluster.clock.advance(10);
  assert.deepEqual(dropper.take(), ["up", "down worker-1 the worker was dropped"]);
  assert.deepEqual(other.take(), [
    "up worker-1 worker-1-7001",
    "down worker-1 the worker was dropped",
  ]);
  assert.deepEqual(late.take(), []);
});

test("[CL40] listeners are told all facts after workerUp and after each change", async () => {
  const cluster = new ClusterFixture();
  const { endpoint, address } = cluster.worker("worker-1");
  const pool = cluster.pool();
  endpoint.setFact("fragment/q/f", "REGISTERED");
  const lines: string[] = [];
  const listening = (name: string): WorkerListener => ({
    workerUp: ({ workerId: id }) => lines.push(`${name}: up ${id}`),
    workerFacts: (id, facts, version) =>
      lines.push(`${name}: ${id} ${version} ${JSON.stringify(facts)}`),
  });
  pool.listen(listening("first"));
  pool.setTargets([{ address, workerId: one }]);
  await cluster.clock.advance(10);
  assert.deepEqual(lines.splice(0), [
    "first: up worker-1",
    'first: worker-1 1 {"fragment/q/f":"REGISTERED"}',
  ]);
  endpoint.setFact("fragment/q/f", "RUNNING");
  endpoint.setFact("cpu_ratio", "0.5");
  assert.equal(endpoint.factsVersion, 3);
  await cluster.clock.advance(2_000);
  const both = '{"fragment/q/f":"RUNNING","cpu_ratio":"0.5"}';
  assert.deepEqual(lines.splice(0), [`first: worker-1 3 ${both}`]);
  endpoint.unsetFact("cpu_ratio");
  pool.listen(listening("second"));
  assert.deepEqual(lines.splice(0), ["second: up worker-1", `second: worker-1 3 ${both}`]);
  await cluster.clock.advance(2_000);
  const left = 'worker-1 4 {"fragment/q/f":"RUNNING"}';
  assert.deepEqual(lines, [`first: ${left}`, `second: ${left}`]);
});

test("[CL9] a listener's error is not swallowed", async () => {
  const cluster = new ClusterFixture();
  const pool = cluster.pool();
  const broken = new RecordingListener();
  broken.workerUp = () => {
    throw new AssertionError("our bug");
  };
  pool.listen(broken);
  pool.setTargets([cluster.worker("worker-1")]);
  await assert.rejects(cluster.clock.advance(10), /our bug/);
});

test("[CL21] changes that membership cares about are announced", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const pool = cluster.pool();
  const changes: string[] = [];
  const leave = pool.onChange((id) => changes.push(`${id} ${pool.view(id)?.state}`));
  pool.setTargets([{ address: worker.address, workerId: one }]);
  await cluster.clock.advance(5_000);
  assert.deepEqual(changes.splice(0), ["worker-1 live"]);
  worker.endpoint.setAdmission({ accepting: false, draining: false });
  await cluster.clock.advance(10);
  assert.deepEqual(changes.splice(0), ["worker-1 live"]);
  cluster.network.kill(worker.port);
  await cluster.clock.advance(60_000);
  // Once for the loss, once because a dial failed for another reason; not for every dial.
  assert.deepEqual(changes.splice(0), ["worker-1 waiting", "worker-1 waiting"]);
  leave();
  pool.close();
  assert.deepEqual(changes, []);
});

test("[CL22] a closed pool dials nothing and leaves no timer behind", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const pool = cluster.pool("query_api", { leaseEpoch: () => 0 as LeaseEpoch });
  pool.setTargets([worker, { address: { host: "memory", grpcPort: 9 } }]);
  await cluster.clock.advance(5_000);
  pool.close();
  pool.setTargets([worker]);
  await cluster.clock.runAll(100);
  assert.deepEqual(pool.views(), []);
  assert.equal(cluster.clock.pendingCount, 0);
});
