import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { until } from "../../ground/kernel/testing/eventually.ts";
import { unescapeName } from "../../kinds/ask/http/unescape-name.ts";
import { PromqlError } from "../../kinds/ask/promql/core/index.ts";
import { type Api, startApi } from "./server.ts";
import {
  apiConfig,
  bothTokens,
  FakeCluster,
  operateToken,
  readToken,
} from "./testing/fake-ports.ts";

const cluster = new FakeCluster();
const api: Api = await startApi(apiConfig(), cluster.ports());
const guardedCluster = new FakeCluster();
const guarded: Api = await startApi(apiConfig(bothTokens), guardedCluster.ports());
after(async () => {
  for (const each of [api, guarded]) {
    each.drain();
    each.force();
    await each.close();
  }
});

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: {
    readonly status?: string;
    readonly data?: unknown;
    readonly errorType?: string;
    readonly error?: string;
    readonly warnings?: readonly string[];
  };
  readonly headers: Headers;
}

async function call(path: string, init: RequestInit = {}, server: Api = api): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, init);
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return {
    status: response.status,
    text,
    json: isJson ? JSON.parse(text) : {},
    headers: response.headers,
  };
}

const form = (fields: Record<string, string>): RequestInit => ({
  method: "POST",
  body: new URLSearchParams(fields),
});

const query = encodeURIComponent('sum(rate(x{a="b"}[5m]))');
const asked: readonly { name: string; path: string; init?: RequestInit; at: unknown }[] = [
  {
    name: "seconds",
    path: `/api/v1/query?query=${query}&time=1700000000.5`,
    at: { timeMs: 1_700_000_000_500 },
  },
  {
    name: "RFC 3339",
    path: `/api/v1/query?query=${query}&time=2023-11-14T22:13:20.25Z`,
    at: { timeMs: 1_700_000_000_250 },
  },
  {
    name: "a form",
    path: "/api/v1/query",
    init: form({ query: 'sum(rate(x{a="b"}[5m]))', time: "5" }),
    at: { timeMs: 5_000 },
  },
  {
    name: "a form whose value beats the address",
    path: "/api/v1/query?time=7",
    init: form({ query: 'sum(rate(x{a="b"}[5m]))', time: "5" }),
    at: { timeMs: 5_000 },
  },
  {
    name: "a range with a step in seconds",
    path: `/api/v1/query_range?query=${query}&start=0&end=60&step=0.5`,
    at: { startMs: 0, endMs: 60_000, stepMs: 500 },
  },
  {
    name: "a range with a step as a duration",
    path: "/api/v1/query_range",
    init: form({ query: 'sum(rate(x{a="b"}[5m]))', start: "0", end: "3600", step: "1m30s" }),
    at: { startMs: 0, endMs: 3_600_000, stepMs: 90_000 },
  },
  {
    name: "a time between two milliseconds",
    path: `/api/v1/query?query=${query}&time=1794795825.0005`,
    at: { timeMs: 1_794_795_825_000 },
  },
  {
    name: "a time before 1970",
    path: `/api/v1/query?query=${query}&time=-1.5`,
    at: { timeMs: -1_500 },
  },
  {
    name: "the last time that there is, instead of a later one",
    path: `/api/v1/query?query=${query}&time=9223309901257974`,
    at: { timeMs: 8_640_000_000_000_000 },
  },
];
for (const { name, path, init, at } of asked) {
  test(`[AP23] a query is taken as Prometheus takes it: ${name}`, async () => {
    const { status, json, headers } = await call(path, init);
    assert.equal(status, 200);
    assert.equal(json.status, "success");
    assert.equal(headers.get("content-type"), "application/json");
    const request = cluster.promql.asked.at(-1);
    assert.match(headers.get("x-capstan-query-id") ?? "", /^q-/);
    assert.equal(headers.get("x-capstan-query-id"), request?.queryId);
    assert.equal(request?.query, 'sum(rate(x{a="b"}[5m]))');
    assert.deepEqual(request?.at, at);
  });
}

