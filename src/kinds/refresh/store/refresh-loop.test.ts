/** The worker's loop, in virtual time, with the real claims on a database in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { ClaimedRefresh, RefreshClaims } from "../core/index.ts";
import { readRefreshHistory } from "./refresh-history.ts";
import { RefreshWorld } from "./testing/refresh-world.ts";
import { orders } from "./testing/tables-fixture.ts";

async function worldWith(
  graph: Readonly<Record<number, readonly number[]>>,
): Promise<RefreshWorld> {
  const world = new RefreshWorld();
  await world.create(graph);
  return world;
}

async function history(world: RefreshWorld): Promise<string[]> {
  const records = await world.store.read((tx) => readRefreshHistory(tx, { limit: 50 }));
  return records.map(({ tableId, state, workerId }) => `${tableId} ${state} ${workerId}`).reverse();
}

test("[TW1] a poke wakes it: the refresh begins at once, not at the next poll", async () => {
  const world = await worldWith({ 10: [orders] });
  world.startWorker("w1", { loop: { pollMs: 1_000_000 } });
  await world.clock.advance(10);
  await world.schedule();
  await world.clock.advance(100);
  assert.deepEqual(await history(world), ["10 SUCCEEDED w1"]);
});

test("[TW1] no wake-up is lost: a poke that never comes costs a poll, one while it asks is heard", async () => {
  const world = await worldWith({ 10: [orders], 11: [orders] });
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let asked = 0;
  const through = (claims: RefreshClaims): RefreshClaims => ({
    ...bound(claims),
    claim: async (request) => {
      asked += 1;
      const answer = await claims.claim(request);
      if (asked === 1) await held; // The empty answer is under way while work arrives.
      return answer;
    },
  });
  world.startWorker("w1", { through, loop: { pollMs: 1_000_000 } });
  await world.clock.advance(1);
  await world.schedule();
  await world.clock.advance(1);
  release();
  await world.clock.advance(500);
  assert.deepEqual(await history(world), ["10 SUCCEEDED w1", "11 SUCCEEDED w1"]);

  const deaf = await worldWith({ 10: [orders] });
  deaf.startWorker("w1", { loop: { onPoke: () => () => undefined, pollMs: 1_000 } });
  await deaf.clock.advance(10);
  await deaf.schedule();
  await deaf.clock.advance(1_700);
  assert.deepEqual(await history(deaf), ["10 SUCCEEDED w1"]);
});

test("[TW2] as many at a time as it has slots, and the next as soon as one has ended", async () => {
  const world = await worldWith({ 10: [orders], 11: [orders], 12: [orders], 13: [orders] });
  await world.schedule();
  const loop = world.startWorker("w1", { loop: { slots: 2 } });
  await world.clock.advance(50);
  assert.equal(loop.running.length, 2);
  await world.clock.advance(60);
  assert.deepEqual([loop.running.length, world.computed.length], [2, 4]);
  await world.clock.advance(100);
  assert.equal(loop.running.length, 0);
});

test("[TW3] a refresh that takes longer than its lease is kept alive by heartbeats", async () => {
  const world = await worldWith({ 10: [orders] });
  await world.schedule();
  world.startWorker("w1", { refreshMs: () => 600_000 });
  world.startWorker("w2");
  await world.clock.advance(600_001);
  assert.deepEqual(await history(world), ["10 SUCCEEDED w1"]);
});

test("[TW3] a claim that was taken away stops the refresh at the next heartbeat, and nothing is published", async () => {
  const world = await worldWith({ 10: [orders] });
  await world.schedule();
  const loop = world.startWorker("w1", { refreshMs: () => 600_000, loop: { pollMs: 1e9 } });
  await world.clock.advance(10_000);
  await world.claims.expireWorker("w1", "silent");
  const taken = await world.claimOne("w2");
  await world.clock.advance(20_001);
  assert.equal(loop.running.length, 0);
  await world.publish(taken);
  assert.deepEqual(await history(world), ["10 FAILED w1", "10 SUCCEEDED w2"]);
});

test("[TW3] one that could not be extended for the length of its lease stops by itself", async () => {
  const world = await worldWith({ 10: [orders] });
  await world.schedule();
  const through = (claims: RefreshClaims): RefreshClaims => ({
    ...bound(claims),
    heartbeat: async () => {
      throw new OperatingError("store_unavailable", "backoff", "cut off");
    },
    claim: (request) =>
      world.clock.nowMs() < 1 ? claims.claim(request) : Promise.reject(new Error("cut off")),
  });
  const aborted: number[] = [];
  const loop = world.startWorker("w1", {
    through,
    refresher: {
      refresh: (_claim, _table, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted.push(world.clock.nowMs());
            reject(signal.reason);
          });
        }),
    },
  });
  await world.clock.advance(119_000);
  assert.equal(loop.running.length, 0);
  assert.equal(aborted.length, 1);
  assert.ok((aborted[0] ?? 0) < 120_000, "before the lease is over for everybody else");
});

test("[TW4] a store that is away when a result is published is asked again; it is published once", async () => {
  const world = await worldWith({ 10: [orders] });
  await world.schedule();
  let tries = 0;
  const through = (claims: RefreshClaims): RefreshClaims => ({
    ...bound(claims),
    publish: async (claim, result) => {
      tries += 1;
      if (tries < 3) throw new OperatingError("store_busy", "backoff", "busy");
      const outcome = await claims.publish(claim, result);
      if (tries === 3) throw new OperatingError("commit_unknown", "backoff", "who knows");
      return outcome;
    },
  });
  const loop = world.startWorker("w1", { through });
  await world.clock.advance(2_000);
  assert.equal(tries, 4);
  assert.equal(loop.running.length, 0);
  assert.deepEqual(await history(world), ["10 SUCCEEDED w1"]);
  assert.deepEqual(world.computed, [10], "computed once");
});

test("[TW5] drain finishes what runs and takes nothing more", async () => {
  const world = await worldWith({ 10: [orders], 11: [orders] });
  await world.schedule();
  const loop = world.startWorker("w1");
  await world.clock.advance(50);
  let isDrained = false;
  void loop.drain().then(() => {
    isDrained = true;
  });
  await world.clock.advance(10);
  assert.equal(isDrained, false);
  await world.clock.advance(10_000);
  assert.equal(isDrained, true);
  assert.deepEqual(await history(world), ["10 SUCCEEDED w1"]);
  assert.equal(world.clock.pendingCount, 0, "no timer is left");
});

test("[TW5] stop aborts what runs and gives it back: another takes it at once, as a first attempt", async () => {
  const world = await worldWith({ 10: [orders] });
  await world.schedule();
  const first = world.startWorker("w1", { refreshMs: () => 50_000 });
  await world.clock.advance(100);
  world.startWorker("w2", { loop: { pollMs: 1e9 } });
  await world.clock.advance(100);
  const stopped = first.stop();
  await world.clock.advance(200);
  await stopped;
  assert.deepEqual(await history(world), ["10 CANCELLED w1", "10 SUCCEEDED w2"]);
});

test("[TW8] a worker with a failed part claims nothing; others take the tables, and it claims again when it is well", async () => {
  const world = await worldWith({ 10: [orders], 11: [orders] });
  let isWell = false;
  const pokes: (() => void)[] = [];
  const onPoke = (listener: () => void) => {
    pokes.push(listener);
    return () => undefined;
  };
  world.startWorker("sick", { loop: { isAble: () => isWell, onPoke } });
  await world.schedule();
  for (const poke of pokes) poke();
  await world.clock.advance(10_000);
  assert.deepEqual(await history(world), []);
  const other = world.startWorker("well");
  await world.clock.advance(1_000);
  assert.deepEqual(await history(world), ["10 SUCCEEDED well", "11 SUCCEEDED well"]);
  await other.stop();

  await world.create({ 12: [orders], 13: [orders] });
  await world.schedule();
  await world.clock.advance(10_000);
  assert.equal((await history(world)).length, 2, "it still claims nothing");
  isWell = true;
  for (const poke of pokes) poke();
  await world.clock.advance(300);
  assert.deepEqual((await history(world)).slice(2), ["12 SUCCEEDED sick", "13 SUCCEEDED sick"]);
});

test("[TW8] of what it leads a worker with a failed part computes no part: another does", async () => {
  const world = await worldWith({ 10: [orders] });
  await world.schedule();
  let isWell = true;
  const refresher = {
    refresh: async (claim: ClaimedRefresh) => {
      isWell = false;
      return world.split(claim, 2);
    },
  };
  const runner = world.runner(() => 100);
  world.startWorker("lead", { refresher, runner, loop: { isAble: () => isWell } });
  await world.clock.advance(10_000);
  assert.deepEqual(await history(world), []);
  world.startWorker("other", { runner });
  await world.clock.advance(5_000);
  assert.deepEqual(await history(world), ["10 SUCCEEDED lead"]);
});

test("[TW6, TC10] a refresh that throws is an attempt; the worker asks again when its pause is over", async () => {
  const world = await worldWith({ 10: [orders] });
  await world.schedule();
  let attempts = 0;
  const refresher = {
    refresh: async (claim: Parameters<typeof world.lake.refreshed>[0]) => {
      attempts += 1;
      if (attempts < 3) throw new Error("no memory");
      return world.lake.refreshed(claim);
    },
  };
  world.startWorker("w1", { refresher, loop: { pollMs: 60_000 } });
  await world.clock.advance(6_000);
  assert.deepEqual(await history(world), ["10 FAILED w1", "10 FAILED w1", "10 SUCCEEDED w1"]);
});

test("[TW6, TC12] a definition that no longer binds fails the table for good", async () => {
  const world = await worldWith({ 10: [orders] });
  await world.schedule();
  world.startWorker("w1", {
    refresher: {
      refresh: async () => {
        throw new OperatingError("bad_sql", "never", "orders has no column x");
      },
    },
  });
  await world.clock.advance(60_000);
  const row = await world.row(10);
  assert.deepEqual([row.status, row.status_reason], ["FAILED", "bad_sql: orders has no column x"]);
});

function bound(claims: RefreshClaims): RefreshClaims {
  return {
    claim: (request) => claims.claim(request),
    heartbeat: (claim) => claims.heartbeat(claim),
    publish: (claim, result) => claims.publish(claim, result),
    fail: (claim, failure) => claims.fail(claim, failure),
    release: (claim, reason) => claims.release(claim, reason),
  };
}
