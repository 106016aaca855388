/**
 * States, events and effects of `load-worker-machine.ts`. Each state has only the fields that it
 * needs. Times are by the worker's clock.
 */
import type { SequencedEvent, WorkerTarget } from "./control-events.ts";
import type { Inbox, TargetAhead } from "./event-inbox.ts";
import type { RunPhase, WorkerStatus } from "./run-state.ts";
import type { MeasuredPhase } from "./series-book.ts";
import type { StoreClock } from "./store-clock.ts";
import type { RunView, WorkerBeat, WorkerIdentity } from "./worker-control.ts";
import type { WorkerEndKind } from "./worker-watchdog.ts";

export interface WorkerEnd {
  readonly kind: WorkerEndKind;
  readonly status: Extract<WorkerStatus, "COMPLETED" | "FAILED">;
  readonly message: string;
}

export interface Ending {
  readonly kind: WorkerEndKind;
  readonly message: string;
  /** Time limit for draining; 0 ends at once. */
  readonly drainMs: number;
}

/** The current call to the store, or when the next one begins. */
export type Talk =
  | { readonly call: undefined; readonly nextMs: number }
  | {
      readonly call: "read" | "events" | "beat" | "snapshot" | "log" | "finish";
      /** When this round of calls began. */
      readonly begunMs: number;
      /** The run's row, if this round has read it. */
      readonly view: RunView | undefined;
    };

/** The state of a registered worker. */
export interface Link {
  readonly worker: WorkerIdentity;
  readonly view: RunView;
  readonly clock: StoreClock;
  readonly inbox: Inbox;
  readonly talk: Talk;
  /** The number of consecutive failed calls. */
  readonly failures: number;
  readonly registeredMs: number;
  readonly readAtMs: number;
  /** When the store last answered. */
  readonly contactMs: number;
  /** The worker registered after MEASUREMENT had begun. */
  readonly isLate: boolean;
}

export interface Registering {
  readonly state: "registering";
  readonly worker: WorkerIdentity;
  readonly sinceMs: number;
  readonly failures: number;
  readonly isAsked: boolean;
  readonly retryAtMs: number;
  readonly ending: Ending | undefined;
}

/**
 * Reads the store's clock several times: the first answer includes starting a thread and opening
 * the store (LW3).
 */
export interface Tuning {
  readonly state: "tuning";
  readonly worker: WorkerIdentity;
  readonly view: RunView;
  readonly clock: StoreClock;
  readonly registeredMs: number;
  readonly pings: number;
  readonly ending: Ending | undefined;
}

interface BeforeLoad {
  readonly link: Link;
  /** Targets that came before the load began. */
  readonly told: readonly TargetAhead[];
  readonly hasStart: boolean;
}

export interface Preparing extends BeforeLoad {
  readonly state: "preparing";
  /** The time limits of connecting. Undefined while the target's client is being opened. */
  readonly connecting: { readonly untilMs: number; readonly retryAtMs: number } | undefined;
}

export interface Ready extends BeforeLoad {
  readonly state: "ready";
}

/** The state of a load that has begun. */
export interface Begun {
  readonly deadlineMs: number;
  readonly snapshotAtMs: number;
}

export interface Running {
  readonly state: "running";
  readonly link: Link;
  readonly begun: Begun;
}

export interface Draining {
  readonly state: "draining";
  readonly link: Link;
  /** Undefined when the load never began. */
  readonly begun: Begun | undefined;
  readonly ending: Ending;
  /** An end after which nothing is written. */
  readonly mute: Ending | undefined;
  readonly untilMs: number;
  /** A later end gives less time than the first one, which the generator was told. */
  readonly isCut: boolean;
  /** A harder end came, so the worker waits for nothing more. */
  readonly isHard: boolean;
  /** What the worker waits for, in this order. */
  readonly stage: "operations" | "connections" | "records" | "call";
}

export interface Finishing {
  readonly state: "finishing";
  readonly link: Link;
  readonly begun: Begun | undefined;
  readonly ending: Ending;
  readonly status: WorkerEnd["status"];
}

export type Alive = Preparing | Ready | Running | Draining;
export type Linked = Alive | Finishing;

export type LoadWorkerState =
  | Registering
  | Tuning
  | Linked
  | { readonly state: "over"; readonly end: WorkerEnd }
  | { readonly state: "broken"; readonly thrown: unknown };

/** `sentMs` is when the call was made. */
export type LoadWorkerEvent = { readonly nowMs: number } & (
  | { readonly kind: "time" }
  | { readonly kind: "terminated" }
  | { readonly kind: "targetFailed"; readonly message: string }
  /** A bug, or an error that no state can handle. */
  | { readonly kind: "broke"; readonly thrown: unknown }
  | { readonly kind: "rowRead"; readonly sentMs: number; readonly view: RunView | undefined }
  | {
      readonly kind: "eventsRead";
      readonly sentMs: number;
      readonly events: readonly SequencedEvent[];
    }
  | { readonly kind: "beaten"; readonly answer: "ok" | "superseded" | "gone" }
  /** `nothing` when there was no snapshot to store. */
  | { readonly kind: "snapshotStored"; readonly answer: "ok" | "superseded" | "nothing" }
  | { readonly kind: "logged" | "finished" }
  | {
      readonly kind: "callFailed";
      readonly message: string;
      readonly isLasting: boolean;
      readonly thrown: unknown;
      /** From 0 to 1, to vary the pauses between retries. */
      readonly random: number;
    }
  | { readonly kind: "opened" | "connected" | "drained" | "closed" | "recorded" }
  | { readonly kind: "connectFailed"; readonly message: string; readonly isLasting: boolean }
);

/** `…Phase`, `…Target`, `start`, `stopAt` and `settle` control the load. */
export type LoadWorkerEffect =
  | { readonly kind: "register" | "readRow" | "storeSnapshot" | "flushLog" }
  | { readonly kind: "readEvents"; readonly afterSequence: number }
  | { readonly kind: "beat"; readonly beat: Omit<WorkerBeat, "activeConnections"> }
  | { readonly kind: "finish"; readonly status: WorkerEnd["status"] }
  | { readonly kind: "open"; readonly view: RunView }
  | { readonly kind: "connect"; readonly target: WorkerTarget }
  | {
      readonly kind: "start";
      readonly phase: MeasuredPhase;
      readonly target: WorkerTarget;
      readonly atMs: number;
      readonly ahead: readonly TargetAhead[];
    }
  | {
      readonly kind: "enterPhase" | "announcePhase";
      readonly phase: MeasuredPhase;
      readonly atMs: number;
    }
  | { readonly kind: "setTarget" | "announceTarget"; readonly ahead: TargetAhead }
  | { readonly kind: "stopAt"; readonly atMs: number }
  | { readonly kind: "settle"; readonly beforeMs: number }
  | {
      readonly kind: "takeSnapshot";
      readonly status: WorkerStatus;
      readonly phase: RunPhase;
      readonly target: WorkerTarget;
    }
  | { readonly kind: "drain"; readonly timeoutMs: number }
  | { readonly kind: "close" }
  | { readonly kind: "finishRecords"; readonly timeoutMs: number }
  /** `say` and `trouble` write to the run's log, `warn` to the log of the process. */
  | { readonly kind: "say" | "trouble" | "warn"; readonly message: string };
