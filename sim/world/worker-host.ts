/** A worker's machine: a disk, and one life of a `WorkerNode` after another. */

import { lakeWriteWorkKind } from "../../src/data/lake/index.ts";
import type { AcceptLink } from "../../src/ground/cluster/core/index.ts";
import type { WorkerRegistration } from "../../src/ground/cluster/index.ts";
import { assert, OperatingError } from "../../src/ground/kernel/errors.ts";
import { parseIncarnation, parseWorkerId, type WorkerId } from "../../src/ground/kernel/ids.ts";
import type { Logger } from "../../src/ground/kernel/logger.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { Store } from "../../src/ground/store/index.ts";
import {
  dispatchByKind,
  type Executor,
  type WorkerQueryObserver,
} from "../../src/ground/work/core/index.ts";
import { WorkerNode } from "../../src/ground/work/node/worker-node.ts";
import { promqlWorkKind } from "../../src/kinds/ask/run/core/work-body.ts";
import type { Life } from "../engine/life.ts";
import type { Settings } from "../plan.ts";
import type { Seams } from "../seams.ts";
import type { StreamWorkerProcess } from "../streams/stream-processes.ts";
import type { StreamsWorld } from "../streams/streams-world.ts";
import type { TablesProcess, TablesWorld } from "../tables/tables-world.ts";
import { SimDisk } from "./disk.ts";
import type { SimNetwork } from "./network.ts";
import { type ExecutionProbe, SimExecutor, type TaskOf } from "./sim-executor.ts";
import type { ArtifactRequest } from "./sim-fetcher.ts";
import { SimSpool } from "./sim-spool.ts";
import { opaqueTasks, opaqueWorkKind } from "./work-body.ts";

/** A worker's registration with a coordinator. */
export interface RegisterRequest {
  readonly kind: "register";
  readonly registration: WorkerRegistration;
}

export interface WorkerHostOptions {
  readonly name: string;
  readonly coordinators: readonly string[];
  readonly settings: Settings;
  readonly seams: Seams;
  readonly network: SimNetwork;
  readonly prng: Prng;
  readonly probe: ExecutionProbe;
  /** How leaves of PromQL queries are executed. */
  readonly leafTasks: TaskOf;
  readonly observer: Partial<WorkerQueryObserver>;
  readonly logger: (life: Life) => Logger;
  /** Begins a life on this host. */
  readonly begin: (name: string) => Life;
  /** Called when the process wants to end and be restarted by its supervisor. */
  readonly exit: (life: Life) => void;
  /** Called when it was asked to end, which it must within `msMax`. */
  readonly shuttingDown: (life: Life, msMax: number) => void;
  readonly openStore: (life: Life) => Store;
  /** Undefined when it refreshes no tables, and needs no store. */
  readonly tables: TablesWorld | undefined;
  readonly streams: StreamsWorld | undefined;
}

/** 2 s for a registration under way, with some slack. */
const stopMsMax = 2_100;
const refreshesStopMsMax = 5_000;
const grpcPort = 7_000;
const dataPort = 7_001;

export class WorkerHost {
  readonly role = "worker";
  readonly name: string;
  readonly workerId: WorkerId;
  readonly disk = new SimDisk();
  readonly #options: WorkerHostOptions;
  life: Life | undefined;
  node: WorkerNode | undefined;
  spool: SimSpool | undefined;
  #refreshes: TablesProcess | undefined;
  streams: StreamWorkerProcess | undefined;

  constructor(options: WorkerHostOptions) {
    this.#options = options;
    this.name = options.name;
    const workerId = parseWorkerId(options.name);
    assert(workerId !== undefined, "a simulated worker has a valid name");
    this.workerId = workerId;
  }

  get isUp(): boolean {
    return this.life !== undefined && !this.life.isDown;
  }

