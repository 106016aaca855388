/** The contract of every `ObjectStore`: LO1 to LO6. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { ObjectStore, PutFile } from "./object-store.ts";

export interface StoreUnderTest {
  readonly store: ObjectStore;
  /** A directory for local files. */
  readonly localDir: string;
  close(): Promise<void>;
}

export function testObjectStore(kind: string, open: () => Promise<StoreUnderTest>): void {
  const check = (name: string, body: (under: StoreUnderTest) => Promise<void>): void => {
    test(`${name} (${kind})`, { timeout: 240_000 }, async () => {
      const under = await open();
      try {
        await body(under);
      } finally {
        await under.close();
      }
    });
  };

  let localNext = 1;
  async function local({ localDir }: StoreUnderTest, bytes: Uint8Array): Promise<string> {
    await mkdir(localDir, { recursive: true });
    const path = join(localDir, `local-${localNext}`);
    localNext += 1;
    await writeFile(path, bytes);
    return path;
  }

  async function put(under: StoreUnderTest, path: string, text = path): Promise<PutFile> {
    return await under.store.put(path, await local(under, Buffer.from(text)));
  }

  async function read(under: StoreUnderTest, path: string, sizeBytes: number): Promise<Buffer> {
    const copy = await under.store.fetch({ path, sizeBytes });
    try {
      return await readFile(copy.localPath);
    } finally {
      copy.release();
    }
  }

  async function names({ store }: StoreUnderTest, prefix: string): Promise<string[]> {
    const paths: string[] = [];
    for await (const { path } of store.list(prefix)) paths.push(path);
    return paths.sort(compareText);
  }

  check("[LO1] what was put is there, whole", async (under) => {
    await put(under, "main/orders/a.parquet", "rows");
    assert.equal((await read(under, "main/orders/a.parquet", 4)).toString(), "rows");
    const info = await under.store.stat("main/orders/a.parquet");
    assert.equal(info?.path, "main/orders/a.parquet");
    assert.equal(info?.sizeBytes, 4);
    assert.ok((info?.modifiedMs ?? 0) > 1_500_000_000_000, "a time since 1970");
    assert.ok(Number.isSafeInteger(info?.modifiedMs));
  });

  check("[LO1] an empty file is a file", async (under) => {
    await put(under, "empty", "");
    assert.equal((await under.store.stat("empty"))?.sizeBytes, 0);
    assert.equal((await read(under, "empty", 0)).length, 0);
  });

  check("[LO1] 64 MiB go in parts, and come back as they were", async (under) => {
    const bytes = Buffer.alloc(64 * 1024 ** 2 + 12_345);
    for (let at = 0; at + 4 <= bytes.length; at += 4)
      bytes.writeUInt32LE((at * 2_654_435_761) >>> 0, at);
    await under.store.put("big.parquet", await local(under, bytes));
    assert.equal((await under.store.stat("big.parquet"))?.sizeBytes, bytes.length);
    const got = await read(under, "big.parquet", bytes.length);
    assert.ok(got.equals(bytes), "the same bytes");
  });

  check("[LO1] while a file is replaced, readers see one or the other", async (under) => {
    const [first, second] = [Buffer.alloc(100_000, 1), Buffer.alloc(100_000, 2)];
    await under.store.put("x", await local(under, first));
    const writing = (async () => {
      for (let round = 0; round < 10; round += 1) {
        const bytes = round % 2 === 0 ? second : first;
        await under.store.put("x", await local(under, bytes));
      }
    })();
    let isWriting = true;
    const done = writing.finally(() => {
      isWriting = false;
    });
    while (isWriting) {
      const got = await read(under, "x", 100_000);
      assert.ok(got.equals(first) || got.equals(second), "whole");
    }
    await done;
  });

  check("[LO1] many put and fetch at once", async (under) => {
    const paths = Array.from({ length: 40 }, (_, index) => `t${index % 4}/f-${index}`);
    await Promise.all(paths.map((path) => put(under, path)));
    const texts = await Promise.all(
      [...paths, ...paths].map((path) => read(under, path, path.length)),
    );
    assert.deepEqual(texts.map(String), [...paths, ...paths]);
  });

  check(
    "[LO2] names outside, and names that only one kind of store has, are refused",
    async (under) => {
      const file = await local(under, Buffer.from("x"));
      const long = "x".repeat(256);
      const bad = ["", "/", "/etc/x", "../x", "a/../../x", "a/..", "a/./b", "a//b", "a/", "a\\b"];
      for (const path of [...bad, "a\0b", "a\nb", "\ud800", `a/${long}`, ".writing/x"]) {
        const refused = { name: "OperatingError", code: "bad_request", retry: "never" };
        await assert.rejects(under.store.put(path, file), refused, path);
        await assert.rejects(under.store.fetch({ path, sizeBytes: 1 }), refused, path);
        await assert.rejects(under.store.stat(path), refused, path);
        await assert.rejects(under.store.delete(["fine", path]), refused, path);
      }
      await assert.rejects(names(under, "../"), { code: "bad_request" });
      assert.equal((await readFile(file)).toString(), "x", "it was not moved away");
    },
  );

  check("[LO2] any letters will do", async (under) => {
    const paths = [
      "schön/größe.parquet",
      "表/データ 1.parquet",
      "a b+c&d=e%20f?g#h",
      "😀/x",
      "..a/b..",
      "a'b\"<c>",
    ];
    for (const path of paths) await put(under, path);
    assert.deepEqual(await names(under, ""), [...paths].sort(compareText));
    for (const path of paths) {
      assert.equal((await read(under, path, Buffer.byteLength(path))).toString(), path);
    }
    await under.store.delete(paths);
    assert.deepEqual(await names(under, ""), []);
  });

  check("[LO3] a listing has what begins with the prefix, over several pages", async (under) => {
    const paths = Array.from({ length: 25 }, (_, index) => `t/f-${String(index).padStart(2, "0")}`);
    await Promise.all([...paths, "t2/x", "u/t/x"].map((path) => put(under, path)));
    assert.deepEqual(await names(under, "t/"), paths);
    assert.deepEqual(await names(under, "t/f-1"), paths.slice(10, 20));
    assert.deepEqual(await names(under, "t"), [...paths, "t2/x"]);
    assert.equal((await names(under, "")).length, 27);
    assert.deepEqual(await names(under, "absent/"), []);
    for await (const { path, sizeBytes } of under.store.list("t/"))
      assert.equal(sizeBytes, path.length);
  });

  check("[LO4] what is deleted is gone; twice, or never there, is the same", async (under) => {
    await put(under, "a/b/c");
    await put(under, "a/d");
    await under.store.delete(["a/b/c", "a/b/c", "never/there", "a/d/below-a-file", "a"]);
    await under.store.delete(["a/b/c"]);
    await under.store.delete([]);
    assert.equal(await under.store.stat("a/b/c"), undefined);
    assert.equal(await under.store.stat("a/b"), undefined);
    assert.deepEqual(await names(under, ""), ["a/d"]);
    await put(under, "a/b/c", "again");
    assert.equal((await under.store.stat("a/b/c"))?.sizeBytes, 5);
  });

  check("[LO4] putting into what others delete from loses nothing", async (under) => {
    await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        await put(under, `shared/deep/f-${index}`);
        if (index % 3 !== 0) await under.store.delete([`shared/deep/f-${index}`]);
      }),
    );
    assert.equal((await names(under, "shared/")).length, 10);
  });

  check("[LO5] a file that is not there is not_found, by name", async (under) => {
    await put(under, "t/gone.parquet", "x");
    await under.store.delete(["t/gone.parquet"]);
    const missing = { code: "not_found", retry: "never", message: /t\/gone\.parquet/ };
    await assert.rejects(under.store.fetch({ path: "t/gone.parquet", sizeBytes: 1 }), missing);
    assert.equal(await under.store.stat("t/gone.parquet"), undefined);
    await assert.rejects(under.store.put("t/x", join(under.localDir, "no-such-file")), {
      code: "not_found",
      message: /no-such-file/,
    });
  });

  check("[LO5] a file of another size than the catalog says is damaged", async (under) => {
    await put(under, "t/short.parquet", "1234");
    await assert.rejects(under.store.fetch({ path: "t/short.parquet", sizeBytes: 5 }), {
      code: "data_corrupt",
      message: /t\/short\.parquet.*4 bytes instead of 5/,
    });
  });

  check(
    "[LO19] put says the checksum of what it put; fetch gives bytes that have it, or none",
    async (under) => {
      const bytes = Buffer.from("bytes that may rot");
      const { crc32: told } = await put(under, "t/sum.parquet", bytes.toString());
      assert.equal(told, crc32(bytes));
      assert.equal(await under.store.checksum("t/sum.parquet"), told);
      assert.equal(await under.store.checksum("t/none.parquet"), undefined);
      const file = { path: "t/sum.parquet", sizeBytes: bytes.length };
      const copy = await under.store.fetch({ ...file, crc32: told });
      assert.deepEqual(await readFile(copy.localPath), bytes);
      copy.release();
      await assert.rejects(under.store.fetch({ ...file, crc32: (told ^ 1) >>> 0 }), {
        code: "data_corrupt",
        retry: "never",
        message: /t\/sum\.parquet is damaged: its checksum is [0-9a-f]{8}, it was [0-9a-f]{8}/,
        hint: /backup/,
      });
    },
  );

  check("[LO6] a put that is cancelled leaves nothing to be seen", async (under) => {
    for (const size of [10, 20 * 1024 ** 2]) {
      const file = await local(under, Buffer.alloc(size, 7));
      const controller = new AbortController();
      const putting = under.store.put("t/half", file, controller.signal);
      controller.abort();
      await assert.rejects(putting, isCancelled);
      assert.equal(await under.store.stat("t/half"), undefined);
      assert.deepEqual(await names(under, ""), []);
      await under.store.put("t/half", file); // The failed put kept the local file.
      assert.equal((await under.store.stat("t/half"))?.sizeBytes, size);
      await under.store.delete(["t/half"]);
    }
    await assert.rejects(
      under.store.fetch({ path: "t/half", sizeBytes: 1 }, AbortSignal.abort()),
      isCancelled,
    );
  });
}

function isCancelled(thrown: unknown): boolean {
  return thrown instanceof OperatingError && thrown.code === "cancelled";
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
