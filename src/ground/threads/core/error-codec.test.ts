import assert from "node:assert/strict";
import { test } from "node:test";
import { AssertionError, OperatingError } from "../../kernel/errors.ts";
import { decodeError, type ErrorRules, encodeError } from "./error-codec.ts";

const overWire = (thrown: unknown, rules?: ErrorRules): Error =>
  decodeError(structuredClone(encodeError(thrown, rules)), rules);

test("[TK3] an operating error keeps its code, retry, message and details", () => {
  const cases = [
    new OperatingError("store_corrupt", "never", "byte 7 is wrong", { hint: "Repair it." }),
    new OperatingError("disk_full", "backoff", "no room"),
    new OperatingError("bad_request", "never", "no window", {
      number: 3014,
      position: { line: 2, column: 5 },
      statement: 2,
    }),
  ];
  const shown = ({ code, retry, message, ...details }: OperatingError) => {
    const { hint, number, position, statement } = details;
    return { code, retry, message, hint, number, position, statement };
  };
  for (const thrown of cases) {
    const asJson = decodeError(JSON.parse(JSON.stringify(encodeError(thrown)))); // Of a process.
    for (const error of [overWire(thrown), asJson]) {
      assert.ok(error instanceof OperatingError);
      assert.deepEqual(shown(error), shown(thrown));
    }
  }
});

test("[TK3] a foreign error is what the shell that met it says, and otherwise our own bug", () => {
  const full = new OperatingError("disk_full", "backoff", "no room");
  const error = overWire(new Error("ENOSPC"), { translate: () => full });
  assert.ok(error instanceof OperatingError && error.code === "disk_full");
  for (const thrown of [new TypeError("x is undefined"), new AssertionError("two"), "text"]) {
    const bug = overWire(thrown, { translate: () => undefined });
    assert.ok(bug instanceof AssertionError);
    assert.equal(bug.message, thrown instanceof Error ? thrown.message : thrown);
  }
});

test("[TK3] a class of the conversation's own stays one", () => {
  class Misspelt extends Error {}
  const own: NonNullable<ErrorRules["own"]> = {
    encode: (thrown) => (thrown instanceof Misspelt ? thrown.message : undefined),
    decode: (data) => new Misspelt(String(data)),
  };
  const error = overWire(new Misspelt("sun"), { own });
  assert.ok(error instanceof Misspelt && error.message === "sun");
  assert.ok(overWire(new Error("other"), { own }) instanceof AssertionError);
});

test("[TK3] a message of any size is cut", () => {
  const { message } = overWire(new OperatingError("bad_sql", "never", "x".repeat(1_000_000)));
  assert.ok(message.length < 66_000 && message.includes(" … "), `${message.length}`);
});

test("[TK3] a code that nothing here declares becomes query_failed, and is named", () => {
  const data = { ...encodeError(new OperatingError("disk_full", "backoff", "no room")) };
  const error = decodeError({ ...data, code: "of_tomorrow" } as typeof data);
  assert.ok(error instanceof OperatingError);
  assert.deepEqual([error.code, error.retry], ["query_failed", "backoff"]);
  assert.equal(error.message, "no room (of_tomorrow)");
});
