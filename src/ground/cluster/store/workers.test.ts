import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import type { Incarnation } from "../../kernel/ids.ts";
import { workerId } from "../core/testing/cluster-fixture.ts";
import { registrationOf, StoreFixture } from "./testing/store-fixture.ts";
import {
  cancelDrain,
  dropWorker,
  getWorker,
  listWorkers,
  registerWorker,
  requestDrain,
} from "./workers.ts";

const one = workerId("worker-1");
const hasCode = (code: string) => (error: unknown) =>
  error instanceof OperatingError && error.code === code;

/** Sets the row to ACTIVE, as membership would. */
async function activate(cluster: StoreFixture, draining = 0): Promise<void> {
  await cluster.store.catalogTransaction(async (tx) => {
    await tx.update("workers", one, { state: "ACTIVE", accepting_work: 1, draining });
  });
}

test("[MB8] a worker registers: it is UNREACHABLE until it answers, and twice is once", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const registration = registrationOf(cluster.worker("worker-1"), "worker-1");
  const row = await registerWorker(cluster.store, lease, registration);
  assert.equal(row.state, "UNREACHABLE");
  assert.equal(row.state_reason, "registered, not heard from yet");
  assert.deepEqual({ ...(await getWorker(cluster.store, one)) }, row);
  assert.deepEqual({ ...(await registerWorker(cluster.store, lease, registration)) }, row);
  assert.deepEqual(await cluster.log(), ["CREATE worker-1 UNREACHABLE"]);
});

test("[MB8] a registration while UNREACHABLE changes the address and the time, and keeps the wish to drain", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const registration = registrationOf(cluster.worker("worker-1"), "worker-1");
  const first = await registerWorker(cluster.store, lease, registration);
  await requestDrain(cluster.store, lease, one);
  await cluster.clock.advance(500);
  const moved = { ...registration, grpcPort: 9, incarnation: "other" as Incarnation };
  const second = await registerWorker(cluster.store, lease, moved);
  assert.equal(second.registered_at_ms, first.registered_at_ms + 500);
  assert.equal(second.grpc_port, 9);
  assert.equal(second.incarnation, "other");
  assert.equal(second.drain_requested, 1);
  assert.equal(second.state_changed_at_ms, first.state_changed_at_ms);
});

test("[MB8] two workers with one name: the second is refused while the first is ACTIVE", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const registration = registrationOf(cluster.worker("worker-1"), "worker-1");
  await registerWorker(cluster.store, lease, registration);
  await activate(cluster);
  const other = { ...registration, incarnation: "other" as Incarnation };
  await assert.rejects(registerWorker(cluster.store, lease, other), hasCode("worker_name_taken"));
  const before = await cluster.log();
  await registerWorker(cluster.store, lease, registration); // The same process: nothing to write.
  assert.deepEqual(await cluster.log(), before);
});

test("[MB8] impossible values are refused", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const good = registrationOf(cluster.worker("worker-1"), "worker-1");
  const bad = [
    { hostName: "" },
    { hostName: "a b" },
    { grpcPort: 0 },
    { dataPort: 65_536 },
    { capacity: -1 },
    { capacity: 1.5 },
    { softwareVersion: "x".repeat(65) },
  ];
  for (const values of bad) {
    const registration = { ...good, ...values };
    await assert.rejects(
      registerWorker(cluster.store, lease, registration),
      hasCode("bad_request"),
    );
  }
});

test("[MB9] drain and its cancellation are wishes in the row; unknown workers are not found", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  await registerWorker(
    cluster.store,
    lease,
    registrationOf(cluster.worker("worker-1"), "worker-1"),
  );
  assert.equal((await requestDrain(cluster.store, lease, one)).drain_requested, 1);
  await requestDrain(cluster.store, lease, one);
  assert.equal((await cancelDrain(cluster.store, lease, one)).drain_requested, 0);
  assert.equal((await cluster.log()).length, 3);
  const nobody = workerId("nobody");
  await assert.rejects(requestDrain(cluster.store, lease, nobody), hasCode("not_found"));
  await assert.rejects(cancelDrain(cluster.store, lease, nobody), hasCode("not_found"));
  await assert.rejects(dropWorker(cluster.store, lease, nobody), hasCode("not_found"));
});

test("[MB10] a worker is dropped when UNREACHABLE or draining, and busy otherwise", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const registration = registrationOf(cluster.worker("worker-1"), "worker-1");
  await registerWorker(cluster.store, lease, registration);
  await activate(cluster);
  await assert.rejects(dropWorker(cluster.store, lease, one), hasCode("worker_busy"));
  await activate(cluster, 1);
  assert.equal((await dropWorker(cluster.store, lease, one)).worker_id, one);
  await registerWorker(cluster.store, lease, registration);
  await dropWorker(cluster.store, lease, one);
  assert.equal(await getWorker(cluster.store, one), undefined);
});

test("[MB4] every write fails under an old lease and changes nothing", async () => {
  const cluster = new StoreFixture();
  const old = await cluster.grant("c1");
  const registration = registrationOf(cluster.worker("worker-1"), "worker-1");
  await registerWorker(cluster.store, old, registration);
  await cluster.grant("c2");
  const before = await cluster.log();
  const writes = [
    () => registerWorker(cluster.store, old, { ...registration, grpcPort: 9 }),
    () => requestDrain(cluster.store, old, one),
    () => cancelDrain(cluster.store, old, one),
    () => dropWorker(cluster.store, old, one),
  ];
  for (const write of writes) await assert.rejects(write(), hasCode("lease_lost"));
  assert.deepEqual(await cluster.log(), before);
});

test("[MB11] the list is paged by name", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  for (const name of ["worker-3", "worker-1", "worker-2"]) {
    await registerWorker(cluster.store, lease, registrationOf(cluster.worker(name), name));
  }
  const first = await listWorkers(cluster.store, { limit: 2 });
  assert.deepEqual(
    first.workers.map((row) => row.worker_id),
    ["worker-1", "worker-2"],
  );
  assert.equal(first.nextAfter, "worker-2");
  const rest = await listWorkers(cluster.store, { limit: 2, after: workerId("worker-2") });
  assert.deepEqual(
    rest.workers.map((row) => row.worker_id),
    ["worker-3"],
  );
  assert.equal(rest.nextAfter, undefined);
  const exact = await listWorkers(cluster.store, { limit: 3 });
  assert.equal(exact.nextAfter, undefined);
});
