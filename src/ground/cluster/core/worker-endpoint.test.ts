import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerId, LeaseEpoch, SessionEpoch } from "../../kernel/ids.ts";
import type { ControllerFrame, ControllerRole, Envelope, WorkerFrame } from "./frames.ts";
import { ClusterFixture, type FixtureWorker } from "./testing/cluster-fixture.ts";
import { payloadOf, spoken, spokenFrame } from "./testing/recording-listener.ts";
import { protocolVersions } from "./versions.ts";

/** A controller that sends exactly what a test tells it to. */
class Caller {
  readonly frames: WorkerFrame[] = [];
  closed: string | undefined;
  readonly epoch: SessionEpoch;
  readonly #cluster: ClusterFixture;
  readonly #link;

  constructor(cluster: ClusterFixture, worker: FixtureWorker, epoch = 1) {
    this.#cluster = cluster;
    this.epoch = epoch as SessionEpoch;
    this.#link = cluster.network.dial(worker.address, {
      onFrame: ({ frame }) => this.frames.push(frame),
      onClose: (reason) => {
        this.closed = reason;
      },
    });
  }

  async say(frame: ControllerFrame, epoch = this.epoch): Promise<this> {
    const envelope: Envelope<ControllerFrame> = { epoch, frame };
    this.#link.send(envelope);
    await this.#cluster.clock.advance(10);
    return this;
  }

  hello(id: string, role: ControllerRole = "coordinator", leaseEpoch = 1): Promise<this> {
    return this.say({
      kind: "hello",
      controllerId: id as ControllerId,
      role,
      leaseEpoch: leaseEpoch as LeaseEpoch,
      versions: protocolVersions,
      channels: [spoken],
    });
  }

  beat(sequence: number, ackedFactsVersion: number): Promise<this> {
    return this.say({ kind: "heartbeat", sequence, ackedFactsVersion });
  }

  /** The kinds of the frames since the last call; a refusal with its reason. */
  take(): string[] {
    const names = this.frames.map((f) => (f.kind === "refused" ? `refused ${f.reason}` : f.kind));
    this.frames.length = 0;
    return names;
  }
}

const hi = spokenFrame("hi");

test("[CL24] the welcome carries the whole inventory and the incarnation", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1", { admission: { accepting: false, draining: false } });
  worker.endpoint.setFact("a", "1");
  worker.endpoint.setFact("b", "2");
  worker.endpoint.unsetFact("b");
  const caller = await new Caller(cluster, worker).hello("c");
  assert.deepEqual(caller.frames, [
    {
      kind: "welcome",
      workerId: "worker-1",
      incarnation: "worker-1-7001",
      version: protocolVersions.newest,
      channels: new Map([[spoken.name, 1]]),
      admission: { accepting: false, draining: false },
      facts: { a: "1" },
      factsVersion: 3,
      dataUrl: "http://memory:8001",
      capacity: 4,
      softwareVersion: "test",
    },
  ]);
});

test("[CL16] answers carry what changed since the last acknowledged, for each session by itself", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  worker.endpoint.setFact("a", "1");
  const first = await new Caller(cluster, worker).hello("c1", "query_api");
  const second = await new Caller(cluster, worker).hello("c2", "query_api");
  first.take();
  second.take();
  worker.endpoint.setFact("b", "2");
  worker.endpoint.unsetFact("a");
  await first.beat(1, 1);
  const delta = { version: 3, set: { b: "2" }, unset: ["a"] };
  assert.deepEqual(first.frames.splice(0), [{ kind: "heartbeatAnswer", sequence: 1, delta }]);
  await first.beat(2, 1); // The answer was late: asked again from the same version.
  assert.deepEqual(first.frames.splice(0), [{ kind: "heartbeatAnswer", sequence: 2, delta }]);
  await first.beat(3, 3);
  assert.deepEqual(first.frames.splice(0), [
    { kind: "heartbeatAnswer", sequence: 3, delta: undefined },
  ]);
  await second.beat(1, 1);
  assert.deepEqual(second.frames.splice(0), [{ kind: "heartbeatAnswer", sequence: 1, delta }]);
});

