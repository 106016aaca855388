import assert from "node:assert/strict";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { confine } from "./confine.ts";

const home = await realpath(await mkdtemp(join(tmpdir(), "capstan-confine-")));
after(() => rm(home, { recursive: true, force: true }));
const root = join(home, "streams");
await mkdir(join(root, "in"), { recursive: true });
await mkdir(join(root, "plain"));
await writeFile(join(root, "plain", "a.csv"), "1");
await writeFile(join(home, "secret.csv"), "1");
await writeFile(join(root, "in", "a.csv"), "1");
await symlink(join(home, "secret.csv"), join(root, "in", "link.csv"));
await symlink(home, join(root, "out"));
await symlink(join(root, "in"), join(root, "also"));

for (const path of ["in/a.csv", "in/*.txt", "new.csv", "in/new/deep.csv", "also/a.csv", "plain"]) {
  test(`[SU60] ${path} is in the directory`, async () => {
    assert.equal(await confine(root, path), join(root, path));
  });
}

const refused = [
  ...["/etc/passwd", "../secret.csv", "in/../../secret.csv", "in\\..\\..\\secret.csv", "a\0b"],
  ...["in/link.csv", "in/*.csv", "in", "out/secret.csv", "out/new.csv", "out/*.csv"],
];
for (const path of refused) {
  test(`[SU60] ${JSON.stringify(path)} is refused`, async () => {
    await assert.rejects(confine(root, path), { name: "DialectError", number: 1000 });
  });
}
