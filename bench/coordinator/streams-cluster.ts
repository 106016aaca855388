/** A real cluster with continuous queries: their statements and states over HTTP. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import {
  type Cluster,
  type ClusterOptions,
  getJson,
  http,
  startCluster,
} from "../../test/e2e/harness.ts";

export const workerNames: readonly string[] = ["worker-1", "worker-2"];

interface FragmentAnswer {
  readonly fragment: string;
  readonly worker_id: string;
  readonly epoch: number;
  readonly state: string;
}

export interface QueryAnswer {
  readonly state: string;
  readonly state_reason: string;
  readonly epoch: number;
  readonly deployed: readonly FragmentAnswer[];
}

interface Accepted {
  readonly query: { readonly state: string; readonly state_reason: string } | null;
}

/** A generator of rows, a second of event time for each second of the clock. */
export function generatorStatements(source: string, rowsPerSecond: number): readonly string[] {
  const fields = `SEQUENCE UINT64 0 1000000000 ${1_000 / rowsPerSecond}, SEQUENCE UINT64 0 1000000000 7`;
  return [
    `CREATE LOGICAL SOURCE ${source}(ts UINT64, auction UINT64)`,
    `CREATE PHYSICAL SOURCE FOR ${source} TYPE Generator SET(
      '${fields}' AS "SOURCE".GENERATOR_SCHEMA,
      'NONE' AS "SOURCE".STOP_GENERATOR_WHEN_SEQUENCE_FINISHES,
      ${rowsPerSecond} AS "SOURCE".ROWS_PER_SECOND)`,
  ];
}

export function lakeSinkStatement(sink: string): string {
  return `CREATE SINK ${sink} TYPE Lake SET('${sink}' AS "SINK".TABLE)`;
}

/** Windows of a second over ten keys, whose groups are split over two workers. */
export function windowQuery(source: string, sink: string, settings = ""): string {
  return `SELECT start, end, auction % UINT64(10) AS a, COUNT(*) AS n FROM ${source}
    GROUP BY (a) WINDOW TUMBLING(ts, SIZE 1 SEC) INTO ${sink}
    SET(2 AS "QUERY".PARALLELISM${settings})`;
}

export class StreamsCluster {
  readonly cluster: Cluster;

  constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  static async start(options: ClusterOptions = {}): Promise<StreamsCluster> {
    const cluster = await startCluster({ workers: workerNames.length, ...options });
    await cluster.waitForWorkers("ACTIVE", workerNames);
    return new StreamsCluster(cluster);
  }

  get url(): string {
    return `${this.cluster.url}/api/v1/streams`;
  }

  /** All of them or none. */
  async define(statements: readonly string[]): Promise<void> {
    await this.#send("POST", "bundles", { statements }, 200);
  }

  /** Answers when the query is running. */
  async create(name: string, statement: string): Promise<void> {
    const path = "queries?wait=RUNNING&timeout=60s";
    const { query } = await this.#send<Accepted>("POST", path, { name, statement }, 202);
    assert.equal(query?.state, "RUNNING", `${name}: ${query?.state_reason}`);
  }

  /** Answers when every fragment is confirmed stopped. */
  async drop(name: string): Promise<void> {
    const path = `queries/${name}?wait=STOPPED&timeout=60s`;
    const { query } = await this.#send<Accepted>("DELETE", path, undefined, 202);
    assert.equal(query?.state ?? "STOPPED", "STOPPED", `${name}: ${query?.state_reason}`);
  }

  /** Answers when the request is accepted. */
  async accept(method: "POST" | "DELETE", path: string, body?: unknown): Promise<void> {
    await this.#send(method, path, body, 202);
  }

  async query(name: string): Promise<QueryAnswer> {
    return await getJson<QueryAnswer>(`${this.url}/queries/${name}`);
  }

  /** Rows of the cluster's own SQLite store. */
  readStore(
    select: string,
    ...values: readonly string[]
  ): readonly Readonly<Record<string, SQLOutputValue>>[] {
    const database = new DatabaseSync(join(this.cluster.dataDir, "store.sqlite"), {
      readOnly: true,
    });
    try {
      return database.prepare(select).all(...values);
    } finally {
      database.close();
    }
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
  }

  async #send<T>(method: string, path: string, body: unknown, status: number): Promise<T> {
    const response = await http(`${this.url}/${path}`, { method, body });
    const text = await response.text();
    assert.equal(response.status, status, text);
    return JSON.parse(text) as T;
  }
}
