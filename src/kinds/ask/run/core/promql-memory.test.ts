import assert from "node:assert/strict";
import { test } from "node:test";
import { decideMemory } from "../../../../ground/process/core/index.ts";
import { queryMemoryOf } from "./promql-memory.ts";

const mebibyte = 1024 ** 2;

const shared = (mebibytes: number) => decideMemory(mebibytes * mebibyte, 0);

test("[QP34] what queries may hold follows from the limit, up to what is enough", () => {
  const small = queryMemoryOf(shared(700));
  assert.equal(small.evalHeapBytesMax, 175 * mebibyte);
  assert.equal(small.artifactBytesMax, small.memoryBytesMax);
  assert.equal(small.answerBytesMax, Math.floor(small.memoryBytesMax / 2));
  const large = queryMemoryOf(shared(16_384));
  assert.equal(large.evalHeapBytesMax, 2048 * mebibyte);
  assert.equal(large.artifactBytesMax, 1024 * mebibyte);
  assert.equal(large.answerBytesMax, 512 * mebibyte);
  assert.equal(large.waitingBytesMax, 512 * mebibyte);
});
