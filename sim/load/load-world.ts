/** Load tests in a world: coordinators' parts, load worker processes, and clients. */

import { sleep } from "../../src/ground/kernel/clock.ts";
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Logger } from "../../src/ground/kernel/logger.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { SharedSqlite, Store } from "../../src/ground/store/index.ts";
import type { ControllerNode } from "../../src/ground/work/node/controller-node.ts";
import type { RunId } from "../../src/kinds/load/core/ids.ts";
import type {
  SeenProcess,
  SpawnRequest,
  WorkerPlace,
  WorkerSpawner,
} from "../../src/kinds/load/host/worker-spawner.ts";
import type { RunOrchestrator } from "../../src/kinds/load/orchestrator/run-orchestrator.ts";
import { scenarioOf } from "../../src/kinds/load/testing/scenario.ts";
import type { Counters } from "../checks/counters.ts";
import type { Finding } from "../checks/end-check.ts";
import { RunCheck } from "../checks/run-check.ts";
import type { Verdict } from "../checks/verdict.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { Trace } from "../engine/trace.ts";
import { LoadProcess } from "./load-process.ts";
import type { LoadSeams } from "./load-seams.ts";
import { type LeaderFaults, PhaseTraps } from "./phase-traps.ts";
import type { LoadSettings, PlannedRun } from "./plan-load.ts";
import { createServers, type SimServers, SimTarget } from "./sim-target.ts";

export interface LoadWorldOptions {
  readonly settings: LoadSettings;
  readonly database: SharedSqlite;
  readonly timeline: Timeline;
  readonly trace: Trace;
  readonly verdict: Verdict;
  readonly counters: Counters;
  readonly prng: Prng;
  readonly seams: LoadSeams;
  readonly logger: (life: Life) => Logger;
  readonly begin: (name: string) => Life;
  readonly openStore: (life: Life) => Store;
  readonly failed: (life: Life, thrown: unknown) => void;
  readonly isTroubled: () => boolean;
  /** Faults of the current leader. */
  readonly leaderFaults: LeaderFaults;
}

/** A coordinator's share of load tests. */
export interface LoadCoordinator {
  readonly life: Life;
  readonly orchestrator: RunOrchestrator;
  start(): void;
  stop(): Promise<void>;
}

const sweepMs = 500;

export class LoadWorld {
  readonly check: RunCheck;
  readonly traps: PhaseTraps;
  readonly servers: SimServers;
  readonly #options: LoadWorldOptions;
  readonly #processes = new Map<number, LoadProcess>();
  readonly #coordinators = new Map<string, LoadCoordinator>();
  /** In the order in which they were started. */
  readonly #runIds: RunId[] = [];
  #nextProcess = 1;

  constructor(options: LoadWorldOptions) {
    this.#options = options;
    const { database, timeline, verdict, counters, settings, leaderFaults } = options;
    this.servers = createServers(timeline, settings.servers, settings.serviceMs);
    this.traps = new PhaseTraps(timeline, counters, leaderFaults);
    this.check = new RunCheck({
      database,
      verdict,
      counters,
      nowMs: () => timeline.nowMs,
      processes: () => this.#processes.values(),
      phaseReached: (phase) => this.traps.reached(phase),
      isTroubled: options.isTroubled,
    });
  }

