/**
 * An HTTP server of known capacity: `servers` of them take `serviceMs` for each request, first
 * come, first served.
 */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";

export interface QueueServerOptions {
  readonly servers: number;
  readonly serviceMs: number;
}

export class QueueServer {
  readonly #server: Server;
  readonly #options: QueueServerOptions;
  readonly #waiting: ServerResponse[] = [];
  #busy = 0;
  #begun = 0;
  #answered = 0;

  private constructor(server: Server, options: QueueServerOptions) {
    this.#server = server;
    this.#options = options;
    server.on("request", (request, response) => {
      request.resume();
      this.#begun += 1;
      this.#waiting.push(response);
      this.#serve();
    });
  }

  static async start(options: QueueServerOptions): Promise<QueueServer> {
    const server = createServer({ keepAliveTimeout: 60_000 }).listen(0, "127.0.0.1");
    await once(server, "listening");
    return new QueueServer(server, options);
  }

  get url(): string {
    const address = this.#server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    return `http://127.0.0.1:${port}/`;
  }

  /** Requests that came, and those that were answered. */
  get begun(): number {
    return this.#begun;
  }

  get answered(): number {
    return this.#answered;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #serve(): void {
    while (this.#busy < this.#options.servers) {
      const response = this.#waiting.shift();
      if (response === undefined) return;
      this.#busy += 1;
      setTimeout(() => {
        this.#busy -= 1;
        if (!response.destroyed) this.#answered += 1;
        response.end("{}");
        this.#serve();
      }, this.#options.serviceMs);
    }
  }
}
