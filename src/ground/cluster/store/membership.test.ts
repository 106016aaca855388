import assert from "node:assert/strict";
import { test } from "node:test";
import { workerId } from "../core/testing/cluster-fixture.ts";
import { staticDiscovery } from "../discovery/static-discovery.ts";
import { registrationOf, StoreFixture } from "./testing/store-fixture.ts";
import { cancelDrain, dropWorker, registerWorker, requestDrain } from "./workers.ts";

const one = workerId("worker-1");

test("[MB1] a registered worker becomes ACTIVE when it answers, UNREACHABLE when it is lost, and ACTIVE again", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const { lead } = cluster.coordinator();
  lead(lease);
  const worker = cluster.worker("worker-1");
  await registerWorker(cluster.store, lease, registrationOf(worker, "worker-1"));
  await cluster.clock.advance(50);
  assert.deepEqual(await cluster.rows(), {
    "worker-1": "ACTIVE (answering heartbeats) accepting=1 draining=0",
  });
  cluster.network.kill(worker.port);
  await cluster.clock.advance(50);
  assert.deepEqual(await cluster.rows(), {
    "worker-1": "UNREACHABLE (connection lost) accepting=0 draining=0",
  });
  await cluster.clock.advance(60_000); // Many refused dials are not worth a single write.
  assert.equal((await cluster.log()).length, 3);
  const again = cluster.workerAt(worker.port, "worker-1");
  await registerWorker(cluster.store, lease, registrationOf(again, "worker-1"));
  await cluster.clock.advance(50); // The registration makes the pool dial at once.
  assert.deepEqual(await cluster.log(), [
    "CREATE worker-1 UNREACHABLE",
    "UPDATE worker-1 ACTIVE",
    "UPDATE worker-1 UNREACHABLE",
    "UPDATE worker-1 UNREACHABLE",
    "UPDATE worker-1 ACTIVE",
  ]);
});

test("[MB1] reasons are for people: heartbeats unanswered, connection refused", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const { lead } = cluster.coordinator();
  lead(lease);
  const silent = cluster.worker("worker-1");
  await registerWorker(cluster.store, lease, registrationOf(silent, "worker-1"));
  const absent = cluster.worker("worker-2");
  cluster.network.kill(absent.port);
  await registerWorker(cluster.store, lease, registrationOf(absent, "worker-2"));
  await cluster.clock.advance(2_000);
  cluster.network.silence(silent.port);
  await cluster.clock.advance(3_600);
  assert.deepEqual(await cluster.rows(), {
    "worker-1": "UNREACHABLE (3 heartbeats unanswered) accepting=0 draining=0",
    "worker-2": "UNREACHABLE (connection refused) accepting=0 draining=0",
  });
});

test("[MB3] five minutes of heartbeats and changing facts write nothing", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const { lead } = cluster.coordinator();
  lead(lease);
  const worker = cluster.worker("worker-1");
  await registerWorker(cluster.store, lease, registrationOf(worker, "worker-1"));
  await cluster.clock.advance(1_000);
  const before = await cluster.log();
  for (let second = 0; second < 300; second += 1) {
    worker.endpoint.setFact("queue_depth", String(second));
    await cluster.clock.advance(1_000);
  }
  assert.deepEqual(await cluster.log(), before);
});

test("[MB5] a takeover makes every worker UNREACHABLE in one transaction, then each ACTIVE as it answers", async () => {
  const cluster = new StoreFixture();
  const first = await cluster.grant("c1");
  const old = cluster.coordinator();
  old.lead(first);
  for (const name of ["worker-1", "worker-2", "worker-3"]) {
    await registerWorker(cluster.store, first, registrationOf(cluster.worker(name), name));
  }
  await cluster.clock.advance(100);
  await old.membership.stop();
  old.pool.close();
  cluster.network.kill(7002);
  const before = (await cluster.log()).length;

  const second = await cluster.grant("c2");
  const next = cluster.coordinator();
  next.lead(second);
  await cluster.clock.advance(0);
  const taken = (await cluster.log()).slice(before, before + 3);
  assert.deepEqual(taken, [
    "UPDATE worker-1 UNREACHABLE",
    "UPDATE worker-2 UNREACHABLE",
    "UPDATE worker-3 UNREACHABLE",
  ]);
  assert.match(String((await cluster.rows())["worker-2"]), /not heard from since this coordinator/);
  await cluster.clock.advance(100);
  assert.deepEqual(await cluster.rows(), {
    "worker-1": "ACTIVE (answering heartbeats) accepting=1 draining=0",
    "worker-2": "UNREACHABLE (connection refused) accepting=0 draining=0",
    "worker-3": "ACTIVE (answering heartbeats) accepting=1 draining=0",
  });
});

