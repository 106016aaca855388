import assert from "node:assert/strict";
import { test } from "node:test";
import { compileRegex } from "./compile-regex.ts";
import { PromqlError } from "./engine-types.ts";

test("[PQ20] what is wrong with a pattern is an error of the query", () => {
  assert.throws(
    () => compileRegex("a("),
    (error) => {
      assert.ok(error instanceof PromqlError);
      assert.equal(error.stage, "execution");
      return /missing closing \)/.test(error.message);
    },
  );
  assert.equal(compileRegex("a+").test("aaa"), true);
  assert.deepEqual(compileRegex("a(.)").exec("ab"), ["ab", "b"]);
});

test("[PQ20] a pattern that takes too long is an error of the query", () => {
  const matcher = compileRegex(`${"(?:[ab]?){1000}".repeat(20)}c`);
  assert.throws(() => {
    for (let i = 0; i < 1_000; i += 1) matcher.exec(`${"ab".repeat(20)}${i}`);
  }, PromqlError);
});