  /** Processes that run or are paused. */
  get processes(): readonly LoadProcess[] {
    return [...this.#processes.values()].filter(({ life }) => !life.isDown);
  }

  start(): void {
    const { timeline } = this.#options;
    timeline.after(sweepMs, () => {
      this.check.sweep(sweepMs);
      this.start();
    });
  }

  transactionEnded(): void {
    this.check.transactionEnded();
  }

  heal(): void {
    this.traps.disarm();
    this.servers.isDown = false;
    for (const process of this.processes) {
      process.eventsLost = 0;
      process.eventsFromMs = 0;
      process.life.resume();
    }
  }

  /** The load tests of a coordinator, for one of its lives. */
  coordinator(life: Life, node: ControllerNode, store: Store, logger: Logger): LoadCoordinator {
    const { seams, prng, timeline } = this.#options;
    const spawner = new SimSpawner(this, life.name);
    const orchestrator = new seams.RunOrchestrator({
      store,
      spawner,
      openTarget: async () => new SimTarget(this.servers, life, timeline),
      records: {
        percentiles: async () => undefined,
        enrich: async () => ({ ratio: 0 }),
        remove: async () => undefined,
      },
      clusterToken: "cluster-token",
      lease: () => node.lease?.grant(),
      clock: life,
      prng: prng.fork(`runs ${life.name} ${life.number}`),
      logger,
    });
    const coordinator: LoadCoordinator = {
      life,
      orchestrator,
      start: () => {
        node.lease?.onChange(() => orchestrator.leaseChanged());
        orchestrator.open();
      },
      stop: () => Promise.race([orchestrator.close(), sleep(life, 3_000)]),
    };
    this.#coordinators.set(life.name, coordinator);
    return coordinator;
  }

  /** All processes of a host end with it. */
  hostDown(hostName: string): void {
    for (const process of this.processes) {
      if (process.hostName === hostName) this.kill(process);
    }
  }

  spawn(request: SpawnRequest, hostName: string): LoadProcess {
    const { begin, openStore, timeline, prng, seams, logger, trace, counters } = this.#options;
    const processId = this.#nextProcess;
    this.#nextProcess += 1;
    const life = begin(`load-${processId}`);
    const process = new LoadProcess({
      request,
      processId,
      hostName,
      life,
      timeline,
      prng: prng.fork(`process ${processId}`),
      store: openStore(life),
      seams,
      servers: this.servers,
      logger: logger(life),
      post: (from, metrics) => this.#post(from, metrics),
      acknowledged: (from, snapshot) => this.check.acknowledged(from, snapshot),
      exited: (from, end) => {
        counters.add(`load: worker ended, ${end?.kind ?? "by itself"}`);
        trace.note(end?.kind ?? "exit", life.name);
        timeline.after(0, () => from.life.end());
      },
      failed: this.#options.failed,
    });
    this.#processes.set(processId, process);
    counters.add("load: worker started");
    const { bootMs } = this.#options.settings;
    // Some take longer than a new coordinator waits for them.
    process.start(prng.next() < 0.9 ? bootMs * (0.5 + prng.next()) : prng.next() * 25_000);
    return process;
  }

  find(processId: number): LoadProcess | undefined {
    const process = this.#processes.get(processId);
    return process?.life.isDown === false ? process : undefined;
  }

  kill({ life }: LoadProcess): void {
    this.#options.trace.note("killed", life.name);
    life.end();
  }

  /** A client starts a run, and tries again when told to. */
  startRun(leader: () => LoadCoordinator | undefined, planned: PlannedRun, tries = 5): void {
    const { timeline, counters } = this.#options;
    const again = (): void => {
      if (tries > 1) timeline.after(3_000, () => this.startRun(leader, planned, tries - 1));
    };
    const coordinator = leader();
    if (coordinator === undefined) {
      again();
      return;
    }
    const { orchestrator, life } = coordinator;
    let runId: RunId | undefined;
    const ask = async (): Promise<void> => {
      try {
        const scenario = scenarioFor(planned);
        runId = await orchestrator.prepareRun({ scenario, testName: "sim", password: "hush" });
        this.#runIds.push(runId);
        await orchestrator.startRun(runId);
        counters.add("load: run started");
      } catch (thrown) {
        if (!(thrown instanceof OperatingError)) throw thrown;
        counters.add(`load: start failed, ${thrown.code}`);
        if (runId === undefined) again();
      }
    };
    life.receive(() => void ask());
  }

  stopRun(leader: () => LoadCoordinator | undefined, index: number): void {
    const coordinator = leader();
    const runId = this.#runIds[index % Math.max(1, this.#runIds.length)];
    if (coordinator === undefined || runId === undefined) return;
    const { orchestrator, life } = coordinator;
    const { counters } = this.#options;
    const ask = async (): Promise<void> => {
      try {
        const wasRunning = this.check.isRunning(runId);
        await orchestrator.stopRun(runId, "sim");
        counters.add("load: run stopped");
        this.check.stopped(runId, wasRunning);
      } catch (thrown) {
        if (!(thrown instanceof OperatingError)) throw thrown;
        counters.add(`load: stop failed, ${thrown.code}`);
      }
    };
    life.receive(() => void ask());
  }

  /** Called after healing. Undefined when every run has ended and nothing of it is left. */
  findOpen(): Finding | undefined {
    return this.check.findOpen();
  }

  /** Compares what the leader shows of ended runs. */
  async compareShown(coordinator: LoadCoordinator): Promise<void> {
    for (const runId of this.#runIds) {
      const update = await coordinator.orchestrator.update(runId, 0);
      if (update !== undefined) this.check.shown(runId, update);
    }
  }

  /** Posts to the address of the coordinator that started the process. */
  #post(from: LoadProcess, metrics: Parameters<RunOrchestrator["accept"]>[0]): void {
    const { timeline, prng, settings } = this.#options;
    if (prng.next() < settings.postLoss) return;
    // Some overtake others.
    const delayMs = prng.next() < 0.1 ? prng.next() * 3_000 : prng.next() * 20;
    timeline.after(delayMs, () => {
      const to = this.#coordinators.get(from.hostName);
      to?.life.receive(() => to.orchestrator.accept(metrics));
    });
  }
}

