import assert from "node:assert/strict";
import { test } from "node:test";
import type { Incarnation, SessionEpoch, WorkerId } from "../../kernel/ids.ts";
import {
  decideMembership,
  isAdmissionOnly,
  type MembershipStatus,
  reasons,
} from "./decide-membership.ts";
import type { LiveSession, SessionView } from "./session-view.ts";

const active: MembershipStatus = {
  state: "ACTIVE",
  state_reason: reasons.active,
  accepting_work: 1,
  draining: 0,
  incarnation: "i1",
  software_version: "0.1.0",
  capacity: 4,
};
const unreachable: MembershipStatus = {
  ...active,
  state: "UNREACHABLE",
  state_reason: "connection lost",
  accepting_work: 0,
};
const registered = { ...unreachable, state_reason: reasons.registered };

const live: LiveSession = {
  incarnation: "i1" as Incarnation,
  epoch: 1 as SessionEpoch,
  admission: { accepting: true, draining: false },
  facts: {},
  dataUrl: "http://127.0.0.1:1",
  capacity: 4,
  softwareVersion: "0.1.0",
  channels: new Map(),
  rttMs: 1,
  lastAnswerMs: 0,
  misses: 0,
};
const up: SessionView = {
  address: { host: "h", grpcPort: 1 },
  workerId: "worker-1" as WorkerId,
  state: "live",
  live,
  downReason: undefined,
};
const down: SessionView = {
  ...up,
  state: "waiting",
  live: undefined,
  downReason: "connection refused",
};
const dialling: SessionView = { ...down, state: "dialling", downReason: undefined };
const full: SessionView = {
  ...up,
  live: { ...live, admission: { accepting: false, draining: false } },
};
const draining = { ...up, live: { ...live, admission: { accepting: false, draining: true } } };
const restarted: SessionView = { ...up, live: { ...live, incarnation: "i2" as Incarnation } };

const cases: readonly [
  name: string,
  row: MembershipStatus,
  view: SessionView | undefined,
  want: Partial<MembershipStatus> | undefined,
][] = [
  ["[MB3] active and answering", active, up, undefined],
  [
    "[MB1] unreachable, now answering",
    unreachable,
    up,
    { state: "ACTIVE", state_reason: reasons.active, accepting_work: 1 },
  ],
  ["[MB1] active, admission changed", active, draining, { accepting_work: 0, draining: 1 }],
  ["[MB1] active, the process is another one", active, restarted, { incarnation: "i2" }],
  [
    "[MB1] active, the session is lost",
    active,
    down,
    { state: "UNREACHABLE", state_reason: "connection refused", accepting_work: 0 },
  ],
  [
    "[MB1] active, dialled at a new address",
    active,
    dialling,
    { state: "UNREACHABLE", state_reason: reasons.registered, accepting_work: 0 },
  ],
  [
    "[MB1] active, no longer found",
    active,
    undefined,
    { state: "UNREACHABLE", state_reason: reasons.notDialled, accepting_work: 0 },
  ],
  ["[MB2] unreachable, and still, for another reason", unreachable, down, undefined],
  ["[MB2] nothing known yet, still nothing", registered, dialling, undefined],
  ["[MB2] nothing known yet, not yet dialled", registered, undefined, undefined],
  [
    "[MB2] nothing known yet, now something",
    registered,
    down,
    { state_reason: "connection refused" },
  ],
];
for (const [name, row, view, want] of cases) {
  test(name, () => assert.deepEqual(decideMembership(row, view), want));
}

test("[MB7] a change of nothing but the willingness to take work is told apart", () => {
  assert.equal(isAdmissionOnly(decideMembership(active, full) ?? {}), true);
  assert.equal(isAdmissionOnly(decideMembership(active, draining) ?? {}), false);
  assert.equal(isAdmissionOnly(decideMembership(active, down) ?? {}), false);
});