  boot(): void {
    const { begin, network, seams, settings, observer, logger } = this.#options;
    const life = begin(this.name);
    const prng = this.#options.prng.fork(`life-${life.number}`);
    this.disk.wipe();
    const spool = new SimSpool(life, this.disk, settings.spoolBudgetBytes);
    const incarnation = parseIncarnation(`${this.name}.${life.number}`);
    assert(incarnation !== undefined, "a simulated incarnation is valid");
    const streams = this.#options.streams?.worker(life, logger(life));
    const node = new WorkerNode({
      clock: life,
      prng,
      logger: logger(life),
      workerId: this.workerId,
      incarnation,
      softwareVersion: "sim",
      capacity: settings.slots,
      executor: this.#executor(life),
      channels: streams?.channels ?? [],
      spool,
      dataUrl: () => `http://${this.name}:${dataPort}`,
      register: () => this.#register(life, prng, incarnation),
      onDropped: () => this.#options.exit(life),
      limits: {
        slots: settings.slots,
        queueMax: settings.queueMax,
        artifactTtlMs: settings.artifactTtlMs,
        artifactTtlAfterAckMs: settings.artifactTtlAfterAckMs,
      },
      observer,
      parts: seams.workerParts,
    });
    this.life = life;
    this.node = node;
    this.streams = streams;
    streams?.attach(node);
    this.spool = spool;
    const accept: AcceptLink = seams.accept(node.accept);
    network.attach(life, accept, (request) => this.#serve(spool, request as ArtifactRequest));
    this.#refreshes = undefined;
    const refreshes = this.#options.tables?.worker(
      life,
      this.#options.openStore(life),
      logger(life),
    );
    if (refreshes === undefined) {
      life.receive(() => node.start());
      return;
    }
    this.#refreshes = refreshes;
    // It does not start without its store; its supervisor tries again.
    const beginRefreshes = async (): Promise<void> => {
      try {
        await refreshes.begin();
      } catch {
        this.#options.exit(life);
        return;
      }
      node.start();
      refreshes.start();
    };
    life.receive(() => void beginRefreshes());
  }

  /** SIGTERM: drains up to `drainMs`, then exits. */
  shutDown(drainMs: number): void {
    const { life, node, streams } = this;
    if (life === undefined || node === undefined) return;
    const refreshes = this.#refreshes;
    const refreshesMs = refreshes === undefined ? 0 : refreshesStopMsMax;
    this.#options.shuttingDown(life, drainMs + stopMsMax + refreshesMs);
    const stop = async (): Promise<void> => {
      await refreshes?.stop();
      await node.drain(drainMs, streams === undefined ? [] : [() => streams.drained()]);
      await node.stop();
      this.#options.exit(life);
    };
    life.receive(() => void stop());
  }

  #executor(life: Life): Executor {
    const { probe, leafTasks, tables } = this.#options;
    return dispatchByKind({
      ...(tables === undefined ? {} : { [lakeWriteWorkKind]: tables.writer(life, probe) }),
      [opaqueWorkKind]: new SimExecutor(life, this.disk, probe, opaqueTasks()),
      [promqlWorkKind]: new SimExecutor(life, this.disk, probe, leafTasks),
    });
  }

  #serve(spool: SimSpool, { name }: ArtifactRequest): Promise<Uint8Array | undefined> {
    const file = spool.stat(name);
    return Promise.resolve(file === undefined ? undefined : this.disk.read(String(file.content)));
  }

  async #register(
    life: Life,
    prng: Prng,
    incarnation: WorkerRegistration["incarnation"],
  ): Promise<void> {
    const { network, coordinators, settings } = this.#options;
    const coordinator = coordinators[prng.below(coordinators.length)];
    if (coordinator === undefined) {
      throw new OperatingError("not_found", "never", "there is no coordinator");
    }
    const registration: WorkerRegistration = {
      workerId: this.workerId,
      hostName: this.name,
      grpcPort,
      dataPort,
      capacity: settings.slots,
      incarnation,
      softwareVersion: "sim",
    };
    const request: RegisterRequest = { kind: "register", registration };
    await network.request<void>(life, coordinator, request, 2_000);
  }
}
