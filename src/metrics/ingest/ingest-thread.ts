/**
 * The thread that owns the head: it decodes what is written, scrapes, appends, seals, and serves slices to workers.
 * The process's own thread only hands buffers over.
 */
import { parentPort, workerData } from "node:worker_threads";
import { assert, unreachable } from "../../kernel/errors.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createSystemPrng } from "../../kernel/node/system-random.ts";
import { trimWhenIdle } from "../../kernel/node/trim-when-idle.ts";
import { MalformedInput } from "../core/ingest/malformed.ts";
import { boundedJob } from "../core/ingest/scrape/bounded-job.ts";
import { parseScrapeConfig } from "../core/ingest/scrape/parse-scrape-config.ts";
import { decompressSnappy } from "../core/ingest/wire/snappy.ts";
import { WriteDecoder, type WriteProtocol } from "../core/ingest/wire/write-decoder.ts";
import { refusedWrite, writeResultOf } from "../core/ingest/wire/write-protocol.ts";
import type { RemoteWriteResult, ScrapedText } from "../core/ingest-service.ts";
import { startHeadServer } from "../fs/head-server.ts";
import { openMetricsDb } from "../fs/metrics-db.ts";
import { batchOfMessage, exemplarToMessage } from "./batch-message.ts";
import type {
  FromIngestThread,
  IngestRequest,
  IngestThreadOptions,
  ProcessRequest,
  ToIngestThread,
} from "./ingest-messages.ts";
import { postingLogger } from "./posting-logger.ts";
import { ScrapeService } from "./scrape/scrape-service.ts";
import { encodeFileError, ThreadDesk } from "./thread-desk.ts";

const port = parentPort;
assert(port !== null, "ingest runs in a thread of its own");
const options = workerData as IngestThreadOptions;
const logger = postingLogger(post);
const decoder = new WriteDecoder(options.labelLimits);
const desk = new ThreadDesk<ProcessRequest, IngestRequest>({
  post: (message, transfer) => port.postMessage(message, [...transfer]),
  perform,
});
let isClosing: boolean = false;
trimWhenIdle();

port.on("message", (message: ToIngestThread) => {
  if (message.kind !== "close") desk.receive(message);
  else if (!isClosing) void close();
});

const { db, server, scrapes } = await open().catch((thrown: unknown) => {
  post({ kind: "fatal", error: encodeFileError(thrown) });
  process.exit(1); // This thread alone. An exception would be on its way beside the message.
});
void db.failed.then((error) => post({ kind: "fatal", error: encodeFileError(error) }));
post({ kind: "ready" });

async function open() {
  const db = await openMetricsDb({
    ...options.head,
    walDir: options.walDir,
    lakeDir: options.lakeDir,
    clock: realClock,
    prng: createSystemPrng(),
    logger,
    lease: {
      epoch: options.leaseEpoch,
      confirm: () => desk.ask<{ validForMs: number }>({ kind: "confirmLease" }),
    },
    onRoom: (refusal) => post({ kind: "room", reason: refusal?.message }),
    publish: (add) => desk.ask<void>({ kind: "publish", add }),
    publishedSealSeq: (lineage) => desk.ask<number>({ kind: "publishedSealSeq", lineage }),
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

async function perform(request: IngestRequest): Promise<unknown> {
  switch (request.kind) {
    case "remoteWrite":
      return await remoteWrite(request.body, request.protocol);
    case "append":
      return await db.append(batchOfMessage(request.batch));
    case "snapshot":
      return db.snapshot();
    case "seal":
      return await db.seal();
    case "metadata":
      return db.metadata(request.metric);
    case "exemplars": {
      const { matcherSets, startMs, endMs } = request;
      return db.exemplars(matcherSets, startMs, endMs).map(exemplarToMessage);
    }
    case "targets":
      return scrapes.targets();
    case "stats":
      return db.stats();
    case "applyScrapeConfig": {
      const config = parseScrapeConfig(request.text);
      const jobs = config.jobs.map((job) => boundedJob(job, options.labelLimits));
      await scrapes.apply({ ...config, jobs }, request.baseDir);
      return config.ignored;
    }
    case "addSelfTarget": {
      const { self, job, instance, intervalMs } = request;
      const read = (): Promise<ScrapedText> => desk.ask<ScrapedText>({ kind: "readSelf", self });
      scrapes.addSelfTarget({ job, instance, intervalMs, read });
      return undefined;
    }
    default:
      return unreachable(request);
  }
}

/** A body that is not what it claims to be is refused before anything of it is appended. */
async function remoteWrite(body: Uint8Array, protocol: WriteProtocol): Promise<RemoteWriteResult> {
  let decoded: ReturnType<WriteDecoder["decode"]>;
  try {
    decoded = decoder.decode(decompressSnappy(body), protocol);
  } catch (thrown) {
    if (thrown instanceof MalformedInput) return refusedWrite(400, thrown.message);
    throw thrown;
  }
  return writeResultOf(decoded, await db.append(decoded.batch));
}

async function close(): Promise<void> {
  isClosing = true;
  scrapes.close();
  await server.close();
  await db.close();
  port?.close();
}

function post(message: FromIngestThread): void {
  port?.postMessage(message);
}
