import assert from "node:assert/strict";
import { test } from "node:test";
import { promqlBytesOf, queryMemoryOf } from "./promql-memory.ts";

const mebibyte = 1024 ** 2;

/** Divided as in `planMemory`. */
function shared(limitMebibytes: number, columnMebibytes: number) {
  const limitBytes = limitMebibytes * mebibyte;
  const ownBytes = (192 + columnMebibytes) * mebibyte;
  return { limitBytes, ownBytes, engineBytes: Math.max(192 * mebibyte, limitBytes - ownBytes) };
}

const cases = [
  ["a small coordinator", 700, 0, 177],
  ["a coordinator of 1 GiB", 1024, 0, 307],
  ["a coordinator of 8 GiB", 8192, 0, 3174],
  ["a small worker", 700, 160, 113],
  ["a worker of 1 GiB", 1024, 160, 243],
  ["a limit that is too small for anything", 256, 160, 32],
] as const;

for (const [name, limit, columns, mebibytes] of cases) {
  test(`[QP34] PromQL of ${name} has what the engine cannot keep`, () => {
    const bytes = promqlBytesOf(shared(limit, columns));
    assert.equal(Math.floor(bytes / mebibyte), mebibytes);
  });
}

test("[QP34] what queries may hold follows from the limit, up to what is enough", () => {
  const small = queryMemoryOf(shared(700, 0));
  assert.equal(small.evalHeapBytesMax, 175 * mebibyte);
  assert.equal(small.artifactBytesMax, small.memoryBytesMax);
  assert.equal(small.answerBytesMax, Math.floor(small.memoryBytesMax / 2));
  const large = queryMemoryOf(shared(16_384, 0));
  assert.equal(large.evalHeapBytesMax, 2048 * mebibyte);
  assert.equal(large.artifactBytesMax, 1024 * mebibyte);
  assert.equal(large.answerBytesMax, 512 * mebibyte);
  assert.equal(large.waitingBytesMax, 512 * mebibyte);
});
