/** The contract of every `ArtifactSpool`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import type { ArtifactSpool } from "./ports.ts";
import { aWorkKey } from "./testing/a-work-key.ts";

export interface SpoolUnderTest {
  readonly spool: ArtifactSpool;
  /** Writes to a slot as an executor does. */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** Undefined when there is no such file. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** Resolves when deletions are done and evictions reported. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** `open` makes a spool with `capacityBytes`, of which nine tenths may be used. */
export function testArtifactSpool(
  kind: string,
  open: (capacityBytes: number) => Promise<SpoolUnderTest>,
): void {
  const check = (name: string, body: (under: SpoolUnderTest) => Promise<void>): void => {
    test(`${name} (${kind})`, async () => {
      const under = await open(1_000);
      try {
        await body(under);
      } finally {
        await under.close();
      }
    });
  };

  async function put({ spool, write }: SpoolUnderTest, sizeBytes: number): Promise<string> {
    const { name, path } = spool.reserve(aWorkKey);
    await write(path, new Uint8Array(sizeBytes).fill(7));
    await spool.commit(name, sizeBytes);
    return name;
  }

  check("[QU5] a slot is nothing to be served before it is committed", async (under) => {
    const { spool, write, read } = under;
    const { name, path, bytesMax } = spool.reserve(aWorkKey);
    assert.ok(bytesMax > 0 && bytesMax <= 1_000);
    assert.match(name, /^[A-Za-z0-9][A-Za-z0-9_.-]*$/);
    await write(path, Uint8Array.of(1, 2, 3));
    assert.equal(spool.stat(name), undefined);
    assert.equal(spool.usage().usedBytes, 0);
    await spool.commit(name, 3);
    const file = spool.stat(name);
    assert.equal(file?.sizeBytes, 3);
    assert.deepEqual([...((await read(String(file?.content))) ?? [])], [1, 2, 3]);
    assert.equal(spool.usage().usedBytes, 3);
  });

  check("[QU5] bytes that are at hand need no file before they are committed", async (under) => {
    const { spool, read } = under;
    const { name, path } = spool.reserve(aWorkKey);
    await spool.commit(name, 3, Uint8Array.of(1, 2, 3));
    const { content, sizeBytes } = spool.stat(name) ?? {};
    const bytes = typeof content === "string" ? await read(content) : content;
    assert.deepEqual([sizeBytes, ...(bytes ?? [])], [3, 1, 2, 3]);
    assert.equal(spool.usage().usedBytes, 3);
    spool.remove(name);
    await under.settled();
    assert.deepEqual([spool.stat(name), await read(path)], [undefined, undefined]);
    assert.equal(spool.usage().usedBytes, 0);
  });

  check("[QU5] names are never used twice", async (under) => {
    const first = await put(under, 1);
    under.spool.remove(first);
    await under.settled();
    assert.notEqual(await put(under, 1), first);
    assert.equal(under.spool.stat(first), undefined);
  });

  check(
    "[QU7] what is removed is gone, slot or artifact, and may be removed again",
    async (under) => {
      const { spool, write, read } = under;
      const slot = spool.reserve(aWorkKey);
      await write(slot.path, Uint8Array.of(1));
      const name = await put(under, 100);
      const path = String(spool.stat(name)?.content);
      for (const each of [slot.name, name, name, "unknown"]) spool.remove(each);
      await under.settled();
      assert.equal(await read(slot.path), undefined);
      assert.equal(await read(path), undefined);
      assert.equal(spool.stat(name), undefined);
      assert.equal(spool.usage().usedBytes, 0);
    },
  );

  check(
    "[QU30] [QU31] room is made by evicting acknowledged, then the oldest wanted",
    async (under) => {
      const { spool } = under;
      const evicted: string[] = [];
      spool.onEvicted((name) => evicted.push(name));
      const wanted = await put(under, 400);
      const acked = await put(under, 400);
      spool.release(acked, "acked");
      const next = await put(under, 400);
      await under.settled();
      assert.deepEqual(evicted, [acked]);
      const last = await put(under, 400);
      await under.settled();
      assert.deepEqual(evicted, [acked, wanted]);
      assert.equal(spool.stat(wanted), undefined);
      assert.deepEqual([spool.stat(next)?.sizeBytes, spool.stat(last)?.sizeBytes], [400, 400]);
      assert.ok(spool.usage().usedBytes <= 900);
    },
  );

  check(
    "[QU24] what cannot fit is disk_full, its slot is gone, and nothing was evicted",
    async (under) => {
      const { spool, write, read } = under;
      const kept = await put(under, 500);
      const slot = spool.reserve(aWorkKey);
      await write(slot.path, new Uint8Array(950));
      await assert.rejects(
        spool.commit(slot.name, 950),
        (thrown) => thrown instanceof OperatingError && thrown.code === "disk_full",
      );
      await under.settled();
      assert.equal(await read(slot.path), undefined);
      assert.equal(spool.stat(slot.name), undefined);
      assert.equal(spool.stat(kept)?.sizeBytes, 500);
    },
  );

  check("[QU26] what is removed by its owner is not told as evicted", async (under) => {
    const evicted: string[] = [];
    under.spool.onEvicted((name) => evicted.push(name));
    under.spool.remove(await put(under, 800));
    await put(under, 800);
    await under.settled();
    assert.deepEqual(evicted, []);
  });
}
