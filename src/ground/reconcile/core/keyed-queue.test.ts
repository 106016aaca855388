import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { sleep } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { createPrng } from "../../kernel/prng.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { KeyedQueue, type KeyedQueueOptions } from "./keyed-queue.ts";

type Options = Partial<KeyedQueueOptions<string>>;

/** A queue on a virtual clock; its reconciler takes `durationMs` and logs its starts and ends. */
function fixture(
  options: Options & {
    clock?: VirtualClock;
    durationMs?: number;
    fails?: (key: string) => boolean;
  } = {},
) {
  const { clock = new VirtualClock() } = options;
  const log: string[] = [];
  const running = new Set<string>();
  let runningMax = 0;
  const { durationMs = 10, fails = () => false, ...rest } = options;
  const queue = new KeyedQueue<string>({
    clock,
    prng: createPrng("keyed-queue"),
    logger: silentLogger,
    reconcile: async (key, signal) => {
      assert(!running.has(key), `${key} runs beside itself`);
      running.add(key);
      runningMax = Math.max(runningMax, running.size);
      log.push(`${key}@${clock.nowMs()}`);
      await sleep(clock, durationMs, signal);
      running.delete(key);
      if (fails(key)) throw new Error(`${key} failed`);
    },
    ...rest,
  });
  return { clock, log, queue, running, runningMax: () => runningMax };
}

/** The start times of one key in the log. */
function startsOf(log: readonly string[], key: string): number[] {
  return log.flatMap((line) =>
    line.startsWith(`${key}@`) ? [Number(line.slice(key.length + 1))] : [],
  );
}

test("[RC1] a key that is added several times before it runs, runs once", async () => {
  const { clock, log, queue } = fixture();
  queue.start();
  for (let nth = 0; nth < 3; nth += 1) assert(queue.add("a"));
  assert.deepEqual(log, [], "nothing runs inside add");
  await clock.advance(100);
  assert.deepEqual(log, ["a@0"]);
  assert(queue.idle());
  await queue.stop();
});

test("[RC1] keys that are added before the start wait for it", async () => {
  const { clock, log, queue } = fixture();
  queue.add("a");
  await clock.advance(50);
  assert.deepEqual(log, []);
  assert(!queue.idle());
  queue.start();
  await clock.advance(50);
  assert.deepEqual(log, ["a@50"]);
  await queue.stop();
});

test("[RC2, RC3] adds during a run, however many, cause exactly one more, after it", async () => {
  const { clock, log, queue, runningMax } = fixture({ concurrency: 4 });
  queue.start();
  queue.add("a");
  await clock.advance(5);
  queue.add("a");
  queue.add("a");
  await clock.advance(100);
  assert.deepEqual(log, ["a@0", "a@10"]);
  assert.equal(runningMax(), 1);
  await queue.stop();
});

test("[RC5] keys run in order, at most `concurrency` of them at a time", async () => {
  const { clock, log, queue, runningMax } = fixture({ concurrency: 2 });
  queue.start();
  for (const key of ["a", "b", "c", "d"]) queue.add(key);
  await clock.advance(100);
  assert.deepEqual(log, ["a@0", "b@0", "c@10", "d@10"]);
  assert.equal(runningMax(), 2);
  await queue.stop();
});

test("[RC4] failures back off by doubling, with jitter of up to half, to the cap", async () => {
  const backoff = { minMs: 100, maxMs: 1_000 };
  const { clock, log, queue } = fixture({ durationMs: 0, fails: () => true, backoff });
  queue.start();
  queue.add("a");
  await clock.advance(20_000);
  const starts = startsOf(log, "a");
  const pauses = starts.slice(1).map((startMs, index) => startMs - (starts[index] ?? 0));
  const fulls = [100, 200, 400, 800, ...pauses.slice(4).map(() => 1_000)];
  assert(pauses.length > 20, `${pauses.length} pauses`);
  for (const [index, pauseMs] of pauses.entries()) {
    const fullMs = fulls[index] ?? 0;
    assert(fullMs / 2 <= pauseMs && pauseMs <= fullMs, `pause ${index} is ${pauseMs} of ${fullMs}`);
  }
  assert(new Set(pauses.slice(4).map(Math.round)).size > 5, "pauses differ");
  assert(!queue.idle());
  await queue.stop();
  assert.equal(clock.pendingCount, 0);
});

test("[RC4] success resets the backoff", async () => {
  let isBroken = true;
  const backoff = { minMs: 100, maxMs: 100_000 };
  const { clock, log, queue } = fixture({ durationMs: 0, fails: () => isBroken, backoff });
  queue.start();
  queue.add("a");
  await clock.advance(10_000);
  isBroken = false;
  await clock.advance(100_000);
  assert(queue.idle());
  isBroken = true;
  log.length = 0;
  queue.add("a");
  await clock.advance(100);
  assert.equal(log.length, 2);
  await queue.stop();
});

