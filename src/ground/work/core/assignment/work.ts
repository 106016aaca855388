/**
 * One work item, as the controller that owns its query sees it.
 *
 *            assign          workAccepted         workReady           fetched
 *   queued ─────────▶ assigned ─────────▶ running ─────────▶ ready ─────────▶ committed
 *      ▲                 │                   ├─── workAnswered ───────────────────▲
 *      └─────────────────┴───────────────────┴─────────────────┘  the attempt was lost: try again
 *
 *   any of the four ──▶ failed | cancelled
 *
 * WC4 to WC10 and WC34 hold here.
 *
 * What it refuses to do: choose a worker (that is `WorkBoard`), know the time, or know what work
 * means.
 */
import {
  AssertionError,
  detailsOf,
  type ErrorCode,
  type ErrorDetails,
  unreachable,
} from "../../../kernel/errors.ts";
import type { Incarnation, WorkerId } from "../../../kernel/ids.ts";
import type { WorkReport, WorkSpec } from "./messages.ts";
import { type Artifact, keyOf, type WorkAttempt, type WorkCommand } from "./messages.ts";

export interface WorkLimits {
  /** The limit of accepted attempts; when the last of them fails, the query fails. */
  readonly attemptsMax: number;
  /** How many workers may die with an item before it counts as the cause. */
  readonly lossesMax: number;
}

export const defaultWorkLimits: WorkLimits = { attemptsMax: 8, lossesMax: 2 };

/** One run of a worker that ended, or seemed to, while it had the item. */
export interface Loss {
  readonly workerId: WorkerId;
  readonly incarnation: Incarnation;
  /**
   * Whether the worker had accepted the item or returned as another incarnation. False when it may
   * never have seen the item.
   */
  readonly proven: boolean;
}

/** What happened to an item so far, carried from state to state. */
export interface WorkHistory {
  /** The number of the newest assignment; 0 before the first. */
  readonly attempt: number;
  /** How many attempts were accepted. */
  readonly starts: number;
  /** Losses that are not forgiven: at most `lossesMax`, fewer of them proven. */
  readonly losses: readonly Loss[];
  /** Workers where an attempt failed; others are preferred. */
  readonly avoid: readonly WorkerId[];
}

interface Live {
  readonly spec: WorkSpec;
  readonly history: WorkHistory;
}
export interface QueuedWork extends Live {
  readonly state: "queued";
}
interface OnWorker<State extends string> extends Live {
  readonly state: State;
  readonly workerId: WorkerId;
}
export type AssignedWork = OnWorker<"assigned">;
export type RunningWork = OnWorker<"running">;
export interface ReadyWork extends OnWorker<"ready"> {
  readonly artifact: Artifact;
}
export interface CommittedWork {
  readonly state: "committed";
  readonly spec: WorkSpec;
  readonly attempt: number;
  readonly workerId: WorkerId;
}
export interface FailedWork extends ErrorDetails {
  readonly state: "failed";
  readonly spec: WorkSpec;
  /** An `ErrorCode`, as text because a worker of another version may have named it. */
  readonly code: string;
  readonly message: string;
}
export interface CancelledWork {
  readonly state: "cancelled";
  readonly spec: WorkSpec;
}

export type LiveWork = QueuedWork | AssignedWork | RunningWork | ReadyWork;
export type EndedWork = CommittedWork | FailedWork | CancelledWork;
export type Work = LiveWork | EndedWork;
export type WorkState = Work["state"];

export type WorkEvent =
  /** Only for queued work: the board chose an eligible worker. */
  | { readonly kind: "assign"; readonly workerId: WorkerId }
  | (WorkReport & { readonly workerId: WorkerId })
  /** The artifact's bytes are here and verified. */
  | { readonly kind: "fetched"; readonly attempt: number }
  | {
      readonly kind: "fetchFailed";
      readonly attempt: number;
      /** `disk_full` is this process's disk and fails the query; other codes execute again. */
      readonly code: string;
      readonly message: string;
    }
  | { readonly kind: "workerDraining"; readonly workerId: WorkerId }
  | {
      readonly kind: "workerLost";
      readonly workerId: WorkerId;
      readonly incarnation: Incarnation;
      /** Whether the session ended but the process is known to be alive. */
      readonly survived: boolean;
    }
  | {
      readonly kind: "workerReturned";
      readonly workerId: WorkerId;
      readonly incarnation: Incarnation;
    }
  | { readonly kind: "cancel" };

