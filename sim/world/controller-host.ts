/** A coordinator's or query-api's machine: one life of a `ControllerNode` after another. */

import {
  defaultSessionTiming,
  type SessionObserver,
  storeDiscovery,
} from "../../src/ground/cluster/index.ts";
import { sleep } from "../../src/ground/kernel/clock.ts";
import { assert, OperatingError } from "../../src/ground/kernel/errors.ts";
import { parseControllerId } from "../../src/ground/kernel/ids.ts";
import type { Logger } from "../../src/ground/kernel/logger.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { Store, WatchCondition, WatchEvent } from "../../src/ground/store/index.ts";
import type { ApiQueryObserver } from "../../src/ground/work/core/index.ts";
import type { ControllerNode, LeaseOptions } from "../../src/ground/work/node/controller-node.ts";
import { streamChannel } from "../../src/kinds/stream/fleet/index.ts";
import { auditedBoard, type BoardCheck } from "../checks/board-check.ts";
import type { Subscriber } from "../checks/watch-check.ts";
import type { Life } from "../engine/life.ts";
import type { LoadCoordinator, LoadWorld } from "../load/load-world.ts";
import type { Settings } from "../plan.ts";
import type { Seams } from "../seams.ts";
import type { StreamCoordinator } from "../streams/stream-processes.ts";
import type { StreamsWorld } from "../streams/streams-world.ts";
import type { TableService } from "../tables/table-clients.ts";
import type { TablesProcess, TablesWorld } from "../tables/tables-world.ts";
import { SimDisk } from "./disk.ts";
import type { SimNetwork } from "./network.ts";
import type { RegisterRequest } from "./worker-host.ts";

export interface ControllerHostOptions {
  readonly name: string;
  readonly role: "coordinator" | "query_api";
  readonly settings: Settings;
  readonly seams: Seams;
  readonly network: SimNetwork;
  readonly prng: Prng;
  readonly queryObserver: Partial<ApiQueryObserver>;
  readonly sessionObserver: Partial<SessionObserver>;
  readonly logger: (life: Life) => Logger;
  readonly begin: (name: string) => Life;
  readonly exit: (life: Life) => void;
  /** Called when it was asked to end, which it must within `msMax`. */
  readonly shuttingDown: (life: Life, msMax: number) => void;
  readonly openStore: (life: Life) => Store;
  readonly tables: TablesWorld | undefined;
  readonly load: LoadWorld | undefined;
  readonly streams: StreamsWorld | undefined;
  readonly newBoardCheck: (name: string) => BoardCheck;
  /** What its subscriber wants to see of the workers table. */
  readonly watches: "all" | "active" | "nothing";
  readonly newSubscriber: (name: string, onlyActive: boolean) => Subscriber;
  /** 0 when it no longer leads. */
  readonly leadershipChanged: (life: Life, leaseEpoch: number) => void;
  /** Called with the code of the refusal; undefined when the registration was accepted. */
  readonly registered: (refusal: string | undefined) => void;
}

/** Who is told of the changes of a table. */
interface Following {
  readonly revision: Subscriber["revision"];
  apply(event: WatchEvent): void;
}

const activeOnly: readonly WatchCondition[] = [
  { kind: "compare", column: "state", op: "=", value: "ACTIVE" },
];
const fetchTimeoutMs = 5_000;
/** 2 s each for membership and the lease, with some slack. */
const stopMsMax = 4_200;
const tablesStopMsMax = 2_000;
const loadStopMsMax = 3_000;
const streamsStopMsMax = 2_000;

export class ControllerHost {
  readonly name: string;
  readonly role: "coordinator" | "query_api";
  readonly #options: ControllerHostOptions;
  life: Life | undefined;
  node: ControllerNode | undefined;
  /** For clients of the lake. */
  tableService: TableService | undefined;
  #tables: TablesProcess | undefined;
  load: LoadCoordinator | undefined;
  streams: StreamCoordinator | undefined;
  /** Where fetched artifacts are; it does not outlive its process. */
  disk = new SimDisk();
  boardCheck: BoardCheck;
  subscriber: Subscriber | undefined;
  isStopping = false;

  constructor(options: ControllerHostOptions) {
    this.#options = options;
    this.name = options.name;
    this.role = options.role;
    this.boardCheck = options.newBoardCheck(options.name);
  }

  get isUp(): boolean {
    return this.life !== undefined && !this.life.isDown;
  }

  get leads(): boolean {
    return this.isUp && this.node?.leading() === true;
  }

  /** Whether a client's query is taken here. */
  get serves(): boolean {
    return this.isUp && !this.isStopping && (this.role === "query_api" || this.leads);
  }

