import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { toBinary } from "@bufbuild/protobuf";
import { OperatingError } from "../../kernel/errors.ts";
import type { ControllerId, LeaseEpoch, SessionEpoch } from "../../kernel/ids.ts";
import { createPrng } from "../../kernel/prng.ts";
import { until } from "../../kernel/testing/eventually.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import type { AcceptLink, ControllerFrame, Envelope, Link, WorkerFrame } from "../core/index.ts";
import { protocolVersions } from "../core/index.ts";
import { recordingLogger } from "../core/testing/cluster-fixture.ts";
import { spokenFrame } from "../core/testing/recording-listener.ts";
import { encodeControllerEnvelope } from "./codec.ts";
import { startControlServer } from "./control-server.ts";
import { ControllerEnvelopeSchema } from "./gen/control_pb.ts";
import { createAuthority, createIdentity } from "./testing/certificates.ts";
import { GrpcFixture, token } from "./testing/grpc-fixture.ts";
import { RawClient } from "./testing/raw-client.ts";

const epoch = 1 as SessionEpoch;
const hello: Envelope<ControllerFrame> = {
  epoch,
  frame: {
    kind: "hello",
    controllerId: "c" as ControllerId,
    role: "query_api",
    leaseEpoch: 0 as LeaseEpoch,
    versions: protocolVersions,
    channels: [],
  },
};
const answer: Envelope<WorkerFrame> = {
  epoch,
  frame: { kind: "heartbeatAnswer", sequence: 1, delta: undefined },
};
const helloBytes = toBinary(ControllerEnvelopeSchema, encodeControllerEnvelope(hello));
const authorized = { authorization: `Bearer ${token}` };

/** Accepts every session and records what arrives. */
function accepting(): {
  accept: AcceptLink;
  links: Link<Envelope<WorkerFrame>>[];
  frames: string[];
  closes: string[];
} {
  const links: Link<Envelope<WorkerFrame>>[] = [];
  const frames: string[] = [];
  const closes: string[] = [];
  const accept: AcceptLink = (link) => {
    links.push(link);
    return {
      onFrame: ({ frame }) => frames.push(frame.kind),
      onClose: (reason) => closes.push(reason),
    };
  };
  return { accept, links, frames, closes };
}

const fixtures: GrpcFixture[] = [];
const children: ChildProcess[] = [];
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(fixtures.map((fixture) => fixture.close()));
});
function fixture(): GrpcFixture {
  const made = new GrpcFixture();
  fixtures.push(made);
  return made;
}

/** Starts a peer process and waits for its first line. */
async function startPeer(
  ...args: string[]
): Promise<{ child: ChildProcess; line: string; lines: string[] }> {
  const script = fileURLToPath(new URL("testing/peer-process.ts", import.meta.url));
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const lines: string[] = [];
  assert.ok(child.stdout !== null);
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  await until(() => lines.length > 0);
  return { child, line: String(lines[0]), lines };
}

/** Kills the child and returns when it was gone. A process may end slowly on a busy machine. */
async function killed(child: ChildProcess): Promise<number> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
  return performance.now();
}

for (const [name, given] of [
  ["a wrong token", "another-token"],
  ["a token of another length", "x"],
  ["an empty token", ""],
] as const) {
  test(`[CL28] ${name} is refused, with a clear word on both sides`, async () => {
    const grpc = fixture();
    const worker = accepting();
    const serverLines: string[] = [];
    const dialerLines: string[] = [];
    const address = await grpc.listen(worker.accept, { logger: recordingLogger(serverLines) });
    const closes: string[] = [];
    const dialer = grpc.dialer({ token: given, logger: recordingLogger(dialerLines) });
    dialer
      .dial(address, { onFrame: () => assert.fail("no frame"), onClose: (r) => closes.push(r) })
      .send(hello);
    await until(() => closes.length > 0);
    assert.deepEqual(closes, ["the cluster token was refused"]);
    assert.deepEqual(dialerLines, ["the worker refused our cluster token"]);
    assert.deepEqual(serverLines, ["refused a control session: cluster token"]);
    assert.deepEqual(worker.links, []);
    assert.equal(serverLines.join().includes(token), false);
  });
}

test("[CL28] no token at all is refused, by its gRPC status", async () => {
  const grpc = fixture();
  const worker = accepting();
  const raw = new RawClient(await grpc.listen(worker.accept), {});
  raw.write(helloBytes);
  await until(() => raw.status !== undefined);
  assert.equal(raw.status, "16"); // Unauthenticated.
  assert.equal(raw.message, "the cluster token is absent");
  assert.deepEqual(worker.links, []);
  raw.close();
});

