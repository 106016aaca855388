import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerId, LeaseEpoch, SessionEpoch, WorkerId } from "../../kernel/ids.ts";
import { decideHello, decideSupersede, type Hello, type HelloContext } from "./decide-hello.ts";
import type { ControllerRole } from "./frames.ts";
import { commonChannels, newestCommon, protocolVersions } from "./versions.ts";

const hello: Hello = {
  kind: "hello",
  controllerId: "c" as ControllerId,
  role: "coordinator",
  leaseEpoch: 5 as LeaseEpoch,
  versions: protocolVersions,
  channels: [],
};
const queryApi: Hello = { ...hello, role: "query_api", leaseEpoch: 0 as LeaseEpoch };
const known: HelloContext = {
  workerId: "worker-1" as WorkerId,
  closing: false,
  newestLease: 5 as LeaseEpoch,
  newestEpoch: 8 as SessionEpoch,
};
const lease = (value: number): LeaseEpoch => value as LeaseEpoch;

const cases: readonly {
  readonly name: string;
  readonly hello?: Hello;
  readonly epoch?: number;
  readonly known?: HelloContext;
  readonly want: string;
}[] = [
  { name: "a newer session of the same lease", want: "welcome" },
  {
    name: "the first session",
    epoch: 1,
    known: { ...known, newestEpoch: undefined },
    want: "welcome",
  },
  { name: "meant for this worker", hello: { ...hello, workerId: known.workerId }, want: "welcome" },
  { name: "a newer lease", hello: { ...hello, leaseEpoch: lease(6) }, want: "welcome" },
  { name: "a query-api needs no lease", hello: queryApi, want: "welcome" },
  { name: "an older lease", hello: { ...hello, leaseEpoch: lease(4) }, want: "stale_lease" },
  { name: "the same session epoch again", epoch: 8, want: "stale_session" },
  { name: "an older session epoch", epoch: 7, want: "stale_session" },
  {
    name: "a controller that speaks newer versions too",
    hello: { ...hello, versions: { ...protocolVersions, newest: 99 } },
    want: "welcome",
  },
  {
    name: "only newer versions",
    hello: { ...hello, versions: { oldest: 98, newest: 99 } },
    want: "protocol_version",
  },
  {
    name: "only older versions",
    hello: { ...hello, versions: { oldest: 1, newest: 1 } },
    want: "protocol_version",
  },
  {
    name: "meant for another worker",
    hello: { ...hello, workerId: "worker-2" as WorkerId },
    want: "wrong_worker",
  },
  { name: "while closing", known: { ...known, closing: true }, want: "shutting_down" },
];
for (const { name, want, ...given } of cases) {
  test(`[CL11] [CL23] ${name}: ${want}`, () => {
    const epoch = (given.epoch ?? 9) as SessionEpoch;
    const decision = decideHello(given.hello ?? hello, epoch, given.known ?? known);
    assert.equal(decision.kind === "refuse" ? decision.reason : decision.kind, want);
  });
}

test("[CL23] the version in use is the newest that both speak, and a refusal says what each speaks", () => {
  const versions = { oldest: 1, newest: protocolVersions.newest + 1 };
  assert.deepEqual(decideHello({ ...hello, versions }, 9 as SessionEpoch, known), {
    kind: "welcome",
    version: protocolVersions.newest,
  });
  const old = { ...hello, versions: { oldest: 1, newest: 1 } };
  assert.deepEqual(decideHello(old, 9 as SessionEpoch, known), {
    kind: "refuse",
    reason: "protocol_version",
    message:
      "this worker speaks protocol 2, the controller 1: run a newer Capstan on the older side",
  });
});

test("[CL39] of each channel that both speak, the newest common version is used", () => {
  assert.equal(newestCommon({ oldest: 1, newest: 3 }, { oldest: 2, newest: 5 }), 3);
  assert.equal(newestCommon({ oldest: 4, newest: 4 }, { oldest: 1, newest: 3 }), undefined);
  const ours = [
    { name: "work", oldest: 1, newest: 3 },
    { name: "fragments", oldest: 2, newest: 2 },
    { name: "only-ours", oldest: 1, newest: 1 },
  ];
  const theirs = [
    { name: "work", oldest: 1, newest: 2 },
    { name: "fragments", oldest: 1, newest: 1 },
    { name: "only-theirs", oldest: 1, newest: 1 },
  ];
  assert.deepEqual(commonChannels(ours, theirs), new Map([["work", 2]]));
});

const supersedes: readonly [ControllerRole, string, number, Hello, string | undefined][] = [
  ["coordinator", "c", 5, hello, "stale_session"],
  ["query_api", "c", 0, queryApi, "stale_session"],
  ["coordinator", "older", 4, hello, "stale_lease"],
  ["coordinator", "same-lease", 5, hello, undefined],
  ["query_api", "other", 0, hello, undefined],
  ["coordinator", "other", 5, queryApi, undefined],
];
for (const [role, id, leaseEpoch, by, want] of supersedes) {
  test(`[CL11] ${role} ${id} (lease ${leaseEpoch}) when a ${by.role} greets: ${want ?? "stays"}`, () => {
    const open = { role, controllerId: id as ControllerId, leaseEpoch: lease(leaseEpoch) };
    assert.equal(decideSupersede(open, by), want);
  });
}
