import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  ControllerId,
  Incarnation,
  LeaseEpoch,
  SessionEpoch,
  WorkerId,
} from "../../kernel/ids.ts";
import {
  type LiveControllerSession,
  nextTickMs,
  openSession,
  type Session,
  type SessionEffect,
  type SessionHappening,
  stepSession,
} from "./controller-session.ts";
import { factsMax } from "./facts.ts";
import type { RefusalReason, WorkerFrame } from "./frames.ts";
import { defaultSessionTiming } from "./session-timing.ts";
import { spoken, spokenFrame } from "./testing/recording-listener.ts";
import { protocolVersions } from "./versions.ts";

const config = { timing: defaultSessionTiming, workerId: "worker-1" as WorkerId };
const epoch = 7 as SessionEpoch;
const oldEpoch = 6 as SessionEpoch;
/** Every state below is entered at 10,000 ms and has its deadline at 11,000 ms. */
const startMs = 10_000;
const dueMs = 11_000;

const welcome: Extract<WorkerFrame, { kind: "welcome" }> = {
  kind: "welcome",
  workerId: config.workerId,
  incarnation: "i1" as Incarnation,
  version: protocolVersions.newest,
  channels: new Map([[spoken.name, 1]]),
  admission: { accepting: true, draining: false },
  facts: { a: "1" },
  factsVersion: 3,
  dataUrl: "http://127.0.0.1:1",
  capacity: 4,
  softwareVersion: "0.1.0",
};
const hello = {
  kind: "hello",
  controllerId: "c" as ControllerId,
  role: "coordinator",
  leaseEpoch: 1 as LeaseEpoch,
  versions: protocolVersions,
  channels: [spoken],
} as const;

const live: LiveControllerSession = {
  state: "live",
  failures: 2,
  epoch,
  welcome,
  admission: welcome.admission,
  facts: welcome.facts,
  factsVersion: welcome.factsVersion,
  liveSinceMs: startMs,
  lastAnswerMs: startMs,
  rttMs: 5,
  misses: 0,
  heartbeat: { phase: "resting", sequence: 4, nextMs: dueMs },
};
const unanswered = {
  ...live,
  heartbeat: { phase: "unanswered", sequence: 5, sentMs: 10_500, deadlineMs: dueMs },
} as const;

const sampleStates = {
  waiting: { state: "waiting", failures: 2, dialAtMs: dueMs },
  dialling: { state: "dialling", failures: 2, deadlineMs: dueMs },
  greeting: { state: "greeting", failures: 2, deadlineMs: dueMs, epoch },
  resting: live,
  unanswered,
  missedTwo: { ...unanswered, misses: 2 },
  closed: { state: "closed" },
} satisfies Record<string, Session>;
type StateName = keyof typeof sampleStates;

const frame = (of: WorkerFrame): SessionHappening => ({ kind: "frame", epoch, frame: of });
const refusal = (reason: RefusalReason): SessionHappening =>
  frame({ kind: "refused", reason, message: "m" });
const answer = (sequence: number, version = 3): SessionHappening =>
  frame({
    kind: "heartbeatAnswer",
    sequence,
    delta: version === 3 ? undefined : { version, set: { b: "2" }, unset: ["a"] },
  });

interface Case {
  /** The rule that this row shows; the column of the closed state shows CL5. */
  readonly rule: string;
  readonly event: SessionHappening;
  readonly nowMs?: number;
  /** The next state and the effects' names for each state; "·" means that nothing happens. */
  readonly want: Readonly<Record<StateName, string>>;
}
const nothing = {
  waiting: "·",
  dialling: "·",
  greeting: "·",
  resting: "·",
  unanswered: "·",
  missedTwo: "·",
  closed: "·",
};
const lost = (cause: string): string => `waiting: down(${cause}) closeLink`;
const failed = (cause: string): string => `waiting: dialFailed(${cause}) closeLink`;
const inLive = (text: string): Record<"resting" | "unanswered" | "missedTwo", string> => ({
  resting: text,
  unanswered: text,
  missedTwo: text,
});

