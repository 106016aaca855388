/**
 * Samples in, for this process: the thread that owns the head, its scrapes, and imports.
 *
 *   IG1  Nothing is decoded, compressed or written on the caller's thread.
 *   IG2  Writes that the thread cannot take are refused at the door (429), not queued without end.
 *   IG3  When the thread dies every request fails, and `failure` resolves: the process should end and be restarted.
 *   IG4  `publish` is called by whoever has segments to show: seals and imports, each with all of its segments at once.
 */
import { join } from "node:path";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import { siblingModule } from "../../../../ground/kernel/node/sibling-module.ts";
import { type Prng, randomText } from "../../../../ground/kernel/prng.ts";
import { type LabelLimits, usualLabelLimits } from "../core/ingest/label-limits.ts";
import type { Ingest } from "../core/ingest-service.ts";
import type { SegmentInfo } from "../core/model.ts";
import { temporaryFolder } from "../fs/lake.ts";
import { type LogLease, noLease } from "../fs/take-log.ts";
import type { HeadServerSettings, HeadSettings, IngestThreadOptions } from "./ingest-messages.ts";
import { ThreadIngest } from "./thread-ingest.ts";

export interface IngestOptions {
  /** For the head's log alone. */
  readonly walDir: string;
  readonly lakeDir: string;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  /** Whose the log is. Without one it is nobody else's. */
  readonly lease?: LogLease;
  /** Where workers pull slices of the head. */
  readonly server: HeadServerSettings;
  /** One transaction of the store: all of it or nothing. May be repeated with the same segments. */
  publish(add: readonly SegmentInfo[], remove: readonly string[]): Promise<void>;
  /** The highest `sealSeq` among the catalog's segments of that line of heads; 0 where there are none. */
  publishedSealSeq?(lineage: string): Promise<number>;
  /** Samples are refused for want of room, and why; `undefined`: they are taken again. */
  readonly onRoom?: (reason: string | undefined) => void;
  readonly head?: HeadSettings;
  /** Prometheus-style; relative files in it are relative to `baseDir`. */
  readonly scrape?: { readonly text: string; readonly baseDir: string };
  readonly userAgent?: string;
  /** Two processes with different seeds scrape a target at different times. */
  readonly offsetSeed?: string;
  readonly labelLimits?: LabelLimits;
  readonly queueMax?: number;
  readonly queueBytesMax?: number;
  readonly importsMax?: number;
  /** Samples of an import in memory at a time: about 50 bytes each. */
  readonly importMemorySamplesMax?: number;
}

const blockMsDefault = 2 * 60 * 60_000;

/** Throws when the log or the lake cannot be opened, and `bad_request` for a scrape configuration that is none. */
export async function startIngest(options: IngestOptions): Promise<Ingest> {
  const { walDir, lakeDir, clock, prng, logger, server, lease = noLease, head = {} } = options;
  const { labelLimits = usualLabelLimits } = options;
  const threadOptions: IngestThreadOptions = {
    walDir,
    lakeDir,
    leaseEpoch: lease.epoch,
    head,
    server,
    userAgent: options.userAgent ?? "capstan",
    offsetSeed: options.offsetSeed ?? "",
    labelLimits,
  };
  const module = siblingModule(import.meta.url, "./ingest-thread");
  const ingest = new ThreadIngest(module, threadOptions, {
    clock,
    logger,
    lease,
    publish: (add, remove) => options.publish(add, remove),
    onRoom: (reason) => options.onRoom?.(reason),
    publishedSealSeq: async (lineage) => (await options.publishedSealSeq?.(lineage)) ?? 0,
    importOptions: () => {
      const importId = `import-${clock.wallMs()}-${randomText(prng, 8)}`;
      return {
        lakeDir,
        importId,
        spillDir: join(lakeDir, temporaryFolder, importId),
        blockMs: head.blockMs ?? blockMsDefault,
        shardCount: head.shardCount,
        samplesPerShard: head.samplesPerShard ?? 250_000,
        shardCountMax: head.shardCountMax ?? 16,
        labelLimits,
        memorySamplesMax: options.importMemorySamplesMax ?? 8_000_000,
      };
    },
    queueMax: options.queueMax ?? 1_024,
    queueBytesMax: options.queueBytesMax ?? 128 * 1024 * 1024,
    importsMax: options.importsMax ?? 4,
  });
  try {
    await ingest.ready;
    const { scrape } = options;
    if (scrape !== undefined) await ingest.applyScrapeConfig(scrape.text, scrape.baseDir);
  } catch (thrown) {
    await ingest.close();
    throw thrown;
  }
  return ingest;
}