test("[RC4] an add during the pause shortens it to the shortest pause, and never to nothing", async () => {
  const backoff = { minMs: 100, maxMs: 100_000 };
  const { clock, log, queue } = fixture({ durationMs: 0, fails: () => true, backoff });
  queue.start();
  queue.add("a");
  await clock.advance(60_000);
  log.length = 0;
  const addedMs = clock.nowMs();
  for (let nth = 0; nth < 1_000; nth += 1) {
    queue.add("a");
    await clock.advance(1);
  }
  const starts = startsOf(log, "a");
  assert.equal(starts[0], addedMs + 100);
  assert(starts.length <= 10, `${starts.length} runs in a second of adds`);
  await queue.stop();
});

test("[RC4] an add during a run that then fails does not skip the pause", async () => {
  const backoff = { minMs: 100, maxMs: 1_000 };
  const { clock, log, queue } = fixture({ fails: () => true, backoff });
  queue.start();
  queue.add("a");
  await clock.advance(5);
  queue.add("a");
  await clock.advance(50);
  assert.deepEqual(log, ["a@0"]);
  await queue.stop();
});

test("[RC4] a reconciler that throws before it has a promise has failed like any other", async () => {
  const { clock, queue } = fixture({
    reconcile: () => {
      throw new Error("at once");
    },
  });
  queue.start();
  queue.add("a");
  await clock.advance(1);
  assert(!queue.idle());
  await queue.stop();
});

test("[RC7] `requeueAfterMs` runs the key again then; an add runs it at once", async () => {
  const log: number[] = [];
  const clock = new VirtualClock();
  const { queue } = fixture({
    clock,
    reconcile: async () => {
      log.push(clock.nowMs());
      return { requeueAfterMs: 500 };
    },
  });
  queue.start();
  queue.add("a");
  await clock.advance(600);
  assert.deepEqual(log, [0, 500]);
  assert(queue.idle(), "a key that waits for its time is idle");
  queue.add("a");
  await clock.advance(0);
  assert.deepEqual(log, [0, 500, 600]);
  await clock.advance(500);
  assert.deepEqual(log, [0, 500, 600, 1_100]);
  await queue.stop();
});

test("[RC6] at most `keysMax` keys; one that is there is not one more", async () => {
  const { clock, log, queue } = fixture({ keysMax: 2, durationMs: 100 });
  queue.start();
  assert(queue.add("a") && queue.add("b"));
  assert(!queue.add("c"));
  assert(queue.add("a"));
  await clock.advance(200);
  assert(queue.add("c"));
  await clock.advance(1_000);
  assert.deepEqual(log, ["a@0", "b@100", "c@200"]);
  await queue.stop();
});

test("[RC6, RC7] where not all keys fit, each has its turn at a resync", async () => {
  const keys = ["a", "b", "c", "d", "e"];
  const options = { keysMax: 2, resyncMs: 1_000, keys: () => keys, durationMs: 0 };
  const { clock, log, queue } = fixture(options);
  queue.start();
  await clock.advance(2_000);
  assert.deepEqual(log, ["a@0", "b@0", "c@1000", "d@1000", "e@2000", "a@2000"]);
  keys.length = 1;
  await clock.advance(2_000);
  assert.deepEqual(log.slice(6), ["a@3000", "a@4000"]);
  await queue.stop();
});

test("[RC7] every key is queued at the start and at each resync, new ones included", async () => {
  const keys = ["a", "b"];
  const { clock, log, queue } = fixture({ resyncMs: 1_000, keys: () => keys, durationMs: 0 });
  queue.start();
  await clock.advance(999);
  keys.push("c");
  await clock.advance(1_001);
  assert.deepEqual(log, ["a@0", "b@0", "a@1000", "b@1000", "c@1000", "a@2000", "b@2000", "c@2000"]);
  await queue.stop();
});

test("[RC7] a resync does not hurry a key that pauses after a failure", async () => {
  const backoff = { minMs: 10_000, maxMs: 10_000 };
  const options = { resyncMs: 100, keys: () => ["a"], fails: () => true, durationMs: 0 };
  const { clock, log, queue } = fixture({ ...options, backoff });
  queue.start();
  await clock.advance(4_900);
  assert.deepEqual(log, ["a@0"]);
  await queue.stop();
});

