import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { FragmentSpec } from "../../run/core/index.ts";
import type { FragmentReport, StreamCommand, StreamReport } from "../core/index.ts";
import { decodeCommand, decodeReport, encodeCommand, encodeReport } from "./codec.ts";
import * as wire from "./gen/stream_pb.ts";

const query = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/);
const fragment = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,47}$/);
const natural = fc.maxSafeNat();
const target = { query, epoch: natural };
const kind = <K extends string>(text: K): fc.Arbitrary<K> => fc.constant(text);
const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(one, { nil: undefined });
const plain = { noNullPrototype: true };

/** Plans are plain JSON, whatever is in them. */
const json = fc.jsonValue({ depthSize: "small", noUnicodeString: false }).map((value) => {
  return JSON.parse(JSON.stringify({ value })) as object;
});
const ends = fc.array(fc.record({ fragment, address: maybe(fc.webUrl()) }, plain), {
  maxLength: 3,
});
const edges = fc.array(fc.tuple(fc.nat(100), ends)).map((all) => new Map(all));
const spec = fc.record(
  {
    fragment,
    lane: fc.nat(),
    nodes: fc.array(json),
    settings: json,
    out: edges,
    in: edges,
    restored: fc.constant(undefined),
    keepsState: fc.boolean(),
  },
  plain,
) as unknown as fc.Arbitrary<FragmentSpec>;
const state = fc.record(
  {
    fragment,
    nodes: fc.array(json),
    positions: fc.dictionary(fc.stringMatching(/^\d{1,3}$/), fc.string(), plain),
    objects: fc.array(
      fc.record({ path: fc.string(), sizeBytes: natural, crc32: fc.nat(0xffff_ffff) }, plain),
    ),
  },
  plain,
);
const error = fc.record(
  {
    code: fc.string({ maxLength: 64 }),
    number: maybe(fc.nat(0xffff_ffff)),
    message: fc.string({ unit: "grapheme" }),
    retry: fc.constantFrom("never", "backoff"),
  },
  plain,
);
const report = fc.record(
  {
    fragment,
    epoch: natural,
    state: fc.constantFrom("REGISTERED", "RUNNING", "STOPPED", "TERMINATED", "FAILED"),
    error: maybe(error),
  },
  plain,
) as fc.Arbitrary<FragmentReport>;
const elapsed = fc.double({ min: 0, noNaN: true });
const edgeFigures = fc.record(
  {
    exchange: fc.nat(10_000),
    to: fragment,
    rows: natural,
    bytes: natural,
    backlogBytes: natural,
    waitedMs: elapsed,
    watermarkMs: maybe(fc.maxSafeInteger()),
  },
  plain,
);
const figures = fc.record(
  {
    fragment,
    rowsIn: natural,
    bytesIn: natural,
    rowsOut: natural,
    rowsReceived: natural,
    lateRows: natural,
    malformed: natural,
    stateBytes: natural,
    watermarkMs: maybe(fc.maxSafeInteger()),
    bytesOut: natural,
    busyMs: maybe(elapsed),
    waitedMs: maybe(elapsed),
    edges: fc.array(edgeFigures, { maxLength: 3 }),
    slowest: maybe(
      fc.oneof(
        fc.record({ kind: kind("source"), name: fc.string() }, plain),
        fc.record({ kind: kind("fragment"), fragment }, plain),
      ),
    ),
  },
  plain,
);
const peer = fc.record(
  {
    address: fc.webUrl(),
    roundTripMs: maybe(fc.double({ min: 0, noNaN: true })),
    bytesPerSecond: fc.double({ min: 0, noNaN: true }),
    backlogBytes: natural,
  },
  plain,
);

/** One arbitrary for each kind of message: a missing kind does not compile. */
const commands: { readonly [K in StreamCommand["kind"]]: fc.Arbitrary<unknown> } = {
  register: fc.record(
    {
      kind: kind("register"),
      ...target,
      command: natural,
      fragments: fc.array(spec, { maxLength: 3 }),
      restore: maybe(fc.array(state, { maxLength: 3 })),
    },
    plain,
  ),
  start: fc.record({ kind: kind("start"), ...target, command: natural }, plain),
  stop: fc.record(
    {
      kind: kind("stop"),
      ...target,
      command: natural,
      mode: fc.constantFrom("hard", "soft", "suspend"),
    },
    plain,
  ),
  unregister: fc.record({ kind: kind("unregister"), ...target, command: natural }, plain),
  triggerCheckpoint: fc.record(
    { kind: kind("triggerCheckpoint"), ...target, checkpoint: natural, completed: natural },
    plain,
  ),
  checkpointComplete: fc.record(
    { kind: kind("checkpointComplete"), ...target, checkpoint: natural },
    plain,
  ),
};
const reports: { readonly [K in StreamReport["kind"]]: fc.Arbitrary<unknown> } = {
  answer: fc.record(
    {
      kind: kind("answer"),
      ...target,
      command: natural,
      error: maybe(error),
      fragments: fc.array(report),
      factsVersion: natural,
    },
    plain,
  ),
  states: fc.record(
    { kind: kind("states"), ...target, fragments: fc.array(report), factsVersion: natural },
    plain,
  ),
  checkpointed: fc.record(
    {
      kind: kind("checkpointed"),
      ...target,
      checkpoint: natural,
      state,
      prepared: fc.array(fc.tuple(fc.nat(10_000), fc.string())).map((all) => new Map(all)),
    },
    plain,
  ),
  statistics: fc.record(
    {
      kind: kind("statistics"),
      atMs: maybe(elapsed),
      queries: fc.array(fc.record({ ...target, fragments: fc.array(figures) }, plain)),
      peers: fc.array(peer),
    },
    plain,
  ),
};

