import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { Loop, type LoopOptions } from "./loop.ts";

/** A loop on a virtual clock; each turn takes 10 ms and logs its start. */
function fixture(options: Partial<LoopOptions> & { fails?: () => boolean } = {}) {
  const clock = new VirtualClock();
  const starts: number[] = [];
  const { fails = () => false, ...rest } = options;
  const loop = new Loop({
    clock,
    logger: silentLogger,
    everyMs: 1_000,
    turn: async (signal) => {
      starts.push(clock.nowMs());
      await sleep(clock, 10, signal);
      if (fails()) throw new Error("it is away");
    },
    ...rest,
  });
  return { clock, starts, loop };
}

test("[RC12] turns are `everyMs` apart, from the end of one to the next, and the first is at once", async () => {
  const { clock, starts, loop } = fixture();
  loop.start();
  await clock.advance(2_500);
  assert.deepEqual(starts, [0, 1_010, 2_020]);
  await loop.stop();
  assert.equal(clock.pendingCount, 0);
});

test("[RC12] the first turn waits for `firstMs`, under each lease", async () => {
  let epoch = 1;
  const { clock, starts, loop } = fixture({ firstMs: 500, lease: () => ({ epoch }) });
  loop.start();
  await clock.advance(800);
  epoch = 2;
  loop.leaseChanged();
  await clock.advance(800);
  assert.deepEqual(starts, [500, 1_300]);
  await loop.stop();
});

test("[RC12] a poke makes a turn at once; pokes during a turn make one more after it", async () => {
  const { clock, starts, loop } = fixture();
  loop.start();
  await clock.advance(100);
  loop.poke();
  await clock.advance(5);
  loop.poke();
  loop.poke();
  await clock.advance(995);
  assert.deepEqual(starts, [0, 100, 110]);
  await loop.stop();
});

test("[RC12] a turn that fails is made again after `everyMs`, or after the pauses of its backoff", async () => {
  const every = fixture({ fails: () => true });
  every.loop.start();
  await every.clock.advance(2_500);
  assert.deepEqual(every.starts, [0, 1_010, 2_020]);
  await every.loop.stop();
  const backoff = { minMs: 100, maxMs: 300 };
  const growing = fixture({ fails: () => true, backoff });
  growing.loop.start();
  await growing.clock.advance(1_000);
  assert.deepEqual(growing.starts, [0, 110, 320, 630, 940]);
  await growing.loop.stop();
});

test("[RC12] a turn says when the next one is due", async () => {
  const clock = new VirtualClock();
  const starts: number[] = [];
  const { loop } = fixture({
    clock,
    turn: async () => {
      starts.push(clock.nowMs());
      return { requeueAfterMs: 200 };
    },
  });
  loop.start();
  await clock.advance(500);
  assert.deepEqual(starts, [0, 200, 400]);
  await loop.stop();
});

test("[RC12] stop aborts the turn that is under way and waits for it", async () => {
  const { clock, starts, loop } = fixture();
  loop.start();
  await clock.advance(5);
  await loop.stop();
  assert.equal(clock.nowMs(), 5);
  loop.poke();
  await clock.advance(5_000);
  assert.deepEqual(starts, [0]);
});
