/**
 * Reads what a server sends, until it ends the connection. A connection that cannot be made or that
 * breaks is made again, a number of times; the record that it broke in is dropped. Nothing that was
 * sent can be asked for again, so a query over it is at most once (SU5).
 */
import type { Socket } from "node:net";
import { type Clock, sleep } from "../../../../ground/kernel/clock.ts";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import { DialectError } from "../../language/core/index.ts";
import type { Reading, SourceReader } from "../core/connector.ts";
import { connectSocket, type SocketAddress } from "../net/connect-socket.ts";

export interface TcpReaderOptions extends SocketAddress {
  readonly bufferBytes: number;
  /** How often in a row it is tried again. */
  readonly retries: number;
  readonly retryIntervalMs: number;
  readonly clock: Clock;
}

const idleMs = 100;

/** Opens the first connection; where that fails for good, it throws. */
export async function openTcpReader(options: TcpReaderOptions): Promise<SourceReader> {
  const reader = new TcpReader(options);
  while (!(await reader.connect())) await reader.pause();
  return reader;
}

class TcpReader implements SourceReader {
  readonly bounded = false;
  readonly #options: TcpReaderOptions;
  readonly #closed = new AbortController();
  #socket: Socket | undefined;
  #chunks: AsyncIterator<Buffer> | undefined;
  #next: Promise<IteratorResult<Buffer>> | undefined;
  #rest: Uint8Array = new Uint8Array(0);
  /** Attempts since bytes came the last time. */
  #failures = 0;

  constructor(options: TcpReaderOptions) {
    this.#options = options;
  }

  async read(): Promise<Reading> {
    const { bufferBytes } = this.#options;
    if (this.#rest.length === 0) {
      const arrived = await this.#receive();
      if (!(arrived instanceof Uint8Array)) return arrived;
      this.#rest = arrived;
    }
    const bytes = this.#rest.subarray(0, bufferBytes);
    this.#rest = this.#rest.subarray(bytes.length);
    return { kind: "bytes", bytes };
  }

  position(): undefined {
    return undefined;
  }

  close(): Promise<void> {
    this.#closed.abort();
    this.#drop();
    return Promise.resolve();
  }

  /** False when it failed and may be tried again; throws when it was tried often enough. */
  async connect(): Promise<boolean> {
    try {
      this.#socket = await connectSocket(this.#options, "source");
    } catch (thrown) {
      this.#countFailure(thrown);
      return false;
    }
    this.#chunks = this.#socket.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
    if (this.#closed.signal.aborted) this.#drop();
    return true;
  }

  async pause(): Promise<void> {
    await sleep(this.#options.clock, this.#options.retryIntervalMs, this.#closed.signal);
  }

  async #receive(): Promise<Uint8Array | Reading> {
    if (this.#closed.signal.aborted) return { kind: "end" };
    if (this.#chunks === undefined && !(await this.connect())) {
      await this.pause();
      return { kind: "idle" };
    }
    this.#next ??= this.#chunks?.next();
    try {
      const idle = sleep(this.#options.clock, idleMs, this.#closed.signal);
      const arrived = await Promise.race([this.#next, idle]);
      if (this.#closed.signal.aborted) return { kind: "end" };
      if (arrived === undefined) return { kind: "idle" };
      this.#next = undefined;
      if (arrived.done === true) return { kind: "end" };
      this.#failures = 0;
      return arrived.value;
    } catch (thrown) {
      if (this.#closed.signal.aborted) return { kind: "end" };
      const { host, port } = this.#options;
      this.#drop();
      this.#countFailure(
        new DialectError(4000, `the source at ${host}:${port} broke off: ${messageOf(thrown)}`),
      );
      await this.pause();
      return { kind: "cut" };
    }
  }

  #drop(): void {
    this.#next?.catch(() => undefined);
    this.#next = undefined;
    this.#chunks = undefined;
    this.#socket?.destroy();
  }

  #countFailure(thrown: unknown): void {
    this.#failures += 1;
    if (this.#failures > this.#options.retries) throw thrown;
  }
}
