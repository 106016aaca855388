/**
 * What a worker is told, in order and in time: events of the store, and the run's row for those
 * that were missed. Pure: who holds an inbox asks `takeDue` at `dueMsOf`. Times in it are the
 * worker's.
 *
 *   1  Events apply in the order of their sequence, each once, those of others' scope never.
 *   2  What a later event has set an earlier one does not undo, however late its moment is.
 *   3  Phases never go back.
 *   4  The row counts where it is ahead of the events, and no event that would say the same is
 *      waited for.
 */
import {
  appliesTo,
  isSameTarget,
  type SequencedEvent,
  type WorkerTarget,
} from "./control-events.ts";
import { drainTimeoutMs, type RunPhase, runPhases } from "./run-state.ts";
import type { StoreClock } from "./store-clock.ts";
import type { RunView, WorkerIdentity } from "./worker-control.ts";

/** A target and the moment when it takes effect. */
export interface TargetAhead {
  readonly target: WorkerTarget;
  readonly rampMs: number;
  readonly fromMs: number;
}

export interface PhaseAhead {
  readonly phase: RunPhase;
  readonly fromMs: number;
}

type Change = { readonly phase: PhaseAhead } | { readonly target: TargetAhead };

/** `ahead` is delivered as soon as it is known, and again as `now` at its moment. */
export type Told =
  | { readonly kind: "start" }
  | {
      readonly kind: "stop";
      readonly drainMs: number;
      readonly reason: string;
      /** When the run stopped. */
      readonly atMs: number;
    }
  | { readonly kind: "now" | "ahead"; readonly change: Change };

interface Pending {
  readonly sequence: number;
  readonly change: Change;
}

export interface Inbox {
  readonly lastSequence: number;
  readonly phase: RunPhase;
  readonly target: WorkerTarget;
  /** Changes whose moment has not come, in the order of their sequence. */
  readonly pending: readonly Pending[];
}

/** What the worker is told, and the inbox afterwards. Undefined when there is nothing to tell. */
export type Delivery = readonly [inbox: Inbox, told: Told | undefined];

/** What was received. `view` is the run's row, read before the events. */
export interface Mail {
  readonly events: readonly SequencedEvent[];
  readonly view: RunView | undefined;
  readonly worker: WorkerIdentity;
  readonly clock: StoreClock;
  readonly nowMs: number;
}

/** Deliveries in order; the last one has the final inbox. */
export function receive(before: Inbox, mail: Mail): readonly Delivery[] {
  const told: Delivery[] = [];
  const fresh = new Set<Topic>();
  let inbox = before;
  for (const event of mail.events) {
    if (event.sequence <= inbox.lastSequence) continue;
    inbox = { ...inbox, lastSequence: event.sequence };
    if (!appliesTo(event, mail.worker)) continue;
    if (event.type === "SET_PHASE") fresh.add("phase");
    if (event.type === "SET_WORKER_TARGET") fresh.add("target");
    inbox = hear(inbox, event, mail, told);
  }
  if (mail.view !== undefined) inbox = reconcile(inbox, mail.view, fresh, mail, told);
  return [...told, [inbox, undefined]];
}

/**
 * Delivers the changes that are due, in the order of their moments; the last delivery has the final
 * inbox.
 */
export function takeDue(before: Inbox, nowMs: number): readonly Delivery[] {
  const told: Delivery[] = [];
  const due = before.pending
    .filter(({ change }) => fromMsOf(change) <= nowMs)
    .toSorted((left, right) => fromMsOf(left.change) - fromMsOf(right.change));
  let inbox = before;
  for (const each of due) {
    // A later event that was due at the same time may have removed it (2).
    if (inbox.pending.includes(each)) inbox = apply(inbox, each.change, each.sequence, told);
  }
  return [...told, [inbox, undefined]];
}

/** The moment of the next pending change. */
export function dueMsOf({ pending }: Inbox): number {
  return Math.min(...pending.map(({ change }) => fromMsOf(change)));
}

/** Pending changes, for a worker that could not act on them when they came. */
export function aheadOf({ pending }: Inbox): readonly Told[] {
  return pending.map(({ change }) => ({ kind: "ahead", change }));
}

