import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Files } from "../../../ground/kernel/files.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { checksumFile } from "../../../ground/threads/index.ts";
import type { NeededFile } from "../core/index.ts";
import { testObjectStore } from "../core/object-store.contract.ts";
import { openDirectoryStore } from "./directory-store.ts";
import { FileVerifier } from "./file-verifier.ts";

async function withTemporary(body: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-objects-"));
  try {
    await body(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

testObjectStore("directory", async () => {
  const dir = await mkdtemp(join(tmpdir(), "capstan-objects-"));
  return {
    store: await openDirectoryStore(join(dir, "lake")),
    localDir: join(dir, "local"),
    close: () => rm(dir, { recursive: true, force: true }),
  };
});

test("[LO7] a file of another disk is synced, and then gets its name", () =>
  withTemporary(async (dir) => {
    const local = join(dir, "file");
    await writeFile(local, "rows");
    const root = join(dir, "lake");
    const synced = new Set<string>();
    const files: Files = {
      ...realFiles,
      rename: async (from, to) => {
        if (!from.startsWith(root)) throw Object.assign(new Error("two disks"), { code: "EXDEV" });
        assert.ok(synced.has(from), "the copy is on the disk before it has its name");
        await realFiles.rename(from, to);
        synced.clear();
      },
      sync: async (path) => {
        await realFiles.sync(path);
        synced.add(path);
      },
    };
    const store = await openDirectoryStore(root, files);
    await store.put("t/x", local);
    assert.equal(await readFile(join(root, "t/x"), "utf8"), "rows");
    assert.ok(synced.has(join(root, "t")) && synced.has(root), "and its name is, too");
  }));

const otherDisk = "/dev/shm";
const hasOtherDisk = existsSync(otherDisk) && statSync(otherDisk).dev !== statSync(tmpdir()).dev;

test(
  "[LO7] a file of another disk is copied, and a cancelled copy leaves nothing",
  { skip: !hasOtherDisk },
  () =>
    withTemporary(async (dir) => {
      const away = await mkdtemp(join(otherDisk, "capstan-objects-"));
      try {
        const store = await openDirectoryStore(dir);
        const file = join(away, "file");
        await writeFile(file, Buffer.alloc(3_000_000, 5));
        const controller = new AbortController();
        const putting = store.put("t/x", file, controller.signal);
        controller.abort();
        await assert.rejects(putting, { code: "cancelled" });
        assert.equal(await store.stat("t/x"), undefined);
        await store.put("t/x", file);
        assert.ok((await readFile(join(dir, "t/x"))).equals(Buffer.alloc(3_000_000, 5)));
        assert.deepEqual(await readdir(join(dir, ".writing")), []);
      } finally {
        await rm(away, { recursive: true, force: true });
      }
    }),
);

test("[LO7] what a crash left half written goes when it is a day old, and nothing else does", () =>
  withTemporary(async (dir) => {
    const store = await openDirectoryStore(dir);
    for (const name of ["put-old", "put-new"]) {
      await mkdir(join(dir, ".writing", name), { recursive: true });
      await writeFile(join(dir, ".writing", name, "file"), "half");
    }
    const longAgo = new Date((statSync(dir).mtimeMs as number) - 25 * 60 * 60 * 1000);
    await utimes(join(dir, ".writing", "put-old"), longAgo, longAgo);
    await openDirectoryStore(dir);
    assert.deepEqual(await readdir(join(dir, ".writing")), ["put-new"]);
    for await (const { path } of store.list("")) assert.fail(`${path} is no file of the lake`);
  }));

test("[LO4] directories that a deletion empties go, and the root stays", () =>
  withTemporary(async (dir) => {
    const store = await openDirectoryStore(join(dir, "lake"));
    await writeFile(join(dir, "file"), "x");
    await store.put("a/b/c/d", join(dir, "file"));
    assert.equal(existsSync(join(dir, "file")), false, "it was moved");
    await store.delete(["a/b/c/d"]);
    assert.deepEqual(await readdir(join(dir, "lake")), [".writing"]);
  }));

test("[LO5] a lake whose directory is gone says so, and is not begun anew", () =>
  withTemporary(async (dir) => {
    const root = join(dir, "lake");
    const store = await openDirectoryStore(root);
    await rm(root, { recursive: true });
    await writeFile(join(dir, "file"), "x");
    const gone = {
      code: "store_unavailable",
      retry: "backoff",
      message: /^the lake's directory is gone$/,
    };
    await assert.rejects(Array.fromAsync(store.list("")), gone);
    await assert.rejects(Array.fromAsync(store.list("t/")), gone);
    await assert.rejects(store.fetch({ path: "t/x", sizeBytes: 1 }), gone);
    await assert.rejects(store.put("t/x", join(dir, "file")), gone);
    assert.equal(existsSync(root), false);
    assert.ok(existsSync(join(dir, "file")));
  }));

test("[LO19] a file that was written to after it was verified is verified again, whatever its times say", () =>
  withTemporary(async (dir) => {
    const store = await openDirectoryStore(join(dir, "lake"));
    const bytes = Buffer.alloc(3_000_000, "rows"); // Too large to read without a thread.
    await writeFile(join(dir, "file"), bytes);
    const { crc32 } = await store.put("t/x", join(dir, "file"));
    const file = { path: "t/x", sizeBytes: bytes.length, crc32 };
    const { localPath } = await store.fetch(file);
    const before = await stat(localPath);
    for (const at of [0, 1_500_000, bytes.length - 1]) {
      const rotten = Buffer.from(bytes);
      rotten[at] = (rotten[at] ?? 0) ^ 4;
      await writeFile(localPath, rotten);
      await utimes(localPath, before.atime, before.mtime);
      await assert.rejects(store.fetch(file), { code: "data_corrupt", message: /t\/x is damaged/ });
      await writeFile(localPath, bytes);
      await store.fetch(file);
    }
  }));

test("[LK52] a file that is known to be damaged is read again, also where its stat says nothing", () =>
  withTemporary(async (dir) => {
    // Like bit rot: the file's times do not change.
    const files: Files = {
      ...realFiles,
      stat: async (path) => {
        const found = await realFiles.stat(path);
        return found === undefined ? undefined : { ...found, identity: "always the same" };
      },
    };
    const store = await openDirectoryStore(join(dir, "lake"), files);
    await writeFile(join(dir, "file"), "rows");
    const { crc32 } = await store.put("t/x", join(dir, "file"));
    const file = { path: "t/x", sizeBytes: 4, crc32 };
    const { localPath } = await store.fetch(file);
    await writeFile(localPath, "rowr");
    await store.fetch(file); // The change is invisible.
    await assert.rejects(store.fetch({ ...file, isDamaged: true }), { code: "data_corrupt" });
    await assert.rejects(store.fetch(file), { code: "data_corrupt" });
    await writeFile(localPath, "rows");
    await store.fetch({ ...file, isDamaged: true });
  }));

test("[LO19] a file is read once for all who ask at a time, and not again while it stays as it is", () =>
  withTemporary(async (dir) => {
    let reads = 0;
    const checksum = (path: string): Promise<number> => {
      reads += 1;
      return checksumFile(path);
    };
    const verifier = new FileVerifier({ checksum, entriesMax: 2 });
    const store = await openDirectoryStore(join(dir, "lake"), realFiles, verifier);
    const files = [];
    for (const name of ["a", "b", "c"]) {
      await writeFile(join(dir, name), name);
      const { crc32 } = await store.put(`t/${name}`, join(dir, name));
      files.push({ path: `t/${name}`, sizeBytes: 1, crc32 });
    }
    const [a, b, c] = files as [NeededFile, NeededFile, NeededFile];
    reads = 0;
    await Promise.all([store.fetch(a), store.fetch(a), store.fetch(a)]);
    await store.fetch(a);
    assert.equal(reads, 1);
    await store.fetch(b);
    await store.fetch(c); // Only two are remembered: a was the least recently used.
    await store.fetch(b);
    assert.equal(reads, 3);
    await store.fetch(a);
    assert.equal(reads, 4);
  }));

test("[LO5] a directory that cannot be made is refused", () =>
  withTemporary(async (dir) => {
    await writeFile(join(dir, "file"), "x");
    await assert.rejects(openDirectoryStore(join(dir, "file", "lake")), { name: "OperatingError" });
  }));

test(
  "[LO5] a disk that is full in the middle of a copy is disk_full, and nothing is left",
  { skip: !hasOtherDisk },
  () =>
    withTemporary(async (dir) => {
      const away = await mkdtemp(join(otherDisk, "capstan-objects-"));
      try {
        await writeFile(join(away, "file"), Buffer.alloc(3_000_000, 5));
        const child = `
          const { openDirectoryStore } = await import(${JSON.stringify(import.meta.resolve("./directory-store.ts"))});
          const [, root, path, file] = process.argv;
          const store = await openDirectoryStore(root);
          await store.put(path, file).catch(({ code, retry }) => process.stdout.write(code + " " + retry));`;
        // A limit on file sizes stands for a full disk: writes fail half-way there too.
        const command = 'ulimit -f 1000; exec "$@"';
        const args = [
          "-c",
          command,
          "sh",
          process.execPath,
          "--input-type=module",
          "-e",
          child,
          dir,
          "t/x",
          join(away, "file"),
        ];
        const { stdout, stderr } = spawnSync("sh", args, { encoding: "utf8", timeout: 240_000 });
        assert.equal(stdout, "disk_full backoff", stderr);
        assert.deepEqual(await readdir(dir, { recursive: true }), [".writing"]);
      } finally {
        await rm(away, { recursive: true, force: true });
      }
    }),
);

test("[LO4] a directory that is taken from under a put is made again", () =>
  withTemporary(async (dir) => {
    const rounds = [1, 2, 3, 4].map(async (who) => {
      const store = await openDirectoryStore(join(dir, "lake"));
      const file = join(dir, `file-${who}`);
      for (let round = 0; round < 60; round += 1) {
        await writeFile(file, "x");
        await store.put(`shared/deep/x-${who}`, file);
        await store.delete([`shared/deep/x-${who}`]);
      }
    });
    await Promise.all(rounds);
  }));
