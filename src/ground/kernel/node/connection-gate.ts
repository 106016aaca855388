/**
 * Limits how many connections an HTTP server holds, and decides which to close when there are too
 * many. Sockets that say nothing, or send a request byte by byte, cost their client nothing; so
 * they must never keep others out. Rules: CG1 to CG6.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { isIPv6, type Socket } from "node:net";
import type { Clock, Timer } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { realClock } from "./real-clock.ts";

export interface ConnectionLimits {
  readonly total: number;
  readonly perClient: number;
  readonly forHealth: number;
  readonly bodyBytes: number;
  /** The number of queued requests of one connection, besides the one under way. */
  readonly requestsWaiting: number;
  /** CG6. How long a client may take nothing of an answer. */
  readonly stallMs?: number;
}

export interface ConnectionFigures {
  readonly open: number;
  /** Connections closed or refused since the start. */
  readonly evicted: number;
  readonly restricted: number;
}

interface Connection {
  readonly key: string;
  readonly socket: Socket;
  readonly client: Client;
  isRestricted: boolean;
  /** Whether a request has begun or is about to begin. */
  isBusy: boolean;
  /** The requests after that one, in order of arrival. */
  readonly waiting: Exchange[];
  receiving: { readonly sinceMs: number; readonly bytesBefore: number } | undefined;
  answering: Answering | undefined;
}

/** An answer being sent, and how much of it the client took. */
interface Answering {
  /** The request's socket; over TLS it is not the connection's. */
  readonly socket: Socket;
  takenBytes: number;
  /** When the client last took something, or nothing was waiting for it. */
  atMs: number;
}

interface Exchange {
  readonly connection: Connection;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Client {
  readonly name: string;
  count: number;
  /** The longest idle connection is first. */
  readonly idle: Map<string, Connection>;
}

/** During a burst, Node still counts the connections that were closed to make room for it. */
const burstMax = 1_024;
const bodyLookMs = 100;
const answerLookMs = 500;
const stallMsDefault = 10_000;
/** CG6. After this long, a stalled connection may be closed to make room. */
const stalledMs = 1_000;
const dripBytesPerMs = 1;
const warnEveryMs = 10_000;
/** Requests that begin in one turn of the event loop. A turn without work takes microseconds. */
const beginsPerTurn = 8;

export class ConnectionGate {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #logger: Pick<Logger, "warn">;
  readonly #connections = new Map<string, Connection>();
  readonly #clients = new Map<string, Client>();
  readonly #idle = new Map<string, Connection>();
  readonly #restricted = new Map<string, Connection>();
  readonly #receiving = new Set<Connection>();
  readonly #answering = new Set<Connection>();
  readonly #serve: (exchange: Exchange) => void;
  readonly #isUrgent: (request: IncomingMessage) => boolean;
  /** At most one request of each connection, so that connections take turns. */
  readonly #due: Exchange[] = [];
  #begunInTurn = 0;
  #turn: NodeJS.Immediate | undefined;
  #timer: Timer | undefined;
  #answerTimer: Timer | undefined;
  #evicted = 0;
  #warnedMs = Number.NEGATIVE_INFINITY;

