/**
 * The controller's side of one control session, from the first dial of an address to the last.
 * Pure: time, randomness and the network are events, and what is to be done is returned as effects,
 * in order. The rules' numbers are those of SPEC.md.
 *
 *            ┌──────────── any failure: backoff, or probing ───────────┐
 *            ▼                                                         │
 *         waiting ──tick, poke──▶ dialling ──dialled──▶ greeting ──welcome──▶ live
 *            └───────────────────────┴── stop ──┴─────────────────┴──▶ closed
 *
 * CL1 to CL5, CL15 and CL16 hold here.
 */
import type { SessionEpoch, WorkerId } from "../../kernel/ids.ts";
import { applyFactsDelta } from "./facts.ts";
import type { Admission, ControllerFrame, Facts, GoodbyeReason, WorkerFrame } from "./frames.ts";
import type { DisconnectCause } from "./session-observer.ts";
import { answerWaitMs, backoffWaitMs, type SessionTiming } from "./session-timing.ts";
import { protocolVersions, versionsText } from "./versions.ts";
import type { WorkerUp } from "./worker-pool.ts";

type Welcome = Extract<WorkerFrame, { kind: "welcome" }>;
type Hello = Extract<ControllerFrame, { kind: "hello" }>;
type HeartbeatAnswer = Extract<WorkerFrame, { kind: "heartbeatAnswer" }>;

/** `failures` counts consecutive failed attempts; it decides the backoff. */
export interface WaitingSession {
  readonly state: "waiting";
  readonly failures: number;
  readonly dialAtMs: number;
}
/** The dialer has been called; its link does not exist yet. */
export interface DiallingSession {
  readonly state: "dialling";
  readonly failures: number;
  readonly deadlineMs: number;
}
/** The hello has been sent; the connection may not be established yet. */
export interface GreetingSession {
  readonly state: "greeting";
  readonly failures: number;
  readonly deadlineMs: number;
  readonly epoch: SessionEpoch;
}
export interface LiveControllerSession {
  readonly state: "live";
  readonly failures: number;
  readonly epoch: SessionEpoch;
  readonly welcome: Omit<Welcome, "admission" | "facts" | "factsVersion">;
  readonly admission: Admission;
  readonly facts: Facts;
  readonly factsVersion: number;
  readonly liveSinceMs: number;
  readonly lastAnswerMs: number;
  readonly rttMs: number | undefined;
  readonly misses: number;
  readonly heartbeat: Heartbeat;
}
export interface ClosedSession {
  readonly state: "closed";
}
export type Session =
  | WaitingSession
  | DiallingSession
  | GreetingSession
  | LiveControllerSession
  | ClosedSession;

type Heartbeat =
  | { readonly phase: "resting"; readonly sequence: number; readonly nextMs: number }
  | {
      readonly phase: "unanswered";
      readonly sequence: number;
      readonly sentMs: number;
      readonly deadlineMs: number;
    };

export type SessionEvent = {
  readonly nowMs: number;
  /** Uniform in [0, 1): the jitter, should this event lead to a backoff. */
  readonly random: number;
} & SessionHappening;

export type SessionHappening =
  | { readonly kind: "tick" }
  /** A dial is likely to succeed now. */
  | { readonly kind: "poke" }
  | { readonly kind: "dialled"; readonly epoch: SessionEpoch; readonly hello: Hello }
  | { readonly kind: "frame"; readonly epoch: SessionEpoch; readonly frame: WorkerFrame }
  | { readonly kind: "linkClosed"; readonly epoch: SessionEpoch; readonly reason: string }
  /** Another address already has a session with this worker. */
  | { readonly kind: "conflict"; readonly reason: string }
  /** A channel could not decode a frame. */
  | { readonly kind: "violation"; readonly what: string }
  | { readonly kind: "stop"; readonly goodbye: GoodbyeReason };

