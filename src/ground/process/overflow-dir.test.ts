import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeOverflowDir } from "./overflow-dir.ts";

test("[PR3] what a full disk needs elsewhere is on another file system, its owner's, and goes", (t) => {
  const base = mkdtempSync(join(tmpdir(), "capstan-overflow-test-"));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  assert.equal(makeOverflowDir(base, [base, "/no/such/place"]), undefined);
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  const dead = join(base, `capstan-overflow-${pid}-abc`);
  const other = join(base, "somebody-elses");
  for (const dir of [dead, other]) mkdirSync(dir);
  const made = makeOverflowDir("/proc", [base]);
  assert.ok(made !== undefined);
  assert.equal(statSync(made.path).mode & 0o777, 0o700);
  assert.deepEqual([existsSync(dead), existsSync(other)], [false, true]);
  made.remove();
  assert.equal(existsSync(made.path), false);
});
