/**
 * A backup of a cluster that is written to, put back on both stores and in S3, and backed up from
 * there, answers as the original did.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  type S3TestServer,
  startS3Server,
  testCredentials,
} from "../../src/data/lake/objects/testing/s3-server.ts";
import { readManifest } from "../../src/faces/backup/manifest.ts";
import { realFiles } from "../../src/ground/kernel/node/real-files.ts";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/ground/store/testing/embedded-postgres.ts";
import { writeData } from "./ask-cluster.ts";
import {
  type Cluster,
  makeDir,
  removeDir,
  rowsOf,
  runCli,
  startCluster,
  stopEverything,
  waitFor,
} from "./harness.ts";

const answers = [
  "SELECT count(*), sum(id), sum(price) FROM orders",
  "SELECT kind, count(*) FROM orders GROUP BY kind ORDER BY kind",
  "SELECT count(*) FROM orders AT (VERSION => 2)",
];
const nowMs = Date.now();
const ts = Float64Array.from({ length: 20 }, (_, at) => nowMs - (20 - at) * 1000);
const acknowledged = [
  { labels: { __name__: "backed_up", job: "test" }, ts, values: ts.map((_, at) => at) },
];
const question = `/api/v1/query?query=${encodeURIComponent("sum_over_time(backed_up[5m]) + on () sum_over_time(sealed[2d])")}&time=${nowMs / 1000}`;

let postgres: EmbeddedPostgres;
let s3: S3TestServer;
let source: Cluster;
let backup: string;
/** Of the cluster whose store is Postgres, and of the one whose tables are in S3. */
let ofPostgres: string;
let ofS3: string;
let wanted: unknown[];
const dirs: string[] = [];
const newDir = (): string => {
  const dir = makeDir();
  dirs.push(dir);
  return dir;
};

async function ask(cluster: Cluster): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (const sql of answers) rows.push(await rowsOf(cluster.url, sql));
  const response = await fetch(`${cluster.url}${question}`);
  const { data } = (await response.json()) as { data: { result: readonly { value: unknown[] }[] } };
  return [...rows, data.result.map(({ value }) => value[1])];
}

before(async () => {
  [postgres, s3, source] = await Promise.all([
    startEmbeddedPostgres(),
    startS3Server(),
    startCluster({ workers: 1 }),
  ]);
  const { url } = source;
  await rowsOf(
    url,
    "CREATE TABLE orders AS SELECT range AS id, 'k' || (range % 3) AS kind, range / 8 AS price FROM range(1000)",
  );
  await rowsOf(url, "INSERT INTO orders SELECT range + 1000, 'late', 1.5 FROM range(100)");
  await rowsOf(url, "DELETE FROM orders WHERE id % 7 = 0");
  await rowsOf(url, "CREATE TABLE grows (n BIGINT)");
  await writeData(url, acknowledged);
  const history = join(newDir(), "history.om");
  const old = Array.from(
    { length: 50 },
    (_, at) => `sealed{job="test"} ${at} ${nowMs / 1000 - 90_000 + at}`,
  );
  writeFileSync(history, `${old.join("\n")}\n# EOF\n`);
  const imported = await runCli(["metrics", "import", history, "--url", url]);
  assert.equal(imported.code, 0, imported.stderr);
  wanted = await ask(source);
  assert.deepEqual(wanted.at(-1), ["1415"], "of the log and of a segment");
});
after(async () => {
  await source.stop();
  await stopEverything();
  await postgres.stop();
  await s3.close();
  for (const dir of dirs) removeDir(dir);
});

test("[BU1] a backup while rows come in is whole, has what was acknowledged before, and nothing half", async () => {
  backup = join(newDir(), "monday");
  let committed = 0;
  let isDone = false;
  const writing = (async () => {
    for (let n = 0; !isDone; n += 1) {
      await rowsOf(source.url, `INSERT INTO grows VALUES (${n}), (${n})`);
      committed = n + 1;
    }
  })();
  const enough = waitFor("rows", () => (committed < 3 ? undefined : true));
  await Promise.race([enough, writing]);
  const before = committed;
  const made = await runCli(["backup", backup, "--data-dir", source.dataDir, "--json"]);
  isDone = true;
  await writing;
  assert.equal(made.code, 0, made.stderr);
  const { files, bytes, outside } = JSON.parse(made.stdout) as Record<string, number>;
  assert.ok((files ?? 0) > 60 && (bytes ?? 0) > 1_000 && `${outside}` === "", made.stdout);
  writeFileSync(join(backup, "..", "before"), String(before));
  const again = await runCli(["backup", backup, "--data-dir", source.dataDir]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /is not empty/);
});

