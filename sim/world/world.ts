/**
 * A whole Capstan in one process: workers, coordinators, query-apis, their store, their network and
 * their clients, all on one virtual clock. It runs the production classes; only what they are given
 * is simulated.
 */

import { lakeWriteWorkKind } from "../../src/data/lake/index.ts";
import type { DisconnectCause, SessionObserver } from "../../src/ground/cluster/index.ts";
import { messageOf } from "../../src/ground/kernel/errors.ts";
import type { WorkerId } from "../../src/ground/kernel/ids.ts";
import type { Logger } from "../../src/ground/kernel/logger.ts";
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";
import { openSimStore, type Store } from "../../src/ground/store/index.ts";
import {
  type ApiQueryObserver,
  type WorkerQueryObserver,
  type WorkSpec,
  workKeyText,
} from "../../src/ground/work/core/index.ts";
import type { ControllerNode } from "../../src/ground/work/node/controller-node.ts";
import { watchedRefreshTables } from "../../src/kinds/refresh/core/tables.ts";
import { watchedStreamTables } from "../../src/kinds/stream/catalog/index.ts";
import { BoardCheck } from "../checks/board-check.ts";
import { Counters } from "../checks/counters.ts";
import { ExecutionCheck } from "../checks/execution-check.ts";
import { LeadershipCheck } from "../checks/leadership-check.ts";
import { MembershipCheck } from "../checks/membership-check.ts";
import { detectionMsMaxOf, SessionKnowledge } from "../checks/session-knowledge.ts";
import { StoreAudit } from "../checks/store-audit.ts";
import { Verdict } from "../checks/verdict.ts";
import { Subscriber } from "../checks/watch-check.ts";
import { Life } from "../engine/life.ts";
import { Timeline } from "../engine/timeline.ts";
import { Trace } from "../engine/trace.ts";
import { LoadWorld } from "../load/load-world.ts";
import type { LeaderFaults } from "../load/phase-traps.ts";
import type { Plan } from "../plan.ts";
import { dataSetOf } from "../promql/data-set.ts";
import { leafTasks } from "../promql/leaf-tasks.ts";
import type { SimLake } from "../promql/sim-lake.ts";
import type { Seams } from "../seams.ts";
import { StreamsWorld } from "../streams/streams-world.ts";
import { TablesWorld } from "../tables/tables-world.ts";
import { Clients } from "./clients.ts";
import { ControllerHost } from "./controller-host.ts";
import { returnDatabase, takeDatabase, type WorldDatabase } from "./database.ts";
import { SimNetwork } from "./network.ts";
import { NetworkConditions } from "./network-conditions.ts";
import { StoreFaults, StoreLink, storeHost } from "./store-link.ts";
import { traceLogger } from "./trace-logger.ts";
import { Traps } from "./traps.ts";
import { WorkerHost } from "./worker-host.ts";

export type Host = WorkerHost | ControllerHost;

const sweepMs = 250;
/** The time from a commit to every reachable subscriber. */
const watchMsMax = 2_000;

export class World {
  readonly plan: Plan;
  readonly prng: Prng;
  readonly timeline: Timeline;
  readonly trace: Trace;
  readonly verdict: Verdict;
  readonly counters = new Counters();
  readonly conditions: NetworkConditions;
  readonly network: SimNetwork;
  readonly storeFaults = new StoreFaults();
  readonly audit: StoreAudit;
  readonly knowledge: SessionKnowledge;
  readonly executions: ExecutionCheck;
  readonly membership: MembershipCheck;
  readonly leadership: LeadershipCheck;
  readonly lake: SimLake;
  readonly traps: Traps;
  /** Undefined when this world has none. */
  readonly tables: TablesWorld | undefined;
  /** Undefined when this world has none. */
  readonly load: LoadWorld | undefined;
  /** Undefined when this world has none. */
  readonly streams: StreamsWorld | undefined;
  readonly clients: Clients;
  readonly workers: readonly WorkerHost[];
  readonly controllers: readonly ControllerHost[];
  readonly #database: WorldDatabase;
  readonly #seams: Seams;
  readonly #lifeNumbers = new Map<string, number>();
  readonly #restarts = new Map<string, number>();
  /** Checked at the end of the current event. */
  readonly #lostSessions = new Set<ControllerHost>();
  readonly #welcomes = new Set<Life>();

