/**
 * A cluster with metrics in it: `capstan up` with one worker, and a second one that a test starts,
 * disturbs and ends itself.
 */
import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chooseFreePort } from "../../src/ground/process/index.ts";
import type { QuerySummary } from "../../src/kinds/ask/run/index.ts";
import { type DataSeries, openMetricsText, remoteWriteBody } from "./ask-data.ts";
import {
  type CapstanProcess,
  type Cluster,
  type ClusterOptions,
  http,
  runCli,
  startCluster,
  startProcess,
} from "./harness.ts";
import { proxyHost, TcpProxy } from "./tcp-proxy.ts";

export const first = "worker-1";
export const second = "second";
/** Sorted by name. */
export const bothWorkers: readonly string[] = [second, first];

/**
 * Four compute threads and those of the first worker: the planner may cut four shards on any
 * machine.
 */
const secondThreads = "4";

export class AskCluster {
  readonly cluster: Cluster;
  readonly url: string;
  readonly ports: Readonly<Record<"grpc" | "data" | "metrics", number>>;
  /** Proxies between the coordinator and the second worker, if requested. */
  readonly proxies: Readonly<Record<"grpc" | "data" | "metrics", TcpProxy>> | undefined;
  #second: CapstanProcess | undefined;

  private constructor(
    cluster: Cluster,
    ports: AskCluster["ports"],
    proxies: AskCluster["proxies"],
  ) {
    this.cluster = cluster;
    this.url = cluster.url;
    this.ports = ports;
    this.proxies = proxies;
  }

  static async start(
    options: Omit<ClusterOptions, "workers"> & { readonly proxied: boolean },
  ): Promise<AskCluster> {
    const starting = startCluster({ env: { CAPSTAN_WARM_UP: "on" }, ...options, workers: 1 });
    const [grpc, data, metrics] = await Promise.all(
      Array.from({ length: 3 }, () => chooseFreePort("127.0.0.1")),
    );
    assert(grpc !== undefined && data !== undefined && metrics !== undefined);
    const proxies = options.proxied
      ? {
          grpc: await TcpProxy.start(grpc),
          data: await TcpProxy.start(data),
          metrics: await TcpProxy.start(metrics),
        }
      : undefined;
    const ask = new AskCluster(await starting, { grpc, data, metrics }, proxies);
    await ask.startSecond();
    return ask;
  }

  get second(): CapstanProcess {
    assert(this.#second !== undefined, "the second worker was started");
    return this.#second;
  }

  /** Starts the second worker again after it has ended. */
  async startSecond(): Promise<void> {
    const { cluster, url, ports, proxies } = this;
    this.#second = startProcess(
      [
        ...["worker", "--join", url, "--name", second, "--data-dir", cluster.dataDir],
        ...["--compute-threads", secondThreads, "--log-format", "json"],
        ...["--grpc-port", String(ports.grpc), "--data-port", String(ports.data)],
        ...["--metrics-port", String(ports.metrics)],
        ...(proxies === undefined ? [] : ["--advertise-host", proxyHost]),
      ],
      { CAPSTAN_CLUSTER_TOKEN: cluster.clusterToken() },
    );
    await cluster.waitForWorkers("ACTIVE", bothWorkers);
  }

  monitorUrl(worker: string): string {
    if (worker === first) return this.cluster.monitorUrl(first);
    return `http://127.0.0.1:${this.ports.metrics}`;
  }

  pid(name: string): number {
    return name === second ? this.second.pid : this.cluster.pid(name);
  }

  /** Files of queries on a worker's disk. */
  spooled(worker: string, folder: "ready" | "writing"): string[] {
    return filesIn(join(this.cluster.dataDir, "workers", worker, "spool"), folder);
  }

  /** The coordinator's copies of artifacts. */
  fetched(): string[] {
    return filesIn(join(this.cluster.dataDir, "controllers", "coordinator", "fetched"), "");
  }

  async importData(all: readonly DataSeries[]): Promise<void> {
    const path = join(this.cluster.dataDir, "import.om");
    writeFileSync(path, openMetricsText(all));
    const imported = await runCli(["metrics", "import", path, "--url", this.url]);
    assert.equal(imported.code, 0, imported.stderr);
  }

  async stop(): Promise<void> {
    this.#second?.kill("SIGKILL");
    await this.cluster.stop();
    for (const proxy of Object.values(this.proxies ?? {})) proxy.close();
  }
}

function filesIn(base: string, folder: string): string[] {
  return readdirSync(base, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.endsWith(folder))
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
}

