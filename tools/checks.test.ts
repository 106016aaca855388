import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Other tests use the other cores; with more threads the compiler takes a third more CPU time. */
const scripts = { lint: [], typecheck: ["--singleThreaded"] };

for (const [script, args] of Object.entries(scripts)) {
  test(`npm run ${script} passes`, () => {
    const done = spawnSync(process.execPath, [join(root, "tools", `${script}.js`), ...args], {
      cwd: root,
      encoding: "utf8",
    });
    assert.equal(done.status, 0, `${done.stdout}${done.stderr}`);
  });
}