  constructor(plan: Plan, seams: Seams, print?: (line: string) => void) {
    this.plan = plan;
    this.prng = createPrng(plan.seed).fork("world");
    this.#seams = seams;
    this.timeline = new Timeline(this.prng.fork("schedule"));
    const nowMs = (): number => this.timeline.nowMs;
    this.trace = new Trace(nowMs, print);
    this.verdict = new Verdict(nowMs);
    this.conditions = new NetworkConditions(this.prng.fork("latency"), nowMs);
    const { heartbeatMs } = plan.settings;
    const detectionMsMax = detectionMsMaxOf(heartbeatMs);
    this.knowledge = new SessionKnowledge(this.verdict, this.counters, nowMs, detectionMsMax);
    this.network = new SimNetwork(
      this.timeline,
      this.conditions,
      this.prng.fork("network"),
      this.trace,
      this.knowledge,
    );
    this.#database = takeDatabase(nowMs);
    this.audit = new StoreAudit(
      this.#database.shared.connection,
      this.verdict,
      this.counters,
      nowMs,
    );
    this.executions = new ExecutionCheck(this.verdict, this.counters, {
      isWanted: (work, worker) => this.#isWanted(work, worker),
      latencyMsMax: (work, worker) => this.#latencyMsMax(work, worker),
      kill: (life) => this.#killedByPoison(life),
    });
    this.membership = new MembershipCheck(
      this.audit,
      this.knowledge,
      () => this.leader?.life,
      this.verdict,
      heartbeatMs,
      (leader, workerId) => this.#roundTripMsMax(leader.name, workerId),
    );
    this.leadership = new LeadershipCheck(this.verdict, plan.settings.leaseMs);
    this.audit.onRows = () => this.membership.rowsChanged();
    this.audit.onOther = (change) =>
      this.streams?.changed(change, (workerId) => this.audit.rows.get(workerId));
    this.lake = new seams.Lake(dataSetOf(this.prng.fork("metrics")), nowMs);
    this.traps = this.#buildTraps();
    this.tables = this.#buildTables();
    this.load = this.#buildLoad();
    this.streams = this.#buildStreams();
    this.clients = new Clients({
      verdict: this.verdict,
      counters: this.counters,
      nowMs,
      prng: this.prng.fork("clients"),
      queriesMax: plan.settings.queriesMax,
      lake: this.lake,
      seams,
      spanTold: (life, isLast) => {
        this.trace.note("span told", life.name);
        if (!isLast) this.traps.betweenSpans(life);
      },
    });
    this.controllers = this.#buildControllers();
    this.workers = this.#buildWorkers();
    this.knowledge.onHeartbeat = (from, leaseEpoch) =>
      this.leadership.heartbeatSent(from, leaseEpoch, this.nowMs);
    this.knowledge.onWelcomed = (worker) => this.#welcomes.add(worker);
    this.knowledge.onAssigned = (from, to, command) => {
      const keyText = workKeyText(command.work);
      this.clients.workSent(keyText);
      this.controllers
        .find(({ life }) => life === from)
        ?.boardCheck.sent(keyText, command.attempt, to);
    };
  }

  get hosts(): readonly Host[] {
    return [...this.controllers, ...this.workers];
  }

  /** Who has a connection to the store. */
  get storeUsers(): readonly Host[] {
    return this.tables === undefined ? this.controllers : this.hosts;
  }

  /** The coordinator that holds the lease and runs. */
  get leader(): ControllerHost | undefined {
    return this.controllers.find((host) => host.leads && host.life?.isUp === true);
  }

  get nowMs(): number {
    return this.timeline.nowMs;
  }