for (const [name, arbitrary] of Object.entries(commands)) {
  test(`[SD6] ${name} survives the wire`, () => {
    fc.assert(
      fc.property(arbitrary as fc.Arbitrary<StreamCommand>, (command) => {
        assert.deepEqual(decodeCommand(encodeCommand(command)), command);
      }),
    );
  });
}
for (const [name, arbitrary] of Object.entries(reports)) {
  test(`[SD6] ${name} survives the wire`, () => {
    fc.assert(
      fc.property(arbitrary as fc.Arbitrary<StreamReport>, (one) => {
        assert.deepEqual(decodeReport(encodeReport(one)), one);
      }),
    );
  });
}

const sections = (count: number, noise: (at: number) => string): StreamCommand => ({
  kind: "register",
  query: "q",
  epoch: 1,
  command: 1,
  fragments: [],
  restore: [
    {
      fragment: "f",
      positions: {},
      objects: [],
      nodes: [
        {
          ...{ node: 1, combined: "0", told: "0" },
          sections: Array.from({ length: count }, (_, at) => ({
            ...{ key: noise(at), generation: at, object: 0, offset: at * 100, length: 100 },
          })),
        },
      ],
    },
  ],
});

test("[SD6] a long list of state is deflated, and one that is too long is refused by name", () => {
  const many = sections(100_000, (at) => `slice ${at}`);
  const payload = encodeCommand(many);
  assert.ok(payload.length < 2 * 1024 * 1024, `${payload.length} bytes`);
  assert.deepEqual(decodeCommand(payload), many);
  const noise = (at: number): string =>
    Array.from({ length: 9 }, (_, i) => Math.sin(at * 9 + i)).join();
  assert.throws(() => encodeCommand(sections(60_000, noise)), { code: "query_too_large" });
});

type CommandInit = MessageInitShape<typeof wire.StreamCommandSchema>;
const bytesOf = (init: CommandInit): Uint8Array =>
  toBinary(wire.StreamCommandSchema, create(wire.StreamCommandSchema, init));
const packed = (value: unknown): { json: Uint8Array } => ({
  json: Buffer.from(JSON.stringify(value)),
});
const start = { case: "start", value: { command: 1n } } as const;
const register = (fragments: unknown): CommandInit => ({
  ...{ query: "q", epoch: 1n },
  command: { case: "register", value: { fragments: packed(fragments) } },
});

const violations: Readonly<Record<string, Uint8Array>> = {
  "no message": new Uint8Array([0xff, 0xff, 0xff]),
  "no command": bytesOf({ query: "q", epoch: 1n }),
  "no query": bytesOf({ epoch: 1n, command: start }),
  "a query with a slash": bytesOf({ query: "a/b", epoch: 1n, command: start }),
  "an epoch that is too large": bytesOf({ query: "q", epoch: 2n ** 60n, command: start }),
  "an unknown mode": bytesOf({
    ...{ query: "q", epoch: 1n },
    command: { case: "stop", value: { command: 1n, mode: 9 as never } },
  }),
  "no fragments": bytesOf({
    ...{ query: "q", epoch: 1n },
    command: { case: "register", value: { command: 1n } },
  }),
  "fragments that are no list": bytesOf(register({})),
  "a fragment that is none": bytesOf(register([{ fragment: "f" }])),
  "a fragment of an odd name": bytesOf(
    register([{ fragment: "f/1", lane: 0, nodes: [], settings: {}, keepsState: true }]),
  ),
  "edges that are no list": bytesOf(
    register([{ fragment: "f", lane: 0, nodes: [], settings: {}, keepsState: true, out: 1 }]),
  ),
  "fragments that are no JSON": bytesOf({
    ...{ query: "q", epoch: 1n },
    command: { case: "register", value: { fragments: { json: Buffer.from("{") } } },
  }),
  "fragments that are not deflated": bytesOf({
    ...{ query: "q", epoch: 1n },
    command: {
      case: "register",
      value: { fragments: { json: Buffer.from("[]"), deflated: true } },
    },
  }),
};
for (const [name, payload] of Object.entries(violations)) {
  test(`[SD6] ${name} is a violation`, () => {
    assert.throws(
      () => decodeCommand(payload),
      (thrown) => thrown instanceof OperatingError && thrown.code === "protocol_violation",
    );
  });
}

test("[SD64] statistics of a worker that knows fewer figures are read", () => {
  const statistics = {
    queries: [{ query: "q", epoch: 1n, fragments: [{ fragment: "f0", rowsIn: 7n }] }],
  };
  const init = { report: { case: "statistics", value: statistics } } as const;
  const report = decodeReport(
    toBinary(wire.StreamReportSchema, create(wire.StreamReportSchema, init)),
  );
  assert.ok(report.kind === "statistics");
  assert.equal(report.atMs, undefined);
  const [figure] = report.queries[0]?.fragments ?? [];
  assert.deepEqual(
    [figure?.rowsIn, figure?.busyMs, figure?.edges, figure?.slowest],
    [7, undefined, [], undefined],
  );
});

test("[SD6] bytes of any kind are read or refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      for (const decode of [decodeCommand, decodeReport]) {
        try {
          decode(bytes);
        } catch (thrown) {
          assert.ok(thrown instanceof OperatingError && thrown.code === "protocol_violation");
        }
      }
    }),
  );
});
