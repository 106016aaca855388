import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { fastify } from "fastify";
import { installAccess } from "../../ground/http/access.ts";
import { AssertionError, OperatingError } from "../../ground/kernel/errors.ts";
import { eventually } from "../../ground/kernel/testing/eventually.ts";
import { RequestGuard, usualLimits } from "../../ground/process/index.ts";
import type { Api } from "./server.ts";
import {
  apiConfig,
  bothTokens,
  clusterToken,
  FakeCluster,
  operateToken,
  readToken,
} from "./testing/fake-ports.ts";
import { createTestServers } from "./testing/test-servers.ts";

const start = createTestServers();

const plain = await start(apiConfig());
const guarded = await start(apiConfig(bothTokens));

interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Record<string, string>;
}

async function call(
  api: Api,
  path: string,
  { method = "GET", body, text, headers = {} }: Call = {},
) {
  const json = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: { ...json, ...headers },
    ...(body === undefined && text === undefined ? {} : { body: text ?? JSON.stringify(body) }),
  });
  const answered = await response.text();
  return { status: response.status, headers: response.headers, text: answered };
}

/** Unlike `fetch`, lets the caller choose Host and Origin. */
async function rawCall(
  api: Api,
  path: string,
  headers: Record<string, string>,
  method = "GET",
): Promise<number> {
  const request = httpRequest(`${api.url}${path}`, { method, headers });
  request.end();
  const [response] = await once(request, "response");
  response.resume();
  return response.statusCode;
}

