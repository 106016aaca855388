/**
 * A load worker from its registration to its end, as a machine: `step` takes what happened and
 * gives what is to be done, in order. `worker/load-worker.ts` does it. It makes load for as long as
 * somebody controls it (`worker-watchdog.ts`), tells what it measured, and ends by itself when it
 * has to. SPEC: LW1 to LW13, LW19, LW20.
 *
 *   1  Nothing begins before START, or a run that is in WARMUP or MEASUREMENT, nor after an end.
 *   2  One call to the store is under way at a time. A store that does not answer is asked again
 *      with growing pauses, and the load goes on meanwhile.
 *   3  The first end counts; a harder one that comes while it drains cuts the draining short.
 *   4  Once superseded it writes nothing.
 *   5  `over` and `broken` are final.
 *
 *   registering → tuning → preparing → ready → running → draining → finishing → over
 */
import { backoffMs } from "../../../ground/kernel/backoff.ts";
import { dueMsOf, receive, takeDue } from "./event-inbox.ts";
import {
  begin,
  begunOf,
  close,
  deliver,
  hurried,
  over,
  phaseOf,
  statusAfter,
  statusOf,
  stop,
  type Turn,
  withLink,
} from "./load-worker-load.ts";
import type {
  Alive,
  Draining,
  Ending,
  Finishing,
  Link,
  Linked,
  LoadWorkerEffect,
  LoadWorkerEvent,
  LoadWorkerState,
  Preparing,
  Registering,
  Talk,
  Tuning,
} from "./load-worker-state.ts";
import { heartbeatMs, startTimeoutMs, storeLossMsMax } from "./run-state.ts";
import { StoreClock } from "./store-clock.ts";
import type { WorkerBeat, WorkerIdentity } from "./worker-control.ts";
import { initialTarget } from "./worker-targets.ts";
import { decideWorkerEnd, type WorkerEndKind } from "./worker-watchdog.ts";

const reconcileMs = 5_000;
/**
 * How often the store's clock is read at first, and the error that is small enough to stop earlier.
 */
const pingsMax = 10;
const errorMsFine = 2;
const storePause = { minMs: heartbeatMs, maxMs: 5_000 };
/** A STOP may reach the store this long after its moment. */
const stopWrittenMsMax = 2_000;
/** SIGKILL comes ten seconds after SIGTERM. */
const terminateDrainMs = 5_000;
const lapsedDrainMs = 10_000;
/** Time limit for connecting to a target that refuses connections before a run begins. */
const prepareMsMax = 30_000;
const preparePauseMs = 1_000;
const recordsMsMax = 8_000;
const hardRecordsMsMax = 2_000;
const unstored = "the last figures could not be stored";
const taken: Ending = {
  kind: "superseded",
  message: "another process has taken its place",
  drainMs: 0,
};
const deleted: Ending = { kind: "run_gone", message: "the run was deleted", drainMs: 0 };

const endMessages: Partial<Record<WorkerEndKind, string>> = {
  no_start: "no START within 120 s",
  store_lost: "the store has not answered for 60 s",
  run_ended: "the run has ended",
  lease_lapsed: "no coordinator has led for 60 s",
  deadline: "the planned end and the time for draining are over",
};

export function newLoadWorker(worker: WorkerIdentity, nowMs: number): LoadWorkerState {
  const none = { failures: 0, isAsked: false, retryAtMs: nowMs, ending: undefined };
  return { state: "registering", worker, sinceMs: nowMs, ...none };
}

export function step(
  state: LoadWorkerState,
  event: LoadWorkerEvent,
): readonly [next: LoadWorkerState, effects: readonly LoadWorkerEffect[]] {
  const turn: Turn = { nowMs: event.nowMs, effects: [] };
  return [advance(react(state, event, turn), turn), turn.effects];
}

/** When the next `time` event is needed, unless another event comes first. */
export function wakeMsOf(state: LoadWorkerState): number {
  switch (state.state) {
    case "registering":
      return state.isAsked ? Infinity : state.retryAtMs;
    case "preparing":
      return Math.min(linkWakeMs(state), state.connecting?.retryAtMs ?? Infinity);
    case "ready":
    case "running":
      return linkWakeMs(state);
    case "draining":
      return Math.min(linkWakeMs(state), state.isCut ? state.untilMs : Infinity);
    case "finishing":
      return talkWakeMs(state);
    case "tuning":
    case "over":
    case "broken":
      return Infinity;
  }
}