test("[CL28] without a token and without mutual TLS the server does not start", async () => {
  const { accept } = accepting();
  await assert.rejects(
    fixture().listen(accept, { token: undefined }),
    (error) => error instanceof OperatingError && error.code === "unsafe_bind",
  );
});

test("[CL29] a port in use is a clear error", async () => {
  const grpc = fixture();
  const { accept } = accepting();
  const { grpcPort } = await grpc.listen(accept);
  await assert.rejects(
    grpc.listen(accept, { port: grpcPort }),
    (error) => error instanceof OperatingError && error.code === "port_in_use",
  );
});

test("[CL30] mutual TLS: the right certificate is let in without a token, any other is not", async () => {
  const grpc = fixture();
  const authority = await createAuthority("ours");
  const stranger = await createAuthority("theirs");
  const server = await createIdentity("worker", authority);
  const worker = accepting();
  const address = await grpc.listen(worker.accept, {
    token: undefined,
    tls: { ...server, ca: authority.cert },
  });
  const dialWith = async (tls: Parameters<GrpcFixture["dialer"]>[0]): Promise<string[]> => {
    const closes: string[] = [];
    const heard = worker.frames.length;
    const link = grpc.dialer(tls).dial(address, {
      onFrame: () => undefined,
      onClose: (reason) => closes.push(reason),
    });
    link.send(hello);
    await until(() => closes.length > 0 || worker.frames.length > heard);
    const refused = [...closes];
    link.close("enough");
    return refused;
  };
  const ours = await createIdentity("controller", authority);
  assert.deepEqual(await dialWith({ token: undefined, tls: { ca: authority.cert, ...ours } }), []);
  assert.deepEqual(worker.frames, ["hello"]);

  const theirs = await createIdentity("controller", stranger);
  const refusals = [
    await dialWith({ token: undefined, tls: { ca: authority.cert, ...theirs } }),
    await dialWith({ token, tls: { ca: authority.cert } }),
    await dialWith({ token, tls: { ca: stranger.cert, ...ours } }),
    await dialWith({ token }), // Plain text to a TLS port.
  ];
  for (const closes of refusals) assert.equal(closes.length, 1);
  assert.match(String(refusals[2]), /^TLS failed: /);
  assert.equal(worker.links.length, 1);
});

test("[CL30] TLS with a token, and a certificate's name that is not the host's", async () => {
  const grpc = fixture();
  const authority = await createAuthority("ours");
  const server = await createIdentity("worker", authority);
  const worker = accepting();
  const address = await grpc.listen(worker.accept, { tls: server });
  const tls = { ca: authority.cert, serverName: "worker.capstan" };
  const dialer = grpc.dialer({ tls });
  const link = dialer.dial(address, { onFrame: () => undefined, onClose: () => undefined });
  link.send(hello);
  await until(() => worker.frames.length === 1);
  link.close("enough");
});

test("[CL31] a frame that is too large ends the link, with the reason, on whichever side it was sent", async () => {
  const grpc = fixture();
  const worker = accepting();
  const address = await grpc.listen(worker.accept, { frameBytesMax: 10_000 });
  const closes: string[] = [];
  const link = grpc.dialer({ frameBytesMax: 10_000 }).dial(address, {
    onFrame: () => undefined,
    onClose: (reason) => closes.push(reason),
  });
  const frame = spokenFrame("x".repeat(10_000));
  link.send({ epoch, frame });
  await until(() => closes.length > 0);
  assert.match(String(closes[0]), /^protocol violation: .*larger than/);

  const careless = grpc.dialer().dial(address, {
    onFrame: () => undefined,
    onClose: (reason) => closes.push(reason),
  });
  careless.send(hello);
  careless.send({ epoch, frame });
  await until(() => worker.closes.length >= 1 && closes.length === 2);
  assert.match(String(worker.closes.at(-1)), /^protocol violation: .*larger than/);
  assert.match(String(closes[1]), /^protocol violation: .*larger than/);
});