function problem(text: string): { code: string; message: string; hint?: string } {
  return JSON.parse(text);
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test("[AP1] health, readiness, metrics and the queue answer", async () => {
  assert.deepEqual(JSON.parse((await call(plain.api, "/healthz")).text), { ok: true });
  assert.deepEqual(JSON.parse((await call(plain.api, "/readyz")).text), {
    ready: true,
    role: "leader",
    parts: [],
  });
  const metrics = await call(plain.api, "/metrics");
  assert.equal(metrics.text, "capstan_up 1\n");
  assert.match(metrics.headers.get("content-type") ?? "", /^text\/plain/);
  assert.deepEqual(JSON.parse((await call(plain.api, "/api/v1/monitor/queue")).text), {
    queue_depth: 3,
    oldest_age_seconds: 1.5,
  });
  assert.equal(JSON.parse((await call(plain.api, "/api/v1/status")).text).role, "leader");
});

test("[AP1] a process that is not ready says why, with 503", async () => {
  const { api, cluster } = await start(apiConfig());
  cluster.leading = false;
  const { status, text } = await call(api, "/readyz");
  assert.equal(status, 503);
  const body = { ready: false, role: "standby", reason: "no lease yet", parts: [] };
  assert.deepEqual(JSON.parse(text), body);
});

test("[AP1] parts that are not well are named, whether ready or not", async () => {
  const { api, cluster } = await start(apiConfig());
  const part = { name: "disk", state: "degraded", reason: "full", since_ms: 7, vital: false };
  cluster.parts = [part as (typeof cluster.parts)[number]];
  for (const [leading, want] of [
    [true, 200],
    [false, 503],
  ] as const) {
    cluster.leading = leading;
    const { status, text } = await call(api, "/readyz");
    assert.equal(status, want);
    assert.deepEqual(JSON.parse(text).parts, [part]);
  }
});

test("[AP3] a bad request names the field", async () => {
  const cases = [
    { body: {}, field: "sql" },
    { body: { sql: "" }, field: "sql" },
    { body: { sql: 1 }, field: "sql" },
    { body: { sql: "SELECT 1", timeout_ms: -1 }, field: "timeout_ms" },
  ];
  for (const { body, field } of cases) {
    const { status, text } = await call(plain.api, "/api/v1/sql", { method: "POST", body });
    assert.equal(status, 400, text);
    assert.equal(problem(text).code, "bad_request");
    assert.ok(problem(text).message.startsWith(`${field}: `), text);
  }
  const page = await call(plain.api, "/api/v1/workers?limit=0");
  assert.equal(page.status, 400);
  assert.match(problem(page.text).message, /^limit: /);
  const watch = await call(plain.api, "/api/v1/watch?revision=x");
  assert.match(problem(watch.text).message, /^revision: /);
});

test("[AP4] what the caller got wrong has the status that says so", async () => {
  const post = { method: "POST" };
  const cases: { path: string; call: Call; status: number; code: string }[] = [
    { path: "/api/v1/nothing", call: {}, status: 404, code: "not_found" },
    { path: "/nothing.js", call: {}, status: 404, code: "not_found" },
    { path: "/api/v1/status", call: post, status: 405, code: "method_not_allowed" },
    { path: "/api/v1/workers/worker-1/drain", call: {}, status: 405, code: "method_not_allowed" },
    {
      path: "/api/v1/sql",
      call: { ...post, text: "{", headers: { "content-type": "application/json" } },
      status: 400,
      code: "bad_request",
    },
    {
      path: "/api/v1/sql",
      call: { ...post, text: "", headers: { "content-type": "application/json" } },
      status: 400,
      code: "bad_request",
    },
    {
      path: "/api/v1/sql",
      call: { ...post, text: "sql", headers: { "content-type": "text/plain" } },
      status: 415,
      code: "unsupported_media_type",
    },
    {
      path: "/api/v1/sql",
      call: {
        ...post,
        text: "a=b",
        headers: { "content-type": "application/x-www-form-urlencoded" },
      },
      status: 415,
      code: "unsupported_media_type",
    },
    {
      path: "/api/v1/sql",
      call: { ...post, body: { sql: "x".repeat(2_000_000) } },
      status: 413,
      code: "payload_too_large",
    },
    { path: "/api/v1/workers/UPPER", call: {}, status: 404, code: "not_found" },
    { path: "/api/v1/workers/worker-9", call: {}, status: 404, code: "not_found" },
    { path: "/api/v1/queries/q-1", call: { method: "DELETE" }, status: 404, code: "not_found" },
    { path: "/%", call: {}, status: 400, code: "bad_request" },
  ];
  for (const { path, call: made, status, code } of cases) {
    const answered = await call(plain.api, path, made);
    assert.equal(answered.status, status, `${made.method ?? "GET"} ${path}: ${answered.text}`);
    assert.equal(problem(answered.text).code, code, answered.text);
    assert.match(answered.headers.get("content-type") ?? "", /^application\/json/);
  }
  const { headers } = await call(plain.api, "/api/v1/status", post);
  assert.equal(headers.get("allow"), "GET, HEAD");
});

test("[AP4] what is not HTTP is answered in the same shape", async () => {
  const cases = [
    { sent: "NONSENSE\r\n\r\n", status: "400", code: "bad_request" },
    {
      sent: `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${"y".repeat(20_000)}\r\n\r\n`,
      status: "431",
      code: "headers_too_large",
    },
  ];
  for (const { sent, status, code } of cases) {
    const socket = connect(plain.api.port, "127.0.0.1");
    socket.write(sent);
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    assert.ok(answer.startsWith(`HTTP/1.1 ${status} `), answer);
    assert.equal(problem(answer.slice(answer.indexOf("\r\n\r\n"))).code, code);
  }
});

test("[AP2] our own bug is a 500 with an id that is in the log, and nothing else", async () => {
  const { api, cluster } = await start(apiConfig());
  cluster.status = async () => {
    throw new TypeError("secret internals at /home/me");
  };
  const { status, text, headers } = await call(api, "/api/v1/status");
  assert.equal(status, 500);
  const { code, message } = problem(text);
  assert.equal(code, "internal");
  assert.ok(!text.includes("secret internals"));
  const id = headers.get("x-request-id") ?? "none";
  assert.ok(message.includes(id));
  const line = cluster.lines.find(({ level }) => level === "error");
  assert.equal(line?.fields.request_id, id);
  assert.equal(line?.fields.error, "secret internals at /home/me");
});

test("[AP41] Prometheus's names of health and readiness answer as they do there", async () => {
  assert.equal((await call(plain.api, "/-/healthy")).status, 200);
  assert.equal((await call(plain.api, "/-/healthy", { method: "HEAD" })).status, 200);
  assert.equal((await call(plain.api, "/-/ready")).status, 200);
});

test("[AP6] read sees, operate changes, nobody else gets in", async () => {
  const paths: { path: string; call?: Call; access: "public" | "read" | "operate" }[] = [
    { path: "/healthz", access: "public" },
    { path: "/readyz", access: "public" },
    { path: "/-/healthy", access: "public" },
    { path: "/-/ready", access: "public" },
    { path: "/openapi.json", access: "public" },
    { path: "/", access: "public" },
    { path: "/metrics", access: "read" },
    { path: "/api/v1/status", access: "read" },
    { path: "/api/v1/workers", access: "read" },
    { path: "/api/v1/queries", access: "read" },
    { path: "/api/v1/monitor/queue", access: "read" },
    { path: "/api/v1/workers/worker-1/drain", call: { method: "POST" }, access: "operate" },
    { path: "/api/v1/workers/worker-1/undrain", call: { method: "POST" }, access: "operate" },
    { path: "/api/v1/workers/worker-1", call: { method: "DELETE" }, access: "operate" },
    { path: "/api/v1/queries/q-known", call: { method: "DELETE" }, access: "operate" },
  ];
  for (const { path, call: made = {}, access } of paths) {
    const as = async (headers: Record<string, string>) =>
      (await call(guarded.api, path, { ...made, headers })).status;
    const name = `${made.method ?? "GET"} ${path}`;
    assert.equal(await as({}), access === "public" ? 200 : 401, `${name} as nobody`);
    assert.equal(await as(bearer("wrong-token-0123456789")), access === "public" ? 200 : 401, name);
    assert.equal(
      await as(bearer(readToken)),
      access === "operate" ? 403 : 200,
      `${name} as reader`,
    );
    assert.equal(await as(bearer(operateToken)), 200, `${name} as operator`);
  }
  const nobody = await call(guarded.api, "/api/v1/status");
  assert.equal(nobody.headers.get("www-authenticate"), "Bearer");
  assert.equal(problem(nobody.text).code, "unauthenticated");
});

test("[AP6] streams and SQL ask for a token as well", async () => {
  for (const [path, made] of [
    ["/api/v1/live", {}],
    ["/api/v1/watch?table=workers", {}],
    ["/api/v1/sql", { method: "POST", body: { sql: "SELECT 1" } }],
  ] as const) {
    assert.equal((await call(guarded.api, path, made)).status, 401, path);
  }
});

const registration = {
  worker_id: "worker-7",
  host_name: "127.0.0.1",
  grpc_port: 5000,
  data_port: 5001,
  capacity: 4,
  incarnation: "i-7",
  software_version: "1",
};

test("[AP7] a worker registers with the cluster's token, and with no other", async () => {
  for (const { api } of [plain, guarded]) {
    const as = async (headers: Record<string, string>) =>
      (await call(api, "/api/v1/workers", { method: "POST", body: registration, headers })).status;
    assert.equal(await as({}), 401);
    assert.equal(await as(bearer(operateToken)), 401);
    assert.equal(await as(bearer(`${clusterToken}x`)), 401);
    assert.equal(await as(bearer(clusterToken)), 200);
  }
  const bad = { ...registration, worker_id: "Not A Name", grpc_port: 0 };
  const refused = await call(plain.api, "/api/v1/workers", {
    method: "POST",
    body: bad,
    headers: bearer(clusterToken),
  });
  assert.equal(refused.status, 400);
  assert.match(problem(refused.text).message, /worker_id: .*grpc_port: /);
});

test("[AP8] a route that does not say who may call it cannot be added", async () => {
  const app = fastify();
  installAccess(app, apiConfig().access);
  assert.throws(() => app.get("/open", async () => "everything"), AssertionError);
  app.get("/said", { config: { access: "public" } }, async () => "hello");
  await app.close();
});

test("[AP9] every answer carries the security headers", async () => {
  for (const path of ["/", "/healthz", "/api/v1/status", "/api/v1/nothing"]) {
    const { headers } = await call(plain.api, path);
    assert.match(headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/, path);
    assert.match(headers.get("content-security-policy") ?? "", /script-src 'self'(;|$)/, path);
    assert.equal(headers.get("x-content-type-options"), "nosniff", path);
    assert.equal(headers.get("x-frame-options"), "DENY", path);
    assert.equal(headers.get("access-control-allow-origin"), null, path);
  }
});

test("[AP10] [AP11] [AP12] a page elsewhere reads nothing and drives nothing", async () => {
  const host = `127.0.0.1:${plain.api.port}`;
  const targets = [
    ["GET", "/api/v1/live"],
    ["GET", "/api/v1/watch?table=workers"],
    ["GET", "/api/v1/status"],
    ["GET", "/metrics"],
    ["GET", "/"],
    ["POST", "/api/v1/workers/worker-1/drain"],
    ["OPTIONS", "/api/v1/sql"],
  ] as const;
  const before = plain.cluster.calls.length;
  for (const [method, path] of targets) {
    for (const headers of [
      { host: "evil.example" },
      { host, origin: "https://evil.example" },
      { host, origin: "null" },
      { host, "sec-fetch-site": "cross-site" },
    ]) {
      const status = await rawCall(plain.api, path, headers, method);
      assert.equal(status, 403, `${method} ${path} ${JSON.stringify(headers)}`);
    }
  }
  assert.equal(plain.cluster.calls.length, before);
  assert.equal(await rawCall(plain.api, "/api/v1/status", { host, origin: `http://${host}` }), 200);
});

test("[AP10] a target that is a whole address names the same server as Host", async () => {
  const host = `127.0.0.1:${plain.api.port}`;
  for (const [target, status] of [
    ["http://evil.example/api/v1/status", 400],
    ["https://evil.example", 400],
    [`http://evil.example@${host}/api/v1/status`, 400],
    [`http://${host}/api/v1/status`, 200],
  ] as const) {
    const request = httpRequest({ host: "127.0.0.1", port: plain.api.port, path: target });
    request.setHeader("host", host);
    request.end();
    const [response] = await once(request, "response");
    response.resume();
    assert.equal(response.statusCode, status, target);
  }
});

test("[AP12] a link to the dashboard from another site may be followed", async () => {
  const host = `127.0.0.1:${plain.api.port}`;
  const headers = { host, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  assert.equal(await rawCall(plain.api, "/", headers), 200);
});

test("[AP12] a link from another site, or from another port of this machine, runs nothing", async () => {
  const host = `127.0.0.1:${plain.api.port}`;
  const before = plain.cluster.calls.length;
  const { paths } = JSON.parse((await call(plain.api, "/openapi.json")).text) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const gets = Object.keys(paths).filter((path) => paths[path]?.get !== undefined);
  assert.ok(gets.length > 30, `${gets.length} routes`);
  for (const site of ["cross-site", "same-site"]) {
    for (const path of [...gets, "/metrics", "/api/v1/query?query=up"]) {
      const headers = { host, "sec-fetch-site": site, "sec-fetch-mode": "navigate" };
      const status = await rawCall(plain.api, path.replaceAll(/\{[^}]*\}/g, "x"), headers);
      assert.equal(status, 403, path);
    }
  }
  assert.equal(plain.cluster.calls.length, before);
  const typed = { host, "sec-fetch-site": "none", "sec-fetch-mode": "navigate" };
  assert.equal(await rawCall(plain.api, "/api/v1/status", typed), 200);
});

test("[AP39] idle sockets, half heads and slow bodies keep nobody out; where all are busy, health is answered", async (t) => {
  const limits = { ...usualLimits, connections: 64, connections_per_client: 40 };
  const { api } = await start({ ...apiConfig(), limits });
  const host = `Host: 127.0.0.1:${api.port}\r\n`;
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const open = async (count: number, text: string): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      const socket = connect(api.port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.resume();
      await once(socket, "connect");
      socket.write(text);
      sockets.push(socket);
    }
  };
  await open(200, "");
  await open(200, `GET /healthz HTTP/1.1\r\n${host}`);
  const slow = "content-type: application/json\r\ncontent-length: 60000\r\n\r\n{";
  assert.equal((await call(api, "/api/v1/status")).status, 200);
  await open(200, `POST /api/v1/sql HTTP/1.1\r\n${host}${slow}`);
  // A connection without a request is closed to make room, so this repeats until all have one under
  // way. All are opened at once, and send enough not to count as stalled for 3 s (CG6): a busy
  // machine takes long to open the last one.
  const sent = " ".repeat(3_000);
  const status = (): Promise<number> => rawCall(api, "/api/v1/status", { connection: "close" });
  await eventually("all places are busy", async () => {
    const body = `POST /api/v1/sql HTTP/1.1\r\n${host}${slow}${sent}`;
    await Promise.all(Array.from({ length: 40 }, () => open(1, body)));
    // Requests are read after their connections are accepted.
    await new Promise((resolve) => setTimeout(resolve, 10));
    const answered = await status();
    assert.ok([200, 429].includes(answered), `${answered}`);
    return answered === 429 ? true : undefined;
  });
  for (const path of ["/healthz", "/readyz?x=1"]) {
    assert.equal(await rawCall(api, path, { connection: "close" }), 200, path);
  }
  // Slow bodies are cut soon, which makes room.
  await eventually("there is room", async () => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const answered = await status();
    assert.ok([200, 429].includes(answered), `${answered}`);
    return answered === 200 ? true : undefined;
  });
});

