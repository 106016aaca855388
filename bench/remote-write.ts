/**
 * A real Prometheus scrapes an exporter of ours and writes everything to Capstan while both are
 * asked the same range queries: the answers must agree to 1e-9. It takes the `prometheus` of the
 * PATH, or PROMETHEUS_BIN, and is skipped without.
 *
 * Prometheus 2 counts a sample on a window's left edge, Prometheus 3 and Capstan do not. So the
 * query's times are chosen such that no sample lies on an edge: a millisecond of the second at
 * which nothing was scraped.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Cluster, startCluster } from "../test/e2e/harness.ts";
import type { BenchOptions, Report } from "./report.ts";

const seriesCount = 400;
const relativeErrorMax = 1e-9;

const queries = [
  "load_requests_total",
  "sum by (path) (rate(load_requests_total[30s]))",
  "rate(load_requests_total[1m])",
  "increase(load_requests_total[20s])",
  "max_over_time(load_temperature[15s])",
  "avg by (zone) (avg_over_time(load_temperature[30s]))",
  "topk(3, sum by (path) (rate(load_requests_total[1m])))",
  "histogram_quantile(0.9, sum by (le) (rate(load_latency_seconds_bucket[1m])))",
  "quantile_over_time(0.5, load_temperature[30s])",
  "deriv(load_temperature[30s])",
  "max_over_time(sum(rate(load_requests_total[20s]))[30s:5s])",
  'count by (zone) (load_temperature{zone=~"b|c"} > 20)',
  "load_requests_total - load_requests_total offset 10s",
  "changes(load_temperature[30s])",
  "stddev by (zone) (load_temperature)",
] as const;

export async function benchRemoteWrite(options: BenchOptions, report: Report): Promise<void> {
  const binary = process.env.PROMETHEUS_BIN ?? "prometheus";
  const version = spawnSync(binary, ["--version"], { encoding: "utf8" });
  if (version.status !== 0) {
    report.say("remote-write: skipped: there is no prometheus (PATH, or PROMETHEUS_BIN)");
    return;
  }
  report.say(`${version.stdout}${version.stderr}`.split("\n")[0] ?? "");
  const dir = mkdtempSync(join(tmpdir(), "capstan-remote-write-"));
  const exporter = await startExporter();
  const cluster = await startCluster({ workers: 2 });
  const prometheus = await startPrometheus(binary, dir, portOf(exporter), cluster.url);
  try {
    const startedMs = Date.now();
    report.say(
      `${seriesCount} series and more are scraped once a second for ${options.busySeconds} s`,
    );
    const untilMs = startedMs + options.busySeconds * 1_000;
    const load = keepAsking(cluster, untilMs);
    await setTimeout(Math.max(0, untilMs - Date.now()));
    const asked = await load;
    await setTimeout(3_000); // What Prometheus still had to send is here.
    report.value("queries_answered_under_load", "queries", asked);
    await compareAll(prometheus.url, cluster.url, startedMs, untilMs, report);
  } finally {
    prometheus.process.kill("SIGTERM");
    exporter.close();
    await cluster.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Counters, gauges and a histogram that move with time; now and then a counter starts again. */
