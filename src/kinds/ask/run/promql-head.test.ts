/**
 * The real head beside real segments: new samples are found before, while and after they are
 * sealed.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { never } from "../../../data/duckdb/testing/test-engine.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import type { SampleBatch, SegmentInfo } from "../metrics/core/index.ts";
import { type HeadServer, startHeadServer } from "../metrics/fs/head-server.ts";
import { type MetricsDb, openMetricsDb } from "../metrics/fs/metrics-db.ts";
import { Labels } from "../promql/core/index.ts";
import { clusterToken, type PromqlCluster, startPromqlCluster } from "./testing/promql-cluster.ts";

const dir = mkdtempSync(join(tmpdir(), "capstan-head-"));
const lakeDir = join(dir, "lake");
const segments: SegmentInfo[] = [];
let db: MetricsDb;
let server: HeadServer;
let cluster: PromqlCluster;
const startMs = realClock.wallMs() - 3_600_000;

before(async () => {
  db = await openMetricsDb({
    walDir: join(dir, "wal"),
    lakeDir,
    clock: realClock,
    prng: createPrng("db"),
    logger: silentLogger,
    shardCount: 4,
    publish: async (add) => {
      const known = segments.length;
      segments.push(...add.map((info, index) => ({ ...info, seq: known + index + 1 })));
    },
  });
  const host = "127.0.0.1";
  server = await startHeadServer({ db, host, port: 0, token: clusterToken, logger: silentLogger });
  cluster = await startPromqlCluster({
    lakeDir,
    limits: { evalThreads: 1 },
    forcedCut: { shardCount: 4 },
    head: async () => db.snapshot(),
    segments: { list: async () => [...segments] },
  });
});

after(async () => {
  await cluster.close();
  await server.close();
  await db.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A sample for each of ten series. */
function batch(minute: number): SampleBatch {
  const count = 10;
  return {
    series: Array.from({ length: count }, (_, i) => Labels.of({ __name__: "x", i: String(i) })),
    count,
    seriesIndex: Uint32Array.from({ length: count }, (_, i) => i),
    ts: new Float64Array(count).fill(startMs + minute * 60_000),
    values: new Float64Array(count).fill(minute),
    stale: undefined,
    histograms: undefined,
    startTs: undefined,
    metadata: [],
    exemplars: [],
  };
}

async function value(query: string, minute: number): Promise<number> {
  const at = { timeMs: startMs + minute * 60_000 };
  const { json } = await cluster.service.query({ query, at }, never);
  const { data } = JSON.parse(Buffer.from(json).toString()) as {
    data: { result: { value: [number, string] }[] };
  };
  return Number(data.result[0]?.value[1] ?? Number.NaN);
}

test("[QP5] a window over what is sealed and what is not is one window", async () => {
  let written = 0;
  for (let minute = 0; minute < 12; minute += 1) {
    await db.append(batch(minute));
    written += 1;
    if (minute % 4 === 3) await db.seal();
    assert.equal(await value("sum(count_over_time(x[1h]))", minute), written * 10);
  }
  assert.ok(segments.length >= 3);
  assert.equal(await value("sum(max_over_time(x[1h]) - min_over_time(x[1h]))", 11), 110);
  const [names, series] = await Promise.all([
    cluster.service.labelValues("i", request(), never),
    cluster.service.series(request(), never),
  ]);
  const seriesCount = (JSON.parse(Buffer.from(series.json).toString()) as unknown[]).length;
  assert.deepEqual([names.values.length, seriesCount], [10, 10]);
});

test("[QP5] while it is being sealed nothing is missed and nothing counts twice", async () => {
  let minute = 12;
  let sealing = true;
  const seals = (async () => {
    while (sealing) {
      await db.seal();
      await new Promise((resolve) => setTimeout(resolve, 2)); // An empty head seals at once.
    }
  })();
  try {
    for (let round = 0; round < 15; round += 1) {
      await db.append(batch(minute));
      assert.equal(await value("sum(count_over_time(x[1h]))", minute), (minute + 1) * 10);
      minute += 1;
    }
  } finally {
    sealing = false;
    await seals;
  }
});

function request(): Parameters<PromqlCluster["service"]["series"]>[0] {
  return { matcherSets: [], startMs, endMs: startMs + 3_600_000, limit: 0 };
}
