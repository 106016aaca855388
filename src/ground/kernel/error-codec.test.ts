import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeError, encodeError } from "./error-codec.ts";
import { AssertionError, OperatingError } from "./errors.ts";

const overWire = (thrown: unknown, translate?: (thrown: unknown) => OperatingError | undefined) =>
  decodeError(structuredClone(encodeError(thrown, translate)));

test("an operating error keeps its code, retry, message and hint", () => {
  const cases = [
    new OperatingError("store_corrupt", "never", "byte 7 is wrong", { hint: "Repair it." }),
    new OperatingError("disk_full", "backoff", "no room"),
  ];
  for (const thrown of cases) {
    const error = overWire(thrown);
    assert.ok(error instanceof OperatingError);
    const { code, retry, message, hint } = error;
    assert.deepEqual(
      { code, retry, message, hint },
      { code: thrown.code, retry: thrown.retry, message: thrown.message, hint: thrown.hint },
    );
    assert.deepEqual(JSON.parse(JSON.stringify(encodeError(thrown))), encodeError(thrown));
  }
});

test("a foreign error is what the shell that met it says, and otherwise our own bug", () => {
  const full = new OperatingError("disk_full", "backoff", "no room");
  const error = overWire(new Error("ENOSPC"), () => full);
  assert.ok(error instanceof OperatingError && error.code === "disk_full");
  for (const thrown of [new TypeError("x is undefined"), new AssertionError("two"), "text"]) {
    const bug = overWire(thrown, () => undefined);
    assert.ok(bug instanceof AssertionError);
    assert.equal(bug.message, thrown instanceof Error ? thrown.message : thrown);
  }
});
