/**
 * A Postgres under load and a Capstan that loads it: real processes, two load workers to a run,
 * everything recorded as by default.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/ground/store/testing/embedded-postgres.ts";
import { type Cluster, getJson, http, startCluster, waitFor } from "../../test/e2e/harness.ts";

/** The number of pgbench's threads, and of the cores of the goals' machine. */
export const workerCount = 2;
/**
 * The scale of the tables. TPC-B has as many branches, so that connections do not wait for each
 * other.
 */
export const scale = 16;
const clockTicks = 100;
/**
 * Polls rarely, because polling takes CPU from the measurement: fifty polls a second took 8 % of a
 * core.
 */
const lookMs = 2_000;

export interface RunRequest {
  readonly templateId: "select-only" | "tpcb-like";
  readonly connections: number;
  readonly settings: readonly string[];
}

interface TestBody {
  readonly status: string;
  readonly qps: number | null;
  readonly p50_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly failed_operations: number;
  readonly generator_bound: boolean;
  readonly percentiles_valid: boolean;
  readonly phase: string;
  readonly live: { readonly run: { readonly aggregate_metrics: { readonly qps: number } } };
}

export class LoadCluster {
  readonly cluster: Cluster;
  /** The URL of the database under load. */
  readonly targetUrl: string;
  readonly #postgres: EmbeddedPostgres;
  #isLoaded = false;

  private constructor(cluster: Cluster, postgres: EmbeddedPostgres, targetUrl: string) {
    this.cluster = cluster;
    this.#postgres = postgres;
    this.targetUrl = targetUrl;
  }

  static async start(): Promise<LoadCluster> {
    const postgres = await startEmbeddedPostgres(["shared_buffers=512MB", "max_wal_size=4GB"]);
    const cluster = await startCluster({ workers: 1 });
    await waitFor("the ready templates", async () => {
      const { items } = await getJson<{ items: readonly unknown[] }>(
        `${cluster.url}/api/templates`,
      );
      return items.length > 0 ? true : undefined;
    });
    return new LoadCluster(cluster, postgres, await postgres.createDatabase());
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    await this.#postgres.stop();
  }

  /** Creates the tables once. */
  async loadData(): Promise<void> {
    if (this.#isLoaded) return;
    const request = { templateId: "tpcb-like", connections: 2, settings: [] } as const;
    await this.#prepare(request, true);
    this.#isLoaded = true;
  }

  /** Returns the started run's id. */
  async begin(request: RunRequest): Promise<string> {
    const id = await this.#prepare(request, false);
    await this.post(`/api/tests/${id}/start`);
    return id;
  }

  async test(id: string): Promise<TestBody> {
    return await getJson<TestBody>(`${this.cluster.url}/api/tests/${id}`);
  }

  async waitForPhase(id: string, phase: string, waitMsMax: number): Promise<void> {
    await waitFor(
      `${phase} of ${id}`,
      () => (this.#row("run_status", id)[0]?.phase === phase ? true : undefined),
      waitMsMax,
    );
  }

  /** Resolves with the test after its run has ended successfully. */
  async ended(id: string, waitMsMax: number): Promise<TestBody> {
    await waitFor(
      `the end of ${id}`,
      async () => {
        const status = `${this.#row("run_status", id)[0]?.status}`;
        if (["COMPLETED", "FAILED", "CANCELLED"].includes(status)) return true;
        await pause(lookMs);
        return undefined;
      },
      waitMsMax,
    );
    const test = await this.test(id);
    assert.equal(test.status, "COMPLETED", `the run ${id}`);
    assert.equal(test.failed_operations, 0, `failures of the run ${id}`);
    return test;
  }

  /** The processes of the run's load workers, in order. */
  workerPids(id: string): readonly number[] {
    return this.#row("worker_heartbeats", id).map(({ process_id: pid }) => Number(pid));
  }

  async post<T>(path: string, body: unknown = {}): Promise<T> {
    const response = await http(`${this.cluster.url}${path}`, { method: "POST", body });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text) as T;
  }

  async #prepare(
    { templateId, connections, settings }: RunRequest,
    loadData: boolean,
  ): Promise<string> {
    const { test_id: id } = await this.post<{ test_id: string }>("/api/runs", {
      template_id: templateId,
      target_url: this.targetUrl,
      load_data: loadData,
      settings: [
        `scale=${scale}`,
        "scaling.mode=FIXED",
        `min_workers=${workerCount}`,
        `min_connections=${connections / workerCount}`,
        `connections=${connections}`,
        ...settings,
      ],
    });
    return id;
  }

  #row(table: "run_status" | "worker_heartbeats", id: string) {
    const database = new DatabaseSync(join(this.cluster.dataDir, "store.sqlite"), {
      readOnly: true,
    });
    try {
      return database.prepare(`SELECT * FROM ${table} WHERE run_id = ?`).all(id);
    } finally {
      database.close();
    }
  }
}

/** The CPU time of a process with all its threads. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / clockTicks;
}

export function residentBytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}