/** The store's time when the worker's clock is 0, by the current estimate. */
export function storeOffsetMsOf(state: LoadWorkerState): number {
  if ("link" in state) return state.link.clock.offsetMs;
  return state.state === "tuning" ? state.clock.offsetMs : 0;
}

function linkWakeMs(state: Alive): number {
  const { link } = state;
  const begun = begunOf(state);
  const endMs = begun?.deadlineMs ?? link.registeredMs + startTimeoutMs;
  const isWatched = state.state !== "draining" || !state.isHard;
  return Math.min(
    talkWakeMs(state),
    dueMsOf(link.inbox),
    begun?.snapshotAtMs ?? Infinity,
    isWatched ? Math.min(endMs, link.contactMs + storeLossMsMax) : Infinity,
  );
}

/** 4 */
function talkWakeMs(state: Linked): number {
  const { talk } = state.link;
  const isMute = state.state === "draining" && state.mute !== undefined;
  return talk.call === undefined && !isMute ? talk.nextMs : Infinity;
}

function react(state: LoadWorkerState, event: LoadWorkerEvent, turn: Turn): LoadWorkerState {
  if (state.state === "over" || state.state === "broken") return state; // 5
  switch (event.kind) {
    case "time":
      return state;
    case "broke":
      return { state: "broken", thrown: event.thrown };
    case "terminated": {
      const message = "told to end by a signal";
      return end(state, { kind: "terminated", message, drainMs: terminateDrainMs }, turn);
    }
    case "targetFailed": {
      const { message } = event;
      return end(state, { kind: "target_failed", message, drainMs: 0 }, turn);
    }
    case "opened":
    case "connected":
    case "connectFailed":
      return state.state === "preparing" ? prepared(state, event, turn) : state;
    case "drained":
    case "closed":
    case "recorded":
      return state.state === "draining" ? drained(state, event, turn) : state;
    default:
      switch (state.state) {
        case "registering":
          return registered(state, event, turn);
        case "tuning":
          return tuned(state, event, turn);
        case "finishing":
          return saidLast(state, event, turn);
        default:
          return heard(state, event, turn);
      }
  }
}

type Answer = Extract<
  LoadWorkerEvent,
  { readonly kind: "rowRead" | "eventsRead" | "beaten" | "snapshotStored" | "callFailed" | Done }
>;
type Done = "logged" | "finished";

function registered(state: Registering, event: Answer, turn: Turn): LoadWorkerState {
  const { nowMs } = event;
  if (event.kind === "rowRead") {
    const { worker, ending } = state;
    if (event.view === undefined) return over({ ...deleted, message: "there is no such run" });
    const clock = StoreClock.of(event.sentMs, nowMs, event.view.nowMs);
    const known = { worker, view: event.view, clock, registeredMs: nowMs, ending };
    return tune({ state: "tuning", ...known, pings: 0 }, turn);
  }
  if (event.kind !== "callFailed") return state;
  const { message, isLasting, thrown, random } = event;
  if (isLasting) return { state: "broken", thrown };
  if (nowMs - state.sinceMs >= storeLossMsMax) {
    return over({ kind: "store_lost", message, drainMs: 0 });
  }
  if (state.ending !== undefined) return over(state.ending);
  const retryAtMs = nowMs + backoffMs(storePause, state.failures + 1, random);
  return { ...state, failures: state.failures + 1, isAsked: false, retryAtMs };
}

function tune(state: Tuning, turn: Turn): LoadWorkerState {
  if (state.pings >= pingsMax || state.clock.errorMs <= errorMsFine) {
    return join(state, turn);
  }
  turn.effects.push({ kind: "readRow" });
  return { ...state, pings: state.pings + 1 };
}

function tuned(state: Tuning, event: Answer, turn: Turn): LoadWorkerState {
  const { nowMs } = event;
  if (event.kind === "callFailed") {
    // A passing failure is retried by later rounds.
    return event.isLasting ? { state: "broken", thrown: event.thrown } : join(state, turn);
  }
  if (event.kind !== "rowRead") return state;
  const { sentMs, view } = event;
  const clock = view === undefined ? state.clock : state.clock.heard(sentMs, nowMs, view.nowMs);
  return tune({ ...state, clock }, turn);
}