const cases: Readonly<Record<string, Case>> = {
  "tick before the deadline": {
    rule: "CL2",
    event: { kind: "tick" },
    nowMs: dueMs - 1,
    want: nothing,
  },
  "tick at the deadline": {
    rule: "CL2",
    event: { kind: "tick" },
    want: {
      waiting: "dialling: dial",
      dialling: failed("greeting_timeout"),
      greeting: failed("greeting_timeout"),
      resting: "live: send(heartbeat)",
      unanswered: "live: missed",
      missedTwo: "waiting: missed down(heartbeats_missed) closeLink",
      closed: "·",
    },
  },
  poke: {
    rule: "CL15",
    event: { kind: "poke" },
    want: { ...nothing, waiting: "dialling: dial", dialling: "dialling:", greeting: "greeting:" },
  },
  dialled: {
    rule: "CL1",
    event: { kind: "dialled", epoch, hello },
    want: { ...nothing, dialling: "greeting: send(hello)" },
  },
  welcome: {
    rule: "CL1",
    event: frame(welcome),
    want: {
      ...nothing,
      greeting: "live: up facts send(heartbeat)",
      ...inLive(lost("protocol_violation")),
    },
  },
  "welcome of another worker": {
    rule: "CL17",
    event: frame({ ...welcome, workerId: "worker-2" as WorkerId }),
    want: { ...nothing, greeting: failed("conflict"), ...inLive(lost("protocol_violation")) },
  },
  "welcome in another protocol": {
    rule: "CL3",
    event: frame({ ...welcome, version: 1 }),
    want: { ...nothing, greeting: failed("refused"), ...inLive(lost("protocol_violation")) },
  },
  "refused, may pass": {
    rule: "CL3",
    event: refusal("shutting_down"),
    want: { ...nothing, greeting: failed("refused"), ...inLive(lost("refused")) },
  },
  "refused, will not pass": {
    rule: "CL3",
    event: refusal("stale_lease"),
    want: { ...nothing, greeting: failed("refused"), ...inLive(lost("refused")) },
  },
  "answer in time": {
    rule: "CL2",
    event: answer(5),
    want: {
      ...nothing,
      greeting: failed("protocol_violation"),
      unanswered: "live: answered",
      missedTwo: "live: answered",
    },
  },
  "answer with new facts": {
    rule: "CL16",
    event: answer(5, 4),
    want: {
      ...nothing,
      greeting: failed("protocol_violation"),
      unanswered: "live: answered facts",
      missedTwo: "live: answered facts",
    },
  },
  "answer with facts known already": {
    rule: "CL16",
    event: answer(5, 2),
    want: {
      ...nothing,
      greeting: failed("protocol_violation"),
      unanswered: "live: answered",
      missedTwo: "live: answered",
    },
  },
  "answer after the deadline": {
    rule: "CL2",
    event: answer(5),
    nowMs: dueMs + 1,
    want: {
      ...nothing,
      greeting: failed("protocol_violation"),
      unanswered: "live: missed",
      missedTwo: "waiting: missed down(heartbeats_missed) closeLink",
    },
  },
  "answer to a forgotten heartbeat": {
    rule: "CL2",
    event: answer(4),
    want: { ...nothing, greeting: failed("protocol_violation") },
  },
  "too many facts": {
    rule: "CL16",
    event: frame({
      kind: "heartbeatAnswer",
      sequence: 5,
      delta: {
        version: 4,
        set: Object.fromEntries(Array.from({ length: factsMax + 1 }, (_, n) => [`f${n}`, ""])),
        unset: [],
      },
    }),
    want: {
      ...nothing,
      greeting: failed("protocol_violation"),
      unanswered: lost("protocol_violation"),
      missedTwo: lost("protocol_violation"),
    },
  },
  admission: {
    rule: "CL1",
    event: frame({ kind: "admission", admission: { accepting: false, draining: true } }),
    want: { ...nothing, greeting: failed("protocol_violation"), ...inLive("live: admission") },
  },
  "a frame of a channel": {
    rule: "CL1",
    event: frame(spokenFrame("hi")),
    want: { ...nothing, greeting: failed("protocol_violation"), ...inLive("live: channelFrame") },
  },
  "a frame of a channel that was not agreed on": {
    rule: "CL39",
    event: frame({ ...spokenFrame("hi"), channel: "other" }),
    want: {
      ...nothing,
      greeting: failed("protocol_violation"),
      ...inLive(lost("protocol_violation")),
    },
  },
  "a frame that its channel cannot read": {
    rule: "CL39",
    event: { kind: "violation", what: "no such report" },
    want: { ...nothing, ...inLive(lost("protocol_violation")) },
  },
  "frame of an older epoch": {
    rule: "CL4",
    event: { kind: "frame", epoch: oldEpoch, frame: welcome },
    want: nothing,
  },
  linkClosed: {
    rule: "CL3",
    event: { kind: "linkClosed", epoch, reason: "connection lost" },
    want: { ...nothing, greeting: failed("link_lost"), ...inLive(lost("link_lost")) },
  },
  "linkClosed of an older epoch": {
    rule: "CL4",
    event: { kind: "linkClosed", epoch: oldEpoch, reason: "connection lost" },
    want: nothing,
  },
  conflict: {
    rule: "CL6",
    event: { kind: "conflict", reason: "elsewhere" },
    want: { ...nothing, dialling: failed("conflict"), greeting: failed("conflict") },
  },
  stop: {
    rule: "CL1",
    event: { kind: "stop", goodbye: "dropped" },
    want: {
      waiting: "closed:",
      dialling: "closed: closeLink",
      greeting: "closed: closeLink",
      ...inLive("closed: send(goodbye) down(stopped) closeLink"),
      closed: "·",
    },
  },
};

