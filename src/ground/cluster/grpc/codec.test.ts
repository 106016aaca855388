import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { OperatingError } from "../../kernel/errors.ts";
import type { ControllerFrame, Envelope, WorkerFrame } from "../core/frames.ts";
import {
  decodeControllerEnvelope,
  decodeWorkerEnvelope,
  encodeControllerEnvelope,
  encodeWorkerEnvelope,
} from "./codec.ts";
import * as wire from "./gen/control_pb.ts";

const token = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/);
const name = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,62}$/);
const natural = fc.maxSafeNat();
const uint32 = fc.nat(0xffff_ffff);
const positive = fc.integer({ min: 1, max: 0xffff_ffff });
const kind = <K extends string>(text: K): fc.Arbitrary<K> => fc.constant(text);
const channelName = fc.string({ maxLength: 64 });
const channel = fc.record({
  kind: kind("channel"),
  channel: channelName,
  payload: fc.uint8Array({ maxLength: 100 }),
});
const facts = fc.dictionary(
  fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,20}$/).filter((text) => text !== "__proto__"),
  fc.string({ maxLength: 20 }),
  { noNullPrototype: true },
);
const admission = fc.record({ accepting: fc.boolean(), draining: fc.boolean() });
const url = fc.webUrl({ validSchemes: ["http", "https"] }).filter((text) => text.length < 2_000);
/** One arbitrary for each kind of frame: a missing kind does not compile. */
const controllerFrames: {
  readonly [K in ControllerFrame["kind"]]: fc.Arbitrary<unknown>;
} = {
  hello: fc.record(
    {
      kind: kind("hello"),
      controllerId: token,
      role: fc.constantFrom("coordinator", "query_api"),
      leaseEpoch: natural,
      versions: fc.record({ oldest: positive, newest: positive }),
      channels: fc.array(fc.record({ name: channelName, oldest: uint32, newest: uint32 })),
      workerId: name,
    },
    { requiredKeys: ["kind", "controllerId", "role", "leaseEpoch", "versions", "channels"] },
  ),
  heartbeat: fc.record({ kind: kind("heartbeat"), sequence: natural, ackedFactsVersion: natural }),
  setDraining: fc.record({ kind: kind("setDraining"), draining: fc.boolean() }),
  goodbye: fc.record({
    kind: kind("goodbye"),
    reason: fc.constantFrom("shutting_down", "superseded", "dropped"),
  }),
  channel,
};
const workerFrames: { readonly [K in WorkerFrame["kind"]]: fc.Arbitrary<unknown> } = {
  welcome: fc.record({
    kind: kind("welcome"),
    workerId: name,
    incarnation: token,
    version: uint32,
    channels: fc.array(fc.tuple(channelName, uint32)).map((entries) => new Map(entries)),
    admission,
    facts,
    factsVersion: natural,
    dataUrl: url,
    capacity: uint32,
    softwareVersion: fc.string({ maxLength: 64 }),
  }),
  refused: fc.record({
    kind: kind("refused"),
    reason: fc.constantFrom(
      "bad_frame",
      "overloaded",
      "protocol_version",
      "shutting_down",
      "stale_lease",
      "stale_session",
      "wrong_worker",
    ),
    message: fc.string({ unit: "grapheme" }),
  }),
  heartbeatAnswer: fc.record({
    kind: kind("heartbeatAnswer"),
    sequence: natural,
    delta: fc.option(
      fc.record({
        version: natural,
        set: facts,
        unset: fc.array(fc.stringMatching(/^[a-z][a-z/]{0,9}$/)),
      }),
      { nil: undefined },
    ),
  }),
  admission: fc.record({ kind: kind("admission"), admission }),
  channel,
};
const epoch = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

test("[CL27] every frame of a controller survives the wire", () => {
  const envelope = fc.record({ epoch, frame: fc.oneof(...Object.values(controllerFrames)) });
  fc.assert(
    fc.property(envelope, (any) => {
      const sent = structuredClone(any) as Envelope<ControllerFrame>; // Plain prototypes.
      const bytes = toBinary(wire.ControllerEnvelopeSchema, encodeControllerEnvelope(sent));
      const received = decodeControllerEnvelope(fromBinary(wire.ControllerEnvelopeSchema, bytes));
      assert.deepEqual(received, sent);
    }),
    { numRuns: 300 },
  );
});

test("[CL27] every frame of a worker survives the wire", () => {
  const envelope = fc.record({ epoch, frame: fc.oneof(...Object.values(workerFrames)) });
  fc.assert(
    fc.property(envelope, (any) => {
      const sent = structuredClone(any) as Envelope<WorkerFrame>;
      const bytes = toBinary(wire.WorkerEnvelopeSchema, encodeWorkerEnvelope(sent));
      const received = decodeWorkerEnvelope(fromBinary(wire.WorkerEnvelopeSchema, bytes));
      assert.deepEqual(received, sent);
    }),
    { numRuns: 300 },
  );
});

