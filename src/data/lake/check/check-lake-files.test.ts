/** A lake with all types, updates, deletes and merges is sound. Every damage is named. */
import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { flipBit } from "../../../ground/kernel/testing/flip-bit.ts";
import { startEngine } from "../../duckdb/index.ts";
import type { ObjectStore } from "../core/index.ts";
import { valuesOfType } from "../duckdb/testing/random-values.ts";
import { startLakeCluster } from "../statements/testing/lake-cluster.ts";
import { LakeUpkeep } from "../store/upkeep.ts";
import { type LakeCondition, LakeScrub } from "../upkeep/lake-scrub.ts";
import { UpkeepLoop } from "../upkeep/upkeep-loop.ts";
import { checkLakeFiles, type LakeReport } from "./check-lake-files.ts";

const cluster = await startLakeCluster();
const { rows, catalog, objects, manager, store, lakeDir } = cluster;
const spoolDir = mkdtempSync(join(tmpdir(), "capstan-check-"));
const engine = await startEngine({
  memoryLimitBytes: 512 * 1024 ** 2,
  treeLimitBytes: 1024 ** 3,
  threads: 2,
  spoolDir,
  connections: 2,
  readableDirs: [lakeDir],
  clock: realClock,
  logger: silentLogger,
});
after(async () => {
  await engine.close();
  await cluster.close();
  rmSync(spoolDir, { recursive: true, force: true });
});

function check(): Promise<LakeReport> {
  return checkLakeFiles({ store, objects, engine, atOnce: 2 }, new AbortController().signal);
}

let compactions = 0;

async function compact(): Promise<void> {
  compactions += 1;
  const upkeep = new UpkeepLoop({
    upkeep: new LakeUpkeep({ store }),
    catalog,
    objects,
    manager,
    lease: () => ({ epoch: 1 }),
    clock: realClock,
    prng: createPrng(`compaction ${compactions}`), // Ids of its work and commits are its own.
    logger: silentLogger,
    limits: { mergeFilesMin: 2, rewriteDeletedShare: 0.2 },
  });
  const { compacted } = await upkeep.run();
  assert.ok(compacted > 0);
}

test("[LK41] what writers, updates, deletes, merges and changes of columns leave is sound", async () => {
  await catalog.declareDataPath(lakeDir);
  const types = [...valuesOfType.keys()];
  const columns = types.map((type, at) => `"c ${at}" ${type}`);
  await rows(`CREATE TABLE every (id BIGINT, ${columns.join(", ")})`);
  const sampled = types.map((type) => {
    const values = valuesOfType.get(type) ?? fc.constant("NULL");
    return fc.sample(fc.oneof({ weight: 5, arbitrary: values }, fc.constant("NULL")), {
      seed: 41,
      numRuns: 60,
    });
  });
  for (let from = 0; from < 60; from += 12) {
    const values = Array.from({ length: 12 }, (_, at) => {
      const cells = types.map((type, column) => `CAST(${sampled[column]?.[from + at]} AS ${type})`);
      return `(${from + at}, ${cells.join(", ")})`;
    });
    await rows(`INSERT INTO every VALUES ${values.join(", ")}`);
  }
  await compact();
  await rows("DELETE FROM every WHERE id % 7 = 0");
  await rows("DELETE FROM every WHERE id % 11 = 0");
  await rows('UPDATE every SET "c 0" = true WHERE id < 20');
  await rows("ALTER TABLE every ADD COLUMN late VARCHAR DEFAULT 'x'");
  await rows('ALTER TABLE every DROP COLUMN "c 2"');
  await rows("INSERT INTO every (id) VALUES (100)");
  await compact();
  await rows("CREATE TABLE few AS SELECT range AS n, 'nan'::DOUBLE AS d FROM range(3)");
  await rows("INSERT INTO few VALUES (9, 1.5)");
  await rows("DELETE FROM few WHERE n = 1");
  const report = await check();
  assert.deepEqual(report.findings, []);
  assert.deepEqual([report.tables, report.unnamed], [2, []]);
  assert.ok(report.files >= 9, String(report.files));
});

/** The findings after `damage`, which is then undone. */
async function findingsAfter(path: string, damage: (file: string) => void): Promise<string[]> {
  const file = join(lakeDir, path);
  const saved = readFileSync(file);
  damage(file);
  touch(file);
  try {
    return [...(await check()).findings];
  } finally {
    writeFileSync(file, saved);
    touch(file);
  }
}

let touches = 0;
/** DuckDB caches what it read of a file until the file's time changes by a second. */
function touch(file: string): void {
  touches += 1;
  if (existsSync(file)) utimesSync(file, touches, touches);
}

test("[LK41] damage to files is found, and nothing but it", async (t) => {
  const [version] = await catalog.resolve([
    { schema: undefined, name: "few", moment: { kind: "current" } },
  ]);
  const [three, one] = version?.files ?? [];
  const deletes = three?.deletes?.path ?? "";
  const path = three?.path ?? "";
  const local = (of: string): string => join(lakeDir, of);
  const cases: readonly [name: string, path: string, (file: string) => void, RegExp[]][] = [
    [
      "a file cut short",
      path,
      (file) => truncateSync(file, 200),
      [/: the catalog says size: \d+, the file has 200$/, /: it cannot be read: .+/],
    ],
    ["a file deleted", path, (file) => rmSync(file), [/ is not there$/]],
    [
      "a file replaced by another of the table",
      path,
      (file) => copyFileSync(local(one?.path ?? ""), file),
      [/says size: /, /it cannot be read: its checksum is [0-9a-f]{8}, it was [0-9a-f]{8}$/],
    ],
    [
      "a data file in the place of a delete file",
      deletes,
      (file) => copyFileSync(local(path), file),
      [/says size: /, /it cannot be read: its checksum is [0-9a-f]{8}, it was [0-9a-f]{8}$/],
    ],
    [
      "bytes that changed",
      path,
      (file) => {
        const bytes = readFileSync(file);
        bytes.fill(0, 4, 40);
        writeFileSync(file, bytes);
      },
      [/: it cannot be read: .+/],
    ],
  ];
  for (const [name, damaged, damage, wanted] of cases) {
    await t.test(name, async () => {
      const findings = await findingsAfter(damaged, damage);
      assert.equal(findings.length, wanted.length, JSON.stringify(findings, null, 1));
      for (const [at, finding] of findings.entries()) assert.match(finding, wanted[at] as RegExp);
      const named = findings.filter((text) => !text.startsWith("table "));
      for (const finding of named) assert.ok(finding.startsWith(damaged), finding);
    });
  }
  assert.deepEqual((await check()).findings, []);
});

