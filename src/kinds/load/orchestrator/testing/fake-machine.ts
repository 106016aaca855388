/**
 * A machine with workers' processes, in virtual time. The workers use the real store; what they
 * load is `servers` that answer one operation each in a fixed time, first come, first served,
 * shared by all.
 */

import type { Clock, Timer } from "../../../../ground/kernel/clock.ts";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import { appliesTo, type SequencedEvent, type WorkerTarget } from "../../core/control-events.ts";
import type { RunId } from "../../core/ids.ts";
import type { RunPhase, WorkerStatus } from "../../core/run-state.ts";
import { isTerminal } from "../../core/run-state.ts";
import type { SeriesBook } from "../../core/series-book.ts";
import type { WorkerControl, WorkerIdentity } from "../../core/worker-control.ts";
import type {
  SeenProcess,
  SpawnRequest,
  WorkerPlace,
  WorkerSpawner,
} from "../../host/worker-spawner.ts";
import { bookOf, idleHealth, snapshotOf } from "../../store/testing/load-fixture.ts";

export interface FakeServers {
  servers: number;
  serviceMs: number;
  /** Of all operations, those that fail. */
  errorShare: number;
}

export class FakeMachine {
  readonly clock: Clock;
  readonly hostName: string;
  readonly servers: FakeServers = { servers: 20, serviceMs: 50, errorShare: 0 };
  readonly processes = new Map<number, FakeWorker>();
  /** Every process that there ever was. */
  readonly all: FakeWorker[] = [];
  readonly signals: string[] = [];
  startMs = 200;
  drainMs = 300;
  readonly #control: () => WorkerControl;

  constructor(clock: Clock, control: () => WorkerControl, hostName = "here") {
    this.clock = clock;
    this.hostName = hostName;
    this.#control = control;
  }

  get connections(): number {
    return [...this.processes.values()].reduce((sum, worker) => sum + worker.connections, 0);
  }

  createSpawner(): FakeSpawner {
    return new FakeSpawner(this);
  }

  start(request: SpawnRequest): number {
    const processId = 1_000 + this.all.length;
    const worker = new FakeWorker(this, this.#control(), {
      runId: request.runId,
      workerId: request.workerId,
      groupId: request.groupId,
      groupCount: request.groupCount,
      testId: `${request.runId}-${processId}`,
      incarnation: `i${processId}`,
      hostName: this.hostName,
      processId,
    });
    this.processes.set(processId, worker);
    this.all.push(worker);
    worker.begin();
    return processId;
  }

  kill(processId: number): void {
    this.processes.get(processId)?.die();
    this.processes.delete(processId);
  }
}

/** As one coordinator has it: it knows its own children, and whom heartbeats told of. */
export class FakeSpawner implements WorkerSpawner {
  isBroken = false;
  readonly #machine: FakeMachine;
  readonly #known = new Map<string, number>();

  constructor(machine: FakeMachine) {
    this.#machine = machine;
  }

  async spawn(request: SpawnRequest): Promise<void> {
    if (this.isBroken) throw new Error("no more processes");
    this.#known.set(keyOf(request), this.#machine.start(request));
  }

  isAlive(place: WorkerPlace): boolean | undefined {
    const processId = this.#known.get(keyOf(place));
    return processId === undefined ? undefined : this.#machine.processes.has(processId);
  }

  see(process: SeenProcess): void {
    if (process.processId <= 0) return;
    if (process.hostName !== this.#machine.hostName) this.#known.delete(keyOf(process));
    else this.#known.set(keyOf(process), process.processId);
  }

  signal(place: WorkerPlace, signal: "SIGTERM" | "SIGKILL"): void {
    const processId = this.#known.get(keyOf(place));
    this.#machine.signals.push(`${place.workerId} ${signal}`);
    if (signal === "SIGKILL" && processId !== undefined) this.#machine.kill(processId);
  }

  forget(runId: RunId): void {
    for (const key of this.#known.keys()) if (key.startsWith(`${runId}/`)) this.#known.delete(key);
  }

  close(): void {}
}

function keyOf({ runId, workerId }: WorkerPlace): string {
  return `${runId}/${workerId}`;
}

/** One process. */
export class FakeWorker {
  readonly identity: WorkerIdentity;
  readonly book: SeriesBook = bookOf();
  readonly seen: SequencedEvent[] = [];
  status: WorkerStatus = "STARTING";
  phase: RunPhase = "PREPARING";
  connections = 0;
  isFrozen = false;
  /** Never done with draining. */
  isStuck = false;
  lastError: string | undefined;
  readonly #machine: FakeMachine;
  readonly #control: WorkerControl;
  #target: WorkerTarget | undefined;
  #timer: Timer | undefined;
  #sequence = 0;
  #lastEvent = 0;
  #nextPhase: { readonly phase: RunPhase; readonly atMs: number } | undefined;
  #drainedAtMs = Infinity;
  #rate = 0;
  #debt = 0;

  constructor(machine: FakeMachine, control: WorkerControl, identity: WorkerIdentity) {
    this.#machine = machine;
    this.#control = control;
    this.identity = identity;
  }

  /** Operations of MEASUREMENT that it has told of, or would have. */
  get measuredOps(): number {
    return this.book
      .snapshot()
      .filter(({ phase }) => phase === "MEASUREMENT")
      .reduce((sum, { ops }) => sum + ops, 0);
  }

  begin(): void {
    this.#soon(this.#machine.startMs, async () => {
      const view = await this.#control.register(this.identity);
      if (view === undefined || isTerminal(view.status)) return this.#exit();
      if (view.status === "STOPPING" || view.status === "CANCELLING") return this.#exit();
      this.#target = view.targets[this.identity.workerId];
      this.status = "READY";
      this.phase = view.phase;
      if (view.phase === "WARMUP" || view.phase === "MEASUREMENT") this.#run(view.phase);
      await this.#tell();
      this.#soon(1_000, () => this.#second());
    });
  }

