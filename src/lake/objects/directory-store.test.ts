import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { testObjectStore } from "../core/object-store.contract.ts";
import { openDirectoryStore } from "./directory-store.ts";

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
    const gone = { code: "store_unavailable", retry: "backoff", message: /lake is gone/ };
    await assert.rejects(Array.fromAsync(store.list("")), gone);
    await assert.rejects(Array.fromAsync(store.list("t/")), gone);
    await assert.rejects(store.fetch("t/x", 1), gone);
    await assert.rejects(store.put("t/x", join(dir, "file")), gone);
    assert.equal(existsSync(root), false);
    assert.ok(existsSync(join(dir, "file")));
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
        // A limit on the size of files stands for a disk without room: the writes fail half-way as well.
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
        const { stdout, stderr } = spawnSync("sh", args, { encoding: "utf8", timeout: 30_000 });
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
