import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { siblingModule } from "../../ground/kernel/node/sibling-module.ts";
import { until } from "../../ground/kernel/testing/eventually.ts";
import { inTime } from "../../ground/kernel/testing/in-time.ts";
import { duckdbVersion } from "./duckdb-version.ts";
import { never, rowsOf, startTestEngine, type TestEngine, textOf } from "./testing/test-engine.ts";

let bench: TestEngine;
before(async () => {
  bench = await startTestEngine();
});
after(() => bench.close());

function fails(code: string, message?: RegExp): (thrown: unknown) => boolean {
  return (thrown) => {
    assert.ok(thrown instanceof OperatingError, String(thrown));
    assert.equal(thrown.code, code, thrown.message);
    if (message !== undefined) assert.match(thrown.message, message);
    return true;
  };
}

test("[QU1] [QU2] what was produced is described as it is", async () => {
  const path = bench.path();
  const produced = await bench.engine.executeToParquet("FROM range(10)", path, never);
  const bytes = readFileSync(path);
  assert.deepEqual(produced, {
    sizeBytes: bytes.length,
    checksum: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
    rowCount: 10,
    minTs: undefined,
    maxTs: undefined,
    schemaVersion: 1,
  });
});

test("[QU2] a file of many megabytes is hashed as it is", async () => {
  const path = bench.path();
  const sql = "SELECT hash(range) AS h, hash(range + 1) AS i FROM range(600000)";
  const produced = await bench.engine.executeToParquet(sql, path, never);
  assert.ok(produced.sizeBytes > 5_000_000);
  const expected = createHash("sha256").update(readFileSync(path)).digest("hex");
  assert.equal(produced.checksum, `sha256:${expected}`);
});

test("[QU3] the range of the column ts", async () => {
  const noon = Date.UTC(2024, 0, 1, 12);
  const cases: readonly (readonly [sql: string, minTs?: number, maxTs?: number])[] = [
    [
      "SELECT TIMESTAMP '2024-01-01 12:00' + to_seconds(i) AS ts FROM range(61) t(i)",
      noon,
      noon + 60_000,
    ],
    ["SELECT TIMESTAMPTZ '2024-01-01 13:00:00.25+01' AS ts", noon + 250, noon + 250],
    ["SELECT TIMESTAMP_NS '2024-01-01 12:00:00.000000001' AS ts", noon, noon + 1],
    [`SELECT ${noon} + i AS ts, 'x' AS other FROM range(3) t(i)`, noon, noon + 2],
    ["SELECT 'text' AS ts"],
    ["SELECT TIMESTAMP 'infinity' AS ts"],
    ["SELECT NULL::TIMESTAMP AS ts"],
    ["SELECT TIMESTAMP '2024-01-01' AS other"],
    ["SELECT 1::BIGINT AS ts WHERE false"],
  ];
  for (const [sql, minTs, maxTs] of cases) {
    const produced = await bench.engine.executeToParquet(sql, bench.path(), never);
    assert.deepEqual([produced.minTs, produced.maxTs], [minTs, maxTs], sql);
  }
});

const endless = [
  "SELECT count(*) FROM range(1000000000000)",
  "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3",
  "SELECT * FROM range(1000000000000)",
  "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x) SELECT count(*) FROM x",
  "SELECT sleep_ms(60000)",
];
for (const sql of endless) {
  test(`[QU43] stops within 200 ms: ${sql}`, async () => {
    await inTime(200, async () => {
      const path = bench.path();
      const abort = new AbortController();
      const running = bench.engine.executeToParquet(sql, path, abort.signal);
      const stopped = assert.rejects(running, fails("cancelled"));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const startMs = performance.now();
      abort.abort();
      await stopped;
      const stopMs = performance.now() - startMs;
      assert.equal(existsSync(path), false);
      return stopMs;
    });
    assert.equal((await rowsOf(bench, "SELECT 1")).text, "[1]\n", "the engine works on");
  });
}

test("[QU43] what is cancelled before or while it waits is never run", async () => {
  const abort = new AbortController();
  const running = [1, 2].map(() =>
    assert.rejects(
      bench.engine.executeToParquet(endless[0] ?? "", bench.path(), abort.signal),
      fails("cancelled"),
    ),
  );
  const waiting = new AbortController();
  const path = bench.path();
  const waits = assert.rejects(
    bench.engine.executeToParquet("SELECT 1", path, waiting.signal),
    fails("cancelled"),
  );
  waiting.abort();
  await waits; // Though both connections are busy.
  abort.abort();
  await Promise.all(running);
  await assert.rejects(
    bench.engine.executeToParquet("SELECT 1", path, abort.signal),
    fails("cancelled"),
  );
  assert.equal(existsSync(path), false);
});

