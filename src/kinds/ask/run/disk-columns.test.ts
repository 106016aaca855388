import assert from "node:assert/strict";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { DiskBudget } from "../../../ground/work/core/index.ts";
import { openColumnFiles } from "../../../ground/work/fs/column-files.ts";
import { MemoryColumnCache } from "./column-cache.ts";
import { type ColumnFileNote, DiskColumns } from "./disk-columns.ts";

const base = mkdtempSync(join(tmpdir(), "capstan-columns-"));
after(() => rmSync(base, { recursive: true, force: true }));

test("[QP13] a column that memory has no room for is read back from the disk", () => {
  const dir = mkdtempSync(join(base, "spill-"));
  const notes: ColumnFileNote[] = [];
  const cache = new MemoryColumnCache(98, new DiskColumns(dir, (note) => notes.push(note)));
  const first = Float64Array.of(1, -0, Number.NaN, 4, 5, 6, 7, 8, 9, 10);
  const marks = Uint8Array.of(0, 1, 0);
  cache.get("s-1", 0, "ts", () => first);
  cache.get("s-1", 0, "stale", () => marks);
  cache.get("s-1", 1, "ts", () => new Float64Array(12));
  assert.deepEqual(readdirSync(dir).sort(), ["s-1.0.stale", "s-1.0.ts"]);
  const fail = (): never => assert.fail("it is on the disk");
  assert.deepEqual(cache.get("s-1", 0, "stale", fail), marks);
  assert.deepEqual(cache.get("s-1", 0, "ts", fail), first);
  assert.deepEqual(
    notes.map(({ name, writtenBytes }) => `${name} ${writtenBytes ?? "used"}`),
    ["s-1.0.ts 84", "s-1.0.stale 7", "s-1.0.stale used", "s-1.1.ts 100", "s-1.0.ts used"],
  );
});

test("[QP13] a file that is gone costs a decoding", () => {
  const dir = mkdtempSync(join(base, "gone-"));
  const cache = new MemoryColumnCache(8, new DiskColumns(dir, () => undefined));
  cache.get("a", 0, "ts", () => Float64Array.of(1));
  cache.get("b", 0, "ts", () => Float64Array.of(2));
  rmSync(join(dir, "a.0.ts"));
  assert.deepEqual(
    cache.get("a", 0, "ts", () => Float64Array.of(3)),
    Float64Array.of(3),
  );
  rmSync(dir, { recursive: true });
  // Nothing can be written any more, and nobody minds.
  cache.get("c", 0, "ts", () => Float64Array.of(4));
});

test("[QP13] a file with any bit flipped, cut off or of an earlier version costs a decoding", () => {
  const dir = mkdtempSync(join(base, "rot-"));
  const columns = new DiskColumns(dir, () => undefined);
  const column = Float64Array.of(1, 2);
  columns.write("s/0/ts", column);
  const file = join(dir, "s.0.ts");
  const sound = readFileSync(file);
  for (let bit = 0; bit < sound.length * 8; bit += 1) {
    const rotten = Buffer.from(sound);
    rotten[bit >> 3] = (rotten[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    writeFileSync(file, rotten);
    assert.equal(columns.read("s/0/ts"), undefined, `bit ${bit}`);
  }
  for (const length of [0, 3, 16]) {
    writeFileSync(file, sound.subarray(0, length));
    assert.equal(columns.read("s/0/ts"), undefined, `${length} bytes`);
  }
  writeFileSync(file, sound);
  assert.deepEqual(columns.read("s/0/ts"), column);
});

test("[QP13] a file in another one's place costs a decoding", () => {
  const dir = mkdtempSync(join(base, "swapped-"));
  const columns = new DiskColumns(dir, () => undefined);
  columns.write("s/0/value", Float64Array.of(1, 2));
  columns.write("s/1/value", Float64Array.of(3, 4));
  renameSync(join(dir, "s.0.value"), join(dir, "other"));
  renameSync(join(dir, "s.1.value"), join(dir, "s.0.value"));
  renameSync(join(dir, "other"), join(dir, "s.1.value"));
  assert.deepEqual([columns.read("s/0/value"), columns.read("s/1/value")], [undefined, undefined]);
});

test("[QU31] [QU33] files of columns go first, and what does not fit is deleted", async () => {
  const dir = join(base, "files");
  const limits = { capacityBytes: 100, artifactFloorBytes: 40, highRatio: 1, lowRatio: 1 };
  const budget = new DiskBudget(limits);
  const files = await openColumnFiles(dir, budget, silentLogger);
  const write = (name: string, sizeBytes: number): void => {
    writeFileSync(join(dir, name), new Uint8Array(sizeBytes));
    files.written(name, sizeBytes);
  };
  write("a", 30);
  write("b", 30);
  files.used("a");
  write("c", 30); // The artifacts keep their floor, so `b` goes.
  write("c", 30); // Another thread wrote the same.
  write("huge", 70);
  const admission = budget.admit("artifacts", "x", 60);
  assert.equal(admission.kind, "admitted");
  for (const eviction of admission.kind === "admitted" ? admission.evict : [])
    files.evicted(eviction);
  await files.close().catch(() => undefined);
  assert.ok(!existsSync(dir));
  const again = await openColumnFiles(dir, new DiskBudget(limits), silentLogger);
  writeFileSync(join(dir, "left"), "x");
  await openColumnFiles(dir, new DiskBudget(limits), silentLogger);
  assert.deepEqual(readdirSync(dir), []);
  assert.equal(again.usedBytes(), 0);
});
