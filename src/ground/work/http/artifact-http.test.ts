import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import type { WorkerId } from "../../kernel/ids.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { type RecordedLine, recordingLogger } from "../../kernel/testing/recording-logger.ts";
import { testArtifactFetcher } from "../core/artifact-fetcher.contract.ts";
import type { Artifact } from "../core/assignment/index.ts";
import type { ArtifactSpool, SpooledFile } from "../core/index.ts";
import { aWorkKey } from "../core/testing/a-work-key.ts";
import { testArtifact } from "../core/testing/test-works.ts";
import { createTestAuthority } from "../testing/test-certificates.ts";
import { startArtifactServer } from "./artifact-server.ts";
import { createHttpArtifactFetcher, type HttpFetcherOptions } from "./http-artifact-fetcher.ts";

const token = "cluster-secret";
const workerId = "w1" as WorkerId;
const never = new AbortController().signal;
const checksum = (bytes: Uint8Array): string => `sha256:${hash("sha256", bytes, "hex")}`;

/** A worker's files, by name. */
class Files implements Pick<ArtifactSpool, "stat"> {
  readonly dir: string;
  readonly #files = new Map<string, SpooledFile>();

  constructor(dir: string) {
    this.dir = dir;
  }

  stat(name: string): SpooledFile | undefined {
    return this.#files.get(name);
  }

  async add(name: string, bytes: Uint8Array, sizeBytes = bytes.length): Promise<void> {
    const path = join(this.dir, name);
    await writeFile(path, bytes);
    this.#files.set(name, { content: path, sizeBytes, key: aWorkKey });
  }

  delete(name: string): void {
    this.#files.delete(name);
  }
}