test("[QU44] too little memory is a clear error, and the engine works on", async () => {
  const small = await startTestEngine({
    memoryLimitBytes: 32 * 1024 * 1024,
    tempBytesMax: 8 * 1024 * 1024,
  });
  try {
    const sql = "SELECT list(hash(range)) FROM range(10000000)";
    await assert.rejects(
      small.engine.executeToParquet(sql, small.path(), never),
      fails("statement_too_large", /Out of Memory/),
    );
    assert.equal((await rowsOf(small, "SELECT 1")).text, "[1]\n");
  } finally {
    await small.close();
  }
});

test("[QU44] a result larger than allowed is stopped while it grows, or refused when it is done", async () => {
  const path = bench.path();
  await assert.rejects(
    bench.engine.executeToParquet(
      "SELECT hash(range) FROM range(100000000)",
      path,
      never,
      1_000_000,
    ),
    fails("query_too_large"),
  );
  await assert.rejects(
    bench.engine.executeToParquet("SELECT 1", path, never, 10),
    fails("query_too_large"),
  );
  assert.equal(existsSync(path), false);
});

test("[QU44] a full disk is disk_full, and the engine works on", async () => {
  // A limit on file sizes simulates a full disk without root.
  const script = `
    import { existsSync } from "node:fs";
    import { startTestEngine, never } from "${siblingModule(import.meta.url, "./testing/test-engine")}";
    const { engine, path, close } = await startTestEngine();
    const file = path();
    const sql = "SELECT hash(range) FROM range(1000000)";
    const error = await engine.executeToParquet(sql, file, never).catch((thrown) => thrown);
    const left = existsSync(file);
    const { rowCount } = await engine.executeToParquet("SELECT 1", file, never);
    process.stdout.write(JSON.stringify([error.code, error.retry, left, rowCount]));
    await close();`;
  const command = 'ulimit -f 512 && exec "$0" -e "$1"';
  const { stdout } = await promisify(execFile)("bash", ["-c", command, process.execPath, script]);
  assert.deepEqual(JSON.parse(stdout), ["disk_full", "backoff", false, 1]);
});

test("[QU45] statements beyond connections and queue are refused", async () => {
  const tight = await startTestEngine({ connections: 1, queueMax: 1 });
  try {
    const abort = new AbortController();
    const first = tight.engine.executeToParquet(endless[0] ?? "", tight.path(), abort.signal);
    const stopped = assert.rejects(first, fails("cancelled"));
    const second = tight.engine.executeToParquet("SELECT 2", tight.path(), never);
    await assert.rejects(
      tight.engine.executeToParquet("SELECT 3", tight.path(), never),
      fails("overloaded"),
    );
    abort.abort();
    await stopped;
    assert.equal((await second).rowCount, 1);
  } finally {
    await tight.close();
  }
});

test("[QU46] many rows come in order, in whole lines, in large chunks", async () => {
  const path = bench.path();
  const rowCount = 300_000;
  const sql = `SELECT range AS i, 'row ' || range AS text FROM range(${rowCount}) ORDER BY range DESC`;
  await bench.engine.executeToParquet(sql, path, never);
  const rows = await bench.engine.openRows(path, never);
  assert.equal(rows.isWhole, false);
  let expected = rowCount;
  let index = 0;
  for await (const chunk of rows) {
    assert.equal(chunk.at(-1), 0x0a);
    if (index > 2 && expected > 100_000) assert.ok(chunk.length >= 64 * 1024, `${chunk.length}`);
    for (const line of Buffer.from(chunk).toString().trimEnd().split("\n")) {
      expected -= 1;
      assert.equal(line, `[${expected},"row ${expected}"]`);
    }
    index += 1;
  }
  assert.equal(expected, 0);
  await noPagesLeft();
});

for (const rowCount of [0, 1, 1_023, 1_024, 1_025]) {
  test(`[QU46] ${rowCount} rows are ${rowCount} lines`, async () => {
    const { text } = await rowsOf(bench, `FROM range(${rowCount})`);
    const lines = Array.from({ length: rowCount }, (_, index) => `[${index}]\n`);
    assert.equal(text, lines.join(""));
  });
}

test("[QU46] rows that grow enormously, and a reader that leaves", async () => {
  const path = bench.path();
  const sql =
    "SELECT repeat('x', CASE WHEN range < 2000 THEN 1 ELSE 1000000 END) AS t FROM range(2100)";
  await bench.engine.executeToParquet(sql, path, never);
  const text = await textOf(bench.engine.readRows(path, never));
  assert.equal(text.length, 2_000 * 6 + 100 * 1_000_005);
  for await (const chunk of bench.engine.readRows(path, never)) {
    assert.ok(chunk.length > 0);
    break;
  }
  assert.equal((await rowsOf(bench, "SELECT 1")).text, "[1]\n");
  await noPagesLeft();
});

