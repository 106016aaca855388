/** An in-memory cluster behind the API's ports. */

import {
  catalogRoutes,
  type QueriesPort,
  queryRoutes,
  type UploadsPort,
  type WatchMessage,
  type WatchRequest,
} from "../../../data/statements/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { QueryId, WorkerId } from "../../../ground/kernel/ids.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import {
  type RecordedLine,
  recordingLogger,
} from "../../../ground/kernel/testing/recording-logger.ts";
import { RequestGuard, TokenBook } from "../../../ground/process/index.ts";
import { readTargetsAttention } from "../../../kinds/ask/http/attention.ts";
import { installPrometheus } from "../../../kinds/ask/http/install.ts";
import { readRunsAttention } from "../../../kinds/load/http/attention.ts";
import { loadRoutes } from "../../../kinds/load/http/load-routes.ts";
import type { LoadService } from "../../../kinds/load/index.ts";
import { readTablesAttention } from "../../../kinds/refresh/http/attention.ts";
import type { RefreshLoad } from "../../../kinds/refresh/http/external-metrics.ts";
import { installRefreshLoad } from "../../../kinds/refresh/http/refresh-load.ts";
import { installTables } from "../../../kinds/refresh/http/tables.ts";
import type { TablesPort } from "../../../kinds/refresh/http/tables-port.ts";
import {
  type StreamCatalogPort,
  streamRoutes,
} from "../../../kinds/stream/catalog/http/stream-routes.ts";
import type { LiveQueryBody } from "../../../kinds/stream/fleet/core/live-body.ts";
import { liveRoutes } from "../../../kinds/stream/fleet/http/live-routes.ts";
import { streamLoadRoutes } from "../../../kinds/stream/fleet/http/load-routes.ts";
import type { ApiPorts, WorkersPort } from "../ports.ts";
import type { ReadyBody, RegistrationBody, StatusBody, WorkerBody } from "../schemas.ts";
import type { ApiConfig } from "../server.ts";
import { FakeIngest, FakePromql } from "./fake-metrics.ts";

export const readToken = "read-token-0123456789";
export const operateToken = "operate-token-0123456789";
export const clusterToken = "cluster-token-0123456789";

const streamLoad = {
  ...{ fragments: 3, waitingFragments: 1, slots: 2_000, slotsUsed: 3 },
  ...{ watermarkLagSeconds: 1.5, backlogBytes: 64, busyRatio: 0.5, backpressureRatio: 0 },
};

export class FakeCluster {
  readonly workers = new Map<string, WorkerBody>();
  readonly calls: string[] = [];
  readonly lines: RecordedLine[] = [];
  leading: boolean;
  /** The implementation of `sql`. Tests replace it. */
  sql: QueriesPort["sql"] = async () => {
    throw new OperatingError("bad_sql", "never", "no statement", { hint: "Write one." });
  };
  watch: (request: WatchRequest, signal: AbortSignal) => AsyncIterable<WatchMessage> =
    async function* () {
      yield { type: "SNAPSHOT" as const, revision: 1, data: [] };
    };
  parts: ReadyBody["parts"] = [];
  status: () => Promise<StatusBody> = async () => status;
  readonly promql = new FakePromql();
  readonly ingest = new FakeIngest();
  tables: TablesPort | undefined;
  load: LoadService | undefined;
  readonly uploads = new Map<string, Buffer>();

  constructor(names: readonly string[] = ["worker-1", "worker-2"]) {
    this.leading = true;
    for (const name of names) this.workers.set(name, workerBody(name));
  }

  ports(): ApiPorts {
    const { tables, load } = this;
    const ingest = async () => {
      this.#lead();
      return this.ingest;
    };
    return {
      clock: realClock,
      logger: recordingLogger(this.lines),
      ready: () =>
        this.leading
          ? { ready: true, role: "leader", parts: this.parts }
          : { ready: false, role: "standby", reason: "no lease yet", parts: this.parts },
      status: async () => await this.status(),
      waiting: () => ({ depth: 3, oldestAgeMs: 1500 }),
      metrics: async () => ({ contentType: "text/plain; version=0.0.4", text: "capstan_up 1\n" }),
      workers: this.#workersPort(),
      queries: { list: () => [] },
      routes: [
        queryRoutes(this.#queries()),
        catalogRoutes(this.#uploadsPort(), {
          watch: (request, signal) => this.watch(request, signal),
        }),
        (app, { clock, prng }) => {
          installRefreshLoad(app, refreshLoad, clock);
          installTables(app, tables ?? ({} as TablesPort), prng);
        },
        loadRoutes(load ?? ({} as LoadService)),
        streamRoutes({} as StreamCatalogPort),
        liveRoutes(async () => ({}) as LiveQueryBody),
        streamLoadRoutes(async () => streamLoad),
        (app, http) => installPrometheus(app, { promql: this.promql, ingest }, http),
      ],
      attention: {
        ...(tables && { "dynamic tables": () => readTablesAttention(tables) }),
        ...(load && { "load tests": () => readRunsAttention(load, realClock) }),
        "scrape targets": () => readTargetsAttention(ingest),
      },
    };
  }

