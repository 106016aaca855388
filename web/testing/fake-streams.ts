/** Continuous queries as a coordinator shows them, in any state that a test needs. */
import type { ServerResponse } from "node:http";
import type {
  LiveFragment,
  LiveQuery,
  StreamQuery,
  StreamQueryDetail,
  StreamSnapshot,
} from "../src/api/gen/types.ts";

type Deployed = StreamQueryDetail["deployed"][number];
const reason = "time comes from the source bids alone";

export class FakeStreams {
  readonly queries = new Map<string, StreamQueryDetail>();
  readonly live = new Map<string, LiveQuery>();
  snapshot: Partial<StreamSnapshot> = {};
  /** When set, changes are refused as for a read-only token. */
  readOnly = false as boolean;
  /** When set, nobody here knows figures, as on a coordinator that stands by. */
  standby = false as boolean;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** A query with two fragments in the middle, and what they do. */
  add(name: string, changes: Partial<StreamQueryDetail> = {}): void {
    const query = { ...fakeStreamQuery(name), ...changes };
    this.queries.set(name, query);
    this.live.set(name, fakeLive(query));
  }

  change(name: string, changes: Partial<StreamQueryDetail>): void {
    const query = this.queries.get(name);
    if (query !== undefined) this.queries.set(name, { ...query, ...changes });
    this.#onChange();
  }

  remove(name: string): void {
    this.queries.delete(name);
    this.#onChange();
  }

  /** Returns false when the request is not about streams. */
  answer(method: string, url: URL, response: ServerResponse): boolean {
    if (!url.pathname.startsWith("/api/v1/streams/")) return false;
    if (url.pathname === "/api/v1/streams/snapshot") send(response, this.#snapshot());
    else if (url.pathname === "/api/v1/streams/live") {
      const ids = (url.searchParams.get("queries") ?? "").split(",");
      const items = [...this.live.values()]
        .filter(({ query_id }) => ids.includes(query_id))
        .map(now);
      send(response, { items });
    } else {
      const [, key = "", part] =
        /^\/api\/v1\/streams\/queries\/([^/]+)(?:\/(\w+))?$/.exec(url.pathname) ?? [];
      this.#answerOne(method, decodeURIComponent(key), part ?? "", url, response);
    }
    return true;
  }

  #answerOne(method: string, key: string, part: string, url: URL, response: ServerResponse): void {
    const query = [...this.queries.values()].find(
      ({ query_id, name }) => query_id === key || name === key,
    );
    if (query === undefined) {
      send(response, { code: "DoesNotExist", message: `there is no query ${key}` }, 404);
    } else if (method !== "GET") {
      this.#act(
        query,
        method === "DELETE" ? `drop ${url.searchParams.get("mode")}` : part,
        response,
      );
    } else if (part !== "live") send(response, query);
    else if (this.standby) {
      const message = "this process does not hold the lease";
      send(response, { code: "not_leader", message }, 503);
    } else {
      const live = this.live.get(query.name ?? "");
      send(response, live && now(live));
    }
  }

  #act(query: StreamQueryDetail, verb: string, response: ServerResponse): void {
    if (this.readOnly) {
      const hint = "Use a token with the role operate.";
      send(response, { code: "forbidden", message: "this token may read", hint }, 403);
      return;
    }
    const name = query.name ?? "";
    if (verb === "pause") this.change(name, { desired_state: "PAUSED", state: "PAUSED" });
    else if (verb === "resume") this.change(name, { desired_state: "RUNNING", state: "PENDING" });
    else {
      const stop_mode = verb === "drop soft" ? "SOFT" : "HARD";
      const state_reason = "it is being stopped";
      this.change(name, { desired_state: "STOPPED", state: "STOPPING", stop_mode, state_reason });
    }
    send(response, { query_id: query.query_id, name, replaced: null, query }, 202);
  }

  #snapshot(): StreamSnapshot {
    return {
      revision: 7,
      now_ms: Date.now(),
      sources: [],
      views: [],
      physical_sources: [],
      sinks: [],
      workers: [],
      queries: [...this.queries.values()].map(
        ({ deployed: _deployed, history: _history, ...query }): StreamQuery => query,
      ),
      ...this.snapshot,
    };
  }
}

