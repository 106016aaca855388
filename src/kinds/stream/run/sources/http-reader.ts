/**
 * Listens on a port and takes the records that are sent to it with POST. A request is queued as a
 * whole, or refused as a whole: with 429 when there is no room, so that whoever sends may try again
 * later. What was accepted is in memory only: at most once (SU17).
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Clock, sleep } from "../../../../ground/kernel/clock.ts";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import { isLoopback } from "../../../../ground/process/index.ts";
import { DialectError } from "../../language/core/index.ts";
import type { Reading, SourceReader } from "../core/connector.ts";

export interface HttpReaderOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly path: string;
  readonly token: string | undefined;
  /** What ends a record: it is added to a request that does not end with it. */
  readonly delimiter: Uint8Array;
  readonly bufferBytes: number;
  /** The most bytes of requests that wait or are under way. */
  readonly queueBytesMax: number;
  readonly clock: Clock;
  /** Told once the port is open. */
  readonly onListening?: (url: string) => void;
}

type Answer = readonly [status: number, code: string, message: string];

const idleMs = 100;

export async function openHttpReader(options: HttpReaderOptions): Promise<SourceReader> {
  const { host, token } = options;
  if (token === undefined && !isLoopback(host)) {
    throw new DialectError(1000, `an HTTP source on ${host} takes rows from everybody`, {
      hint: 'Give it a token ("SOURCE".TOKEN), or let it listen on 127.0.0.1.',
    });
  }
  const queue = new RequestQueue(options.queueBytesMax);
  const server = createServer((request, response) => {
    take(request, options, queue).then(
      ([status, code, message]) => answer(response, status, { code, message }),
      () => response.destroy(), // The client is gone.
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(
        new DialectError(
          4002,
          `the port ${options.host}:${options.port} cannot be opened: ${messageOf(error)}`,
        ),
      ),
    );
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  options.onListening?.(`http://${options.host}:${port}${options.path}`);
  const closed = new AbortController();
  let rest: Uint8Array = new Uint8Array(0);

  async function read(): Promise<Reading> {
    if (rest.length === 0) {
      if (queue.isEmpty && !closed.signal.aborted) {
        await Promise.race([queue.arrival(), sleep(options.clock, idleMs, closed.signal)]);
      }
      const taken = queue.take();
      if (taken === undefined) return { kind: closed.signal.aborted ? "end" : "idle" };
      rest = taken;
    }
    const bytes = rest.subarray(0, options.bufferBytes);
    rest = rest.subarray(bytes.length);
    return { kind: "bytes", bytes };
  }

  return {
    bounded: false,
    read,
    position: () => undefined,
    /** What was accepted is read to its end. */
    close: async () => {
      if (closed.signal.aborted) return;
      closed.abort();
      queue.close();
      const ended = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await ended;
    },
  };
}

/** Requests that wait to be read. Their bytes count as soon as they arrive. */
class RequestQueue {
  readonly bytesMax: number;
  readonly #waiting: Uint8Array[] = [];
  #bytes = 0;
  #isClosed = false;
  #arrived = Promise.withResolvers<void>();

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether there is room for so many bytes, which then count. */
  reserve(bytes: number): boolean {
    if (this.#bytes + bytes > this.bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** The bytes were reserved before. */
  add(body: Uint8Array): void {
    this.#waiting.push(body);
    this.#arrived.resolve();
  }

  take(): Uint8Array | undefined {
    const body = this.#waiting.shift();
    if (body !== undefined) this.#bytes -= body.length;
    return body;
  }

  arrival(): Promise<void> {
    this.#arrived = Promise.withResolvers();
    return this.#arrived.promise;
  }

  close(): void {
    this.#isClosed = true;
  }
}

async function take(
  request: IncomingMessage,
  options: HttpReaderOptions,
  queue: RequestQueue,
): Promise<Answer> {
  const refused = refusal(request, options);
  if (refused !== undefined) {
    request.resume();
    return refused;
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let isQueued = false;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (bytes + chunk.length + options.delimiter.length > queue.bytesMax) {
        return [413, "too_large", `a request has at most ${queue.bytesMax} bytes`];
      }
      if (!queue.reserve(chunk.length)) return noRoom;
      bytes += chunk.length;
      chunks.push(chunk);
    }
    if (bytes === 0) return [202, "accepted", "there was nothing in the request"];
    const body = Buffer.concat(chunks);
    const tail = body.subarray(-options.delimiter.length);
    if (!tail.equals(options.delimiter)) {
      if (!queue.reserve(options.delimiter.length)) return noRoom;
      bytes += options.delimiter.length;
      chunks.push(options.delimiter);
    }
    if (queue.isClosed) return [503, "closed", "the query has ended"];
    queue.add(Buffer.concat(chunks));
    isQueued = true;
    return [202, "accepted", `${body.length} bytes`];
  } finally {
    if (!isQueued) queue.release(bytes);
  }
}

const noRoom: Answer = [429, "no_room", "the query has no room for more now; send it again later"];

function refusal(request: IncomingMessage, { path, token }: HttpReaderOptions): Answer | undefined {
  const [asked] = (request.url ?? "").split("?");
  if (asked !== path) return [404, "not_found", `rows are sent to ${path}`];
  if (token !== undefined) {
    const given = /^Bearer (.*)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
    if (!isSame(given, token)) return [401, "unauthenticated", "the bearer token is not right"];
  }
  if (request.method !== "POST") return [405, "method", "rows are sent with POST"];
  return undefined;
}

/** Takes the same time wherever two texts differ. */
function isSame(one: string, other: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(one), hash(other));
}

function answer(response: ServerResponse, status: number, body: object): void {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (status === 429) headers["retry-after"] = "1";
  if (status === 401) headers["www-authenticate"] = "Bearer";
  if (status === 405) headers.allow = "POST";
  // What is left of a refused body is not waited for.
  if (status >= 400) headers.connection = "close";
  response.writeHead(status, headers).end(`${JSON.stringify(body)}\n`);
}
