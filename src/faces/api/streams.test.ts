import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { test } from "node:test";
import type { WatchMessage, WatchRequest } from "../../data/statements/index.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { eventually, until } from "../../ground/kernel/testing/eventually.ts";
import { usualLimits } from "../../ground/process/index.ts";
import type { Api } from "./server.ts";
import { apiConfig } from "./testing/fake-ports.ts";
import { createTestServers } from "./testing/test-servers.ts";

const start = createTestServers();

async function subscribe(
  api: Api,
  path: string,
  headers: Record<string, string> = {},
): Promise<IncomingMessage> {
  const request = httpRequest(`${api.url}${path}`, { headers });
  request.on("error", () => undefined);
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.setEncoding("utf8");
  response.on("error", () => undefined);
  return response;
}

/** Reads until `enough` returns true, or the stream ends. */
async function read(response: IncomingMessage, enough: (text: string) => boolean): Promise<string> {
  let text = "";
  for await (const chunk of response) {
    text += chunk;
    if (enough(text)) break;
  }
  return text;
}

const event = (revision: number): WatchMessage => ({
  type: "EVENT",
  op: "UPDATE",
  key: "worker-1",
  revision,
  data: { worker_id: "worker-1", state: "ACTIVE" },
});

test("[AP15] a subscriber gets the snapshot, then events, each with its revision as id", async () => {
  const { api, cluster } = await start(apiConfig());
  cluster.watch = async function* () {
    yield { type: "SNAPSHOT", revision: 4, data: [{ worker_id: "worker-1" }] };
    yield event(5);
    yield { type: "EVENT", op: "DROP", key: "worker-1", revision: 6 };
  };
  const response = await subscribe(api, "/api/v1/watch?table=workers");
  assert.match(response.headers["content-type"] ?? "", /^text\/event-stream/);
  assert.equal(response.headers["x-content-type-options"], "nosniff");
  const text = await read(response, () => false);
  assert.equal(
    text,
    ": capstan\n\n" +
      'event: SNAPSHOT\nid: 4\ndata: {"type":"SNAPSHOT","revision":4,"data":[{"worker_id":"worker-1"}]}\n\n' +
      'event: UPDATE\nid: 5\ndata: {"type":"EVENT","op":"UPDATE","key":"worker-1","revision":5,"data":{"worker_id":"worker-1","state":"ACTIVE"}}\n\n' +
      'event: DROP\nid: 6\ndata: {"type":"EVENT","op":"DROP","key":"worker-1","revision":6}\n\n',
  );
});

test("[AP15] Last-Event-ID resumes, and stands above the revision in the address", async () => {
  const { api, cluster } = await start(apiConfig());
  const asked: WatchRequest[] = [];
  cluster.watch = async function* (request) {
    asked.push(request);
    yield event(8);
  };
  await read(await subscribe(api, "/api/v1/watch?table=workers&revision=3"), () => false);
  await read(
    await subscribe(api, "/api/v1/watch?table=workers&revision=3", { "last-event-id": "7" }),
    () => false,
  );
  assert.deepEqual(
    asked.map(({ fromRevision }) => fromRevision),
    [3, 7],
  );
  const bad = await subscribe(api, "/api/v1/watch?table=workers", { "last-event-id": "x" });
  assert.equal(bad.statusCode, 400);
});

test("[AP15] what cannot be watched is refused before the stream begins", async () => {
  const { api, cluster } = await start(apiConfig());
  cluster.watch = () => {
    throw new OperatingError("bad_request", "never", "table: cannot be watched");
  };
  for (const headers of [{}, { "last-event-id": "7" }]) {
    const response = await subscribe(api, "/api/v1/watch?table=secrets", headers);
    assert.equal(response.statusCode, 400);
    response.resume();
  }
});

test("[AP15] a stream whose source fails says why, and ends", async () => {
  const { api, cluster } = await start(apiConfig());
  cluster.watch = async function* () {
    yield event(1);
    throw new OperatingError("store_unavailable", "backoff", "the store is away");
  };
  const text = await read(await subscribe(api, "/api/v1/watch?table=workers"), () => false);
  assert.match(
    text,
    /event: error\ndata: \{"code":"store_unavailable","message":"the store is away"\}\n\n$/,
  );
});

test("[AP15] a stream is kept alive, and its source ends with its client", async () => {
  const { api, cluster } = await start({
    ...apiConfig(),
    sseTiming: { keepAliveMs: 20, stallMsMax: 1_000 },
  });
  const ended = Promise.withResolvers<void>();
  cluster.watch = async function* (_request, signal) {
    yield { type: "SNAPSHOT", revision: 1, data: [] };
    await once(signal, "abort");
    ended.resolve();
  };
  const response = await subscribe(api, "/api/v1/watch?table=workers");
  await read(response, (text) => text.split(": keep-alive\n\n").length > 3);
  response.destroy();
  await ended.promise;
});