async function newDirs(): Promise<{ served: string; fetched: string; remove(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-http-"));
  const [served, fetched] = [join(dir, "served"), join(dir, "fetched")];
  await mkdir(served);
  return { served, fetched, remove: () => rm(dir, { recursive: true, force: true }) };
}

function openFetcher(dir: string, options: Partial<HttpFetcherOptions> = {}) {
  return createHttpArtifactFetcher({
    token,
    dir,
    clock: realClock,
    logger: silentLogger,
    ...options,
  });
}

testArtifactFetcher("http", async (capacityBytes) => {
  const dirs = await newDirs();
  const files = new Files(dirs.served);
  const server = await startArtifactServer({
    host: "127.0.0.1",
    port: 0,
    token,
    spool: files,
    logger: silentLogger,
  });
  const fetcher = await openFetcher(dirs.fetched, {
    capacityBytes,
  });
  let next = 1;
  return {
    fetcher,
    offer: async (bytes, lies = {}) => {
      const name = `artifact-${next++}`;
      await files.add(name, bytes);
      const described = { sizeBytes: bytes.length, checksum: checksum(bytes) };
      return { ...testArtifact("0", `${server.url}/artifacts/${name}`), ...described, ...lies };
    },
    withdraw: ({ url }) => files.delete(url.slice(url.lastIndexOf("/") + 1)),
    read: (path) => readFile(path),
    copies: async () => (await readdir(dirs.fetched)).length,
    close: async () => {
      await fetcher.close();
      await server.close();
      await dirs.remove();
    },
  };
});

async function withServer(
  body: (url: string, files: Files) => Promise<void>,
  options: { readonly connectionsMax?: number } = {},
): Promise<void> {
  const dirs = await newDirs();
  const files = new Files(dirs.served);
  await files.add("a.parquet", Buffer.from("content"));
  const server = await startArtifactServer({
    host: "127.0.0.1",
    port: 0,
    token,
    spool: files,
    logger: silentLogger,
    ...options,
  });
  try {
    await body(server.url, files);
  } finally {
    await server.close();
    await dirs.remove();
  }
}

test("[QU53] small copies are in memory up to a bound, and have a file when it is asked for", async () => {
  const bytes = new Uint8Array(1024 * 1024).fill(7);
  const dirs = await newDirs();
  const files = new Files(dirs.served);
  await files.add("a.parquet", bytes);
  const options = { host: "127.0.0.1", port: 0, token, spool: files, logger: silentLogger };
  const server = await startArtifactServer(options);
  const fetcher = await openFetcher(dirs.fetched);
  const artifact = {
    ...testArtifact("0", `${server.url}/artifacts/a.parquet`),
    ...{ sizeBytes: bytes.length, checksum: checksum(bytes) },
  };
  try {
    const copies = await Promise.all(
      Array.from({ length: 33 }, () => fetcher.fetch(workerId, artifact, never, aWorkKey)),
    );
    assert.equal(copies.filter(({ content }) => typeof content === "string").length, 1);
    assert.equal((await readdir(dirs.fetched)).length, 1);
    const inMemory = copies.find(({ content }) => typeof content !== "string");
    assert.deepEqual(await readFile((await inMemory?.file()) ?? ""), Buffer.from(bytes));
    assert.equal((await readdir(dirs.fetched)).length, 2);
    await Promise.all(copies.map((copy) => copy.dispose()));
    assert.deepEqual([await readdir(dirs.fetched), fetcher.usedBytes()], [[], 0]);
  } finally {
    await fetcher.close();
    await server.close();
    await dirs.remove();
  }
});

test("[QU55] bytes that came with the report are not fetched; where they are not the artifact's, it is fetched", async () => {
  const dirs = await newDirs();
  const files = new Files(dirs.served);
  const right = Buffer.from("content");
  const options = { host: "127.0.0.1", port: 0, token, spool: files, logger: silentLogger };
  const server = await startArtifactServer(options);
  const fetcher = await openFetcher(dirs.fetched);
  const described = {
    ...testArtifact("0", `${server.url}/artifacts/a.parquet`),
    ...{ sizeBytes: right.length, checksum: checksum(right) },
  };
  const get = (content: Uint8Array) =>
    fetcher.fetch(workerId, { ...described, content }, never, aWorkKey);
  try {
    const frame = Buffer.from("a frame with content in it");
    const local = await get(frame.subarray(13, 20));
    assert.deepEqual(local.artifact, described);
    assert.deepEqual(local.content, new Uint8Array(right));
    assert.equal((local.content as Uint8Array).buffer.byteLength, right.length, "its own buffer");
    assert.deepEqual(await readFile(await local.file()), right);
    await local.dispose();
    for (const wrong of ["contents", "conten", "contenT"]) {
      files.delete("a.parquet");
      await assert.rejects(get(Buffer.from(wrong)), { code: "artifact_lost" });
      await files.add("a.parquet", right);
      const fetched = await get(Buffer.from(wrong));
      assert.deepEqual(fetched.content, new Uint8Array(right));
      await fetched.dispose();
    }
    assert.deepEqual([await readdir(dirs.fetched), fetcher.usedBytes()], [[], 0]);
  } finally {
    await fetcher.close();
    await server.close();
    await dirs.remove();
  }
});

const bearer = { authorization: `Bearer ${token}` };

test("[QU50] without the token there is nothing, not even whether a name exists", async () => {
  await withServer(async (url) => {
    const wrong = [
      {},
      { authorization: "" },
      { authorization: "Bearer" },
      { authorization: "Bearer " },
      { authorization: `Bearer ${token}x` },
      { authorization: `Bearer ${token.slice(0, -1)}` },
      { authorization: `bearer ${token}` },
      { authorization: `Basic ${token}` },
      { authorization: token },
    ];
    for (const headers of wrong) {
      for (const name of ["a.parquet", "absent"]) {
        const response = await fetch(`${url}/artifacts/${name}`, { headers });
        assert.equal(response.status, 401, JSON.stringify(headers));
        assert.doesNotMatch(await response.text(), /content|secret/);
      }
    }
    const right = await fetch(`${url}/artifacts/a.parquet`, { headers: bearer });
    assert.equal(await right.text(), "content");
  });
});

test("[QU51] a name is looked up, never made into a path", async () => {
  await withServer(async (url) => {
    const { host } = new URL(url);
    const [hostname, port] = host.split(":");
    const paths = [
      "/artifacts/../a.parquet",
      "/artifacts/..%2fa.parquet",
      "/artifacts/%2e%2e/a.parquet",
      "/artifacts//etc/passwd",
      "/artifacts/%00",
      "/artifacts/.",
      "/artifacts/..",
      "/artifacts/",
      "/artifacts",
      "/a.parquet",
      "/artifacts/a.parquet/",
      "/artifacts/a.parquet?x=1",
      "/artifacts/A.parquet",
      `/artifacts/${"a".repeat(300)}`,
      "http://elsewhere/artifacts/a.parquet",
      "*",
    ];
    for (const path of paths) {
      const status = await rawStatus(hostname ?? "", Number(port), `GET ${path} HTTP/1.1`);
      assert.equal(status, 404, path);
    }
  });
});

/** Sends the path unchanged; `fetch` would normalise it. */
function rawStatus(host: string, port: number, line: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => {
      socket.write(
        `${line}\r\nhost: x\r\nauthorization: Bearer ${token}\r\nconnection: close\r\n\r\n`,
      );
    });
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString();
    });
    socket.on("end", () => resolve(Number(text.split(" ")[1])));
    socket.on("error", reject);
  });
}