const refused: readonly { path: string; status?: number; type?: string; error: string }[] = [
  {
    path: "/api/v1/query?query=up&time=soon",
    error:
      'invalid parameter "time": invalid time value for \'time\': cannot parse "soon" to a valid timestamp',
  },
  {
    path: "/api/v1/query_range?query=up&end=1&step=1",
    error: 'invalid parameter "start": cannot parse "" to a valid timestamp',
  },
  {
    path: "/api/v1/query_range?query=up&start=2&end=1&step=1",
    error: 'invalid parameter "end": end timestamp must not be before start time',
  },
  {
    path: "/api/v1/query_range?query=up&start=1&end=2&step=0",
    error:
      'invalid parameter "step": zero or negative query resolution step widths are not accepted. Try a positive integer',
  },
  {
    path: "/api/v1/query_range?query=up&start=1&end=2&step=often",
    error: 'invalid parameter "step": cannot parse "often" to a valid duration',
  },
  {
    path: "/api/v1/query_range?query=up&start=0&end=11001&step=1",
    error:
      "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
  },
  {
    path: "/api/v1/query?query=up&limit=-1",
    error: 'invalid parameter "limit": limit must be non-negative',
  },
  {
    path: "/api/v1/query?query=up&limit=99999999999999999999",
    error:
      'invalid parameter "limit": strconv.Atoi: parsing "99999999999999999999": value out of range',
  },
  ...["2026-02-30T00:00:00Z", "2026-11-16T24:00:00Z", "2026-11-16T00:00:00z"].map((time) => ({
    path: `/api/v1/query?query=up&time=${time}`,
    error: `invalid parameter "time": invalid time value for 'time': cannot parse "${time}" to a valid timestamp`,
  })),
  {
    path: "/api/v1/query?query=up&lookback_delta=long",
    error: 'error parsing lookback delta duration: cannot parse "long" to a valid duration',
  },
  { path: "/api/v1/series", error: "no match[] parameter provided" },
  {
    path: `/api/v1/series?${"match[]=up{a=%22b%22}&".repeat(501)}`,
    error:
      'invalid parameter "match[]": there are too many matchers; the limit matchers_per_request is 1000',
  },
  {
    path: `/api/v1/labels?${"match[]=up&".repeat(1_001)}`,
    error: "there are too many matchers; the limit matchers_per_request is 1000",
  },
  ...["{}", "{job=~'.*'}", "{job=''}"].map((matchers) => ({
    path: `/api/v1/series?match[]=up&match[]=${encodeURIComponent(matchers)}`,
    error: 'invalid parameter "match[]": match[] must contain at least one non-empty matcher',
  })),
  {
    path: "/api/v1/labels?match[]={}",
    error: "match[] must contain at least one non-empty matcher",
  },
  {
    path: "/api/v1/label/job/values?match[]=up[5m]",
    error: '1:3: parse error: unexpected "["',
  },
  {
    path: "/api/v1/query_exemplars?query=1%2B",
    error: "1:3: parse error: unexpected end of input",
  },
  {
    path: "/api/v1/metadata?limit_per_metric=99999999999999999999",
    error: "limit_per_metric must be a number",
  },
  { path: "/api/v1/status/tsdb?limit=ten", error: "limit must be a positive number" },
  { path: "/api/v1/metadata?limit=x", error: "limit must be a number" },
  { path: "/api/v1/status/tsdb?limit=0", error: "limit must be a positive number" },
];
for (const { path, status = 400, type = "bad_data", error } of refused) {
  test(`[AP24] [AP40] refused in Prometheus's words: ${path}`, async () => {
    const { json, ...answer } = await call(path);
    assert.equal(answer.status, status);
    assert.deepEqual(json, { status: "error", errorType: type, error });
  });
}

for (const path of [
  "/api/v1/query?query=up&time=soon",
  "/api/v1/query_range?query=up&end=1&step=1",
  "/api/v1/query_stream?query=up&time=soon",
  "/api/v1/query_explain?query=up&time=soon",
  "/api/v1/query_explain?query=up",
  "/api/v1/series",
  "/api/v1/labels?start=soon",
  "/api/v1/label/job/values?start=soon",
  "/api/v1/status/tsdb?limit=0",
]) {
  test(`[OB14] a query has its id before its parameters are read: ${path}`, async () => {
    const { headers } = await call(path);
    assert.match(headers.get("x-capstan-query-id") ?? "", /^q-/);
  });
}

