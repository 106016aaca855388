/** The reconcilers of a coordinator, over its sessions and its store. */
import type { LakeStore, ObjectStore } from "../../../../data/lake/index.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { parseWorkerId } from "../../../../ground/kernel/ids.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import type { Prng } from "../../../../ground/kernel/prng.ts";
import type { Metrics } from "../../../../ground/observe/index.ts";
import type { Store } from "../../../../ground/store/index.ts";
import type { ControllerNode } from "../../../../ground/work/index.ts";
import type { SpeaksStreams } from "../../catalog/index.ts";
import { LiveFigures } from "../core/live-figures.ts";
import type { StreamLoad } from "../core/stream-gauges.ts";
import type { ReadLiveQuery } from "../http/live-routes.ts";
import { QueryReconcilers, type QueryReconcilersOptions } from "../reconcile/query-reconcilers.ts";
import { fleetOf, streamChannel } from "../wire/stream-channel.ts";
import { createCatalogPlacer } from "./catalog-placer.ts";
import { createCatalogPlans } from "./catalog-plans.ts";
import { readLive } from "./read-live.ts";
import { QueriesWatch } from "./watch-queries.ts";

export interface FleetOptions extends Pick<QueryReconcilersOptions, "limits"> {
  readonly node: ControllerNode;
  readonly store: Store;
  /** The lake's catalog and files. */
  readonly catalog: LakeStore;
  readonly objects: ObjectStore;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  /** Absent where no one reads them. */
  readonly metrics?: Metrics;
  /** Where this coordinator gives its own streams. */
  readonly dataUrl?: string;
}

export interface StreamFleet {
  start(): void;
  stop(): Promise<void>;
  /** Whether nothing is left to do at the moment. */
  idle(): boolean;
  /** What a query does at this moment. */
  readonly live: ReadLiveQuery;
  /** Throws `not_leader`. */
  load(): Promise<StreamLoad>;
}

export function createFleet({
  node,
  store,
  catalog,
  objects,
  prng,
  metrics,
  dataUrl,
  ...options
}: FleetOptions): StreamFleet {
  const addressOf = dataUrlOf(node);
  const { clock } = options;
  const lease = () => node.lease?.grant();
  const figures = new LiveFigures();
  const reconcilers = new QueryReconcilers({
    ...options,
    store,
    lake: { store, catalog, objects, clock, prng: prng.fork("stream commits") },
    prng: prng.fork("streams"),
    lease,
    fleet: fleetOf(node.pool),
    plans: createCatalogPlans(store, addressOf, dataUrl),
    placer: createCatalogPlacer(speaksStreams(node)),
    onStatistics: (workerId, report) => figures.told(workerId, report, clock.nowMs()),
  });
  const watch = new QueriesWatch({ ...options, store, lease, figures, metrics });
  let unfollow: (() => void) | undefined;
  return {
    start() {
      unfollow = node.lease?.onChange(() => {
        reconcilers.leaseChanged();
        watch.leaseChanged();
      });
      reconcilers.start();
      watch.start();
    },
    async stop() {
      unfollow?.();
      await Promise.all([reconcilers.stop(), watch.stop()]);
    },
    idle: () => reconcilers.idle(),
    load: () => watch.load(),
    live: (name) => readLive({ store, lease, figures, clock }, name),
  };
}

/** Where a worker's data port is; `undefined` while it has no session. */
export function dataUrlOf(node: ControllerNode): (workerId: string) => string | undefined {
  return (name) => {
    const workerId = parseWorkerId(name);
    return workerId && node.pool.view(workerId)?.live?.dataUrl;
  };
}

/** What the worker's session says; `undefined` while it has none. */
export function speaksStreams({ pool }: Pick<ControllerNode, "pool">): SpeaksStreams {
  return (name) => {
    const workerId = parseWorkerId(name);
    return workerId && pool.view(workerId)?.live?.channels.has(streamChannel.name);
  };
}
