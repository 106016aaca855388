/**
 * A coordinator's HTTP API without a cluster: for states that a real one is seldom in (no workers,
 * a refused token, a cut connection), and for work on the dashboard alone. `node
 * web/testing/fake-api.ts [PORT]` serves a cluster that is always a little busy.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import type { Duplex } from "node:stream";
import { isFromElsewhere, markedPage } from "../../src/faces/api/arrival-mark.ts";
import type { AttentionItem, ClusterStatus, QueryRecord, Worker } from "../src/api/gen/types.ts";
import type { WorkerRow } from "../src/api/worker-condition.ts";
import { answerPrometheus, type QueryHandler } from "./fake-prometheus.ts";
import { FakeStreams } from "./fake-streams.ts";
import { FakeTables } from "./fake-tables.ts";

const dist = join(import.meta.dirname, "../dist");
const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};
/** As strict as the page allows; a violation is a bug of the page. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

type StreamKind = "watch" | "live" | "tables" | "queries";

/** The body of a response, or a WebSocket. */
interface Stream {
  write(text: string): void;
  destroy(): void;
}

export class FakeApi {
  readonly workers = new Map<string, Worker>();
  readonly tables = new FakeTables(() => this.#pushUnkeyed("tables"));
  readonly streams = new FakeStreams(() => this.#pushUnkeyed("queries"));
  queries: QueryRecord[] = [];
  attention: AttentionItem[] = [];
  role: ClusterStatus["role"] = "leader";
  /** When set, requests under /api must carry it. */
  token: string | undefined;
  /** When set, requests under /api are cut off without an answer. */
  down = false as boolean;
  /** False without a control store to watch, like a query-api on a static list. */
  watchable = true as boolean;
  /** False when WebSockets fail, as with some proxies. */
  webSockets = true as boolean;
  /** Answers `POST /api/v1/sql`; the default is one row. */
  sql: (sql: string, response: ServerResponse) => void = answerFortyTwo;
  /** Answers `/api/v1/query_stream`; the default is a curve for each of three jobs. */
  query: QueryHandler | undefined;
  /** Method and path of every request under /api, in order. */
  readonly requests: string[] = [];
  revision = 1;
  completed = 0;
  #streams = new Map<Stream, StreamKind>();
  #startedAtMs = Date.now();
  #server: Server = createServer((request, response) => void this.#answer(request, response));
  #ticker: NodeJS.Timeout | undefined;

  async start(port = 0): Promise<string> {
    if (this.webSockets) {
      this.#server.on("upgrade", (request, socket) => this.#upgrade(request, socket));
    }
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    this.#ticker = setInterval(() => this.pushLive(), 1_000);
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    clearInterval(this.#ticker);
    this.cutStreams();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  setWorker(worker: Worker): void {
    const op = this.workers.has(worker.worker_id) ? "UPDATE" : "CREATE";
    this.workers.set(worker.worker_id, worker);
    this.#pushChange(op, worker.worker_id, rowOf(worker));
  }

  dropWorker(workerId: string): void {
    this.workers.delete(workerId);
    this.#pushChange("DROP", workerId);
  }

  /** The event streams that are open now. */
  get streamCount(): number {
    return this.#streams.size;
  }

  cutStreams(): void {
    for (const stream of this.#streams.keys()) stream.destroy();
    this.#streams.clear();
  }

  pushLive(): void {
    this.#push("live", "live", {
      status: this.#status(),
      workers: [...this.workers.values()],
      queries: this.queries,
      attention: { total: this.attention.length, items: this.attention },
    });
  }

  #pushChange(op: "CREATE" | "UPDATE" | "DROP", key: string, data?: WorkerRow): void {
    this.revision += 1;
    this.#push("watch", op, { type: "EVENT", op, key, revision: this.revision, data });
    this.pushLive();
  }

  /** Pages follow these tables as a signal only. */
  #pushUnkeyed(kind: "tables" | "queries"): void {
    this.revision += 1;
    const change = { type: "EVENT", op: "UPDATE", key: "", revision: this.revision, data: {} };
    this.#push(kind, "UPDATE", change);
  }

  #push(kind: StreamKind, event: string, data: unknown): void {
    const text = `event: ${event}\nid: ${this.revision}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const [stream, streamKind] of this.#streams) if (streamKind === kind) stream.write(text);
  }

  #upgrade(request: IncomingMessage, socket: Duplex): void {
    const url = new URL(request.url ?? "/", "http://fake");
    const { "sec-websocket-protocol": protocols = "" } = request.headers;
    socket.on("error", () => undefined);
    if (this.down) {
      socket.destroy();
      return;
    }
    this.requests.push(`${request.method} ${url.pathname}${url.search}`);
    if (this.token !== undefined && !protocols.split(/, */).includes(`bearer.${this.token}`)) {
      socket.end("HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    const accept = createHash("sha1")
      .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n" +
        `sec-websocket-accept: ${accept}\r\nsec-websocket-protocol: capstan\r\n\r\n`,
    );
    socket.resume(); // Only a close arrives here, and that ends the socket.
    const stream: Stream = {
      write: (text) => void (socket.writable && socket.write(frameOf(text))),
      destroy: () => socket.destroy(),
    };
    socket.on("end", () => socket.destroy());
    socket.on("close", () => this.#streams.delete(stream));
    if (url.pathname === "/api/v1/watch" && !this.watchable) {
      const refusal = { code: "unsupported", message: "There is no control store.", status: 501 };
      stream.write(`event: error\ndata: ${JSON.stringify(refusal)}\n\n`);
      socket.end();
    } else this.#openStream(stream, url);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://fake");
    if (!url.pathname.startsWith("/api/")) {
      await serveFile(url.pathname, request, response);
      return;
    }
    if (this.down) {
      response.destroy();
      return;
    }
    this.requests.push(`${request.method} ${url.pathname}${url.search}`);
    if (this.token !== undefined && request.headers.authorization !== `Bearer ${this.token}`) {
      sendError(response, 401, "unauthenticated", "A token is needed.");
      return;
    }
    const form = new URLSearchParams([...url.searchParams, ...(await formOf(request))]);
    if (answerPrometheus(url.pathname, form, response, this.query)) return;
    await this.#answerApi(request, response, url);
  }

  async #answerApi(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const [, workerId = "", verb] =
      /^\/api\/v1\/workers\/([^/]+)\/?(\w*)$/.exec(url.pathname) ?? [];
    const worker = this.workers.get(workerId);
    const method = request.method ?? "GET";
    if (this.tables.answer(method, url, response)) return;
    if (this.streams.answer(method, url, response)) return;
    if (/^\/api\/v1\/(watch|live)$/.test(url.pathname)) this.#openBody(response, url);
    else if (url.pathname === "/api/v1/sql") this.sql(await sqlOf(request), response);
    else if (worker === undefined) sendError(response, 404, "not_found", "There is no such thing.");
    else this.#act(worker, request.method === "DELETE" ? "drop" : verb, response);
  }

  #act(worker: Worker, verb: string | undefined, response: ServerResponse): void {
    if (this.role !== "leader") {
      const hint = "Ask the leader: http://127.0.0.1:4600";
      sendError(response, 503, "not_leader", "This coordinator stands by.", hint);
      return;
    }
    if (verb === "drop") this.dropWorker(worker.worker_id);
    else
      this.setWorker({ ...worker, drain_requested: verb === "drain", draining: verb === "drain" });
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  }

  #openBody(response: ServerResponse, url: URL): void {
    if (url.pathname === "/api/v1/watch" && !this.watchable) {
      sendError(response, 501, "unsupported", "There is no control store here.");
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.on("close", () => this.#streams.delete(response));
    this.#openStream(response, url);
  }

  #openStream(stream: Stream, url: URL): void {
    const kind = kindOf(url);
    stream.write(": hello\n\n");
    this.#streams.set(stream, kind);
    if (kind === "live") this.pushLive();
    else if (kind !== "watch" || url.searchParams.get("revision") !== String(this.revision)) {
      const data = kind !== "watch" ? [] : [...this.workers.values()].map(rowOf);
      this.#push(kind, "SNAPSHOT", { type: "SNAPSHOT", revision: this.revision, data });
    }
  }

  #status(): ClusterStatus {
    const workers = [...this.workers.values()];
    const unreachable = workers.filter(({ state }) => state === "UNREACHABLE").length;
    const draining = workers.filter(({ drain_requested }) => drain_requested).length;
    const inState = (state: string): number =>
      this.queries.filter((query) => query.state === state).length;
    return {
      version: "0.1.0",
      role: this.role,
      lease: { holder: "coordinator-1", epoch: 3, api_url: "http://127.0.0.1:4600" },
      store: { dialect: "sqlite", schema_version: 1 },
      workers: { active: workers.length - unreachable - draining, unreachable, draining },
      queries: {
        running: inState("running"),
        queued: inState("queued"),
        completed_total: this.completed,
        failed_total: inState("failed"),
        oldest_age_ms: 0,
      },
      stored_files: null,
      parts: [],
      started_at_ms: this.#startedAtMs,
      uptime_ms: Date.now() - this.#startedAtMs,
    };
  }
}

function kindOf({ pathname, searchParams }: URL): StreamKind {
  if (pathname === "/api/v1/live") return "live";
  const select = searchParams.get("select") ?? "";
  if (select.includes("FROM dynamic_tables")) return "tables";
  return select === "" ? "watch" : "queries";
}

export function fakeWorker(number: number, changes: Partial<Worker> = {}): Worker {
  return {
    worker_id: `worker-${number}`,
    host_name: "127.0.0.1",
    grpc_port: 41_000 + number,
    data_port: 42_000 + number,
    capacity: 2,
    state: "ACTIVE",
    state_reason: "answers its heartbeats",
    state_changed_at_ms: Date.now(),
    drain_requested: false,
    accepting_work: true,
    draining: false,
    incarnation: `7f3a${number}c09d1e2`,
    software_version: "0.1.0",
    registered_at_ms: Date.now(),
    live: {
      session: true,
      rtt_ms: 0.8 + number / 10,
      last_answer_ms_ago: 120 + 70 * number,
      facts: {
        cpu_ratio: String(0.07 * number),
        memory_bytes: String((180 + 9 * number) * 2 ** 20),
        event_loop_delay_ms: "1.2",
        queue_depth: "0",
        running_work: "1",
        completed_work_total: "1204",
        failed_work_total: "2",
        spool_bytes: "40960",
        spool_free_bytes: String(2 ** 30),
        uptime_ms: "734000",
      },
    },
    ...changes,
  };
}

export function fakeQuery(number: number, changes: Partial<QueryRecord> = {}): QueryRecord {
  return {
    query_id: `q${number}`,
    kind: "sql",
    text: "SELECT i, i * i AS square FROM range(1, 11) t(i)",
    state: "done",
    started_at_ms: Date.now() - number * 4_000,
    duration_ms: 14.2 + number,
    row_count: 10,
    worker_id: `worker-${1 + (number % 2)}`,
    attempts: 1,
    error: null,
    ...changes,
  };
}

function answerFortyTwo(_sql: string, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  response.write('{"query_id":"q1","columns":[{"name":"answer","type":"INTEGER"}]}\n[42]\n');
  response.end(
    '{"summary":{"row_count":1,"duration_ms":9,"worker_id":"worker-1","artifact_bytes":300}}\n',
  );
}

export function sendError(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
  hint?: string,
): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ code, message, hint }));
}

/** One unmasked text frame. */
function frameOf(text: string): Buffer {
  const body = Buffer.from(text);
  const { length } = body;
  const head = Buffer.alloc(length < 126 ? 2 : length < 2 ** 16 ? 4 : 10);
  head[0] = 0x81;
  head[1] = head.length === 2 ? length : head.length === 4 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, body]);
}

/** The change log has flags as the store does. */
function rowOf({ live: _live, ...row }: Worker): WorkerRow {
  const flags = {
    drain_requested: Number(row.drain_requested),
    accepting_work: Number(row.accepting_work),
    draining: Number(row.draining),
  };
  return { ...row, ...flags } as unknown as WorkerRow;
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  const { "content-type": type = "" } = request.headers;
  if (!type.startsWith("application/x-www-form-urlencoded")) return new URLSearchParams();
  return new URLSearchParams(await bodyOf(request));
}

async function sqlOf(request: IncomingMessage): Promise<string> {
  return (JSON.parse(await bodyOf(request)) as { sql: string }).sql;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function serveFile(
  path: string,
  { headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const type = contentTypes[extname(path)];
  const file = type === undefined ? "index.html" : path;
  const body = await readFile(join(dist, file)).catch(() => undefined);
  response.writeHead(body === undefined ? 404 : 200, {
    "content-type": type ?? "text/html",
    "content-security-policy": contentSecurityPolicy,
  });
  const isMarked = file === "index.html" && isFromElsewhere(headers["sec-fetch-site"]);
  response.end(isMarked && body !== undefined ? markedPage(body.toString()) : body);
}

if (import.meta.main) {
  const api = new FakeApi();
  for (let number = 1; number <= 5; number += 1) api.setWorker(fakeWorker(number));
  api.queries = [1, 2, 3, 4].map((number) => fakeQuery(number));
  setInterval(() => {
    api.completed += Math.round(Math.random() * 6);
  }, 500);
  process.stdout.write(`${await api.start(Number(process.argv[2] ?? 4680))}\n`);
}
