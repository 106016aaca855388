import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { warmUpCompute, warmUpEval } from "./warm-up.ts";

const dir = mkdtempSync(join(tmpdir(), "capstan-warm-up-test-"));
const before = process.env.TMPDIR;
process.env.TMPDIR = dir;
after(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(dir, { recursive: true, force: true });
});

const clock = realClock;
/** Segments and every question, and then some. */
const stepsWanted = 20;
const kinds = [
  ["compute", warmUpCompute],
  ["eval", warmUpEval],
] as const;

for (const [name, warmUp] of kinds) {
  test(`${name}: every step succeeds, and nothing stays`, async () => {
    let left = stepsWanted;
    const isIdle = (): boolean => {
      left -= 1;
      return left >= 0;
    };
    assert.equal(await warmUp({ clock, isIdle, msMax: Number.POSITIVE_INFINITY }), stepsWanted);
    assert.deepEqual(readdirSync(dir), []);
  });

  test(`${name}: it ends by itself`, async () => {
    assert.equal(await warmUp({ clock, isIdle: () => true, msMax: 0 }), 0);
  });
}

test("compute: without a disk there is none", async () => {
  process.env.TMPDIR = join(dir, "absent");
  assert.equal(await warmUpCompute({ clock, isIdle: () => true }), 0);
  process.env.TMPDIR = dir;
});