for (const [eventName, { rule, event, nowMs = dueMs, want }] of Object.entries(cases)) {
  for (const stateName of Object.keys(sampleStates) as StateName[]) {
    test(`[${stateName === "closed" ? "CL5" : rule}] ${stateName}, ${eventName} → ${want[stateName]}`, () => {
      const before: Session = sampleStates[stateName];
      const [after, effects] = stepSession(before, { ...event, nowMs, random: 0 }, config);
      const same = after === before && effects.length === 0;
      const text = `${after.state}: ${effects.map(nameOf).join(" ")}`.trimEnd();
      assert.equal(same ? "·" : text, want[stateName]);
    });
  }
}

test("[CL1] [CL3] [CL5] the table has every state, every event and every frame", () => {
  const stateKinds: Record<Session["state"], true> = {
    waiting: true,
    dialling: true,
    greeting: true,
    live: true,
    closed: true,
  };
  const eventKinds: Record<SessionHappening["kind"], true> = {
    tick: true,
    poke: true,
    dialled: true,
    frame: true,
    linkClosed: true,
    conflict: true,
    violation: true,
    stop: true,
  };
  const frameKinds: Record<WorkerFrame["kind"], true> = {
    welcome: true,
    refused: true,
    heartbeatAnswer: true,
    admission: true,
    channel: true,
  };
  const events = Object.values(cases).map(({ event }) => event);
  const frames = events.flatMap((event) => (event.kind === "frame" ? [event.frame.kind] : []));
  const states = Object.values(sampleStates).map(({ state }) => state);
  assert.deepEqual(new Set(states), new Set(Object.keys(stateKinds)));
  assert.deepEqual(new Set(events.map(({ kind }) => kind)), new Set(Object.keys(eventKinds)));
  assert.deepEqual(new Set(frames), new Set(Object.keys(frameKinds)));
});

