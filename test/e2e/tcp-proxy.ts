/**
 * A network between a worker and its coordinator that a test can disturb: what is said to the same
 * ports of another loopback address passes through here. Linux answers at all of 127.0.0.0/8;
 * elsewhere there is no such address.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** Where a worker says that it is. */
export const proxyHost = "127.0.0.2";
const realHost = "127.0.0.1";

/** The worker is asked for a name that it does not have, or a byte of its answer is another. */
type Mischief = "lost" | "corrupt";

export class TcpProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #clients = new Set<Socket>();
  /** What becomes of the next requests for artifacts, one by one. */
  readonly #mischief: Mischief[] = [];
  #isHeld: boolean = false;

  private constructor(port: number, server: Server) {
    this.port = port;
    this.#server = server;
    server.on("connection", (client) => this.#join(client));
  }

  static async start(port: number): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(port, server);
    server.listen(port, proxyHost);
    await once(server, "listening");
    return proxy;
  }

  /** Every connection of the moment ends, on both sides. New ones are welcome. */
  cut(): void {
    for (const client of this.#clients) client.resetAndDestroy();
  }

  /** What callers say does not arrive, until `release`. */
  hold(): void {
    this.#isHeld = true;
    for (const client of this.#clients) client.pause();
  }

  release(): void {
    this.#isHeld = false;
    for (const client of this.#clients) client.resume();
  }

  /** Of the next requests for artifacts, in their order. */
  spoil(...mischief: readonly Mischief[]): void {
    this.#mischief.push(...mischief);
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(client: Socket): void {
    const worker = connect(this.port, realHost);
    this.#clients.add(client);
    let isCorrupt: boolean = false;
    client.on("data", (bytes: Buffer) => {
      const mischief = bytes.includes("GET /artifacts/") ? this.#mischief.shift() : undefined;
      isCorrupt ||= mischief === "corrupt";
      const text = bytes.toString("latin1").replace("/artifacts/", "/artifacts/not-");
      worker.write(mischief === "lost" ? Buffer.from(text, "latin1") : bytes);
    });
    worker.on("data", (bytes: Buffer) => {
      // The last byte of a body, not of the headers.
      if (isCorrupt && !bytes.subarray(-4).equals(Buffer.from("\r\n\r\n"))) {
        bytes[bytes.length - 1] = ~(bytes.at(-1) ?? 0);
        isCorrupt = false;
      }
      client.write(bytes);
    });
    client.on("end", () => worker.end());
    worker.on("end", () => client.end());
    const over = (): void => {
      this.#clients.delete(client);
      client.destroy();
      worker.destroy();
    };
    for (const socket of [client, worker]) socket.on("error", over).on("close", over);
    if (this.#isHeld) client.pause();
  }
}