/** Resolves with the status: 204 is a promise that the samples stay. */
export async function remoteWrite(
  url: string,
  body: Uint8Array<ArrayBuffer>,
  version = "0.1.0",
): Promise<number> {
  const response = await fetch(`${url}/api/v1/write`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/x-protobuf",
      "content-encoding": "snappy",
      "x-prometheus-remote-write-version": version,
    },
  });
  await response.arrayBuffer();
  return response.status;
}

export async function writeData(url: string, all: readonly DataSeries[]): Promise<void> {
  assert.equal(await remoteWrite(url, remoteWriteBody(all)), 204);
}

export type At =
  | { readonly timeMs: number }
  | { readonly startMs: number; readonly endMs: number; readonly stepMs: number };

function formOf(query: string, at: At): URLSearchParams {
  if ("timeMs" in at) return new URLSearchParams({ query, time: String(at.timeMs / 1000) });
  const { startMs, endMs, stepMs } = at;
  return new URLSearchParams({
    query,
    start: String(startMs / 1000),
    end: String(endMs / 1000),
    step: String(stepMs / 1000),
  });
}

export interface PromqlRequestOptions {
  readonly signal?: AbortSignal;
  /** Closes the connection after the request. */
  readonly lastOfConnection?: boolean;
}

async function send(
  url: string,
  body: URLSearchParams,
  { signal, lastOfConnection }: PromqlRequestOptions,
): Promise<Response> {
  return await fetch(url, {
    method: "POST",
    body,
    ...(signal === undefined ? {} : { signal }),
    ...(lastOfConnection === true ? { headers: { connection: "close" } } : {}),
  });
}

/** The answer's bytes as text: two right answers are equal. */
export async function promql(
  url: string,
  query: string,
  at: At,
  options: PromqlRequestOptions = {},
): Promise<string> {
  const path = "timeMs" in at ? "query" : "query_range";
  const response = await send(`${url}/api/v1/${path}`, formOf(query, at), options);
  const text = await response.text();
  assert.equal(response.status, 200, `${query}: ${text}`);
  return text;
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [seconds: number, value: string];
}

export async function vector(url: string, query: string, timeMs: number): Promise<Sample[]> {
  const { data } = JSON.parse(await promql(url, query, { timeMs })) as {
    data: { resultType: string; result: Sample[] };
  };
  assert.equal(data.resultType, "vector");
  return data.result;
}

export interface StreamedAnswer {
  /** The data of every `result`, in order. */
  readonly results: readonly string[];
  readonly summary: QuerySummary;
}

/** Through `/api/v1/query_stream`, whose summary says who did what. */
export async function streamed(
  url: string,
  query: string,
  at: At,
  options: PromqlRequestOptions = {},
): Promise<StreamedAnswer> {
  const response = await send(`${url}/api/v1/query_stream`, formOf(query, at), options);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const events = [...text.matchAll(/^event: (\w+)\n(?:id: .*\n)?data: (.*)$/gm)];
  const dataOf = (wanted: string): string[] =>
    events.filter(([, event]) => event === wanted).map(([, , data]) => data as string);
  assert.deepEqual(dataOf("error"), [], query);
  assert.equal(events.at(-1)?.[1], "done", text.slice(-500));
  const [summary] = dataOf("summary");
  assert(summary !== undefined, "a stream that is done has a summary");
  return { results: dataOf("result"), summary: JSON.parse(summary) as QuerySummary };
}

export function worksOf({ summary }: StreamedAnswer): QuerySummary["leaves"][number]["works"] {
  return summary.leaves.flatMap(({ works }) => works);
}

/** Sorted by name. */
export function workersOf(answer: StreamedAnswer): string[] {
  const names = new Set(worksOf(answer).map(({ workerId }) => workerId ?? "nobody"));
  return [...names].sort((a, b) => (a < b ? -1 : 1));
}

export interface MetricsText {
  /** The sum over a metric's lines with all of these labels; 0 when there are none. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
}

export async function metricsOf(baseUrl: string): Promise<MetricsText> {
  const headers = { connection: "close" };
  const lines = (await (await http(`${baseUrl}/metrics`, { headers })).text()).split("\n");
  return {
    sum(name, labels = {}) {
      const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
      let sum = 0;
      for (const line of lines) {
        const [, found, inside = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
        if (found === name && pairs.every((pair) => inside.includes(pair))) sum += Number(value);
      }
      return sum;
    },
  };
}

export async function metric(
  baseUrl: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  return (await metricsOf(baseUrl)).sum(name, labels);
}