test("[LK41] damage that is seen when a file comes, as in S3, is named, and the others are looked at", async () => {
  const remote: ObjectStore = {
    kind: "s3",
    put: (...put) => objects.put(...put),
    fetch: (...wanted) => objects.fetch(...wanted),
    checksum: async () => undefined, // The file was put without one.
    reserve: (...wanted) => objects.reserve(...wanted),
    stat: (path) => objects.stat(path),
    list: (prefix) => objects.list(prefix),
    delete: (paths) => objects.delete(paths),
  };
  const versions = await catalog.resolve(
    ["few", "every"].map((name) => ({ schema: undefined, name, moment: { kind: "current" } })),
  );
  const paths = versions.map(({ files }) => files[0]?.path ?? "");
  const flipped = paths.map((path) => flipBit(createPrng(path), [join(lakeDir, path)]));
  try {
    const { signal } = new AbortController();
    const { findings } = await checkLakeFiles(
      { store, objects: remote, engine, atOnce: 2 },
      signal,
    );
    const wanted = /: it cannot be read: its checksum is [0-9a-f]{8}, it was [0-9a-f]{8}$/;
    assert.deepEqual(
      new Set(findings.map((finding) => finding.replace(wanted, ""))),
      new Set(paths),
    );
  } finally {
    for (const flip of flipped) flip.mend();
  }
});

test("[LK41] what differs in files without a checksum is found by what is in them", async (t) => {
  await store.transaction(async ({ db }) => {
    await db.deleteFrom("lake_file_checksums").execute();
  });
  assert.ok((await check()).unverified >= 9);
  const [version] = await catalog.resolve([
    { schema: undefined, name: "few", moment: { kind: "current" } },
  ]);
  const [three, one] = version?.files ?? [];
  const [path, deletes] = [three?.path ?? "", three?.deletes?.path ?? ""];
  const local = (of: string): string => join(lakeDir, of);
  const cases: readonly [name: string, path: string, from: string, RegExp[]][] = [
    [
      "a file replaced by another of the table",
      path,
      one?.path ?? "",
      [
        /says size: /,
        /says footer_size: /,
        /says record_count: 3, the file has 1$/,
        /value_count of column n: 3, the file has 1$/,
        /min of column n is 0, really 9$/,
        /max of column n is 2, really 9$/,
        /value_count of column d: 3, the file has 1$/,
        /^table few reads as 2 rows, the catalog says 3$/,
        /^table few is shown with 3 rows, really 1$/,
        /^table few is shown with \d+ bytes, really \d+$/,
      ],
    ],
    [
      "a data file in the place of a delete file",
      deletes,
      path,
      [
        /says size: /,
        /says footer_size: /,
        /says delete_count: 1, the file has 0$/,
        /it is of no file, the catalog says of main.few.*parquet$/,
        /^table few reads as 4 rows, the catalog says 3$/,
        /^table few is shown with 3 rows, really 4$/,
        /^table few is shown with \d+ bytes, really \d+$/,
      ],
    ],
  ];
  for (const [name, damaged, from, wanted] of cases) {
    await t.test(name, async () => {
      const findings = await findingsAfter(damaged, (file) => copyFileSync(local(from), file));
      assert.equal(findings.length, wanted.length, JSON.stringify(findings, null, 1));
      for (const [at, finding] of findings.entries()) assert.match(finding, wanted[at] as RegExp);
    });
  }
});

test("[LK51] upkeep gives a checksum to files that have none", async () => {
  const logger = silentLogger;
  const conditions: LakeCondition[] = [];
  const onCondition = (condition: LakeCondition) => void conditions.push(condition);
  const scrub = new LakeScrub({ store, objects, logger, onCondition });
  const read = await scrub.run(new AbortController().signal);
  assert.ok(read >= 9, String(read));
  const report = await check();
  assert.deepEqual([report.unverified, report.findings], [0, []]);
  assert.deepEqual(conditions, [{ damaged: [], unverified: 0, files: read, suspected: 0 }]);
  assert.equal(await scrub.run(new AbortController().signal), 0, "none is due again");
});

test("[LK41] files that the catalog does not name are no fault, and are told", async () => {
  const forgotten = join(lakeDir, "main", "few", "ducklake-forgotten.parquet");
  writeFileSync(forgotten, "x");
  const report = await check();
  assert.deepEqual(report.findings, []);
  assert.deepEqual(report.unnamed, ["main/few/ducklake-forgotten.parquet"]);
  rmSync(forgotten);
});

test("[LK41] a lake whose directory is gone is an error, and not a list of every file", async () => {
  renameSync(lakeDir, `${lakeDir}-away`);
  try {
    await assert.rejects(check(), { code: "store_unavailable" });
  } finally {
    renameSync(`${lakeDir}-away`, lakeDir);
  }
});
