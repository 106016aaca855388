import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryBudget } from "../../../ground/process/core/index.ts";
import { MemoryAccount } from "./memory-account.ts";

const mebibyte = 1024 ** 2;

test("[QP34] queries take from one budget; who would exceed it is refused and holds what it held", () => {
  const budget = new MemoryBudget(100 * mebibyte);
  const [one, two] = [new MemoryAccount(budget.ownPlace), new MemoryAccount(budget.join())];
  one.take(60 * mebibyte);
  assert.throws(() => two.take(45 * mebibyte), { code: "overloaded", retry: "backoff" });
  assert.throws(() => two.take(80 * mebibyte), { code: "query_too_large", retry: "never" });
  assert.equal(budget.heldBytes, 60 * mebibyte);
  two.take(40 * mebibyte);
  assert.equal(budget.heldBytes, 100 * mebibyte);
  one.give(20 * mebibyte);
  two.take(20 * mebibyte);
  one.close();
  two.close();
  two.close();
  assert.equal(budget.heldBytes, 0);
});

test("[QP34] a work has a bound of its own", () => {
  const budget = new MemoryBudget(100 * mebibyte);
  const account = new MemoryAccount(budget.join(), 10 * mebibyte);
  account.take(9 * mebibyte);
  assert.throws(() => account.take(2 * mebibyte), {
    code: "query_too_large",
    message: /would hold 11534336 bytes of memory; it may have 10485760/,
  });
});

test("[QP34] a thread that is gone holds nothing, and its place serves another", () => {
  const budget = new MemoryBudget(100 * mebibyte);
  for (let round = 0; round < 200; round += 1) {
    const place = budget.join();
    new MemoryAccount(place).take(90 * mebibyte);
    budget.leave(place);
  }
  assert.equal(budget.heldBytes, 0);
});

test("[QP34] what streams have reserved is not there for queries", () => {
  const budget = new MemoryBudget(100 * mebibyte);
  const account = new MemoryAccount(budget.join());
  account.take(40 * mebibyte);
  const reservation = budget.reserve(70 * mebibyte); // Beyond the budget until the query ends.
  assert.throws(() => account.take(mebibyte), { code: "overloaded", retry: "backoff" });
  account.give(30 * mebibyte);
  account.take(20 * mebibyte);
  reservation.release();
  account.take(60 * mebibyte);
  assert.equal(budget.heldBytes, 90 * mebibyte);
});