test("[CL27] whatever bytes parse as an envelope decode to a frame or to a protocol violation", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      let message: wire.WorkerEnvelope;
      try {
        message = fromBinary(wire.WorkerEnvelopeSchema, bytes);
      } catch {
        return; // Not protobuf: Connect refuses it before the codec.
      }
      try {
        decodeWorkerEnvelope(message);
      } catch (error) {
        assert.ok(error instanceof OperatingError && error.code === "protocol_violation");
      }
    }),
    { numRuns: 2_000 },
  );
});

test("[CL23] the hello of protocol 1 said one version and no channels, and is understood as such", () => {
  const value = { controllerId: "c", role: wire.ControllerRole.COORDINATOR, protocolVersion: 1 };
  const message = create(wire.ControllerEnvelopeSchema, {
    epoch: 1n,
    frame: { case: "hello", value },
  });
  const { frame } = decodeControllerEnvelope(message);
  assert.ok(frame.kind === "hello");
  assert.deepEqual([frame.versions, frame.channels], [{ oldest: 1, newest: 1 }, []]);
});

test("[CL27] a long error message is clipped, not a reason to end the session", () => {
  const frame = { kind: "refused", reason: "bad_frame", message: "x".repeat(100_000) } as const;
  const sent = { epoch: 1, frame } as unknown as Envelope<WorkerFrame>;
  const received = decodeWorkerEnvelope(encodeWorkerEnvelope(sent));
  assert.equal(received.frame.kind === "refused" && received.frame.message.length, 65_536);
});

const ofController = (init: MessageInitShape<typeof wire.ControllerEnvelopeSchema>) => () =>
  decodeControllerEnvelope(create(wire.ControllerEnvelopeSchema, init));
const ofWorker = (init: MessageInitShape<typeof wire.WorkerEnvelopeSchema>) => () =>
  decodeWorkerEnvelope(create(wire.WorkerEnvelopeSchema, init));
const goodWelcome = {
  workerId: "w",
  incarnation: "i",
  admission: {},
  dataUrl: "http://127.0.0.1:1",
};
const welcome = (value: { facts?: Record<string, string>; dataUrl?: string; workerId?: string }) =>
  ofWorker({ epoch: 1n, frame: { case: "welcome", value: { ...goodWelcome, ...value } } });

const malformed: readonly [name: string, decode: () => unknown, want: RegExp][] = [
  ["no frame", ofController({ epoch: 1n }), /unknown kind/],
  ["no frame from a worker", ofWorker({ epoch: 1n }), /unknown kind/],
  ["epoch 0", ofController({ frame: { case: "setDraining", value: {} } }), /epoch is not valid/],
  ["an epoch past 2^53", ofController({ epoch: 2n ** 60n }), /epoch is too large/],
  [
    "no role",
    ofController({ epoch: 1n, frame: { case: "hello", value: { controllerId: "c" } } }),
    /role has an unknown value: 0/,
  ],
  [
    "a bad controller id",
    ofController({ epoch: 1n, frame: { case: "hello", value: { controllerId: "-", role: 1 } } }),
    /controller_id is not valid: "-"/,
  ],
  [
    "a role of the future",
    ofController({
      epoch: 1n,
      frame: { case: "hello", value: { controllerId: "c", role: 9 as 1 } },
    }),
    /role has an unknown value: 9/,
  ],
  [
    "no admission",
    ofWorker({ epoch: 1n, frame: { case: "admissionChanged", value: {} } }),
    /admission is missing/,
  ],
  ["a bad fact", welcome({ facts: { "": "x" } }), /name of a fact is not valid/],
  ["a long fact", welcome({ facts: { a: "x".repeat(5_000) } }), /the fact a is longer than 4096/],
  [
    "too many facts",
    welcome({ facts: Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`f${n}`, ""])) }),
    /more than 10000 facts/,
  ],
  [
    "a data URL that is none",
    welcome({ dataUrl: "file:///etc/passwd" }),
    /data_url is not an HTTP address/,
  ],
  ["a worker name that is none", welcome({ workerId: "Worker 1" }), /worker_id is not valid/],
  [
    "too many channels",
    ofController({
      epoch: 1n,
      frame: {
        case: "hello",
        value: { controllerId: "c", role: 1, channels: Array.from({ length: 65 }, () => ({})) },
      },
    }),
    /more than 64 channels/,
  ],
  [
    "a channel with a long name",
    ofWorker({
      epoch: 1n,
      frame: { case: "channelFrame", value: { channel: "x".repeat(65) } },
    }),
    /name of a channel is longer than 64/,
  ],
];
for (const [what, decode, want] of malformed) {
  test(`[CL27] ${what} is a protocol violation that says so`, () => {
    assert.throws(decode, (error) => {
      assert.ok(error instanceof OperatingError);
      assert.equal(error.code, "protocol_violation");
      assert.match(error.message, want);
      return true;
    });
  });
}
