/**
 * The lake on a disk that is full: what was there stays, the error is clear, and everything goes on
 * when there is room again.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  type Cluster,
  makeDir,
  type Rows,
  removeDir,
  rowsOf,
  runCli,
  startCluster,
  stopEverything,
  waitFor,
} from "./harness.ts";

const home = makeDir();
const disk = join(home, "disk");
mkdirSync(disk);
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", disk]).status === 0;
const skip = mounted ? false : "this user mounts no disks";
const ballast = join(disk, "ballast");

let cluster: Cluster;
before(async () => {
  if (!mounted) return;
  // A coordinator that cannot write its log of metrics has to start again (MH13): here that has a
  // disk of its own.
  mkdirSync(join(home, "wal"));
  symlinkSync(join(home, "wal"), join(disk, "wal"));
  cluster = await startCluster({ workers: 1, args: ["--lake", disk] });
  await cluster.waitForWorkers("ACTIVE", ["worker-1"]);
});
after(async () => {
  if (mounted) await cluster.stop();
  await stopEverything();
  if (mounted) spawnSync("umount", [disk]);
  removeDir(home);
});

const sql = (text: string): Promise<Rows> => rowsOf(cluster.url, text);

/** Leaves so many bytes. */
function fill(leaveBytes: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - leaveBytes)));
}

async function shown(pattern: RegExp): Promise<void> {
  await waitFor(
    `SHOW DYNAMIC TABLES to say ${pattern}`,
    async () => {
      const text = JSON.stringify(await sql("SHOW DYNAMIC TABLES").catch(() => []));
      return pattern.test(text) ? true : undefined;
    },
    60_000,
  );
}

test("[TE4] a full disk costs the statement, and the version before stays", { skip }, async () => {
  // Texts that do not compress: 64 bytes a row.
  const rows = (from: number, to: number): string =>
    `SELECT range AS id, sha256(range::VARCHAR) AS text FROM range(${from}, ${to})`;
  await sql(`CREATE TABLE texts AS ${rows(0, 1_000)}`);
  await sql(
    "CREATE DYNAMIC TABLE copies TARGET_LAG = '1 second' REFRESH_MODE = FULL AS SELECT id, text, md5(text) AS more FROM texts",
  );
  const counts = "SELECT (SELECT count(*) FROM texts), (SELECT count(*) FROM copies)";
  const untilCounts = (wanted: readonly number[]): Promise<true> =>
    waitFor(
      `counts to be ${wanted}`,
      async () => {
        const [row] = await sql(counts).catch(() => []);
        return JSON.stringify(row) === JSON.stringify(wanted) ? true : undefined;
      },
      60_000,
    );
  await untilCounts([1_000, 1_000]);

  // Mid-INSERT: the statement fails, nothing of it is there.
  fill(64 * 1024);
  await assert.rejects(sql(`INSERT INTO texts ${rows(1_000, 30_000)}`), /disk_full/);
  assert.deepEqual(await sql(counts), [[1_000, 1_000]]);

  // Mid-refresh: room for the source's rows, and not for what is made of them.
  rmSync(ballast);
  fill(3 * 1024 * 1024);
  await sql(`INSERT INTO texts ${rows(1_000, 41_000)}`);
  await shown(/disk_full/);
  assert.deepEqual(await sql(counts), [[41_000, 1_000]]);

  // Room again.
  rmSync(ballast);
  await sql("REFRESH DYNAMIC TABLE copies").catch(() => undefined);
  await untilCounts([41_000, 41_000]);
  await sql(`INSERT INTO texts ${rows(41_000, 42_000)}`);
  await untilCounts([42_000, 42_000]);
  const checked = await runCli([
    ...["lake", "check", "--json", "--data-dir", cluster.dataDir, "--lake", disk],
  ]);
  assert.deepEqual(JSON.parse(checked.stdout).findings, []);
});