test("[AP39] requests that are sent at once wait for each other, and are dropped with their connection", async () => {
  let asked = 0;
  const held: (() => void)[] = [];
  const metrics = async () => {
    asked += 1;
    await new Promise<void>((resolve) => held.push(resolve));
    return { contentType: "text/plain", text: "" };
  };
  const { api } = await start(apiConfig(), new FakeCluster(), { metrics });
  const sockets = Array.from({ length: 10 }, () => connect(api.port, "127.0.0.1"));
  for (const socket of sockets) {
    socket.write(`GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:${api.port}\r\n\r\n`.repeat(50));
  }
  while (asked < 10) await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await call(api, "/healthz")).status, 200);
  assert.equal(asked, 10);
  for (const socket of sockets) socket.destroy();
  // After the server has seen the close, the answers to the first requests have no receiver.
  await Promise.all(sockets.map(async (socket) => socket.closed || (await once(socket, "close"))));
  assert.equal((await call(api, "/healthz")).status, 200);
  for (const answer of held) answer();
  assert.equal((await call(api, "/healthz")).status, 200);
  assert.equal(asked, 10);
});

test("[AP10] two Host headers are refused, whichever of them is ours", async () => {
  const ours = `127.0.0.1:${plain.api.port}`;
  for (const hosts of [
    [ours, "evil.example"],
    ["evil.example", ours],
    [ours, ours],
    [`${ours}, evil.example`],
    [],
  ]) {
    for (const path of ["/api/v1/status", "/healthz", "/"]) {
      const lines = hosts.map((host) => `Host: ${host}\r\n`).join("");
      const socket = connect(plain.api.port, "127.0.0.1");
      socket.end(`GET ${path} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`);
      const pieces: Buffer[] = [];
      for await (const piece of socket) pieces.push(piece as Buffer);
      assert.match(String(Buffer.concat(pieces)), /^HTTP\/1\.1 40[03] /, `${hosts} ${path}`);
    }
  }
});

