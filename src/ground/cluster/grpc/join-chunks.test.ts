import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerId, LeaseEpoch, SessionEpoch } from "../../kernel/ids.ts";
import { until } from "../../kernel/testing/eventually.ts";
import { protocolVersions } from "../core/index.ts";
import { joinChunks } from "./join-chunks.ts";
import { GrpcFixture } from "./testing/grpc-fixture.ts";

const epoch = 1 as SessionEpoch;

test("[CL41] frames that wait for a worker reach it in few turns of the event loop", async (context) => {
  const fixture = new GrpcFixture();
  const received: string[] = [];
  const address = await fixture.listen(() => ({
    onFrame: ({ frame }) =>
      received.push(frame.kind === "channel" ? `${frame.payload}` : frame.kind),
    onClose: () => undefined,
  }));
  const link = fixture
    .dialer()
    .dial(address, { onFrame: () => undefined, onClose: () => undefined });
  const hello = {
    kind: "hello" as const,
    controllerId: "c" as ControllerId,
    role: "coordinator" as const,
    leaseEpoch: 1 as LeaseEpoch,
    versions: protocolVersions,
    channels: [],
  };
  context.after(async () => {
    link.close("the test is over");
    await fixture.close();
  });
  link.send({ epoch, frame: hello });
  await until(() => received.length === 1);

  const sent = Array.from({ length: 300 }, (_, index) => index % 256);
  for (const number of sent) {
    const payload = Uint8Array.of(number);
    link.send({ epoch, frame: { kind: "channel", channel: "c", payload } });
  }
  let turns = 0;
  for (; received.length < sent.length + 1 && turns < 1_000; turns += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(received.slice(1), sent.map(String));
  assert.ok(turns < 100, `${turns} turns for ${sent.length} frames`);
});

test("[CL41] pieces are what has come meanwhile, in its order, and end as the source does", async () => {
  const source = async function* (count: number, bytes: number) {
    for (let index = 0; index < count; index += 1) yield new Uint8Array(bytes).fill(index);
    if (bytes === 1) throw new Error("broken");
  };
  const pieces: number[][] = [];
  const read = async () => {
    for await (const piece of joinChunks(source(5, 1))) {
      pieces.push([...piece]);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await assert.rejects(read(), /broken/);
  assert.deepEqual(pieces, [[0], [1, 2, 3, 4]]);

  const sizes: number[] = [];
  for await (const piece of joinChunks(source(4, 60_000))) {
    sizes.push(piece.length);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(sizes, [60_000, 120_000, 60_000], "not more than 64 KiB ahead");
});