/** Pending targets, in order. */
export function targetsAhead({ pending }: Inbox): readonly TargetAhead[] {
  return pending.flatMap(({ change }) => ("target" in change ? [change.target] : []));
}

export function isPhaseAhead(inbox: Inbox): boolean {
  return waits(inbox, "phase");
}

type Topic = "phase" | "target";

function waits({ pending }: Inbox, topic: Topic): boolean {
  return pending.some(({ change }) => topic in change);
}

function fromMsOf(change: Change): number {
  return "phase" in change ? change.phase.fromMs : change.target.fromMs;
}

function hear(inbox: Inbox, event: SequencedEvent, mail: Mail, told: Delivery[]): Inbox {
  if (event.type === "START") {
    told.push([inbox, { kind: "start" }]);
    return inbox;
  }
  const fromMs = event.atMs === null ? mail.nowMs : mail.clock.toLocalMs(event.atMs);
  switch (event.type) {
    case "STOP": {
      const { drainMs, reason } = event;
      told.push([inbox, { kind: "stop", drainMs, reason, atMs: fromMs }]);
      return inbox;
    }
    case "SET_PHASE":
      return schedule(inbox, { phase: { phase: event.phase, fromMs } }, event.sequence, mail, told);
    case "SET_WORKER_TARGET": {
      const target = { target: event.target, rampMs: event.rampSeconds * 1000, fromMs };
      return schedule(inbox, { target }, event.sequence, mail, told);
    }
  }
}

/** Applies the change now, or keeps it until its moment. */
function schedule(
  inbox: Inbox,
  change: Change,
  sequence: number,
  { nowMs }: Mail,
  told: Delivery[],
): Inbox {
  if (fromMsOf(change) <= nowMs) return apply(inbox, change, sequence, told);
  const next = { ...inbox, pending: [...inbox.pending, { sequence, change }] };
  told.push([next, { kind: "ahead", change }]);
  return next;
}

/** Keeps invariants 2 and 3. */
function apply(before: Inbox, change: Change, sequence: number, told: Delivery[]): Inbox {
  const topic: Topic = "phase" in change ? "phase" : "target";
  const isLater = (each: Pending): boolean => !(topic in each.change) || each.sequence > sequence;
  const rest = { ...before, pending: before.pending.filter(isLater) };
  const isBack =
    "phase" in change && runPhases.indexOf(change.phase.phase) <= runPhases.indexOf(rest.phase);
  if (isBack) return rest;
  const inbox =
    "phase" in change
      ? { ...rest, phase: change.phase.phase }
      : { ...rest, target: change.target.target };
  told.push([inbox, { kind: "now", change }]);
  return inbox;
}

/** Keeps invariant 4. */
function reconcile(
  before: Inbox,
  view: RunView,
  fresh: ReadonlySet<Topic>,
  { worker, clock, nowMs }: Mail,
  told: Delivery[],
): Inbox {
  const { status, phase, stopTimeMs, warmupEndTimeMs } = view;
  if (status === "STOPPING" || status === "CANCELLING") {
    const atMs = stopTimeMs === null ? nowMs : clock.toLocalMs(stopTimeMs);
    const reason = `the run is ${status}`;
    told.push([before, { kind: "stop", drainMs: drainTimeoutMs, reason, atMs }]);
    return before;
  }
  // The row says when MEASUREMENT began.
  const isKnown = phase === "MEASUREMENT" && warmupEndTimeMs !== null;
  const fromMs = isKnown ? clock.toLocalMs(warmupEndTimeMs) : nowMs;
  if (fromMs > nowMs) return before; // An announced change is delivered at its moment.
  if (status === "RUNNING" && (phase === "WARMUP" || phase === "MEASUREMENT")) {
    told.push([before, { kind: "start" }]);
  }
  let inbox = before;
  const { lastSequence } = inbox;
  if (!fresh.has("phase") && !waits(inbox, "phase")) {
    inbox = apply(inbox, { phase: { phase, fromMs } }, lastSequence, told);
  }
  const target = view.targets[worker.workerId];
  const isHeard = fresh.has("target") || waits(inbox, "target");
  if (target === undefined || isHeard || isSameTarget(target, inbox.target)) return inbox;
  return apply(inbox, { target: { target, rampMs: 0, fromMs: nowMs } }, lastSequence, told);
}
