/**
 * How a worker's load begins, changes and ends: the part of `load-worker-machine.ts` that knows
 * nothing of the store. Rules 1, 3 and 4 of the machine hold here.
 */
import {
  aheadOf,
  type Delivery,
  isPhaseAhead,
  type PhaseAhead,
  type Told,
  targetsAhead,
} from "./event-inbox.ts";
import type {
  Alive,
  Begun,
  Draining,
  Ending,
  Link,
  Linked,
  LoadWorkerEffect,
  LoadWorkerState,
  WorkerEnd,
} from "./load-worker-state.ts";
import { drainTimeoutMs, heartbeatMs, type RunPhase, type WorkerStatus } from "./run-state.ts";
import type { MeasuredPhase } from "./series-book.ts";
import { initialTarget } from "./worker-targets.ts";
import { deadlineOf, type WorkerEndKind } from "./worker-watchdog.ts";

/** One step of the machine: its time, and its effects in order. */
export interface Turn {
  readonly nowMs: number;
  readonly effects: LoadWorkerEffect[];
}

/** Ends that write nothing: superseded (rule 4), or no store that would take it. */
const muteEnds: ReadonlySet<WorkerEndKind> = new Set(["superseded", "run_gone", "store_lost"]);

/** Keeps rule 3. */
export function stop(state: Alive, ending: Ending, turn: Turn): Draining {
  const { drainMs, message } = ending;
  const untilMs = turn.nowMs + drainMs;
  const mute = muteEnds.has(ending.kind) ? ending : undefined;
  if (state.state !== "draining") {
    const link = hurried(state.link, turn.nowMs);
    const given = { link, begun: begunOf(state), ending, mute, untilMs };
    const fresh = { ...given, isCut: false, isHard: drainMs === 0 };
    const next: Draining = { state: "draining", ...fresh, stage: "operations" };
    turn.effects.push({ kind: "say", message });
    if (drainMs === 0) return close(next, turn);
    turn.effects.push({ kind: "drain", timeoutMs: drainMs });
    return next;
  }
  const known = { ...state, mute: state.mute ?? mute };
  if (drainMs > 0) return untilMs < state.untilMs ? { ...known, untilMs, isCut: true } : known;
  const hard = { ...known, isHard: true };
  return state.stage === "operations" ? close(hard, turn) : hard;
}

export function close(state: Draining, turn: Turn): Draining {
  turn.effects.push({ kind: "close" });
  return { ...state, stage: "connections" };
}

export function deliver(state: Alive, deliveries: readonly Delivery[], turn: Turn): Alive {
  let next = state;
  for (const [inbox, told] of deliveries) {
    next = withLink(next, { inbox });
    if (told !== undefined) next = hear(next, told, turn);
  }
  return next;
}

function hear(state: Alive, told: Told, turn: Turn): Alive {
  switch (told.kind) {
    case "start": // All that came with it counts first.
      return state.state === "preparing" || state.state === "ready"
        ? { ...state, hasStart: true }
        : state;
    case "stop": {
      const { atMs, drainMs, reason } = told;
      turn.effects.push({ kind: "stopAt", atMs });
      const message = `told to stop: ${reason}`;
      return stop(state, { kind: "stopped", message, drainMs }, turn);
    }
    case "ahead": {
      const { change } = told;
      if (begunOf(state) === undefined) return state;
      if ("target" in change) turn.effects.push({ kind: "announceTarget", ahead: change.target });
      else cutPhase("announcePhase", state, change.phase, turn);
      return state;
    }
    case "now": {
      const { change } = told;
      if ("phase" in change) return enter(state, change.phase, turn);
      if (begunOf(state) !== undefined)
        turn.effects.push({ kind: "setTarget", ahead: change.target });
      return state.state === "preparing" || state.state === "ready"
        ? { ...state, told: [...state.told, change.target] }
        : state;
    }
  }
}

function enter(state: Alive, change: PhaseAhead, turn: Turn): Alive {
  const { phase, fromMs } = change;
  if (phase === "COOLDOWN" || phase === "PROCESSING") {
    const message = `the run is in ${phase}`;
    return stop(state, { kind: "stopped", message, drainMs: drainTimeoutMs }, turn);
  }
  if (begunOf(state) === undefined) {
    return phase === "MEASUREMENT" ? begin(state, fromMs, turn) : state;
  }
  cutPhase("enterPhase", state, change, turn);
  turn.effects.push({ kind: "say", message: `entered ${phase}` });
  return state;
}

