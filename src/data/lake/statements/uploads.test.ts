import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { openUploads, type UploadsOptions } from "./uploads.ts";

async function open(t: TestContext, given: Partial<UploadsOptions>) {
  const dir = mkdtempSync(join(tmpdir(), "capstan-uploads-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const clock = new VirtualClock();
  const uploads = await openUploads({ dir, clock, prng: createPrng(1), ...given });
  t.after(() => uploads.close());
  return { dir, clock, uploads };
}

test("[LS11] unfinished uploads are bounded in number, bytes and age, by name", async (t) => {
  const limits = { uploadsMax: 3, bytesMax: 100, idleMsMax: 5_000 };
  const { dir, clock, uploads } = await open(t, limits);
  const ids = [uploads.begin(), uploads.begin(), uploads.begin()];
  assert.throws(() => uploads.begin(), { code: "overloaded", message: /the limit uploads is 3/ });
  const [first = "", second = ""] = ids;
  // Concurrently: chunks being written count too.
  const taken = await Promise.allSettled(
    ids.map((id) => uploads.append(id, 0, new Uint8Array(60))),
  );
  assert.equal(taken.filter(({ status }) => status === "fulfilled").length, 1);
  const full = { code: "disk_full", message: /the limit upload_bytes is 100/ };
  await assert.rejects(uploads.append(second, 0, new Uint8Array(60)), full);
  await clock.advance(4_000);
  assert.equal(await uploads.append(first, 60, new Uint8Array(40)), 100);
  await clock.advance(4_000);
  const gone = { code: "not_found", hint: /5 s \(the limit upload_idle_seconds\)/ };
  assert.throws(() => uploads.received(second), gone);
  assert.equal(uploads.received(first).sizeBytes, 100);
  await uploads.discard(first);
  assert.deepEqual(readdirSync(dir), []);
  assert.equal(await uploads.append(uploads.begin(), 0, new Uint8Array(100)), 100);
});
