import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import type { CheckpointStore } from "../core/checkpoint-store.ts";
import type { Manifest, ManifestFragment } from "../core/manifest.ts";
import type { EncodedFragment } from "../core/stream-host.ts";
import { CheckpointLoop } from "./checkpoint-loop.ts";

const stateOf = (fragment: string): EncodedFragment => ({
  fragment,
  nodes: [],
  positions: new Map(),
  prepared: new Map(),
});

/** Waits for what promises bring about. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A loop over the fragments a and b, and what it did. */
function startLoop(refuses = false) {
  const clock = new VirtualClock();
  const done: string[] = [];
  let last: Manifest | undefined;
  const store: CheckpointStore = {
    epoch: 1,
    get last() {
      return last;
    },
    restore: () => Promise.resolve(undefined),
    store: (checkpoint, { fragment }): Promise<ManifestFragment> => {
      done.push(`store ${fragment} ${checkpoint}`);
      return Promise.resolve({ fragment, nodes: [], positions: {}, objects: [] });
    },
    complete: (checkpoint, fragments) => {
      if (refuses) return Promise.reject(new Error("the disk is full"));
      done.push(`complete ${checkpoint} of ${fragments.map(({ fragment }) => fragment).join(" ")}`);
      last = {
        version: 2,
        planHash: "",
        parallelism: 2,
        keyGroups: 256,
        checkpoint,
        epoch: 1,
        fragments,
      };
      return Promise.resolve();
    },
  };
  const loop = new CheckpointLoop({
    store,
    fragments: ["a", "b"],
    intervalMs: 1_000,
    timeoutMs: 5_000,
    clock,
    trigger: (checkpoint) => done.push(`trigger ${checkpoint}`),
    completed: (checkpoint) => done.push(`completed ${checkpoint}`),
    failed: (thrown) => done.push(`failed: ${(thrown as Error).message}`),
  });
  loop.start();
  return { clock, loop, done };
}

test("[SU26] a checkpoint is complete when every fragment has acknowledged it", async () => {
  const { clock, loop, done } = startLoop();
  await clock.advance(1_000);
  loop.acknowledged(1, stateOf("a"));
  await settled();
  assert.deepEqual(done.splice(0), ["trigger 1", "store a 1"]);
  loop.acknowledged(1, stateOf("b"));
  await settled();
  assert.deepEqual(done.splice(0), ["store b 1", "complete 1 of a b", "completed 1"]);
  await clock.advance(1_000);
  assert.deepEqual(done.splice(0), ["trigger 2"]);
  await loop.close();
});

test("[SU26] a fragment that has ended counts, and is stored once", async () => {
  const { clock, loop, done } = startLoop();
  loop.ended("b", stateOf("b"));
  await clock.advance(1_000);
  loop.acknowledged(1, stateOf("a"));
  await settled();
  assert.deepEqual(done.splice(0).at(-1), "completed 1");
  loop.ended("a", stateOf("a"));
  await loop.last();
  assert.deepEqual(done, ["store a 2", "complete 2 of a b", "completed 2"]);
});

test("[SU26] a checkpoint that takes too long is given up, and the query goes on", async () => {
  const { clock, loop, done } = startLoop();
  await clock.advance(1_000);
  loop.acknowledged(1, stateOf("a"));
  await clock.advance(5_000);
  loop.acknowledged(1, stateOf("b"));
  await clock.advance(1_000);
  await settled();
  assert.deepEqual(done.splice(0), ["trigger 1", "store a 1", "trigger 2"]);
  loop.acknowledged(2, stateOf("a"));
  loop.acknowledged(2, stateOf("b"));
  await settled();
  assert.equal(done.at(-1), "completed 2");
  await loop.close();
});

test("[SU26] a query whose checkpoints are given up again and again fails, and says for whom", async () => {
  const { clock, loop, done } = startLoop();
  for (let round = 0; round < 3; round += 1) {
    await clock.advance(1_000);
    loop.acknowledged(round + 1, stateOf("a"));
    await clock.advance(5_000);
  }
  assert.match(done.at(-1) ?? "", /^failed: .*the last one lacked b$/);
  await loop.close();
});

test("[SU26] a checkpoint that cannot be stored fails the query", async () => {
  const { clock, loop, done } = startLoop(true);
  await clock.advance(1_000);
  for (const fragment of ["a", "b"]) loop.acknowledged(1, stateOf(fragment));
  await settled();
  assert.equal(done.at(-1), "failed: the disk is full");
  await loop.close();
});
