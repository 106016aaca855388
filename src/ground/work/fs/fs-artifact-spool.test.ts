import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import type { Incarnation } from "../../kernel/ids.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { type RecordedLine, recordingLogger } from "../../kernel/testing/recording-logger.ts";
import { settleMicrotasks, VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { testArtifactSpool } from "../core/artifact-spool.contract.ts";
import { DiskBudget, type Eviction } from "../core/index.ts";
import { aWorkKey } from "../core/testing/a-work-key.ts";
import {
  type FsArtifactSpool,
  type FsSpoolOptions,
  openFsArtifactSpool,
} from "./fs-artifact-spool.ts";

async function withDir(body: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-spool-"));
  try {
    await body(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function openSpool(
  baseDir: string,
  options: Partial<FsSpoolOptions> = {},
): Promise<FsArtifactSpool> {
  return openFsArtifactSpool({
    baseDir,
    incarnation: "i-1" as Incarnation,
    capacityBytes: 1_000,
    clock: realClock,
    logger: silentLogger,
    ...options,
  });
}

testArtifactSpool("directory", async (capacityBytes) => {
  const dir = await mkdtemp(join(tmpdir(), "capstan-spool-"));
  const spool = await openSpool(dir, { capacityBytes });
  return {
    spool,
    write: (path, bytes) => writeFile(path, bytes),
    read: (path) => readFile(path).catch(() => undefined),
    settled: async () => {
      await spool.settled();
      await settleMicrotasks();
    },
    close: async () => {
      await spool.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
});

async function put(spool: FsArtifactSpool, sizeBytes: number): Promise<string> {
  const { name, path } = spool.reserve(aWorkKey);
  writeFileSync(path, new Uint8Array(sizeBytes));
  await spool.commit(name, sizeBytes);
  return name;
}

test("[QU6] what an earlier incarnation left is deleted, and never served", async () => {
  await withDir(async (dir) => {
    const first = await openSpool(dir);
    const name = await put(first, 10);
    first.reserve(aWorkKey);
    const second = await openSpool(dir, { incarnation: "i-2" as Incarnation });
    assert.deepEqual(readdirSync(dir), ["spool-i-2"]);
    assert.equal(second.stat(name), undefined);
    assert.notEqual(second.reserve(aWorkKey).name, name);
    await second.close();
    assert.deepEqual(readdirSync(dir), []);
  });
});

test("[QU6] nothing is deleted that is not the spool's", async () => {
  await withDir(async (dir) => {
    mkdirSync(join(dir, "precious"));
    writeFileSync(join(dir, "spool"), "mine");
    const spool = await openSpool(dir);
    await spool.close();
    assert.deepEqual(readdirSync(dir).toSorted(), ["precious", "spool"]);
  });
});

test("[QU41] complete artifacts are not where DuckDB may look", async () => {
  await withDir(async (dir) => {
    const spool = await openSpool(dir);
    const name = await put(spool, 10);
    const path = String(spool.stat(name)?.content);
    assert.ok(existsSync(path));
    assert.ok(!path.startsWith(`${spool.writeDir}/`));
    assert.deepEqual(readdirSync(spool.writeDir), []);
    await spool.close();
  });
});

test("[QU7] an artifact that is removed while it is moved leaves nothing", async () => {
  await withDir(async (dir) => {
    const spool = await openSpool(dir);
    const { name, path } = spool.reserve(aWorkKey);
    writeFileSync(path, new Uint8Array(10));
    const committing = spool.commit(name, 10);
    spool.remove(name);
    await committing.catch(() => undefined);
    await spool.settled();
    assert.equal(spool.stat(name), undefined);
    assert.deepEqual(readdirSync(join(dir, "spool-i-1", "ready")), []);
    assert.deepEqual(readdirSync(spool.writeDir), []);
    assert.equal(spool.usage().usedBytes, 0);
    await spool.close();
  });
});

test("[QU24] a slot that was never written to is an error, and no artifact", async () => {
  await withDir(async (dir) => {
    const spool = await openSpool(dir);
    const { name } = spool.reserve(aWorkKey);
    await assert.rejects(spool.commit(name, 10), OperatingError);
    assert.equal(spool.stat(name), undefined);
    assert.equal(spool.usage().usedBytes, 0);
    await spool.close();
  });
});

test("[QU24] a disk that was full is measured anew, though not all the time", async () => {
  await withDir(async (dir) => {
    const clock = new VirtualClock();
    let freeBytes = 0;
    const spool = await openSpool(dir, { clock, diskFreeBytes: () => freeBytes });
    assert.throws(() => spool.reserve(aWorkKey), /full/);
    freeBytes = 500;
    assert.throws(() => spool.reserve(aWorkKey), /full/);
    await clock.advance(250);
    spool.reserve(aWorkKey);
    assert.equal(spool.usage().freeBytes, 500);
    freeBytes = 0;
    await clock.advance(250);
    assert.throws(() => spool.reserve(aWorkKey), /full/);
    await spool.close();
  });
});

test("[QU24] while the disk is full, small artifacts go to another file system", () =>
  withDir(async (dir) => {
    const overflowDir = join(dir, "overflow");
    let freeBytes = 0;
    const clock = new VirtualClock();
    const capacityBytes = 1_000_000;
    const options = { clock, overflowDir, capacityBytes, diskFreeBytes: () => freeBytes };
    const spool = await openSpool(join(dir, "spool"), options);
    const slot = spool.reserve(aWorkKey);
    assert.equal(slot.path, join(overflowDir, "writing", slot.name));
    await writeFile(slot.path, "small");
    await spool.commit(slot.name, 5);
    const found = spool.stat(slot.name);
    const path = join(overflowDir, "ready", slot.name);
    assert.deepEqual(found, { content: path, sizeBytes: 5, key: aWorkKey });
    freeBytes = 10_000_000;
    await clock.advance(1_000);
    assert.ok(spool.reserve(aWorkKey).path.startsWith(spool.writeDir));
    spool.remove(slot.name);
    await spool.settled();
    assert.deepEqual(readdirSync(join(overflowDir, "ready")), []);
    await spool.close();
  }));

test("[QU31] small artifacts are in memory, where acknowledged ones make room, and then on disk", () =>
  withDir(async (dir) => {
    const mebibyte = 1024 * 1024;
    const spool = await openSpool(dir, { capacityBytes: 100 * mebibyte });
    const evicted: string[] = [];
    spool.onEvicted((name) => evicted.push(name));
    const keep = async (sizeBytes: number): Promise<string> => {
      const { name } = spool.reserve(aWorkKey);
      await spool.commit(name, sizeBytes, new Uint8Array(sizeBytes));
      return name;
    };
    const isInMemory = (name: string): boolean => spool.stat(name)?.content instanceof Uint8Array;
    assert.ok(!isInMemory(await keep(mebibyte + 1)));
    const eight = await Promise.all(Array.from({ length: 8 }, () => keep(mebibyte)));
    assert.ok(eight.every(isInMemory));
    assert.ok(!isInMemory(await keep(1)));
    for (const name of eight.slice(0, 2)) spool.release(name, "acked");
    assert.ok(isInMemory(await keep(1)));
    await settleMicrotasks();
    assert.deepEqual(evicted, eight.slice(0, 1));
    spool.remove(eight[7] as string);
    assert.ok(isInMemory(await keep(mebibyte)));
    assert.equal(readdirSync(join(dir, "spool-i-1", "ready")).length, 2);
    assert.equal(spool.usage().usedBytes, 8 * mebibyte + 3);
    await spool.close();
  }));

test("[QU31] in a shared budget, the caches go before any artifact", async () => {
  await withDir(async (dir) => {
    const budget = new DiskBudget({
      capacityBytes: 1_000,
      artifactFloorBytes: 300,
      highRatio: 0.9,
      lowRatio: 0.8,
    });
    const others: Eviction[] = [];
    const spool = await openSpool(dir, { budget, onEvictedOther: (other) => others.push(other) });
    budget.admit("parquet_cache", "a.parquet", 500);
    const kept = await put(spool, 300);
    await put(spool, 300);
    assert.deepEqual(
      others.map(({ tenant, name }) => [tenant, name]),
      [["parquet_cache", "a.parquet"]],
    );
    assert.equal(spool.stat(kept)?.sizeBytes, 300);
    await spool.close();
  });
});

test("[QU24] an incarnation's odd characters do not leave the directory", async () => {
  await withDir(async (dir) => {
    const spool = await openSpool(dir, { incarnation: "i:1.." as Incarnation });
    assert.deepEqual(readdirSync(dir), ["spool-i_1.."]);
    assert.match(spool.reserve(aWorkKey).name, /^i_1\.\.-1\.parquet$/);
    await spool.close();
  });
});

test("[OB14] the spool's lines name the query whose artifact it is", async () => {
  await withDir(async (dir) => {
    const lines: RecordedLine[] = [];
    const clock = new VirtualClock();
    const diskFreeBytes = (): number => {
      throw new Error("no such device");
    };
    const logger = recordingLogger(lines);
    const spool = await openSpool(dir, { capacityBytes: 100, clock, diskFreeBytes, logger });
    const name = await put(spool, 80);
    spool.release(name, "acked");
    await put(spool, 80); // The first has to go.
    const { name: unwritten, path } = spool.reserve(aWorkKey);
    mkdirSync(path); // What cannot be unlinked.
    spool.remove(unwritten);
    await spool.settled();
    const kinds = ["the disk's free space is unknown", "artifact evicted", "not deleted"];
    for (const kind of kinds) {
      const found = lines.filter(({ message }) => message.startsWith(kind));
      assert.notEqual(found.length, 0, kind);
      for (const { fields } of found) {
        assert.deepEqual([fields.query_id, fields.work_id], [aWorkKey.queryId, aWorkKey.workId]);
      }
    }
    await spool.close();
  });
});
