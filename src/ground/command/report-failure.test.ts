import assert from "node:assert/strict";
import { test } from "node:test";
import { declareErrorCodes } from "../kernel/error-codes.ts";
import { OperatingError } from "../kernel/errors.ts";
import { exitCodes } from "./exit-codes.ts";
import { exitCodeOf, failureOf } from "./failure.ts";
import { createPaint } from "./output/terminal.ts";
import { formatFailure, formatFailureJson } from "./report-failure.ts";

const codes = declareErrorCodes({ CommandTestTypo: { status: 400, exit: "usage" } });

declare module "../kernel/error-codes.ts" {
  interface ErrorCodes extends Record<keyof typeof codes, true> {}
}

const plain = createPaint(false);
const details = { hint: "Add one.", number: 3014, position: { line: 2, column: 5 } };

test("[CM22] a failure is shown with its number, its position and its hint", () => {
  const failure = failureOf(new OperatingError("CommandTestTypo", "never", "no window", details));
  assert.ok(failure !== undefined);
  assert.equal(failure.exitCode, exitCodes.usage);
  assert.equal(
    formatFailure(failure, plain),
    "error 3014: no window (line 2, column 5)\nhint:  Add one.\n",
  );
  assert.deepEqual(JSON.parse(formatFailureJson(failure)), {
    code: "CommandTestTypo",
    message: "no window",
    ...details,
  });
});

test("[CM22] a code has the exit status that it was declared with", () => {
  assert.equal(exitCodeOf("forbidden"), exitCodes.notAuthorised);
  assert.equal(exitCodeOf("not_found"), exitCodes.failure);
  assert.equal(exitCodeOf("of_tomorrow"), exitCodes.failure);
  const failure = failureOf(new OperatingError("not_found", "never", "no table"));
  assert.ok(failure !== undefined);
  assert.equal(formatFailure(failure, plain), "error: no table\n");
});
