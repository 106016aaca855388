/** Load runs on real processes: what a test prepares, starts and looks at. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { RunUpdate } from "../../src/kinds/load/core/run-update.ts";
import { type Cluster, http, isAlive, rowsOf, waitFor } from "./harness.ts";

export type Row = Readonly<Record<string, string | number | null>>;

const ended = ["COMPLETED", "FAILED", "CANCELLED"];

export class LoadRuns {
  readonly #cluster: Cluster;
  readonly #targetUrl: string;
  #template: string | undefined;

  constructor(cluster: Cluster, targetUrl: string) {
    this.#cluster = cluster;
    this.#targetUrl = targetUrl;
  }

  /** Started; its id. */
  async start(settings: readonly string[]): Promise<string> {
    this.#template ??= await this.#createTemplate();
    const { test_id: id } = await this.post<{ test_id: string }>("/api/runs", {
      template_id: this.#template,
      settings,
    });
    await this.post(`/api/runs/${id}/start`);
    return id;
  }

  /** A coordinator that is not there, or does not lead yet, is asked again. */
  async post<T>(path: string, body: unknown = {}): Promise<T> {
    let said = "";
    return await waitFor(
      `an answer to ${path}`,
      async () => {
        const answer = await http(`${this.#cluster.url}${path}`, { method: "POST", body }).catch(
          (thrown: unknown) => String(thrown),
        );
        said = typeof answer === "string" ? answer : `${answer.status}`;
        if (typeof answer === "string" || answer.status >= 500) return undefined;
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        return JSON.parse(text) as T;
      },
      30_000,
      () => said,
    );
  }

  /** The next RUN_UPDATE. */
  async update(id: string): Promise<RunUpdate> {
    return await waitFor(
      "an update",
      () =>
        new Promise<RunUpdate | undefined>((resolve) => {
          const url = `${this.#cluster.url.replace("http", "ws")}/ws/test/${id}`;
          const socket = new WebSocket(url, ["capstan"]);
          socket.addEventListener("error", () => resolve(undefined));
          socket.addEventListener("close", () => resolve(undefined));
          socket.addEventListener("message", ({ data }) => {
            resolve((JSON.parse(String(data)) as { data: RunUpdate }).data);
            socket.close();
          });
        }),
    );
  }

  read(sql: string, ...values: string[]): readonly Row[] {
    const path = join(this.#cluster.dataDir, "store.sqlite");
    const database = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
    try {
      return database.prepare(sql).all(...values) as unknown as readonly Row[];
    } finally {
      database.close();
    }
  }

  row(id: string): Row {
    return this.read("SELECT * FROM run_status WHERE run_id = ?", id)[0] ?? {};
  }

  /** Those that registered, by their names. */
  workers(id: string): readonly Row[] {
    return this.read("SELECT * FROM worker_heartbeats WHERE run_id = ? ORDER BY worker_id", id);
  }

  /** What workers said that they did in MEASUREMENT. */
  measured(id: string, workerId = "%"): number {
    const [row] = this.read(
      `SELECT coalesce(sum(ops), 0) AS ops FROM worker_series
        WHERE run_id = ? AND phase = 'MEASUREMENT' AND worker_id LIKE ?`,
      id,
      workerId,
    );
    return Number(row?.ops);
  }

  /** Resolves when each worker has told of some seconds of MEASUREMENT. */
  async untilMeasured(id: string, workers: number, ops = 20): Promise<void> {
    await waitFor(
      "figures of every worker",
      () =>
        this.workers(id).length === workers &&
        this.workers(id).every(({ worker_id: name }) => this.measured(id, `${name}`) >= ops)
          ? true
          : undefined,
      60_000,
      () => JSON.stringify([this.row(id).phase, this.workers(id)]),
    );
  }

  async untilEnded(id: string, waitMsMax = 90_000): Promise<Row> {
    return await waitFor(
      "the run's end",
      () => (ended.includes(`${this.row(id).status}`) ? this.row(id) : undefined),
      waitMsMax,
      () => JSON.stringify([this.row(id), this.workers(id)]),
    );
  }

  /** What is true of every run that has ended, whoever was killed meanwhile. */
  async checkEnded(id: string): Promise<void> {
    const pids = this.workers(id).map(({ process_id: pid }) => Number(pid));
    await waitFor(
      "no process to be left",
      () => (pids.some((pid) => pid > 0 && isAlive(pid)) ? undefined : true),
      60_000,
    );
    const events = this.read(
      "SELECT event_type, sequence_id FROM run_control_events WHERE run_id = ? ORDER BY sequence_id",
      id,
    );
    assert.deepEqual(
      events.map(({ sequence_id: sequence }) => sequence),
      events.map((_, index) => index + 1),
      "sequence ids have no gap",
    );
    const count = (type: string): number =>
      events.filter(({ event_type }) => event_type === type).length;
    assert.equal(count("STOP"), 1, "there is one STOP");
    assert.ok(count("START") <= 1, "and one START at most");
    const [parent] = this.read("SELECT * FROM test_results WHERE test_id = ?", id);
    const children = this.read(
      "SELECT * FROM test_results WHERE run_id = ? AND worker_id IS NOT NULL",
      id,
    );
    const total = Number(parent?.total_operations);
    assert.equal(total, this.measured(id), "the parent has what all workers said");
    assert.equal(
      children.reduce((sum, child) => sum + Number(child.total_operations), 0),
      total,
      "and so have the children together",
    );
    assert.equal(Number(this.row(id).total_ops), total);
    assert.equal(parent?.status, this.row(id).status);
    const { run } = await this.update(id);
    assert.equal(run.aggregate_metrics.total_ops, total, "live and final counts are the same");
  }

  /** Records of MEASUREMENT in the lake. */
  async recorded(id: string): Promise<number> {
    const [[count]] = (await rowsOf(
      this.#cluster.url,
      `SELECT count(*)::DOUBLE FROM query_executions WHERE run_id = '${id}' AND NOT warmup`,
    )) as [[number]];
    return count;
  }

  async #createTemplate(): Promise<string> {
    const { template_id: id } = await this.post<{ template_id: string }>("/api/templates", {
      name: `queue ${this.#targetUrl}`,
      target: this.#targetUrl,
      workload: {
        concurrent_connections: 6,
        operations: [{ name: "look", kind: "POINT_LOOKUP", statements: "GET /look" }],
      },
    });
    return id;
  }
}