test("[RC8] stop aborts what runs, waits for it, and starts nothing more", async () => {
  const { clock, log, queue, running } = fixture({ durationMs: 60_000, keys: () => ["a", "b"] });
  queue.start();
  await clock.advance(10);
  assert.deepEqual(log, ["a@0"]);
  const stopped = queue.stop();
  assert.equal(queue.stop(), stopped);
  await stopped;
  assert.equal(running.size, 0);
  assert.equal(clock.pendingCount, 0);
  assert(!queue.add("c"));
  await clock.advance(100_000);
  assert.deepEqual(log, ["a@0"]);
});

test("[RC8] stop gives up on what does not end", async () => {
  const { clock, queue } = fixture({ reconcile: () => new Promise(() => {}), stopMsMax: 2_000 });
  queue.start();
  queue.add("a");
  await clock.advance(0);
  let isStopped = false;
  const stopped = queue.stop().then(() => {
    isStopped = true;
  });
  await clock.advance(1_999);
  assert(!isStopped);
  await clock.advance(1);
  await stopped;
});

test("[RC8] a queue that was never started stops at once", async () => {
  const { queue } = fixture();
  queue.add("a");
  await queue.stop();
});

test("[RC9] an assertion in a reconciler ends the process instead of being retried", async () => {
  const here = import.meta.dirname;
  const program = `
    import { realClock } from "${here}/../../kernel/node/real-clock.ts";
    import { assert } from "${here}/../../kernel/errors.ts";
    import { silentLogger } from "${here}/../../kernel/logger.ts";
    import { createPrng } from "${here}/../../kernel/prng.ts";
    import { KeyedQueue } from "${here}/keyed-queue.ts";
    const reconcile = async () => assert(false, "our own bug");
    const options = { clock: realClock, prng: createPrng(1), logger: silentLogger, reconcile };
    const queue = new KeyedQueue(options);
    queue.start();
    queue.add("a");
  `;
  const args = ["--input-type=module-typescript", "--eval", program];
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
    execFile(process.execPath, args, (error, _stdout, text) => {
      resolve({ code: error?.code, stderr: text });
    });
  });
  assert.equal(code, 1);
  assert.match(stderr, /AssertionError: our own bug/);
});

test("[RC10] the same seed and the same adds give the same run, to the millisecond", async () => {
  const play = async (seed: string): Promise<string[]> => {
    const faults = createPrng("faults");
    const { clock, log, queue } = fixture({
      prng: createPrng(seed),
      concurrency: 2,
      resyncMs: 700,
      keys: () => ["a", "b", "c", "d"],
      fails: () => faults.below(2) === 0,
    });
    queue.start();
    for (let nth = 0; nth < 50; nth += 1) {
      queue.add(`k${nth % 7}`);
      await clock.advance(37);
    }
    await queue.stop();
    return log;
  };
  const log = await play("one");
  assert(log.length > 50, `${log.length} runs`);
  assert.deepEqual(await play("one"), log);
  assert.notDeepEqual(await play("two"), log);
});

test("[RC1, RC2, RC3, RC5] under any interleaving: after its last add, every key runs to a success", async () => {
  const move = fc.record({
    key: fc.constantFrom("a", "b", "c"),
    pauseMs: fc.nat(40),
    durationMs: fc.nat(30),
    fails: fc.boolean(),
  });
  const property = fc.asyncProperty(
    fc.array(move, { maxLength: 30 }),
    fc.integer({ min: 1, max: 3 }),
    async (moves, concurrency) => {
      const clock = new VirtualClock();
      const lastAdd = new Map<string, number>();
      const lastGoodStart = new Map<string, number>();
      const running = new Set<string>();
      let sequence = 0;
      let current = moves[0];
      const queue = new KeyedQueue<string>({
        clock,
        prng: createPrng("any"),
        logger: silentLogger,
        concurrency,
        backoff: { minMs: 5, maxMs: 50 },
        reconcile: async (key, signal) => {
          assert(!running.has(key) && running.size < concurrency);
          running.add(key);
          sequence += 1;
          const start = sequence;
          const { durationMs = 0, fails = false } = current ?? {};
          await sleep(clock, durationMs, signal);
          running.delete(key);
          if (fails) throw new Error("not yet");
          lastGoodStart.set(key, start);
        },
      });
      queue.start();
      for (const next of moves) {
        current = next;
        sequence += 1;
        lastAdd.set(next.key, sequence);
        queue.add(next.key);
        await clock.advance(next.pauseMs);
      }
      current = undefined;
      await clock.advance(1_000);
      assert(queue.idle());
      for (const [key, addedAt] of lastAdd) assert((lastGoodStart.get(key) ?? 0) > addedAt);
      await queue.stop();
      assert.equal(clock.pendingCount, 0);
    },
  );
  await fc.assert(property, { numRuns: 100 });
});