/**
 * A coordinator's spawner: it knows its own children, and others of its machine from heartbeats.
 */
class SimSpawner implements WorkerSpawner {
  readonly #world: LoadWorld;
  readonly #hostName: string;
  readonly #known = new Map<string, number>();

  constructor(world: LoadWorld, hostName: string) {
    this.#world = world;
    this.#hostName = hostName;
  }

  async spawn(request: SpawnRequest): Promise<void> {
    const { processId } = this.#world.spawn(request, this.#hostName);
    this.#known.set(keyOf(request), processId);
  }

  isAlive(place: WorkerPlace): boolean | undefined {
    const processId = this.#known.get(keyOf(place));
    return processId === undefined ? undefined : this.#world.find(processId) !== undefined;
  }

  see({ hostName, processId, ...place }: SeenProcess): void {
    if (processId <= 0) return;
    if (hostName === this.#hostName) this.#known.set(keyOf(place), processId);
    else this.#known.delete(keyOf(place));
  }

  signal(place: WorkerPlace, signal: "SIGTERM" | "SIGKILL"): void {
    const processId = this.#known.get(keyOf(place));
    const process = processId === undefined ? undefined : this.#world.find(processId);
    if (process === undefined) return;
    if (signal === "SIGKILL") this.#world.kill(process);
    else process.terminate();
  }

  forget(runId: string): void {
    for (const key of this.#known.keys()) if (key.startsWith(`${runId}/`)) this.#known.delete(key);
  }
}

function keyOf({ runId, workerId }: WorkerPlace): string {
  return `${runId}/${workerId}`;
}

function scenarioFor({ mode, workers, connections, qps, ...planned }: PlannedRun) {
  return scenarioOf({
    workload: {
      loadMode: mode,
      concurrentConnections: connections,
      targetQps: mode === "QPS" ? qps : null,
      warmupSeconds: planned.warmupSeconds,
      durationSeconds: planned.durationSeconds,
    },
    scaling: { workerCount: workers },
    findMax: {
      enabled: mode === "FIND_MAX_CONCURRENCY",
      startConcurrency: workers,
      concurrencyIncrement: 3,
      maxConcurrency: 16,
      stepDurationSeconds: 4,
    },
  });
}
