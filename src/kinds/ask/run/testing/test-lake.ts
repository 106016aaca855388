/** Series spread over segments and a head, as in a real cluster after a while. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fingerprint, shardOf } from "../../metrics/core/fingerprint.ts";
import type { HeadSnapshot, SegmentInfo } from "../../metrics/core/index.ts";
import { compareSeries } from "../../metrics/core/segment-encoder.ts";
import { prepareLake } from "../../metrics/fs/lake.ts";
import { SegmentWriter } from "../../metrics/fs/segment-writer.ts";
import { encodeRawSeries } from "../../metrics/index.ts";
import {
  compileMatchers,
  type Matcher,
  type RawSeries,
  type SampleColumns,
} from "../../promql/core/index.ts";

/** The samples after `minMs` up to `maxMs`. */
export function cut({ labels, samples }: RawSeries, minMs: number, maxMs: number): RawSeries {
  const kept = [...samples.ts.subarray(0, samples.count).keys()].filter(
    (index) => (samples.ts[index] as number) > minMs && (samples.ts[index] as number) <= maxMs,
  );
  const pick = <T extends Float64Array | Uint8Array>(column: T): T =>
    (column instanceof Float64Array
      ? Float64Array.from(kept, (index) => column[index] as number)
      : Uint8Array.from(kept, (index) => column[index] as number)) as T;
  const cutSamples: SampleColumns = {
    count: kept.length,
    ts: pick(samples.ts),
    values: pick(samples.values),
    stale: samples.stale === undefined ? undefined : pick(samples.stale),
    histograms:
      samples.histograms === undefined ? undefined : kept.map((at) => samples.histograms?.[at]),
    startTs: samples.startTs === undefined ? undefined : pick(samples.startTs),
  };
  return { labels, samples: cutSamples };
}

/** Blocks end at `blockEndsMs`; later samples stay in the head. */
export async function writeSegments(
  lakeDir: string,
  series: readonly RawSeries[],
  blockEndsMs: readonly number[],
  shardCount: number,
): Promise<readonly SegmentInfo[]> {
  await prepareLake(lakeDir);
  const segments: SegmentInfo[] = [];
  let startMs = Number.NEGATIVE_INFINITY;
  for (const [block, endMs] of blockEndsMs.entries()) {
    for (let shard = 0; shard < shardCount; shard += 1) {
      const own = series
        .filter(({ labels }) => shardOf(fingerprint(labels), shardCount) === shard)
        .map((each) => cut(each, startMs, endMs))
        .filter(({ samples }) => samples.count > 0)
        .sort((a, b) => compareSeries(a.labels, b.labels));
      if (own.length === 0) continue;
      const seq = segments.length + 1;
      const segmentId = `s-${block}-${shard}`;
      const writer = new SegmentWriter({
        lakeDir,
        segmentId,
        shard,
        shardCount,
        level: 0,
        seq,
        sealSeq: seq,
      });
      for (const each of own) await writer.add(each);
      segments.push(await writer.finish());
    }
    startMs = endMs;
  }
  return segments;
}

/** Answers like the owner of a head. */
export class TestHead {
  readonly #series: readonly RawSeries[];
  readonly #server: Server;
  incarnation = "h-1";
  pulls = 0;

  constructor(series: readonly RawSeries[]) {
    this.#series = series.filter(({ samples }) => samples.count > 0);
    this.#server = createServer((request, response) => {
      const chunks: Uint8Array[] = [];
      request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      request.on("end", () => {
        this.pulls += 1;
        const asked = JSON.parse(Buffer.concat(chunks).toString()) as {
          incarnation: string;
          matchers?: Matcher[];
          matcherSets?: Matcher[][];
          shard: number;
          shardCount: number;
          minMs: number;
          maxMs: number;
        };
        if (asked.incarnation !== this.incarnation) {
          response.writeHead(409).end();
          return;
        }
        const sets = (asked.matcherSets ?? [asked.matchers ?? []]).map(compileMatchers);
        const found = this.#series
          .filter(({ labels }) => sets.some((matches) => matches(labels)))
          .filter(({ labels }) => shardOf(fingerprint(labels), asked.shardCount) === asked.shard)
          .map((each) => cut(each, asked.minMs, asked.maxMs))
          .filter(({ samples }) => samples.count > 0);
        response.writeHead(200).end(encodeRawSeries(found));
      });
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  snapshot(): HeadSnapshot {
    const times = this.#series.flatMap(({ samples }) => [...samples.ts.subarray(0, samples.count)]);
    return {
      url: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`,
      incarnation: this.incarnation,
      appendSeq: 1,
      minTs: times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
      maxTs: times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
      sampleCount: times.length,
      seriesCount: this.#series.length,
    };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
