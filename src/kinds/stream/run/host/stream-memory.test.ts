import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryBudget } from "../../../../ground/process/core/index.ts";
import { newThreadWords, releaseThread, StreamMemory } from "./stream-memory.ts";

const mebibyte = 1024 ** 2;

test("[SU27] fragments on several threads share the limit of their query and of the process", () => {
  const budget = new MemoryBudget(64 * mebibyte);
  const reservation = budget.reserve(0);
  const words = [0, 1].map(() => newThreadWords(reservation, 10 * mebibyte));
  const [one, other] = words.map((each) => new StreamMemory(each));
  assert.ok(one !== undefined && other !== undefined && words[1] !== undefined);
  const query = new SharedArrayBuffer(4);
  const first = one.open(query, 4 * mebibyte);
  const second = other.open(query, 4 * mebibyte);
  assert.equal(first.reserve(3 * mebibyte), undefined);
  assert.deepEqual(second.reserve(2 * mebibyte), {
    whose: "query",
    totalBytes: 5 * mebibyte,
    bytesMax: 4 * mebibyte,
  });
  assert.equal(second.reserve(mebibyte), undefined);
  const neighbour = other.open(new SharedArrayBuffer(4), 64 * mebibyte);
  assert.equal(neighbour.reserve(6 * mebibyte), undefined);
  assert.equal(neighbour.reserve(7 * mebibyte)?.whose, "worker");
  assert.equal(budget.heldBytes, 11 * mebibyte);
  releaseThread(words[1]); // It died with what it held.
  assert.equal(budget.heldBytes, 3 * mebibyte);
  first.release();
  first.release();
  assert.equal(budget.heldBytes, 0);
});