  /**
   * Create it after all listeners of `server` are added and before it listens. `isUrgent` tells
   * requests for health (CG5).
   */
  constructor(
    server: Server,
    limits: ConnectionLimits,
    logger: Pick<Logger, "warn">,
    clock: Clock = realClock,
    isUrgent: (request: IncomingMessage) => boolean = () => false,
  ) {
    this.#limits = limits;
    this.#clock = clock;
    this.#logger = logger;
    server.maxConnections = limits.total + limits.forHealth + burstMax;
    server.prependListener("connection", (socket: Socket) => this.#accept(socket));
    const listeners = server.listeners("request") as RequestListener[];
    server.removeAllListeners("request");
    server.on("request", (request, response) => this.#arrive(request, response));
    this.#serve = ({ request, response }) => {
      for (const listener of listeners) listener.call(server, request, response);
    };
    this.#isUrgent = isUrgent;
    // If no upgrade listener exists, ours would suppress Node's own answer.
    if (server.listenerCount("upgrade") > 0) {
      server.prependListener("upgrade", (request: IncomingMessage) => this.#hold(request));
    }
  }

  /** CG2. Whether this connection may only ask for health. */
  isRestricted(request: IncomingMessage): boolean {
    return this.#of(request)?.isRestricted ?? false;
  }

  get figures(): ConnectionFigures {
    const { size: open } = this.#connections;
    return { open, evicted: this.#evicted, restricted: this.#restricted.size };
  }

  #accept(socket: Socket): void {
    const name = clientOf(socket.remoteAddress ?? "");
    const client = this.#clients.get(name) ?? { name, count: 0, idle: new Map() };
    const { perClient, total, forHealth } = this.#limits;
    const open = this.#connections.size - this.#restricted.size;
    const hasRoom =
      (client.count < perClient || this.#makeRoom(client, `of ${name}`, perClient)) &&
      (open < total || this.#makeRoom(undefined, "in all", total));
    const key = keyOf(socket);
    const connection: Connection = {
      key,
      socket,
      client,
      isRestricted: !hasRoom,
      isBusy: false,
      waiting: [],
      receiving: undefined,
      answering: undefined,
    };
    this.#clients.set(name, client);
    this.#connections.set(key, connection);
    socket.once("close", () => this.#forget(connection));
    if (hasRoom) {
      client.count += 1;
      this.#rest(connection);
      return;
    }
    this.#restricted.set(key, connection);
    const [oldest] = this.#restricted.values();
    if (this.#restricted.size > forHealth && oldest !== undefined) this.#evict(oldest); // CG2
  }

  /** CG4 */
  #arrive(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#of(request);
    if (connection === undefined || request.socket.destroyed) return; // Closed.
    const exchange = { connection, request, response };
    this.#wake(connection);
    if (connection.isBusy) {
      connection.waiting.push(exchange);
      const { requestsWaiting } = this.#limits;
      if (connection.waiting.length <= requestsWaiting) return;
      const message = `a connection of ${connection.client.name} has too many requests waiting and is closed: the limit requests_per_connection is ${requestsWaiting}`;
      this.#warn(message);
      this.#evict(connection);
      return;
    }
    connection.isBusy = true;
    const isUrgent = connection.isRestricted || this.#isUrgent(request);
    if (isUrgent || (this.#begunInTurn < beginsPerTurn && this.#due.length === 0)) {
      this.#begin(exchange);
    } else this.#due.push(exchange);
  }

  #begin(exchange: Exchange): void {
    this.#begunInTurn += 1;
    this.#awaitTurn();
    const { connection, request, response } = exchange;
    if (request.socket.destroyed) return; // CG4
    if (hasBody(request)) this.#receive(connection, request);
    this.#answer(connection, request.socket);
    response.once("close", () => this.#finish(connection));
    this.#serve(exchange);
  }

  #finish(connection: Connection): void {
    this.#received(connection);
    this.#answered(connection);
    const next = connection.waiting.shift();
    if (next !== undefined) {
      this.#due.push(next);
      this.#awaitTurn();
      return;
    }
    connection.isBusy = false;
    if (!connection.isRestricted) this.#rest(connection);
  }

  /** CG5 */
  #awaitTurn(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#begunInTurn = 0;
      for (const exchange of this.#due.splice(0, beginsPerTurn)) this.#begin(exchange);
    });
  }

  /** An upgraded connection is never idle; its owner limits what it carries. */
  #hold(request: IncomingMessage): void {
    const connection = this.#of(request);
    if (connection !== undefined) this.#wake(connection);
  }

  #receive(connection: Connection, request: IncomingMessage): void {
    const { bytesRead: bytesBefore } = connection.socket;
    connection.receiving = { sinceMs: this.#clock.nowMs(), bytesBefore };
    this.#receiving.add(connection);
    request.once("end", () => this.#received(connection));
    this.#timer ??= this.#clock.after(bodyLookMs, () => this.#lookAtBodies());
  }

  #received(connection: Connection): void {
    connection.receiving = undefined;
    this.#receiving.delete(connection);
  }

  /** CG3 */
  #lookAtBodies(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.nowMs();
    const arriving = [...this.#receiving].map((connection) => {
      const { sinceMs = nowMs, bytesBefore = 0 } = connection.receiving ?? {};
      const bytes = connection.socket.bytesRead - bytesBefore;
      return { connection, bytes, perMs: bytes / Math.max(1, nowMs - sinceMs) };
    });
    let sum = arriving.reduce((total, { bytes }) => total + bytes, 0);
    arriving.sort((a, b) => a.perMs - b.perMs);
    for (const { connection, bytes } of arriving) {
      if (sum <= this.#limits.bodyBytes) break;
      sum -= bytes;
      this.#warn(`${this.#receiving.size} request bodies are arriving: the slowest are refused`);
      this.#received(connection);
      this.#refuse(connection);
    }
    if (this.#receiving.size > 0) {
      this.#timer = this.#clock.after(bodyLookMs, () => this.#lookAtBodies());
    }
  }

  #answer(connection: Connection, socket: Socket): void {
    const [takenBytes, atMs] = [takenOf(socket), this.#clock.nowMs()];
    connection.answering = { socket, takenBytes, atMs };
    this.#answering.add(connection);
    this.#lookAtAnswersLater();
  }

  #answered(connection: Connection): void {
    connection.answering = undefined;
    this.#answering.delete(connection);
  }

