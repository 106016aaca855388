/** The whole path with real files, HTTP and DuckDB. Only the sessions are in memory. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { type Incarnation, parseWorkerId, type WorkerId } from "../../ground/kernel/ids.ts";
import { realClock } from "../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../ground/kernel/prng.ts";
import { eventually, until } from "../../ground/kernel/testing/eventually.ts";
import {
  type RecordedLine,
  recordingLogger,
} from "../../ground/kernel/testing/recording-logger.ts";
import type { Artifact } from "../../ground/work/core/index.ts";
import {
  ApiWorkManager,
  type ArtifactServer,
  createHttpArtifactFetcher,
  type FsArtifactSpool,
  type HttpArtifactFetcher,
  openFsArtifactSpool,
  startArtifactServer,
  WorkerWorkManager,
} from "../../ground/work/index.ts";
import { LoopbackPool } from "../../ground/work/testing/loopback-pool.ts";
import { type Engine, startEngine } from "./engine.ts";
import { runSql } from "./run-sql.ts";
import { createSqlExecutor } from "./sql-executor.ts";
import { never, textOf } from "./testing/test-engine.ts";

const token = "cluster-secret";
const lines: RecordedLine[] = [];
const logger = recordingLogger(lines);

interface TestWorker {
  readonly workerId: WorkerId;
  readonly manager: WorkerWorkManager;
  readonly spool: FsArtifactSpool;
  readonly engine: Engine;
  readonly server: ArtifactServer;
}

async function startWorker(name: string, dir: string, pool: LoopbackPool): Promise<TestWorker> {
  const workerId = parseWorkerId(name);
  assert.ok(workerId !== undefined);
  const spool = await openFsArtifactSpool({
    baseDir: join(dir, name),
    incarnation: "i-1" as Incarnation,
    capacityBytes: 100_000_000,
    clock: realClock,
    logger,
  });
  const engine = await startEngine({
    memoryLimitBytes: 512 * 1024 ** 2,
    treeLimitBytes: 1024 ** 3,
    threads: 2,
    spoolDir: spool.writeDir,
    connections: 2,
    clock: realClock,
    logger,
  });
  const server = await startArtifactServer({
    host: "127.0.0.1",
    port: 0,
    token,
    spool,
    logger,
  });
  const manager = new WorkerWorkManager({
    executor: createSqlExecutor(engine),
    spool,
    clock: realClock,
    logger,
    dataUrl: () => server.url,
  });
  manager.attach(pool.reporterOf(workerId));
  pool.connect(workerId, manager);
  return { workerId, manager, spool, engine, server };
}

const dir = mkdtempSync(join(tmpdir(), "capstan-path-"));
const fetchedDir = join(dir, "fetched");
const pool = new LoopbackPool();
let workers: readonly TestWorker[];
let fetcher: HttpArtifactFetcher;
let engine: Engine;
let manager: ApiWorkManager;
/** Changes an artifact between its offer and its fetch. */
let mischief: ((workerId: WorkerId, artifact: Artifact) => void) | undefined;

before(async () => {
  engine = await startEngine({
    memoryLimitBytes: 512 * 1024 ** 2,
    treeLimitBytes: 1024 ** 3,
    threads: 2,
    spoolDir: fetchedDir,
    tempDir: join(dir, "temp"),
    connections: 2,
    clock: realClock,
    logger,
  });
  fetcher = await createHttpArtifactFetcher({
    token,
    dir: fetchedDir,
    clock: realClock,
    logger,
  });
  manager = new ApiWorkManager({
    pool,
    clock: realClock,
    logger,
    fetcher: {
      fetch: (workerId, artifact, signal, key) => {
        const once = mischief;
        mischief = undefined;
        once?.(workerId, artifact);
        return fetcher.fetch(workerId, artifact, signal, key);
      },
    },
  });
  workers = [await startWorker("w1", dir, pool), await startWorker("w2", dir, pool)];
});

after(async () => {
  manager.close();
  for (const worker of workers) {
    worker.manager.close();
    await worker.manager.whenIdle();
    await worker.server.close();
    await worker.engine.close();
    await worker.spool.close();
  }
  await fetcher.close();
  await engine.close();
  rmSync(dir, { recursive: true, force: true });
});

const prng = createPrng(7);

async function ask(sql: string, signal: AbortSignal = never): Promise<readonly string[]> {
  const deps = { manager, engine, clock: realClock, prng };
  const { stream } = await runSql(deps, sql, { timeoutMs: 240_000 }, signal);
  return (await textOf(stream)).trimEnd().split("\n");
}

function pathOf(workerId: WorkerId, artifact: Artifact): string {
  const name = artifact.url.slice(artifact.url.lastIndexOf("/") + 1);
  const worker = workers.find((each) => each.workerId === workerId);
  const path = worker?.spool.stat(name)?.content;
  assert.ok(typeof path === "string");
  return path;
}