  die(): void {
    this.#timer?.cancel();
    this.connections = 0;
  }

  async #second(): Promise<void> {
    if (this.isFrozen) return this.#soon(1_000, () => this.#second());
    try {
      await this.#work();
    } catch (thrown) {
      this.lastError = messageOf(thrown);
    }
    if (this.#machine.processes.has(this.identity.processId)) {
      this.#soon(1_000, () => this.#second());
    }
  }

  async #work(): Promise<void> {
    this.#load();
    for (const event of await this.#control.events(this.identity.runId, this.#lastEvent)) {
      this.#lastEvent = event.sequence;
      if (appliesTo(event, this.identity)) this.#apply(event);
    }
    const nowMs = this.#machine.clock.wallMs();
    if (this.#nextPhase !== undefined && nowMs >= this.#nextPhase.atMs) {
      this.#run(this.#nextPhase.phase as "WARMUP");
      this.#nextPhase = undefined;
    }
    if (nowMs >= this.#drainedAtMs && !this.isStuck) {
      await this.#control.finish(this.identity, this.#snapshot(), "COMPLETED");
      return this.#exit();
    }
    await this.#tell();
  }

  #apply(event: SequencedEvent): void {
    this.seen.push(event);
    switch (event.type) {
      case "START":
        return;
      case "SET_PHASE": {
        this.#nextPhase = { phase: event.phase, atMs: event.atMs ?? 0 };
        return;
      }
      case "SET_WORKER_TARGET":
        this.#target = event.target;
        if (this.status === "RUNNING") this.#run(this.phase as "WARMUP");
        return;
      case "STOP":
        this.status = "DRAINING";
        this.#nextPhase = undefined;
        this.connections = 0;
        this.#drainedAtMs = this.#machine.clock.wallMs() + this.#machine.drainMs;
    }
  }

  #run(phase: "WARMUP" | "MEASUREMENT"): void {
    this.status = "RUNNING";
    this.phase = phase;
    this.connections = this.#target?.connections ?? 0;
    this.book.enter(phase, this.#target?.stepNumber ?? 0);
  }

  /** A second's work: what its connections get of the servers. */
  #load(): void {
    if (this.status !== "RUNNING") {
      this.#rate = 0;
      return;
    }
    const { servers, serviceMs, errorShare } = this.#machine.servers;
    const all = Math.max(1, this.#machine.connections);
    const busy = Math.min(all, servers);
    const possible = (busy * 1_000 * this.connections) / (serviceMs * all);
    const wanted = this.#target?.qps ?? Infinity;
    const done = Math.min(possible, wanted);
    this.#rate = done;
    this.#debt = wanted === Infinity ? 0 : Math.max(0, this.#debt + wanted - possible);
    const latencyUs = Math.max(serviceMs, (serviceMs * all) / servers) * 1_000;
    for (let nth = 0; nth < Math.round(done); nth += 1) {
      const failure = nth < errorShare * done ? "other" : undefined;
      this.book.record(this.book.token, nth % 2, latencyUs, serviceMs * 1_000, failure, 1);
    }
  }

  async #tell(): Promise<void> {
    const snapshot = this.#snapshot();
    const written = await this.#control.writeSnapshot(this.identity, snapshot);
    const beat = await this.#control.beat(this.identity, {
      status: this.status,
      phase: this.phase,
      lastSequenceId: this.#lastEvent,
      targetConnections: this.#target?.connections ?? 0,
      activeConnections: this.connections,
      lastError: null,
    });
    if (written === "superseded" || beat !== "ok") this.#exit();
  }

  #snapshot() {
    this.#sequence += 1;
    return snapshotOf(this.identity, this.#sequence, this.book, {
      status: this.status,
      phase: this.phase,
      target_connections: this.#target?.connections ?? 0,
      active_connections: this.connections,
      qps: this.#rate,
      health: { ...idleHealth, waiting: Math.round(this.#debt) },
    });
  }

  #exit(): void {
    this.#machine.kill(this.identity.processId);
  }

  #soon(delayMs: number, body: () => Promise<void> | void): void {
    this.#timer = this.#machine.clock.after(delayMs, () => void body());
  }
}