test("[CL19] a change of admission is pushed to every session, once", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const callers = [
    await new Caller(cluster, worker).hello("c1"),
    await new Caller(cluster, worker).hello("c2", "query_api"),
  ];
  for (const caller of callers) caller.take();
  worker.endpoint.setAdmission({ accepting: false, draining: true });
  worker.endpoint.setAdmission({ accepting: false, draining: true });
  await cluster.clock.advance(10);
  for (const caller of callers) assert.deepEqual(caller.take(), ["admission"]);
});

const firstFrames: readonly ControllerFrame[] = [
  { kind: "heartbeat", sequence: 1, ackedFactsVersion: 0 },
  { kind: "setDraining", draining: true },
  { kind: "goodbye", reason: "dropped" },
  hi,
];
for (const frame of firstFrames) {
  test(`[CL10] a ${frame.kind} before the hello is refused and ends the link`, async () => {
    const cluster = new ClusterFixture();
    const touched: string[] = [];
    const worker = cluster.worker("worker-1", {
      onDropped: () => touched.push("dropped"),
      onSetDraining: () => touched.push("draining"),
    });
    const caller = await new Caller(cluster, worker).say(frame);
    assert.deepEqual(caller.take(), ["refused bad_frame"]);
    assert.equal(caller.closed, `protocol violation: a ${frame.kind} before the hello`);
    assert.deepEqual([...worker.handler.take(), ...touched], []);
  });
}

test("[CL10] a second hello, an impossible acknowledgement, and a query-api that drains end the session", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1", { onSetDraining: () => assert.fail("not obeyed") });
  const second = await (await new Caller(cluster, worker).hello("c1")).hello("c1");
  assert.deepEqual(second.take(), ["welcome", "refused bad_frame"]);
  const liar = await (await new Caller(cluster, worker).hello("c2", "query_api")).beat(1, 99);
  assert.deepEqual(liar.take(), ["welcome", "refused bad_frame"]);
  const drainer = await new Caller(cluster, worker).hello("c3", "query_api");
  await drainer.say({ kind: "setDraining", draining: true });
  assert.deepEqual(drainer.take(), ["welcome", "refused bad_frame"]);
  assert.deepEqual(worker.handler.take(), ["lost c1#1", "lost c2#1", "lost c3#1"]);
});

test("[CL39] a frame of a channel that was not agreed on ends the session", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const caller = await new Caller(cluster, worker).hello("c");
  await caller.say({ ...hi, channel: "other" });
  assert.deepEqual(caller.take(), ["welcome", "refused bad_frame"]);
  assert.match(caller.closed ?? "", /a frame of the channel other, not agreed on/);
  assert.deepEqual(worker.handler.take(), ["lost c#1"]);
});

test("[CL11] [CL12] a newer session of a controller takes over; the older one's work is lost first", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const old = await new Caller(cluster, worker, 5).hello("c");
  await old.say(hi);
  const stale = await new Caller(cluster, worker, 5).hello("c");
  assert.deepEqual(stale.take(), ["refused stale_session"]);
  assert.deepEqual(worker.handler.take(), ["frame c#5 hi"]);
  const next = await new Caller(cluster, worker, 6).hello("c");
  assert.deepEqual(next.take(), ["welcome"]);
  assert.deepEqual(old.take(), ["welcome", "refused stale_session"]);
  assert.equal(old.closed, "a newer session took over");
  await next.say(hi);
  assert.deepEqual(worker.handler.take(), ["lost c#5", "frame c#6 hi"]);
  const older = await new Caller(cluster, worker, 4).hello("c");
  assert.deepEqual(older.take(), ["refused stale_session"]);
  assert.equal(worker.endpoint.send("c#5", spoken.name, payloadOf("late")), false);
});

test("[CL11] a coordinator with a newer lease ends the older one's session; query-apis stay", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const old = await new Caller(cluster, worker).hello("old", "coordinator", 3);
  const replica = await new Caller(cluster, worker).hello("api", "query_api", 0);
  const next = await new Caller(cluster, worker).hello("new", "coordinator", 4);
  assert.deepEqual(next.take(), ["welcome"]);
  assert.deepEqual(old.take(), ["welcome", "refused stale_lease"]);
  assert.equal(replica.closed, undefined);
  assert.deepEqual(worker.handler.take(), ["lost old#1"]);
  const back = await new Caller(cluster, worker, 2).hello("old", "coordinator", 3);
  assert.deepEqual(back.take(), ["refused stale_lease"]);
  const ids = worker.endpoint.sessions().map(({ controllerId, role }) => `${controllerId} ${role}`);
  assert.deepEqual(ids, ["api query_api", "new coordinator"]);
});

