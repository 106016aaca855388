import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { silentLogger } from "../logger.ts";
import { until } from "../testing/eventually.ts";
import { ConnectionGate, type ConnectionLimits, clientOf } from "./connection-gate.ts";

const limits = {
  total: 8,
  perClient: 6,
  forHealth: 2,
  bodyBytes: 1024 ** 2,
  requestsWaiting: 16,
};

interface Bench {
  readonly gate: ConnectionGate;
  open(head?: string): Promise<Socket>;
  /** Opens `count` connections with a request that is never answered. */
  fill(count: number): Promise<Socket[]>;
  /** The status of an answer; 0 when the connection is closed without one. */
  ask(path: string): Promise<number>;
}

/**
 * A server that never answers `/slow` and answers everything else at once. A restricted connection
 * gets 503, except for `/healthz`.
 */
async function startBench(t: TestContext, given: Partial<ConnectionLimits> = {}): Promise<Bench> {
  let slowCount = 0;
  const server: Server = createServer((request, response) => {
    const isSlow = request.url === "/slow";
    if (isSlow) slowCount += 1;
    const isRefused = gate.isRestricted(request) && request.url !== "/healthz";
    if (gate.isRestricted(request)) response.setHeader("connection", "close");
    if (isRefused) response.writeHead(503).end();
    else if (!isSlow) request.resume().on("end", () => response.end("ok"));
  });
  const gate = new ConnectionGate(server, { ...limits, ...given }, silentLogger);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    server.closeAllConnections();
  });
  const open = async (head = ""): Promise<Socket> => {
    const before = gate.figures;
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => undefined);
    if (head !== "") socket.on("data", () => undefined); // An unread stream never ends.
    await once(socket, "connect");
    socket.write(head);
    // Waits until the server has seen it: every connection changes its figures.
    await until(() => JSON.stringify(gate.figures) !== JSON.stringify(before));
    return socket;
  };
  const ask = async (path: string): Promise<number> => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const pieces: Buffer[] = [];
    socket.on("data", (piece) => pieces.push(piece));
    await once(socket, "close");
    return Number(/^HTTP\/1\.1 (\d+)/.exec(String(Buffer.concat(pieces)))?.[1] ?? 0);
  };
  const fill = async (count: number): Promise<Socket[]> => {
    const busy: Socket[] = [];
    for (let n = 0; n < count; n += 1) busy.push(await open(slow));
    await until(() => slowCount === count);
    return busy;
  };
  return { gate, open, ask, fill };
}

const slow = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";

test("[CG1] sockets that say nothing, or half a head, make room: the longest idle first", async (t) => {
  const { gate, open, ask } = await startBench(t);
  const sockets: Socket[] = [];
  for (let n = 0; n < 20; n += 1) sockets.push(await open(n % 2 === 0 ? "" : "GET / HT"));
  assert.equal(gate.figures.open, limits.perClient);
  assert.equal(await ask("/"), 200);
  await until(() => sockets.filter(({ closed }) => closed).length === 15);
  assert.deepEqual(
    sockets.map(({ closed }) => closed),
    sockets.map((_, n) => n < 15),
  );
  assert.equal(gate.figures.restricted, 0);
});

test("[CG1] a connection that was used is idle from the end of its answer on", async (t) => {
  const { open, ask } = await startBench(t);
  const first = await open();
  const second = await open();
  first.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(first, "data");
  for (let n = 0; n < 4; n += 1) await open();
  assert.equal(await ask("/"), 200);
  await until(() => second.closed);
  assert.equal(first.closed, false);
});

test("[CG2] where all are busy only health is answered, however many ask", async (t) => {
  const { gate, open, ask, fill } = await startBench(t);
  await fill(limits.perClient);
  assert.equal(await ask("/"), 503);
  assert.equal(await ask("/healthz"), 200);
  for (let n = 0; n < 10; n += 1) await open();
  assert.ok(gate.figures.restricted <= limits.forHealth);
  assert.equal(await ask("/healthz"), 200);
  assert.ok(gate.figures.open <= limits.perClient + limits.forHealth);
});

test("[CG2] when the busy ones are gone everything is as before", async (t) => {
  const { gate, ask, fill } = await startBench(t);
  const busy = await fill(limits.perClient);
  assert.equal(await ask("/"), 503);
  for (const socket of busy) socket.destroy();
  await until(() => gate.figures.open === 0);
  assert.equal(await ask("/"), 200);
});

test("[CG3] bodies that drip make room for those that flow", async (t) => {
  const { gate, open, ask } = await startBench(t);
  const head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 30000000\r\n\r\n";
  const dripping: Socket[] = [];
  for (let n = 0; n < 4; n += 1) dripping.push(await open(head + "x".repeat(400_000)));
  await until(() => dripping.some(({ closed }) => closed));
  assert.ok(gate.figures.evicted > 0);
  assert.ok(!dripping.every(({ closed }) => closed));
  assert.equal(await ask("/"), 200);
});

