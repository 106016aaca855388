import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import { leaveCluster } from "./leave-cluster.ts";

/** A worker with fragments, and whether a coordinator has a session with it. */
class Leaving {
  readonly clock = new VirtualClock();
  hasCoordinator = true;
  isEmpty = false;
  isOver = false;
  readonly #empty = Promise.withResolvers<void>();

  constructor() {
    const { clock } = this;
    const hasCoordinator = (): boolean => this.hasCoordinator;
    void leaveCluster({ worker: this, hasCoordinator, clock, logger: silentLogger }).then(() => {
      this.isOver = true;
    });
  }

  whenEmpty(): Promise<void> {
    return this.#empty.promise;
  }

  /** A coordinator took the last fragment. */
  take(): void {
    this.isEmpty = true;
    this.#empty.resolve();
  }
}

test("[SD31] a worker leaves when the coordinator has taken its fragments, and at once then", async () => {
  const leaving = new Leaving();
  await leaving.clock.advance(60_000);
  assert.equal(leaving.isOver, false, "its fragments are here");
  leaving.take();
  await leaving.clock.advance(1);
  assert.equal(leaving.isOver, true);
});

test("[SD31] a worker without fragments leaves at once", async () => {
  const leaving = new Leaving();
  leaving.isEmpty = true;
  const none = new Leaving();
  none.take();
  await none.clock.advance(1);
  assert.equal(none.isOver, true);
});

test("[SD31] where no coordinator comes back, nobody takes the fragments", async () => {
  const leaving = new Leaving();
  leaving.hasCoordinator = false;
  await leaving.clock.advance(2_500);
  leaving.hasCoordinator = true; // Another one takes over.
  await leaving.clock.advance(60_000);
  assert.equal(leaving.isOver, false);
  leaving.hasCoordinator = false;
  await leaving.clock.advance(4_000);
  assert.equal(leaving.isOver, true);
});
