/**
 * Everything that Capstan keeps on a disk without a byte left: writes are refused, reads answered,
 * and nothing has to be started again.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  type Cluster,
  getJson,
  makeDir,
  removeDir,
  rowsOf,
  startCluster,
  stopEverything,
  waitFor,
} from "./harness.ts";

const home = makeDir();
const disk = join(home, "disk");
mkdirSync(disk);
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=48m", "tmpfs", disk]).status === 0;
const hasOverflow =
  existsSync("/dev/shm") && mounted && statSync("/dev/shm").dev !== statSync(disk).dev;
const skip = mounted && hasOverflow ? false : "this user mounts no disks, or there is no /dev/shm";
const ballast = join(disk, "ballast");

let cluster: Cluster;
before(async () => {
  if (skip !== false) return;
  cluster = await startCluster({ workers: 1, dataDir: join(disk, "data") });
  await cluster.waitForWorkers("ACTIVE", ["worker-1"]);
});
after(async () => {
  if (skip === false) await cluster.stop();
  await stopEverything();
  if (mounted) spawnSync("umount", [disk]);
  removeDir(home);
});

/** Fills the disk completely. */
function fill(): void {
  for (const bytes of [1024 * 1024, 4_096]) {
    try {
      for (;;) appendFileSync(ballast, Buffer.alloc(bytes));
    } catch (thrown) {
      assert.equal((thrown as NodeJS.ErrnoException).code, "ENOSPC");
    }
  }
}

const segmentsOnly = /the newest samples are missing: .*(not opened|full|no space)/;

interface Ready {
  readonly ready: boolean;
  readonly parts: readonly { readonly name: string; readonly state: string }[];
}

async function stateOf(name: string): Promise<string | undefined> {
  const { ready, parts } = await getJson<Ready>(`${cluster.url}/readyz`);
  assert.equal(ready, true);
  return parts.find((part) => part.name === name)?.state;
}

async function checkReads(): Promise<void> {
  assert.deepEqual(await rowsOf(cluster.url, "SELECT count(*) FROM t"), [[3]]);
  const query = encodeURIComponent("count(up)");
  const answer = await getJson<{ status: string; data: { result: unknown[] } }>(
    `${cluster.url}/api/v1/query?query=${query}`,
  );
  assert.deepEqual([answer.status, answer.data.result.length], ["success", 1]);
}

test("[MH13, QU24, ST48] a full disk stops writes and nothing else, and they come back by themselves", {
  skip,
}, async () => {
  await rowsOf(cluster.url, "CREATE TABLE t (i BIGINT)");
  await rowsOf(cluster.url, "INSERT INTO t VALUES (1), (2), (3)");
  await waitFor(
    "metrics",
    () =>
      checkReads().then(
        () => true,
        () => undefined,
      ),
    60_000,
  );
  const pid = cluster.pid("coordinator");
  fill();
  const isDegraded = async (): Promise<true | undefined> =>
    (await stateOf("store")) === "degraded" && (await stateOf("metrics_log")) === "degraded"
      ? true
      : undefined;
  await waitFor("the parts that are degraded", isDegraded, 60_000);
  // Longer than a lease lives, and than who has lost his keeps his sessions.
  const untilMs = performance.now() + 16_000;
  while (performance.now() < untilMs) {
    await checkReads();
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await assert.rejects(rowsOf(cluster.url, "INSERT INTO t VALUES (4)"), /disk_full/);
  rmSync(ballast);
  const isWell = async (): Promise<true | undefined> =>
    (await stateOf("store")) === "ok" && (await stateOf("metrics_log")) === "ok" ? true : undefined;
  await waitFor("everything to be well", isWell, 60_000);
  const insert = (): Promise<true | undefined> =>
    rowsOf(cluster.url, "INSERT INTO t VALUES (5)").then(
      () => true,
      () => undefined,
    );
  await waitFor("a write", insert, 60_000);
  assert.deepEqual(await rowsOf(cluster.url, "SELECT count(*) FROM t"), [[4]]);
  assert.equal(cluster.pid("coordinator"), pid);
});

test("[ST48, QP16] a coordinator that starts on a full disk is readable, says what is degraded, and writes once there is room", {
  skip,
}, async () => {
  const deaths = (): number =>
    cluster.events.filter(({ event, process }) => event === "died" && process === "coordinator")
      .length;
  const before = deaths();
  fill();
  cluster.kill("coordinator", "SIGKILL");
  await waitFor("its death", () => (deaths() === before + 1 ? true : undefined));
  await waitFor("the parts that are degraded", async () => {
    const body = await getJson<Ready>(`${cluster.url}/readyz`).catch(() => undefined);
    const states = new Map(body?.parts.map(({ name, state }) => [name, state]));
    const isTold = states.get("store") === "degraded" && states.get("metrics_log") !== "ok";
    return body?.ready === true && isTold ? true : undefined;
  });
  const count = await waitFor("an answer", () =>
    rowsOf(cluster.url, "SELECT count(*) FROM t").catch(() => undefined),
  );
  assert.deepEqual(count, [[4]]);
  const query = encodeURIComponent("count(up)");
  const answer = await getJson<{ status: string; warnings?: string[] }>(
    `${cluster.url}/api/v1/query?query=${query}`,
  );
  assert.equal(answer.status, "success");
  assert.match(answer.warnings?.[0] ?? "", segmentsOnly);
  await assert.rejects(rowsOf(cluster.url, "INSERT INTO t VALUES (6)"), /disk_full|not_leader/);
  rmSync(ballast);
  await waitFor("a write", () =>
    rowsOf(cluster.url, "INSERT INTO t VALUES (7)").then(
      () => true as const,
      () => undefined,
    ),
  );
  await waitFor("everything to be well", async () =>
    (await stateOf("store")) === "ok" && (await stateOf("metrics_log")) === "ok" ? true : undefined,
  );
  assert.deepEqual(await rowsOf(cluster.url, "SELECT count(*) FROM t"), [[5]]);
  assert.equal(deaths(), before + 1);
});