test("[AP10] an allowed origin gets in", async () => {
  const config = apiConfig();
  const origins = ["https://grafana.example.com"];
  const guard = new RequestGuard({ bindHost: "127.0.0.1", hosts: ["capstan.internal"], origins });
  const { api } = await start({ ...config, access: { ...config.access, guard } });
  const headers = { host: "capstan.internal:80", origin: "https://grafana.example.com" };
  assert.equal(await rawCall(api, "/api/v1/status", headers), 200);
});

test("[AP14] a standby says who leads", async () => {
  const { api, cluster } = await start(apiConfig());
  cluster.leading = false;
  const { status, text } = await call(api, "/api/v1/workers/worker-1/drain", { method: "POST" });
  assert.equal(status, 503);
  assert.deepEqual(problem(text), {
    code: "not_leader",
    message: "this coordinator stands by",
    hint: "Ask http://10.0.0.1:4600.",
  });
});

test("[AP17] lists come in pages that miss nothing", async () => {
  const names = Array.from({ length: 25 }, (_, index) => `w-${String(index).padStart(2, "0")}`);
  const { api } = await start(apiConfig(), new FakeCluster(names));
  const seen: string[] = [];
  let token: string | null = "";
  while (token !== null) {
    const page = JSON.parse((await call(api, `/api/v1/workers?limit=10&page_token=${token}`)).text);
    seen.push(...page.items.map((item: { worker_id: string }) => item.worker_id));
    token = page.next_page_token;
  }
  assert.deepEqual(seen, names);
});

