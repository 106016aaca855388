import assert from "node:assert/strict";
import { after, test } from "node:test";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import type { TlsFiles } from "../../../../ground/kernel/tls.ts";
import { createTestAuthority } from "../../../../ground/work/testing/test-certificates.ts";
import { decodeFrame, encodeFrame } from "../../engine/core/index.ts";
import { EdgeHub, type EdgeName } from "./edge-hub.ts";
import { ExchangeClient } from "./exchange-client.ts";
import { openExchangePort } from "./exchange-port.ts";
import { PeerMeter } from "./measure-peer.ts";

const hub = new EdgeHub();
const port = await openExchangePort(hub, "secret");
const client = new ExchangeClient({
  headers: { authorization: "Bearer secret" },
  clock: realClock,
});
after(async () => {
  client.close();
  await port.close();
});

function nameOf(query: string, epoch = 1): EdgeName {
  return { query, epoch, exchange: 3, from: "a/0", to: "b 1" };
}

function rows(count: number): Uint8Array<ArrayBuffer> {
  const values = Int32Array.from({ length: count }, (_, row) => row);
  return encodeFrame({
    kind: "rows",
    batch: {
      rowCount: count,
      columns: [{ kind: "fixed", type: "INT32", values, validity: undefined }],
      selection: undefined,
    },
  });
}

test("[SU24] an edge that nobody reads holds no other one of its connection back", async () => {
  const stuck = client.send(port.address, nameOf("stuck"));
  let waiting: Promise<void> | undefined;
  let sent = 0;
  while (waiting === undefined) {
    waiting = stuck.send(rows(8_000));
    sent += 1;
  }
  assert.ok(sent * 32_000 < 4_000_000, `${sent} frames went to an edge that nobody reads`);
  const free = client.send(port.address, nameOf("free"));
  const incoming = hub.receive(nameOf("free"));
  const sending = (async () => {
    for (let frame = 0; frame < 300; frame += 1) await free.send(rows(8_000));
    await free.send(encodeFrame({ kind: "end" }));
    await free.flush();
  })();
  let received = 0;
  for (;;) {
    const bytes = await incoming.receive();
    assert.ok(bytes !== undefined);
    const frame = decodeFrame(bytes, ["INT32"]);
    if (frame.kind === "end") break;
    if (frame.kind === "rows") received += frame.batch.rowCount;
  }
  await sending;
  free.close();
  assert.equal(received, 300 * 8_000);
  const late = hub.receive(nameOf("stuck"));
  for (let frame = 0; frame < sent; frame += 1) assert.ok((await late.receive()) !== undefined);
  await waiting;
  stuck.close();
  late.close();
});

test("[SU24] a sender without the token is refused", async () => {
  const stranger = new ExchangeClient({
    headers: { authorization: "Bearer guess" },
    clock: realClock,
  });
  const edge = stranger.send(port.address, nameOf("refused"));
  await assert.rejects(async () => {
    for (let frame = 0; frame < 1_000; frame += 1) await edge.send(rows(8_000));
  }, /status 401/);
  stranger.close();
});

test("[SU24] a receiver whose sender went away is told", async () => {
  const other = new ExchangeClient({
    headers: { authorization: "Bearer secret" },
    clock: realClock,
  });
  const edge = other.send(port.address, nameOf("lost"));
  const incoming = hub.receive(nameOf("lost"));
  void edge.send(rows(10));
  assert.ok((await incoming.receive()) !== undefined);
  other.close();
  assert.equal(await incoming.receive(), undefined);
});

test("[SU24] a slow edge lets a fast one of its connection pass", async () => {
  const frames = 100;
  const names = { slow: nameOf("slow"), fast: nameOf("fast") };
  const sending = Object.values(names).map(async (name) => {
    const edge = client.send(port.address, name);
    for (let frame = 0; frame < frames; frame += 1) await edge.send(rows(8_000));
    await edge.flush();
    edge.close();
  });
  const [slow, fast] = [hub.receive(names.slow), hub.receive(names.fast)];
  let slowly = 0;
  for (let frame = 0; frame < frames; frame += 1) {
    assert.ok((await fast.receive()) !== undefined);
    if (frame % 10 !== 9) continue;
    assert.ok((await slow.receive()) !== undefined);
    slowly += 1;
  }
  assert.equal(slowly, frames / 10);
  for (; slowly < frames; slowly += 1) assert.ok((await slow.receive()) !== undefined);
  await Promise.all(sending);
  slow.close();
  fast.close();
});

