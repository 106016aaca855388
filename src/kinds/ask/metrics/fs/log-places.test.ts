/**
 * Every log file is bound to its place (MH24): swapped files, older versions and files of another
 * log are reported as damage, and never change an answer.
 */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { Labels } from "../../promql/core/index.ts";
import { batchOf, meaningOf } from "../testing/sample-batches.ts";
import { encodeLogList, parseLogName } from "./log-list.ts";
import { repairLog } from "./repair-log.ts";
import { DbFixture } from "./testing/db-fixture.ts";
import { namelessFile } from "./testing/nameless-file.ts";
import { encodeFrames, frameBytes } from "./wal-frames.ts";

const series = Labels.of({ __name__: "a" });

interface Kept {
  readonly fixture: DbFixture;
  /** Copies of the log after each append, oldest first. */
  readonly earlier: readonly DbFixture[];
}

/** Files of equal length with one record each; the last one is open if the process was killed. */
async function log(t: TestContext, isClosed: boolean, value = 1): Promise<Kept> {
  const fixture = new DbFixture(t);
  const db = await fixture.open({ walFileBytesMax: 1 });
  const earlier: DbFixture[] = [];
  // The first record defines the series, so it is longer.
  for (const ts of [1_000, 2_000, 3_000, 4_000]) {
    await db.append(batchOf([[series, { ts, value: value * ts }]]));
    earlier.push(fixture.crashCopy(t));
  }
  const killed = fixture.crashCopy(t);
  await db.close();
  return { fixture: isClosed ? fixture : killed, earlier };
}

const logFilesOf = ({ walDir }: DbFixture): string[] =>
  readdirSync(walDir)
    .filter((name) => name.endsWith(".wal"))
    .sort();

async function answerOf(fixture: DbFixture): Promise<unknown> {
  const db = await fixture.open();
  try {
    return fixture.readAll(db).map(meaningOf);
  } finally {
    await db.close();
  }
}

function* permutationsOf<T>(items: readonly T[]): Generator<readonly T[]> {
  if (items.length === 0) yield [];
  for (const [at, item] of items.entries()) {
    for (const rest of permutationsOf(items.toSpliced(at, 1))) yield [item, ...rest];
  }
}

const named = { code: "store_corrupt", retry: "never", hint: /capstan metrics repair/ };