/** The worker knows the run: applies the run's row before opening anything. */
function join(state: Tuning, turn: Turn): LoadWorkerState {
  const { worker, view, clock, registeredMs, ending } = state;
  const target = view.targets[worker.workerId] ?? initialTarget(view.scenario, worker);
  const inbox = { lastSequence: 0, phase: view.phase, target, pending: [] };
  const link: Link = {
    worker,
    view,
    clock,
    inbox,
    talk: { call: undefined, nextMs: turn.nowMs },
    failures: 0,
    registeredMs,
    readAtMs: turn.nowMs,
    contactMs: turn.nowMs,
    isLate: view.phase === "MEASUREMENT",
  };
  const told = [{ target, rampMs: 0, fromMs: -Infinity }];
  const none = { hasStart: false, connecting: undefined };
  const preparing: Preparing = { state: "preparing", link, told, ...none };
  if (ending !== undefined) return stop(preparing, ending, turn);
  const mail = receive(inbox, { events: [], view, worker, clock, nowMs: turn.nowMs });
  const next = watch(deliver(preparing, mail, turn), turn);
  if (next.state === "preparing") turn.effects.push({ kind: "open", view });
  return next;
}

type Preparation = Extract<
  LoadWorkerEvent,
  { readonly kind: "opened" | "connected" | "connectFailed" | "drained" | "closed" | "recorded" }
>;

/** After connecting and preparing every statement, so that START takes no time. */
function prepared(state: Preparing, event: Preparation, turn: Turn): LoadWorkerState {
  const { nowMs } = event;
  const { link, told, hasStart } = state;
  switch (event.kind) {
    case "opened":
      turn.effects.push({ kind: "connect", target: link.inbox.target });
      return { ...state, connecting: { untilMs: nowMs + prepareMsMax, retryAtMs: Infinity } };
    case "connectFailed": {
      const { message, isLasting } = event;
      const untilMs = state.connecting?.untilMs ?? -Infinity;
      if (isLasting || nowMs >= untilMs) {
        return stop(state, { kind: "target_failed", message, drainMs: 0 }, turn);
      }
      turn.effects.push({ kind: "trouble", message });
      return { ...state, connecting: { untilMs, retryAtMs: nowMs + preparePauseMs } };
    }
    case "connected":
      turn.effects.push({ kind: "say", message: "connected and ready" });
      return begin({ state: "ready", link: hurried(link, nowMs), told, hasStart }, nowMs, turn);
    default:
      return state;
  }
}

function drained(state: Draining, event: Preparation, turn: Turn): LoadWorkerState {
  const { stage, isHard } = state;
  if (event.kind === "drained" && stage === "operations") return close(state, turn);
  if (event.kind === "closed" && stage === "connections") {
    turn.effects.push({
      kind: "finishRecords",
      timeoutMs: isHard ? hardRecordsMsMax : recordsMsMax,
    });
    return { ...state, stage: "records" };
  }
  if (event.kind !== "recorded" || stage !== "records") return state;
  return conclude({ ...state, stage: "call" }, turn);
}

/** Handles an answer of the store in a round of calls, one round a second. */
function heard(state: Alive, event: Answer, turn: Turn): LoadWorkerState {
  const { link } = state;
  const { nowMs } = event;
  if (link.talk.call === undefined) return state;
  const { begunMs, view } = link.talk;
  const contact = event.kind === "callFailed" || isNothing(event) ? {} : { contactMs: nowMs };
  const talk = { call: undefined, nextMs: begunMs + heartbeatMs } as const;
  const idle = withLink(state, { ...contact, talk });
  const goOn = (next: Alive, call: Call, row = view): LoadWorkerState =>
    next.state === "draining" && next.stage === "call"
      ? conclude(next, turn)
      : ask(next, { call, begunMs, view: row }, turn);
  switch (event.kind) {
    case "rowRead": {
      if (event.view === undefined) return rest(stop(idle, deleted, turn), turn);
      const clock = link.clock.heard(event.sentMs, nowMs, event.view.nowMs);
      const known = withLink(idle, { clock, view: event.view, readAtMs: nowMs });
      return goOn(known, "events", event.view);
    }
    case "eventsRead": {
      const { events, sentMs } = event;
      const { worker, clock, inbox } = link;
      const mail = receive(inbox, { events, view, worker, clock, nowMs });
      const told = deliver(idle, mail, turn);
      turn.effects.push({ kind: "settle", beforeMs: sentMs - stopWrittenMsMax });
      return goOn(begin(told, nowMs, turn), "beat");
    }
    case "beaten": {
      if (event.answer === "ok") return goOn(idle, "snapshot");
      const ending = event.answer === "gone" ? deleted : taken;
      return rest(stop(idle, ending, turn), turn);
    }
    case "snapshotStored":
      if (event.answer !== "superseded") return goOn(idle, "log");
      return rest(stop(idle, taken, turn), turn);
    case "callFailed": {
      const { message, isLasting, random } = event;
      if (isLasting) {
        const lost: Ending = { kind: "store_lost", message, drainMs: 0 };
        return rest(stop(idle, lost, turn), turn);
      }
      return rest(withLink(idle, failure(link, message, random, turn)), turn);
    }
    case "logged":
    case "finished":
      return rest(withLink(idle, { failures: 0 }), turn);
  }
}

