import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { OperatingError } from "../../kernel/errors.ts";
import {
  answerBytesMax,
  contentBytesMax,
  type WorkCommand,
  type WorkReport,
} from "../core/assignment/index.ts";
import { decodeCommand, decodeReport, encodeCommand, encodeReport } from "./codec.ts";
import * as wire from "./gen/work_pb.ts";

const token = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/);
const natural = fc.maxSafeNat();
const uint32 = fc.nat(0xffff_ffff);
const attempt = uint32;
const kind = <K extends string>(text: K): fc.Arbitrary<K> => fc.constant(text);
const anyKey = fc.record({ queryId: token, leafId: token, workId: token });
const url = fc.webUrl({ validSchemes: ["http", "https"] }).filter((text) => text.length < 2_000);
const timestamp = fc.option(fc.maxSafeInteger(), { nil: undefined });
const artifact = (workId: string) =>
  fc.record(
    {
      workId: fc.constant(workId),
      url,
      sizeBytes: natural,
      checksum: fc.stringMatching(/^sha256:[0-9a-f]{64}$/),
      rowCount: natural,
      minTs: timestamp,
      maxTs: timestamp,
      schemaVersion: uint32,
      content: fc.uint8Array({ maxLength: 100 }),
    },
    { noNullPrototype: true, requiredKeys: artifactKeys },
  );
const artifactKeys = [
  ...(["workId", "url", "sizeBytes", "checksum", "rowCount"] as const),
  ...(["minTs", "maxTs", "schemaVersion"] as const),
];

/** One arbitrary for each kind of message: a missing kind does not compile. */
const commands: { readonly [K in WorkCommand["kind"]]: fc.Arbitrary<unknown> } = {
  assignWork: fc.record({
    kind: kind("assignWork"),
    attempt,
    work: fc.record({
      queryId: token,
      leafId: token,
      workId: token,
      kind: fc.string({ maxLength: 64 }),
      body: fc.string({ unit: "grapheme" }),
      affinityKey: fc.string({ maxLength: 64 }),
    }),
  }),
  cancelWork: fc.record({ kind: kind("cancelWork"), key: anyKey, attempt }),
  ackArtifact: fc.record({ kind: kind("ackArtifact"), key: anyKey, attempt }),
};
const reports: { readonly [K in WorkReport["kind"]]: fc.Arbitrary<unknown> } = {
  workAccepted: fc.record({ kind: kind("workAccepted"), key: anyKey, attempt }),
  workRejected: fc.record({
    kind: kind("workRejected"),
    key: anyKey,
    attempt,
    reason: fc.constantFrom("draining", "not_accepting", "queue_full"),
  }),
  workReady: anyKey.chain((ofKey) =>
    fc.record({
      kind: kind("workReady"),
      key: fc.constant(ofKey),
      attempt,
      artifact: artifact(ofKey.workId),
    }),
  ),
  workAnswered: fc.record({
    kind: kind("workAnswered"),
    key: anyKey,
    attempt,
    answer: fc.uint8Array({ maxLength: 100 }),
  }),
  workFailed: fc
    .record({
      kind: kind("workFailed"),
      key: anyKey,
      attempt,
      code: fc.string({ maxLength: 64 }),
      message: fc.string({ unit: "grapheme" }),
      retryable: fc.boolean(),
    })
    .chain((failure) =>
      fc
        .record(
          {
            hint: fc.string({ minLength: 1, maxLength: 100 }),
            number: fc.integer({ min: 1, max: 99_999 }),
            position: fc.record({
              line: fc.integer({ min: 1, max: 1_000 }),
              column: fc.integer({ min: 1, max: 1_000 }),
            }),
          },
          { requiredKeys: [] },
        )
        .map((details) => ({ ...failure, ...details })),
    ),
};

test("[WC36] every command survives the wire", () => {
  fc.assert(
    fc.property(fc.oneof(...Object.values(commands)), (any) => {
      const sent = structuredClone(any) as WorkCommand; // Plain prototypes.
      assert.deepEqual(decodeCommand(encodeCommand(sent)), sent);
    }),
    { numRuns: 300 },
  );
});

test("[WC36] every report survives the wire", () => {
  fc.assert(
    fc.property(fc.oneof(...Object.values(reports)), (any) => {
      const sent = structuredClone(any) as WorkReport;
      assert.deepEqual(decodeReport(encodeReport(sent)), sent);
    }),
    { numRuns: 300 },
  );
});