const failures: readonly { failure: Error; status: number; type: string; error: string }[] = [
  {
    failure: new PromqlError("parse", '1:1: parse error: unexpected "]"', { start: 0, end: 1 }),
    status: 400,
    type: "bad_data",
    error: 'invalid parameter "query": 1:1: parse error: unexpected "]"',
  },
  {
    failure: new PromqlError("execution", "many-to-many matching not allowed"),
    status: 422,
    type: "execution",
    error: "many-to-many matching not allowed",
  },
  {
    failure: new OperatingError("deadline_exceeded", "never", "query timed out in query queue"),
    status: 503,
    type: "timeout",
    error: "query timed out in query queue",
  },
  {
    failure: new OperatingError("cancelled", "never", "gone"),
    status: 499,
    type: "canceled",
    error: "query was canceled in expression evaluation",
  },
  {
    failure: new OperatingError("overloaded", "backoff", "20 queries run and 100 wait"),
    status: 429,
    type: "unavailable",
    error: "20 queries run and 100 wait",
  },
  {
    failure: new OperatingError("not_leader", "backoff", "another leads"),
    status: 503,
    type: "unavailable",
    error: "another leads",
  },
];
for (const { failure, status, type, error } of failures) {
  test(`[AP23] a query that fails with ${status} ${type}`, async () => {
    cluster.promql.failure = failure;
    const { json, ...answer } = await call("/api/v1/query?query=up");
    assert.equal(answer.status, status);
    assert.deepEqual(json, { status: "error", errorType: type, error });
  });
}

test("[AP23] a body that is no form is refused as such", async () => {
  const headers = { "content-type": "text/plain" };
  const { status, json } = await call("/api/v1/query", { method: "POST", body: "up", headers });
  assert.equal(status, 415);
  assert.equal(json.error, "the request's body must be a form");
});

test("[AP25] a label's name may be long", async () => {
  const { status, json } = await call(`/api/v1/label/${"l".repeat(2_000)}/values`);
  assert.equal(status, 200);
  assert.equal(json.status, "success");
});

test("[AP2] [AP23] a bug of ours says no more than where to look", async () => {
  cluster.promql.failure = new Error("secret detail");
  const { status, json } = await call("/api/v1/query?query=up");
  assert.equal(status, 500);
  assert.equal(json.errorType, "internal");
  assert.doesNotMatch(json.error ?? "", /secret/);
});

test("[AP23] what Grafana asks of a data source is answered", async () => {
  const health = await call("/api/v1/query", form({ query: "1+1", time: "4" }));
  assert.equal(health.json.status, "success");
  const build = await call("/api/v1/status/buildinfo");
  assert.match((build.json.data as { version: string }).version, /^3\.\d+\.\d+$/);
  const labels = await call("/api/v1/labels?start=1&end=2&limit=40000");
  assert.deepEqual(labels.json, { status: "success", data: ["__name__", "job"] });
  const series = await call(
    `/api/v1/series?match[]=${encodeURIComponent('{"my.metric", "http.status"=~"2.."}')}&limit=1&start=1&end=2`,
  );
  assert.deepEqual(series.json.warnings, ["results truncated due to limit"]);
  assert.deepEqual(cluster.promql.askedSeries.at(-1)?.matcherSets, [
    [
      { name: "__name__", op: "=", value: "my.metric" },
      { name: "http.status", op: "=~", value: "2.." },
    ],
  ]);
  for (const path of [
    "rules",
    "alerts",
    "targets",
    "metadata",
    "status/flags",
    "query_exemplars?query=up",
  ]) {
    const { status, json } = await call(`/api/v1/${path}`);
    assert.equal(status, 200, path);
    assert.equal(json.status, "success", path);
  }
});

test("[AP25] values of a label with a name in full UTF-8", async () => {
  const { json } = await call("/api/v1/label/U__http_2e_status_20_c_f6_de/values");
  assert.deepEqual(json.data, ["value of http.status cöde"]);
  const plain = await call("/api/v1/label/job/values?match[]=up");
  assert.deepEqual(plain.json.data, ["value of job"]);
});

for (const [escaped, name] of [
  ["job", "job"],
  ["U__a_2e_b", "a.b"],
  ["U__a__b", "a_b"],
  ["U___1f525_", "🔥"],
  ["U__a_zz_", "U__a_zz_"],
  ["U__a_d800_", "U__a_d800_"],
  ["U__a_2e", "U__a_2e"],
] as const) {
  test(`[AP25] ${escaped} is ${name}`, () => assert.equal(unescapeName(escaped), name));
}

