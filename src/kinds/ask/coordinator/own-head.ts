/**
 * The metrics head in this process, under the lease: its log, the server of its slices, the scrapes
 * (including its own and its workers' metrics), and the upkeep of the segments.
 */
import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { CoordinatorContext } from "../../../data/parts/index.ts";
import { type Clock, type Timer, waitAtMost } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { HealthReporter } from "../../../ground/kernel/health.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { isSupervised, tryLockFile } from "../../../ground/process/index.ts";
import { confirmLease, type LeaseGrant } from "../../../ground/store/index.ts";
import {
  type Ingest,
  type LogLease,
  Maintenance,
  readScrapeConfig,
  type ScrapeConfigFile,
  type SegmentCatalog,
  SegmentScrubber,
  startIngest,
} from "../metrics/index.ts";
import type { OwnedMetrics } from "./metrics-owner.ts";
import { scrapeSelf } from "./self-scrape.ts";

/** The settings from the command line. Times are in milliseconds. */
export interface OwnHeadSettings {
  readonly keepMetrics?: number;
  readonly upkeepEvery?: number;
  readonly scrubEvery?: number;
  readonly scrapeConfig?: string;
}

export interface OwnHeadOptions extends OwnHeadSettings {
  readonly catalog: SegmentCatalog;
  /** The grant that this head belongs to. */
  readonly grant: LeaseGrant;
  /** The health of the log. */
  readonly health: HealthReporter;
  readonly scrape: ScrapeConfigFile | undefined;
}

/** Prints at once, at any log level, which parts of the scrape file are ignored. */
export function readScrapeSettings({
  scrapeConfig,
}: OwnHeadSettings): ScrapeConfigFile | undefined {
  const scrape = readScrapeConfig(scrapeConfig);
  // `capstan up` prints the notices itself.
  for (const notice of isSupervised() ? [] : (scrape?.ignored ?? [])) {
    process.stderr.write(`Scrape configuration, ${notice}.\n`);
  }
  return scrape;
}

const lockRetryMs = 2_000;
/** How long an acknowledgement waits for the store while the lease is in doubt. */
const confirmMsMax = 3_000;

export async function startOwnHead(
  context: CoordinatorContext,
  options: OwnHeadOptions,
): Promise<OwnedMetrics> {
  const { clock, logger, condition, places } = context;
  await context.directories.require(); // A directory that vanished is not made anew.
  const walDir = join(places.metricsDir, "wal");
  mkdirSync(walDir, { recursive: true, mode: 0o700 });
  const lock = holdLock(walDir, clock, logger);
  const ingest = await openHead(context, options, walDir).catch((thrown: unknown) => {
    lock.release();
    throw thrown;
  });
  const stopScraping = scrapeSelf(ingest, context);
  const scrubber = createScrubber(context, options);
  const unfollow = condition.onCorrupt((message) => scrubber.suspect(message));
  const maintenance = createMaintenance(context, options, scrubber);
  maintenance.start();
  return {
    ingest,
    failure: ingest.failure,
    async close() {
      stopScraping();
      unfollow();
      await Promise.all([maintenance.stop(), ingest.close()]);
      lock.release();
    },
  };
}

/** Opens the log, and tells the catalog where the head answers. */
async function openHead(
  context: CoordinatorContext,
  { catalog, grant, health, scrape }: OwnHeadOptions,
  walDir: string,
): Promise<Ingest> {
  const ingest = await startIngest({
    walDir,
    lakeDir: context.places.metricsDir,
    clock: context.clock,
    prng: context.prng.fork("head"),
    logger: context.logger,
    lease: logLeaseOf(context, grant),
    server: serverSettings(context),
    publish: async (add, remove) => {
      await catalog.publish({ add, remove }, grant);
    },
    publishedSealSeq: (lineage) => catalog.publishedSealSeq(lineage),
    onRoom: (reason) =>
      reason === undefined ? health.ok() : health.degraded(`no samples are taken: ${reason}`),
    labelLimits: context.limits,
    ...(scrape === undefined ? {} : { scrape }),
  });
  try {
    const { url, incarnation } = await ingest.snapshot();
    await catalog.setHead({ url, incarnation }, grant);
    return ingest;
  } catch (thrown) {
    await ingest.close();
    throw thrown;
  }
}

function createScrubber(
  { condition, logger, places }: CoordinatorContext,
  { catalog, scrubEvery, upkeepEvery }: OwnHeadOptions,
): SegmentScrubber {
  return new SegmentScrubber({
    catalog,
    lakeDir: places.metricsDir,
    logger,
    limits: {
      ...(scrubEvery === undefined ? {} : { periodMs: scrubEvery }),
      ...(upkeepEvery === undefined ? {} : { everyMs: upkeepEvery }),
    },
    onCondition: ({ damaged, unverified, suspected }) => {
      const notes = damaged.map(({ segmentId: name, damage }) => ({ name, damage }));
      condition.found("metrics", { damaged: notes, unverified, suspected });
    },
  });
}

function createMaintenance(
  { node, store, name, places, clock, logger }: CoordinatorContext,
  { catalog, grant, keepMetrics, upkeepEvery }: OwnHeadOptions,
  scrubber: SegmentScrubber,
): Maintenance {
  return new Maintenance({
    scrubber,
    store,
    catalog,
    lakeDir: places.metricsDir,
    lease: () => (node.lease?.grant()?.epoch === grant.epoch ? grant : undefined),
    holder: name,
    clock,
    logger,
    ...(upkeepEvery === undefined ? {} : { everyMs: upkeepEvery }),
    ...(keepMetrics === undefined ? {} : { retention: { retentionMs: keepMetrics } }),
  });
}

/** While the keeper is sure of the lease, it knows until when; in doubt the store is asked. */
function logLeaseOf({ node, store, clock }: CoordinatorContext, grant: LeaseGrant): LogLease {
  return {
    epoch: grant.epoch,
    async confirm() {
      const validForMs = node.lease?.remainingMs(grant) ?? 0;
      if (validForMs > 0) return { validForMs };
      const confirmed = confirmLease(store, grant).then(() => ({ validForMs: 0 }));
      const answer = await waitAtMost(clock, confirmMsMax, confirmed);
      if (answer !== undefined) return answer;
      const message = "the store does not confirm this coordinator's lease";
      throw new OperatingError("store_unavailable", "backoff", message, {
        hint: "Nothing is acknowledged meanwhile; send it again.",
      });
    },
  };
}

/**
 * Tells `capstan metrics repair` that the log is in use. The leader does not wait for this lock: a
 * stopped process holds it until it ends, and the lease fences the log.
 */
function holdLock(walDir: string, clock: Clock, logger: Logger): { release(): void } {
  let held: ReturnType<typeof tryLockFile>;
  let timer: Timer | undefined;
  const attempt = (): void => {
    held = tryLockFile(join(walDir, "lock"));
    if (held === undefined) timer = clock.after(lockRetryMs, attempt);
  };
  attempt();
  if (held === undefined) {
    logger.warn(
      {},
      "another process still has the metrics log open; its lease is over, and it is fenced",
    );
  }
  return {
    release() {
      timer?.cancel();
      held?.release();
    },
  };
}

/** A server bound to every address is advertised under the machine's name. */
function serverSettings({
  host,
  clusterToken,
  tls,
}: CoordinatorContext): Parameters<typeof startIngest>[0]["server"] {
  const isAny = host === "0.0.0.0" || host === "::";
  return {
    host,
    port: 0,
    token: clusterToken,
    ...(isAny ? { advertisedHost: hostname() } : {}),
    ...tls,
  };
}
