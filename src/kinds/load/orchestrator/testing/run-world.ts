/**
 * Coordinators, a machine with workers, and a target, in virtual time on one database in memory.
 */

import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import {
  createSharedSqlite,
  type LeaseGrant,
  openSimStore,
  type Store,
} from "../../../../ground/store/index.ts";
import { workerRow } from "../../../../ground/store/testing/worker-row.ts";
import type { RunId } from "../../core/ids.ts";
import type { Operation } from "../../core/operation.ts";
import { isTerminal } from "../../core/run-state.ts";
import type { RunUpdate } from "../../core/run-update.ts";
import type { Scenario } from "../../core/scenario.ts";
import type { ServerPoll, Target, TargetCapabilities } from "../../core/target.ts";
import { HostSpawner } from "../../host/host-spawner.ts";
import { ProcessHost } from "../../host/process-host.ts";
import { ProcessStore } from "../../store/process-store.ts";
import { StoreWorkerControl } from "../../store/store-worker-control.ts";
import { leaseName, takeLease } from "../../store/testing/load-fixture.ts";
import type { EnrichmentPoll, RunRecords, TargetFactory } from "../ports.ts";
import { RunOrchestrator } from "../run-orchestrator.ts";
import { FakeMachine, type FakeSpawner } from "./fake-machine.ts";

export interface Coordinator {
  readonly orchestrator: RunOrchestrator;
  readonly spawner: FakeSpawner;
  /** As SIGKILL does: nothing of it happens any more. */
  crash(): void;
}

export interface Host {
  readonly machine: FakeMachine;
  /** Its process that looks after load workers, as after a restart. */
  startAnew(): ProcessHost;
}

export class RunWorld {
  readonly clock = new VirtualClock();
  readonly store: Store;
  readonly machine: FakeMachine;
  readonly target = new FakeTarget();
  openTarget: TargetFactory = async () => this.target;
  /** What the server tells of the run's queries, poll by poll; or why it does not. */
  enrichment: EnrichmentPoll[] | string = [];
  /** Capstan's workers that do not know the store, and say so. */
  readonly unable = new Set<string>();
  /** Capstan's workers of which a part has failed. */
  readonly unwell = new Set<string>();
  /** Of the coordinators' next commits so many are done, and nobody learns of it. */
  answersLost = 0;
  percentiles: Awaited<ReturnType<RunRecords["percentiles"]>>;
  readonly #database: ReturnType<typeof createSharedSqlite>;
  #epoch = 0;

