import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

for (const script of ["lint", "typecheck"]) {
  test(`npm run ${script} passes`, () => {
    const done = spawnSync(process.execPath, [join(root, "tools", `${script}.js`)], {
      cwd: root,
      encoding: "utf8",
    });
    assert.equal(done.status, 0, `${done.stdout}${done.stderr}`);
  });
}
