/**
 * The thread that owns the head: it decodes writes, scrapes, appends, seals, and serves slices to
 * workers. The process's main thread only transfers buffers.
 */
import "../core/error-codes.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../../../ground/kernel/node/system-random.ts";
import { trimWhenIdle } from "../../../../ground/kernel/node/trim-when-idle.ts";
import { type Starter, servePeer } from "../../../../ground/threads/index.ts";
import { MalformedInput } from "../core/ingest/malformed.ts";
import { boundedJob } from "../core/ingest/scrape/bounded-job.ts";
import { parseScrapeConfig } from "../core/ingest/scrape/parse-scrape-config.ts";
import { decompressSnappy } from "../core/ingest/wire/snappy.ts";
import { WriteDecoder, type WriteProtocol } from "../core/ingest/wire/write-decoder.ts";
import { refusedWrite, writeResultOf } from "../core/ingest/wire/write-protocol.ts";
import type { RemoteWriteResult, ScrapedText } from "../core/ingest-service.ts";
import { startHeadServer } from "../fs/head-server.ts";
import { type MetricsDb, openMetricsDb } from "../fs/metrics-db.ts";
import { batchOfMessage, exemplarToMessage } from "./batch-message.ts";
import { fileError } from "./file-error.ts";
import type { IngestOwner, IngestThread, IngestThreadOptions } from "./ingest-messages.ts";
import { postingLogger } from "./posting-logger.ts";
import { ScrapeService } from "./scrape/scrape-service.ts";

servePeer<IngestThread, IngestThreadOptions, IngestOwner>(
  async (options, owner) => {
    const { labelLimits } = options;
    const logger = postingLogger((line) => owner.tell("log", line));
    const decoder = new WriteDecoder(labelLimits);
    trimWhenIdle();
    const { db, server, scrapes } = await open(options, owner, logger);
    void db.failed.then((error) => owner.broken(error));
    return {
      requests: {
        remoteWrite: ({ body, protocol }) => remoteWrite(body, protocol, decoder, db),
        append: (batch) => db.append(batchOfMessage(batch)),
        snapshot: () => db.snapshot(),
        seal: () => db.seal(),
        metadata: (metric) => db.metadata(metric),
        exemplars: ({ matcherSets, startMs, endMs }) =>
          db.exemplars(matcherSets, startMs, endMs).map(exemplarToMessage),
        targets: () => scrapes.targets(),
        stats: () => db.stats(),
        applyScrapeConfig: async ({ text, baseDir }) => {
          const config = parseScrapeConfig(text);
          const jobs = config.jobs.map((job) => boundedJob(job, labelLimits));
          await scrapes.apply({ ...config, jobs }, baseDir);
          return config.ignored;
        },
        addSelfTarget: ({ self, job, instance, intervalMs }) => {
          const read = (): Promise<ScrapedText> => owner.ask("readSelf", self);
          scrapes.addSelfTarget({ job, instance, intervalMs, read });
        },
      },
      notes: {},
      stopping: async () => {
        scrapes.close();
        await server.close();
        await db.close();
      },
    };
  },
  { translate: fileError },
);

async function open(options: IngestThreadOptions, owner: Starter<IngestOwner>, logger: Logger) {
  const db = await openMetricsDb({
    ...options.head,
    walDir: options.walDir,
    lakeDir: options.lakeDir,
    clock: realClock,
    prng: createSystemPrng(),
    logger,
    lease: {
      epoch: options.leaseEpoch,
      confirm: () => owner.ask("confirmLease", undefined),
    },
    onRoom: (refusal) => owner.tell("room", refusal?.message),
    publish: (add) => owner.ask("publish", add),
    publishedSealSeq: (lineage) => owner.ask("publishedSealSeq", lineage),
  });
  const server = await startHeadServer({ ...options.server, db, logger });
  const scrapes = new ScrapeService({
    append: (batch) => db.append(batch),
    clock: realClock,
    logger,
    offsetSeed: options.offsetSeed,
    userAgent: options.userAgent,
  });
  return { db, server, scrapes };
}

/** A malformed body is refused before anything of it is appended. */
async function remoteWrite(
  body: Uint8Array,
  protocol: WriteProtocol,
  decoder: WriteDecoder,
  db: MetricsDb,
): Promise<RemoteWriteResult> {
  let decoded: ReturnType<WriteDecoder["decode"]>;
  try {
    decoded = decoder.decode(decompressSnappy(body), protocol);
  } catch (thrown) {
    if (thrown instanceof MalformedInput) return refusedWrite(400, thrown.message);
    throw thrown;
  }
  return writeResultOf(decoded, await db.append(decoded.batch));
}
