import assert from "node:assert/strict";
import {
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { Labels } from "../../promql/core/index.ts";
import { batchOf } from "../testing/sample-batches.ts";
import type { LogRepair } from "./repair-log.ts";
import { repairLog } from "./repair-log.ts";
import { DbFixture } from "./testing/db-fixture.ts";
import { frameBytes, isRecord, readFrames } from "./wal-frames.ts";

const series = (name: string): Labels => Labels.of({ __name__: name });

/** Three files with a record each, in one generation. The first defines `a`, the second `b`. */
async function killedLog(t: TestContext): Promise<DbFixture> {
  const fixture = new DbFixture(t);
  const db = await fixture.open({ walFileBytesMax: 1 });
  await db.append(batchOf([[series("a"), { ts: 1_000, value: 1 }]]));
  await db.append(
    batchOf([
      [series("a"), { ts: 2_000, value: 2 }],
      [series("b"), { ts: 2_000, value: 20 }],
    ]),
  );
  await db.append(
    batchOf([
      [series("a"), { ts: 3_000, value: 3 }],
      [series("b"), { ts: 3_000, value: 30 }],
    ]),
  );
  const killed = fixture.crashCopy(t);
  await db.close();
  return killed;
}

/** Flips a bit in the file's first record. */
function flipRecord(path: string): void {
  const record = readFrames(readFileSync(path)).frames.find(isRecord);
  assert.ok(record !== undefined);
  flip(path, record.at + frameBytes + 14);
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] as number) ^ 4;
  writeFileSync(path, bytes);
}

async function samplesOf(fixture: DbFixture): Promise<string[]> {
  const db = await fixture.open();
  const found = fixture.readAll(db).flatMap(({ labels, samples }) => {
    const { ts, values, count } = samples;
    return Array.from({ length: count }, (_, i) => `${labels.name} ${values[i]}@${ts[i]}`);
  });
  await db.close();
  return found;
}

const [a1, a2, a3] = ["a 1@1000", "a 2@2000", "a 3@3000"];
const [b2, b3] = ["b 20@2000", "b 30@3000"];
const all = [a1, a2, a3, b2, b3];
const at = (ms: number) => ({ oldestMs: ms, newestMs: ms });
const fileOf = (index: number): string => `1-1-00000${index}.wal`;

test("[MH23] a log that is whole is left as it is", async (t) => {
  const fixture = await killedLog(t);
  const before = readdirSync(fixture.walDir);
  const repair = await repairLog(realFiles, fixture.walDir);
  assert.deepEqual(repair.damage, []);
  assert.deepEqual([repair.fileCount, repair.recordCount, repair.sampleCount], [3, 3, 5]);
  assert.deepEqual(readdirSync(fixture.walDir), before);
  assert.deepEqual(await samplesOf(fixture), all);
});

