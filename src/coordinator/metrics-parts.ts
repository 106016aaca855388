/** What a controller has of metrics: the segments it knows, the head while it leads, and PromQL over both. */
import { type Clock, sleep } from "../kernel/clock.ts";
import { OperatingError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Prng } from "../kernel/prng.ts";
import { type HeadSnapshot, type IngestService, SegmentCatalog } from "../metrics/index.ts";
import type { PromqlObserver, StartedPromqlService } from "../queries/index.ts";
import { createPromqlService, createRemoteHead } from "../queries/index.ts";
import type { Store } from "../store/index.ts";
import type { ControllerNode } from "./controller-node.ts";
import { MetricsOwner, type OwnedMetrics } from "./metrics-owner.ts";

export interface MetricsPartsConfig {
  readonly node: ControllerNode;
  readonly store: Store | undefined;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly clusterToken: string;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  readonly observer: PromqlObserver;
  readonly warmUp: boolean;
  /** Starts the head, in a process that leads. */
  readonly startHead: (store: Store, catalog: SegmentCatalog) => Promise<OwnedMetrics>;
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

export function createMetricsParts(config: MetricsPartsConfig): MetricsParts {
  const { node, store, clock, prng, logger, clusterToken, tls, observer } = config;
  const catalog = store === undefined ? undefined : new SegmentCatalog({ store });
  const owner =
    node.role === "query_api" || store === undefined || catalog === undefined
      ? undefined
      : new MetricsOwner({ clock, logger, start: () => config.startHead(store, catalog) });
  const remote = createRemoteHead({
    clock,
    owner: async () => await catalog?.head(),
    clusterToken,
    ...(tls === undefined ? {} : { tls }),
  });
  const promql = createPromqlService({
    manager: node.manager,
    segments: { list: async (range) => (await catalog?.list(range)) ?? [] },
    head: () => (owner === undefined ? remote.snapshot() : ownSnapshot(owner, clock)),
    clock,
    prng,
    logger,
    observer,
    warmUp: config.warmUp,
    computeUnits: () => computeUnits(node),
  });
  let unfollow: () => void = () => undefined;
  return {
    promql,
    async ingest() {
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
      unfollow = lease.onChange((grant) => owner.leaseChanged(grant !== undefined));
      if (lease.grant() !== undefined) owner.leaseChanged(true);
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
async function ownSnapshot(owner: MetricsOwner, clock: Clock): Promise<HeadSnapshot> {
  const ingest = await startedHead(owner, clock, () => true);
  if (ingest !== undefined) return await ingest.snapshot();
  const message = "the newest samples cannot be read yet: their log is being opened";
  throw new OperatingError("worker_unreachable", "backoff", message);
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
