import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { tryLockFile } from "../../../ground/process/index.ts";
import { encodeFrames } from "../metrics/fs/wal-frames.ts";
import { describeRepair } from "./metrics-repair.ts";

const main = join(import.meta.dirname, "..", "..", "..", "..", "bin", "capstan.js");
const run = promisify(execFile);

async function repair(dataDir: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [
    main,
    ...["metrics", "repair", "--data-dir", dataDir, ...args],
  ]);
  return stdout;
}

function dataDirOf(t: TestContext): { readonly dataDir: string; readonly walDir: string } {
  const dataDir = mkdtempSync(join(tmpdir(), "capstan-repair-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const walDir = join(dataDir, "lake", "wal");
  mkdirSync(walDir, { recursive: true });
  return { dataDir, walDir };
}

test("[CM21] a damaged log is mended, with a report; a log in use, or none, is refused", async (t) => {
  const { dataDir, walDir } = dataDirOf(t);
  // A log of the first format, whose second file is missing.
  const record = new Uint8Array(40);
  record[0] = 1;
  for (const index of [0, 2]) {
    writeFileSync(join(walDir, `1-00000${index}.wal`), encodeFrames([record], 0));
  }
  const lock = tryLockFile(join(walDir, "lock"));
  await assert.rejects(repair(dataDir), (thrown: { stderr: string }) => {
    assert.match(thrown.stderr, /a coordinator has the metrics log open/);
    return true;
  });
  lock?.release();
  const text = await repair(dataDir);
  assert.match(text, /what was between 1-000000\.wal and 1-000002\.wal: missing/);
  assert.match(text, /Kept: 1 record before the damage and 1 record after it, 0 samples\./);
  assert.match(text, /Lost: 0 bytes of the log, 1 missing file\./);
  assert.match(text, /The log can be used again\./);
  assert.ok(readdirSync(walDir).some((name) => name.startsWith("damaged-")));
  assert.match(await repair(dataDir), /The metrics log is whole: 2 files, 2 records, 0 samples\./);
  const before = readFileSync(join(walDir, "1-000000.wal"));
  const json = JSON.parse(await repair(dataDir, "--json"));
  assert.deepEqual([json.damage, json.recordCount, json.keptIn], [[], 2, undefined]);
  assert.deepEqual(readFileSync(join(walDir, "1-000000.wal")), before);
  await assert.rejects(repair(join(dataDir, "elsewhere")), (thrown: { stderr: string }) => {
    assert.match(thrown.stderr, /there is no metrics log in/);
    return true;
  });
});

test("[CM21] the report says where the damage is, what is kept and lost, and what is known of when it came", () => {
  const repair = {
    damage: ["1-1-000000.wal at byte 40, 7 bytes", "1-1-000001.wal: missing"],
    fileCount: 3,
    recordCount: 5,
    sampleCount: 50,
    recordsBefore: 1,
    recordsAfter: 4,
    lostBytes: 7,
    missingFileCount: 1,
    lostSampleCount: 2,
    before: { oldestMs: 0, newestMs: 0 },
    after: { oldestMs: -60_000, newestMs: 60_000 },
    keptIn: "/data/damaged-2",
  };
  assert.equal(
    describeRepair(repair),
    `The metrics log was damaged:
  1-1-000000.wal at byte 40, 7 bytes
  1-1-000001.wal: missing
Kept: 1 record before the damage and 4 records after it, 50 samples.
Lost: 7 bytes of the log, 1 missing file, 2 samples whose series was defined in what is lost.
In the order in which records came: the last record before the damage has samples of 1970-01-01T00:00:00.000Z; the first record after it has samples of 1969-12-31T23:59:00.000Z to 1970-01-01T00:01:00.000Z.
What came in between is missing, whatever the times of its samples are.
The damaged files are in /data/damaged-2. The log can be used again.
`,
  );
  const linesOf = (change: Partial<typeof repair>): string =>
    describeRepair({ ...repair, ...change } as typeof repair);
  assert.match(
    linesOf({ after: undefined as never }),
    /^In .*: the last record .*00:00:00\.000Z\.$/m,
  );
  assert.match(linesOf({ before: undefined as never }), /^In .*: the first record .*00:01:00/m);
});
