import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { realClock } from "../kernel/node/real-clock.ts";
import { lockDir, openDataDir } from "./data-dir.ts";
import { tryLockFile } from "./file-lock.ts";

const base = mkdtempSync(join(tmpdir(), "capstan-data-dir-"));
after(() => rmSync(base, { recursive: true, force: true }));

test("[PR1] the directory and the token are for their owner only, and the token stays", () => {
  const dir = openDataDir(join(base, "fresh"));
  const token = dir.clusterToken();
  assert.ok(token.length >= 40);
  assert.equal(openDataDir(dir.path).clusterToken(), token);
  assert.equal(statSync(dir.path).mode & 0o777, 0o700);
  assert.equal(statSync(join(dir.path, "cluster-token")).mode & 0o777, 0o600);
});

test("[PR2] a directory of a newer layout is refused, and left as it is", () => {
  const path = openDataDir(join(base, "newer")).path;
  writeFileSync(join(path, "LAYOUT"), "2\n");
  assert.throws(() => openDataDir(path), { code: "schema_newer" });
  assert.equal(readFileSync(join(path, "LAYOUT"), "utf8"), "2\n");
});

test("[PR1] what cannot be a directory is said to be so", () => {
  const file = join(base, "file");
  writeFileSync(file, "");
  assert.throws(() => openDataDir(file), { code: "data_dir_unusable" });
  assert.throws(() => openDataDir(join(file, "below")), { code: "data_dir_unusable" });
  assert.throws(() => openDataDir("/dev/null/below/deep"), { code: "data_dir_unusable" });
  if (process.platform === "linux") {
    assert.throws(() => openDataDir("/proc/nothing/below"), { code: "data_dir_unusable" });
  }
  assert.ok(openDataDir(join(base, "some", "levels", "deep")).path.endsWith("deep"));
});

test("[PR3] one process at a time; a killed one holds nothing", async () => {
  const { path } = openDataDir(join(base, "locked"));
  const file = join(path, "lock");
  const script = `
    import { tryLockFile } from ${JSON.stringify(join(import.meta.dirname, "file-lock.ts"))};
    process.stdout.write(tryLockFile(process.argv[1]) === undefined ? "refused" : "held");
    setInterval(() => undefined, 1000);`;
  const other = spawn(process.execPath, ["--input-type=module", "-e", script, file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = await once(other.stdout, "data");
  assert.equal(String(said), "held");
  assert.equal(tryLockFile(file), undefined);
  await assert.rejects(lockDir(path, "lock", realClock, 0), { code: "data_dir_in_use" });

  const waiting = lockDir(path, "lock", realClock, 10_000);
  other.kill("SIGKILL");
  const lock = await waiting;
  lock.release();
  lock.release();
  tryLockFile(file)?.release();
});