function cutPhase(
  kind: "enterPhase" | "announcePhase",
  { link }: Alive,
  { phase, fromMs }: PhaseAhead,
  turn: Turn,
): void {
  const next = measured(phase);
  if (next === undefined) return;
  turn.effects.push({ kind, phase: next, atMs: fromMs });
  if (next === "MEASUREMENT") limitMeasurement(link, fromMs, turn);
}

/** Keeps rule 1. */
export function begin(state: Alive, startMs: number, turn: Turn): Alive {
  if (state.state !== "ready" || !state.hasStart) return state;
  const { link, told } = state;
  const { inbox, clock, view, worker } = link;
  const { scenario, warmupStartTimeMs: begunMs } = view;
  const first = scenario.workload.warmupSeconds > 0 ? "WARMUP" : "MEASUREMENT";
  const known = measured(inbox.phase);
  // Without a warm-up the load itself waits for the moment that was announced.
  if (known === undefined && first === "MEASUREMENT" && isPhaseAhead(inbox)) return state;
  const phase = known ?? first;
  // Targets for the start or later are applied after the initial target.
  const before = told.findLast(({ fromMs }) => fromMs < startMs)?.target;
  const after = told.filter(({ fromMs }) => fromMs >= startMs);
  const given = before ?? initialTarget(scenario, worker);
  const target = after.length === 0 ? inbox.target : given;
  turn.effects.push(
    { kind: "start", phase, target, atMs: startMs, ahead: [...after, ...targetsAhead(inbox)] },
    { kind: "say", message: `started in ${phase}` },
  );
  const beginMs = begunMs === null ? turn.nowMs : clock.toLocalMs(begunMs);
  const deadlineMs = deadlineOf(scenario, Math.min(turn.nowMs, beginMs));
  const begun = { deadlineMs, snapshotAtMs: turn.nowMs + heartbeatMs };
  const next: Alive = { state: "running", link: hurried(link, turn.nowMs), begun };
  if (phase === "MEASUREMENT") limitMeasurement(link, startMs, turn);
  return aheadOf(inbox).reduce((each: Alive, ahead) => hear(each, ahead, turn), next);
}

/**
 * STOP comes up to a second late; operations that begin until then are outside the measured time
 * (LW19).
 */
function limitMeasurement(link: Link, begunMs: number, turn: Turn): void {
  const { scenario, warmupEndTimeMs } = link.view;
  const { loadMode: mode, durationSeconds: seconds } = scenario.workload;
  if (mode === "FIND_MAX_CONCURRENCY") return;
  const isJoined = link.isLate && warmupEndTimeMs !== null;
  const fromMs = isJoined ? link.clock.toLocalMs(warmupEndTimeMs) : begunMs;
  turn.effects.push({ kind: "announcePhase", phase: "COOLDOWN", atMs: fromMs + seconds * 1000 });
}

export function over(ending: Ending): LoadWorkerState {
  const { kind, message } = ending;
  return { state: "over", end: { kind, status: statusAfter(ending), message } };
}

export function statusAfter({ kind }: Ending): WorkerEnd["status"] {
  return kind === "stopped" || kind === "run_ended" ? "COMPLETED" : "FAILED";
}

export function statusOf(state: Linked): WorkerStatus {
  switch (state.state) {
    case "preparing":
      return "STARTING";
    case "ready":
      return "READY";
    case "running":
      return "RUNNING";
    case "draining":
      return "DRAINING";
    case "finishing":
      return state.status;
  }
}

/** A draining worker is in COOLDOWN, even before the run's row says so. */
export function phaseOf(state: Linked): RunPhase {
  const isDraining = state.state === "draining" || state.state === "finishing";
  return isDraining && state.begun !== undefined ? "COOLDOWN" : state.link.inbox.phase;
}

export function begunOf(state: Alive): Begun | undefined {
  return state.state === "running" || state.state === "draining" ? state.begun : undefined;
}

/** Undefined for a phase in which nothing is measured. */
function measured(phase: RunPhase): MeasuredPhase | undefined {
  return phase === "WARMUP" || phase === "MEASUREMENT" || phase === "COOLDOWN" ? phase : undefined;
}

export function withLink<State extends Linked>(state: State, change: Partial<Link>): State {
  return { ...state, link: { ...state.link, ...change } };
}

/** Calls the store now instead of within a second, unless a call is under way or failed. */
export function hurried(link: Link, nowMs: number): Link {
  if (link.talk.call !== undefined || link.failures > 0) return link;
  return { ...link, talk: { call: undefined, nextMs: Math.min(nowMs, link.talk.nextMs) } };
}
