import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { Clock } from "../ground/kernel/clock.ts";
import { OperatingError } from "../ground/kernel/errors.ts";
import { realClock } from "../ground/kernel/node/real-clock.ts";
import { Metrics } from "../ground/observe/index.ts";
import { startMonitor } from "./monitor-server.ts";
import { registerOnce } from "./register-client.ts";
import { Registration } from "./registration.ts";

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function coordinator(
  status: number,
  body: unknown,
): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const config = { clusterToken: "secret", clock: realClock, timeoutMs: 60_000 };

test("[PR6] a worker follows a standby's word to the coordinator that leads", async () => {
  const leader = await coordinator(200, {});
  const standby = await coordinator(503, {
    code: "not_leader",
    message: "m",
    hint: `Ask ${leader.url}`,
  });
  await registerOnce({ ...config, urls: [standby.url] }, {});
  assert.deepEqual(leader.asked, ["POST /api/v1/workers Bearer secret"]);
});

test("[PR6] a coordinator that does not answer is passed over", async () => {
  const leader = await coordinator(200, {});
  await registerOnce({ ...config, urls: ["http://127.0.0.1:1", leader.url] }, {});
  assert.equal(leader.asked.length, 1);
});

test("[PR6] a refusal is thrown as it was said", async () => {
  const taken = await coordinator(409, {
    code: "worker_name_taken",
    message: "the name is taken",
    hint: "h",
  });
  await assert.rejects(registerOnce({ ...config, urls: [taken.url] }, {}), {
    code: "worker_name_taken",
    message: "the name is taken",
    hint: "h",
  });
  await assert.rejects(registerOnce({ ...config, urls: ["http://127.0.0.1:1"] }, {}), {
    code: "worker_unreachable",
  });
});

test("[PR7] a wrong token ends the worker at once, a taken name after a while, an absent coordinator never", async () => {
  let nowMs = 0;
  const clock: Clock = { ...realClock, nowMs: () => nowMs };
  const outcomes: string[] = [];
  let code: OperatingError["code"] = "worker_unreachable";
  const registration = new Registration(
    clock,
    async () => {
      throw new OperatingError(code, "never", "no");
    },
    (hopeless) => outcomes.push(hopeless.code),
  );
  const attempt = async (): Promise<void> => {
    await assert.rejects(registration.attempt(), { code });
  };
  for (nowMs = 0; nowMs < 600_000; nowMs += 5_000) await attempt();
  assert.deepEqual(outcomes, []);
  code = "worker_name_taken";
  await attempt();
  nowMs += 5_999;
  await attempt();
  assert.deepEqual(outcomes, []);
  nowMs += 1;
  await attempt();
  assert.deepEqual(outcomes, ["worker_name_taken"]);
  code = "unauthenticated";
  await attempt();
  assert.deepEqual(outcomes, ["worker_name_taken", "unauthenticated"]);
});

test("[PR8] a worker's monitor has Prometheus's paths, and compresses its metrics for whoever takes it", async (t) => {
  const monitor = await startMonitor({
    host: "127.0.0.1",
    port: 0,
    hosts: [],
    metrics: new Metrics({ process: "worker", version: "1" }),
    ready: () => ({ ready: false, reason: "not yet", parts: [] }),
    mayRead: () => false,
  });
  t.after(() => monitor.close());
  const ask = (path: string, method = "GET", encoding = "gzip"): Promise<Response> =>
    fetch(`http://127.0.0.1:${monitor.port}${path}`, {
      method,
      // Whoever asks from this machine itself gets no gzip.
      headers: { "accept-encoding": encoding, "x-forwarded-for": "192.0.2.7" },
    });
  const healthy = await ask("/-/healthy");
  assert.deepEqual([healthy.status, await healthy.text()], [200, "Capstan is healthy.\n"]);
  const ready = await ask("/-/ready");
  assert.deepEqual([ready.status, await ready.text()], [503, "Capstan is not ready.\n"]);
  assert.equal((await ask("/-/healthy", "HEAD")).status, 200);
  const small = await ask("/metrics");
  assert.equal(small.headers.get("content-encoding"), "gzip");
  assert.match(await small.text(), /capstan_build_info/);
  const plain = await ask("/metrics", "GET", "identity");
  assert.equal(plain.headers.get("content-encoding"), null);
  assert.match(await plain.text(), /capstan_build_info/);
});

test("[PR8] a worker's monitor answers this machine, and asks others for a token", async () => {
  const metrics = new Metrics({ process: "worker", version: "1" });
  const base = {
    port: 0,
    hosts: [],
    metrics,
    ready: () => ({ ready: false, reason: "not yet", parts: [] }),
    mayRead: (token: string) => token === "good",
  };
  const local = await startMonitor({ ...base, host: "127.0.0.1" });
  const wide = await startMonitor({ ...base, host: "0.0.0.0" });
  const get = async (port: number, path: string, headers: Record<string, string> = {}) => {
    const request = httpRequest({ port, path, host: "127.0.0.1", headers });
    request.end();
    const [response] = await once(request, "response");
    response.resume();
    return response.statusCode;
  };
  assert.equal(await get(local.port, "/healthz"), 200);
  assert.equal(await get(local.port, "/readyz"), 503);
  assert.equal(await get(local.port, "/metrics"), 200);
  assert.equal(await get(local.port, "/nothing"), 404);
  assert.equal(await get(local.port, "/metrics", { host: "evil.example" }), 403);
  assert.equal(await get(local.port, "/metrics", { origin: "https://evil.example" }), 403);
  assert.equal(await get(wide.port, "/healthz"), 200);
  assert.equal(await get(wide.port, "/metrics"), 401);
  assert.equal(await get(wide.port, "/metrics", { authorization: "Bearer bad" }), 401);
  assert.equal(await get(wide.port, "/metrics", { authorization: "Bearer good" }), 200);
  await Promise.all([local.close(), wide.close()]);
});