test("[CL13] frames of another epoch are ignored and do not count as a sign of life", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const caller = await new Caller(cluster, worker, 2).hello("c");
  for (let times = 0; times < 6; times += 1) {
    await caller.say(hi, 1 as SessionEpoch);
    await cluster.clock.advance(1_000);
  }
  assert.deepEqual(worker.handler.take(), ["lost c#2"]);
  assert.match(caller.closed ?? "", /silent for 5\d\d\d ms/);
});

test("[CL13] a controller that says nothing for 5 s is gone, one that beats stays", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const silent = await new Caller(cluster, worker).hello("silent", "query_api");
  const beating = await new Caller(cluster, worker).hello("beating");
  for (let sequence = 1; sequence <= 20; sequence += 1) {
    await beating.beat(sequence, 0);
    await cluster.clock.advance(990);
  }
  assert.notEqual(silent.closed, undefined);
  assert.equal(beating.closed, undefined);
  assert.deepEqual(worker.handler.take(), ["lost silent#1"]);
});

test("[CL10] a link without a hello is closed after the greeting time", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const caller = new Caller(cluster, worker);
  await cluster.clock.advance(2_100);
  assert.match(caller.closed ?? "", /silent for 2000 ms/);
  assert.deepEqual(worker.handler.take(), []);
});

test("[CL25] the number of links is bounded", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1", { sessionsMax: 2 });
  const first = await new Caller(cluster, worker).hello("c1");
  await new Caller(cluster, worker).hello("c2", "query_api");
  const third = await new Caller(cluster, worker).hello("c3", "query_api");
  assert.deepEqual(third.take(), []);
  assert.equal(third.closed, "the worker has 2 sessions already");
  await first.say({ kind: "goodbye", reason: "shutting_down" });
  const fourth = await new Caller(cluster, worker).hello("c4", "query_api");
  assert.deepEqual(fourth.take(), ["welcome"]);
});

test("[CL14] what a channel says goes to its session only", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const first = await new Caller(cluster, worker).hello("c1", "query_api");
  const second = await new Caller(cluster, worker).hello("c2", "query_api");
  assert.equal(worker.endpoint.send("c2#1", spoken.name, payloadOf("hi")), true);
  assert.equal(worker.endpoint.send("nobody#1", spoken.name, payloadOf("hi")), false);
  await cluster.clock.advance(10);
  assert.deepEqual(first.take(), ["welcome"]);
  assert.deepEqual(second.take(), ["welcome", "channel"]);
});

test("[CL20] only a coordinator can drop a worker", async () => {
  const cluster = new ClusterFixture();
  const drops: string[] = [];
  const worker = cluster.worker("worker-1", { onDropped: () => drops.push("dropped") });
  const api = await new Caller(cluster, worker).hello("api", "query_api");
  await api.say({ kind: "goodbye", reason: "dropped" });
  assert.deepEqual(drops, []);
  const coordinator = await new Caller(cluster, worker).hello("c");
  await coordinator.say({ kind: "goodbye", reason: "dropped" });
  assert.deepEqual(drops, ["dropped"]);
  assert.deepEqual(worker.handler.take(), ["lost api#1", "lost c#1"]);
});

test("[CL12] closing ends every session with a reason, once, and refuses new ones", async () => {
  const cluster = new ClusterFixture();
  const worker = cluster.worker("worker-1");
  const caller = await new Caller(cluster, worker).hello("c");
  worker.endpoint.close("shutting down");
  worker.endpoint.close("again");
  await cluster.clock.advance(10);
  assert.deepEqual(caller.take(), ["welcome", "refused shutting_down"]);
  assert.equal(caller.closed, "shutting down");
  assert.deepEqual(worker.handler.take(), ["lost c#1"]);
  const late = await new Caller(cluster, worker, 2).hello("c");
  assert.deepEqual(late.take(), ["refused shutting_down"]);
  assert.equal(cluster.clock.pendingCount, 0);
});
