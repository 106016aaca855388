import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteOutlet } from "./byte-outlet.ts";

test("[SU8] bytes are written in order, and who adds too many waits", async () => {
  const chunks: Uint8Array[] = [];
  let go: (() => void) | undefined;
  const outlet = new ByteOutlet({
    write: async (bytes) => {
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      chunks.push(bytes.slice());
    },
  });
  const piece = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
  let waiting: Promise<void> | undefined;
  let added = 0;
  while (waiting === undefined) {
    waiting = outlet.add(piece, 1);
    added += 1;
  }
  assert.ok(added >= 8 && added <= 12, `${added} pieces before it had no room`);
  const flushed = outlet.flush();
  for (let turn = 0; turn < 20; turn += 1) {
    go?.();
    await new Promise(setImmediate);
  }
  await Promise.all([waiting, flushed]);
  const all = Buffer.concat(chunks);
  assert.equal(all.length, added * piece.length);
  assert.equal(outlet.addedBytes, all.length);
  for (let index = 0; index < added; index += 1) {
    assert.deepEqual(
      all.subarray(index * piece.length, (index + 1) * piece.length),
      Buffer.from(piece),
    );
  }
});

test("[SU8] few bytes are written without a flush, also those that came during a write", async () => {
  const written: number[] = [];
  let finish: (() => void) | undefined;
  const outlet = new ByteOutlet({
    write: (bytes) => {
      written.push(...bytes);
      return new Promise((resolve) => {
        finish = resolve;
      });
    },
  });
  const until = async (count: number): Promise<void> => {
    while (written.length < count) await new Promise(setImmediate);
  };
  void outlet.add(Uint8Array.of(1), 1);
  await until(1);
  void outlet.add(Uint8Array.of(2), 1);
  void outlet.add(Uint8Array.of(3), 1);
  finish?.();
  await until(3);
  assert.deepEqual(written, [1, 2, 3]);
});

test("[SU8] a failed write fails what is added and flushed behind it", async () => {
  const outlet = new ByteOutlet({ write: () => Promise.reject(new Error("no room")) });
  void outlet.add(Uint8Array.of(1), 1);
  await assert.rejects(outlet.flush(), /no room/);
  assert.throws(() => outlet.add(Uint8Array.of(2), 1), /no room/);
});

test("[SU8] a failed write knows how many rows were not written", async () => {
  let writes = 0;
  const outlet = new ByteOutlet({
    write: async () => {
      writes += 1;
      await new Promise(setImmediate);
      if (writes > 1) throw new Error(outlet.fate);
    },
  });
  void outlet.add(Uint8Array.of(1), 10);
  await outlet.flush();
  void outlet.add(new Uint8Array(300_000), 5);
  void outlet.add(Uint8Array.of(2), 1);
  await assert.rejects(outlet.flush(), /^Error: 6 of the 16 rows for it were not written$/);
});