test("[CG1] a client is an address, or a network of them where they are cheap", () => {
  const cases = [
    ["127.0.0.1", "127.0.0.1"],
    ["::ffff:10.1.2.3", "10.1.2.3"],
    ["::1", "::1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:db8::9", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ];
  for (const [address = "", want] of cases) assert.equal(clientOf(address), want);
});

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** A server that answers when told to. `served` lists the paths of the requests begun, in order. */
async function startHeld(t: TestContext, given: Partial<ConnectionLimits> = {}) {
  const served: string[] = [];
  const held: (() => void)[] = [];
  const server = createServer((request, response) => {
    served.push(request.url ?? "");
    if (request.url === "/health") response.end("ok");
    else held.push(() => void response.end(`<${request.url}>`));
  });
  const all = { ...limits, total: 100, perClient: 100, ...given };
  const isHealth = ({ url }: { readonly url?: string | undefined }): boolean => url === "/health";
  const gate = new ConnectionGate(server, all, silentLogger, undefined, isHealth);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const open = async (text: string): Promise<{ socket: Socket; received(): string }> => {
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.on("error", () => undefined);
    socket.on("data", (piece) => {
      received += String(piece);
    });
    await once(socket, "connect");
    socket.write(text);
    return { socket, received: () => received };
  };
  const answerOne = (): void => held.shift()?.();
  return { gate, served, open, answerOne };
}

test("[CG4] of a connection's requests one is under way, and the others follow in their order", async (t) => {
  const { served, open, answerOne } = await startHeld(t);
  const { received } = await open(["/1", "/2", "/3"].map(get).join(""));
  await until(() => served.length === 1);
  await turns(20);
  assert.deepEqual(served, ["/1"]);
  for (const count of [2, 3]) {
    answerOne();
    await until(() => served.length === count);
  }
  answerOne();
  await until(() => received().endsWith("</3>"));
  assert.deepEqual(received().match(/<.*?>/g), ["</1>", "</2>", "</3>"]);
});

test("[CG4] requests of a connection that is gone are never begun", async (t) => {
  const { gate, served, open, answerOne } = await startHeld(t);
  const { socket } = await open(get("/x").repeat(10));
  await until(() => served.length === 1);
  socket.destroy();
  await until(() => gate.figures.open === 0);
  answerOne();
  await turns(20);
  assert.equal(served.length, 1);
});

test("[CG4] a connection with too many requests waiting is closed, the others are not", async (t) => {
  const { gate, served, open } = await startHeld(t, { requestsWaiting: 3 });
  const greedy = await open(get("/x").repeat(5));
  await until(() => greedy.socket.closed);
  const modest = await open(get("/y").repeat(4));
  await until(() => served.includes("/y"));
  await turns(20);
  assert.equal(modest.socket.closed, false);
  assert.deepEqual([gate.figures.open, gate.figures.evicted], [1, 1]);
});

test("[CG5] however many ask at once, health is answered between a few of them", async (t) => {
  const { served, open, answerOne } = await startHeld(t);
  const health = await open("");
  const crowd = await Promise.all(
    Array.from({ length: 80 }, async (_, n) => await open(get(`/${n}`).repeat(2))),
  );
  await until(() => served.length === crowd.length);
  for (const _ of crowd) answerOne(); // All at once, so that their next requests are due together.
  const before = served.length;
  health.socket.write(get("/health"));
  let inOneTurnMax = 0;
  while (served.length < 2 * crowd.length + 1) {
    const { length } = served;
    await turns(1);
    inOneTurnMax = Math.max(inOneTurnMax, served.length - length);
  }
  assert.ok(inOneTurnMax < 12, `${inOneTurnMax} begun in one turn`);
  const begunBefore = served.indexOf("/health") - before;
  assert.ok(begunBefore < crowd.length, `${begunBefore} of ${crowd.length} were begun before it`);
});

/** Waits for `count` turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("[CG6] where all are busy, those that stall make room: bodies by drops, answers nobody takes", async (t) => {
  const { gate, open, ask, fill } = await startBench(t);
  const [steady] = await fill(1);
  for (let n = 1; n < limits.perClient; n += 1) {
    await open("POST /drip HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{");
  }
  await until(() => gate.figures.open === limits.perClient);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  assert.equal(await ask("/"), 200);
  assert.equal(await ask("/"), 200);
  assert.equal(steady?.closed, false, "whoever waits for its answer stays");
});

test("[CG6] an answer that its client takes nothing of ends, and one that is not there yet does not", async (t) => {
  const answer = Buffer.alloc(64 * 1024 ** 2, " ");
  const server = createServer((request, response) => {
    if (request.url === "/large") response.end(answer);
    else setTimeout(() => response.end("ok"), 700);
  });
  const gate = new ConnectionGate(server, { ...limits, stallMs: 200 }, silentLogger);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const [deaf, patient] = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  deaf.on("error", () => undefined);
  deaf.write("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  patient.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const [head] = (await once(patient, "data")) as [Buffer];
  assert.match(String(head), /^HTTP\/1\.1 200/);
  await until(() => gate.figures.evicted === 1);
  patient.destroy();
  deaf.destroy();
});
