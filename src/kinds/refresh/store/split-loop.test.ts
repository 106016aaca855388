/** The worker's loop with refreshes in parts and with commit conflicts, in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Refresher, SubtaskRunner } from "../core/index.ts";
import { readRefreshHistory } from "./refresh-history.ts";
import { RefreshWorld, type WorkerOptions } from "./testing/refresh-world.ts";
import { orders } from "./testing/tables-fixture.ts";

async function worldWith(
  graph: Readonly<Record<number, readonly number[]>>,
): Promise<RefreshWorld> {
  const world = new RefreshWorld();
  await world.create(graph);
  await world.schedule();
  return world;
}

async function history(world: RefreshWorld): Promise<string[]> {
  const records = await world.store.read((tx) => readRefreshHistory(tx, { limit: 50 }));
  return records
    .map(
      ({ tableId, state, workerId, partCount, workerCount, error }) =>
        `${tableId} ${state} ${workerId} ${partCount}/${workerCount}${error === undefined ? "" : ` ${error.message}`}`,
    )
    .reverse();
}

/** Splits every refresh into parts that take `partMs` each. */
function splitting(world: RefreshWorld, parts: number, partMs: number): WorkerOptions {
  return {
    refresher: { refresh: async (claim) => world.split(claim, parts) },
    runner: world.runner(() => partMs),
  };
}

test("[TP8] a lead that is alone computes all parts itself, one at a time, and publishes once", async () => {
  const world = await worldWith({ 10: [orders] });
  world.startWorker("w1", splitting(world, 3, 1_000));
  await world.clock.advance(2_900);
  assert.deepEqual(await history(world), []);
  await world.clock.advance(500);
  assert.deepEqual(await history(world), ["10 SUCCEEDED w1 3/1"]);
});

test("[TP8] workers that wait are poked, and share the parts", async () => {
  const world = new RefreshWorld();
  await world.create({ 10: [orders] });
  for (const name of ["w1", "w2"]) {
    world.startWorker(name, { ...splitting(world, 4, 1_000), loop: { pollMs: 1e9 } });
  }
  await world.clock.advance(10_000);
  await world.schedule();
  await world.clock.advance(2_200);
  const [done] = await history(world);
  assert.match(done ?? "", /^10 SUCCEEDED w[12] 4\/2$/, "four seconds' work in two");
});

test("[TP4, TP8] a worker that dies in the middle costs its part and no more", async () => {
  const world = await worldWith({ 10: [orders] });
  const never: SubtaskRunner = {
    ...world.runner(() => 0),
    run: () => new Promise(() => undefined),
  };
  world.startWorker("w2", { refresher: { refresh: () => Promise.reject() }, runner: never });
  const dead = splitting(world, 2, 1_000);
  world.startWorker("w1", { ...dead, loop: { pollMs: 500 } });
  await world.clock.advance(20_000);
  assert.equal((await world.row(10)).part_done_count, 1);
  await world.claims.expireWorker("w2", "killed");
  await world.clock.advance(2_000);
  assert.deepEqual((await history(world)).slice(-1), ["10 SUCCEEDED w1 2/1"]);
});

test("[TP6] parts of a lead that is lost are given up at the next heartbeat; the refresh is done anew", async () => {
  const world = await worldWith({ 10: [orders] });
  const lost = world.startWorker("w1", {
    ...splitting(world, 2, 600_000),
    loop: { heartbeatMs: 1e9 },
  });
  await world.clock.advance(10);
  let aborted = 0;
  const runner: SubtaskRunner = {
    ...world.runner(() => 600_000),
    run: async (subtask, signal) => {
      signal.addEventListener("abort", () => {
        aborted += 1;
      });
      return await world.runner(() => 600_000).run(subtask, signal);
    },
  };
  world.startWorker("w2", { runner, refreshMs: () => 100 });
  await world.clock.advance(5_000);
  await world.claims.expireWorker("w1", "killed");
  await world.clock.advance(31_000);
  assert.equal(aborted, 1);
  assert.deepEqual((await history(world)).slice(-1), ["10 SUCCEEDED w2 1/1"]);
  await lost.stop();
});

