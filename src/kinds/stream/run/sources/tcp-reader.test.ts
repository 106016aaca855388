import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { test } from "node:test";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import type { SourceReader } from "../core/connector.ts";
import { openTcpReader } from "./tcp-reader.ts";

async function listen(serve: (socket: Socket, connection: number) => void): Promise<Server> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    serve(socket, connections);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function options(server: Server, retries: number) {
  const { port } = server.address() as AddressInfo;
  return {
    ...{ host: "127.0.0.1", port, connectMsMax: 5_000, bufferBytes: 1_024 },
    ...{ retries, retryIntervalMs: 10, clock: realClock },
  };
}

async function readAll(reader: SourceReader): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const reading = await reader.read();
    if (reading.kind === "bytes") all.push(Buffer.from(reading.bytes).toString());
    else if (reading.kind !== "idle") all.push(reading.kind);
    if (reading.kind === "end") return all;
  }
}

test("[SU5] a connection that breaks is made again, and its last record is cut", async () => {
  const server = await listen((socket, connection) => {
    if (connection === 1)
      socket.write("1\n2", () => setTimeout(() => socket.resetAndDestroy(), 50));
    else socket.end("3\n");
  });
  const reader = await openTcpReader(options(server, 2));
  assert.deepEqual(await readAll(reader), ["1\n2", "cut", "3\n", "end"]);
  await reader.close();
  server.close();
});

test("[SU5] a server that is not there is tried as often as it is told", async () => {
  const server = await listen((socket) => socket.end());
  const where = options(server, 2);
  server.close();
  await once(server, "close");
  await assert.rejects(openTcpReader(where), /cannot be reached/);
  const later = openTcpReader({ ...where, retries: 1_000 });
  server.listen(where.port, "127.0.0.1");
  const reader = await later;
  assert.deepEqual(await readAll(reader), ["end"]);
  await reader.close();
  server.close();
});