function fakeStreamQuery(name: string): StreamQueryDetail {
  const atMs = Date.now() - 40_000;
  const fragment = (number: string, worker: number): Deployed => ({
    fragment: `s${number}`,
    worker_id: `worker-${worker}`,
    is_pinned: false,
    epoch: 1,
    state: "RUNNING",
    state_reason: "as its worker reports",
    state_changed_at_ms: atMs,
  });
  return {
    query_id: `id-${name}`,
    name,
    state: "RUNNING",
    detail: null,
    state_reason: "every fragment is running",
    desired_state: "RUNNING",
    stop_mode: null,
    epoch: 1,
    superseded_by: null,
    guarantee: "exactly once",
    is_preview: false,
    error: null,
    fragments: { RUNNING: 4 },
    statement: `CREATE QUERY ${name} AS\n  SELECT start, end, COUNT(*) AS n FROM bids\n  WINDOW TUMBLING(ts, SIZE 1 SEC) INTO hot`,
    created_at_ms: atMs,
    state_changed_at_ms: atMs,
    logical_sources: ["bids"],
    physical_sources: ["2"],
    sinks: ["hot"],
    deployed: [fragment("0.0", 1), fragment("1.0", 2), fragment("1.1", 3), fragment("2.0", 1)],
    history: [
      change(1, "NONE", "PENDING", "accepted; not deployed yet", atMs - 900),
      change(2, "PENDING", "DEPLOYING", "its fragments are being deployed", atMs - 800),
      change(3, "DEPLOYING", "RUNNING", "every fragment is running", atMs),
    ],
  };
}

type Change = StreamQueryDetail["history"][number];

function change(
  number: number,
  from_state: string,
  to_state: Change["to_state"],
  why: string,
  at_ms: number,
): Change {
  return { number, epoch: 1, from_state, to_state, reason: why, at_ms };
}

/** Its first edge waits for room, so that one edge is worth a sign. */
function fakeLive({ query_id, epoch, deployed }: StreamQueryDetail): LiveQuery {
  const nowMs = Date.now();
  const edge = (from: string, to: string, backpressure_ratio: number) => ({
    ...{ from, to, backpressure_ratio },
    rows_per_second: 1_234.5,
    backlog_bytes: 131_072,
    watermark_ms: nowMs - 2_000,
    watermark_lag_ms: 2_000,
  });
  return {
    query_id,
    epoch,
    at_ms: nowMs,
    fragments: deployed.map(
      ({ fragment, worker_id, state }, index): LiveFragment => ({
        ...{ fragment, worker_id, state },
        operators: ["exchange by a", "aggregate over windows of 1 s of ts by a: COUNT(*)"],
        sources: index === 0 ? ["bids"] : [],
        sinks: index === deployed.length - 1 ? ["hot"] : [],
        rows_in: 90_000,
        rows_out: 4_000,
        rows_in_per_second: 20_187.6,
        rows_out_per_second: 199.3,
        bytes_in_per_second: 0,
        bytes_out_per_second: 9_278.7,
        late_rows: 3,
        malformed_rows: 2,
        state_bytes: 569_728,
        watermark_ms: nowMs - 2_000,
        watermark_lag_ms: 2_000,
        busy_ratio: 0.14,
        backpressure_ratio: index === 0 ? 0.62 : 0,
        told_at_ms: nowMs,
      }),
    ),
    edges: [
      edge("s0.0", "s1.0", 0.62),
      edge("s0.0", "s1.1", 0),
      edge("s1.0", "s2.0", 0),
      edge("s1.1", "s2.0", 0),
    ],
    checkpoints: [3, 2, 1].map((checkpoint) => ({
      checkpoint,
      epoch,
      begun_at_ms: nowMs - (4 - checkpoint) * 10_000,
      duration_ms: 80 + checkpoint,
      bytes: 4_096 * checkpoint,
      savepoint: false,
    })),
    held_back_by: { fragment: "s0.0", source: "bids", watermark_ms: nowMs - 2_000, reason },
  };
}

/** Rows come out for as long as their rate says so. */
function now(live: LiveQuery): LiveQuery {
  const nowMs = Date.now();
  const since = (nowMs - live.at_ms) / 1_000;
  return {
    ...live,
    at_ms: nowMs,
    fragments: live.fragments.map((each) => ({
      ...each,
      rows_out: Math.round((each.rows_out ?? 0) + since * (each.rows_out_per_second ?? 0)),
    })),
  };
}

function send(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
