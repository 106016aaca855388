/**
 * What every `Files` does while nothing fails. What a crash leaves (FP1, FP2) is tested on the
 * simulated disk.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Files } from "./files.ts";

export interface FilesUnderTest {
  readonly files: Files;
  /** An existing, empty directory. */
  readonly root: string;
  close(): Promise<void>;
}

export async function writeText(files: Files, path: string, text: string): Promise<void> {
  const file = await files.open(path, "append");
  await file.write(Buffer.from(text), 0);
  await file.close();
}

export function testFiles(kind: string, open: () => Promise<FilesUnderTest>): void {
  const check = (name: string, body: (files: Files, root: string) => Promise<void>): void => {
    test(`${name} (${kind})`, async () => {
      const { files, root, close } = await open();
      try {
        await body(files, root);
      } finally {
        await close();
      }
    });
  };
  const text = async (files: Files, path: string): Promise<string> =>
    (await files.read(path)).toString();
  const names = async (files: Files, path: string): Promise<string[]> =>
    (await files.list(path)).map(({ name }) => name).sort();

  check("a new file is written at places, and read back", async (files, root) => {
    const path = `${root}/a`;
    const file = await files.open(path, "new");
    await file.write(Buffer.from("hello world"), 0);
    await file.write(Buffer.from("W"), 6);
    await file.write(Buffer.from("!"), 12);
    await file.sync();
    await file.close();
    assert.equal(await text(files, path), "hello World\0!");
    const { kind: found, bytes } = (await files.stat(path)) ?? {};
    assert.deepEqual([found, bytes], ["file", 13]);
  });

  check("modes: new refuses what is there, change what is not", async (files, root) => {
    const path = `${root}/a`;
    await assert.rejects(files.open(path, "change"), { code: "ENOENT" });
    await writeText(files, path, "abc");
    await assert.rejects(files.open(path, "new"), { code: "EEXIST" });
    await writeText(files, path, "def");
    const file = await files.open(path, "change");
    await file.truncate(4);
    await file.write(Buffer.from("X"), 0);
    await file.close();
    assert.equal(await text(files, path), "Xbcd");
    await assert.rejects(files.open(`${root}/none/a`, "new"), { code: "ENOENT" });
    await assert.rejects(files.open(`${root}/none/a`, "append"), { code: "ENOENT" });
  });

  check("a file is read in pieces, to its end", async (files, root) => {
    await writeText(files, `${root}/a`, "0123456789");
    const reader = files.openToRead(`${root}/a`);
    const into = new Uint8Array(4);
    assert.equal(reader.bytes, 10);
    assert.equal(reader.read(into, 3), 4);
    assert.equal(Buffer.from(into).toString(), "3456");
    assert.equal(reader.read(into, 8), 2);
    assert.equal(reader.read(into, 10), 0);
    reader.close();
    assert.throws(() => files.openToRead(`${root}/none`), { code: "ENOENT" });
    await assert.rejects(files.read(`${root}/none`), { code: "ENOENT" });
  });

  check("directories: made with those above, listed, removed when empty", async (files, root) => {
    await files.makeDirectory(`${root}/a/b/c`);
    await files.makeDirectory(`${root}/a/b/c`);
    await writeText(files, `${root}/a/f`, "x");
    const entries = [...(await files.list(`${root}/a`))].sort((x, y) => (x.name < y.name ? -1 : 1));
    assert.deepEqual(entries, [
      { name: "b", kind: "directory" },
      { name: "f", kind: "file" },
    ]);
    assert.equal((await files.stat(`${root}/a/b`))?.kind, "directory");
    assert.equal(await files.stat(`${root}/a/none`), undefined);
    assert.equal(await files.stat(`${root}/a/f/none`), undefined);
    await assert.rejects(files.list(`${root}/none`), { code: "ENOENT" });
    await assert.rejects(files.removeDirectory(`${root}/a`), { code: "ENOTEMPTY" });
    await files.removeDirectory(`${root}/a/b/c`);
    assert.deepEqual(await names(files, `${root}/a/b`), []);
    await files.sync(`${root}/a`);
    await files.removeAll(`${root}/a`);
    await files.removeAll(`${root}/a`);
    assert.deepEqual(await names(files, root), []);
  });

  check("a directory of one's own is nobody else's", async (files, root) => {
    const first = await files.makeOwnDirectory(`${root}/own-`);
    const second = await files.makeOwnDirectory(`${root}/own-`);
    assert.notEqual(first, second);
    assert.ok(first.startsWith(`${root}/own-`));
    assert.equal((await files.stat(second))?.kind, "directory");
  });

  check("rename: files replace files, directories go whole", async (files, root) => {
    await files.makeDirectory(`${root}/from/deep`);
    await writeText(files, `${root}/from/deep/f`, "moved");
    await files.rename(`${root}/from`, `${root}/to`);
    assert.equal(await text(files, `${root}/to/deep/f`), "moved");
    assert.equal(await files.stat(`${root}/from`), undefined);
    await writeText(files, `${root}/g`, "old");
    await files.rename(`${root}/to/deep/f`, `${root}/g`);
    assert.equal(await text(files, `${root}/g`), "moved");
    await assert.rejects(files.rename(`${root}/none`, `${root}/h`), { code: "ENOENT" });
    await assert.rejects(files.rename(`${root}/g`, `${root}/none/h`), { code: "ENOENT" });
  });

  check("a file that was opened is written wherever its name went", async (files, root) => {
    const file = await files.open(`${root}/a`, "new");
    await files.rename(`${root}/a`, `${root}/b`);
    await file.write(Buffer.from("late"), 0);
    await file.close();
    assert.equal(await text(files, `${root}/b`), "late");
  });

  check("copy, unlink and sync by name", async (files, root) => {
    await writeText(files, `${root}/a`, "content");
    await files.copy(`${root}/a`, `${root}/b`);
    await assert.rejects(files.copy(`${root}/a`, `${root}/b`), { code: "EEXIST" });
    await files.sync(`${root}/b`);
    await files.unlink(`${root}/a`);
    assert.deepEqual(await names(files, root), ["b"]);
    assert.equal(await text(files, `${root}/b`), "content");
    await assert.rejects(files.unlink(`${root}/a`), { code: "ENOENT" });
    await assert.rejects(files.sync(`${root}/a`), { code: "ENOENT" });
  });
}
