import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { realClock } from "../../ground/kernel/node/real-clock.ts";
import { ArtifactReader } from "./artifact-reader.ts";
import { openInstance } from "./engine-instance.ts";
import { writeArtifact } from "./write-artifact.ts";

test("[QU46] a row that is larger than allowed is refused, and its page is gone; smaller ones are read", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "capstan-reader-"));
  const tempDir = join(dir, "temp");
  const instance = await openInstance({
    memoryLimitBytes: 128 * 1024 ** 2,
    threads: 1,
    spoolDir: dir,
    tempDir,
    tempBytesMax: 1024 ** 2,
    connections: 1,
    queueMax: 1,
    rowBytesMax: 0,
    readableDirs: [],
  });
  t.after(() => {
    instance.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const [lane] = instance.lanes;
  assert.ok(lane !== undefined);
  const path = join(dir, "artifact.parquet");
  const order = { sql: "SELECT [repeat('x', 20000)] AS t", path, bytesMax: 1e9, relations: [] };
  await writeArtifact(lane, order, realClock);
  const pageOf = async (rowBytesMax: number) => {
    const place = { pagePrefix: join(tempDir, "page-1"), rowBytesMax };
    return await (await ArtifactReader.open(lane, path, place, realClock)).nextPage(lane);
  };
  const { rows, last } = await pageOf(20_100);
  assert.deepEqual([rows instanceof Uint8Array && rows.length, last], [20_007, true]);
  await assert.rejects(pageOf(19_900), { code: "query_too_large" });
  assert.deepEqual(readdirSync(tempDir), []);
});
