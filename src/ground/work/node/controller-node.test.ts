import assert from "node:assert/strict";
import { test } from "node:test";
import { type Dialer, staticDiscovery, WorkerEndpoint } from "../../cluster/index.ts";
import { OperatingError } from "../../kernel/errors.ts";
import { HealthBoard } from "../../kernel/health.ts";
import type { ControllerId, Incarnation, QueryId, WorkerId } from "../../kernel/ids.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { createPrng } from "../../kernel/prng.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import {
  createSharedSqlite,
  openSimStore,
  readLease,
  type SharedSqlite,
  type Store,
} from "../../store/index.ts";
import { workChannelOf } from "../wire/work-channel.ts";
import { ControllerNode, type ControllerNodeOptions } from "./controller-node.ts";

type Frame = Parameters<ReturnType<Dialer["dial"]>["send"]>[0]["frame"];

const registration = {
  workerId: "worker" as WorkerId,
  hostName: "worker",
  grpcPort: 7000,
  dataPort: 7001,
  capacity: 1,
  incarnation: "run-1" as Incarnation,
  softwareVersion: "test",
};

/** One worker that never finishes its work, one database, and any number of controllers. */
class Fixture {
  readonly clock = new VirtualClock();
  readonly database: SharedSqlite = createSharedSqlite(() => this.clock.nowMs());
  /** Everything that controllers sent to the worker. */
  readonly said: (readonly [from: string, frame: Frame])[] = [];
  /** Stores that do not answer at the moment. */
  readonly hanging = new Set<string>();
  /** Stores that can be read but not written. */
  readonly full = new Set<string>();
  readonly endpoint = new WorkerEndpoint({
    clock: this.clock,
    logger: silentLogger,
    workerId: registration.workerId,
    incarnation: registration.incarnation,
    dataUrl: () => "http://worker",
    capacity: 1,
    softwareVersion: "test",
    channels: [workChannelOf({ obey: () => undefined, sessionLost: () => undefined })],
  });

  store(name: string): Store {
    const store = openSimStore({ database: this.database });
    const unlessHanging = <T>(call: () => Promise<T>): Promise<T> =>
      this.hanging.has(name) ? new Promise(() => undefined) : call();
    const unlessFull = <T>(call: () => Promise<T>): Promise<T> =>
      this.full.has(name)
        ? Promise.reject(new OperatingError("disk_full", "backoff", "no space left"))
        : unlessHanging(call);
    return {
      dialect: store.dialect,
      watched: store.watched,
      read: (body) => unlessHanging(() => store.read(body)),
      transaction: (body) => unlessFull(() => store.transaction(body)),
      catalogTransaction: (body, lease) => unlessFull(() => store.catalogTransaction(body, lease)),
      onPoke: (listener) => store.onPoke(listener),
      close: () => store.close(),
    };
  }

  dialer(name: string): Dialer {
    return {
      dial: (_address, handlers) => {
        let isOpen = true;
        const later = (call: () => void): void => {
          this.clock.after(1, call);
        };
        const accepted = this.endpoint.accept({
          send: (envelope) => {
            later(() => isOpen && handlers.onFrame(envelope));
            return isOpen;
          },
          close: (reason) => later(() => handlers.onClose(reason)),
        });
        return {
          send: (envelope) => {
            this.said.push([name, envelope.frame]);
            later(() => accepted.onFrame(envelope));
            return isOpen;
          },
          close: (reason) => {
            isOpen = false;
            later(() => accepted.onClose(reason));
          },
        };
      },
    };
  }

  node(name: string, options: Partial<ControllerNodeOptions> = {}): ControllerNode {
    return new ControllerNode({
      role: "coordinator",
      controllerId: name as ControllerId,
      clock: this.clock,
      prng: createPrng(name),
      logger: silentLogger,
      dialer: this.dialer(name),
      fetcher: { fetch: () => new Promise(() => undefined) },
      store: this.store(name),
      lease: { holder: name, apiUrl: `http://${name}` },
      ...options,
    });
  }

  /** A leading coordinator, with the worker registered and connected. */
  async leader(
    name: string,
    options: Partial<ControllerNodeOptions> = {},
  ): Promise<ControllerNode> {
    const node = this.node(name, options);
    node.start();
    await this.clock.advance(100);
    await node.registerWorker(registration);
    await this.clock.advance(100);
    assert.equal(node.pool.view(registration.workerId)?.state, "live");
    return node;
  }

  hellos(): readonly string[] {
    return this.said.flatMap(([from, frame]) =>
      frame.kind === "hello" ? [`${from} with ${frame.leaseEpoch}`] : [],
    );
  }

  rows(): readonly string[] {
    return this.database.connection
      .rows("SELECT worker_id, state FROM workers")
      .map(({ worker_id, state }) => `${worker_id} ${state}`);
  }
}