function isNothing(event: Answer): boolean {
  return event.kind === "logged" || (event.kind === "snapshotStored" && event.answer === "nothing");
}

function failure(
  { failures }: Link,
  message: string,
  random: number,
  turn: Turn,
): Pick<Link, "failures" | "talk"> {
  turn.effects.push({ kind: "warn", message: `the store does not answer: ${message}` });
  const nextMs = turn.nowMs + backoffMs(storePause, failures + 1, random);
  return { failures: failures + 1, talk: { call: undefined, nextMs } };
}

/** Ends the round of calls. A worker that waited for it now finishes. */
function rest(state: Alive, turn: Turn): LoadWorkerState {
  return state.state === "draining" && state.stage === "call" ? conclude(state, turn) : state;
}

type Call = Exclude<Talk["call"], undefined>;

function ask<State extends Linked>(
  state: State,
  talk: Extract<Talk, { readonly call: Call }>,
  turn: Turn,
): State {
  turn.effects.push(effectOf(state, talk.call));
  return withLink(state, { talk });
}

function effectOf(state: Linked, call: Call): LoadWorkerEffect {
  switch (call) {
    case "read":
      return { kind: "readRow" };
    case "events":
      return { kind: "readEvents", afterSequence: state.link.inbox.lastSequence };
    case "beat":
      return { kind: "beat", beat: beatOf(state) };
    case "snapshot":
      return { kind: "storeSnapshot" };
    case "log":
      return { kind: "flushLog" };
    case "finish":
      return { kind: "finish", status: statusOf(state) === "COMPLETED" ? "COMPLETED" : "FAILED" };
  }
}

/** Writes the final state to the store, unless the worker is superseded or the store is lost. */
function conclude(state: Draining, turn: Turn): LoadWorkerState {
  const { link, begun, ending, mute } = state;
  // This also ends a worker that was stopping, without its figures.
  if (mute !== undefined) return over(mute);
  if (link.talk.call !== undefined) return state;
  const said = { ending, status: statusAfter(ending) };
  const next: Finishing = { state: "finishing", link: { ...link, failures: 0 }, begun, ...said };
  turn.effects.push(snapshotOf(next));
  return ask(next, { call: "snapshot", begunMs: turn.nowMs, view: undefined }, turn);
}

/**
 * Writes last figures, log, the heartbeat of a failed worker, and the end. Starts over when a call
 * fails.
 */
function saidLast(state: Finishing, event: Answer, turn: Turn): LoadWorkerState {
  const { link, ending, status } = state;
  const { nowMs } = event;
  const contact = event.kind === "callFailed" || isNothing(event) ? {} : { contactMs: nowMs };
  const next = withLink(state, contact);
  const goOn = (call: Call): LoadWorkerState =>
    ask(next, { call, begunMs: nowMs, view: undefined }, turn);
  switch (event.kind) {
    case "snapshotStored":
      return event.answer === "superseded" ? over(taken) : goOn("log");
    case "logged":
      return goOn(status === "FAILED" ? "beat" : "finish");
    case "beaten":
      if (event.answer === "ok") return goOn("finish");
      return over(event.answer === "gone" ? deleted : taken);
    case "finished":
      return over(ending);
    case "callFailed": {
      const { message, isLasting, thrown, random } = event;
      if (isLasting) return { state: "broken", thrown };
      if (nowMs - link.contactMs >= storeLossMsMax) {
        turn.effects.push({ kind: "warn", message: `${unstored}: ${message}` });
        return over({ kind: "store_lost", message: unstored, drainMs: 0 });
      }
      return withLink(next, failure(link, message, random, turn));
    }
    default:
      return state;
  }
}

