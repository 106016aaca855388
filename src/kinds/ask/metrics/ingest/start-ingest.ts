/**
 * Starts ingest for this process: the thread that owns the head, its scrapes, and imports. The
 * caller's thread decodes, compresses and writes nothing. Rules: IN20, IN21.
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
  /** A directory for the head's log alone. */
  readonly walDir: string;
  readonly lakeDir: string;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  /** The lease that owns the log. Without one, nobody else may use the log. */
  readonly lease?: LogLease;
  /** The server where workers fetch slices of the head. */
  readonly server: HeadServerSettings;
  /** One transaction of the store, all or nothing. May be repeated with the same segments. */
  publish(add: readonly SegmentInfo[], remove: readonly string[]): Promise<void>;
  /** The highest `sealSeq` of that lineage's segments in the catalog, or 0. */
  publishedSealSeq?(lineage: string): Promise<number>;
  /** Gets why samples are refused for want of space; undefined when they are accepted again. */
  readonly onRoom?: (reason: string | undefined) => void;
  readonly head?: HeadSettings;
  /** A Prometheus-style configuration; relative paths in it refer to `baseDir`. */
  readonly scrape?: { readonly text: string; readonly baseDir: string };
  readonly userAgent?: string;
  /** Processes with different seeds scrape a target at different times. */
  readonly offsetSeed?: string;
  readonly labelLimits?: LabelLimits;
  readonly queueMax?: number;
  readonly queueBytesMax?: number;
  readonly importsMax?: number;
  /** How many samples of an import may be in memory, at about 50 bytes each. */
  readonly importMemorySamplesMax?: number;
}

const blockMsDefault = 2 * 60 * 60_000;

/**
 * Throws when the log or the lake cannot be opened, and `bad_request` for an invalid configuration.
 */
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
