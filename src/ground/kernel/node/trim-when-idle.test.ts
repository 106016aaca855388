import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { decideTrim } from "./trim-when-idle.ts";

const mib = 1024 ** 2;
const cases = [
  {
    name: "idle and grown: collect",
    busyShare: 0.01,
    heldBytes: 80 * mib,
    before: 40 * mib,
    want: true,
  },
  { name: "busy: leave it", busyShare: 0.4, heldBytes: 80 * mib, before: 40 * mib, want: false },
  {
    name: "idle and hardly grown: leave it",
    busyShare: 0,
    heldBytes: 44 * mib,
    before: 40 * mib,
    want: false,
  },
  {
    name: "idle for the first time: collect",
    busyShare: 0,
    heldBytes: 30 * mib,
    before: 0,
    want: true,
  },
];
for (const { name, busyShare, heldBytes, before, want } of cases) {
  test(`[PR14] ${name}`, () => {
    assert.equal(decideTrim({ busyShare, heldBytes, heldBytesBefore: before }), want);
  });
}

test("[PR14] threads that come to collect at the same moment all can", async () => {
  const module = JSON.stringify(new URL("./trim-when-idle.ts", import.meta.url));
  const code = `import { makeCollector } from ${module};
    for (let turn = 0; turn < 60; turn += 1) makeCollector();`;
  const data = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const threads = Array.from({ length: 4 }, () => new Worker(data));
  const codes = await Promise.all(threads.map(async (thread) => (await once(thread, "exit"))[0]));
  assert.deepEqual(codes, [0, 0, 0, 0]);
});