test("[AP16] rows stream, with the query's id in a header", async () => {
  const { api, cluster } = await start(apiConfig());
  cluster.sql = async (sql, { queryId }) => ({
    stream: (async function* () {
      yield Buffer.from(`{"query_id":"${queryId}","columns":[]}\n`);
      yield Buffer.from(`["${sql}"]\n`);
    })(),
  });
  const answered = await call(api, "/api/v1/sql", { method: "POST", body: { sql: "SELECT 1" } });
  assert.equal(answered.status, 200);
  const queryId = answered.headers.get("x-capstan-query-id");
  assert.equal(answered.headers.get("content-type"), "application/x-ndjson");
  assert.equal(answered.text, `{"query_id":"${queryId}","columns":[]}\n["SELECT 1"]\n`);
});

test("[AP47] no path of this server's own files is in an answer", async () => {
  const { api, cluster } = await start(apiConfig());
  for (const code of ["store_busy", "store_unavailable", "store_corrupt", "disk_full"] as const) {
    cluster.sql = () => {
      throw new OperatingError(code, "never", "the store /srv/capstan/store.sqlite is away");
    };
    const { text } = await call(api, "/api/v1/sql", { method: "POST", body: { sql: "SELECT 1" } });
    assert.equal(problem(text).message, "the store store.sqlite is away", code);
  }
});

