/**
 * Workers as the channel `stream` describes them, in memory: each keeps fragments by query and
 * epoch, obeys commands after a while, and tells its facts with heartbeats. Sessions end and come
 * back, workers lose everything, and fragments fail, when a test says so.
 */
import type { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import {
  type FragmentError,
  type FragmentReport,
  factKeyOf,
  type StreamCommand,
} from "../core/commands.ts";
import type { Facts, FleetEvents, FleetPort } from "../core/fleet-port.ts";

interface Kept {
  epoch: number;
  readonly fragments: Map<string, FragmentReport>;
}

const commandMs = 20;
const heartbeatMs = 1_000;

export class ModelWorker {
  readonly id: string;
  readonly #clock: VirtualClock;
  readonly #kept = new Map<string, Kept>();
  readonly #refusals: FragmentError[] = [];
  /** Those of a session's coordinator; `undefined`: there is none. */
  #session: FleetEvents | undefined;
  #version = 0;
  /** Commands that were begun, for tests that count them. */
  readonly obeyed: string[] = [];
  /** The positions that registered fragments went on from. */
  readonly restoredAt: string[] = [];
  /** What checkpoints were told: `query/fragment epoch state`. */
  readonly saved: string[] = [];
  /** Queries whose checkpoints the store refuses. */
  readonly unfit = new Set<string>();
  /** Called when fragments with sources have stopped reading. */
  onStopped: (query: string, epoch: number) => void = () => undefined;

  constructor(id: string, clock: VirtualClock) {
    this.id = id;
    this.#clock = clock;
  }

  get isUp(): boolean {
    return this.#session !== undefined;
  }

  /** What runs, as `query/fragment epoch`. */
  running(): readonly string[] {
    return [...this.#kept].flatMap(([query, { fragments }]) =>
      [...fragments.values()].flatMap(({ fragment, epoch, state }) =>
        state === "RUNNING" ? `${query}/${fragment} ${epoch}` : [],
      ),
    );
  }

  /** Everything that it reports. */
  reported(): readonly string[] {
    return Object.keys(this.#facts());
  }

  connect(events: FleetEvents): void {
    this.#session = events;
    events.workerUp(this.id);
    events.facts(this.id, this.#facts(), this.#version);
    this.#beat(events);
  }

  disconnect(): void {
    const session = this.#session;
    this.#session = undefined;
    session?.workerDown(this.id, "lost");
  }

  /** A new process under the same name: it knows of nothing. */
  restart(): void {
    this.disconnect();
    this.#kept.clear();
    this.#version = 0;
  }

  /** The next command is refused with this error. */
  refuseNext(error: FragmentError): void {
    this.#refusals.push(error);
  }

  /** Ends a fragment as if it had done so by itself. */
  end(query: string, state: "FAILED" | "TERMINATED", error?: FragmentError): void {
    const kept = this.#kept.get(query);
    for (const [name, report] of kept?.fragments ?? []) {
      if (report.state === "RUNNING") kept?.fragments.set(name, { ...report, state, error });
    }
    this.#version += 1;
    const fragments = [...(kept?.fragments.values() ?? [])];
    if (kept === undefined || fragments.length === 0) return;
    const { epoch } = kept;
    const states = {
      kind: "states",
      query,
      epoch,
      fragments,
      factsVersion: this.#version,
    } as const;
    this.#session?.report(this.id, states);
  }

  /** Ends the query's fragments here, since their senders have ended. */
  endOf(query: string, epoch: number): void {
    if (this.#kept.get(query)?.epoch === epoch) this.end(query, "TERMINATED");
  }

  take(command: StreamCommand): void {
    const session = this.#session;
    // What was sent before the session broke may still be obeyed; nobody hears of it.
    this.#clock.after(commandMs, () => this.#obey(command, session));
  }

  #obey(command: StreamCommand, session: FleetEvents | undefined): void {
    if (command.kind === "checkpointComplete") return;
    const { query, epoch } = command;
    if (command.kind === "triggerCheckpoint") {
      this.obeyed.push(`${command.kind} ${query} ${epoch}`);
      this.#checkpoint(query, epoch, command.checkpoint, session);
      return;
    }
    this.obeyed.push(`${command.kind} ${query} ${epoch}`);
    const error = this.#do(command);
    this.#version += 1;
    if (session === undefined || session !== this.#session) return;
    session.report(this.id, {
      kind: "answer",
      query,
      epoch,
      command: command.command,
      error,
      fragments: [...(this.#kept.get(query)?.fragments.values() ?? [])],
      factsVersion: this.#version,
    });
  }

  /** Fragments that have not started say nothing; those that have ended say their last state. */
  #checkpoint(
    query: string,
    epoch: number,
    checkpoint: number,
    session: FleetEvents | undefined,
  ): void {
    const kept = this.#kept.get(query);
    if (kept?.epoch !== epoch || session === undefined || session !== this.#session) return;
    const objects = this.unfit.has(query) ? [{ path: "a", sizeBytes: -1, crc32: 0 }] : [];
    for (const { fragment, state } of kept.fragments.values()) {
      if (state === "REGISTERED" || state === "FAILED") continue;
      this.saved.push(`${query}/${fragment} ${epoch} ${state}`);
      session.report(this.id, {
        kind: "checkpointed",
        query,
        epoch,
        checkpoint,
        state: { fragment, nodes: [], positions: { 0: `${checkpoint}` }, objects },
        prepared: new Map(),
      });
    }
  }

  #do(command: StreamCommand): FragmentError | undefined {
    const { query, epoch } = command;
    const kept = this.#kept.get(query);
    if (kept !== undefined && epoch < kept.epoch) {
      const message = `epoch ${epoch} is older than ${kept.epoch}`;
      return { code: "stale_epoch", number: undefined, message, retry: "backoff" };
    }
    const refusal = this.#refusals.shift();
    if (refusal !== undefined) return refusal;
    switch (command.kind) {
      case "register":
        if (kept?.epoch === epoch) return undefined;
        this.restoredAt.push(...(command.restore ?? []).map(({ positions }) => `${positions[0]}`));
        this.#kept.set(query, {
          epoch,
          fragments: new Map(
            command.fragments.map(({ fragment }) => [
              fragment,
              { fragment, epoch, state: "REGISTERED", error: undefined },
            ]),
          ),
        });
        return undefined;
      case "start":
        this.#each(kept, "REGISTERED", "RUNNING");
        return undefined;
      case "stop":
        this.#each(kept, "RUNNING", "STOPPED");
        this.onStopped(query, epoch);
        return undefined;
      case "unregister":
        this.#kept.delete(query);
        return undefined;
      default:
        return undefined;
    }
  }

  #each(
    kept: Kept | undefined,
    from: FragmentReport["state"],
    state: FragmentReport["state"],
  ): void {
    for (const [name, report] of kept?.fragments ?? []) {
      if (report.state === from) kept?.fragments.set(name, { ...report, state });
    }
  }

  #facts(): Facts {
    return Object.fromEntries(
      [...this.#kept].flatMap(([query, { fragments }]) =>
        Array.from(fragments, ([name, report]) => [factKeyOf(query, name), JSON.stringify(report)]),
      ),
    );
  }

  #beat(session: FleetEvents): void {
    this.#clock.after(heartbeatMs, () => {
      if (this.#session !== session) return;
      session.facts(this.id, this.#facts(), this.#version);
      this.#beat(session);
    });
  }
}

/** The workers' side of one coordinator. */
export class ModelFleet implements FleetPort {
  readonly workers: ReadonlyMap<string, ModelWorker>;
  #events: FleetEvents | undefined;

  constructor(workers: ReadonlyMap<string, ModelWorker>) {
    this.workers = workers;
  }

  listen(events: FleetEvents): () => void {
    this.#events = events;
    for (const worker of this.workers.values()) this.connect(worker.id);
    return () => {
      this.#events = undefined;
    };
  }

  connect(workerId: string): void {
    const worker = this.workers.get(workerId);
    if (worker === undefined || worker.isUp || this.#events === undefined) return;
    worker.connect(this.#events);
  }

  send(workerId: string, command: StreamCommand): boolean {
    const worker = this.workers.get(workerId);
    if (worker?.isUp !== true) return false;
    worker.take(command);
    return true;
  }

  /** The coordinator dies: all sessions end, and nobody hears of it. */
  abandon(): void {
    this.#events = undefined;
    for (const worker of this.workers.values()) worker.disconnect();
  }
}