  boot(): void {
    const { begin, network, seams, settings, logger, openStore, role, name } = this.#options;
    const life = begin(name);
    const prng = this.#options.prng.fork(`life-${life.number}`);
    const store = openStore(life);
    const controllerId = parseControllerId(`${name}.${life.number}`);
    assert(controllerId !== undefined, "a simulated controller has a valid id");
    this.disk = new SimDisk();
    this.isStopping = false;
    this.boardCheck = this.#options.newBoardCheck(name);
    const node = new seams.ControllerNode({
      role,
      controllerId,
      clock: life,
      prng,
      logger: logger(life),
      dialer: network.dialer(life),
      channels: this.#options.streams === undefined ? [] : [streamChannel],
      fetcher: new seams.Fetcher(life, this.disk, network, fetchTimeoutMs),
      store,
      discovery: storeDiscovery({
        store,
        clock: life,
        logger: logger(life),
        intervalMs: settings.discoveryMs,
      }),
      ...(role === "coordinator" ? { lease: this.#leaseOptions() } : {}),
      limits: { queriesMax: settings.queriesMax },
      timing: { ...defaultSessionTiming, heartbeatMs: settings.heartbeatMs },
      queryObserver: this.#options.queryObserver,
      sessionObserver: this.#options.sessionObserver,
      parts: {
        ...seams.controllerParts,
        WorkBoard: auditedBoard(seams.Board, this.boardCheck),
      },
    });
    this.life = life;
    this.node = node;
    this.tableService = this.#options.tables?.service(life, node, store);
    this.#tables =
      role === "coordinator" && this.tableService !== undefined
        ? this.#options.tables?.coordinator(this.tableService, node, logger(life))
        : undefined;
    this.load =
      role === "coordinator"
        ? this.#options.load?.coordinator(life, node, store, logger(life))
        : undefined;
    this.streams =
      role === "coordinator"
        ? this.#options.streams?.coordinator(life, node, store, network.asker(life), logger(life))
        : undefined;
    network.attach(life, undefined, (request) => this.#serve(node, request as RegisterRequest));
    life.receive(() => {
      node.lease?.onChange((grant) => this.#options.leadershipChanged(life, grant?.epoch ?? 0));
      node.start();
      this.#tables?.start();
      this.load?.start();
      this.streams?.start();
      if (this.#options.watches !== "nothing") this.subscriber = this.#subscribe(life, store);
    });
  }

  /** SIGTERM: stops within bounds, then exits. */
  shutDown(drainMs: number): void {
    const { life, node } = this;
    if (life === undefined || node === undefined || this.isStopping) return;
    this.isStopping = true;
    const tables = this.#tables;
    const { load, streams } = this;
    const tablesMs = tables === undefined ? 0 : tablesStopMsMax;
    const loadMs = load === undefined ? 0 : loadStopMsMax;
    const streamsMs = streams === undefined ? 0 : streamsStopMsMax;
    this.#options.shuttingDown(life, drainMs + stopMsMax + tablesMs + loadMs + streamsMs);
    const stop = async (): Promise<void> => {
      await load?.stop();
      await tables?.stop();
      await streams?.stop();
      await node.stop({ drainMs });
      this.#options.exit(life);
    };
    life.receive(() => void stop());
  }

  #leaseOptions(): LeaseOptions {
    const { name, settings } = this.#options;
    const { leaseMs, renewMs } = settings;
    return { holder: name, apiUrl: `http://${name}`, leaseMs, renewMs };
  }

  async #serve(node: ControllerNode, { registration }: RegisterRequest): Promise<void> {
    try {
      await node.registerWorker(registration);
      this.#options.registered(undefined);
    } catch (thrown) {
      if (thrown instanceof OperatingError) this.#options.registered(thrown.code);
      throw thrown;
    }
  }

  #subscribe(life: Life, store: Store): Subscriber {
    const onlyActive = this.#options.watches === "active";
    const label = onlyActive ? "the filtered watch" : "the watch";
    const subscriber = this.#options.newSubscriber(`${label} of ${life.name}`, onlyActive);
    void this.#follow(life, store, "workers", onlyActive ? activeOnly : [], subscriber);
    const { streams } = this.#options;
    const queries = streams?.newSubscriber(`the watch of queries of ${life.name}`);
    if (queries !== undefined) void this.#follow(life, store, "queries", [], queries);
    return subscriber;
  }

  /** As a browser does: resumes after an error from the last revision that it saw. */
  async #follow(
    life: Life,
    store: Store,
    table: "workers" | "queries",
    where: readonly WatchCondition[],
    subscriber: Following,
  ): Promise<void> {
    const { signal } = new AbortController();
    for (;;) {
      try {
        const events = this.#options.seams.watch(store, {
          table,
          where,
          fromRevision: subscriber.revision,
          signal,
        });
        for await (const event of events) subscriber.apply(event);
      } catch {
        await sleep(life, 300);
      }
    }
  }
}