export type SessionEffect =
  | { readonly kind: "dial" }
  | { readonly kind: "send"; readonly epoch: SessionEpoch; readonly frame: ControllerFrame }
  | { readonly kind: "closeLink"; readonly reason: string }
  | { readonly kind: "up"; readonly up: WorkerUp }
  | { readonly kind: "admission"; readonly admission: Admission }
  /** The session's facts are others than before. */
  | { readonly kind: "facts" }
  | { readonly kind: "channelFrame"; readonly channel: string; readonly payload: Uint8Array }
  | { readonly kind: "answered"; readonly rttMs: number }
  | { readonly kind: "missed" }
  | { readonly kind: "down"; readonly cause: DisconnectCause; readonly reason: string }
  /** A dial that did not lead to a session. */
  | { readonly kind: "dialFailed"; readonly cause: DisconnectCause; readonly reason: string };

export interface SessionConfig {
  readonly timing: SessionTiming;
  /** The worker that must answer; undefined accepts any worker. */
  readonly workerId: WorkerId | undefined;
}

type Step = readonly [next: Session, effects: readonly SessionEffect[]];

/** Enough failures for the longest backoff, because only a change elsewhere will help. */
const probingFailures = 30;

const goodbyeTexts: Readonly<Record<GoodbyeReason, string>> = {
  shutting_down: "this controller ended the session",
  superseded: "a newer session took over",
  dropped: "the worker was dropped",
};

export function openSession(nowMs: number): Session {
  return { state: "waiting", failures: 0, dialAtMs: nowMs };
}

/** When the session next needs a `tick`; undefined when it needs none. */
export function nextTickMs(session: Session): number | undefined {
  switch (session.state) {
    case "waiting":
      return session.dialAtMs;
    case "dialling":
    case "greeting":
      return session.deadlineMs;
    case "live":
      return session.heartbeat.phase === "resting"
        ? session.heartbeat.nextMs
        : session.heartbeat.deadlineMs;
    case "closed":
      return undefined;
  }
}

export function stepSession(session: Session, event: SessionEvent, config: SessionConfig): Step {
  switch (session.state) {
    case "waiting":
      return stepWaiting(session, event, config);
    case "dialling":
    case "greeting":
      return stepConnecting(session, event, config);
    case "live":
      return stepLive(session, event, config);
    case "closed":
      return [session, []]; // CL5
  }
}

function stepWaiting(session: WaitingSession, event: SessionEvent, config: SessionConfig): Step {
  switch (event.kind) {
    case "tick":
      return event.nowMs < session.dialAtMs ? [session, []] : dial(session.failures, event, config);
    case "poke":
      return dial(0, event, config);
    case "stop":
      return [{ state: "closed" }, []];
    default:
      return [session, []];
  }
}

function dial(failures: number, event: SessionEvent, { timing }: SessionConfig): Step {
  const deadlineMs = event.nowMs + timing.greetingMs;
  return [{ state: "dialling", failures, deadlineMs }, [{ kind: "dial" }]];
}

function stepConnecting(
  session: DiallingSession | GreetingSession,
  event: SessionEvent,
  config: SessionConfig,
): Step {
  switch (event.kind) {
    case "tick": {
      if (event.nowMs < session.deadlineMs) return [session, []];
      const isDialling = session.state === "dialling";
      const reason = isDialling ? "no connection in time" : "no answer to the greeting";
      return fail(session, event, config, "greeting_timeout", reason);
    }
    case "poke":
      return [{ ...session, failures: 0 }, []];
    case "dialled": {
      if (session.state === "greeting") return [session, []];
      const { epoch, hello } = event;
      return [{ ...session, state: "greeting", epoch }, [{ kind: "send", epoch, frame: hello }]];
    }
    case "frame":
      // CL4
      if (session.state === "dialling" || event.epoch !== session.epoch) return [session, []];
      return greeted(session, event, event.frame, config);
    case "linkClosed":
      // CL4
      if (session.state === "dialling" || event.epoch !== session.epoch) return [session, []];
      return fail(session, event, config, "link_lost", event.reason);
    case "conflict":
      return fail(session, event, config, "conflict", event.reason);
    case "stop":
      return [{ state: "closed" }, [{ kind: "closeLink", reason: goodbyeTexts[event.goodbye] }]];
    case "violation":
      return [session, []];
  }
}