  start(): void {
    for (const host of this.hosts) this.timeline.after(this.prng.next() * 500, () => host.boot());
    this.tables?.start(() => this.leader?.tableService);
    this.load?.start();
    this.streams?.start(() => this.leader?.streams);
    this.#sweep();
  }

  /** Ends everything. A violated world may be in any state, so nothing of it is reused. */
  close(): void {
    for (const { life } of this.hosts) life?.end();
    for (const { life } of this.load?.processes ?? []) life.end();
    if (this.verdict.violation === undefined) returnDatabase(this.#database);
    else this.#database.shared.connection.close();
  }

  /** Ends a life from outside and starts another `restartMs` later. */
  crash(host: Host, dark: boolean, restartMs: number): void {
    const { life } = host;
    if (life === undefined || life.isDown) return;
    this.trace.note(dark ? "dark" : "killed", host.name);
    this.#end(life, dark);
    if (dark) this.load?.hostDown(host.name);
    this.restartIn(host, restartMs);
  }

  restartIn(host: Host, delayMs: number): void {
    const atMs = this.nowMs + delayMs;
    this.#restarts.set(host.name, atMs);
    this.timeline.at(atMs, () => {
      if (this.#restarts.get(host.name) === atMs) this.restart(host);
    });
  }

  restart(host: Host): void {
    this.#restarts.delete(host.name);
    if (!host.isUp) host.boot();
  }

  /** Checked between any two events. */
  eventEnded(): void {
    this.knowledge.eventEnded();
    this.membership.eventEnded(this.nowMs);
    let leaders = 0;
    for (const host of this.controllers) {
      const { node } = host;
      if (node === undefined || host.life?.isUp !== true) continue;
      host.boardCheck.eventEnded((workerId) => isLive(node, workerId));
      if (node.leading()) leaders += 1;
    }
    this.verdict.require(leaders <= 1, "I6", () => "two coordinators hold the lease");
    if (this.#lostSessions.size > 0) this.#checkLostSessions();
    if (this.#welcomes.size > 0) this.#checkWelcomes();
  }

  /** I12: a worker that its controller has no session with holds none of its work. */
  #checkLostSessions(): void {
    for (const { boardCheck, node, life, name } of this.#lostSessions) {
      if (life?.isUp !== true || node === undefined) continue;
      for (const { keyText, workerId } of boardCheck.held()) {
        this.verdict.require(isLive(node, workerId), "I12", () => {
          return `${name} leaves ${keyText} with ${workerId}, which it has no session with`;
        });
      }
    }
    this.#lostSessions.clear();
  }

  /** I11. */
  #checkWelcomes(): void {
    for (const { life, node, name } of this.workers) {
      if (life === undefined || node === undefined || !this.#welcomes.has(life)) continue;
      const commanders = node.endpoint.sessions().filter(({ role }) => role === "coordinator");
      this.verdict.require(commanders.length <= 1, "I11", () => {
        return `${name} obeys ${commanders.map(({ controllerId }) => controllerId).join(" and ")}`;
      });
    }
    this.#welcomes.clear();
  }

  #sweep(): void {
    this.timeline.after(sweepMs, () => {
      this.executions.sweep(this.nowMs);
      this.clients.sweep(this.nowMs);
      this.membership.sweep(this.nowMs);
      this.#checkSubscribers();
      this.#sweep();
    });
  }

  /** I7: who can be told of a change is told soon. */
  #checkSubscribers(): void {
    for (const { life, subscriber, name, isStopping } of this.controllers) {
      if (life?.isUp !== true || subscriber === undefined || isStopping) continue;
      const newsMs = Math.max(this.audit.lastChangeMs, life.runningSinceMs);
      if (this.nowMs - newsMs < watchMsMax) continue;
      if (this.membership.isStoreTroubled(life, this.nowMs)) continue;
      this.verdict.require(subscriber.isCaughtUp(), "I7", () => {
        return `the watch of ${name} does not know of revision ${this.audit.revision}`;
      });
    }
  }

  #begin(name: string): Life {
    const number = (this.#lifeNumbers.get(name) ?? 0) + 1;
    this.#lifeNumbers.set(name, number);
    this.trace.note("boot", name, number);
    return new Life(
      name,
      number,
      this.timeline,
      this.prng.fork(`life ${name} ${number}`),
      (life, thrown) => this.#failed(life, thrown),
    );
  }

  #failed(life: Life, thrown: unknown): void {
    const text = thrown instanceof Error ? thrown.stack : messageOf(thrown);
    this.verdict.fail("I14", `${life.name} threw ${text}`);
  }

