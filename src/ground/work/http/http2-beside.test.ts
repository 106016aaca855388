import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import { test } from "node:test";
import { silentLogger } from "../../kernel/logger.ts";
import type { TlsFiles } from "../../kernel/tls.ts";
import type { ArtifactSpool } from "../core/index.ts";
import { createTestAuthority } from "../testing/test-certificates.ts";
import { type ArtifactServer, startArtifactServer } from "./artifact-server.ts";

const spool: Pick<ArtifactSpool, "stat"> = { stat: () => undefined };

async function start(tls?: TlsFiles): Promise<ArtifactServer> {
  return await startArtifactServer({
    ...{ host: "127.0.0.1", port: 0, token: "secret", spool, logger: silentLogger },
    ...(tls === undefined ? {} : { tls }),
    http2: (stream, headers) => {
      stream.respond({ [constants.HTTP2_HEADER_STATUS]: 200 });
      stream.end(`${headers[constants.HTTP2_HEADER_PATH]} over HTTP/2`);
    },
  });
}

async function askHttp2(url: string, path: string, tls?: TlsFiles): Promise<string> {
  const session = connect(url, tls);
  try {
    const stream = session.request({ [constants.HTTP2_HEADER_PATH]: path });
    let text = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    await once(stream, "end");
    return text;
  } finally {
    session.destroy();
  }
}

const authorized = { headers: { authorization: "Bearer secret" } };

test("[QU59] HTTP/1 and HTTP/2 are served on one port, in any order", async () => {
  const server = await start();
  try {
    for (const turn of [1, 2, 3]) {
      assert.equal(await askHttp2(server.url, `/${turn}`), `/${turn} over HTTP/2`);
      assert.equal((await fetch(`${server.url}/artifacts/none`, authorized)).status, 404);
      assert.equal((await fetch(`${server.url}/artifacts/none`)).status, 401);
    }
  } finally {
    await server.close();
  }
});

test("[QU59] the first bytes decide, however they come", async () => {
  const server = await start();
  try {
    const socket = connectTcp(server.port, "127.0.0.1");
    await once(socket, "connect");
    socket.setNoDelay(true);
    for (const byte of "PRI") {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // It is neither: HTTP/1 answers what it cannot read.
    socket.write("NT / HTTP/1.1\r\nhost: x\r\n\r\n");
    const [answer] = await once(socket, "data");
    assert.match(String(answer), /^HTTP\/1\.1 4/);
    socket.destroy();
  } finally {
    await server.close();
  }
});

test("[QU59] a connection that ends before it has said anything, and ones that are open, do no harm", async () => {
  const server = await start();
  const socket = connectTcp(server.port, "127.0.0.1");
  await once(socket, "connect");
  socket.destroy();
  const silent = connectTcp(server.port, "127.0.0.1");
  await once(silent, "connect");
  const session = connect(server.url);
  session.on("error", () => undefined);
  await once(session, "connect");
  await Promise.all([server.close(), once(session, "close"), once(silent, "close")]);
});

test("[QU59] over TLS both are served to a client of the cluster, and to nobody else", async () => {
  const authority = await createTestAuthority("the cluster");
  const [own, peer] = [await authority.identity("server"), await authority.identity("peer")];
  const server = await start(own);
  try {
    assert.equal(await askHttp2(server.url, "/a", peer), "/a over HTTP/2");
    const stranger = await (await createTestAuthority("another")).identity("stranger");
    const asked = askHttp2(server.url, "/a", { ...stranger, ca: authority.ca });
    assert.doesNotMatch(await asked.catch(() => "refused"), /HTTP/);
  } finally {
    await server.close();
  }
});