function greeted(
  session: GreetingSession,
  event: SessionEvent,
  frame: WorkerFrame,
  config: SessionConfig,
): Step {
  if (frame.kind === "refused") return refused(session, event, frame, config);
  if (frame.kind !== "welcome") {
    return violation(session, event, config, `a ${frame.kind} before the welcome`);
  }
  const { oldest, newest } = protocolVersions;
  if (frame.version < oldest || frame.version > newest) {
    const reason = `the worker speaks protocol ${frame.version}, we speak ${versionsText(protocolVersions)}`;
    return fail(session, event, config, "refused", reason, true);
  }
  if (config.workerId !== undefined && frame.workerId !== config.workerId) {
    const reason = `worker ${frame.workerId} answered in the place of ${config.workerId}`;
    return fail(session, event, config, "conflict", reason);
  }
  const { admission, facts, factsVersion, ...welcome } = frame;
  const live: LiveControllerSession = {
    state: "live",
    failures: session.failures,
    epoch: session.epoch,
    welcome,
    admission,
    facts,
    factsVersion,
    liveSinceMs: event.nowMs,
    lastAnswerMs: event.nowMs,
    rttMs: undefined, // The welcome's round trip includes connecting.
    misses: 0,
    heartbeat: { phase: "resting", sequence: 0, nextMs: event.nowMs },
  };
  const { workerId, incarnation, channels } = frame;
  const [next, effects] = beat(live, event, config);
  const up = { workerId, incarnation, admission, channels };
  return [next, [{ kind: "up", up }, { kind: "facts" }, ...effects]];
}

function stepLive(
  session: LiveControllerSession,
  event: SessionEvent,
  config: SessionConfig,
): Step {
  switch (event.kind) {
    case "tick":
      return beat(session, event, config);
    case "frame":
      if (event.epoch !== session.epoch) return [session, []]; // CL4
      return heard(session, event, event.frame, config);
    case "linkClosed":
      if (event.epoch !== session.epoch) return [session, []]; // CL4
      return fail(session, event, config, "link_lost", event.reason);
    case "stop": {
      const reason = goodbyeTexts[event.goodbye];
      return [
        { state: "closed" },
        [
          { kind: "send", epoch: session.epoch, frame: { kind: "goodbye", reason: event.goodbye } },
          { kind: "down", cause: "stopped", reason },
          { kind: "closeLink", reason },
        ],
      ];
    }
    case "violation":
      return violation(session, event, config, event.what);
    case "poke":
    case "dialled":
    case "conflict":
      return [session, []];
  }
}

/** Handles what time alone causes: a miss, a failure, the next heartbeat. */
function beat(session: LiveControllerSession, event: SessionEvent, config: SessionConfig): Step {
  const { heartbeat } = session;
  const { timing } = config;
  if (heartbeat.phase === "unanswered") {
    if (event.nowMs < heartbeat.deadlineMs) return [session, []];
    const misses = session.misses + 1;
    if (misses >= timing.missesMax) {
      const reason = `${misses} heartbeats unanswered`;
      const [next, effects] = fail(session, event, config, "heartbeats_missed", reason);
      return [next, [{ kind: "missed" }, ...effects]]; // CL3
    }
    const nextMs = heartbeat.sentMs + timing.heartbeatMs;
    const resting = { phase: "resting", sequence: heartbeat.sequence, nextMs } as const;
    const [next, effects] = beat({ ...session, misses, heartbeat: resting }, event, config);
    return [next, [{ kind: "missed" }, ...effects]]; // CL2
  }
  if (event.nowMs < heartbeat.nextMs) return [session, []];
  const sequence = heartbeat.sequence + 1;
  const deadlineMs = event.nowMs + answerWaitMs(timing, session.rttMs);
  const frame = { kind: "heartbeat", sequence, ackedFactsVersion: session.factsVersion } as const;
  return [
    { ...session, heartbeat: { phase: "unanswered", sequence, sentMs: event.nowMs, deadlineMs } },
    [{ kind: "send", epoch: session.epoch, frame }],
  ];
}