test("[OB14] a query that fails before its first byte has its id in the answer and in the log", async () => {
  const { api, cluster } = await start(apiConfig());
  const asked: unknown[] = [];
  cluster.sql = (_sql, { queryId }) => {
    asked.push(queryId);
    throw new OperatingError("store_unavailable", "backoff", "the store does not answer");
  };
  const failed = await call(api, "/api/v1/sql", { method: "POST", body: { sql: "SELECT 1" } });
  assert.equal(failed.status, 503);
  const queryId = failed.headers.get("x-capstan-query-id");
  assert.deepEqual(asked, [queryId]);
  for (const message of ["request failed", "answered"]) {
    // The line is logged after the answer is sent.
    const found = await eventually(message, () =>
      cluster.lines.find((line) => line.message === message),
    );
    assert.equal(found.fields.query_id, queryId, message);
  }
});

test("[AP16] an error before the first byte has its status", async () => {
  const { status, text } = await call(plain.api, "/api/v1/sql", {
    method: "POST",
    body: { sql: "x" },
  });
  assert.equal(status, 400);
  assert.deepEqual(problem(text), { code: "bad_sql", message: "no statement", hint: "Write one." });
});

test("[AP16] a client that leaves cancels its query, before the first row and after it", async () => {
  for (const rowsFirst of [false, true]) {
    const { api, cluster } = await start(apiConfig());
    const cancelled = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    cluster.sql = async (_sql, _options, signal) => {
      signal.addEventListener("abort", () => cancelled.resolve());
      started.resolve();
      if (!rowsFirst) await new Promise(() => undefined);
      return {
        stream: (async function* () {
          yield Buffer.from("[1]\n");
          await new Promise(() => undefined);
        })(),
      };
    };
    const leave = new AbortController();
    const asked = fetch(`${api.url}/api/v1/sql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ sql: "SELECT 1" }),
      signal: leave.signal,
    });
    asked.catch(() => undefined);
    await started.promise;
    if (rowsFirst) await (await asked).body?.getReader().read();
    leave.abort();
    await cancelled.promise;
  }
});

test("[AP16] a reader that pauses stops the rows, and memory stays bounded", async () => {
  const { api, cluster } = await start(apiConfig());
  let produced = 0;
  const row = Buffer.alloc(64 * 1024, 32);
  cluster.sql = async () => ({
    stream: (async function* () {
      while (produced < 2_000) {
        produced += 1;
        yield row;
      }
    })(),
  });
  const request = httpRequest(`${api.url}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  request.end(JSON.stringify({ sql: "SELECT 1" }));
  const [response] = await once(request, "response");
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.ok(produced < 400, `${produced} chunks were made for a reader that read none`);
  let bytes = 0;
  for await (const chunk of response) bytes += chunk.length;
  assert.equal(bytes, 2_000 * row.length);
});

test("[AP18] a process that stops refuses requests and ends streams", async () => {
  const { api } = await start(apiConfig());
  const live = await fetch(`${api.url}/api/v1/live`);
  const ended = live.text();
  api.drain();
  assert.match(await ended, /^: capstan\n\nevent: live\n/);
  const { status, text } = await call(api, "/api/v1/status");
  assert.equal(status, 503);
  assert.equal(problem(text).code, "shutting_down");
  assert.equal((await call(api, "/healthz")).status, 200);
});

test("[AP19] without a built dashboard the page says what to do", async () => {
  const { status, text } = await call(plain.api, "/", { headers: { accept: "text/html" } });
  assert.equal(status, 200);
  assert.match(text, /not built/);
});

test("[AP20] OpenAPI describes every route of the API", async () => {
  const { text } = await call(plain.api, "/openapi.json");
  const { openapi, paths, components } = JSON.parse(text);
  assert.equal(openapi, "3.1.0");
  for (const [, name = ""] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    assert.ok(name in components.schemas, name);
  }
  assert.deepEqual(
    Object.keys(paths).sort((a, b) => a.localeCompare(b)),
    [
      "/api/runs",
      "/api/runs/{id}/metrics/live",
      "/api/runs/{id}/start",
      "/api/runs/{id}/stop",
      "/api/templates",
      "/api/templates/{id}",
      "/api/templates/{id}/copy",
      "/api/templates/{id}/export",
      "/api/templates/import",
      "/api/templates/validate",
      "/api/tests",
      "/api/tests/{id}",
      "/api/tests/{id}/enrichment-status",
      "/api/tests/{id}/error-summary",
      "/api/tests/{id}/final-figures",
      "/api/tests/{id}/find-max-steps",
      "/api/tests/{id}/views",
      "/api/tests/{id}/logs",
      "/api/tests/{id}/metrics",
      "/api/tests/{id}/query-executions",
      "/api/tests/{id}/report.hgrm",
      "/api/tests/{id}/report.html",
      "/api/tests/{id}/report.json",
      "/api/tests/{id}/report.xml",
      "/api/tests/{id}/rerun",
      "/api/tests/{id}/retry-enrichment",
      "/api/tests/{id}/start",
      "/api/tests/{id}/stop",
      "/api/tests/{id}/worker-metrics",
      "/api/tests/compare",
      "/api/tests/from-template/{id}",
      "/api/v1/alertmanagers",
      "/api/v1/alerts",
      "/api/v1/attention",
      "/api/v1/dynamic-tables",
      "/api/v1/dynamic-tables/{name}",
      "/api/v1/dynamic-tables/{name}/history",
      "/api/v1/dynamic-tables/{name}/lag",
      "/api/v1/dynamic-tables/{name}/refresh",
      "/api/v1/dynamic-tables/{name}/resume",
      "/api/v1/dynamic-tables/{name}/suspend",
      "/api/v1/format_query",
      "/api/v1/imports",
      "/api/v1/imports/{id}",
      "/api/v1/imports/{id}/chunks",
      "/api/v1/imports/{id}/commit",
      "/api/v1/label/{name}/values",
      "/api/v1/labels",
      "/api/v1/live",
      "/api/v1/metadata",
      "/api/v1/monitor/queue",
      "/api/v1/monitor/refresh",
      "/api/v1/monitor/streams",
      "/api/v1/parse_query",
      "/api/v1/queries",
      "/api/v1/queries/{id}",
      "/api/v1/query",
      "/api/v1/query_exemplars",
      "/api/v1/query_explain",
      "/api/v1/query_range",
      "/api/v1/query_stream",
      "/api/v1/rules",
      "/api/v1/scrape_pools",
      "/api/v1/series",
      "/api/v1/sql",
      "/api/v1/status",
      "/api/v1/status/buildinfo",
      "/api/v1/status/config",
      "/api/v1/status/flags",
      "/api/v1/status/runtimeinfo",
      "/api/v1/status/tsdb",
      "/api/v1/streams/bundles",
      "/api/v1/streams/checkpoints",
      "/api/v1/streams/queries/{name}/checkpoints",
      "/api/v1/streams/queries/{name}/checkpoints/{checkpoint}",
      "/api/v1/streams/live",
      "/api/v1/streams/physical-sources",
      "/api/v1/streams/physical-sources/{name}",
      "/api/v1/streams/queries",
      "/api/v1/streams/queries/{name}",
      "/api/v1/streams/queries/{name}/live",
      "/api/v1/streams/queries/{name}/pause",
      "/api/v1/streams/queries/{name}/resume",
      "/api/v1/streams/sinks",
      "/api/v1/streams/sinks/{name}",
      "/api/v1/streams/snapshot",
      "/api/v1/streams/sources",
      "/api/v1/streams/sources/{name}",
      "/api/v1/streams/views",
      "/api/v1/streams/views/{name}",
      "/api/v1/streams/workers",
      "/api/v1/streams/workers/{name}",
      "/api/v1/tables",
      "/api/v1/tables/{name}",
      "/api/v1/tables/{name}/rows",
      "/api/v1/targets",
      "/api/v1/uploads",
      "/api/v1/uploads/{id}",
      "/api/v1/uploads/{id}/chunks",
      "/api/v1/watch",
      "/api/v1/workers",
      "/api/v1/workers/{id}",
      "/api/v1/workers/{id}/drain",
      "/api/v1/workers/{id}/undrain",
      "/api/v1/write",
      "/healthz",
      "/metrics",
      "/readyz",
    ].sort((a, b) => a.localeCompare(b)),
  );
  assert.ok(
    paths["/api/v1/sql"].post.requestBody.content["application/json"].schema.properties.sql,
  );
});

test("[AP21] a port in use is named, with the flag that changes it", async () => {
  await assert.rejects(
    start({ ...apiConfig(), port: plain.api.port }),
    (thrown: Error & { code?: string; hint?: string }) => {
      assert.equal(thrown.code, "port_in_use");
      assert.ok(thrown.message.includes(String(plain.api.port)));
      assert.ok(thrown.hint?.includes("--port"));
      return true;
    },
  );
});

test("[AP13] no token reaches the log", async () => {
  const { api, cluster } = await start(apiConfig(bothTokens));
  cluster.status = async () => {
    throw new Error("boom");
  };
  await call(api, `/api/v1/status?token=${operateToken}`, { headers: bearer(operateToken) });
  await call(api, "/api/v1/workers", { method: "POST", body: {}, headers: bearer(clusterToken) });
  const text = JSON.stringify(cluster.lines);
  assert.ok(cluster.lines.length > 0);
  for (const token of [operateToken, clusterToken]) assert.ok(!text.includes(token), text);
});
