import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../kernel/errors.ts";
import { silentLogger } from "../kernel/logger.ts";
import { VirtualClock } from "../kernel/testing/virtual-clock.ts";
import type { IngestService } from "../metrics/index.ts";
import { MetricsOwner, type OwnedMetrics } from "./metrics-owner.ts";

class World {
  readonly clock = new VirtualClock();
  readonly events: string[] = [];
  failures = 0;
  fail: (error: OperatingError) => void = () => undefined;
  readonly owner = new MetricsOwner({
    clock: this.clock,
    logger: silentLogger,
    stepDownMs: 1_000,
    start: async () => this.#start(),
  });
  #next = 1;

  #start(): OwnedMetrics {
    if (this.failures > 0) {
      this.failures -= 1;
      this.events.push("failed");
      throw new OperatingError("data_dir_in_use", "never", "held");
    }
    const name = this.#next;
    this.#next += 1;
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

test("[QP12] the head starts with the lease, outlives a doubt, and ends with its loss", async () => {
  const world = new World();
  assert.equal(world.owner.current(), undefined);
  world.owner.leaseChanged(true);
  await world.pass(100);
  assert.ok(world.owner.current() !== undefined);
  world.owner.leaseChanged(false);
  await world.pass(800);
  world.owner.leaseChanged(true);
  await world.pass(5_000);
  assert.deepEqual(world.events, ["start 1"]);
  world.owner.leaseChanged(false);
  await world.pass(1_500);
  assert.equal(world.owner.current(), undefined);
  world.owner.leaseChanged(true);
  await world.pass(100);
  assert.deepEqual(world.events, ["start 1", "close 1", "start 2"]);
  await world.owner.stop();
  assert.equal(world.events.at(-1), "close 2");
  world.owner.leaseChanged(true);
  await world.pass(1_000);
  assert.equal(world.owner.current(), undefined);
});

test("[QP12] a start that fails is tried again", async () => {
  const world = new World();
  world.failures = 2;
  world.owner.leaseChanged(true);
  await world.pass(2_000);
  assert.deepEqual(world.events, ["failed", "failed", "start 1"]);
  await world.owner.stop();
});

test("[QP12] a head that breaks is told, once", async () => {
  const world = new World();
  world.owner.leaseChanged(true);
  await world.pass(100);
  world.fail(new OperatingError("disk_full", "never", "full"));
  assert.equal((await world.owner.failure).code, "disk_full");
  await world.owner.stop();
});
