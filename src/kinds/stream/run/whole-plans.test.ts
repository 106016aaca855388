import assert from "node:assert/strict";
import { test } from "node:test";
import { operators, runCases } from "./testing/plans/run-cases.ts";

/** More of them: `node tools/stream-fuzz.ts plans`. */
const cases = 300;

test("[SU90] random queries give what a naive evaluation row by row gives", () => {
  const { counts, failure, cases: done } = runCases(14, cases);
  assert.equal(failure, undefined);
  assert.equal(done, cases);
  const untested = operators.filter((name) => (counts[name] ?? 0) === 0);
  assert.deepEqual(untested, []);
});