  constructor() {
    this.#database = createSharedSqlite(() => this.clock.wallMs());
    this.store = openSimStore({ database: this.#database });
    this.machine = new FakeMachine(this.clock, this.#control);
  }

  readonly #control = (): StoreWorkerControl =>
    new StoreWorkerControl(openSimStore({ database: this.#database }), { leaseName });

  /** A coordinator that leads from now on. */
  async lead(): Promise<Coordinator> {
    this.#epoch += 1;
    const lease = await takeLease(this.store, this.#epoch, 1e9);
    const holder: { lease: LeaseGrant | undefined } = { lease };
    const spawner = this.machine.createSpawner();
    const store = this.#openStore();
    const orchestrator = new RunOrchestrator({
      store,
      spawner: new HostSpawner({
        here: spawner,
        processes: new ProcessStore(store),
        isAble: (name) => !this.unable.has(name),
        lease: () => holder.lease,
        coordinatorUrl: "http://coordinator",
        clock: this.clock,
        logger: silentLogger,
      }),
      openTarget: (...asked) => this.openTarget(...asked),
      records: {
        percentiles: async () => this.percentiles,
        enrich: async () => {
          if (typeof this.enrichment !== "string") return this.enrichment.shift() ?? { ratio: 0 };
          throw new OperatingError("target_unreachable", "backoff", this.enrichment);
        },
        remove: async () => undefined,
      },
      clusterToken: "cluster-token",
      lease: () => holder.lease,
      clock: this.clock,
      prng: createPrng(`world/${this.#epoch}`),
      logger: silentLogger,
    });
    orchestrator.open();
    await this.clock.advance(0);
    return {
      orchestrator,
      spawner,
      crash: () => {
        holder.lease = undefined;
        spawner.isBroken = true;
      },
    };
  }

  /** One of Capstan's workers, on another machine. It does nothing until it is started. */
  async addHost(name: string, { hostName = `${name}.example`, capacity = 4 } = {}): Promise<Host> {
    await this.store.catalogTransaction((tx) =>
      tx.insert("workers", workerRow(name, { host_name: hostName, capacity })),
    );
    const machine = new FakeMachine(this.clock, this.#control, hostName);
    const host = (): ProcessHost =>
      new ProcessHost({
        name,
        hostName,
        processes: new ProcessStore(openSimStore({ database: this.#database })),
        isAble: () => !this.unwell.has(name),
        spawner: machine.createSpawner(),
        clock: this.clock,
        prng: createPrng(name),
        logger: silentLogger,
      });
    return { machine, startAnew: host };
  }

  async processes(runId: RunId) {
    return await new ProcessStore(this.store).ofRuns([runId]);
  }

  async start({ orchestrator }: Coordinator, scenario: Scenario): Promise<RunId> {
    const runId = await orchestrator.prepareRun({ scenario, testName: "test", password: "hush" });
    await orchestrator.startRun(runId);
    return runId;
  }

  async look(runId: RunId) {
    const look = await this.#reader().runs.look(runId);
    if (look === undefined) throw new Error("there is no such run");
    return look;
  }

  /**
   * A second at a time, until it is so. What was seen on the way: each different status and phase.
   */
  async until(
    runId: RunId,
    isSo: (look: Awaited<ReturnType<RunWorld["look"]>>) => boolean,
    secondsMax = 600,
  ): Promise<readonly string[]> {
    const seen: string[] = [];
    for (let second = 0; second <= secondsMax; second += 1) {
      const look = await this.look(runId);
      const now = `${look.run.status} ${look.run.phase}`.trim();
      if (seen.at(-1) !== now) seen.push(now);
      if (isSo(look)) return seen;
      await this.clock.advance(1_000);
    }
    throw new Error(`it never happened; seen: ${seen.join(", ")}`);
  }

  async untilEnd(runId: RunId, secondsMax = 600): Promise<readonly string[]> {
    return await this.until(runId, ({ run }) => isTerminal(run.status), secondsMax);
  }

  async parent(runId: RunId) {
    return await this.store.read(({ db }) =>
      db
        .selectFrom("test_results")
        .selectAll()
        .where("test_id", "=", runId)
        .executeTakeFirstOrThrow(),
    );
  }

  async update(runId: RunId): Promise<RunUpdate> {
    const update = await this.#reader().update(runId, 0);
    if (update === undefined) throw new Error("there is no such run");
    return update;
  }

  async events(runId: RunId): Promise<readonly string[]> {
    const control = new StoreWorkerControl(this.store, { leaseName });
    const events = await control.events(runId, 0);
    return events.map((event) => (event.type === "SET_PHASE" ? event.phase : event.type));
  }

  #openStore(): Store {
    const store = openSimStore({ database: this.#database });
    return {
      dialect: store.dialect,
      watched: store.watched,
      read: (body) => store.read(body),
      transaction: (body) => store.transaction(body),
      catalogTransaction: async (body, lease) => {
        const answer = await store.catalogTransaction(body, lease);
        if (this.answersLost === 0) return answer;
        this.answersLost -= 1;
        throw new OperatingError("commit_unknown", "backoff", "the connection was lost");
      },
      onPoke: (listener) => store.onPoke(listener),
      close: () => store.close(),
    };
  }

  /** Anybody may read. */
  #reader(): RunOrchestrator {
    return new RunOrchestrator({
      store: this.store,
      spawner: this.machine.createSpawner(),
      openTarget: async () => this.target,
      records: {
        percentiles: async () => undefined,
        enrich: async () => ({ ratio: 0 }),
        remove: async () => undefined,
      },
      clusterToken: "",
      lease: () => undefined,
      clock: this.clock,
      prng: createPrng("reader"),
      logger: silentLogger,
    });
  }
}

export class FakeTarget implements Target {
  readonly kind = "fake";
  capabilities: TargetCapabilities = {
    depthMax: 1,
    pollsServer: false,
    enrichment: "none",
    transactions: true,
  };
  poll: ServerPoll | undefined;
  calls = 0;

  async connect() {
    return {
      inFlight: 0,
      prepare: async ({ statements }: Operation) => {
        if (statements.some(({ texts }) => texts.join("").includes("nonsense"))) {
          throw new OperatingError("bad_sql", "never", 'syntax error at or near "nonsense"');
        }
        return { execute: () => undefined };
      },
      onBroken: () => undefined,
      close: async () => undefined,
    };
  }

  async run(): Promise<never> {
    throw new OperatingError("unsupported", "never", "it runs no SQL");
  }

  async pollServer(): Promise<ServerPoll> {
    if (this.poll !== undefined) return this.poll;
    throw new OperatingError("target_unreachable", "backoff", "it does not answer");
  }

  async statementFigures() {
    this.calls += 100;
    return [
      { text: "SELECT 1", calls: this.calls, totalMs: this.calls * 2, rows: this.calls },
      { text: "SELECT now()", calls: 7, totalMs: 1, rows: 7 },
    ];
  }

  async close(): Promise<void> {}
}