const cases: readonly {
  readonly name: string;
  readonly damage: (walDir: string) => void;
  readonly kept: readonly string[];
  readonly want: Partial<LogRepair>;
  /** The names of the files that were kept aside. */
  readonly aside: readonly string[];
}[] = [
  {
    name: "a damaged record in the middle",
    damage: (walDir) => flipRecord(join(walDir, fileOf(1))),
    kept: [a1, a3],
    want: {
      recordsBefore: 1,
      recordsAfter: 1,
      lostSampleCount: 1,
      before: at(1_000),
      after: at(3_000),
      missingFileCount: 0,
    },
    aside: [fileOf(1)],
  },
  {
    name: "a missing file in the middle",
    damage: (walDir) => rmSync(join(walDir, fileOf(1))),
    kept: [a1, a3],
    want: {
      recordsBefore: 1,
      recordsAfter: 1,
      missingFileCount: 1,
      lostSampleCount: 1,
      lostBytes: 0,
      sampleCount: 2,
    },
    aside: [],
  },
  {
    name: "a missing file at the beginning",
    damage: (walDir) => rmSync(join(walDir, fileOf(0))),
    kept: [b2, b3],
    want: { recordsBefore: 0, recordsAfter: 2, missingFileCount: 1, lostSampleCount: 2 },
    aside: [],
  },
  {
    name: "a missing file at the end",
    damage: (walDir) => rmSync(join(walDir, fileOf(2))),
    kept: [a1, a2, b2],
    want: {
      recordsBefore: 2,
      recordsAfter: 0,
      missingFileCount: 1,
      before: at(2_000),
      after: undefined,
    },
    aside: [],
  },
  {
    name: "a damaged list",
    damage: (walDir) => flip(join(walDir, "term-1"), 12),
    kept: all,
    want: { recordsAfter: 3, lostSampleCount: 0 },
    aside: ["term-1"],
  },
  {
    name: "an emptied list",
    damage: (walDir) => truncateSync(join(walDir, "term-1"), 0),
    kept: all,
    want: { recordsAfter: 3, lostSampleCount: 0 },
    aside: ["term-1"],
  },
  {
    name: "an emptied list, and one that somebody began",
    damage: (walDir) => {
      truncateSync(join(walDir, "term-1"), 0);
      writeFileSync(join(walDir, "term-2"), "");
    },
    kept: all,
    want: { recordsAfter: 3, lostSampleCount: 0 },
    aside: ["term-1"],
  },
  {
    name: "a log of which only the lineage is left",
    damage: (walDir) => {
      for (const name of readdirSync(walDir)) {
        if (name !== "lineage") rmSync(join(walDir, name), { recursive: true });
      }
    },
    kept: [],
    want: { recordCount: 0, missingFileCount: 1 },
    aside: [],
  },
  {
    name: "a list that is gone",
    damage: (walDir) => rmSync(join(walDir, "term-1")),
    kept: all,
    want: { recordsAfter: 3, lostSampleCount: 0 },
    aside: [fileOf(0), fileOf(1), fileOf(2)],
  },
  {
    name: "a file that has another name",
    damage: (walDir) => renameSync(join(walDir, fileOf(2)), join(walDir, "1-1-000007.wal")),
    kept: [a1, a2, b2],
    want: { recordsBefore: 2, missingFileCount: 1 },
    aside: ["1-1-000007.wal"],
  },
];
for (const { name, damage, kept, want, aside } of cases) {
  test(`[MH23] ${name}: what is good stays, the rest is kept aside and told`, async (t) => {
    const fixture = await killedLog(t);
    damage(fixture.walDir);
    const damaged = fixture.crashCopy(t);
    await assert.rejects(fixture.open(), { code: "store_corrupt", hint: /capstan metrics repair/ });
    const repair = await repairLog(realFiles, fixture.walDir);
    assert.ok(repair.damage.length > 0);
    for (const [key, value] of Object.entries(want)) {
      assert.deepEqual(repair[key as keyof LogRepair], value, key);
    }
    assert.deepEqual(readdirSync(repair.keptIn as string).sort(), aside);
    for (const file of aside) {
      const before = readFileSync(join(damaged.walDir, file));
      assert.deepEqual(readFileSync(join(repair.keptIn as string, file)), before);
    }
    assert.deepEqual((await repairLog(realFiles, fixture.walDir)).damage, [], "it is whole now");
    assert.deepEqual(await samplesOf(fixture), kept);
    assert.deepEqual(await samplesOf(fixture), kept, "and after another start");
  });
}

test("[MH23] of a file with several damaged records all others stay, and everything that is lost is told", async (t) => {
  const written = new DbFixture(t);
  const db = await written.open();
  for (const value of [1, 2, 3, 4, 5]) {
    await db.append(batchOf([[series("a"), { ts: value * 1_000, value }]]));
  }
  const fixture = written.crashCopy(t);
  await db.close();
  const path = join(fixture.walDir, fileOf(0));
  const records = readFrames(readFileSync(path)).frames.filter(isRecord);
  const damaged = [records[1], records[3]].map((record) => {
    assert.ok(record !== undefined);
    flip(path, record.at + frameBytes + 3);
    return { at: record.at, bytes: frameBytes + record.payload.length };
  });
  const repair = await repairLog(realFiles, fixture.walDir);
  assert.deepEqual(repair, {
    damage: damaged.map(({ at, bytes }) => `${fileOf(0)} at byte ${at}, ${bytes} bytes`),
    fileCount: 1,
    recordCount: 3,
    sampleCount: 3,
    recordsBefore: 1,
    recordsAfter: 2,
    lostBytes: damaged.reduce((sum, { bytes }) => sum + bytes, 0),
    missingFileCount: 0,
    lostSampleCount: 0,
    before: at(1_000),
    after: at(3_000),
    keptIn: repair.keptIn,
  });
  assert.deepEqual(await samplesOf(fixture), ["a 1@1000", "a 3@3000", "a 5@5000"]);
});

test("[MH23] the records beside the damage are those that came beside it, however late their samples are", async (t) => {
  const written = new DbFixture(t);
  const db = await written.open({ walFileBytesMax: 1 });
  for (const [index, ts] of [90_000, 5_000, 95_000, 7_000, 99_000].entries()) {
    await db.append(batchOf([[series(`s${index}`), { ts, value: 1 }]]));
  }
  const fixture = written.crashCopy(t);
  await db.close();
  flipRecord(join(fixture.walDir, fileOf(2)));
  const { before, after } = await repairLog(realFiles, fixture.walDir);
  assert.deepEqual([before, after], [at(5_000), at(7_000)]);
});