  #lookAtAnswersLater(): void {
    const { stallMs = stallMsDefault } = this.#limits;
    const lookMs = Math.min(answerLookMs, stallMs / 2);
    this.#answerTimer ??= this.#clock.after(lookMs, () => this.#lookAtAnswers(stallMs));
  }

  /** CG6 */
  #lookAtAnswers(stallMs: number): void {
    this.#answerTimer = undefined;
    const nowMs = this.#clock.nowMs();
    for (const connection of this.#answering) {
      const { answering } = connection;
      if (answering === undefined) continue;
      const takenBytes = takenOf(answering.socket);
      const isTaken = answering.socket.writableLength === 0 || takenBytes > answering.takenBytes;
      if (isTaken) Object.assign(answering, { takenBytes, atMs: nowMs });
      else if (nowMs - answering.atMs >= stallMs) this.#evict(connection);
    }
    if (this.#answering.size > 0) this.#lookAtAnswersLater();
  }

  /** CG1, CG6. Whether there is room for one more, of `client` or in total. */
  #makeRoom(client: Client | undefined, whose: string, limit: number): boolean {
    this.#warn(`there are ${limit} connections ${whose}: the limit`);
    const [longest] = (client?.idle ?? this.#idle).values();
    const gone = longest ?? this.#longestStalled(client);
    if (gone === undefined) return false;
    this.#evict(gone);
    return true;
  }

  #longestStalled(client: Client | undefined): Connection | undefined {
    const nowMs = this.#clock.nowMs();
    let found: Connection | undefined;
    let foundMs = nowMs - stalledMs;
    for (const connection of this.#answering) {
      if (connection.isRestricted || (client ?? connection.client) !== connection.client) continue;
      const sinceMs = stalledSinceMs(connection, nowMs);
      if (sinceMs === undefined || sinceMs > foundMs) continue;
      [found, foundMs] = [connection, sinceMs];
    }
    return found;
  }

  #evict(connection: Connection): void {
    this.#evicted += 1;
    this.#forget(connection);
    connection.socket.destroy();
  }

  #refuse(connection: Connection): void {
    this.#evicted += 1;
    const { bodyBytes } = this.#limits;
    const message = `too many bytes of requests are arriving at once; the limit request_bytes is ${bodyBytes}`;
    const body = JSON.stringify({ code: "overloaded", message });
    connection.socket.write(
      `HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json; charset=utf-8\r\n` +
        `retry-after: 1\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    );
    connection.socket.destroySoon();
  }

  /** Idempotent. */
  #forget(connection: Connection): void {
    const { key, client } = connection;
    if (this.#connections.get(key) !== connection) return;
    this.#connections.delete(key);
    this.#restricted.delete(key);
    this.#received(connection);
    this.#answered(connection);
    this.#wake(connection);
    connection.waiting.length = 0;
    if (!connection.isRestricted) client.count -= 1;
    const isKnown = [...this.#restricted.values()].some(({ client: of }) => of === client);
    if (client.count === 0 && !isKnown) this.#clients.delete(client.name);
  }

  #rest(connection: Connection): void {
    if (this.#connections.get(connection.key) !== connection) return;
    this.#idle.set(connection.key, connection);
    connection.client.idle.set(connection.key, connection);
  }

  #wake({ key, client }: Connection): void {
    this.#idle.delete(key);
    client.idle.delete(key);
  }

  #of({ socket }: IncomingMessage): Connection | undefined {
    return this.#connections.get(keyOf(socket));
  }

  #warn(message: string): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#warnedMs < warnEveryMs) return;
    this.#warnedMs = nowMs;
    this.#logger.warn({ ...this.figures }, message);
  }
}

/** CG6. Undefined when the connection does not stall. */
function stalledSinceMs(
  { receiving, answering, socket }: Connection,
  nowMs: number,
): number | undefined {
  if (receiving !== undefined) {
    const { sinceMs, bytesBefore } = receiving;
    const isDripping = socket.bytesRead - bytesBefore < (nowMs - sinceMs) * dripBytesPerMs;
    return isDripping ? sinceMs : undefined;
  }
  return answering !== undefined && answering.socket.writableLength > 0
    ? answering.atMs
    : undefined;
}

/** Bytes that left for the client, as far as this process knows. */
function takenOf({ bytesWritten, writableLength }: Socket): number {
  return bytesWritten - writableLength;
}

/** The same key for a socket and for the TLS socket over it. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** CG1. The address or network that counts as one client. */
export function clientOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [before = "", after] = address.split("%", 1)[0]?.split("::") ?? [];
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  const missing = after === undefined ? 0 : Math.max(0, 8 - head.length - tail.length);
  const groups = [...head, ...Array.from({ length: missing }, () => "0"), ...tail];
  if (groups.slice(0, 7).every((group) => Number.parseInt(group, 16) === 0)) return address; // ::1
  return `${groups.slice(0, 4).join(":")}::/64`;
}

function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}