async function startExporter(): Promise<Server> {
  const startedMs = Date.now();
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/plain; version=0.0.4" });
    response.end(exposition((Date.now() - startedMs) / 1_000));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function exposition(seconds: number): string {
  const lines = ["# TYPE load_requests_total counter"];
  for (let index = 0; index < seriesCount / 2; index += 1) {
    const lifetime = 47 + index; // A restart each so many seconds.
    const value = Math.floor((seconds % lifetime) * (1 + (index % 17)) * 3.7);
    lines.push(`load_requests_total{path="/${index % 20}",pod="p${index}"} ${value}`);
  }
  lines.push("# TYPE load_temperature gauge");
  for (let index = 0; index < seriesCount / 2; index += 1) {
    const value = 20 + 9 * Math.sin(seconds / (5 + (index % 13)) + index);
    lines.push(`load_temperature{zone="${"abcd"[index % 4]}",sensor="s${index}"} ${value}`);
  }
  lines.push("# TYPE load_latency_seconds histogram");
  for (const [index, le] of ["0.01", "0.05", "0.1", "0.5", "1", "+Inf"].entries()) {
    lines.push(`load_latency_seconds_bucket{le="${le}"} ${Math.floor(seconds * (index + 1) * 11)}`);
  }
  lines.push(`load_latency_seconds_sum ${seconds * 2.5}`);
  lines.push(`load_latency_seconds_count ${Math.floor(seconds * 66)}`);
  return `${lines.join("\n")}\n`;
}

interface Prometheus {
  readonly url: string;
  readonly process: ChildProcess;
}

async function startPrometheus(
  binary: string,
  dir: string,
  exporterPort: number,
  capstanUrl: string,
): Promise<Prometheus> {
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s" },
    scrape_configs: [
      { job_name: "load", static_configs: [{ targets: [`127.0.0.1:${exporterPort}`] }] },
    ],
    remote_write: [
      {
        url: `${capstanUrl}/api/v1/write`,
        queue_config: { batch_send_deadline: "500ms", max_shards: 4 },
      },
    ],
  };
  writeFileSync(join(dir, "prometheus.yml"), JSON.stringify(config)); // JSON is YAML.
  const port = await freePort();
  const child = spawn(
    binary,
    [
      `--config.file=${join(dir, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(dir, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=warn",
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  const url = `http://127.0.0.1:${port}`;
  for (let turn = 0; turn < 100; turn += 1) {
    const ready = await fetch(`${url}/-/ready`).catch(() => undefined);
    if (ready?.ok === true) return { url, process: child };
    await setTimeout(200);
  }
  throw new Error("prometheus did not become ready");
}

/** Two clients that ask Capstan the same things all the time: the load. */
async function keepAsking(cluster: Cluster, untilMs: number): Promise<number> {
  let answered = 0;
  const client = async (offset: number): Promise<void> => {
    for (let turn = offset; Date.now() < untilMs; turn += 1) {
      const endMs = Date.now();
      const query = queries[turn % queries.length] ?? "up";
      await rangeQuery(cluster.url, query, endMs - 60_000, endMs, 5_000);
      answered += 1;
      await setTimeout(50);
    }
  };
  await Promise.all([client(0), client(7)]);
  return answered;
}

async function compareAll(
  prometheusUrl: string,
  capstanUrl: string,
  startedMs: number,
  endedMs: number,
  report: Report,
): Promise<void> {
  const offsetMs = await freeMillisecond(prometheusUrl);
  report.say(`query times end in .${String(offsetMs).padStart(3, "0")}, where nothing was scraped`);
  const startMs = Math.ceil(startedMs / 1_000) * 1_000 + 5_000 + offsetMs;
  const endMs = Math.floor(endedMs / 1_000) * 1_000 - 2_000 + offsetMs;
  let worst = 0;
  for (const query of queries) {
    const [theirs, ours] = await Promise.all(
      [prometheusUrl, capstanUrl].map((url) => rangeQuery(url, query, startMs, endMs, 5_000)),
    );
    const difference = compare(query, theirs ?? [], ours ?? []);
    worst = Math.max(worst, difference.relativeError);
    report.say(
      `${difference.series} series, ${difference.points} points, ${difference.relativeError.toExponential(1)}: ${query}`,
    );
  }
  report.value("relative_error_worst_e9", "1e-9", worst * 1e9, { atMost: relativeErrorMax * 1e9 });
}

/** A millisecond within the second at which Prometheus has no sample. */
async function freeMillisecond(url: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent("up[5m]")}`);
  const { data } = (await response.json()) as {
    data: { result: { values: [number, string][] }[] };
  };
  const used = new Set(
    data.result.flatMap(({ values }) => values.map(([s]) => Math.round(s * 1_000) % 1_000)),
  );
  for (let ms = 500; ms < 1_500; ms += 1) if (!used.has(ms % 1_000)) return ms % 1_000;
  throw new Error("there is a sample at every millisecond");
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

async function rangeQuery(
  url: string,
  query: string,
  startMs: number,
  endMs: number,
  stepMs: number,
): Promise<readonly Series[]> {
  const form = new URLSearchParams({
    query,
    start: String(startMs / 1_000),
    end: String(endMs / 1_000),
    step: String(stepMs / 1_000),
  });
  const response = await fetch(`${url}/api/v1/query_range`, { method: "POST", body: form });
  const text = await response.text();
  assert.equal(response.status, 200, `${query}: ${text.slice(0, 500)}`);
  return (JSON.parse(text) as { data: { result: Series[] } }).data.result;
}

/** Same series, same times, values within the tolerance: or it throws. */
function compare(
  query: string,
  theirs: readonly Series[],
  ours: readonly Series[],
): { series: number; points: number; relativeError: number } {
  const byLabels = new Map(ours.map((series) => [keyOf(series), series]));
  assert.equal(ours.length, theirs.length, `${query}: the number of series`);
  let points = 0;
  let relativeError = 0;
  for (const series of theirs) {
    const own = byLabels.get(keyOf(series));
    assert(own !== undefined, `${query}: ${keyOf(series)} is missing`);
    assert.equal(own.values.length, series.values.length, `${query}: points of ${keyOf(series)}`);
    for (const [index, [seconds, value]] of series.values.entries()) {
      const point = own.values[index];
      assert.ok(point?.[0] === seconds, `${query}: a time of ${keyOf(series)}`);
      relativeError = Math.max(relativeError, errorOf(Number(value), Number(point[1])));
      points += 1;
    }
  }
  assert(points > 0, `${query}: there is nothing to compare`);
  return { series: theirs.length, points, relativeError };
}

function keyOf({ metric }: Series): string {
  return JSON.stringify(Object.entries(metric).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function errorOf(a: number, b: number): number {
  if (Object.is(a, b) || a === b) return 0;
  return Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b), 1e-12);
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createNetServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
