/**
 * An HTTP server that hangs, only fails, or goes away, with a log of its own of what came and what
 * it answered.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export type Behaviour =
  /** By their count rather than by time: a slow machine sends fewer of them in a second. */
  | { readonly kind: "hangs"; readonly afterRequests: number }
  | { readonly kind: "fails" }
  | { readonly kind: "away"; readonly afterMs: number; readonly forMs: number };

/**
 * On Linux an address of its own: nobody else is given its port at 127.0.0.1 while it is away.
 */
const host = process.platform === "linux" ? "127.0.0.3" : "127.0.0.1";

export class FailingServer implements AsyncDisposable {
  /**
   * When each request came, and when it was answered, in milliseconds since the first; `wallMs`:
   * when it came, since 1970.
   */
  readonly log: {
    readonly atMs: number;
    readonly wallMs: number;
    answeredMs: number | undefined;
  }[] = [];
  readonly #behaviour: Behaviour;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #firstMs: number | undefined;
  #port = 0;

  private constructor(behaviour: Behaviour) {
    this.#behaviour = behaviour;
    this.#server = createServer((_request, response) => this.#answer(response));
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  static async start(behaviour: Behaviour): Promise<FailingServer> {
    const server = new FailingServer(behaviour);
    await server.#listen(0);
    server.#port = (server.#server.address() as AddressInfo).port;
    return server;
  }

  get url(): string {
    return `http://${host}:${this.#port}`;
  }

  get answered(): number {
    return this.log.filter(({ answeredMs }) => answeredMs !== undefined).length;
  }

  /** The longest time between two consecutive answers. */
  get longestGapMs(): number {
    const times = this.log
      .flatMap(({ answeredMs }) => answeredMs ?? [])
      .sort((left, right) => left - right);
    return Math.max(0, ...times.map((ms, at) => ms - (times[at - 1] ?? ms)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#hangUp();
  }

  #answer(response: ServerResponse): void {
    if (this.#firstMs === undefined) this.#begin();
    const entry: (typeof this.log)[number] = {
      atMs: this.#nowMs(),
      wallMs: Date.now(),
      answeredMs: undefined,
    };
    this.log.push(entry);
    const { kind } = this.#behaviour;
    if (kind === "hangs" && this.log.length > this.#behaviour.afterRequests) return;
    this.#after(5, () => {
      entry.answeredMs = this.#nowMs();
      response.statusCode = kind === "fails" ? 500 : 200;
      response.end("answered");
    });
  }

  #begin(): void {
    this.#firstMs = performance.now();
    const behaviour = this.#behaviour;
    if (behaviour.kind !== "away") return;
    this.#after(behaviour.afterMs, () => {
      this.#hangUp();
      this.#after(behaviour.forMs, () => void this.#listen(this.#port));
    });
  }

  #hangUp(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #listen(port: number): Promise<void> {
    return new Promise((resolve) => this.#server.listen(port, host, resolve));
  }

  #nowMs(): number {
    return performance.now() - (this.#firstMs ?? performance.now());
  }

  #after(ms: number, body: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      body();
    }, ms);
    this.#timers.add(timer);
  }
}
