/**
 * Sends frames to fragments of another process: one connection for each process, one stream of it
 * for each edge, and no more bytes under way than the receiver has given credit for (SU24).
 */
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { DialectError } from "../../language/core/index.ts";
import type { OutEdge } from "../core/edge.ts";
import { type EdgeName, edgePath } from "./edge-hub.ts";
import { exchangePrefix } from "./exchange-server.ts";
import { edgeBytesMax } from "./memory-edge.ts";

export interface ExchangeClientOptions {
  readonly headers: Readonly<Record<string, string>>;
}

export class ExchangeClient {
  readonly #options: ExchangeClientOptions;
  readonly #sessions = new Map<string, ClientHttp2Session>();

  constructor(options: ExchangeClientOptions) {
    this.#options = options;
  }

  close(): void {
    for (const session of this.#sessions.values()) session.destroy();
    this.#sessions.clear();
  }

  send(address: string, name: EdgeName): OutEdge {
    const stream = this.#session(address).request(
      {
        ...this.#options.headers,
        [constants.HTTP2_HEADER_METHOD]: "POST",
        [constants.HTTP2_HEADER_PATH]: `${exchangePrefix}${edgePath(name)}`,
      },
      { endStream: false },
    );
    const waiting: Uint8Array[] = [];
    let waitingBytes = 0;
    let credit = edgeBytesMax;
    let failure: Error | undefined;
    let room = Promise.withResolvers<void>();
    let moved = Promise.withResolvers<void>();
    let partial = Buffer.alloc(0);
    const fail = (why: string): void => {
      failure ??= new DialectError(4001, `the exchange with ${address} was lost: ${why}`);
      for (const waits of [room, moved]) {
        waits.promise.catch(() => undefined);
        waits.reject(failure);
      }
    };
    const flush = (): void => {
      while (waiting.length > 0 && credit > 0) {
        const frame = waiting.shift() as Uint8Array;
        waitingBytes -= frame.length;
        credit -= frame.length;
        stream.write(frame);
      }
      moved.resolve();
      moved = Promise.withResolvers();
      if (waitingBytes <= edgeBytesMax) {
        room.resolve();
        room = Promise.withResolvers();
      }
    };
    stream.on("response", (headers) => {
      const status = Number(headers[constants.HTTP2_HEADER_STATUS]);
      if (status !== 200) fail(`it answered with status ${status}`);
    });
    stream.on("data", (chunk: Buffer) => {
      partial = Buffer.concat([partial, chunk]);
      while (partial.length >= 4) {
        credit += partial.readUInt32LE(0);
        partial = partial.subarray(4);
      }
      flush();
    });
    stream.on("error", (error) => fail(error.message));
    stream.on("close", () => {
      if (waiting.length > 0) fail("the connection was closed");
    });
    return {
      send: (frame) => {
        if (failure !== undefined) throw failure;
        waiting.push(frame);
        waitingBytes += frame.length;
        flush();
        return waitingBytes > edgeBytesMax ? room.promise : undefined;
      },
      flush: async () => {
        while (waiting.length > 0) await moved.promise;
        if (failure !== undefined) throw failure;
      },
      close: () => {
        if (waiting.length === 0) stream.end();
        else stream.close(constants.NGHTTP2_CANCEL);
      },
    };
  }

  #session(address: string): ClientHttp2Session {
    let session = this.#sessions.get(address);
    if (session === undefined || session.closed || session.destroyed) {
      session = connect(address, { settings: { initialWindowSize: 4 * edgeBytesMax } });
      session.on("error", () => undefined); // Every stream of it is told.
      this.#sessions.set(address, session);
    }
    return session;
  }
}