test("[RC7] keys may take their time to be listed; a listing that fails is repeated after a pause", async () => {
  let failuresLeft = 2;
  const clock = new VirtualClock();
  const { log, queue } = fixture({
    clock,
    durationMs: 0,
    resyncMs: 1_000,
    backoff: { minMs: 100, maxMs: 100 },
    keys: async () => {
      await sleep(clock, 50);
      failuresLeft -= 1;
      if (failuresLeft >= 0) throw new Error("the store is away");
      return ["a"];
    },
  });
  queue.start();
  assert(!queue.idle(), "it lists");
  await clock.advance(300);
  assert.equal(log.length, 1);
  const [firstMs = 0] = startsOf(log, "a");
  assert(firstMs >= 250 && firstMs <= 350, `${firstMs} ms`);
  await clock.advance(1_050);
  assert.equal(log.length, 2);
  await queue.stop();
});

test("[RC11] without the lease nothing runs and nothing is taken; with it every key is listed anew", async () => {
  let lease: { epoch: number } | undefined;
  const listed: (number | undefined)[] = [];
  const { clock, log, queue } = fixture({
    lease: () => lease,
    durationMs: 0,
    resyncMs: 1_000,
    keys: () => {
      listed.push(lease?.epoch);
      return ["a"];
    },
  });
  queue.start();
  assert(!queue.add("b"));
  await clock.advance(5_000);
  assert.deepEqual([log, listed], [[], []]);
  lease = { epoch: 1 };
  queue.leaseChanged();
  queue.leaseChanged();
  await clock.advance(1);
  assert(queue.add("b"));
  await clock.advance(1);
  assert.deepEqual(log, ["a@5000", "b@5001"]);
  lease = undefined;
  queue.leaseChanged();
  await clock.advance(5_000);
  assert.deepEqual(listed, [1]);
  await queue.stop();
  assert.equal(clock.pendingCount, 0);
});

test("[RC11] a lease that is lost aborts what runs, and nothing of it is repeated or waited for", async () => {
  let lease: { epoch: number } | undefined = { epoch: 1 };
  const { clock, log, queue, running } = fixture({
    lease: () => lease,
    durationMs: 1_000,
    fails: () => true,
  });
  queue.start();
  queue.add("a");
  queue.add("b");
  await clock.advance(10);
  lease = undefined;
  queue.leaseChanged();
  await clock.advance(10_000);
  assert.deepEqual([...running], []);
  assert.deepEqual(log, ["a@0"]);
  assert(queue.idle());
  await queue.stop();
});

test("[RC11] under the next lease a key waits for its run of before, and is run once", async () => {
  let epoch = 1;
  const clock = new VirtualClock();
  const starts: number[] = [];
  let runningCount = 0;
  const { queue } = fixture({
    clock,
    lease: () => ({ epoch }),
    keys: () => ["a"],
    reconcile: async () => {
      starts.push(clock.nowMs());
      runningCount += 1;
      assert.equal(runningCount, 1, "it runs beside itself");
      await sleep(clock, 100); // Ignores its signal.
      runningCount -= 1;
    },
  });
  queue.start();
  await clock.advance(50);
  epoch = 2;
  queue.leaseChanged();
  await clock.advance(1_000);
  assert.deepEqual(starts, [0, 100]);
  await queue.stop();
});

test("[RC11] a lease that is over is noticed before a run, even if nobody told of it", async () => {
  let lease: { epoch: number } | undefined = { epoch: 1 };
  const { clock, log, queue } = fixture({ lease: () => lease });
  queue.start();
  queue.add("a");
  lease = undefined;
  await clock.advance(100);
  assert.deepEqual(log, []);
  await queue.stop();
});

test("[RC13] a key rests for `restMs`, whatever is added; what was added then is not lost", async () => {
  const clock = new VirtualClock();
  const starts: number[] = [];
  const { queue } = fixture({
    clock,
    reconcile: async (_key, signal) => {
      starts.push(clock.nowMs());
      await sleep(clock, 10, signal);
      return { requeueAfterMs: 1_000, restMs: 100 };
    },
  });
  queue.start();
  queue.add("a");
  await clock.advance(5);
  queue.add("a"); // While the key runs.
  await clock.advance(50);
  queue.add("a"); // While the key rests.
  assert(!queue.idle());
  await clock.advance(100);
  assert.deepEqual(starts, [0, 110]);
  queue.add("a");
  await clock.advance(1_065);
  assert.deepEqual(starts, [0, 110, 220]);
  await clock.advance(10);
  assert.deepEqual(starts, [0, 110, 220, 1_230]);
  await queue.stop();
});
