/**
 * A TCP proxy in front of Postgres that cuts a connection at a chosen moment.
 *
 *   before-statement   the first statement after BEGIN is not passed on; both ends are cut
 *   before-commit      COMMIT is not passed on; our end is cut, the server does not notice
 *   after-commit       COMMIT is passed on; its answer is not, and both ends are cut
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export type Cut = "before-statement" | "before-commit" | "after-commit";

export class CuttingProxy {
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #sockets = new Set<Socket>();
  #next: Cut | undefined;
  #isDown: boolean = false;
  #downAfterCut: boolean = false;
  /** The number of connections that were cut. */
  cuts = 0;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(targetPort: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(targetPort);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** The URL of the same database through the proxy. */
  urlOf(url: string): string {
    const through = new URL(url);
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy listens");
    through.port = String(address.port);
    return through.href;
  }

  /** Cuts once, on the first connection to get there. With `thenDown`, later ones fail. */
  cutNext(cut: Cut, options: { readonly thenDown?: boolean } = {}): void {
    this.#next = cut;
    this.#downAfterCut = options.thenDown ?? false;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(client: Socket): void {
    if (this.#isDown) {
      client.destroy();
      return;
    }
    const server = connect(this.#targetPort, "127.0.0.1");
    this.#track(client);
    this.#track(server);
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    let isBegun = false;
    let swallowsAnswer = false;
    client.on("data", (chunk: Buffer) => {
      const isCommit = chunk.includes("COMMIT\0");
      if (this.#next === "before-commit" && isCommit) {
        client.removeAllListeners("close"); // The server keeps its end.
        this.#cut(client);
        return;
      }
      if (this.#next === "before-statement" && isBegun) {
        this.#cut(client);
        return;
      }
      isBegun = chunk.includes("BEGIN");
      swallowsAnswer = this.#next === "after-commit" && isCommit;
      server.write(chunk);
    });
    server.on("data", (chunk: Buffer) => {
      if (swallowsAnswer) this.#cut(client);
      else client.write(chunk);
    });
  }

  #cut(client: Socket): void {
    this.#next = undefined;
    this.cuts += 1;
    if (this.#downAfterCut) {
      this.#isDown = true;
      for (const socket of this.#sockets) socket.destroy();
    }
    client.destroy();
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => undefined); // A cut is expected.
    socket.on("close", () => this.#sockets.delete(socket));
  }
}
