/**
 * Merges the segments of a block into one per shard, series by series. Memory holds the series
 * tables, one row group of each input, and one of the output.
 */
import type { Files } from "../../../../ground/kernel/files.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { type Prng, randomText } from "../../../../ground/kernel/prng.ts";
import type { CompactionPlan } from "../core/decide-upkeep.ts";
import { shardsMeet } from "../core/fingerprint.ts";
import type { SegmentInfo } from "../core/model.ts";
import { compareSeries } from "../core/segment-encoder.ts";
import { iterateSeries } from "../segments/collect-series.ts";
import { openSegment } from "../segments/segment-reader.ts";
import { SeriesInterner } from "../segments/series-interner.ts";
import { removeSegmentFiles } from "./lake.ts";
import { SegmentWriter } from "./segment-writer.ts";

export interface CompactionRequest {
  readonly lakeDir: string;
  readonly plan: CompactionPlan;
}

/** The segments are durable but not published. On failure all of them are removed. */
export async function compactBlock(
  { lakeDir, plan }: CompactionRequest,
  prng: Prng,
  files: Files = realFiles,
): Promise<SegmentInfo[]> {
  const written: SegmentInfo[] = [];
  try {
    for (let shard = 0; shard < plan.shardCount; shard += 1) {
      const info = await compactShard({ lakeDir, plan }, shard, prng, files);
      if (info !== undefined) written.push(info);
    }
    return written;
  } catch (thrown) {
    for (const { path } of written) await removeSegmentFiles(lakeDir, path, files);
    throw thrown;
  }
}

async function compactShard(
  { lakeDir, plan }: CompactionRequest,
  shard: number,
  prng: Prng,
  files: Files,
): Promise<SegmentInfo | undefined> {
  const { shardCount, level, seq, sealSeq, blockStart } = plan;
  const inputs = plan.inputs.filter((info) => shardsMeet(info, { shard, shardCount }));
  const interner = new SeriesInterner();
  const readers = inputs.map((info) => openSegment(lakeDir, info, { interner, files }));
  const place = `${blockStart}-${shard}of${shardCount}`;
  const segmentId = `c${level}-${seq}-${place}-${randomText(prng, 10)}`;
  const target = { lakeDir, segmentId, shard, shardCount, level, seq, sealSeq, files };
  const writer = new SegmentWriter(target);
  try {
    const range = { minMs: -Infinity, maxMs: Infinity };
    const request = { matchers: [], shard, shardCount, range };
    for (const series of iterateSeries(readers, [], request, compareSeries)) {
      await writer.add(series);
    }
    if (writer.sampleCount > 0) return await writer.finish();
    await writer.abort();
    return undefined;
  } catch (thrown) {
    await writer.abort();
    throw thrown;
  } finally {
    for (const reader of readers) reader.close();
  }
}