function heard(
  session: LiveControllerSession,
  event: SessionEvent,
  frame: WorkerFrame,
  config: SessionConfig,
): Step {
  switch (frame.kind) {
    case "welcome":
      return violation(session, event, config, "a second welcome");
    case "refused":
      return refused(session, event, frame, config);
    case "heartbeatAnswer":
      return answered(session, event, frame, config);
    case "admission": {
      const { admission } = frame;
      return [{ ...session, admission }, [{ kind: "admission", admission }]];
    }
    case "channel": {
      const { channel, payload } = frame;
      return session.welcome.channels.has(channel)
        ? [session, [{ kind: "channelFrame", channel, payload }]]
        : violation(session, event, config, `a frame of the channel ${channel}, not agreed on`);
    }
  }
}

function answered(
  session: LiveControllerSession,
  event: SessionEvent,
  answer: HeartbeatAnswer,
  config: SessionConfig,
): Step {
  const { heartbeat } = session;
  if (heartbeat.phase === "resting" || answer.sequence !== heartbeat.sequence) {
    return [session, []]; // CL2: forgotten.
  }
  // CL2: late is a miss.
  if (event.nowMs > heartbeat.deadlineMs) return beat(session, event, config);
  const rttMs = event.nowMs - heartbeat.sentMs;
  const nextMs = heartbeat.sentMs + config.timing.heartbeatMs;
  const next: LiveControllerSession = {
    ...session,
    rttMs,
    misses: 0,
    lastAnswerMs: event.nowMs,
    heartbeat: { phase: "resting", sequence: heartbeat.sequence, nextMs },
  };
  const { delta } = answer;
  if (delta === undefined || delta.version <= session.factsVersion) {
    return [next, [{ kind: "answered", rttMs }]];
  }
  const facts = applyFactsDelta(session.facts, delta);
  if (facts === undefined) return violation(session, event, config, "too many facts");
  return [
    { ...next, facts, factsVersion: delta.version },
    [{ kind: "answered", rttMs }, { kind: "facts" }],
  ];
}

function refused(
  session: GreetingSession | LiveControllerSession,
  event: SessionEvent,
  frame: Extract<WorkerFrame, { kind: "refused" }>,
  config: SessionConfig,
): Step {
  const reason = `refused by the worker (${frame.reason}): ${frame.message}`;
  switch (frame.reason) {
    case "bad_frame":
    case "protocol_version":
    case "stale_lease":
    case "wrong_worker":
      return fail(session, event, config, "refused", reason, true);
    case "overloaded":
    case "shutting_down":
    case "stale_session":
      return fail(session, event, config, "refused", reason);
  }
}

type Failing = DiallingSession | GreetingSession | LiveControllerSession;

function violation(
  session: Failing,
  event: SessionEvent,
  config: SessionConfig,
  what: string,
): Step {
  return fail(session, event, config, "protocol_violation", `protocol violation: ${what}`);
}

/** With `isLasting` the next dial is likely to fail in the same way, so it waits longest. */
function fail(
  session: Failing,
  event: SessionEvent,
  { timing }: SessionConfig,
  cause: DisconnectCause,
  reason: string,
  isLasting: boolean = cause === "conflict" || cause === "protocol_violation",
): Step {
  const isLive = session.state === "live";
  const isSettled = isLive && event.nowMs - session.liveSinceMs >= timing.settledMs;
  const failures = isLasting ? probingFailures : isSettled ? 1 : session.failures + 1;
  const dialAtMs = event.nowMs + backoffWaitMs(timing, failures, event.random);
  return [
    { state: "waiting", failures, dialAtMs },
    [
      { kind: isLive ? "down" : "dialFailed", cause, reason }, // CL1
      { kind: "closeLink", reason },
    ],
  ];
}