test("[QU60] a statement through the whole path", async () => {
  const lines = await ask("SELECT 42 AS answer");
  assert.match(
    lines[0] ?? "",
    /^\{"query_id":"q-[a-z0-9]{16}","columns":\[\{"name":"answer","type":"INTEGER"\}\]\}$/,
  );
  assert.equal(lines[1], "[42]");
  const { summary } = JSON.parse(lines[2] ?? "") as { summary: Record<string, unknown> };
  assert.equal(summary.row_count, 1);
  assert.match(String(summary.worker_id), /^w[12]$/);
  assert.deepEqual(readdirSync(fetchedDir), []);
  const [record] = manager.list();
  assert.deepEqual(
    [record?.kind, record?.text, record?.state, record?.rowCount, record?.attempts],
    ["sql", "SELECT 42 AS answer", "done", 1, 1],
  );
});

test("[QU60] a million rows, through a file that is hashed in the engine's thread", async () => {
  const lines = await ask("SELECT range AS i, hash(range) AS h FROM range(1000000)");
  assert.equal(lines.length, 1_000_002);
  assert.match(lines[1_000_000] ?? "", /^\[999999,\d+\]$/);
});

test("[QU61] a statement's own error comes back as it is, after one attempt", async () => {
  await assert.rejects(ask("SELECT nope"), (thrown) => {
    assert.ok(thrown instanceof OperatingError);
    assert.equal(thrown.code, "bad_sql");
    assert.match(thrown.message, /LINE 1: SELECT nope\n {15}\^/);
    return true;
  });
  assert.equal(manager.list()[0]?.attempts, 1);
});

const losses: readonly (readonly [name: string, act: (path: string) => void])[] = [
  ["lost", (path) => rmSync(path)],
  ["cut short", (path) => writeFileSync(path, readFileSync(path).subarray(0, -10))],
  [
    "corrupt",
    (path) => {
      const bytes = readFileSync(path);
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      writeFileSync(path, bytes);
    },
  ],
];
for (const [name, act] of losses) {
  test(`[QU2] [QU8] an artifact that is ${name} is executed anew, on the other worker`, async () => {
    let first: WorkerId | undefined;
    mischief = (workerId, artifact) => {
      first = workerId;
      act(pathOf(workerId, artifact));
    };
    const lines = await ask("SELECT 'again' AS a");
    assert.equal(lines[1], '["again"]');
    const [record] = manager.list();
    assert.equal(record?.attempts, 2);
    assert.notEqual(record?.workerId, first);
    assert.deepEqual(readdirSync(fetchedDir), []);
  });
}

test("[QU8] an artifact that expires before it is fetched is executed anew", async () => {
  mischief = (workerId, artifact) => {
    const worker = workers.find((each) => each.workerId === workerId);
    const name = artifact.url.slice(artifact.url.lastIndexOf("/") + 1);
    worker?.spool.remove(name);
  };
  assert.equal((await ask("SELECT 1"))[1], "[1]");
  assert.equal(manager.list()[0]?.attempts, 2);
});

test("[QU14] a worker that is lost while it executes: the other one does it", async () => {
  // Long enough to be seen executing, even on a busy machine.
  const asking = ask("SELECT 7 AS n, sleep_ms(1000) AS slept");
  const holder = await eventually("it executes", () => {
    return workers.find((worker) => worker.manager.counts().executing > 0);
  });
  pool.disconnect(holder.workerId);
  assert.match((await asking)[1] ?? "", /^\[7,/);
  assert.equal(manager.list()[0]?.attempts, 2);
  await until(() => holder.manager.counts().executing === 0);
  pool.connect(holder.workerId, holder.manager);
});

test("[QU13] a caller that goes away stops the execution", async () => {
  const abort = new AbortController();
  const asking = ask("SELECT count(*) FROM range(1000000000000)", abort.signal);
  const cancelled = assert.rejects(asking, (thrown) => {
    return thrown instanceof OperatingError && thrown.code === "cancelled";
  });
  const holder = await eventually("it executes", () => {
    return workers.find((worker) => worker.manager.counts().executing > 0);
  });
  abort.abort();
  await cancelled;
  await until(() => holder.manager.counts().executing === 0);
});

test("[QU60] a hundred statements at once, none lost", async () => {
  const numbers = Array.from({ length: 100 }, (_, index) => index);
  const answers = await Promise.all(numbers.map((number) => ask(`SELECT ${number} AS n`)));
  assert.deepEqual(
    answers.map((lines) => lines[1]),
    numbers.map((number) => `[${number}]`),
  );
  assert.deepEqual(readdirSync(fetchedDir), []);
  const { running, queued } = manager.counts();
  assert.deepEqual([running, queued], [0, 0]);
});

test("[OB14] every line that all of this logged names its query", () => {
  const kinds = ["query ended", "execution ended", "artifact deleted", "artifact not fetched"];
  for (const kind of kinds)
    assert.ok(
      lines.some(({ message }) => message.startsWith(kind)),
      kind,
    );
  assert.deepEqual(
    lines.filter(({ fields }) => !/^q-/.test(String(fields.query_id))),
    [],
  );
});
