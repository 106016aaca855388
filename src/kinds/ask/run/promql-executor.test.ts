import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { never } from "../../../data/duckdb/testing/test-engine.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { inTime } from "../../../ground/kernel/testing/in-time.ts";
import type { WorkSpec } from "../../../ground/work/core/index.ts";
import type { SegmentInfo } from "../metrics/core/index.ts";
import { type BaseExpr, Labels, type RawSeries } from "../promql/core/index.ts";
import { encodeWork } from "./core/work-body.ts";
import { decodeLeafResult } from "./leaf-artifact.ts";
import { createPromqlExecutor, type PromqlExecutor } from "./promql-executor.ts";
import { writeSegments } from "./testing/test-lake.ts";

const dir = mkdtempSync(join(tmpdir(), "capstan-executor-"));
const sampleCount = 5_000;
const ts = Float64Array.from({ length: sampleCount }, (_, index) => (index + 1) * 1_000);
const series = Array.from(
  { length: 100 },
  (_, index): RawSeries => ({
    labels: Labels.of({ __name__: "x", i: String(index) }),
    samples: {
      count: sampleCount,
      ts,
      values: Float64Array.from(ts, (at) => at + index),
      stale: undefined,
      histograms: undefined,
      startTs: undefined,
    },
  }),
);
const segments = await writeSegments(dir, series, [sampleCount * 1_000], 1);
let executor: PromqlExecutor;