test("[AP23] metadata by metric, within its limits", async () => {
  const entry = (metric: string, help: string) => ({
    metric,
    type: "counter" as const,
    help,
    unit: "",
  });
  cluster.ingest.kept = [entry("a", "1"), entry("a", "2"), entry("b", "3")];
  const all = await call("/api/v1/metadata");
  assert.deepEqual(all.json.data, {
    a: [
      { type: "counter", help: "1", unit: "" },
      { type: "counter", help: "2", unit: "" },
    ],
    b: [{ type: "counter", help: "3", unit: "" }],
  });
  const few = await call("/api/v1/metadata?limit=1&limit_per_metric=1");
  assert.deepEqual(few.json.data, { a: [{ type: "counter", help: "1", unit: "" }] });
});

test("[AP23] targets as Prometheus lists them", async () => {
  cluster.ingest.targetList = [
    {
      pool: "node",
      url: "http://a:9100/metrics",
      discoveredLabels: { __address__: "a:9100" },
      labels: { job: "node", instance: "a:9100" },
      health: "up",
      lastError: "",
      lastScrapeMs: 1_700_000_000_000,
      lastDurationMs: 12,
      intervalMs: 15_000,
      timeoutMs: 10_000,
    },
  ];
  const { json } = await call("/api/v1/targets?state=active");
  const { activeTargets } = json.data as { activeTargets: Record<string, unknown>[] };
  assert.equal(activeTargets[0]?.lastScrape, "2023-11-14T22:13:20.000Z");
  assert.equal(activeTargets[0]?.scrapeInterval, "15s");
  assert.equal(activeTargets[0]?.lastScrapeDuration, 0.012);
});

test("[AP29] a client that takes nothing of its answer is dropped", async () => {
  const slow = new FakeCluster();
  slow.promql.answer = Buffer.alloc(64 * 1024 ** 2, " ");
  const sseTiming = { keepAliveMs: 1_000, stallMsMax: 200 };
  const server = await startApi({ ...apiConfig(), sseTiming }, slow.ports());
  const socket = connect(server.port, "127.0.0.1");
  try {
    socket.write(`GET /api/v1/query?query=up HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`);
    await once(socket, "readable"); // It stops reading after the first bytes.
    await setTimeout(1_000);
    socket.removeAllListeners("readable").resume(); // Reads what the kernel has buffered.
    await once(socket, "close", { signal: AbortSignal.timeout(60_000) });
    assert.ok(socket.bytesRead < slow.promql.answer.length);
  } finally {
    socket.destroy();
    server.drain();
    server.force();
    await server.close();
  }
});

test("[AP26] results stream as events; the last is done", async () => {
  cluster.promql.events = async function* () {
    yield { event: "result", json: '{"resultType":"matrix","result":[]}' };
    yield { event: "done" };
  };
  const { status, text } = await call("/api/v1/query_stream?query=up&start=0&end=60&step=15");
  assert.equal(status, 200);
  assert.match(
    text,
    /event: result\ndata: \{"resultType":"matrix","result":\[\]\}\n\nevent: done\n/,
  );
});

test("[AP26] an error in the middle is an event; one before the first result has its status", async () => {
  cluster.promql.events = async function* () {
    yield { event: "result", json: "{}" };
    throw new PromqlError("execution", "too many samples");
  };
  const { text } = await call("/api/v1/query_stream?query=up");
  assert.match(
    text,
    /event: error\ndata: \{"errorType":"execution","error":"too many samples"\}\n/,
  );
  assert.doesNotMatch(text, /event: done/);
  cluster.promql.failure = new PromqlError(
    "parse",
    "1:1: parse error: no expression found in input",
  );
  assert.equal((await call("/api/v1/query_stream?query=")).status, 400);
});

test("[AP26] a client that goes away aborts its query", async () => {
  const aborted = Promise.withResolvers<void>();
  cluster.promql.events = async function* (signal) {
    signal.addEventListener("abort", () => aborted.resolve());
    yield { event: "result", json: "{}" };
    await aborted.promise;
  };
  const gone = new AbortController();
  const response = await fetch(`${api.url}/api/v1/query_stream?query=up`, { signal: gone.signal });
  await response.body?.getReader().read();
  gone.abort();
  await aborted.promise;
});

