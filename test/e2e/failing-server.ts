/**
 * An HTTP server that hangs, only fails, or goes away, with a log of its own of what came and what
 * it answered.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export type Behaviour =
  | { readonly kind: "hangs"; readonly afterMs: number }
  | { readonly kind: "fails" }
  | { readonly kind: "away"; readonly afterMs: number; readonly forMs: number };

export class FailingServer implements AsyncDisposable {
  /**
   * When each request came, and when it was answered, in milliseconds since the first; `wallMs`: when
   * it came, since 1970.
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
    return `http://127.0.0.1:${this.#port}`;
  }

  get answered(): number {
    return this.log.filter(({ answeredMs }) => answeredMs !== undefined).length;
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
    if (kind === "hangs" && entry.atMs > this.#behaviour.afterMs) return;
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
    return new Promise((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
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
