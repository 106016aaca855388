import assert from "node:assert/strict";
import { appendFile, mkdir, mkdtemp, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import type { SourceReader } from "../core/connector.ts";
import { type FileReaderOptions, openFileReader as open } from "./file-reader.ts";

const dir = await mkdtemp(join(tmpdir(), "capstan-file-reader-"));
after(() => rm(dir, { recursive: true, force: true }));

function openFileReader(options: Omit<FileReaderOptions, "follow" | "clock">, follow = false) {
  return open({ ...options, follow, clock: realClock });
}

const path = join(dir, "in.csv");
const content = Array.from({ length: 1_000 }, (_, index) => `${index},x\n`).join("");

async function readAll(reader: SourceReader): Promise<string[]> {
  const buffers: string[] = [];
  for (;;) {
    const reading = await reader.read();
    if (reading.kind === "end") break;
    if (reading.kind === "bytes") buffers.push(Buffer.from(reading.bytes).toString());
  }
  await reader.close();
  return buffers;
}

test("[SU3] a file is read in buffers of one size", async () => {
  await writeFile(path, content);
  const reader = await openFileReader({ path, bufferBytes: 1_024, from: undefined });
  const buffers = await readAll(reader);
  assert.equal(buffers.join(""), content);
  assert.ok(buffers.slice(0, -1).every(({ length }) => length === 1_024));
});

test("[SU2] a reader goes on behind what was processed but for what was pending", async () => {
  await writeFile(path, content);
  const first = await openFileReader({ path, bufferBytes: 100, from: undefined });
  await first.read();
  await first.read();
  const from = first.position(30);
  await first.close();
  const second = await openFileReader({ path, bufferBytes: 1_024, from });
  assert.equal((await readAll(second)).join(""), content.slice(170));
});

test("[SU2] a reader that is closed while it reads fails nothing and loses nothing", async () => {
  await writeFile(path, content);
  for (const before of [0, 1, 5]) {
    const first = await openFileReader({ path, bufferBytes: 64, from: undefined });
    let given = "";
    const take = (reading: Awaited<ReturnType<SourceReader["read"]>>): void => {
      if (reading.kind === "bytes") given += Buffer.from(reading.bytes).toString();
    };
    for (let read = 0; read < before; read += 1) take(await first.read());
    const reading = first.read();
    const closing = first.close();
    take(await reading);
    await closing;
    const second = await openFileReader({ path, bufferBytes: 1_024, from: first.position(0) });
    assert.equal(given + (await readAll(second)).join(""), content);
  }
});

test("[SU3] a file that became shorter while it was read is an error", async () => {
  await writeFile(path, content);
  const reader = await openFileReader({ path, bufferBytes: 512, from: undefined });
  await reader.read();
  await reader.read();
  await truncate(path, 10);
  await assert.rejects(readAll(reader), /became shorter while it was read: it has 10 bytes/);
  await reader.close();
});

test("[SU3] a file that replaced the checkpoint's is an error, one that grew is none", async () => {
  await writeFile(path, content);
  const first = await openFileReader({ path, bufferBytes: 512, from: undefined });
  await first.read();
  const from = first.position(0);
  await first.close();
  await appendFile(path, "1000,x\n");
  const grown = await openFileReader({ path, bufferBytes: 512, from });
  assert.equal((await readAll(grown)).join(""), `${content.slice(512)}1000,x\n`);
  await writeFile(join(dir, "other"), content);
  await rename(join(dir, "other"), path);
  await assert.rejects(openFileReader({ path, bufferBytes: 512, from }), /is not the file/);
});

test("[SU3] a file that is not there is an error with its name", async () => {
  const absent = join(dir, "absent.csv");
  await assert.rejects(
    openFileReader({ path: absent, bufferBytes: 512, from: undefined }),
    /absent.csv cannot be opened/,
  );
  await assert.rejects(
    openFileReader({ path: join(dir, "absent-*"), bufferBytes: 512, from: undefined }),
    /there is no file/,
  );
});

test("[SU3] a file that is replaced or deleted while it is read is an error", async () => {
  await writeFile(path, content);
  const replaced = await openFileReader({ path, bufferBytes: 512, from: undefined });
  await replaced.read();
  await writeFile(join(dir, "other"), content);
  await rename(join(dir, "other"), path);
  await assert.rejects(readAll(replaced), /in.csv was replaced by another file while it was read/);
  await replaced.close();
  const deleted = await openFileReader({ path, bufferBytes: 512, from: undefined });
  await deleted.read();
  await rm(path);
  await assert.rejects(readAll(deleted), /in.csv was deleted while it was read/);
  await deleted.close();
});

test("[SU16] files of a directory and of a pattern come in the order of their paths", async () => {
  const folder = join(dir, "many");
  for (const [name, text] of [
    ["b/2.csv", "b2"],
    ["a/10.csv", "a10"],
    ["a/2.csv", "a2"],
    ["a/.hidden.csv", "no"],
    ["a/x+y.txt", "text"],
  ] as const) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const all = async (path: string): Promise<string[]> =>
    await readAll(await openFileReader({ path, bufferBytes: 512, from: undefined }));
  assert.deepEqual(await all(join(folder, "a")), ["a10", "a2", "text"]);
  assert.deepEqual(await all(join(folder, "*", "*.csv")), ["a10", "a2", "b2"]);
  assert.deepEqual(await all(join(folder, "?", "?.csv")), ["a2", "b2"]);
  assert.deepEqual(await all(join(folder, "a", "x+*")), ["text"]);
});

test("[SU16] a position lies in one of the files, and the next ones follow", async () => {
  const folder = join(dir, "positions");
  await mkdir(folder);
  for (const name of ["1", "2", "3"]) await writeFile(join(folder, name), `${name}`.repeat(10));
  const options = { path: folder, bufferBytes: 6 };
  const first = await openFileReader({ ...options, from: undefined });
  const kinds: string[] = [];
  for (let count = 0; count < 4; count += 1) kinds.push((await first.read()).kind);
  assert.deepEqual(kinds, ["bytes", "bytes", "fileEnd", "bytes"]);
  assert.equal(first.place?.(2), `${join(folder, "2")}, byte 4`);
  const from = first.position(2);
  await first.close();
  const second = await openFileReader({ ...options, from });
  assert.equal(second.startsInside, true);
  assert.equal((await readAll(second)).join(""), "2222223333333333");
  await rm(join(folder, "2"));
  await assert.rejects(openFileReader({ ...options, from }), /cannot be opened/);
});

test("[SU16] a reader that follows reads what is added, and files that appear", async () => {
  const folder = join(dir, "growing");
  await mkdir(folder);
  const options = { path: join(folder, "*.csv"), bufferBytes: 512, from: undefined };
  const reader = await openFileReader(options, true);
  assert.equal(reader.bounded, false);
  const next = async (): Promise<string> => {
    for (;;) {
      const reading = await reader.read();
      if (reading.kind === "bytes") return Buffer.from(reading.bytes).toString();
      if (reading.kind !== "idle") return reading.kind;
    }
  };
  await writeFile(join(folder, "1.csv"), "a");
  assert.equal(await next(), "a");
  await appendFile(join(folder, "1.csv"), "b");
  assert.equal(await next(), "b");
  await appendFile(join(folder, "1.csv"), "c");
  await writeFile(join(folder, "2.csv"), "d");
  assert.deepEqual([await next(), await next(), await next()], ["c", "fileEnd", "d"]);
  const waiting = next();
  await truncate(join(folder, "2.csv"), 0);
  await assert.rejects(waiting, /2.csv became shorter/);
  await reader.close();
  assert.equal(await next(), "end");
});
