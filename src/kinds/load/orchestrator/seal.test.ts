import assert from "node:assert/strict";
import { test } from "node:test";
import { testRun } from "../testing/ids.ts";
import { openSecret, sealSecret } from "./seal.ts";

test("[SE1] [SE2] only the token opens a secret, and only of its run", () => {
  const sealed = sealSecret("pass wörd", "token", testRun("run-1"));
  assert.equal(openSecret(sealed, "token", testRun("run-1")), "pass wörd");
  assert.notEqual(sealSecret("pass wörd", "token", testRun("run-1")), sealed);
  assert.ok(!Buffer.from(sealed.split(".")[1] ?? "", "base64url").includes("pass"));
  const middle = Math.floor(sealed.length / 2);
  const other = sealed[middle] === "A" ? "B" : "A";
  const damaged = sealed.slice(0, middle) + other + sealed.slice(middle + 1);
  for (const [text, token, runId] of [
    [sealed, "another", "run-1"],
    [sealed, "token", "run-2"],
    [damaged, "token", "run-1"],
    [sealed.slice(0, 10), "token", "run-1"],
    ["", "token", "run-1"],
  ] as const) {
    const refused = (thrown: { code: string; message: string }): boolean =>
      thrown.code === "unauthenticated" && !/wörd|another/.test(thrown.message);
    assert.throws(() => openSecret(text, token, testRun(runId)), refused);
  }
});