test("[CL2] every state but closed says when it wants a tick, and is not idle past it", () => {
  for (const state of Object.values(sampleStates)) {
    assert.equal(nextTickMs(state), state.state === "closed" ? undefined : dueMs);
    const [after] = stepSession(state, { kind: "tick", nowMs: dueMs, random: 0 }, config);
    assert.ok((nextTickMs(after) ?? Number.POSITIVE_INFINITY) > dueMs);
  }
  assert.equal(nextTickMs(openSession(5)), 5);
});

test("[CL2] a late tick counts one miss, however late, and the next heartbeat goes out at once", () => {
  const [after, effects] = stepSession(
    unanswered,
    { kind: "tick", nowMs: dueMs + 60_000, random: 0 },
    config,
  );
  assert.deepEqual(effects.map(nameOf), ["missed", "send(heartbeat)"]);
  assert.equal(after.state === "live" && after.misses, 1);
});

test("[CL2] an answer in time clears the misses and sets the next deadline by its round trip", () => {
  const event = { ...answer(5), nowMs: 10_900, random: 0 };
  const [answered] = stepSession({ ...unanswered, misses: 2 }, event, config);
  assert.ok(answered.state === "live");
  assert.equal(answered.misses, 0);
  assert.equal(answered.rttMs, 400);
  assert.equal(answered.lastAnswerMs, 10_900);
  assert.equal(nextTickMs(answered), 11_500);
  const [beaten] = stepSession(answered, { kind: "tick", nowMs: 11_500, random: 0 }, config);
  assert.equal(nextTickMs(beaten), 11_500 + 400 * 1.5 + 250);
});

test("[CL16] a delta is applied, and acknowledged by the next heartbeat", () => {
  const [next, effects] = stepSession(
    unanswered,
    { ...answer(5, 9), nowMs: 10_900, random: 0 },
    config,
  );
  assert.deepEqual(effects, [{ kind: "answered", rttMs: 400 }, { kind: "facts" }]);
  assert.deepEqual(next.state === "live" && next.facts, { b: "2" });
  const [, sent] = stepSession(next, { kind: "tick", nowMs: 12_000, random: 0 }, config);
  assert.deepEqual(sent, [
    { kind: "send", epoch, frame: { kind: "heartbeat", sequence: 6, ackedFactsVersion: 9 } },
  ]);
});

test("[CL15] backoff grows with failures, starts anew after a settled session, and probes where only a change helps", () => {
  const closes = { kind: "linkClosed", epoch, reason: "connection lost" } as const;
  const waitMs = (state: Session, event: SessionHappening, nowMs: number): number =>
    (nextTickMs(stepSession(state, { ...event, nowMs, random: 0 }, config)[0]) ?? 0) - nowMs;
  assert.equal(waitMs(sampleStates.greeting, closes, dueMs), 400);
  assert.equal(waitMs(live, closes, startMs + 9_999), 400);
  assert.equal(waitMs(live, closes, startMs + 10_000), 100);
  assert.equal(waitMs(sampleStates.greeting, refusal("overloaded"), dueMs), 400);
  for (const reason of ["bad_frame", "protocol_version", "stale_lease", "wrong_worker"] as const) {
    assert.equal(waitMs(sampleStates.greeting, refusal(reason), dueMs), 5_000);
  }
});

test("[CL15] a poke makes the failures so far forgotten", () => {
  for (const state of [sampleStates.waiting, sampleStates.dialling, sampleStates.greeting]) {
    const [after] = stepSession(state, { kind: "poke", nowMs: startMs, random: 0 }, config);
    assert.equal("failures" in after && after.failures, 0);
  }
});

function nameOf(effect: SessionEffect): string {
  switch (effect.kind) {
    case "send":
      return `send(${effect.frame.kind})`;
    case "down":
    case "dialFailed":
      return `${effect.kind}(${effect.cause})`;
    default:
      return effect.kind;
  }
}