export type ReassignReason =
  | "rejected"
  | "worker_draining"
  | "worker_lost"
  | "work_failed"
  | "fetch_failed";

export type WorkEffect =
  | { readonly kind: "send"; readonly workerId: WorkerId; readonly command: WorkCommand }
  /** Discards the fetch; a later `fetched` for it is ignored. */
  | ({ readonly kind: "abortFetch" } & WorkAttempt)
  | (WorkAttempt & { readonly workerId: WorkerId } & (
        | { readonly kind: "fetch"; readonly artifact: Artifact }
        /** `answer` is undefined when an artifact was fetched. */
        | { readonly kind: "workCommitted"; readonly answer: Uint8Array | undefined }
        /** An observation: the attempt runs, or waits its turn, on the worker. */
        | { readonly kind: "accepted" }
        /** An observation: the attempt is over and the item is queued again. */
        | { readonly kind: "reassigned"; readonly reason: ReassignReason }
      ));

type Step = readonly [next: Work, effects: readonly WorkEffect[]];

const untouched: readonly WorkEffect[] = [];
const freshHistory: WorkHistory = { attempt: 0, starts: 0, losses: [], avoid: [] };

export function newWork(spec: WorkSpec): QueuedWork {
  return { state: "queued", spec, history: freshHistory };
}

export function isLive(work: Work): work is LiveWork {
  return work.state !== "committed" && work.state !== "failed" && work.state !== "cancelled";
}

/** WC34: two workers may have died of it, which is not known yet. */
export function isHeldBack(work: QueuedWork, limits: WorkLimits): boolean {
  return work.history.losses.length >= limits.lossesMax;
}

export function stepWork(
  work: Work,
  event: WorkEvent,
  limits: WorkLimits = defaultWorkLimits,
): Step {
  switch (work.state) {
    case "queued":
      return stepQueued(work, event, limits);
    case "assigned":
    case "running":
      return stepHeld(work, event, limits);
    case "ready":
      return stepReady(work, event, limits);
    case "committed":
    case "failed":
    case "cancelled":
      return event.kind === "workReady" ? refuseArtifact(work, event) : [work, untouched]; // WC5
  }
}

function stepQueued(work: QueuedWork, event: WorkEvent, limits: WorkLimits): Step {
  switch (event.kind) {
    case "assign": {
      const { spec } = work;
      const attempt = work.history.attempt + 1;
      const { workerId } = event;
      return [
        { state: "assigned", spec, workerId, history: { ...work.history, attempt } },
        [{ kind: "send", workerId, command: { kind: "assignWork", work: spec, attempt } }],
      ];
    }
    case "workReady":
      return refuseArtifact(work, event);
    case "workerReturned":
      return resolve(work, event, limits);
    case "cancel":
      return [{ state: "cancelled", spec: work.spec }, untouched];
    case "workAccepted":
    case "workRejected":
    case "workAnswered":
    case "workFailed":
    case "fetched":
    case "fetchFailed":
    case "workerDraining":
    case "workerLost":
      return [work, untouched]; // WC4: queued work has no current attempt.
    default:
      return unreachable(event);
  }
}

