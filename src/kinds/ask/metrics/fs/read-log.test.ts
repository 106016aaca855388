import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileEntry, FileStat, Files } from "../../../../ground/kernel/files.ts";
import { decodeLogList, encodeLogList, type ListedFile, logFileName } from "./log-list.ts";
import { findLog, goodAround, type LogRead, readLog } from "./read-log.ts";
import {
  encodeFrames,
  encodeIdentity,
  encodeMark,
  frameBytes,
  isRecord,
  readFrames,
} from "./wal-frames.ts";

/** The part of a disk that reading needs. */
function diskOf(files: ReadonlyMap<string, Buffer>): Files {
  const nameOf = (path: string): string => path.replace(/^log\//, "");
  const disk: Pick<Files, "list" | "read" | "stat"> = {
    list: async () => [...files.keys()].map((name): FileEntry => ({ name, kind: "file" })),
    read: async (path) => Buffer.from(files.get(nameOf(path)) as Buffer),
    stat: async (path): Promise<FileStat | undefined> => {
      const bytes = files.get(nameOf(path))?.length;
      return bytes === undefined ? undefined : { kind: "file", bytes, modifiedMs: 0 };
    },
  };
  return disk as Files;
}

const payload = (text: string): Buffer => Buffer.from(`payload ${text}`.padEnd(40, "."));

/** Three files of two records each, with a sync and a mark after every record. */
function logFiles(isClosed: boolean): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const listed: ListedFile[] = [];
  for (let index = 0; index < 3; index += 1) {
    const name = logFileName(7, 3, index);
    let bytes = encodeFrames([encodeIdentity({ lineage: "abcdefghijkl", name })], 0);
    let synced = 0;
    for (const record of [1, 2]) {
      bytes = Buffer.concat([bytes, encodeFrames([payload(`${index} ${record}`)], synced)]);
      synced = bytes.length;
      bytes = Buffer.concat([bytes, encodeMark(synced)]);
    }
    files.set(name, bytes);
    const isOpen = index === 2 && !isClosed;
    const length = isOpen ? undefined : synced;
    listed.push({ name, generation: 3, index, bytes: length, hasGap: false, isNamed: true });
  }
  files.set("term-7", encodeLogList({ term: 7, lineage: "abcdefghijkl", files: listed }));
  files.set("lock", Buffer.from("x"));
  return files;
}

async function read(files: ReadonlyMap<string, Buffer>): Promise<LogRead> {
  const disk = diskOf(files);
  return await readLog(disk, "log", await findLog(disk, "log", 9), () => true);
}

const textsOf = ({ files }: LogRead): string[] =>
  files.flatMap(({ records }) => records.map((record) => record.payload.toString()));

for (const isClosed of [true, false]) {
  const how = isClosed ? "closed" : "killed";

  test(`[MH11] ${how}: every bit of the log, flipped, is named or of no consequence`, async () => {
    const whole = logFiles(isClosed);
    const want = textsOf(await read(whole));
    assert.equal(want.length, 6);
    for (const [name, bytes] of whole) {
      if (name === "lock") continue;
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const bad = Buffer.from(bytes);
        const at = bit >> 3;
        bad[at] = (bad[at] as number) ^ (1 << (bit & 7));
        const found = await read(new Map(whole).set(name, bad));
        const place = `${name} byte ${at}`;
        if (found.damage.length > 0) {
          assert.equal(found.damage[0]?.file, name, place);
          continue;
        }
        assert.deepEqual(textsOf(found), want, place);
        // Only the last mark may go unnoticed: the list has its information, or nobody needs it.
        assert.ok(at >= bytes.length - frameBytes, `${place} is named`);
      }
    }
  });

  test(`[MH11] ${how}: every list cut to every length is named, and every record is still found`, async () => {
    const whole = logFiles(isClosed);
    const want = textsOf(await read(whole));
    const list = whole.get("term-7") as Buffer;
    for (let length = 0; length < list.length; length += 1) {
      const cut = new Map(whole).set("term-7", list.subarray(0, length));
      // Also after a takeover that was begun and killed.
      for (const files of [cut, new Map(cut).set("term-8", Buffer.alloc(0))]) {
        const found = await read(files);
        assert.equal(found.damage[0]?.file, "term-7", `${length} bytes`);
        assert.deepEqual(textsOf(found), want, `${length} bytes`);
      }
    }
  });

  test(`[MH11] ${how}: every character of a name that is another one is named`, async () => {
    const whole = logFiles(isClosed);
    for (const name of [...whole.keys()].filter((each) => each !== "lock")) {
      for (let at = 0; at < name.length; at += 1) {
        for (const bit of [1, 2, 4, 8, 16]) {
          const code = name.charCodeAt(at) ^ bit;
          const other = `${name.slice(0, at)}${String.fromCharCode(code)}${name.slice(at + 1)}`;
          if (other.includes("/") || whole.has(other)) continue;
          const files = new Map(whole);
          files.set(other, files.get(name) as Buffer);
          files.delete(name);
          const { damage } = await read(files);
          assert.ok(damage.length > 0, `${name} as ${other}`);
        }
      }
    }
  });
}