for (const [value, rowCount] of [
  ["repeat('x', 1000000)", 300],
  ["[repeat('x', 1000000)]", 70],
] as const) {
  test(`[QU46] the first page is bounded too: ${value}`, async () => {
    const path = bench.path();
    const sql = `SELECT ${value} AS t FROM range(${rowCount})`;
    const { sizeBytes } = await bench.engine.executeToParquet(sql, path, never);
    assert.ok(sizeBytes < 100_000, "the file says little of its rows");
    const sizes: number[] = [];
    for await (const chunk of bench.engine.readRows(path, never)) sizes.push(chunk.length);
    assert.ok((sizes[0] ?? 0) <= 64 * 1024 * 1024, `${sizes[0]} bytes`);
    assert.equal(sizes.reduce((sum, size) => sum + size) > rowCount * 1_000_000, true);
  });
}

test("[QU44] an error is told shortly, however long its text is", async () => {
  const failed = bench.engine.executeToParquet(
    "SELECT error(repeat('x', 10000000))",
    bench.path(),
    never,
  );
  await assert.rejects(failed, (thrown: unknown) => {
    assert.ok(thrown instanceof OperatingError);
    assert.ok(thrown.message.length < 70_000, `${thrown.message.length} characters`);
    return true;
  });
});

/** A page under way when its reader left is deleted once DuckDB has stopped. */
async function noPagesLeft(): Promise<void> {
  await until(() => {
    const names = readdirSync(join(bench.dir, "temp"), { recursive: true, encoding: "utf8" });
    return !names.some((name) => name.includes("page-"));
  }, "no pages are left");
}

test("[QU46] reading stops when it is cancelled", async () => {
  const path = bench.path();
  await bench.engine.executeToParquet("FROM range(5000000)", path, never);
  const abort = new AbortController();
  await assert.rejects(async () => {
    for await (const chunk of bench.engine.readRows(path, abort.signal)) {
      assert.ok(chunk.length > 0);
      abort.abort();
    }
  }, fails("cancelled"));
});

test("[QU2] what is not an artifact is artifact_corrupt, not a crash", async () => {
  const good = bench.path();
  await bench.engine.executeToParquet("FROM range(10000)", good, never);
  const bytes = readFileSync(good);
  const broken = Buffer.from(bytes);
  broken.fill(0xaa, 100, bytes.length - 2_000);
  const cases: readonly (readonly [name: string, bytes: Uint8Array])[] = [
    ["empty", new Uint8Array(0)],
    ["cut off", bytes.subarray(0, bytes.length / 2)],
    ["not Parquet", Buffer.from("hello")],
    ["broken inside", broken],
  ];
  for (const [name, content] of cases) {
    const path = bench.path();
    writeFileSync(path, content);
    await assert.rejects(
      async () => textOf(bench.engine.readRows(path, never)),
      fails("artifact_corrupt"),
      name,
    );
  }
  const absent = join(bench.dir, "absent.parquet");
  await assert.rejects(bench.engine.openRows(absent, never), fails("artifact_corrupt"));
});

test("[QU47] the caller's process computes next to nothing", async () => {
  const path = bench.path();
  const before = process.cpuUsage();
  await bench.engine.executeToParquet(
    "SELECT range AS i, hash(range) AS h, 'text ' || range AS t FROM range(1000000)",
    path,
    never,
  );
  for await (const chunk of bench.engine.readRows(path, never)) assert.ok(chunk.length > 0);
  // Making these rows and their text costs about a second of processor time, receiving them a
  // twentieth of that.
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 400_000, `${user + system} µs of processor time were the caller's`);
});

test("[QU43] closing ends what runs, and says so", async () => {
  const closing = await startTestEngine();
  const running = closing.engine.executeToParquet(endless[0] ?? "", closing.path(), never);
  const stopped = assert.rejects(running, fails("shutting_down"));
  const rows = assert.rejects(closing.engine.openRows("x", never));
  await closing.close();
  await Promise.all([stopped, rows]);
  await assert.rejects(closing.engine.openRows("x", never), fails("shutting_down"));
});

test("[QE3] which DuckDB this is can be known without starting it", async () => {
  assert.equal((await rowsOf(bench, "SELECT version()")).text, `["${duckdbVersion()}"]\n`);
});

test("[QU44] an engine that cannot start says why", async () => {
  const file = join(bench.dir, "a-file");
  writeFileSync(file, "");
  await assert.rejects(startTestEngine({ spoolDir: join(file, "dir") }), fails("query_failed"));
});