function stepHeld(work: AssignedWork | RunningWork, event: WorkEvent, limits: WorkLimits): Step {
  switch (event.kind) {
    case "assign":
      return assignedTwice(work);
    case "workAccepted": {
      if (work.state === "running" || !isCurrent(work, event)) return [work, untouched];
      const { attempt } = work.history;
      return [
        started(work),
        [{ kind: "accepted", key: keyOf(work.spec), attempt, workerId: work.workerId }],
      ];
    }
    case "workRejected":
      // After an acceptance this makes no sense, but the worker says that it does not hold the
      // item: WC6.
      return isCurrent(work, event)
        ? requeue(work, "rejected", event.reason, untouched, limits)
        : [work, untouched];
    case "workReady": {
      if (!isCurrent(work, event)) return refuseArtifact(work, event);
      const { spec, workerId, history } = started(work);
      const { artifact } = event;
      return [
        { state: "ready", spec, workerId, history, artifact },
        [{ kind: "fetch", key: keyOf(spec), attempt: history.attempt, workerId, artifact }],
      ];
    }
    case "workAnswered":
      return isCurrent(work, event) ? committed(work, event.answer) : [work, untouched];
    case "workFailed":
      return isCurrent(work, event)
        ? attemptFailed(started(work), event, untouched, limits)
        : [work, untouched];
    case "workerDraining":
      // The worker finishes what it accepted; the rest moves at once.
      return work.state === "assigned" && event.workerId === work.workerId
        ? requeue(
            work,
            "worker_draining",
            "its worker is draining",
            [free("cancelWork", work)],
            limits,
          )
        : [work, untouched];
    case "workerLost":
      return event.workerId === work.workerId ? lost(work, event, limits) : [work, untouched];
    case "workerReturned":
      return resolve(work, event, limits);
    case "cancel":
      return [{ state: "cancelled", spec: work.spec }, [free("cancelWork", work)]];
    case "fetched":
    case "fetchFailed":
      return [work, untouched]; // WC4: of an earlier attempt.
    default:
      return unreachable(event);
  }
}

function stepReady(work: ReadyWork, event: WorkEvent, limits: WorkLimits): Step {
  const { spec, workerId } = work;
  const { attempt } = work.history;
  const abortFetch: WorkEffect = { kind: "abortFetch", key: keyOf(spec), attempt };
  switch (event.kind) {
    case "assign":
      return assignedTwice(work);
    case "workReady":
      return isCurrent(work, event) ? [work, untouched] : refuseArtifact(work, event);
    case "workFailed": // The artifact expired or was evicted before it was fetched.
      return isCurrent(work, event)
        ? attemptFailed(work, event, [abortFetch], limits)
        : [work, untouched];
    case "fetched": {
      if (event.attempt !== attempt) return [work, untouched];
      const [next, effects] = committed(work, undefined);
      return [next, [...effects, free("ackArtifact", work)]];
    }
    case "fetchFailed": {
      if (event.attempt !== attempt) return [work, untouched];
      const effects = [free("ackArtifact", work)];
      // This process's disk is full; executing elsewhere would only fill it again.
      if (event.code === ("disk_full" satisfies ErrorCode)) {
        return [{ state: "failed", spec, code: event.code, message: event.message }, effects];
      }
      return requeue(avoiding(work), "fetch_failed", event.message, effects, limits);
    }
    case "workerLost":
      return event.workerId === workerId
        ? requeue(work, "worker_lost", "its worker was lost", [abortFetch], limits)
        : [work, untouched];
    case "workerReturned":
      return resolve(work, event, limits);
    case "cancel":
      return [{ state: "cancelled", spec }, [abortFetch, free("cancelWork", work)]];
    case "workAccepted":
    case "workRejected":
    case "workAnswered":
    case "workerDraining":
      return [work, untouched];
    default:
      return unreachable(event);
  }
}

type Holding = AssignedWork | RunningWork | ReadyWork;
type Of<Kind extends WorkEvent["kind"]> = Extract<WorkEvent, { readonly kind: Kind }>;

function isCurrent(
  work: Holding,
  event: { readonly workerId: WorkerId; readonly attempt: number },
): boolean {
  return event.attempt === work.history.attempt && event.workerId === work.workerId;
}

/** A worker that reports on an attempt has accepted it, even if it did not say so first. */
function started(work: AssignedWork | RunningWork): RunningWork {
  if (work.state === "running") return work;
  const history = { ...work.history, starts: work.history.starts + 1 }; // WC7
  return { state: "running", spec: work.spec, workerId: work.workerId, history };
}

/** WC5. */
function committed(work: Holding, answer: Uint8Array | undefined): Step {
  const { spec, workerId } = work;
  const { attempt } = work.history;
  return [
    { state: "committed", spec, attempt, workerId },
    [{ kind: "workCommitted", key: keyOf(spec), attempt, workerId, answer }],
  ];
}

function avoiding<H extends Holding>(work: H): H {
  const { avoid } = work.history;
  if (avoid.includes(work.workerId)) return work;
  return { ...work, history: { ...work.history, avoid: [...avoid, work.workerId] } };
}