test("[MH11] what is good before and after the damage is counted", async () => {
  const whole = logFiles(true);
  const middle = logFileName(7, 3, 1);
  const bytes = Buffer.from(whole.get(middle) as Buffer);
  const first = readFrames(bytes).frames.find(isRecord) ?? assert.fail();
  bytes[first.at + 20] = (bytes[first.at + 20] as number) ^ 1;
  assert.deepEqual(goodAround(await read(new Map(whole).set(middle, bytes))), {
    before: 2,
    after: 3,
  });
  const without = new Map(whole);
  without.delete(middle);
  assert.deepEqual(goodAround(await read(without)), { before: 2, after: 2 });
});

test("[MH11] a gap in the numbers of a log of the first format is named", async () => {
  const frames = encodeFrames([payload("x")], 0);
  const files = new Map([
    ["5-000003.wal", frames],
    ["5-000004.wal", frames],
    ["6-000006.wal", frames],
  ]);
  const { damage } = await read(files);
  assert.deepEqual(
    damage.map(({ what, file }) => `${file}: ${what}`),
    ["what was between 5-000004.wal and 6-000006.wal: missing"],
  );
  files.set("6-000005.wal", frames);
  assert.deepEqual((await read(files)).damage, []);
});

test("[MH11] a list that somebody began does not count beside a whole one, nor do files of its term", async () => {
  const whole = logFiles(true);
  const files = new Map(whole)
    .set("term-8", Buffer.alloc(0))
    .set(logFileName(8, 3, 1), encodeFrames([payload("a copy")], 0));
  const found = await read(files);
  assert.deepEqual(found.damage, []);
  assert.deepEqual(textsOf(found), textsOf(await read(whole)));
});

test("[MH24] a newer file that its owner listed while the log was read is nobody's loss", async () => {
  const whole = logFiles(false);
  const list = whole.get("term-7") as Buffer;
  const name = logFileName(7, 3, 3);
  const { files = [] } = decodeLogList(list, 7) ?? {};
  const added = { name, generation: 3, index: 3, bytes: undefined, hasGap: false, isNamed: true };
  const later = encodeLogList({ term: 7, lineage: "abcdefghijkl", files: [...files, added] });
  const header = encodeIdentity({ lineage: "abcdefghijkl", name });
  const log = new Map(whole).set(name, encodeFrames([header, payload("late")], 0));
  const disk = diskOf(log);
  const found = await findLog(disk, "log", 9);
  const lost = await readLog(disk, "log", found, () => true);
  assert.deepEqual(
    lost.damage.map(({ file, what }) => `${file}: ${what}`),
    [`${name}: not listed`],
  );
  log.set("term-7", later);
  const read = await readLog(disk, "log", found, () => true);
  assert.deepEqual([read.damage, textsOf(read).length], [[], 6]);
  log.set("term-7", list).set(name, encodeFrames([header], 0));
  assert.deepEqual((await readLog(disk, "log", found, () => true)).damage, [], "it has no record");
});

test("[MH22] a log of the first format that somebody began to take over is whole", async () => {
  const files = new Map([
    ["5-000003.wal", encodeFrames([payload("x")], 0)],
    ["term-1", Buffer.alloc(0)],
    ["lineage", Buffer.from("abcdefghijkl")],
  ]);
  const found = await read(files);
  assert.deepEqual([found.damage, textsOf(found).length], [[], 1]);
});

for (const rest of [[], ["term-7"]]) {
  test(`[MH11] a log of which nothing is there but its lineage${rest.length > 0 ? " and an empty list" : ""} is damaged`, async () => {
    const left = rest.map((name): [string, Buffer] => [name, Buffer.alloc(0)]);
    const lost = new Map([["lineage", Buffer.from("abcdefghijkl listed")], ...left]);
    assert.equal((await read(lost)).damage.length, 1);
    const fresh = new Map([["lineage", Buffer.from("abcdefghijkl")], ...left]);
    assert.deepEqual((await read(fresh)).damage, [], "one that was never listed is new");
  });
}
