/**
 * What a load worker is, what happens to it and what it does: the types of `load-worker-machine.ts`.
 * Each state has what it needs and nothing else. Times are the worker's.
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
  /** 0: at once. */
  readonly drainMs: number;
}

/** The conversation with the store: the call that is under way, or when the next one begins. */
export type Talk =
  | { readonly call: undefined; readonly nextMs: number }
  | {
      readonly call: "read" | "events" | "beat" | "snapshot" | "log" | "finish";
      /** When this round of calls began. */
      readonly begunMs: number;
      /** The row, if it was read in this round. */
      readonly view: RunView | undefined;
    };

/** What a worker has that has registered. */
export interface Link {
  readonly worker: WorkerIdentity;
  readonly view: RunView;
  readonly clock: StoreClock;
  readonly inbox: Inbox;
  readonly talk: Talk;
  /** Calls that failed in a row. */
  readonly failures: number;
  readonly registeredMs: number;
  readonly readAtMs: number;
  /** When the store last answered. */
  readonly contactMs: number;
  /** It registered when MEASUREMENT had begun. */
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

/** LW3: the first answer includes starting a thread and opening the store: its way is not the clock's. */
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
  /** Of connecting; `undefined`: what it will connect with is being opened. */
  readonly connecting: { readonly untilMs: number; readonly retryAtMs: number } | undefined;
}

export interface Ready extends BeforeLoad {
  readonly state: "ready";
}

/** Of a load that has begun. */
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
  /** `undefined`: the load never began. */
  readonly begun: Begun | undefined;
  readonly ending: Ending;
  /** An end after which nothing is written. */
  readonly mute: Ending | undefined;
  readonly untilMs: number;
  /** A later end gives less time than the first, which the generator knows. */
  readonly isCut: boolean;
  /** A harder end came: nothing is waited for any more. */
  readonly isHard: boolean;
  /** What is under way: operations, connections, records; at last the store's call. */
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

/** `sentMs`: when the call was made. */
export type LoadWorkerEvent = { readonly nowMs: number } & (
  | { readonly kind: "time" }
  | { readonly kind: "terminated" }
  | { readonly kind: "targetFailed"; readonly message: string }
  /** An error of ours, or one that no state can treat. */
  | { readonly kind: "broke"; readonly thrown: unknown }
  | { readonly kind: "rowRead"; readonly sentMs: number; readonly view: RunView | undefined }
  | {
      readonly kind: "eventsRead";
      readonly sentMs: number;
      readonly events: readonly SequencedEvent[];
    }
  | { readonly kind: "beaten"; readonly answer: "ok" | "superseded" | "gone" }
  /** `nothing`: there was none to store. */
  | { readonly kind: "snapshotStored"; readonly answer: "ok" | "superseded" | "nothing" }
  | { readonly kind: "logged" | "finished" }
  | {
      readonly kind: "callFailed";
      readonly message: string;
      readonly isLasting: boolean;
      readonly thrown: unknown;
      /** From 0 to 1: pauses differ. */
      readonly random: number;
    }
  | { readonly kind: "opened" | "connected" | "drained" | "closed" | "recorded" }
  | { readonly kind: "connectFailed"; readonly message: string; readonly isLasting: boolean }
);

/** `…Phase`, `…Target`, `start`, `stopAt`, `settle`: of the load. */
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
  /** `say`, `trouble`: in the run's log; `warn`: in the process's. */
  | { readonly kind: "say" | "trouble" | "warn"; readonly message: string };
