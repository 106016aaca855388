import assert from "node:assert/strict";
import { test } from "node:test";
import { declareErrorCodes, parseErrorCode, ruleOfCode } from "./error-codes.ts";

test("[EC1] a room's codes have a status, an exit status and a rule for work", () => {
  const table = declareErrorCodes({
    TestTornSheet: { status: 422, work: "never" },
    test_no_thread: { status: 409, exit: "usage" },
  });
  assert.deepEqual(ruleOfCode("TestTornSheet"), table.TestTornSheet);
  assert.deepEqual(ruleOfCode("test_no_thread"), { status: 409, exit: "usage" });
  assert.equal(ruleOfCode("forbidden")?.exit, "notAuthorised");
  assert.equal(ruleOfCode("disk_full")?.work, "backoff");
});

test("[EC1] a code is declared once, has the form of one, and the status of an error", () => {
  const refused = [
    [{ not_found: { status: 404 } }, /not_found is declared once/],
    [{ "no code": { status: 404 } }, /is an error code/],
    [{ test_fine: { status: 200 } }, /test_fine has the status of an error/],
  ] as const;
  for (const [table, message] of refused) {
    assert.throws(() => declareErrorCodes(table), { name: "AssertionError", message });
  }
  assert.equal(parseErrorCode("test_fine"), undefined);
});

test("[EC2] text is a code only if it is declared", () => {
  assert.equal(parseErrorCode("not_found"), "not_found");
  for (const text of ["", "no_such_code", "constructor", "NOT_FOUND"]) {
    assert.equal(parseErrorCode(text), undefined, text);
  }
});
