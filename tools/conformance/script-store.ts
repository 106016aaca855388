/**
 * A metrics database for the data of one stretch of a script: the real head with its log, sealed
 * into real segments. What is sealed and what stays in the head is for `Placement` to say:
 *
 *   sealed    everything, in at least two blocks of time
 *   head      nothing
 *   straddle  the earlier half of each load
 */
import { rm } from "node:fs/promises";
import { silentLogger } from "../../src/ground/kernel/logger.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { startHeadServer } from "../../src/kinds/ask/metrics/fs/head-server.ts";
import { openMetricsDb } from "../../src/kinds/ask/metrics/fs/metrics-db.ts";
import type { HeadSnapshot, SampleBatch, SegmentInfo } from "../../src/kinds/ask/metrics/index.ts";
import type { RawSeries } from "../../src/kinds/ask/promql/core/index.ts";

export const placements = ["sealed", "head", "straddle"] as const;
export type Placement = (typeof placements)[number];

export interface StoreOptions {
  readonly placement: Placement;
  /** The time of the last sample that comes. */
  readonly lastMs: number;
}

interface ScriptStoreOptions extends StoreOptions {
  readonly walDir: string;
  readonly lakeDir: string;
  readonly shardCount: number;
  readonly token: string;
}

export interface StoreLayout {
  readonly segmentCount: number;
  /** Of time, among the segments. */
  readonly blockCount: number;
  readonly headSampleCount: number;
}

export interface ScriptStore {
  append(series: readonly RawSeries[]): Promise<void>;
  snapshot(): Promise<HeadSnapshot>;
  list(range: { readonly minTs: number; readonly maxTs: number }): readonly SegmentInfo[];
  /** How the samples lie. */
  layout(): Promise<StoreLayout>;
  close(): Promise<void>;
}

export async function openScriptStore(options: ScriptStoreOptions): Promise<ScriptStore> {
  const { placement, lastMs, walDir, lakeDir, shardCount, token } = options;
  const segments: SegmentInfo[] = [];
  const blockMs = Math.max(1, Math.ceil((lastMs + 1) / 2));
  const logger = silentLogger;
  const db = await openMetricsDb({
    walDir,
    lakeDir,
    clock: realClock,
    prng: createPrng(walDir),
    logger,
    publish: async (add) => {
      const known = new Set(segments.map(({ segmentId }) => segmentId));
      segments.push(...add.filter(({ segmentId }) => !known.has(segmentId)));
    },
    sync: { everyMs: 1_000 },
    // Scripts begin in 1970 and load in any order.
    limits: { outOfOrderMs: Number.POSITIVE_INFINITY, futureMs: Number.POSITIVE_INFINITY },
    headAgeMsMax: Number.MAX_SAFE_INTEGER,
    shardCount,
    blockMs,
  });
  const server = await startHeadServer({ db, host: "127.0.0.1", port: 0, token, logger });
  const put = async (series: readonly RawSeries[], keeps: (ts: number) => boolean) => {
    const batch = toBatch(series, keeps);
    if (batch.count === 0) return;
    const { firstProblem } = await db.append(batch);
    if (firstProblem !== undefined) throw new Error(firstProblem);
  };
  return {
    async append(series) {
      if (placement !== "straddle") {
        await put(series, () => true);
        if (placement === "sealed") await db.seal();
        return;
      }
      const middleMs = middleOf(series);
      await put(series, (ts) => ts <= middleMs);
      await db.seal();
      await put(series, (ts) => ts > middleMs);
    },
    snapshot: async () => db.snapshot(),
    list: ({ minTs, maxTs }) =>
      segments.filter((segment) => segment.maxTs >= minTs && segment.minTs <= maxTs),
    async layout() {
      const blocks = new Set(segments.map(({ minTs }) => Math.floor(minTs / blockMs)));
      const { sampleCount } = await db.snapshot();
      return {
        segmentCount: segments.length,
        blockCount: blocks.size,
        headSampleCount: sampleCount,
      };
    },
    async close() {
      await server.close();
      await db.close();
      await rm(walDir, { recursive: true, force: true });
    },
  };
}

function middleOf(series: readonly RawSeries[]): number {
  const lastMs = series.reduce(
    (last, { samples }) =>
      samples.count === 0 ? last : Math.max(last, samples.ts[samples.count - 1] as number),
    0,
  );
  return lastMs / 2;
}

/** The samples whose times are kept, series by series. */
function toBatch(series: readonly RawSeries[], keeps: (ts: number) => boolean): SampleBatch {
  const picked = series.flatMap(({ samples }, index) =>
    Array.from({ length: samples.count }, (_, at) => ({ samples, index, at })).filter((each) =>
      keeps(samples.ts[each.at] as number),
    ),
  );
  return {
    series: series.map(({ labels }) => labels),
    count: picked.length,
    seriesIndex: Uint32Array.from(picked, ({ index }) => index),
    ts: Float64Array.from(picked, ({ samples, at }) => samples.ts[at] as number),
    values: Float64Array.from(picked, ({ samples, at }) => samples.values[at] as number),
    stale: Uint8Array.from(picked, ({ samples, at }) => samples.stale?.[at] ?? 0),
    histograms: picked.map(({ samples, at }) => samples.histograms?.[at]),
    startTs: Float64Array.from(picked, ({ samples, at }) => samples.startTs?.[at] ?? 0),
    metadata: [],
    exemplars: [],
  };
}