test("[MB4] without the lease nothing is dialled and nothing written; a lost lease stops the writes", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const worker = cluster.worker("worker-1");
  await registerWorker(cluster.store, lease, registrationOf(worker, "worker-1"));
  const { lead, membership } = cluster.coordinator();
  await cluster.clock.advance(10_000);
  assert.equal(cluster.network.dials, 0);
  lead(lease);
  await cluster.clock.advance(100);
  const before = await cluster.log();
  lead(undefined);
  cluster.network.kill(worker.port);
  await cluster.clock.advance(40_000);
  assert.deepEqual(await cluster.log(), before);
  lead(lease); // The lease was only in doubt.
  await cluster.clock.advance(100);
  assert.deepEqual((await cluster.log()).slice(before.length), ["UPDATE worker-1 UNREACHABLE"]);
  assert.ok(membership.idle());
});

test("[MB4] a coordinator that does not know yet that its lease is gone cannot write", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c1");
  const { lead } = cluster.coordinator();
  lead(lease);
  const worker = cluster.worker("worker-1");
  await registerWorker(cluster.store, lease, registrationOf(worker, "worker-1"));
  await cluster.clock.advance(100);
  await cluster.grant("c2");
  const before = await cluster.log();
  cluster.network.kill(worker.port);
  await cluster.clock.advance(10_000);
  assert.deepEqual(await cluster.log(), before);
});

test("[MB9] the wish to drain reaches the worker, and its answer the row", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const { lead } = cluster.coordinator();
  lead(lease);
  const worker = cluster.worker("worker-1", {
    onSetDraining: (draining) => worker.endpoint.setAdmission({ accepting: !draining, draining }),
  });
  await registerWorker(cluster.store, lease, registrationOf(worker, "worker-1"));
  await cluster.clock.advance(100);
  await requestDrain(cluster.store, lease, one);
  await cluster.clock.advance(100);
  assert.match((await cluster.rows())[one] ?? "", /ACTIVE .* accepting=0 draining=1/);
  await cancelDrain(cluster.store, lease, one);
  await cluster.clock.advance(100);
  assert.match((await cluster.rows())[one] ?? "", /ACTIVE .* accepting=1 draining=0/);
});

test("[MB7] a worker whose queue fills and empties ten times a second costs one write a second", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const { lead } = cluster.coordinator();
  lead(lease);
  const worker = cluster.worker("worker-1");
  await registerWorker(cluster.store, lease, registrationOf(worker, "worker-1"));
  await cluster.clock.advance(2_000);
  const before = (await cluster.log()).length;
  for (let times = 0; times < 101; times += 1) {
    worker.endpoint.setAdmission({ accepting: times % 2 === 1, draining: false });
    await cluster.clock.advance(100);
  }
  await cluster.clock.advance(2_000);
  const writes = (await cluster.log()).length - before;
  assert.ok(writes >= 2 && writes <= 13, `${writes} writes`);
  assert.match((await cluster.rows())[one] ?? "", /accepting=0/); // The last word is written.
});

test("[MB6] a dropped worker is told so and its session ends", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const { lead, pool } = cluster.coordinator();
  lead(lease);
  let dropped = 0;
  const worker = cluster.worker("worker-1", {
    onSetDraining: (draining) => worker.endpoint.setAdmission({ accepting: !draining, draining }),
    onDropped: () => {
      dropped += 1;
    },
  });
  await registerWorker(cluster.store, lease, registrationOf(worker, "worker-1"));
  await cluster.clock.advance(100);
  await requestDrain(cluster.store, lease, one);
  await cluster.clock.advance(100);
  await dropWorker(cluster.store, lease, one);
  await cluster.clock.advance(60_000);
  assert.equal(dropped, 1);
  assert.deepEqual(pool.views(), []);
  assert.deepEqual(await cluster.rows(), {});
});

test("[MB12] a worker that a list names needs no registration; dropped, only a new process comes back", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const worker = cluster.worker("worker-1");
  const discovery = staticDiscovery([{ address: worker.address }]);
  const { lead } = cluster.coordinator({ discovery });
  lead(lease);
  await cluster.clock.advance(100);
  assert.deepEqual(await cluster.rows(), {
    "worker-1": "ACTIVE (answering heartbeats) accepting=1 draining=0",
  });
  worker.endpoint.setAdmission({ accepting: false, draining: true });
  await cluster.clock.advance(2_000);
  await dropWorker(cluster.store, lease, one);
  await cluster.clock.advance(120_000);
  assert.deepEqual(await cluster.rows(), {});
  cluster.network.kill(worker.port);
  cluster.workerAt(worker.port, "worker-1", { incarnation: "new" as never });
  await cluster.clock.advance(40_000);
  assert.match((await cluster.rows())[one] ?? "", /^ACTIVE/);
});