test("[AP15] a client that takes nothing is dropped, and its source is not read ahead", async () => {
  const { api, cluster } = await start({
    ...apiConfig(),
    sseTiming: { keepAliveMs: 10_000, stallMsMax: 200 },
  });
  const ended = Promise.withResolvers<number>();
  const big = "x".repeat(256 * 1024);
  cluster.watch = async function* (_request, signal) {
    let sent = 0;
    while (!signal.aborted) {
      sent += 1;
      yield { type: "EVENT", op: "CREATE", key: "k", revision: sent, data: { big } };
    }
    ended.resolve(sent);
  };
  const response = await subscribe(api, "/api/v1/watch?table=workers");
  response.pause();
  const sent = await ended.promise;
  assert.ok(sent < 200, `${sent} events of 256 KiB were made for a client that took none`);
});

test("[AP15] there is a bound on open streams", async () => {
  const { api } = await start({ ...apiConfig(), limits: { ...usualLimits, event_streams: 2 } });
  const streams = [await subscribe(api, "/api/v1/live"), await subscribe(api, "/api/v1/live")];
  const third = await subscribe(api, "/api/v1/live");
  assert.equal(third.statusCode, 429);
  assert.equal(third.headers["retry-after"], "1");
  for (const stream of streams) stream.destroy();
  await eventually("closed streams no longer count", async () => {
    const next = await subscribe(api, "/api/v1/live");
    return next.statusCode === 200 ? true : undefined;
  });
});

test("[AP15] one client does not take all streams", async () => {
  const limits = { ...usualLimits, event_streams_per_client: 2 };
  const { api } = await start({ ...apiConfig(), limits });
  await subscribe(api, "/api/v1/live");
  const second = await subscribe(api, "/api/v1/live");
  const third = await subscribe(api, "/api/v1/live");
  assert.equal(third.statusCode, 429);
  third.setEncoding("utf8");
  assert.match((await third.toArray()).join(""), /the limit event_streams_per_client is 2/);
  second.destroy();
  await eventually("closed streams no longer count", async () => {
    const next = await subscribe(api, "/api/v1/live");
    return next.statusCode === 200 ? true : undefined;
  });
});

test("[AP22] the live feed shows status, workers and queries, once a second", async () => {
  const { api, cluster } = await start(apiConfig());
  let made = 0;
  const { status } = cluster;
  cluster.status = async () => {
    made += 1;
    return await status();
  };
  const two = (text: string): boolean => text.split("event: live\n").length > 2;
  const startMs = performance.now();
  const [first, second] = await Promise.all([
    subscribe(api, "/api/v1/live").then((response) => read(response, two)),
    subscribe(api, "/api/v1/live").then((response) => read(response, two)),
  ]);
  const frame = JSON.parse(/data: (.*)\n/.exec(first)?.[1] ?? "");
  assert.deepEqual(Object.keys(frame), ["status", "workers", "queries", "attention"]);
  assert.equal(frame.workers.length, 2);
  assert.ok(second.includes("event: live"));
  // On a busy machine the viewers may come one after the other, while ticks go on.
  const ticks = Math.ceil((performance.now() - startMs) / 1_000);
  assert.ok(made <= 2 + ticks, `${made} frames were made for two viewers and ${ticks} ticks`);
});

test("[AP22] a frame that cannot be made is left out, and the next one is made", async () => {
  const { api, cluster } = await start(apiConfig());
  const { status } = cluster;
  let calls = 0;
  cluster.status = async () => {
    calls += 1;
    if (calls === 1) throw new OperatingError("store_unavailable", "backoff", "away");
    return await status();
  };
  const text = await read(await subscribe(api, "/api/v1/live"), (all) =>
    all.includes("event: live"),
  );
  assert.match(text, /^: capstan\n\nevent: live\n/);
});

test("[AP15] watches that ended, or were refused, leave no listener behind", async () => {
  const { api, cluster } = await start({
    ...apiConfig(),
    limits: { ...usualLimits, event_streams: 1 },
  });
  let listeners = 0;
  let subscribed = 0;
  cluster.watch = async function* (_request, signal) {
    listeners += 1;
    subscribed += 1;
    try {
      // Like the catalog's watch: it checks the signal between events, and waits in a `yield`.
      for (let revision = 1; !signal.aborted; revision += 1) {
        yield revision === 1 ? { type: "SNAPSHOT", revision, data: [] } : event(revision);
        if (revision === 3) await once(signal, "abort");
      }
    } finally {
      listeners -= 1;
    }
  };
  const none = async (): Promise<void> => {
    await until(() => listeners === 0);
  };
  for (const path of ["/api/v1/watch?table=workers", "/api/v1/watch?table=workers&revision=1"]) {
    const first = await subscribe(api, path);
    await once(first, "data");
    const before = subscribed;
    for (let times = 0; times < 5; times += 1) {
      const refused = await subscribe(api, path);
      assert.equal(refused.statusCode, 429);
      refused.resume();
    }
    assert.equal(subscribed, before);
    first.destroy();
    await none();
  }
});

