import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AssertionError,
  assert as claim,
  detailsOf,
  messageOf,
  OperatingError,
  unreachable,
} from "./errors.ts";

test("an operating error carries what code branches on, and what a person reads", () => {
  const cause = new Error("ENOSPC");
  const error = new OperatingError("disk_full", "backoff", "the spool is full", {
    hint: "free some space",
    cause,
  });
  assert(error instanceof Error);
  assert.equal(error.name, "OperatingError");
  assert.equal(error.code, "disk_full");
  assert.equal(error.retry, "backoff");
  assert.equal(error.message, "the spool is full");
  assert.equal(error.hint, "free some space");
  assert.equal(error.cause, cause);
  assert.deepEqual(detailsOf(new OperatingError("not_found", "never", "no")), {});
});

test("a claim that does not hold throws, and one that holds does not", () => {
  claim(true, "fine");
  assert.throws(() => claim(false, "two and two"), {
    name: "AssertionError",
    message: "two and two",
  });
});

test("a branch that the types rule out says what reached it", () => {
  assert.throws(
    () => unreachable({ kind: "odd" } as never),
    (thrown: unknown) => {
      return thrown instanceof AssertionError && thrown.message.includes('{"kind":"odd"}');
    },
  );
});

test("anything that is thrown has a text", () => {
  assert.equal(messageOf(new Error("one")), "one");
  assert.equal(messageOf("two"), "two");
  assert.equal(messageOf(undefined), "undefined");
});

test("[EC3] an error's details are plain data, and only those that there are", () => {
  const position = { line: 2, column: 7 };
  const full = new OperatingError("bad_request", "never", "no", {
    hint: "Say more.",
    number: 2000,
    position,
    statement: 3,
  });
  const details = { hint: "Say more.", number: 2000, position, statement: 3 };
  assert.deepEqual(detailsOf(full), details);
  assert.deepEqual([full.number, full.position, full.statement], [2000, position, 3]);
  assert.deepEqual(detailsOf({ hint: undefined, number: 3014 }), { number: 3014 });
});