test("[SU24] a sender whose receiver went away is told, although nothing waits to be sent", async () => {
  const gone = new EdgeHub();
  const passing = await openExchangePort(gone, "secret");
  const edge = client.send(passing.address, nameOf("gone"));
  const incoming = gone.receive(nameOf("gone"));
  await edge.send(rows(10));
  await edge.flush();
  assert.ok((await incoming.receive()) !== undefined);
  await passing.close();
  await eventually("the loss", () => {
    try {
      void edge.send(rows(10));
      return undefined;
    } catch (thrown) {
      assert.match(`${thrown}`, /the exchange with .* was lost/);
      return true;
    }
  });
  await assert.rejects(edge.flush(), /was lost/);
});

test("[SU29] with certificates both sides prove who they are, and the token is asked for, too", async () => {
  const [ours, theirs] = await Promise.all([
    createTestAuthority("ours"),
    createTestAuthority("theirs"),
  ]);
  const [server, own, foreign] = await Promise.all([
    ours.identity("receiver"),
    ours.identity("sender"),
    theirs.identity("sender"),
  ]);
  const secured = new EdgeHub();
  const safe = await openExchangePort(secured, "secret", server);
  assert.match(safe.address, /^https:/);
  const clients: ExchangeClient[] = [];
  const edgeWith = (query: string, token: string, tls: TlsFiles | undefined, address: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const made = new ExchangeClient({ headers, clock: realClock, ...(tls && { tls }) });
    clients.push(made);
    return made.send(address, nameOf(query));
  };
  try {
    const edge = edgeWith("safe", "secret", own, safe.address);
    const incoming = secured.receive(nameOf("safe"));
    await edge.send(rows(10));
    assert.ok((await incoming.receive()) !== undefined);
    edge.close();
    incoming.close();
    const refused = async (tls: TlsFiles | undefined, token: string, address = safe.address) => {
      const stranger = edgeWith("stranger", token, tls, address);
      await assert.rejects(async () => {
        for (let frame = 0; frame < 1_000; frame += 1) await stranger.send(rows(8_000));
        await stranger.flush();
      }, /the exchange with .* was lost/);
    };
    await refused(own, "guess");
    await refused(undefined, "secret");
    await refused({ ...foreign, ca: ours.ca }, "secret");
    await refused(foreign, "secret");
    await refused(own, "secret", safe.address.replace("https:", "http:"));
  } finally {
    for (const each of clients) each.close();
    await safe.close();
  }
});

test("[SU23] what an earlier epoch sends does not reach the next one", async () => {
  const old = client.send(port.address, nameOf("q", 1));
  const fresh = client.send(port.address, nameOf("q", 2));
  const incoming = hub.receive(nameOf("q", 2));
  void old.send(rows(99));
  void fresh.send(rows(1));
  const bytes = await incoming.receive();
  assert.ok(bytes !== undefined);
  const frame = decodeFrame(bytes, ["INT32"]);
  assert.ok(frame.kind === "rows" && frame.batch.rowCount === 1);
  old.close();
  fresh.close();
});

test("[SU28] round trip, rate and backlog of a peer are measured", async () => {
  const headers = { authorization: "Bearer secret" };
  const measured = new ExchangeClient({ headers, clock: realClock, measureMs: 5 });
  try {
    const edge = measured.send(port.address, nameOf("measured"));
    for (let frame = 0; frame < 20; frame += 1) void edge.send(rows(8_000));
    const [backlog] = measured.measures();
    assert.ok((backlog?.backlogBytes ?? 0) >= 20 * 32_000, `${backlog?.backlogBytes} bytes wait`);
    const incoming = hub.receive(nameOf("measured"));
    for (let frame = 0; frame < 20; frame += 1) await incoming.receive();
    const found = await eventually("a rate and a round trip", () => {
      const [peer] = measured.measures();
      if (peer === undefined || peer.backlogBytes >= 20 * 32_000) return undefined;
      return peer.roundTripMs === undefined ? undefined : peer;
    });
    assert.equal(found.address, port.address);
    incoming.close();
    edge.close();
  } finally {
    measured.close();
  }
});

test("[SU28] the rate is that of the last interval", () => {
  const meter = new PeerMeter(1_000);
  meter.taken(500);
  meter.tick(1_500);
  assert.equal(meter.measures("a", 3).bytesPerSecond, 1_000);
  meter.tick(2_500);
  assert.deepEqual(meter.measures("a", 3), {
    address: "a",
    roundTripMs: undefined,
    bytesPerSecond: 0,
    backlogBytes: 3,
  });
});