test("[AP44] a WebSocket is refused and let in as any request is", async () => {
  const { api } = await start(apiConfig([{ role: "read", token: "sesame-1" }]));
  const shake = async (headers: Record<string, string>): Promise<number | undefined> => {
    const request = httpRequest(`${api.url}/ws/test/some`, {
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        ...headers,
      },
    });
    request.end();
    request.on("error", () => undefined);
    const answered = Promise.race([once(request, "response"), once(request, "upgrade")]);
    const [response, socket] = (await answered) as [IncomingMessage, Socket | undefined];
    const { socket: refused } = response.on("error", () => undefined).resume();
    // The server closes it.
    if (response.statusCode !== 101 && !refused.destroyed) await once(refused, "close");
    socket?.destroy(); // The response no longer owns it.
    return response.statusCode;
  };
  const known = { "sec-websocket-protocol": "capstan, bearer.sesame-1" };
  assert.equal(await shake({}), 401);
  assert.equal(await shake({ "sec-websocket-protocol": "capstan, bearer.other" }), 401);
  assert.equal(await shake({ ...known, origin: "https://elsewhere.example" }), 403);
  assert.equal(await shake({ ...known, host: "elsewhere.example" }), 403);
  assert.equal(await shake(known), 101);
  assert.equal(await shake({ authorization: "Bearer sesame-1" }), 101);
});

/** All messages of a WebSocket, until it closes or `enough` returns true. */
async function messages(
  api: Api,
  path: string,
  enough: (all: readonly string[]) => boolean = () => false,
): Promise<{ readonly all: readonly string[]; readonly code: number }> {
  const socket = new WebSocket(`${api.url.replace("http", "ws")}${path}`, ["capstan"]);
  const all: string[] = [];
  const closed = Promise.withResolvers<number>();
  socket.addEventListener("message", ({ data }) => {
    all.push(String(data));
    if (enough(all)) socket.close(1000);
  });
  socket.addEventListener("close", ({ code }) => closed.resolve(code));
  return { code: await closed.promise, all };
}

test("[AP15] a WebSocket carries the same events, one a message, and resumes by its revision", async () => {
  const { api, cluster } = await start(apiConfig());
  const asked: WatchRequest[] = [];
  cluster.watch = async function* (request) {
    asked.push(request);
    yield { type: "SNAPSHOT", revision: 4, data: [] };
    yield event(5);
  };
  const { all, code } = await messages(api, "/api/v1/watch?table=workers&revision=3");
  assert.deepEqual(all, [
    ": capstan\n\n",
    'event: SNAPSHOT\nid: 4\ndata: {"type":"SNAPSHOT","revision":4,"data":[]}\n\n',
    'event: UPDATE\nid: 5\ndata: {"type":"EVENT","op":"UPDATE","key":"worker-1","revision":5,"data":{"worker_id":"worker-1","state":"ACTIVE"}}\n\n',
  ]);
  assert.equal(code, 1001);
  assert.deepEqual(asked, [{ table: "workers", select: undefined, fromRevision: 3 }]);
  const live = await messages(api, "/api/v1/live", (seen) => seen.length === 3);
  assert.match(live.all[2] ?? "", /^event: live\ndata: \{"status"/);
});

test("[AP15] a WebSocket that cannot be served gets one error event with its status", async () => {
  const { api, cluster } = await start(apiConfig());
  cluster.watch = () => {
    throw new OperatingError("unsupported", "never", "there is no control store");
  };
  const { all, code } = await messages(api, "/api/v1/watch?table=workers");
  assert.deepEqual(all, [
    'event: error\ndata: {"code":"unsupported","message":"there is no control store","status":501}\n\n',
  ]);
  assert.equal(code, 1008);
});

test("[AP15] WebSockets count as streams, and their sources end with their clients", async () => {
  const { api, cluster } = await start({
    ...apiConfig(),
    limits: { ...usualLimits, event_streams: 1 },
  });
  const ended = Promise.withResolvers<void>();
  cluster.watch = async function* (_request, signal) {
    yield { type: "SNAPSHOT", revision: 1, data: [] };
    await once(signal, "abort");
    ended.resolve();
  };
  const refusals: number[] = [];
  await messages(api, "/api/v1/watch?table=workers", (seen) => {
    if (seen.length < 2) return false;
    void subscribe(api, "/api/v1/live").then((refused) => {
      refusals.push(refused.statusCode ?? 0);
      refused.resume();
    });
    return true;
  });
  await ended.promise;
  assert.deepEqual(refusals, [429]);
});
