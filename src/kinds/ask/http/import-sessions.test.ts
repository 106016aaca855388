import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import type { ImportProgress, ImportResult, IngestService } from "../metrics/index.ts";
import { ImportSessions } from "./import-sessions.ts";

/** Reads a chunk whenever the test allows it. */
class SlowImport {
  text = "";
  #next = Promise.withResolvers<void>();

  readNext(): void {
    this.#next.resolve();
  }

  async import(
    chunks: AsyncIterable<Uint8Array>,
    _options: unknown,
    onProgress: (progress: ImportProgress) => void,
  ): Promise<ImportResult> {
    const progress = (): ImportProgress => ({ bytes: this.text.length, samples: 0, series: 0 });
    for await (const chunk of chunks) {
      await this.#next.promise;
      this.#next = Promise.withResolvers<void>();
      this.text += Buffer.from(chunk).toString();
      onProgress(progress());
    }
    return { ...progress(), skipped: 0, problems: [] };
  }
}

async function open(): Promise<{ sessions: ImportSessions; slow: SlowImport; id: string }> {
  const slow = new SlowImport();
  const sessions = new ImportSessions({
    ingest: async () => slow as Partial<IngestService> as IngestService,
    clock: new VirtualClock(),
    prng: createPrng("imports"),
  });
  return { sessions, slow, id: await sessions.open({ onError: "fail" }) };
}

/** Lets it read until nothing is left to do. */
async function readAll(slow: SlowImport): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) {
    await setImmediate();
    slow.readNext();
  }
  await setImmediate();
}

test("[AP28] chunks that come before the last one was read wait their turn, and none is lost", async () => {
  const { sessions, slow, id } = await open();
  const chunks = ["abc", "def", "ghi", "jkl"];
  const pushed = Promise.all(
    chunks.map((text, index) => sessions.push(id, index * 3, Buffer.from(text))),
  );
  await readAll(slow);
  assert.deepEqual(
    (await pushed).map(({ bytes }) => bytes),
    [3, 6, 9, 12],
  );
  await sessions.commit(id);
  assert.equal(slow.text, "abcdefghijkl");
});

test("[AP28] a chunk that is sent again while it is read is answered when it was", async () => {
  const { sessions, slow, id } = await open();
  const first = sessions.push(id, 0, Buffer.from("abc"));
  const again = sessions.push(id, 0, Buffer.from("abc"));
  const isAnswered = await Promise.race([again.then(() => true), setImmediate(false)]);
  assert.equal(isAnswered, false);
  await readAll(slow);
  assert.deepEqual(
    (await Promise.all([first, again])).map(({ bytes }) => bytes),
    [3, 3],
  );
  assert.equal((await sessions.commit(id)).bytes, 3);
});

test("[AP28] a commit waits for the chunks before it", async () => {
  const { sessions, slow, id } = await open();
  const pushed = [sessions.push(id, 0, Buffer.from("ab")), sessions.push(id, 2, Buffer.from("c"))];
  const committed = sessions.commit(id);
  await readAll(slow);
  await Promise.all(pushed);
  assert.equal((await committed).bytes, 3);
});