function ask(node: ControllerNode, queryId: string): Promise<string> {
  const work = {
    queryId: queryId as QueryId,
    leafId: "leaf" as never,
    workId: "w" as never,
    kind: "sql",
    body: "{}",
    affinityKey: "a",
  };
  const request = { queryId: queryId as QueryId, works: [work], deadlineMs: 600_000 };
  return node.manager.run(request).then(
    () => "done",
    (thrown: unknown) =>
      thrown instanceof OperatingError ? `${thrown.code}: ${thrown.message}` : String(thrown),
  );
}

test("a coordinator that gains the lease dials with its epoch and writes what it sees", async () => {
  const fixture = new Fixture();
  const node = await fixture.leader("one");
  assert.equal(node.leading(), true);
  assert.deepEqual(fixture.hellos(), ["one with 1"]);
  assert.deepEqual(fixture.rows(), ["worker ACTIVE"]);
});

test("[CN1, CN2] a standby dials nobody, writes nothing, and says that it does not lead", async () => {
  const fixture = new Fixture();
  await fixture.leader("one");
  const standby = fixture.node("two");
  standby.start();
  await fixture.clock.advance(30_000);
  assert.equal(standby.leading(), false);
  assert.deepEqual(standby.pool.views(), []);
  assert.deepEqual(fixture.hellos(), ["one with 1"]);
  const refused = { code: "not_leader" };
  await assert.rejects(standby.registerWorker(registration), refused);
  await assert.rejects(standby.requestDrain(registration.workerId), refused);
  await assert.rejects(standby.cancelDrain(registration.workerId), refused);
  await assert.rejects(standby.dropWorker(registration.workerId), refused);
});

test("[CN3] a standby takes over when the leader stops, with a newer epoch", async () => {
  const fixture = new Fixture();
  const one = await fixture.leader("one");
  const two = fixture.node("two");
  two.start();
  await fixture.clock.advance(1_000);
  const stopped = one.stop({ drainMs: 0 });
  await fixture.clock.advance(3_000);
  await stopped;
  assert.equal(two.leading(), true);
  assert.deepEqual(fixture.hellos(), ["one with 1", "two with 2"]);
  assert.deepEqual(fixture.rows(), ["worker ACTIVE"]);
});

test("[CN4] without the store queries go on for a while, and then it has stepped down", async () => {
  const fixture = new Fixture();
  const node = await fixture.leader("one");
  const ended = ask(node, "q");
  fixture.hanging.add("one");
  await fixture.clock.advance(6_000);
  assert.equal(node.leading(), false);
  assert.equal(node.pool.view(registration.workerId)?.state, "live");
  assert.equal(node.manager.counts().running, 1);
  await fixture.clock.advance(10_000);
  assert.deepEqual(node.pool.views(), []);
  assert.match(await ended, /^not_leader: .*lost its lease.*try again/);
});

test("[CN5] a store whose disk is full costs writes and nothing else, and says so", async () => {
  const fixture = new Fixture();
  const health = new HealthBoard({ clock: fixture.clock });
  const node = await fixture.leader("one", { health });
  const store = (): unknown => health.parts().find(({ name }) => name === "store")?.state;
  const ended = ask(node, "q");
  fixture.full.add("one");
  await fixture.clock.advance(120_000);
  assert.deepEqual([node.leading(), store()], [false, "degraded"]);
  assert.equal(node.pool.view(registration.workerId)?.state, "live");
  assert.equal(node.manager.counts().running, 1);
  await assert.rejects(node.registerWorker(registration), { code: "not_leader" });
  fixture.full.clear();
  await fixture.clock.advance(2_000);
  assert.deepEqual([node.leading(), store()], [true, "ok"]);
  assert.deepEqual(fixture.hellos(), ["one with 1"]); // Nobody was dialled anew.
  node.manager.cancel("q" as QueryId, "the test is over");
  await ended;
});

test("[CN5] one that starts where nobody can write leads as far as reading goes, and takes over once there is room", async () => {
  const fixture = new Fixture();
  const before = await fixture.leader("one");
  fixture.hanging.add("one"); // It is killed.
  before.pool.close();
  await fixture.clock.advance(60_000);
  const node = fixture.node("one, again", { lease: { holder: "one", apiUrl: "http://one" } });
  fixture.full.add("one, again");
  const stranger = fixture.node("two");
  fixture.full.add("two");
  node.start();
  stranger.start();
  await fixture.clock.advance(30_000);
  assert.deepEqual([node.leading(), node.lease?.standsAsOurs()], [false, true]);
  assert.equal(node.pool.view(registration.workerId)?.state, "live");
  assert.deepEqual(stranger.pool.views(), []);
  await assert.rejects(node.registerWorker(registration), { code: "not_leader" });
  fixture.full.delete("one, again");
  await fixture.clock.advance(5_000);
  assert.equal(node.leading(), true);
  assert.equal(node.pool.view(registration.workerId)?.state, "live");
  const said = fixture.hellos().filter((hello) => hello.startsWith("one, again"));
  assert.deepEqual(said, ["one, again with 1", "one, again with 2"]);
});