/** Performs everything that is due now. */
function advance(state: LoadWorkerState, turn: Turn): LoadWorkerState {
  switch (state.state) {
    case "registering":
      if (state.isAsked || turn.nowMs < state.retryAtMs) return state;
      turn.effects.push({ kind: "register" });
      return { ...state, isAsked: true };
    case "finishing": {
      if (talkWakeMs(state) > turn.nowMs) return state;
      return ask(state, { call: "snapshot", begunMs: turn.nowMs, view: undefined }, turn);
    }
    case "tuning":
    case "over":
    case "broken":
      return state;
    default: {
      const told = deliver(state, takeDue(state.link.inbox, turn.nowMs), turn);
      return converse(measure(retry(watch(told, turn), turn), turn), turn);
    }
  }
}

/** Retries, or gives up what has timed out. */
function retry(state: Alive, turn: Turn): Alive {
  if (state.state === "preparing" && turn.nowMs >= (state.connecting?.retryAtMs ?? Infinity)) {
    turn.effects.push({ kind: "connect", target: state.link.inbox.target });
    const untilMs = state.connecting?.untilMs ?? turn.nowMs;
    return { ...state, connecting: { untilMs, retryAtMs: Infinity } };
  }
  if (state.state !== "draining" || !state.isCut || turn.nowMs < state.untilMs) return state;
  const hard = { ...state, isCut: false, isHard: true };
  return state.stage === "operations" ? close(hard, turn) : hard;
}

/**
 * Takes a snapshot each second: sent to the coordinator at once, to the store with the next round.
 */
function measure(state: Alive, turn: Turn): Alive {
  if (state.state !== "running" && state.state !== "draining") return state;
  const { begun } = state;
  if (begun === undefined || turn.nowMs < begun.snapshotAtMs) return state;
  turn.effects.push(snapshotOf(state));
  return { ...state, begun: { ...begun, snapshotAtMs: turn.nowMs + heartbeatMs } };
}

/** Reads the row before the events, so that a difference means a missed event. */
function converse(state: Alive, turn: Turn): Alive {
  const { link } = state;
  if (talkWakeMs(state) > turn.nowMs) return state;
  const isRead = link.clock.errorMs > errorMsFine || turn.nowMs - link.readAtMs >= reconcileMs;
  return ask(
    state,
    { call: isRead ? "read" : "events", begunMs: turn.nowMs, view: undefined },
    turn,
  );
}

function watch(state: Alive, turn: Turn): Alive {
  const { view, registeredMs, contactMs } = state.link;
  const begun = begunOf(state);
  const kind = decideWorkerEnd({
    nowMs: turn.nowMs,
    registeredMs,
    hasStarted: begun !== undefined,
    contactMs,
    runStatus: view.status,
    leaseLapsedMs: view.leaseLapsedMs,
    deadlineMs: begun?.deadlineMs,
  });
  if (kind === undefined) return state;
  const drainMs = kind === "lease_lapsed" ? lapsedDrainMs : 0;
  return stop(state, { kind, message: endMessages[kind] ?? kind, drainMs }, turn);
}

function end(state: Registering | Tuning | Linked, ending: Ending, turn: Turn): LoadWorkerState {
  switch (state.state) {
    case "registering":
      return state.isAsked ? { ...state, ending: state.ending ?? ending } : over(ending);
    case "tuning":
      return { ...state, ending: state.ending ?? ending };
    case "finishing":
      return state;
    default:
      return stop(state, ending, turn);
  }
}

function beatOf(state: Linked): Omit<WorkerBeat, "activeConnections"> {
  const { inbox } = state.link;
  const isFailing = "ending" in state && state.ending.kind !== "stopped";
  return {
    status: statusOf(state),
    phase: phaseOf(state),
    lastSequenceId: inbox.lastSequence,
    targetConnections: inbox.target.connections,
    lastError: isFailing ? state.ending.message : null,
  };
}

function snapshotOf(state: Linked): LoadWorkerEffect {
  const { target } = state.link.inbox;
  return { kind: "takeSnapshot", status: statusOf(state), phase: phaseOf(state), target };
}