for (const isClosed of [true, false]) {
  const how = isClosed ? "closed" : "killed";

  test(`[MH24] ${how}: files in any other order are named, and a repair puts them back`, async (t) => {
    const { fixture } = await log(t, isClosed);
    const want = await answerOf(fixture.crashCopy(t));
    const names = logFilesOf(fixture);
    const sizes = names.map((name) => readFileSync(join(fixture.walDir, name)).length);
    assert.ok(new Set(sizes.slice(1)).size <= 2, "but for a mark they are of one length");
    let others = 0;
    for (const order of permutationsOf(names)) {
      const swapped = fixture.crashCopy(t);
      for (const [at, name] of names.entries()) {
        copyFileSync(join(fixture.walDir, order[at] as string), join(swapped.walDir, name));
      }
      if (order.every((name, at) => name === names[at])) {
        assert.deepEqual(await answerOf(swapped), want);
        continue;
      }
      others += 1;
      await assert.rejects(answerOf(swapped), { ...named, message: /\.wal: holds another file/ });
      const { damage, lostSampleCount } = await repairLog(realFiles, swapped.walDir);
      assert.ok(damage.length > 0);
      assert.equal(lostSampleCount, 0, order.join(" "));
      assert.deepEqual(await answerOf(swapped), want, order.join(" "));
    }
    assert.equal(others, 23);
  });

  test(`[MH24] ${how}: a file or a list that is an older one of itself is named, or all is there`, async (t) => {
    const { fixture, earlier } = await log(t, isClosed);
    const want = await answerOf(fixture.crashCopy(t));
    let different = 0;
    for (const older of earlier) {
      for (const name of readdirSync(older.walDir)) {
        const path = join(fixture.walDir, name);
        const bytes = readFileSync(join(older.walDir, name));
        if (!existsSync(path) || readFileSync(path).equals(bytes)) continue;
        const rolled = fixture.crashCopy(t);
        writeFileSync(join(rolled.walDir, name), bytes);
        const what = `${name} of ${bytes.length} bytes`;
        different += 1;
        const found = await answerOf(rolled).catch(
          (thrown: { code?: string; message?: string }) => {
            assert.equal(thrown.code, "store_corrupt", `${what}: ${thrown.message}`);
            return undefined;
          },
        );
        if (found !== undefined) {
          assert.deepEqual(found, want, what);
          continue;
        }
        await repairLog(realFiles, rolled.walDir);
        assert.deepEqual(await answerOf(rolled), want, `${what}, repaired`);
      }
    }
    assert.ok(different >= 3, `${different} older files`);
  });

  test(`[MH24] ${how}: a file or a list of another log is named`, async (t) => {
    const { fixture } = await log(t, isClosed);
    const { fixture: other } = await log(t, isClosed, 7);
    const names = readdirSync(other.walDir).filter((name) => /\.wal$|^term-/.test(name));
    assert.equal(names.length, 5);
    for (const name of names) {
      const mixed = fixture.crashCopy(t);
      copyFileSync(join(other.walDir, name), join(mixed.walDir, name));
      await assert.rejects(answerOf(mixed), { ...named, message: /holds another file/ }, name);
      for (const place of logFilesOf(mixed)) {
        if (!name.endsWith(".wal")) continue;
        const moved = fixture.crashCopy(t);
        copyFileSync(join(other.walDir, name), join(moved.walDir, place));
        await assert.rejects(answerOf(moved), { ...named, message: /holds another file/ });
      }
    }
  });

  test(`[MH24] ${how}: a file without a name in the place of one that had it is named`, async (t) => {
    const { fixture } = await log(t, isClosed);
    for (const name of logFilesOf(fixture)) {
      const replaced = fixture.crashCopy(t);
      const path = join(replaced.walDir, name);
      const bytes = readFileSync(path);
      const nameless = encodeFrames([Buffer.alloc(bytes.length - frameBytes, 1)], 0);
      writeFileSync(path, nameless);
      await assert.rejects(answerOf(replaced), { ...named, message: /holds another file/ });
    }
  });
}

test("[MH24] a closed file with several records that is an older one of itself is named", async (t) => {
  const fixture = new DbFixture(t);
  const db = await fixture.open();
  const older: Buffer[] = [];
  const path = (): string => join(fixture.walDir, logFilesOf(fixture)[0] as string);
  for (const ts of [1_000, 2_000, 3_000]) {
    await db.append(batchOf([[series, { ts, value: ts }]]));
    older.push(readFileSync(path()));
  }
  await db.close();
  for (const bytes of older.slice(0, -1)) {
    writeFileSync(path(), bytes);
    await assert.rejects(answerOf(fixture), { ...named, message: /shorter than it was/ });
  }
});

test("[MH24] a log whose files have no names, as the first lists had it, opens", async (t) => {
  const { fixture } = await log(t, true);
  const want = await answerOf(fixture.crashCopy(t));
  const list = JSON.parse(
    readFileSync(join(fixture.walDir, "term-1"), "latin1").split("\n")[0] as string,
  ) as { lineage: string };
  const files = logFilesOf(fixture).map((name) => {
    const bytes = namelessFile(readFileSync(join(fixture.walDir, name)));
    writeFileSync(join(fixture.walDir, name), bytes);
    const { generation, index } = parseLogName(name) ?? assert.fail();
    const place = { name, generation, index, hasGap: false, isNamed: false };
    return { ...place, bytes: bytes.length - frameBytes };
  });
  const { lineage } = list;
  writeFileSync(join(fixture.walDir, "term-1"), encodeLogList({ term: 1, lineage, files }));
  assert.deepEqual(await answerOf(fixture.crashCopy(t)), want);
  assert.deepEqual(await answerOf(fixture), want);
  assert.deepEqual(await answerOf(fixture), want, "also where another owner has listed them");
});
