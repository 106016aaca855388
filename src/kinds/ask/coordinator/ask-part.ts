/**
 * The metrics part of a coordinator or a query-api: the segments it knows, the head while it leads,
 * and PromQL over both.
 */
import type {
  ControllerContext,
  ControllerPart,
  CoordinatorContext,
} from "../../../data/parts/index.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { stopStep } from "../../../ground/process/index.ts";
import type { ControllerNode } from "../../../ground/work/index.ts";
import { readTargetsAttention } from "../http/attention.ts";
import { installPrometheus } from "../http/install.ts";
import { type HeadSnapshot, type IngestService, SegmentCatalog } from "../metrics/index.ts";
import {
  createPromqlMetrics,
  createPromqlService,
  createRemoteHead,
  type PromqlServiceDeps,
  queryMemoryOf,
  type StartedPromqlService,
} from "../run/index.ts";
import { MetricsOwner } from "./metrics-owner.ts";
import { type OwnHeadSettings, readScrapeSettings, startOwnHead } from "./own-head.ts";
import { askedOfLeader, observePromql } from "./promql-port.ts";

const headWaitMsMax = 10_000;
const lastingCodes: ReadonlySet<string> = new Set([
  "data_dir_unusable",
  "disk_full",
  "store_corrupt",
]);
/** The reason of a process that was started while the store could not be written. */
const unopened =
  "the store cannot be written, and until then the log of the newest samples is not opened";

/**
 * The part of a coordinator, which owns the head while it leads, or of a query-api with a store.
 */
export function createAskPart(
  context: CoordinatorContext,
  options: OwnHeadSettings,
): ControllerPart {
  if (context.role === "query_api")
    return createAskReplicaPart(context, new SegmentCatalog(context));
  const { node, store, clock, logger } = context;
  const scrape = readScrapeSettings(options);
  const catalog = new SegmentCatalog({ store });
  const health = context.health.part("metrics_log", { vital: true });
  const owner = new MetricsOwner({
    clock,
    logger,
    health,
    start: (grant) => startOwnHead(context, { ...options, catalog, grant, health, scrape }),
    standsAsOurs: () => node.lease?.standsAsOurs() ?? false,
  });
  const promql = startPromql(context, {
    segments: catalog,
    head: () => ownSnapshot(owner, node, clock),
    headMissing: () => lastingTrouble(owner, node)?.message,
  });
  let unfollow: () => void = () => undefined;
  return {
    ...partOf(context, promql, () => ownIngest(owner, node, clock)),
    failure: owner.failure,
    start() {
      unfollow = followLease(node, owner, () => {
        health.degraded(`no samples are taken in: ${unopened}`);
      });
    },
    // The head needs the lease to publish its last samples.
    quiesce: [
      stopStep("close head", 5_000, async () => {
        unfollow();
        await owner.stop();
      }),
    ],
  };
}

/**
 * The part of a query-api, which asks the owner of the head. Without a store there is no `catalog`.
 */
export function createAskReplicaPart(
  context: ControllerContext,
  catalog?: SegmentCatalog,
): ControllerPart {
  const { clock, clusterToken, leadership } = context;
  context.health.part("metrics_log", { vital: true });
  const remote = createRemoteHead({
    clock,
    owner: async () => await catalog?.head(),
    leader: () => leadership.sayWho(),
    clusterToken,
    ...context.tls,
  });
  const promql = startPromql(context, {
    segments: { list: async (range) => (await catalog?.list(range)) ?? [] },
    head: (lastMs) => remote.snapshot(lastMs),
    headMissing: () => undefined,
  });
  const part = partOf(context, promql, async () => {
    throw takesNone();
  });
  return {
    ...part,
    close: [stopStep("close head's client", 500, () => remote.close()), ...part.close],
  };
}

type Sources = Pick<PromqlServiceDeps, "segments" | "head" | "headMissing">;

function startPromql(context: ControllerContext, sources: Sources): StartedPromqlService {
  const { node, limits, shares } = context;
  return createPromqlService({
    ...sources,
    manager: node.manager,
    clock: context.clock,
    prng: context.prng.fork("promql"),
    logger: context.logger,
    observer: observePromql(createPromqlMetrics(context.metrics), context.tracing),
    warmUp: context.warmUp,
    limits: { ...queryMemoryOf(shares.memory), evalThreads: shares.cpu.computeThreads },
    engine: {
      stepsMax: limits.query_steps,
      labelBytesMax: limits.query_label_bytes,
      matchersMax: limits.matchers_per_request,
    },
    computeUnits: () => computeUnits(node),
  });
}

function partOf(
  { leadership }: ControllerContext,
  promql: StartedPromqlService,
  ingest: () => Promise<IngestService>,
) {
  const asked = askedOfLeader(promql, () => leadership.check());
  return {
    name: "ask",
    routes: (app, http) => installPrometheus(app, { promql: asked, ingest }, http),
    attention: { "scrape targets": () => readTargetsAttention(ingest) },
    waiting: () => promql.waiting(),
    close: [stopStep("close promql", 3_000, () => promql.close())],
  } satisfies ControllerPart;
}

/** Waits for a starting head. Throws `not_leader` when another process has it. */
async function ownIngest(
  owner: MetricsOwner,
  node: ControllerNode,
  clock: Clock,
): Promise<IngestService> {
  const trouble = lastingTrouble(owner, node);
  if (trouble !== undefined) throw trouble;
  const ingest = await startedHead(owner, clock, () => node.leading());
  if (ingest !== undefined) return ingest;
  throw takesNone();
}

function takesNone(): OperatingError {
  const message = "this process does not take samples in: it does not lead";
  return new OperatingError("not_leader", "backoff", message);
}

function followLease(
  { lease }: ControllerNode,
  owner: MetricsOwner,
  onStanding: () => void,
): () => void {
  if (lease === undefined) return () => undefined;
  const unsubscribe = [
    lease.onChange((grant) => owner.leaseChanged(grant)),
    lease.onStanding(onStanding),
  ];
  const grant = lease.grant();
  if (grant !== undefined) owner.leaseChanged(grant);
  return () => {
    for (const each of unsubscribe) each();
  };
}

/** Waits for a starting head: without it the newest samples would be missing. */
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
 * A problem that needs an operator before there is a head again. Until then only the segments can
 * be read.
 */
function lastingTrouble(owner: MetricsOwner, node: ControllerNode): OperatingError | undefined {
  const trouble = owner.trouble();
  if (trouble !== undefined && lastingCodes.has(trouble.code)) return trouble;
  const isUnwritable = !node.leading() && node.lease?.standsAsOurs() === true;
  if (owner.current() !== undefined || !isUnwritable) return undefined;
  return new OperatingError("store_unavailable", "backoff", unopened);
}

/** Returns undefined when there is no head and waiting longer would not help. */
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

/** The compute threads of all workers. A worker that reports none counts one for each slot. */
function computeUnits({ pool }: ControllerNode): number {
  let units = 0;
  for (const { live } of pool.views()) {
    if (live === undefined) continue;
    units += Number(live.facts.compute_threads ?? live.capacity) || 1;
  }
  return units;
}
