/** Real processes. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { eventually } from "../../../ground/kernel/testing/eventually.ts";
import { testRun, testWorker } from "../testing/ids.ts";
import { boundLog, LocalSpawner, loadLogPath } from "./local-spawner.ts";
import { stubCommand } from "./testing/stub-command.ts";

const place = { runId: testRun("run-1"), workerId: testWorker("worker-0") };

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "capstan-spawner-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function spawnerIn(dataDir: string, command: readonly [string, ...string[]]): LocalSpawner {
  return new LocalSpawner({
    loadMemoryLimit: 1024 ** 3,
    command,
    storeUrl: join(dataDir, "store.sqlite"),
    dataDir,
    coordinatorUrl: "http://127.0.0.1:1",
    clusterToken: "token",
    clock: realClock,
    logger: silentLogger,
  });
}

test("[WP1] [WP2] [WP4] [SP1] [SP2] a worker outlives the SIGKILL of who started it, and is found by its heartbeat", async (t) => {
  const dataDir = temporary(t);
  const script = fileURLToPath(import.meta.resolve("./testing/spawning-parent.ts"));
  const parent = spawn(process.execPath, [script, dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = (await once(parent.stdout, "data")) as [Buffer];
  const processId = Number(said.toString());
  t.after(() => {
    try {
      process.kill(processId, "SIGKILL");
    } catch {
      // It ended as it should.
    }
  });
  const log = loadLogPath(dataDir, place);
  const line = await eventually(
    "it says how it was started",
    () => readFileSync(log, "utf8") || undefined,
  );
  parent.kill("SIGKILL");
  await once(parent, "exit");
  const { args, token, store } = JSON.parse(line);
  assert.deepEqual(args, [
    "load-worker",
    ...["--run-id", "run-1", "--worker-id", "worker-0"],
    ...["--worker-group-id", "0", "--worker-group-count", "2"],
    ...["--data-dir", dataDir, "--load-memory-limit", String(1024 ** 3)],
    ...["--coordinator-url", "http://127.0.0.1:1"],
  ]);
  assert.deepEqual([token, store], ["dont-tell-either", "postgres://me:dont-tell@localhost/x"]);
  const next = spawnerIn(dataDir, stubCommand);
  assert.equal(next.isAlive(place), undefined);
  next.see({ ...place, hostName: "elsewhere", processId });
  assert.equal(next.isAlive(place), undefined);
  next.see({ ...place, hostName: hostname(), processId: process.pid });
  assert.equal(next.isAlive(place), false); // That process is not of this run.
  next.see({ ...place, hostName: hostname(), processId });
  assert.equal(next.isAlive(place), true);
  next.signal(place, "SIGTERM");
  await eventually("it is gone", () => next.isAlive(place) === false || undefined);
  next.see({ ...place, hostName: "elsewhere", processId: 4711 });
  assert.equal(next.isAlive(place), undefined); // The worker is another one.
});

test("[WP1] [WP3] a child's end is known, what cannot be started is said, and logs are bounded", async (t) => {
  const dataDir = temporary(t);
  const spawner = spawnerIn(dataDir, stubCommand);
  t.after(() => spawner.close());
  await spawner.spawn({ ...place, groupId: 0, groupCount: 1 });
  assert.equal(spawner.isAlive(place), true);
  spawner.signal(place, "SIGKILL");
  await eventually("its end is known", () => spawner.isAlive(place) === false || undefined);
  const broken = spawnerIn(dataDir, [join(dataDir, "absent")]);
  const spawning = broken.spawn({ ...place, groupId: 0, groupCount: 1 });
  await assert.rejects(spawning, { code: "worker_unreachable" });
  const log = join(dataDir, "x.log");
  writeFileSync(log, "0123456789");
  boundLog(log, 10);
  assert.equal(statSync(log).size, 10);
  boundLog(log, 9);
  assert.equal(statSync(log).size, 0);
  assert.equal(readFileSync(`${log}.1`, "utf8"), "0123456789");
});
