/** What coordinators and workers of a world do for streams, put together as their parts do it. */
import { LakeStore, type ObjectStore } from "../../src/data/lake/index.ts";
import type {
  Dialer,
  WorkerChannel,
  WorkerEndpoint,
  WorkerPool,
} from "../../src/ground/cluster/index.ts";
import { sleep } from "../../src/ground/kernel/clock.ts";
import type { WorkerId } from "../../src/ground/kernel/ids.ts";
import type { Logger } from "../../src/ground/kernel/logger.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { Store } from "../../src/ground/store/index.ts";
import type { ControllerNode } from "../../src/ground/work/node/controller-node.ts";
import type { WorkerNode } from "../../src/ground/work/node/worker-node.ts";
import { planStatements } from "../../src/kinds/stream/catalog/core/planning/plan-statements.ts";
import {
  createReadLakeTables,
  createReadSnapshot,
  createWorkerDial,
  type StreamCatalog,
} from "../../src/kinds/stream/catalog/index.ts";
import {
  createFleet,
  createStateStorage,
  leaveCluster,
  StreamWorker,
  sendReport,
  streamChannelOf,
  tellStates,
} from "../../src/kinds/stream/fleet/index.ts";
import type { EdgeName } from "../../src/kinds/stream/run/exchange/edge-hub.ts";
import { EdgeHub, unlimitedMemory } from "../../src/kinds/stream/run/index.ts";
import type { HostProbe } from "../checks/fragments-check.ts";
import type { Life } from "../engine/life.ts";
import type { StreamsSettings } from "./plan-streams.ts";
import { createSimConnectors, type SinkTable } from "./sim-connectors.ts";
import type { SimExchange } from "./sim-exchange.ts";
import type { StreamObjects } from "./stream-files.ts";
import type { StreamSeams } from "./stream-seams.ts";

export interface StreamCoordinator {
  readonly life: Life;
  readonly store: Store;
  readonly catalog: StreamCatalog;
  readonly lake: LakeStore;
  start(): void;
  stop(): Promise<void>;
}

export interface CoordinatorParts {
  readonly life: Life;
  readonly node: ControllerNode;
  readonly seams: StreamSeams;
  readonly store: Store;
  readonly dialer: Dialer;
  readonly objects: StreamObjects;
  readonly settings: StreamsSettings;
  readonly prng: Prng;
  readonly logger: Logger;
}

export function createStreamCoordinator(parts: CoordinatorParts): StreamCoordinator {
  const { life, node, store, dialer, objects, settings, prng, logger, seams } = parts;
  const lake = new LakeStore({ store, prng: prng.fork("lake") });
  const catalog = new seams.StreamCatalog({
    // In this thread: plans are a pure function of statements and snapshot.
    planner: { plan: async (statements, snapshot) => planStatements(statements, snapshot) },
    readSnapshot: createReadSnapshot(createReadLakeTables(async () => new Map())),
    store,
    lease: () => node.lease?.grant(),
    dialWorker: createWorkerDial({ dialer, clock: life, prng: prng.fork("dial") }),
    clock: life,
  });
  const fleet = createFleet({
    node: withPool(node, seams.pool(node.pool)),
    ...{ store, catalog: lake, clock: life, prng: prng.fork("fleet"), logger },
    objects: objects as Partial<ObjectStore> as ObjectStore, // Checkpoints are only deleted here.
    limits: { deployTimeoutMs: settings.deployTimeoutMs, softStopMs: settings.softStopMs },
  });
  return {
    ...{ life, store, catalog, lake },
    start: () => fleet.start(),
    stop: () => Promise.race([fleet.stop(), sleep(life, 2_000)]),
  };
}

/** The node as the fleet sees it. */
function withPool(node: ControllerNode, given: WorkerPool): ControllerNode {
  if (given === node.pool) return node;
  const { listen, send } = given;
  const view = (workerId: WorkerId) => node.pool.view(workerId);
  const pool = { value: { listen, send, view } };
  return Object.create(node, { pool }) as ControllerNode;
}

export interface StreamWorkerProcess {
  readonly life: Life;
  readonly hub: EdgeHub;
  readonly worker: StreamWorker;
  /** What the worker says that it has. */
  readonly facts: ReadonlySet<string>;
  readonly channels: readonly WorkerChannel[];
  attach(node: WorkerNode): void;
  /** Resolves when nothing holds a worker that leaves. */
  drained(): Promise<void>;
}

export interface WorkerParts {
  readonly life: Life;
  readonly exchange: SimExchange;
  readonly probe: HostProbe;
  readonly seams: StreamSeams;
  readonly objects: StreamObjects;
  readonly tableOf: (name: string) => SinkTable | undefined;
  readonly newPath: (table: string) => string;
  readonly logger: Logger;
}

export function createStreamWorker(parts: WorkerParts): StreamWorkerProcess {
  const { life, exchange, objects, logger } = parts;
  const hub = new EdgeHub();
  let endpoint: WorkerEndpoint | undefined;
  const options = {
    connectors: createSimConnectors(parts),
    clock: life,
    hub,
    sendTo: (address: string, name: EdgeName) => exchange.send(life, address, name),
    memory: unlimitedMemory(),
    giveWay: () => Promise.resolve(),
  };
  const facts = new Set<string>();
  const worker = new StreamWorker({
    openHost: () => new parts.seams.Host(options, life, parts.probe),
    states: createStateStorage({
      objects: objects as Partial<ObjectStore> as ObjectStore,
      files: objects.stage.port,
      stagingDir: "staging",
    }),
    facts: {
      setFact(key, value) {
        facts.add(key);
        endpoint?.setFact(key, value);
      },
      unsetFact(key) {
        facts.delete(key);
        endpoint?.unsetFact(key);
      },
      get factsVersion() {
        return endpoint?.factsVersion ?? 0;
      },
    },
    report: (session, report) => {
      if (endpoint !== undefined) sendReport(endpoint, session, report);
    },
    tell: (report) => {
      if (endpoint !== undefined) tellStates(endpoint, report);
    },
    clock: life,
    logger,
  });
  exchange.attach(life, hub);
  const sessions = (): ReturnType<WorkerEndpoint["sessions"]> => endpoint?.sessions() ?? [];
  const hasCoordinator = (): boolean => sessions().some(({ role }) => role === "coordinator");
  return {
    ...{ life, hub, worker, facts },
    channels: [streamChannelOf({ worker, sessions, logger })],
    attach(node) {
      endpoint = node.endpoint;
    },
    drained: () => leaveCluster({ worker, hasCoordinator, clock: life, logger }),
  };
}