function attemptFailed(
  work: RunningWork | ReadyWork,
  event: Of<"workFailed">,
  effects: readonly WorkEffect[],
  limits: WorkLimits,
): Step {
  const { code, message } = event;
  if (!event.retryable) {
    const { spec } = work;
    return [{ state: "failed", spec, code, message, ...detailsOf(event) }, effects];
  }
  return requeue(avoiding(work), "work_failed", message, effects, limits, code);
}

function lost(work: AssignedWork | RunningWork, event: Of<"workerLost">, limits: WorkLimits): Step {
  const why = "its worker was lost";
  if (event.survived) return requeue(work, "worker_lost", why, untouched, limits); // WC8, WC34
  const { workerId, incarnation } = event;
  const loss: Loss = { workerId, incarnation, proven: work.state === "running" };
  const losses = [...work.history.losses, loss];
  if (arePoisonous(losses, limits)) return poisonous(work.spec, losses);
  const suspect = { ...work, history: { ...work.history, losses } };
  return requeue(suspect, "worker_lost", why, untouched, limits);
}

function arePoisonous(losses: readonly Loss[], limits: WorkLimits): boolean {
  return losses.filter(({ proven }) => proven).length >= limits.lossesMax;
}

function poisonous(spec: WorkSpec, losses: readonly Loss[]): Step {
  const names = losses.map(({ workerId }) => workerId).join(", ");
  const code: ErrorCode = "work_poisonous";
  const message = `work ${spec.workId} was running on ${losses.length} workers when they went down (${names}); it is not tried on another`;
  return [{ state: "failed", spec, code, message }, untouched];
}

function requeue(
  work: Holding,
  reason: ReassignReason,
  why: string,
  effects: readonly WorkEffect[],
  limits: WorkLimits,
  lastCode?: string,
): Step {
  const { spec, history, workerId } = work;
  if (history.starts >= limits.attemptsMax) {
    // Of the retryable errors, users can act only on these.
    const isTheirs = lastCode === "disk_full" || lastCode === "store_unavailable";
    const code: ErrorCode = isTheirs ? lastCode : "query_failed";
    const message = `work ${spec.workId} was given up after ${history.starts} attempts; the last one on ${workerId}: ${why}`;
    return [{ state: "failed", spec, code, message }, effects];
  }
  const { attempt } = history;
  return [
    { state: "queued", spec, history },
    [...effects, { kind: "reassigned", key: keyOf(spec), attempt, workerId, reason }],
  ];
}

/** WC8, WC34: a worker is back, as the same incarnation (forgiven) or as another (proven). */
function resolve(work: LiveWork, event: Of<"workerReturned">, limits: WorkLimits): Step {
  const before = work.history.losses;
  const isOf = ({ workerId }: Loss): boolean => workerId === event.workerId;
  const isForgiven = (loss: Loss): boolean => isOf(loss) && loss.incarnation === event.incarnation;
  const losses = before
    .filter((loss) => !isForgiven(loss))
    .map((loss) => (isOf(loss) && !loss.proven ? { ...loss, proven: true } : loss));
  const isUnchanged =
    losses.length === before.length && losses.every((loss, index) => loss === before[index]);
  if (isUnchanged) return [work, untouched];
  // WC34: only held-back work has that many losses, and it is queued and on no worker.
  if (work.state === "queued" && arePoisonous(losses, limits)) return poisonous(work.spec, losses);
  return [{ ...work, history: { ...work.history, losses } }, untouched];
}

function assignedTwice(work: Holding): never {
  throw new AssertionError(`only queued work is assigned: ${work.spec.workId} is ${work.state}`);
}

/** The command that makes the worker release the current attempt. */
function free(kind: "cancelWork" | "ackArtifact", work: Holding): WorkEffect {
  const command = { kind, key: keyOf(work.spec), attempt: work.history.attempt };
  return { kind: "send", workerId: work.workerId, command };
}

/** WC4: the artifact is not wanted. */
function refuseArtifact(work: Work, event: Of<"workReady">): Step {
  const { workerId, attempt } = event;
  const command: WorkCommand = { kind: "ackArtifact", key: keyOf(work.spec), attempt };
  return [work, [{ kind: "send", workerId, command }]];
}
