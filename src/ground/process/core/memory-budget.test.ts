import assert from "node:assert/strict";
import { test } from "node:test";
import { heldPages, MemoryBudget, type MemoryPlace, pageBytes } from "./memory-budget.ts";

const mebibyte = 1024 ** 2;
const hold = ({ words, place }: MemoryPlace, bytes: number): void => {
  Atomics.store(new Int32Array(words), place, bytes / pageBytes);
};

test("[PR18] what is reserved is held by all places' sum, until it is released", () => {
  const budget = new MemoryBudget(100 * mebibyte);
  hold(budget.ownPlace, 10 * mebibyte);
  const reservation = budget.reserve(30 * mebibyte);
  assert.equal(budget.heldBytes, 40 * mebibyte);
  reservation.resize(50 * mebibyte + 1);
  assert.equal(budget.heldBytes, 60 * mebibyte + pageBytes);
  reservation.release();
  reservation.release();
  assert.equal(budget.heldBytes, 10 * mebibyte);
  assert.throws(() => reservation.resize(1), { name: "AssertionError" });
});

test("[PR18] a reservation does not wait for what queries hold", () => {
  const budget = new MemoryBudget(100 * mebibyte);
  const query = budget.join();
  hold(query, 90 * mebibyte);
  const reservation = budget.reserve(25 * mebibyte);
  assert.equal(heldPages(new Int32Array(query.words)) * pageBytes, 115 * mebibyte);
  budget.leave(query);
  reservation.release();
  assert.equal(budget.heldBytes, 0);
});