before(async () => {
  const cacheBytes = 64 * 1024 ** 2;
  const options = { threads: 2, lakeDir: dir, clusterToken: "t", cacheBytes, clock: realClock };
  executor = await createPromqlExecutor(options);
});
after(async () => {
  await executor.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Slow by design: `quantile_over_time` sorts every window. */
function leafOf(name: string, stepMs: number): BaseExpr {
  return {
    matchers: [{ name: "__name__", op: "=", value: "x" }],
    grid: { startMs: 1_000_000, endMs: sampleCount * 1_000, stepMs },
    rangeMs: 1_000_000,
    offsetMs: 0,
    lookbackMs: 300_000,
    bounds: undefined,
    useStartTs: false,
    output: { kind: "steps", call: { name, args: name === "quantile_over_time" ? [0.5] : [] } },
  };
}

function workOf(
  leaf: BaseExpr,
  more: { kind?: string; segments?: readonly SegmentInfo[] } = {},
): WorkSpec {
  const body = encodeWork({
    op: "leaf",
    leaf,
    samplesMax: 1e9,
    shard: 0,
    shardCount: 1,
    segments: more.segments ?? segments,
    head: undefined,
  });
  return {
    queryId: "q" as WorkSpec["queryId"],
    leafId: "l" as WorkSpec["leafId"],
    workId: "w" as WorkSpec["workId"],
    kind: more.kind ?? "promql",
    body,
    affinityKey: "k",
  };
}

test("[QP2] the same work gives the same file", async () => {
  const made = await Promise.all(
    Array.from({ length: 2 }, () =>
      executor.execute(workOf(leafOf("max_over_time", 100_000)), "", never, 1e9),
    ),
  );
  assert.equal(made[0]?.checksum, made[1]?.checksum);
  assert.equal(made[0]?.rowCount, 100);
  const result = decodeLeafResult(made[0]?.bytes ?? new Uint8Array(0));
  assert.equal(result.stats.seriesCount, 100);
});

test("[QP8] work that is aborted while it computes stops soon, and leaves no file", async () => {
  const path = join(dir, "aborted");
  // The thread stops between two series.
  await inTime(1_000, async () => {
    const abort = new AbortController();
    const executing = executor.execute(
      workOf(leafOf("quantile_over_time", 1_000)),
      path,
      abort.signal,
      1e9,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    const abortedMs = realClock.nowMs();
    abort.abort();
    await assert.rejects(executing, code("cancelled"));
    const tookMs = realClock.nowMs() - abortedMs;
    assert.ok(!existsSync(path));
    return tookMs;
  });
  await executor.execute(workOf(leafOf("max_over_time", 1e6)), join(dir, "next"), never, 1e9);
});

test("[QP32] a thread that goes on with aborted work is replaced, and its other work is run again", async () => {
  const lasting = Float64Array.from({ length: 100_000 }, (_, index) => (index + 1) * 10);
  const one: RawSeries = {
    labels: Labels.of({ __name__: "x" }),
    samples: { ...(series[0] as RawSeries).samples, count: 100_000, ts: lasting, values: lasting },
  };
  const ownDir = join(dir, "one");
  const long = await writeSegments(ownDir, [one], [1_000_000], 1);
  const warnings: string[] = [];
  const single = await createPromqlExecutor({
    threads: 1,
    lakeDir: ownDir,
    clusterToken: "t",
    cacheBytes: 64 * 1024 ** 2,
    clock: realClock,
    logger: { ...silentLogger, warn: (_, message) => warnings.push(message) },
  });
  const leaf = (name: string): BaseExpr => ({
    ...leafOf(name, 100),
    grid: { startMs: 500_000, endMs: 1_000_000, stepMs: 100 },
    rangeMs: 500_000,
  });
  try {
    for (const [name, isReplaced] of [
      ["mad_over_time", false],
      ["double_exponential_smoothing", true],
    ] as const) {
      const call = { name, args: isReplaced ? [0.5, 0.5] : [] };
      const slow: BaseExpr = { ...leaf(name), output: { kind: "steps", call } };
      const path = join(dir, "deaf");
      const wanted = isReplaced ? 1 : 0;
      // On a busy machine the thread may not have started it yet, or may not stop in time.
      for (let tries = 1; tries <= 5; tries += 1) {
        warnings.length = 0;
        const abort = new AbortController();
        const work = workOf(slow, { segments: long });
        const executing = single.execute(work, path, abort.signal, 1e9);
        const other = workOf(leaf("max_over_time"), { segments: long });
        const beside = single.execute(other, join(dir, "beside"), never, 1e9);
        await new Promise((resolve) => setTimeout(resolve, 300 * tries));
        const abortedMs = realClock.nowMs();
        abort.abort();
        await assert.rejects(executing, code("cancelled"));
        const tookMs = realClock.nowMs() - abortedMs;
        assert.ok(!existsSync(path));
        assert.equal((await beside).rowCount, 1);
        if (tookMs < 2_000 && warnings.length === wanted) break;
        assert.ok(tries < 5, `${name}: ended after ${tookMs} ms, ${warnings.length} warnings`);
      }
    }
  } finally {
    await single.close();
  }
});

const failures: readonly (readonly [
  name: string,
  work: WorkSpec,
  bytesMax: number,
  code: string,
])[] = [
  ["a result larger than allowed", workOf(leafOf("max_over_time", 100_000)), 10, "query_too_large"],
  [
    "work of another kind",
    workOf(leafOf("max_over_time", 1e6), { kind: "other" }),
    1e9,
    "bad_request",
  ],
  [
    "a segment that is missing",
    workOf(leafOf("max_over_time", 1e6), {
      segments: [{ ...(segmentLike() as SegmentInfo), segmentId: "gone", path: "segments/gone" }],
    }),
    1e9,
    "store_corrupt",
  ],
];
for (const [name, work, bytesMax, wanted] of failures) {
  test(`[QP8] ${name} fails with ${wanted}, and leaves no file`, async () => {
    const path = join(dir, "failed");
    await assert.rejects(executor.execute(work, path, never, bytesMax), code(wanted));
    assert.ok(!existsSync(path));
  });
}

function segmentLike(): SegmentInfo {
  return {
    segmentId: "",
    path: "",
    seq: 1,
    level: 0,
    minTs: 0,
    maxTs: 1e9,
    shardCount: 1,
    shard: 0,
    seriesCount: 1,
    sampleCount: 1,
    histogramCount: 0,
    sizeBytes: 1,
    metricNames: undefined,
    sealSeq: 1,
  };
}

function code(wanted: string): (thrown: unknown) => boolean {
  return (thrown) => {
    assert.ok(thrown instanceof OperatingError, String(thrown));
    assert.equal(thrown.code, wanted);
    return true;
  };
}
