import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { HealthBoard } from "../../../ground/kernel/health.ts";
import type { LeaseEpoch } from "../../../ground/kernel/ids.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import type { LeaseGrant } from "../../../ground/store/index.ts";
import type { IngestService } from "../metrics/index.ts";
import { MetricsOwner, type OwnedMetrics } from "./metrics-owner.ts";

const grantOf = (epoch: number): LeaseGrant => ({
  name: "coordinator",
  holder: "here",
  epoch: epoch as LeaseEpoch,
});

class World {
  readonly clock = new VirtualClock();
  readonly health = new HealthBoard({ clock: this.clock });
  readonly events: string[] = [];
  readonly epochs: number[] = [];
  failures = 0;
  startFailure = new OperatingError("data_dir_in_use", "never", "held");
  standsAsOurs = false;
  fail: (error: OperatingError) => void = () => undefined;
  readonly owner = new MetricsOwner({
    clock: this.clock,
    logger: silentLogger,
    health: this.health.part("metrics_log"),
    stepDownMs: 1_000,
    standsAsOurs: () => this.standsAsOurs,
    start: async ({ epoch }) => this.#start(epoch),
  });
  #next = 1;

  #start(epoch: number): OwnedMetrics {
    if (this.failures > 0) {
      this.failures -= 1;
      this.events.push("failed");
      throw this.startFailure;
    }
    const name = this.#next;
    this.#next += 1;
    this.epochs.push(epoch);
    this.events.push(`start ${name}`);
    const { promise, resolve } = Promise.withResolvers<OperatingError>();
    this.fail = resolve;
    return {
      ingest: { name } as unknown as IngestService,
      failure: promise,
      close: async () => void this.events.push(`close ${name}`),
    };
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }
}

test("[QP12] a lease that only cannot be renewed leaves the head to be read", async () => {
  const world = new World();
  world.owner.leaseChanged(grantOf(1));
  await world.pass(100);
  world.standsAsOurs = true;
  world.owner.leaseChanged(undefined);
  await world.pass(60_000);
  assert.ok(world.owner.current() !== undefined);
  world.standsAsOurs = false;
  await world.pass(1_500);
  assert.deepEqual(world.events, ["start 1", "close 1"]);
});

test("[QP12] the head starts with the lease, outlives a doubt, and ends with its loss", async () => {
  const world = new World();
  assert.equal(world.owner.current(), undefined);
  world.owner.leaseChanged(grantOf(1));
  await world.pass(100);
  assert.ok(world.owner.current() !== undefined);
  world.owner.leaseChanged(undefined);
  await world.pass(800);
  world.owner.leaseChanged(grantOf(1));
  await world.pass(5_000);
  assert.deepEqual(world.events, ["start 1"]);
  world.owner.leaseChanged(undefined);
  await world.pass(1_500);
  assert.equal(world.owner.current(), undefined);
  world.owner.leaseChanged(grantOf(1));
  await world.pass(100);
  assert.deepEqual(world.events, ["start 1", "close 1", "start 2"]);
  await world.owner.stop();
  assert.equal(world.events.at(-1), "close 2");
  world.owner.leaseChanged(grantOf(1));
  await world.pass(1_000);
  assert.equal(world.owner.current(), undefined);
});

test("[QP12] a start that fails is tried again", async () => {
  const world = new World();
  world.failures = 2;
  world.owner.leaseChanged(grantOf(1));
  await world.pass(100);
  const [part] = world.health.parts();
  assert.equal(part?.state, "failed");
  assert.equal(part?.reason, "no samples are taken in: held");
  await world.pass(2_000);
  assert.deepEqual(world.events, ["failed", "failed", "start 1"]);
  assert.equal(world.health.parts()[0]?.state, "ok");
  await world.owner.stop();
});

test("[QP12] a head that breaks is told, once", async () => {
  const world = new World();
  world.owner.leaseChanged(grantOf(1));
  await world.pass(100);
  world.fail(new OperatingError("store_unavailable", "backoff", "the thread died"));
  assert.equal((await world.owner.failure).code, "store_unavailable");
  await world.owner.stop();
});

test("[QP12] a head that was fenced, or whose log is damaged, full or gone, is tried again", async () => {
  for (const code of ["lease_lost", "store_corrupt", "disk_full", "data_dir_unusable"] as const) {
    const world = new World();
    world.owner.leaseChanged(grantOf(1));
    await world.pass(100);
    world.failures = 1;
    world.fail(new OperatingError(code, "never", "told"));
    await world.pass(1);
    assert.equal(world.owner.current(), undefined, "nothing is given to it any more");
    assert.equal(world.health.parts()[0]?.state, "failed");
    assert.equal(world.owner.trouble()?.code, "data_dir_in_use");
    await world.pass(1_000);
    assert.deepEqual(world.events, ["start 1", "close 1", "failed", "start 2"]);
    assert.equal(world.health.parts()[0]?.state, "ok");
    assert.equal(world.owner.trouble(), undefined);
    await world.owner.stop();
  }
});

test("[QP12, AP1] a log that somebody has to mend has failed; one without room is degraded", async () => {
  for (const [code, state] of [
    ["store_corrupt", "failed"],
    ["data_dir_unusable", "failed"],
    ["disk_full", "degraded"],
  ] as const) {
    const world = new World();
    const thrown = new OperatingError(code, code === "disk_full" ? "backoff" : "never", "told");
    world.startFailure = thrown;
    world.failures = 1;
    world.owner.leaseChanged(grantOf(1));
    await world.pass(100);
    assert.equal(world.health.parts()[0]?.state, state, code);
    await world.owner.stop();
  }
});

test("[QP12] under a new epoch there is a new head, also when the old one was kept through a doubt", async () => {
  const world = new World();
  world.owner.leaseChanged(grantOf(1));
  await world.pass(100);
  world.owner.leaseChanged(undefined);
  await world.pass(500);
  world.owner.leaseChanged(grantOf(3));
  await world.pass(100);
  assert.deepEqual(world.events, ["start 1", "close 1", "start 2"]);
  assert.deepEqual(world.epochs, [1, 3]);
  await world.owner.stop();
});