test("[WC36] whatever bytes arrive decode to a report or to a protocol violation", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        decodeReport(bytes);
      } catch (error) {
        assert.ok(error instanceof OperatingError && error.code === "protocol_violation");
      }
    }),
    { numRuns: 2_000 },
  );
});

test("[WC36] a long error message is clipped, and odd details are left out, not a reason to end the session", () => {
  const failure = { code: "bad_sql", message: "x".repeat(100_000), retryable: false };
  const sent = { kind: "workFailed", key, attempt: 1, ...failure } as unknown as WorkReport;
  const received = decodeReport(encodeReport(sent));
  assert.equal(received.kind === "workFailed" && received.message.length, 65_536);
  const odd = { hint: "x".repeat(9_000), number: -1, position: { line: 1.5, column: 2 } };
  const told = decodeReport(encodeReport({ ...sent, ...odd } as unknown as WorkReport));
  assert.ok(told.kind === "workFailed");
  assert.deepEqual([told.hint?.length, told.number, told.position], [4_096, undefined, undefined]);
});

type CommandInit = MessageInitShape<typeof wire.WorkCommandSchema>;
type ReportInit = MessageInitShape<typeof wire.WorkReportSchema>;
const key = { queryId: "q", leafId: "l", workId: "w" };
const command =
  (init: Pick<CommandInit, "command">, ofKey = key) =>
  () =>
    decodeCommand(
      toBinary(wire.WorkCommandSchema, create(wire.WorkCommandSchema, { key: ofKey, ...init })),
    );
const report = (init: Pick<ReportInit, "report">) => () =>
  decodeReport(toBinary(wire.WorkReportSchema, create(wire.WorkReportSchema, { key, ...init })));
const goodArtifact = {
  workId: "w",
  artifactUrl: "http://127.0.0.1:1/a",
  artifactChecksum: `sha256:${"0".repeat(64)}`,
};
const ready = (value: MessageInitShape<typeof wire.ArtifactSchema>) =>
  report({ report: { case: "workReady", value } });

const malformed: readonly [name: string, decode: () => unknown, want: RegExp][] = [
  ["no command", command({}), /unknown kind/],
  ["no report", report({}), /unknown kind/],
  ["bytes that are no message", () => decodeReport(new Uint8Array([0xff])), /no WorkReport/],
  ["a command without a key", () => decodeCommand(new Uint8Array()), /key is missing/],
  [
    "a work id with a slash",
    command({ command: { case: "cancelWork", value: {} } }, { ...key, workId: "a/b" }),
    /work_id is not valid/,
  ],
  [
    "a long kind of work",
    command({ command: { case: "assignWork", value: { kind: "x".repeat(65) } } }),
    /kind is longer than 64/,
  ],
  ["no reason", report({ report: { case: "workRejected", value: {} } }), /unknown value: 0/],
  ["no artifact", ready({ workId: "w" }), /checksum is not a sha256/],
  [
    "an answer that is not small",
    report({ report: { case: "workAnswered", value: new Uint8Array(answerBytesMax + 1) } }),
    /answer has more than 1000000 bytes/,
  ],
  [
    "an artifact's bytes that are not few",
    ready({ ...goodArtifact, content: new Uint8Array(contentBytesMax + 1) }),
    /content has more than 65536 bytes/,
  ],
  ["another work's artifact", ready({ ...goodArtifact, workId: "v" }), /another work item/],
  [
    "a checksum of another kind",
    ready({ ...goodArtifact, artifactChecksum: "md5:1" }),
    /checksum is not a sha256/,
  ],
  [
    "a size past 2^53",
    ready({ ...goodArtifact, artifactSizeBytes: 2n ** 63n }),
    /size_bytes is too large/,
  ],
  [
    "an artifact elsewhere",
    ready({ ...goodArtifact, artifactUrl: "javascript:alert(1)" }),
    /url is not an HTTP address/,
  ],
];
for (const [what, decode, want] of malformed) {
  test(`[WC36] ${what} is a protocol violation that says so`, () => {
    assert.throws(decode, (error) => {
      assert.ok(error instanceof OperatingError);
      assert.equal(error.code, "protocol_violation");
      assert.match(error.message, want);
      return true;
    });
  });
}