test("[TP7] a part that fails again and again fails the refresh; what the others wrote goes", async () => {
  const world = await worldWith({ 10: [orders] });
  const runner: SubtaskRunner = {
    ...world.runner(() => 10),
    run: async ({ spec }) => {
      if (spec === "1") throw new OperatingError("disk_full", "backoff", "no room");
      return spec;
    },
  };
  world.startWorker("w1", { ...splitting(world, 3, 10), runner });
  await world.clock.advance(600);
  assert.deepEqual(await history(world), ["10 FAILED w1 1/1 part 2 of 3: no room"]);
  assert.equal(world.discarded, 2);
  assert.equal((await world.row(10)).failures_in_a_row, 1);
});

test("[TP8, TW5] a lead that drains ends its refresh, with its own parts; one that stops gives it back", async () => {
  const world = await worldWith({ 10: [orders], 11: [orders] });
  const draining = world.startWorker("w1", splitting(world, 3, 1_000));
  await world.clock.advance(100);
  let isDrained = false;
  void draining.drain().then(() => {
    isDrained = true;
  });
  await world.clock.advance(20_000);
  assert.equal(isDrained, true);
  assert.deepEqual(await history(world), ["10 SUCCEEDED w1 3/1"]);
  const stopping = world.startWorker("w2", splitting(world, 3, 60_000));
  await world.clock.advance(100);
  const stopped = stopping.stop();
  await world.clock.advance(100);
  await stopped;
  assert.deepEqual((await history(world)).slice(-1), ["11 CANCELLED w2 1/1 the worker stops"]);
  assert.equal(world.clock.pendingCount, 0, "no timer is left");
});

/** A lake whose first `conflicts` commits conflict with others. */
function meeting(world: RefreshWorld, conflicts: number, canRebase: boolean) {
  const did = { computed: 0, rebased: 0, discarded: 0 };
  let left = conflicts;
  const refresher: Refresher = {
    refresh: async (claim) => {
      did.computed += 1;
      const data = world.lake.refreshed(claim);
      const met = {
        ...data,
        commit: async (tx: Parameters<typeof data.commit>[0]) => {
          left -= 1;
          if (left >= 0) throw new OperatingError("conflict", "backoff", "compacted meanwhile");
          return await data.commit(tx);
        },
        discard: async () => {
          did.discarded += 1;
        },
      };
      if (!canRebase) return met;
      const rebase = async (): Promise<typeof met & { rebase: () => Promise<typeof met> }> => {
        did.rebased += 1;
        return { ...met, rebase };
      };
      return { ...met, rebase };
    },
  };
  return { did, refresher };
}

test("[TW7] a commit that meets another is done again at once: upon it, or computed anew", async () => {
  for (const canRebase of [true, false]) {
    const world = await worldWith({ 10: [orders] });
    const { did, refresher } = meeting(world, 3, canRebase);
    world.startWorker("w1", { refresher });
    await world.clock.advance(100);
    assert.deepEqual(await history(world), ["10 SUCCEEDED w1 1/1"]);
    assert.deepEqual(
      did,
      canRebase
        ? { computed: 1, rebased: 3, discarded: 0 }
        : { computed: 4, rebased: 0, discarded: 3 },
    );
    assert.equal((await world.row(10)).failures_in_a_row, 0);
  }
});

test("[TW7] not for ever: then it is a failure", async () => {
  const world = await worldWith({ 10: [orders] });
  const { did, refresher } = meeting(world, 6, false);
  world.startWorker("w1", { refresher });
  await world.clock.advance(100);
  assert.deepEqual(await history(world), ["10 FAILED w1 1/1 compacted meanwhile"]);
  assert.equal(did.computed, 6);
});