  #queries(): QueriesPort {
    return {
      sql: async (sql, options, signal) => await this.sql(sql, options, signal),
      list: () => [],
      cancel: (queryId: QueryId) => queryId === "q-known",
    };
  }

  #uploadsPort(): UploadsPort {
    return {
      begin: () => {
        const id = `upload-${this.uploads.size + 1}`;
        this.uploads.set(id, Buffer.alloc(0));
        return id;
      },
      append: async (id, offset, bytes) => {
        const known = this.uploads.get(id) ?? Buffer.alloc(0);
        const whole = Buffer.concat([known.subarray(0, offset), bytes]);
        this.uploads.set(id, whole);
        return whole.length;
      },
      discard: async (id) => void this.uploads.delete(id),
    };
  }

  #workersPort(): WorkersPort {
    return {
      list: async ({ limit, after }) =>
        [...this.workers.values()].filter((w) => w.worker_id > (after ?? "")).slice(0, limit),
      get: async (workerId) => this.workers.get(workerId),
      register: async (registration: RegistrationBody) => {
        this.#lead();
        this.workers.set(registration.worker_id, workerBody(registration.worker_id));
      },
      setDrainRequested: async (workerId, draining) => {
        this.#lead();
        this.#known(workerId);
        this.calls.push(`${draining ? "drain" : "undrain"} ${workerId}`);
      },
      drop: async (workerId) => {
        this.#lead();
        this.#known(workerId);
        this.calls.push(`drop ${workerId}`);
      },
    };
  }

  #lead(): void {
    if (this.leading) return;
    throw new OperatingError("not_leader", "backoff", "this coordinator stands by", {
      hint: "Ask http://10.0.0.1:4600.",
    });
  }

  #known(workerId: WorkerId): void {
    if (this.workers.has(workerId)) return;
    throw new OperatingError("not_found", "never", `there is no worker ${workerId}`);
  }
}

export function apiConfig(
  tokens: readonly { role: "read" | "operate"; token: string }[] = [],
): ApiConfig {
  return {
    host: "127.0.0.1",
    port: 0,
    version: "0.0.0-test",
    prng: createPrng("api"),
    dashboardDirs: [],
    access: {
      guard: new RequestGuard({ bindHost: "127.0.0.1", hosts: [], origins: [] }),
      tokens: new TokenBook(tokens),
      clusterToken,
    },
  };
}

export const bothTokens = [
  { role: "read", token: readToken },
  { role: "operate", token: operateToken },
] as const;

const refreshLoad = async (): Promise<RefreshLoad> => ({
  pendingRefreshCount: 3,
  pendingPartCount: 2,
  blockedCounts: { source_stopped: 1 },
  refreshBacklogSeconds: 1.5,
  refreshDurationP95Seconds: undefined,
});

const status: StatusBody = {
  parts: [],
  stored_files: { damaged: 0, unverified: 0 },
  version: "0.0.0-test",
  role: "leader",
  lease: { holder: "me", epoch: 1, api_url: "http://127.0.0.1:4600" },
  store: { dialect: "sqlite", schema_version: 1 },
  workers: { active: 2, unreachable: 0, draining: 0 },
  queries: { running: 0, queued: 0, completed_total: 0, failed_total: 0, oldest_age_ms: 0 },
  started_at_ms: 0,
  uptime_ms: 1,
};

function workerBody(name: string): WorkerBody {
  return {
    worker_id: name,
    host_name: "127.0.0.1",
    grpc_port: 1,
    data_port: 2,
    capacity: 4,
    state: "ACTIVE",
    state_reason: "",
    state_changed_at_ms: 0,
    drain_requested: false,
    accepting_work: true,
    draining: false,
    incarnation: "i-1",
    software_version: "0.0.0-test",
    registered_at_ms: 0,
    live: null,
  };
}