test("[CN5] one that started where nobody could write steps down once somebody else leads", async () => {
  const fixture = new Fixture();
  const before = await fixture.leader("one");
  fixture.hanging.add("one");
  before.pool.close();
  await fixture.clock.advance(60_000);
  const node = fixture.node("one, again", { lease: { holder: "one", apiUrl: "http://one" } });
  fixture.full.add("one, again");
  node.start();
  await fixture.clock.advance(10_000);
  assert.equal(node.pool.view(registration.workerId)?.state, "live");
  await fixture.leader("two");
  await fixture.clock.advance(10_000);
  assert.deepEqual([node.lease?.standsAsOurs(), node.pool.views()], [false, []]);
});

test("[CN3, CN4] one that a newer coordinator has replaced loses its sessions to it", async () => {
  const fixture = new Fixture();
  const one = await fixture.leader("one");
  fixture.hanging.add("one");
  const two = fixture.node("two");
  two.start();
  await fixture.clock.advance(9_000);
  assert.equal(two.leading(), true);
  assert.equal(one.pool.view(registration.workerId)?.live, undefined);
  assert.deepEqual(
    fixture.endpoint.sessions().map(({ controllerId, leaseEpoch }) => [controllerId, leaseEpoch]),
    [["two", 2]],
  );
});

test("[CN3] a lease that comes back with another epoch means dialling anew", async () => {
  const fixture = new Fixture();
  await fixture.leader("one");
  // Another holder had it for a moment and is gone; nobody dialled meanwhile.
  fixture.database.connection.exec("UPDATE coordinator_leases SET epoch = 7, expires_at_ms = 0");
  await fixture.clock.advance(10_000);
  assert.deepEqual(fixture.hellos(), ["one with 1", "one with 8"]);
});

test("a query-api dials what it finds, without a lease, and leaves the table alone", async () => {
  const fixture = new Fixture();
  const leader = await fixture.leader("one");
  const api = fixture.node("api", { role: "query_api" });
  api.start();
  await fixture.clock.advance(1_000);
  assert.equal(api.pool.view(registration.workerId)?.state, "live");
  assert.equal(api.leading(), false);
  assert.deepEqual(fixture.hellos(), ["one with 1", "api with 0"]);
  await assert.rejects(api.requestDrain(registration.workerId), { code: "not_leader" });
  const stopped = Promise.all([leader.stop({ drainMs: 0 }), api.stop({ drainMs: 0 })]);
  await fixture.clock.advance(1_000);
  await stopped;
});

test("a query-api needs no store where the workers are listed", async () => {
  const fixture = new Fixture();
  const { workerId, hostName: host, grpcPort } = registration;
  const api = new ControllerNode({
    role: "query_api",
    controllerId: "api" as ControllerId,
    clock: fixture.clock,
    prng: createPrng(1),
    logger: silentLogger,
    dialer: fixture.dialer("api"),
    fetcher: { fetch: () => new Promise(() => undefined) },
    discovery: staticDiscovery([{ workerId, address: { host, grpcPort } }]),
  });
  api.start();
  await fixture.clock.advance(100);
  assert.equal(api.pool.view(workerId)?.state, "live");
});

test("a stop waits for queries as long as it was told to, then cancels them", async () => {
  const fixture = new Fixture();
  const node = await fixture.leader("one");
  const ended = ask(node, "q");
  const stopped = node.stop({ drainMs: 3_000 });
  await fixture.clock.advance(2_900);
  assert.equal(node.manager.counts().running, 1);
  await fixture.clock.advance(300);
  await stopped;
  assert.match(await ended, /shutting down/);
  const lease = await readLease(fixture.store("reader"), "coordinator");
  assert(lease !== undefined && lease.remainingMs <= 0, "the lease was given back");
  assert.equal(fixture.endpoint.sessions().length, 0);
});

test("a stop ends although the store does not answer", async () => {
  const fixture = new Fixture();
  const node = await fixture.leader("one");
  fixture.hanging.add("one");
  await fixture.clock.advance(2_000); // A renewal is under way, and hangs.
  let isStopped = false;
  const stopped = node.stop({ drainMs: 0 }).then(() => {
    isStopped = true;
  });
  await fixture.clock.advance(4_100);
  assert.equal(isStopped, true);
  await stopped;
});
