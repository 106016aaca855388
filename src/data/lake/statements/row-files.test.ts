import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { openDirectoryStore } from "../objects/directory-store.ts";
import { RowFiles } from "./row-files.ts";
import { openUploads } from "./uploads.ts";

const dir = mkdtempSync(join(tmpdir(), "capstan-row-files-"));
const lakeDir = join(dir, "lake");
mkdirSync(lakeDir);
const objects = await openDirectoryStore(lakeDir);
const uploads = await openUploads({
  dir: join(dir, "uploads"),
  clock: realClock,
  prng: createPrng(1),
});
after(async () => {
  await uploads.close();
  rmSync(dir, { recursive: true, force: true });
});
const stored = async () => await Array.fromAsync(objects.list("uploads/"));

const piece = "0123456789\n".repeat(1_000);
async function* pieces(count: number): AsyncGenerator<string> {
  for (let index = 0; index < count; index += 1) yield piece;
}

test("[RW1] rows are in a file until the statement ends, each relation's in its own", async () => {
  const files = new RowFiles({ objects, uploads }, "q-1", new AbortController().signal);
  const first = await files.put("a", pieces(200));
  const second = await files.put("b", pieces(1));
  assert.deepEqual([first.sizeBytes, second.sizeBytes], [2_200_000, 11_000]);
  assert.deepEqual((await stored()).map(({ path }) => path).sort(), [first.path, second.path]);
  await files.discard();
  assert.deepEqual(await stored(), []);
});

test("[RW2] more rows than a file may have are refused by name, and so is what was cancelled", async () => {
  const leave = new AbortController();
  const files = new RowFiles({ objects, uploads }, "q-2", leave.signal, 1024 ** 2);
  await assert.rejects(files.put("v_big", pieces(200)), {
    code: "query_too_large",
    message: /v_big has more than 1 MiB of rows/,
  });
  leave.abort();
  await assert.rejects(files.put("a", pieces(1)));
  await files.discard();
  assert.deepEqual(await stored(), []);
});