  #end(life: Life, dark: boolean): void {
    life.end();
    this.network.lifeEnded(life, dark);
    this.streams?.lifeEnded(life, dark);
    this.knowledge.lifeEnded(life);
    this.executions.lifeEnded(life);
    this.clients.lifeEnded(life);
  }

  /** A process ended by itself and is started again by its supervisor. */
  #exited(life: Life): void {
    const host = this.hosts.find((candidate) => candidate.life === life);
    if (host === undefined || life.isDown) return;
    this.trace.note("exit", life.name);
    // Not within the call of the process that wants to end.
    this.timeline.after(0, () => {
      if (life.isDown) return;
      this.#end(life, false);
      this.restartIn(host, 500 + this.prng.next() * 5_000);
    });
  }

  /** I15: unless it was stopped from running meanwhile. */
  #checkShutdown(life: Life, msMax: number): void {
    const startedMs = this.nowMs;
    this.timeline.after(msMax, () => {
      const isLate = life.isUp && life.runningSinceMs <= startedMs;
      this.verdict.require(!isLate, "I15", () => {
        return `${life.name} was to end within ${Math.round(msMax)} ms and has not`;
      });
    });
  }

  #killedByPoison(life: Life): void {
    const host = this.hosts.find((candidate) => candidate.life === life);
    // At once: a process that is killed does not handle what else is due at that moment.
    if (host !== undefined) this.crash(host, false, 500 + this.prng.next() * 6_000);
  }

  #openStore(life: Life): Store {
    const inner = this.#seams.store(
      openSimStore({
        database: this.#database.shared,
        changesKept: this.plan.settings.changesKept,
        watched: { ...watchedRefreshTables, ...watchedStreamTables },
      }),
    );
    life.onEnd(() => void inner.close());
    return new StoreLink({
      store: inner,
      life,
      timeline: this.timeline,
      conditions: this.conditions,
      faults: this.storeFaults,
      prng: this.prng.fork(`store ${life.name} ${life.number}`),
      probe: {
        transactionBegins: (lease) => this.audit.begins(lease),
        transactionEnded: (isCatalog) => {
          this.audit.ended(isCatalog);
          this.tables?.transactionEnded(isCatalog);
          this.load?.transactionEnded();
          this.streams?.transactionEnded(isCatalog);
        },
        readAnswered: (of) => this.leadership.readAnswered(of, this.nowMs),
        commitFaultMet: (of, fault, resolved) => {
          this.counters.add(`store: ${fault}, ${resolved ? "resolved" : "given up"}`);
          this.membership.storeTrouble(of, this.nowMs);
        },
        callDelayed: (of, untilMs) => this.membership.storeTrouble(of, untilMs),
        callFailed: (of) => {
          this.counters.add("store: call failed");
          this.membership.storeTrouble(of, this.nowMs);
        },
      },
    });
  }

  #isWanted(work: WorkSpec, worker: Life): boolean {
    const key = workKeyText(work);
    const hasIt = ({ isUp, boardCheck }: ControllerHost): boolean =>
      isUp && boardCheck.holderOf(key) === worker.name;
    // Writes to the lake are nobody's query; whoever has one on its board wants it.
    if (work.kind === lakeWriteWorkKind) return this.controllers.some(hasIt);
    const owner = this.clients.ownerOf(work.queryId);
    return owner !== undefined && hasIt(owner);
  }

  #roundTripMsMax(a: string, b: string): number {
    const ways = [this.conditions.direction(a, b), this.conditions.direction(b, a)];
    return ways.reduce((sum, way) => sum + this.conditions.latencyMsMax(way), 0);
  }

  #latencyMsMax(_work: WorkSpec, worker: Life): number {
    // The owner may be gone, so the worst of all controllers counts.
    let latencyMs = 0;
    for (const { name } of this.controllers) {
      const way = this.conditions.direction(name, worker.name);
      latencyMs = Math.max(latencyMs, this.conditions.latencyMsMax(way));
    }
    return latencyMs + 2 * sweepMs;
  }

  #logger(life: Life): Logger {
    return traceLogger(this.trace, `${life.name}.${life.number}`);
  }

  #buildControllers(): readonly ControllerHost[] {
    const { coordinators, queryApis } = this.plan.topology;
    const names = [
      ...Array.from({ length: coordinators }, (_, index) => `coordinator-${index + 1}`),
      ...Array.from({ length: queryApis }, (_, index) => `api-${index + 1}`),
    ];
    return names.map(
      (name, index) =>
        new ControllerHost({
          name,
          role: index < coordinators ? "coordinator" : "query_api",
          settings: this.plan.settings,
          seams: this.#seams,
          network: this.network,
          prng: this.prng.fork(name),
          queryObserver: this.#queryObserver(),
          sessionObserver: this.#sessionObserver(name),
          logger: (life) => this.#logger(life),
          begin: (of) => this.#begin(of),
          exit: (life) => this.#exited(life),
          shuttingDown: (life, msMax) => this.#checkShutdown(life, msMax),
          openStore: (life) => this.#openStore(life),
          tables: this.tables,
          load: this.load,
          streams: this.streams,
          newBoardCheck: (of) => new BoardCheck(of, this.verdict, this.counters),
          watches: index === 0 ? "all" : index === 1 ? "active" : "nothing",
          newSubscriber: (of, onlyActive) =>
            new Subscriber(
              of,
              onlyActive ? (json) => json.includes('"state":"ACTIVE"') : undefined,
              this.audit,
              this.verdict,
              this.counters,
            ),
          leadershipChanged: (life, leaseEpoch) => {
            const leads = leaseEpoch > 0;
            this.leadership.changed(life, leaseEpoch, this.nowMs);
            this.trace.note(leads ? "leads" : "follows", life.name);
            this.counters.add(leads ? "leadership gained" : "leadership lost");
            this.membership.leadershipChanged(life, leads, this.nowMs);
          },
          registered: (refusal) =>
            this.counters.add(
              refusal === undefined ? "registration" : `registration refused: ${refusal}`,
            ),
        }),
    );
  }

  #buildWorkers(): readonly WorkerHost[] {
    const { workers, coordinators } = this.plan.topology;
    return Array.from(
      { length: workers },
      (_, index) =>
        new WorkerHost({
          name: `worker-${index + 1}`,
          coordinators: this.controllers.slice(0, coordinators).map(({ name }) => name),
          settings: this.plan.settings,
          seams: this.#seams,
          network: this.network,
          prng: this.prng.fork(`worker-${index + 1}`),
          probe: {
            executionStarted: (life, work, runMs) => {
              this.knowledge.acted(life, "started work");
              this.executions.executionStarted(life, work);
              this.traps.executionStarted(life, work, runMs);
            },
            executionEnded: (life, work) => this.executions.executionEnded(life, work),
            artifactWritten: (life, work, path) => this.traps.artifactWritten(life, work, path),
            poisoned: (life, work) => this.executions.poisoned(life, work),
          },
          leafTasks: leafTasks(this.lake, (work) => this.clients.runMsOf(work)),
          observer: this.#queryObserver(),
          logger: (life) => this.#logger(life),
          begin: (of) => this.#begin(of),
          exit: (life) => this.#exited(life),
          shuttingDown: (life, msMax) => this.#checkShutdown(life, msMax),
          openStore: (life) => this.#openStore(life),
          tables: this.tables,
          streams: this.streams,
        }),
    );
  }

  /** What every world within this one stands on. */
  #partsOf(name: string) {
    const { timeline, trace, verdict, counters } = this;
    const prng = this.prng.fork(name);
    return { database: this.#database.shared, timeline, trace, verdict, counters, prng };
  }

  #buildTables(): TablesWorld | undefined {
    const { tables: settings } = this.plan;
    if (settings === undefined) return undefined;
    return new TablesWorld({
      settings,
      ...this.#partsOf("tables"),
      seams: this.#seams,
      kill: (life, dark, restartMs) => {
        const host = this.hosts.find((candidate) => candidate.life === life);
        if (host !== undefined) this.crash(host, dark, restartMs);
      },
    });
  }

  #buildStreams(): StreamsWorld | undefined {
    const { streams: settings } = this.plan;
    if (settings === undefined) return undefined;
    const { conditions } = this;
    const leader = this.#leaderFaults();
    const seams = this.#seams.streams;
    return new StreamsWorld({ settings, conditions, leader, seams, ...this.#partsOf("streams") });
  }

  #buildLoad(): LoadWorld | undefined {
    const { load: settings } = this.plan;
    if (settings === undefined) return undefined;
    return new LoadWorld({
      settings,
      ...this.#partsOf("load"),
      seams: this.#seams.load,
      logger: (life) => this.#logger(life),
      begin: (name) => this.#begin(name),
      openStore: (life) => this.#openStore(life),
      failed: (life, thrown) => this.#failed(life, thrown),
      isTroubled: () => {
        const life = this.leader?.life;
        return life === undefined || this.membership.isStoreTroubled(life, this.nowMs);
      },
      leaderFaults: this.#leaderFaults(),
    });
  }

  #leaderFaults(): LeaderFaults {
    return {
      kill: (dark, restartMs) => {
        const { leader } = this;
        if (leader !== undefined) this.crash(leader, dark, restartMs);
      },
      loseCommits: (isAfter) => {
        const name = this.leader?.name;
        if (name === undefined) return;
        const fault = isAfter ? "lost_after" : "lost_before";
        for (let commit = 0; commit < 3; commit += 1) this.storeFaults.arm(name, fault);
      },
    };
  }

  #buildTraps(): Traps {
    const hostOf = (life: Life): Host | undefined => this.hosts.find((host) => host.life === life);
    return new Traps({
      timeline: this.timeline,
      trace: this.trace,
      counters: this.counters,
      isExecuting: (life, work) => this.executions.isRunning(life, work),
      kill: (life, dark, restartMs) => {
        const host = hostOf(life);
        if (host !== undefined) this.crash(host, dark, restartMs);
      },
      diskOf: (life) => hostOf(life)?.disk,
    });
  }

  #queryObserver(): Partial<ApiQueryObserver & WorkerQueryObserver> {
    const { counters } = this;
    return {
      workRejected: () => counters.add("work rejected"),
      workAssigned: (_workerId, affinityHit) =>
        counters.add(affinityHit ? "assigned to favourite" : "assigned elsewhere"),
      artifactFetchFailed: (code) => counters.add(`fetch failed: ${code}`),
      checksumMismatch: () => counters.add("checksum mismatch"),
      artifactCleaned: (reason) => counters.add(`artifact cleaned: ${reason}`),
      executionCancelled: () => counters.add("execution cancelled"),
    };
  }

  #sessionObserver(of: string): Partial<SessionObserver> {
    const { counters } = this;
    const down = (cause: DisconnectCause): void => {
      counters.add(`session down: ${cause}`);
      const host = this.controllers.find(({ name }) => name === of);
      if (host !== undefined) this.#lostSessions.add(host);
    };
    return {
      heartbeatMissed: () => counters.add("heartbeat missed"),
      sessionUp: () => counters.add("session up"),
      sessionDown: (_workerId, cause) => down(cause),
      dialFailed: (cause) => counters.add(`dial failed: ${cause}`),
    };
  }
}

function isLive(node: ControllerNode, workerId: string): boolean {
  return node.pool.view(workerId as WorkerId)?.live !== undefined;
}

/** So that the store's host can be cut off like any other. */
export { storeHost };
