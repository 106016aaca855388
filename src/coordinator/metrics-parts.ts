/** What a controller has of metrics: the segments it knows, the head while it leads, and PromQL over both. */
import { type Clock, sleep } from "../kernel/clock.ts";
import { OperatingError } from "../kernel/errors.ts";
import type { Health, HealthReporter } from "../kernel/health.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Prng } from "../kernel/prng.ts";
import { type HeadSnapshot, type IngestService, SegmentCatalog } from "../metrics/index.ts";
import type { Limits } from "../process/index.ts";
import type { ProcessMemory, PromqlObserver, StartedPromqlService } from "../queries/index.ts";
import { createPromqlService, createRemoteHead, queryMemoryOf } from "../queries/index.ts";
import type { LeaseGrant, Store } from "../store/index.ts";
import type { ControllerNode } from "./controller-node.ts";
import { MetricsOwner, type OwnedMetrics } from "./metrics-owner.ts";
import { sayWhoLeads } from "./not-leader.ts";

export interface MetricsPartsConfig {
  readonly node: ControllerNode;
  readonly store: Store | undefined;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly clusterToken: string;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  readonly health: Health;
  readonly observer: PromqlObserver;
  readonly warmUp: boolean;
  readonly limits: Limits;
  readonly memory: ProcessMemory;
  readonly leaseName: string;
  /** Starts the head, in a process that leads. */
  readonly startHead: (
    store: Store,
    catalog: SegmentCatalog,
    grant: LeaseGrant,
    health: HealthReporter,
  ) => Promise<OwnedMetrics>;
}

export interface MetricsParts {
  readonly promql: StartedPromqlService;
  /** Waits for a head that is just starting. Throws `not_leader` where another process has it. */
  ingest(): Promise<IngestService>;
  /** Resolves when the head broke; the process should end and be restarted. */
  readonly failure: Promise<OperatingError>;
  /** Follows the lease. */
  start(): void;
  /** The head goes first: what it still has to publish needs the lease. */
  stopHead(): Promise<void>;
  close(): Promise<void>;
}

const headWaitMsMax = 10_000;
const lastingCodes: ReadonlySet<string> = new Set([
  "data_dir_unusable",
  "disk_full",
  "store_corrupt",
]);
/** In a process that was started like that. */
const unopened =
  "the store cannot be written, and until then the log of the newest samples is not opened";

export function createMetricsParts(config: MetricsPartsConfig): MetricsParts {
  const { node, store, clock, prng, logger, clusterToken, tls, observer } = config;
  const catalog = store === undefined ? undefined : new SegmentCatalog({ store });
  const health = config.health.part("metrics_log", { vital: true });
  const owner =
    node.role === "query_api" || store === undefined || catalog === undefined
      ? undefined
      : new MetricsOwner({
          clock,
          logger,
          health,
          start: (grant) => config.startHead(store, catalog, grant, health),
          standsAsOurs: () => node.lease?.standsAsOurs() ?? false,
        });
  const remote = createRemoteHead({
    clock,
    owner: async () => await catalog?.head(),
    leader: async () => (store === undefined ? "" : await sayWhoLeads(store, config.leaseName)),
    clusterToken,
    ...(tls === undefined ? {} : { tls }),
  });
  const promql = createPromqlService({
    manager: node.manager,
    segments: { list: async (range) => (await catalog?.list(range)) ?? [] },
    head: (lastMs) =>
      owner === undefined ? remote.snapshot(lastMs) : ownSnapshot(owner, node, clock),
    headMissing: () => lastingTrouble(owner, node)?.message,
    clock,
    prng,
    logger,
    observer,
    warmUp: config.warmUp,
    limits: queryMemoryOf(config.memory),
    engine: {
      stepsMax: config.limits.query_steps,
      labelBytesMax: config.limits.query_label_bytes,
      matchersMax: config.limits.matchers_per_request,
    },
    computeUnits: () => computeUnits(node),
  });
  let unfollow: () => void = () => undefined;
  return {
    promql,
    async ingest() {
      const trouble = lastingTrouble(owner, node);
      if (trouble !== undefined) throw trouble;
      const ingest =
        owner === undefined ? undefined : await startedHead(owner, clock, () => node.leading());
      if (ingest !== undefined) return ingest;
      const message = "this process does not take samples in: it does not lead";
      throw new OperatingError("not_leader", "backoff", message);
    },
    failure: owner?.failure ?? new Promise(() => undefined),
    start() {
      const { lease } = node;
      if (owner === undefined || lease === undefined) return;
      const unsubscribe = [
        lease.onChange((grant) => owner.leaseChanged(grant)),
        lease.onStanding(() => health.degraded(`no samples are taken in: ${unopened}`)),
      ];
      unfollow = () => {
        for (const each of unsubscribe) each();
      };
      const grant = lease.grant();
      if (grant !== undefined) owner.leaseChanged(grant);
    },
    async stopHead() {
      unfollow();
      await owner?.stop();
    },
    async close() {
      remote.close();
      await promql.close();
    },
  };
}

/** A head that is just starting is waited for: without it the newest samples would be missing. */
async function ownSnapshot(
  owner: MetricsOwner,
  node: ControllerNode,
  clock: Clock,
): Promise<HeadSnapshot | undefined> {
  const isExpected = (): boolean => lastingTrouble(owner, node) === undefined;
  const ingest = await startedHead(owner, clock, isExpected);
  if (!isExpected()) return undefined; // Answers warn of it.
  if (ingest !== undefined) return await ingest.snapshot();
  const message = "the newest samples cannot be read yet: their log is being opened";
  throw new OperatingError("worker_unreachable", "backoff", message);
}

/**
 * What somebody has to mend before there is a head again: until then the segments alone can be
 * read.
 */
function lastingTrouble(
  owner: MetricsOwner | undefined,
  node: ControllerNode,
): OperatingError | undefined {
  const trouble = owner?.trouble();
  if (trouble !== undefined && lastingCodes.has(trouble.code)) return trouble;
  const isUnwritable = !node.leading() && node.lease?.standsAsOurs() === true;
  if (owner === undefined || owner.current() !== undefined || !isUnwritable) return undefined;
  return new OperatingError("store_unavailable", "backoff", unopened);
}

/** `undefined`: there is none, and waiting for it longer would not help. */
async function startedHead(
  owner: MetricsOwner,
  clock: Clock,
  isExpected: () => boolean,
): Promise<IngestService | undefined> {
  const untilMs = clock.nowMs() + headWaitMsMax;
  for (;;) {
    const ingest = owner.current();
    if (ingest !== undefined) return ingest;
    if (!isExpected() || clock.nowMs() > untilMs) return undefined;
    await sleep(clock, 20);
  }
}

/** Threads of all workers; one that does not say has one for each of its slots. */
function computeUnits({ pool }: ControllerNode): number {
  let units = 0;
  for (const { live } of pool.views()) {
    if (live === undefined) continue;
    units += Number(live.facts.compute_threads ?? live.capacity) || 1;
  }
  return units;
}