test("[QU5] HEAD tells the size; other methods are refused", async () => {
  await withServer(async (url) => {
    const head = await fetch(`${url}/artifacts/a.parquet`, { method: "HEAD", headers: bearer });
    assert.equal(head.status, 200);
    assert.equal(head.headers.get("content-length"), "7");
    assert.equal(head.headers.get("content-type"), "application/vnd.apache.parquet");
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
      const response = await fetch(`${url}/artifacts/a.parquet`, { method, headers: bearer });
      assert.equal(response.status, 405, method);
    }
  });
});

test("[QU2] a file that is not as long as it should be is not passed off as whole", async () => {
  await withServer(async (url, files) => {
    for (const sizeBytes of [3, 20]) {
      await files.add("odd", Buffer.from("content"), sizeBytes);
      const response = await fetch(`${url}/artifacts/odd`, { headers: bearer }).catch(
        () => undefined,
      );
      await assert.rejects(async () => {
        if (response === undefined) throw new Error("cut off");
        await response.text();
      });
    }
    await files.add("gone", Buffer.from("content"));
    await rm(join(files.dir, "gone"));
    const gone = await fetch(`${url}/artifacts/gone`, { headers: bearer });
    assert.equal(gone.status, 404);
  });
});

test("[QU50] oversized headers are refused, and connections are bounded", async () => {
  await withServer(
    async (url) => {
      const headers = { ...bearer, "x-large": "x".repeat(20_000) };
      const large = await fetch(`${url}/artifacts/a.parquet`, { headers });
      assert.equal(large.status, 431);
      const { hostname, port } = new URL(url);
      const sockets = Array.from({ length: 4 }, () => connect(Number(port), hostname));
      const closed = await Promise.race(
        sockets.map(
          (socket) => new Promise<boolean>((resolve) => socket.on("close", () => resolve(true))),
        ),
      );
      assert.equal(closed, true);
      for (const socket of sockets) socket.destroy();
    },
    { connectionsMax: 2 },
  );
});

test("[QU50] a port in use is named", async () => {
  const taken = createTcpServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address() as AddressInfo;
  const spool = { stat: () => undefined };
  await assert.rejects(
    startArtifactServer({ host: "127.0.0.1", port, token, spool, logger: silentLogger }),
    (thrown) => thrown instanceof OperatingError && thrown.code === "port_in_use",
  );
  taken.close();
});

