/**
 * The head of the metrics in this process: its log, the server of its slices, scrapes (its own and its workers' metrics
 * included), and the upkeep of the segments; all under the lease.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { Clock } from "../kernel/clock.ts";
import { messageOf, OperatingError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Prng } from "../kernel/prng.ts";
import { type Ingest, Maintenance, type SegmentCatalog, startIngest } from "../metrics/index.ts";
import type { Metrics } from "../observe/index.ts";
import { type ClusterTls, lockDir } from "../process/index.ts";
import type { LeaseGrant, Store } from "../store/index.ts";
import type { ControllerNode } from "./controller-node.ts";
import type { OwnedMetrics } from "./metrics-owner.ts";
import { scrapeSelf } from "./self-scrape.ts";

export interface OwnHeadOptions {
  readonly node: ControllerNode;
  readonly store: Store;
  readonly catalog: SegmentCatalog;
  /** Who does the upkeep, in the store. */
  readonly holder: string;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly host: string;
  readonly lakeDir: string;
  readonly clusterToken: string;
  readonly tls?: ClusterTls;
  /** A file. */
  readonly scrapeConfig: string | undefined;
}

/** A head that is closing elsewhere on this machine is waited for. */
const lockWaitMsMax = 2_000;

export async function startOwnHead(options: OwnHeadOptions): Promise<OwnedMetrics> {
  const { node, catalog, clock, prng, logger, lakeDir } = options;
  const walDir = join(lakeDir, "wal");
  mkdirSync(walDir, { recursive: true, mode: 0o700 });
  const scrape = readScrapeConfig(options.scrapeConfig);
  const lock = await lockDir(walDir, "lock", clock, lockWaitMsMax);
  let ingest: Ingest | undefined;
  try {
    ingest = await startIngest({
      walDir,
      lakeDir,
      clock,
      prng,
      logger,
      server: serverSettings(options),
      publish: async (add, remove) => {
        await catalog.publish({ add, remove }, grantOf(node));
      },
      publishedSealSeq: (lineage) => catalog.publishedSealSeq(lineage),
      ...(scrape === undefined ? {} : { scrape }),
    });
    const { url, incarnation } = await ingest.snapshot();
    await catalog.setHead({ url, incarnation }, grantOf(node));
  } catch (thrown) {
    await ingest?.close();
    lock.release();
    throw thrown;
  }
  const stopScraping = scrapeSelf(ingest, options);
  const maintenance = new Maintenance({
    store: options.store,
    catalog,
    lakeDir,
    lease: () => node.lease?.grant(),
    holder: options.holder,
    clock,
    logger,
  });
  maintenance.start();
  const running = ingest;
  return {
    ingest: running,
    failure: running.failure,
    async close() {
      stopScraping();
      await Promise.all([maintenance.close(), running.close()]);
      lock.release();
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

function grantOf({ lease }: ControllerNode): LeaseGrant {
  const grant = lease?.grant();
  if (grant !== undefined) return grant;
  throw new OperatingError("not_leader", "backoff", "this process does not hold the lease");
}

function readScrapeConfig(
  path: string | undefined,
): { readonly text: string; readonly baseDir: string } | undefined {
  if (path === undefined) return undefined;
  try {
    return { text: readFileSync(path, "utf8"), baseDir: dirname(path) };
  } catch (thrown) {
    const message = `cannot read --scrape-config ${path}: ${messageOf(thrown)}`;
    throw new OperatingError("bad_request", "never", message);
  }
}