test("[AP27] remote write is passed on as it came, and says what was written", async () => {
  const headers = {
    "content-type": "application/x-protobuf;proto=io.prometheus.write.v2.Request",
    "content-encoding": "snappy",
  };
  const init = { method: "POST", headers, body: new Uint8Array([1, 2, 3]) };
  const answer = await call("/api/v1/write", init);
  assert.equal(answer.status, 204);
  assert.equal(answer.headers.get("x-prometheus-remote-write-samples-written"), "3");
  assert.equal(answer.headers.get("x-prometheus-remote-write-histograms-written"), "1");
  const [taken] = cluster.ingest.bodies;
  assert.deepEqual([...(taken?.body ?? [])], [1, 2, 3]);
  assert.equal(taken?.contentEncoding, "snappy");
  cluster.ingest.result = {
    status: 503,
    message: "not now",
    samples: 0,
    histograms: 0,
    exemplars: 0,
  };
  const later = await call("/api/v1/write", init);
  assert.equal(later.status, 503);
  assert.equal(later.headers.get("retry-after"), "1");
});

test("[AP27] [AP6] writing needs the role operate, reading the role read", async () => {
  const as = (token: string | undefined): Record<string, string> =>
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  const write = async (token: string | undefined) => {
    const headers = { "content-type": "application/x-protobuf", ...as(token) };
    return (await call("/api/v1/write", { method: "POST", headers, body: "" }, guarded)).status;
  };
  assert.equal(await write(undefined), 401);
  assert.equal(await write(readToken), 403);
  assert.equal(await write(operateToken), 204);
  assert.equal((await call("/api/v1/query?query=up", {}, guarded)).status, 401);
  assert.equal(
    (await call("/api/v1/query?query=up", { headers: as(readToken) }, guarded)).status,
    200,
  );
});

test("[AP14] [AP27] a standby takes no samples", async () => {
  guardedCluster.leading = false;
  const headers = {
    "content-type": "application/x-protobuf",
    authorization: `Bearer ${operateToken}`,
  };
  const { status } = await call("/api/v1/write", { method: "POST", headers, body: "" }, guarded);
  assert.equal(status, 503);
  guardedCluster.leading = true;
});

async function openImport(): Promise<string> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ format: "openmetrics" });
  const { json } = await call("/api/v1/imports", { method: "POST", headers, body });
  return (json as { import_id: string }).import_id;
}

async function push(id: string, offset: number, text: string): Promise<Answer> {
  const headers = { "content-type": "application/octet-stream" };
  return await call(`/api/v1/imports/${id}/chunks?offset=${offset}`, {
    method: "POST",
    headers,
    body: text,
  });
}

async function commit(id: string): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  return await call(`/api/v1/imports/${id}/commit`, { method: "POST", headers, body: "{}" });
}

test("[AP28] chunks are taken once and in order, and the commit ends the import", async () => {
  const id = await openImport();
  assert.equal((await push(id, 0, "abc")).status, 200);
  assert.equal((await push(id, 0, "abc")).status, 200);
  assert.equal((await push(id, 5, "xyz")).status, 400);
  assert.equal((await push(id, 3, "def")).status, 200);
  const { status, json } = await commit(id);
  assert.equal(status, 200);
  assert.deepEqual(json, { bytes: 6, samples: 6, series: 1, skipped: 0, problems: [] });
  assert.equal(cluster.ingest.imported, "abcdef");
  assert.equal((await commit(id)).status, 404);
});

test("[AP28] a bad line is told to whoever sends it, or commits", async () => {
  const id = await openImport();
  const { status, text } = await push(id, 0, "bad");
  const told = status === 200 ? (await commit(id)).text : text;
  assert.match(told, /line 2: bad/);
  assert.equal((await push(id, 3, "more")).status, 404);
});

test("[AP28] an import that is given up leaves nothing", async () => {
  const id = await openImport();
  await push(id, 0, "abc");
  const before = cluster.ingest.imported;
  assert.equal((await call(`/api/v1/imports/${id}`, { method: "DELETE" })).status, 204);
  await until(() => cluster.ingest.aborted === 1);
  assert.equal(cluster.ingest.imported, before);
});

test("[AP28] four imports at a time", async () => {
  const ids = await Promise.all([1, 2, 3, 4].map(openImport));
  const headers = { "content-type": "application/json" };
  const fifth = await call("/api/v1/imports", { method: "POST", headers, body: "{}" });
  assert.equal(fifth.status, 429);
  for (const id of ids) await call(`/api/v1/imports/${id}`, { method: "DELETE" });
});