for (const kind of ["sqlite", "postgres"] as const) {
  test(`[BU2] restored on ${kind}, it answers as the original did`, async () => {
    const dataDir = newDir();
    const store = kind === "postgres" ? await postgres.createDatabase() : undefined;
    const place = ["--data-dir", dataDir, ...(store === undefined ? [] : ["--store", store])];
    const restored = await runCli(["restore", backup, ...place]);
    assert.equal(restored.code, 0, restored.stderr);
    const twice = await runCli(["restore", backup, ...place]);
    assert.equal(twice.code, 1);
    assert.match(twice.stderr, /is not empty/);
    const cluster = await startCluster({
      workers: 1,
      dataDir,
      ...(store === undefined ? {} : { store }),
    });
    try {
      assert.deepEqual(await ask(cluster), wanted);
      if (kind === "postgres") {
        ofPostgres = join(newDir(), "backup");
        const made = await runCli(["backup", ofPostgres, ...place]);
        assert.equal(made.code, 0, made.stderr);
      }
      const [[count, pairs, most] = []] = await rowsOf(
        cluster.url,
        "SELECT count(*)::INT, count(DISTINCT n)::INT, max(n)::INT FROM grows",
      );
      const before = Number(readFileSync(join(backup, "..", "before"), "utf8"));
      assert.ok(Number(pairs) >= before, `${pairs} of ${before}`);
      assert.deepEqual(
        [count, most],
        [Number(pairs) * 2, Number(pairs) - 1],
        "a prefix, and whole",
      );
      await rowsOf(cluster.url, "INSERT INTO orders VALUES (5000, 'new', 1)");
      const storeArgs = store === undefined ? [] : ["--store", store];
      const check = await runCli(["lake", "check", "--data-dir", dataDir, ...storeArgs]);
      assert.equal(check.code, 0, check.stdout + check.stderr);
    } finally {
      await cluster.stop();
    }
  });
}

test("[BU1] [BU2] a backup of Postgres, restored to S3, answers as the original did, and is backed up from there", async () => {
  const dataDir = newDir();
  const { bucket, prefix } = s3.location();
  const env = {
    CAPSTAN_LAKE: `s3://${bucket}/${prefix}?endpoint=${s3.endpoint}`,
    AWS_ACCESS_KEY_ID: testCredentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: testCredentials.secretAccessKey,
    AWS_EC2_METADATA_DISABLED: "true",
  };
  const place = ["--data-dir", dataDir];
  const restored = await runCli(["restore", ofPostgres, ...place], { env });
  assert.equal(restored.code, 0, restored.stderr);
  const twice = await runCli(["restore", ofPostgres, "--data-dir", newDir()], { env });
  assert.equal(twice.code, 1);
  assert.match(twice.stderr, /is not empty/);
  const cluster = await startCluster({ workers: 1, dataDir, env });
  try {
    assert.deepEqual(await ask(cluster), wanted);
    ofS3 = join(newDir(), "backup");
    const made = await runCli(["backup", ofS3, ...place], { env });
    assert.equal(made.code, 0, made.stderr);
  } finally {
    await cluster.stop();
  }
});

/**
 * The files that no upkeep merges meanwhile: they never change on the way, whatever they are kept
 * in.
 */
async function dataOf(directory: string): Promise<readonly string[]> {
  const { files } = await readManifest(realFiles, directory);
  return files
    .filter(({ path }) => /^lake\/main\/orders\/|^segments\/.*import-/.test(path))
    .map(({ path, bytes, crc32 }) => `${path} ${bytes} ${crc32}`)
    .sort();
}

test("[BU2] a backup of S3, restored to a directory, has every file of the first one", async () => {
  assert.ok((await dataOf(backup)).length >= 5, "data, deletes and a segment");
  assert.deepEqual(await dataOf(ofPostgres), await dataOf(backup));
  assert.deepEqual(await dataOf(ofS3), await dataOf(backup));
  const dataDir = newDir();
  const restored = await runCli(["restore", ofS3, "--data-dir", dataDir]);
  assert.equal(restored.code, 0, restored.stderr);
  const check = await runCli(["lake", "check", "--json", "--data-dir", dataDir]);
  assert.equal(check.code, 0, check.stdout + check.stderr);
  const { files, segments } = JSON.parse(check.stdout) as { files: number; segments: number };
  assert.ok(files >= 4 && segments === 1, check.stdout);
});

test("[BU3] [CM20] a damaged or unfinished backup is refused by name, and nothing is restored", async () => {
  const file = join(backup, "lake", "main", "orders");
  const [name = ""] = readdirSync(file);
  const path = join(file, name);
  const sound = readFileSync(path);
  const rotten = Buffer.from(sound);
  rotten[40] = (rotten[40] ?? 0) ^ 1;
  writeFileSync(path, rotten);
  const target = join(newDir(), "target");
  const refused = await runCli(["restore", backup, "--data-dir", target]);
  writeFileSync(path, sound);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, new RegExp(`backup is damaged: lake/main/orders/${name}`));
  assert.ok(!existsSync(join(target, "store.sqlite")));
  assert.ok(!existsSync(join(target, "lake", "main")));
  const unfinished = await runCli(["restore", newDir(), "--data-dir", target]);
  assert.equal(unfinished.code, 1);
  assert.match(unfinished.stderr, /no manifest\.json/);
  assert.equal((await runCli(["backup"])).code, 2);
});