const garbage: readonly [
  name: string,
  bytes: Uint8Array,
  claimed: number | undefined,
  want: RegExp,
][] = [
  [
    "bytes that are not protobuf",
    Buffer.from([0xff, 0xff, 0xff]),
    undefined,
    /^protocol violation/,
  ],
  ["an empty message", new Uint8Array(), undefined, /^protocol violation: epoch is not valid/],
  [
    "an unknown frame",
    Buffer.from([0x08, 0x01, 0xfa, 0x01, 0x00]),
    undefined,
    /^protocol violation: a frame of an unknown kind/,
  ],
  [
    "a length of four gigabytes",
    Buffer.from([1]),
    0xffff_ffff,
    /^protocol violation: .*larger than/,
  ],
];
for (const [name, bytes, claimed, want] of garbage) {
  test(`[CL31] ${name}: the link ends with a clear reason`, async () => {
    const grpc = fixture();
    const worker = accepting();
    const raw = new RawClient(await grpc.listen(worker.accept), authorized);
    raw.write(helloBytes);
    await until(() => worker.frames.length === 1);
    raw.write(bytes, claimed);
    await until(() => worker.closes.length === 1 && raw.status !== undefined);
    assert.match(String(worker.closes[0]), want);
    assert.match(String(raw.message), want);
    raw.close();
  });
}

test("[CL31] another path than ours is not found", async () => {
  const grpc = fixture();
  const raw = new RawClient(await grpc.listen(accepting().accept), { ":path": "/etc/passwd" });
  let status: unknown;
  raw.stream.on("response", (headers) => {
    status = headers[":status"];
  });
  await until(() => status !== undefined);
  assert.equal(status, 404);
  raw.close();
});

test("[CL31] a request with an impossible authority, and random bytes, harm nobody else", async () => {
  const grpc = fixture();
  const worker = accepting();
  const address = await grpc.listen(worker.accept);
  const odd = ["[", "a b"].map(
    (authority) => new RawClient(address, { ...authorized, ":authority": authority }),
  );
  const prng = createPrng("random bytes");
  const sockets = Array.from({ length: 50 }, (_, index) => {
    const socket = connect(address.grpcPort, address.host);
    socket.on("error", () => undefined);
    const noise = Buffer.from(Array.from({ length: 200 }, () => prng.below(256)));
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(index % 2 === 0 ? noise : Buffer.concat([preface, noise]));
    return socket;
  });
  await until(() => odd.every((raw) => raw.closed || raw.stream.closed));
  const link = grpc.dialer().dial(address, { onFrame: () => undefined, onClose: () => undefined });
  link.send(hello);
  await until(() => worker.frames.length === 1);
  for (const socket of sockets) socket.destroy();
  for (const raw of odd) raw.close();
  link.close("enough");
});

test("[CL32] a controller that does not read: the worker's buffer fills to its bound, and the link ends", async () => {
  const grpc = fixture();
  const worker = accepting();
  const raw = new RawClient(await grpc.listen(worker.accept), authorized);
  raw.stream.pause();
  raw.write(helloBytes);
  await until(() => worker.links.length === 1);
  const [link] = worker.links;
  assert.ok(link !== undefined);
  const frame = spokenFrame("x".repeat(60_000));
  let sentBytes = 0;
  while (link.send({ epoch, frame })) {
    sentBytes += frame.payload.length;
    assert.ok(sentBytes < 32 * 1024 * 1024, "the buffer is bounded");
    await new Promise(setImmediate);
  }
  assert.ok(sentBytes > 8 * 1024 * 1024, `${sentBytes}`);
  await until(() => worker.closes.length === 1);
  assert.match(String(worker.closes[0]), /does not read/);
  await until(() => raw.stream.closed || raw.stream.destroyed); // Cut, since it cannot be told.
  raw.close();
});

