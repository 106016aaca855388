/**
 * The head of the metrics in this process: its log, the server of its slices, scrapes (its own and its workers' metrics
 * included), and the upkeep of the segments; all under the lease.
 */
import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, sleep, type Timer } from "../kernel/clock.ts";
import { OperatingError } from "../kernel/errors.ts";
import type { HealthReporter } from "../kernel/health.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Prng } from "../kernel/prng.ts";
import type { ScrubLimits } from "../kernel/scrub.ts";
import {
  type Ingest,
  type LogLease,
  Maintenance,
  type ScrapeConfigFile,
  type SegmentCatalog,
  SegmentScrubber,
  startIngest,
} from "../metrics/index.ts";
import type { Metrics } from "../observe/index.ts";
import {
  type ClusterTls,
  type DirectoryWatch,
  type Limits,
  tryLockFile,
} from "../process/index.ts";
import { confirmLease, type LeaseGrant, type Store } from "../store/index.ts";
import type { ControllerNode } from "./controller-node.ts";
import type { DataCondition } from "./data-condition.ts";
import type { OwnedMetrics } from "./metrics-owner.ts";
import { scrapeSelf } from "./self-scrape.ts";

export interface OwnHeadOptions {
  readonly limits: Limits;
  readonly node: ControllerNode;
  readonly store: Store;
  readonly catalog: SegmentCatalog;
  /** The grant that this head belongs to. */
  readonly grant: LeaseGrant;
  /** Who does the upkeep, in the store. */
  readonly holder: string;
  readonly metrics: Metrics;
  readonly directories: DirectoryWatch;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly host: string;
  readonly lakeDir: string;
  readonly clusterToken: string;
  /** Of the log. */
  readonly health: HealthReporter;
  readonly tls?: ClusterTls;
  /** In milliseconds. */
  readonly keepMetrics: number | undefined;
  readonly condition: DataCondition;
  readonly scrub: Partial<ScrubLimits>;
  readonly scrape: ScrapeConfigFile | undefined;
}

const lockRetryMs = 2_000;
/** How long an acknowledgement waits for the store, once the lease is in doubt. */
const confirmMsMax = 3_000;

export async function startOwnHead(options: OwnHeadOptions): Promise<OwnedMetrics> {
  const { node, catalog, grant, clock, prng, logger, lakeDir, keepMetrics, scrape } = options;
  await options.directories.require(); // A directory that vanished is not made anew.
  const walDir = join(lakeDir, "wal");
  mkdirSync(walDir, { recursive: true, mode: 0o700 });
  const lock = holdLock(walDir, clock, logger);
  let ingest: Ingest | undefined;
  try {
    ingest = await startIngest({
      walDir,
      lakeDir,
      clock,
      prng,
      logger,
      lease: logLeaseOf(options),
      server: serverSettings(options),
      publish: async (add, remove) => {
        await catalog.publish({ add, remove }, grant);
      },
      publishedSealSeq: (lineage) => catalog.publishedSealSeq(lineage),
      onRoom: (reason) =>
        reason === undefined
          ? options.health.ok()
          : options.health.degraded(`no samples are taken: ${reason}`),
      labelLimits: options.limits,
      ...(scrape === undefined ? {} : { scrape }),
    });
    const { url, incarnation } = await ingest.snapshot();
    await catalog.setHead({ url, incarnation }, grant);
  } catch (thrown) {
    await ingest?.close();
    lock.release();
    throw thrown;
  }
  const stopScraping = scrapeSelf(ingest, options);
  const scrubber = new SegmentScrubber({
    catalog,
    lakeDir,
    logger,
    limits: options.scrub,
    onCondition: ({ damaged, unverified, suspected }) => {
      const notes = damaged.map(({ segmentId: name, damage }) => ({ name, damage }));
      options.condition.found("metrics", { damaged: notes, unverified, suspected });
    },
  });
  const unfollow = options.condition.onCorrupt((message) => scrubber.suspect(message));
  const maintenance = new Maintenance({
    scrubber,
    store: options.store,
    catalog,
    lakeDir,
    lease: () => (node.lease?.grant()?.epoch === grant.epoch ? grant : undefined),
    holder: options.holder,
    clock,
    logger,
    ...(options.scrub.everyMs === undefined ? {} : { everyMs: options.scrub.everyMs }),
    ...(keepMetrics === undefined ? {} : { retention: { retentionMs: keepMetrics } }),
  });
  maintenance.start();
  const running = ingest;
  return {
    ingest: running,
    failure: running.failure,
    async close() {
      stopScraping();
      unfollow();
      await Promise.all([maintenance.close(), running.close()]);
      lock.release();
    },
  };
}

/** While the keeper is sure of the lease it says for how long; in doubt the store is asked. */
function logLeaseOf({ node, store, grant, clock }: OwnHeadOptions): LogLease {
  return {
    epoch: grant.epoch,
    async confirm() {
      const validForMs = node.lease?.remainingMs(grant) ?? 0;
      if (validForMs > 0) return { validForMs };
      const patience = new AbortController();
      const silence = sleep(clock, confirmMsMax, patience.signal).then(() => {
        if (patience.signal.aborted) return;
        const message = "the store does not confirm this coordinator's lease";
        throw new OperatingError("store_unavailable", "backoff", message, {
          hint: "Nothing is acknowledged meanwhile; send it again.",
        });
      });
      try {
        await Promise.race([confirmLease(store, grant), silence]);
      } finally {
        patience.abort();
      }
      return { validForMs: 0 };
    },
  };
}

/**
 * Tells `capstan metrics repair` that the log is in use. Who leads does not wait for it: a process
 * that was stopped holds it until it ends, and the log is fenced by the lease.
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

/** Bound to every address, the machine's name is the one that workers can use. */
function serverSettings({
  host,
  clusterToken,
  tls,
}: OwnHeadOptions): Parameters<typeof startIngest>[0]["server"] {
  const isAny = host === "0.0.0.0" || host === "::";
  return {
    host,
    port: 0,
    token: clusterToken,
    ...(isAny ? { advertisedHost: hostname() } : {}),
    ...(tls === undefined ? {} : { tls }),
  };
}
