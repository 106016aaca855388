import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { flipCount, withFlip } from "../../../ground/kernel/testing/flip-bit.ts";
import { prepareLake } from "../metrics/fs/lake.ts";
import { SegmentWriter } from "../metrics/fs/segment-writer.ts";
import { collectSeries } from "../metrics/segments/collect-series.ts";
import { columnsOf, meaningOf } from "../metrics/testing/sample-batches.ts";
import { Labels } from "../promql/core/index.ts";
import { MemoryColumnCache } from "./column-cache.ts";
import { SegmentShelf } from "./segment-shelf.ts";

test("[MS10] a segment that was opened before its checksums were known is verified afterwards", async (t) => {
  const lakeDir = mkdtempSync(join(tmpdir(), "capstan-shelf-"));
  t.after(() => rmSync(lakeDir, { recursive: true, force: true }));
  await prepareLake(lakeDir);
  const place = { lakeDir, segmentId: "old", shard: 0, shardCount: 1 };
  const writer = new SegmentWriter({ ...place, level: 0, seq: 1, sealSeq: 1 });
  const rows = Array.from({ length: 200 }, (_, at) => ({ ts: at * 1_000, value: Math.sqrt(at) }));
  await writer.add({ labels: Labels.of({ __name__: "m" }), samples: columnsOf(rows) });
  const info = await writer.finish();
  const { checksums: _, ...old } = info;
  // Without room every query decodes again, as after an eviction.
  const shelf = new SegmentShelf(lakeDir, new MemoryColumnCache(1));
  t.after(() => shelf.clear());
  const range = { minMs: -Infinity, maxMs: Infinity };
  const request = { matchers: [], shard: 0, shardCount: 1, range };
  const ask = (of: typeof old) =>
    collectSeries(
      shelf.open([of], () => undefined),
      [],
      request,
    ).map(meaningOf);
  const right = ask(old);
  const paths = [join(lakeDir, info.path, "samples.parquet")];
  for (let flip = 0; flip < flipCount(40); flip += 1) {
    await withFlip(createPrng(`shelf ${flip}`), paths, ({ bit }) => {
      assert.throws(() => ask(info), { code: "data_corrupt" }, `bit ${bit}`);
    });
  }
  assert.deepEqual(ask(info), right);
  assert.deepEqual(ask(old), right, "who has an older list is answered, too");
});