/** A worker that answers as the test says. */
async function withWorker(
  listener: RequestListener,
  body: (artifact: Artifact, server: Server) => Promise<void>,
): Promise<void> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const content = { sizeBytes: 7, checksum: checksum(Buffer.from("content")) };
  try {
    await body(
      { ...testArtifact("0", `http://127.0.0.1:${port}/artifacts/x`), ...content },
      server,
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function fetchOnce(
  artifact: Artifact,
  options: Partial<HttpFetcherOptions> = {},
): Promise<string> {
  const dirs = await newDirs();
  const fetcher = await openFetcher(dirs.fetched, options);
  try {
    const local = await fetcher.fetch(workerId, artifact, never, aWorkKey);
    const text = await readFile(await local.file(), "utf8");
    await local.dispose();
    return text;
  } catch (thrown) {
    assert.ok(thrown instanceof OperatingError, String(thrown));
    assert.deepEqual(await readdir(dirs.fetched), []);
    assert.equal(fetcher.usedBytes(), 0);
    assert.doesNotMatch(thrown.message, /secret/);
    return thrown.code;
  } finally {
    await fetcher.close();
    await dirs.remove();
  }
}

const answers: readonly (readonly [name: string, code: string, listener: RequestListener])[] = [
  ["401", "unauthenticated", (_, response) => void response.writeHead(401).end()],
  ["403", "forbidden", (_, response) => void response.writeHead(403).end()],
  ["404", "artifact_lost", (_, response) => void response.writeHead(404).end()],
  ["410", "artifact_lost", (_, response) => void response.writeHead(410).end()],
  ["500", "artifact_lost", (_, response) => void response.writeHead(500).end()],
  [
    "a redirect",
    "artifact_lost",
    (_, response) => void response.writeHead(302, { location: "/" }).end(),
  ],
  ["no length", "artifact_corrupt", (_, response) => void response.write("content")],
  ["silence", "artifact_lost", () => undefined],
  [
    "silence halfway",
    "artifact_lost",
    (_, response) => {
      response.writeHead(200, { "content-length": 7 });
      response.write("con");
    },
  ],
  [
    "a cut halfway",
    "artifact_lost",
    (_, response) => {
      response.writeHead(200, { "content-length": 7 });
      response.write("con", () => response.destroy());
    },
  ],
  ["a cut", "artifact_lost", (request) => void request.socket.destroy()],
  [
    "other bytes",
    "artifact_corrupt",
    (_, response) => void response.writeHead(200, { "content-length": 7 }).end("CONTENT"),
  ],
  [
    "the bytes",
    "content",
    (_, response) => void response.writeHead(200, { "content-length": 7 }).end("content"),
  ],
];
for (const [name, code, listener] of answers) {
  test(`[QU52] a worker that answers with ${name}: ${code}`, async () => {
    // Only for silence: a busy machine is silent for a while itself.
    const options = name.startsWith("silence") ? { silenceMsMax: 200 } : {};
    await withWorker(listener, async (artifact) => {
      assert.equal(await fetchOnce(artifact, options), code);
    });
  });
}

test("[QU53] a worker that drips is given up", async () => {
  const drip: RequestListener = (_, response) => {
    response.writeHead(200, { "content-length": 7 });
    const timer = setInterval(() => response.write("x"), 50);
    response.on("close", () => clearInterval(timer));
  };
  await withWorker(drip, async (artifact) => {
    assert.equal(await fetchOnce(artifact, { fetchMsMax: 150 }), "artifact_lost");
  });
});

test("[QU52] nobody there, and addresses that are none", async () => {
  const urls = [
    "http://127.0.0.1:1/artifacts/x",
    "ftp://127.0.0.1/artifacts/x",
    "file:///artifacts/x",
    "http://127.0.0.1:1/elsewhere",
    "nonsense",
  ];
  for (const url of urls) {
    assert.equal(await fetchOnce(testArtifact("0", url)), "artifact_lost", url);
  }
});

test("[QU52] the token goes to the worker, and a stale kept connection is replaced", async () => {
  const seen: (string | undefined)[] = [];
  const listener: RequestListener = (request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(200, { "content-length": 7 }).end("content");
  };
  await withWorker(listener, async (artifact, server) => {
    const dirs = await newDirs();
    const fetcher = await openFetcher(dirs.fetched);
    for (let round = 0; round < 3; round += 1) {
      const local = await fetcher.fetch(workerId, artifact, never, aWorkKey);
      await local.dispose();
      server.closeIdleConnections();
    }
    assert.deepEqual(seen, Array(3).fill(`Bearer ${token}`));
    await fetcher.close();
    await dirs.remove();
  });
});

test("[QU53] what an earlier run left is deleted at the start, and nothing else", async () => {
  const dirs = await newDirs();
  await writeFile(join(dirs.served, "fetched-7.parquet"), "");
  await writeFile(join(dirs.served, "precious.parquet"), "");
  const fetcher = await openFetcher(dirs.served);
  assert.deepEqual(await readdir(dirs.served), ["precious.parquet"]);
  await fetcher.close();
  await dirs.remove();
});

test("[QU50] with TLS and an authority, both sides show a certificate", async () => {
  const [ours, theirs] = await Promise.all([createTestAuthority("a"), createTestAuthority("b")]);
  const [worker, controller, stranger] = await Promise.all([
    ours.identity("worker"),
    ours.identity("controller"),
    theirs.identity("stranger"),
  ]);
  const dirs = await newDirs();
  const files = new Files(dirs.served);
  const bytes = Buffer.from("content");
  await files.add("x", bytes);
  const server = await startArtifactServer({
    host: "127.0.0.1",
    port: 0,
    token,
    spool: files,
    logger: silentLogger,
    tls: worker,
  });
  assert.match(server.url, /^https:/);
  const described = { sizeBytes: bytes.length, checksum: checksum(bytes) };
  const artifact = { ...testArtifact("0", `${server.url}/artifacts/x`), ...described };
  assert.equal(await fetchOnce(artifact, { tls: controller }), "content");
  assert.equal(await fetchOnce(artifact, { tls: controller, token: "other" }), "unauthenticated");
  // Believes the worker, but is not believed; and is believed, but does not believe the worker.
  assert.equal(await fetchOnce(artifact, { tls: { ...stranger, ca: ours.ca } }), "artifact_lost");
  assert.equal(
    await fetchOnce(artifact, { tls: { ...controller, ca: theirs.ca } }),
    "artifact_lost",
  );
  await server.close();
  await dirs.remove();
});

test("[OB14] a connection that was stale, and an artifact that was not sent, name the query", async () => {
  const lines: RecordedLine[] = [];
  const logger = recordingLogger(lines);
  const used = new Set<unknown>();
  const listener: RequestListener = ({ socket }, response) => {
    if (used.has(socket))
      socket.resetAndDestroy(); // At the moment when it is used again.
    else response.writeHead(200, { "content-length": 7 }).end("content");
    used.add(socket);
  };
  const dirs = await newDirs();
  await withWorker(listener, async (artifact) => {
    const fetcher = await openFetcher(dirs.fetched, { logger });
    for (let round = 0; round < 2; round += 1) {
      const local = await fetcher.fetch(workerId, artifact, never, aWorkKey);
      await local.dispose();
    }
    await fetcher.close();
  });
  const files = new Files(dirs.served);
  await files.add("cut", new Uint8Array(3), 10);
  const address = { host: "127.0.0.1", port: 0, token };
  const server = await startArtifactServer({ ...address, spool: files, logger });
  const headers = { authorization: `Bearer ${token}` };
  await assert.rejects(
    fetch(`${server.url}/artifacts/cut`, { headers }).then((response) => response.bytes()),
  );
  await server.close();
  await dirs.remove();
  assert.deepEqual(
    lines.map(({ fields, message }) => [fields.query_id, fields.work_id, message]),
    [
      ["q-1", "0", "a kept connection was stale: asking anew"],
      ["q-1", "0", "artifact not sent: the file has 3 bytes"],
    ],
  );
});
