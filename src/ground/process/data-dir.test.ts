import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
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

for (const text of ["q\n", "!", "0\n", "-1", "x1"]) {
  test(`[PR2] a LAYOUT of ${JSON.stringify(text)}, which no version writes, is said to be damaged`, () => {
    const path = mkdtempSync(join(base, "rotten-"));
    writeFileSync(join(path, "LAYOUT"), text);
    const damaged = { code: "data_corrupt", message: /LAYOUT .* is damaged/, hint: /must hold 1/ };
    assert.throws(() => openDataDir(path), damaged);
    assert.equal(readFileSync(join(path, "LAYOUT"), "utf8"), text);
  });
}

test("[PR2] an empty LAYOUT, as a full disk leaves it, is written anew", () => {
  const path = openDataDir(join(base, "cut-short")).path;
  writeFileSync(join(path, "LAYOUT"), "");
  openDataDir(path);
  assert.equal(readFileSync(join(path, "LAYOUT"), "utf8"), "1\n");
  assert.ok(!readdirSync(path).some((name) => name.endsWith(".new")));
});

test("[PR1] an empty directory that was there is closed to others; in a shared one the files are", () => {
  const modeOf = (...parts: string[]): number => statSync(join(...parts)).mode & 0o777;
  const made = join(base, "made-before");
  mkdirSync(made, { mode: 0o755 });
  openDataDir(made);
  assert.equal(modeOf(made), 0o700);
  const shared = join(base, "shared");
  mkdirSync(shared, { mode: 0o755 });
  writeFileSync(join(shared, "README"), "ours", { mode: 0o644 });
  writeFileSync(join(shared, "store.sqlite"), "", { mode: 0o644 });
  openDataDir(shared);
  assert.equal(modeOf(shared), 0o755);
  assert.equal(modeOf(shared, "README"), 0o644);
  assert.equal(modeOf(shared, "store.sqlite"), 0o600);
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

  const waiting = lockDir(path, "lock", realClock, 120_000);
  other.kill("SIGKILL");
  const lock = await waiting;
  // The lock takes no room.
  assert.deepEqual([statSync(file).size, existsSync(`${file}-journal`)], [0, false]);
  lock.release();
  lock.release();
  tryLockFile(file)?.release();
});