test("[CL32] a worker that does not read: the dialer's buffer fills to its bound, and the link ends", async () => {
  const streams: ServerHttp2Stream[] = [];
  const server = createHttp2Server();
  server.on("stream", (stream) => {
    stream.pause();
    stream.on("error", () => undefined);
    streams.push(stream);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const closes: string[] = [];
  const link = fixture()
    .dialer()
    .dial(
      { host: "127.0.0.1", grpcPort: port },
      { onFrame: () => undefined, onClose: (reason) => closes.push(reason) },
    );
  let frames = 0;
  while (
    link.send({ epoch, frame: { kind: "heartbeat", sequence: frames, ackedFactsVersion: 0 } })
  ) {
    frames += 1;
    assert.ok(frames < 50_000, "the buffer is bounded");
    if (frames % 100 === 0) await new Promise(setImmediate);
  }
  await until(() => closes.length === 1);
  assert.match(String(closes[0]), /does not read/);
  await until(() => streams.every((stream) => stream.closed || stream.destroyed));
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

test("[CL33] a worker that is killed is noticed at once", async () => {
  const { child, line } = await startPeer("worker");
  const closes: string[] = [];
  let welcomed = false;
  const link = fixture()
    .dialer()
    .dial(
      { host: "127.0.0.1", grpcPort: Number(line) },
      {
        onFrame: () => {
          welcomed = true;
        },
        onClose: (reason) => closes.push(reason),
      },
    );
  link.send(hello);
  await until(() => welcomed);
  const goneMs = await killed(child);
  await until(() => closes.length === 1);
  const noticedMs = performance.now() - goneMs;
  assert.deepEqual(closes, ["connection lost"]);
  assert.ok(noticedMs < 3_000, `${noticedMs} ms`);
});

test("[CL33] a controller that is killed is noticed at once", async () => {
  const grpc = fixture();
  const worker = accepting();
  const { grpcPort } = await grpc.listen((link) => {
    const handlers = worker.accept(link);
    link.send(answer);
    return handlers;
  });
  const { child } = await startPeer("controller", String(grpcPort));
  const goneMs = await killed(child);
  await until(() => worker.closes.length === 1);
  const noticedMs = performance.now() - goneMs;
  assert.deepEqual(worker.closes, ["connection lost"]);
  assert.ok(noticedMs < 3_000, `${noticedMs} ms`);
});

test("[CL9] an error in a handler ends the process instead of passing for a lost connection", async () => {
  const grpc = fixture();
  const { grpcPort } = await grpc.listen((link) => {
    link.send(answer);
    return { onFrame: () => undefined, onClose: () => undefined };
  });
  const { child, lines } = await startPeer("controller-with-bug", String(grpcPort));
  await until(() => child.exitCode !== null);
  assert.notEqual(child.exitCode, 0);
  assert.deepEqual(lines, ["up"]);
});

test("[CL34] what was sent before a close arrives: a refusal before its end, a goodbye before its end", async () => {
  const grpc = fixture();
  const worker = accepting();
  const address = await grpc.listen(worker.accept);
  const heard: string[] = [];
  const link = grpc.dialer().dial(address, {
    onFrame: ({ frame }) => heard.push(frame.kind),
    onClose: (reason) => heard.push(reason),
  });
  link.send(hello);
  await until(() => worker.frames.length === 1);
  worker.links[0]?.send({ epoch, frame: { kind: "refused", reason: "stale_lease", message: "" } });
  worker.links[0]?.close("an older lease");
  await until(() => heard.length === 2);
  assert.deepEqual(heard, ["refused", "an older lease"]);

  const parting = grpc
    .dialer()
    .dial(address, { onFrame: () => undefined, onClose: () => undefined });
  parting.send(hello);
  parting.send({ epoch, frame: { kind: "goodbye", reason: "dropped" } });
  parting.close("goodbye");
  await until(() => worker.closes.length === 2);
  assert.deepEqual(worker.frames, ["hello", "hello", "goodbye"]);
});

test("[CL35] closing the server is bounded, also when a caller holds on", async () => {
  const { accept, links } = accepting();
  const grpc = fixture();
  const clock = new VirtualClock();
  const server = await startControlServer({
    host: "127.0.0.1",
    port: 0,
    token,
    accept,
    clock,
    logger: recordingLogger([]),
  });
  const raw = new RawClient({ host: "127.0.0.1", grpcPort: server.port }, authorized);
  raw.write(helloBytes);
  await until(() => links.length === 1);
  const closing = server.close();
  await clock.advance(2_000);
  await closing; // In no more time than has passed: the caller would hold on for ever.
  await until(() => raw.closed);
  raw.close();
  const closes: string[] = [];
  const address = { host: "127.0.0.1", grpcPort: server.port };
  grpc.dialer().dial(address, { onFrame: () => undefined, onClose: (r) => closes.push(r) });
  await until(() => closes.length === 1);
  assert.deepEqual(closes, ["connection refused"]);
});

test("[CL35] a connection that does not say who it is is closed after five seconds", async () => {
  const clock = new VirtualClock();
  const { accept } = accepting();
  const { grpcPort } = await fixture().listen(accept, { clock });
  const socket = connect(grpcPort, "127.0.0.1");
  let closed = false;
  socket.on("close", () => {
    closed = true;
  });
  socket.resume();
  await until(() => clock.pendingCount > 0);
  await clock.advance(5_000);
  await until(() => closed);
});
