import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedReading } from "./shared-reading.ts";

test("[OB15] whoever asks during a reading shares the next one, and nobody gets an older one", async () => {
  const begun: PromiseWithResolvers<string>[] = [];
  const shared = new SharedReading(async () => {
    const reading = Promise.withResolvers<string>();
    begun.push(reading);
    return await reading.promise;
  });
  const first = shared.get();
  const later = Array.from({ length: 100 }, () => shared.get());
  assert.equal(begun.length, 1);
  begun[0]?.resolve("one");
  assert.equal(await first, "one");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(begun.length, 2);
  const last = shared.get();
  begun[1]?.reject(new Error("two"));
  for (const each of later) await assert.rejects(each, /two/);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(begun.length, 3);
  begun[2]?.resolve("three");
  assert.equal(await last, "three");
  const alone = shared.get();
  begun[3]?.resolve("four");
  assert.equal(await alone, "four");
});
