import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { never } from "../../../data/duckdb/testing/test-engine.ts";
import { Labels, type RawSeries } from "../promql/core/index.ts";
import { startPromqlCluster } from "./testing/promql-cluster.ts";
import { writeSegments } from "./testing/test-lake.ts";

function seriesAt(id: number): RawSeries {
  const samples = {
    count: 1,
    ts: Float64Array.of(1_000),
    values: Float64Array.of(id),
    stale: undefined,
    histograms: undefined,
    startTs: undefined,
  };
  return { labels: Labels.of({ __name__: "x", id: String(id).padStart(3, "0") }), samples };
}

test("[QP9] a limit keeps the first series in the order of their labels", async () => {
  const lakeDir = mkdtempSync(join(tmpdir(), "capstan-limit-"));
  const all = Array.from({ length: 100 }, (_, id) => seriesAt(id));
  const segments = await writeSegments(lakeDir, all, [2_000], 4);
  const cluster = await startPromqlCluster({
    lakeDir,
    workers: 1,
    limits: { evalThreads: 1 },
    head: async () => undefined,
    segments: { list: async () => segments },
  });
  try {
    const request = { matcherSets: [], startMs: 0, endMs: 2_000, limit: 3 };
    const { json, truncated } = await cluster.service.series(request, never);
    const found = JSON.parse(Buffer.from(json).toString()) as { id: string }[];
    assert.ok(truncated);
    assert.deepEqual(
      found.map(({ id }) => id),
      ["000", "001", "002"],
    );
  } finally {
    await cluster.close();
    rmSync(lakeDir, { recursive: true, force: true });
  }
});
