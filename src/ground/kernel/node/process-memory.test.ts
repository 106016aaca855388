import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { canMeasureMemory, ownTreeMemory, processTree, TreeMemory } from "./process-memory.ts";

test("[OB15] however many ask for the memory, it is measured once in 3 s", async () => {
  const clock = new VirtualClock();
  let count = 0;
  const measure = async (): Promise<number> => {
    count += 1;
    return count;
  };
  const memory = new TreeMemory(measure, clock);
  const asked = await Promise.all(Array.from({ length: 100 }, async () => await memory.bytes()));
  assert.deepEqual(new Set(asked), new Set([1]));
  await clock.advance(2_999);
  assert.equal(await memory.bytes(), 1);
  await clock.advance(1);
  assert.equal(await memory.bytes(), 2);
  assert.equal(count, 2);
});

test("[OB15] it is some memory, where the system tells it", async () => {
  const bytes = await ownTreeMemory.bytes();
  if (canMeasureMemory) assert.ok((bytes ?? 0) > 10 * 1024 ** 2);
  else assert.equal(bytes, undefined);
});

test("[QE4] a child counts to its process, and one that was started detached does not", {
  skip: !canMeasureMemory,
}, async (t) => {
  const [own, detached] = [false, true].map((isDetached) => {
    const child = spawn("sleep", ["30"], { detached: isDetached, stdio: "ignore" });
    t.after(() => child.kill("SIGKILL"));
    return child;
  });
  await Promise.all([own, detached].map(async (child) => child && (await once(child, "spawn"))));
  const tree = processTree(process.pid);
  assert.ok(tree.includes(own?.pid ?? 0));
  assert.ok(!tree.includes(detached?.pid ?? 0));
});
