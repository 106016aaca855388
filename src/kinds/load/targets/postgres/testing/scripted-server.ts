/**
 * A server that says exactly what a test wants, in the pieces that it wants. It greets as Postgres
 * does, prepares whatever comes, and answers each execution with what `answer` gives for it.
 */
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";

export type Answer = (socket: Socket, execution: number) => Uint8Array | undefined;

export class ScriptedServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #send: (socket: Socket, bytes: Uint8Array) => void;
  #answer: Answer = () => concat(bindComplete, commandComplete("SELECT 1"), ready());
  /** The greeting after the startup message. */
  greeting: Uint8Array = concat(message("R", int32(0)), ready());
  executions = 0;

  private constructor(send: (socket: Socket, bytes: Uint8Array) => void) {
    this.#send = send;
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  /**
   * `pieceBytes`: how much it writes at a time; each piece is a packet of its own as far as the
   * system allows.
   */
  static async start(pieceBytes: number): Promise<ScriptedServer> {
    const server = new ScriptedServer((socket, bytes) => {
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        socket.write(bytes.slice(at, at + pieceBytes));
      }
    });
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it listens");
    return `postgres://u:p@127.0.0.1:${address.port}/d?sslmode=disable&connect_timeout=2`;
  }

  answerWith(answer: Answer): void {
    this.#answer = answer;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.#sockets.delete(socket));
    let pending = Buffer.alloc(0);
    let isStarted = false;
    socket.on("data", (bytes: Buffer) => {
      pending = Buffer.concat([pending, bytes]);
      for (;;) {
        const headerBytes = isStarted ? 5 : 4;
        if (pending.length < headerBytes) return;
        const length = pending.readInt32BE(headerBytes - 4) + headerBytes - 4;
        if (pending.length < length) return;
        const type = isStarted ? String.fromCharCode(pending[0] ?? 0) : "startup";
        pending = pending.subarray(length);
        isStarted = true;
        this.#hear(socket, type);
      }
    });
  }

  #isExecuting = false;

  #hear(socket: Socket, type: string): void {
    if (type === "startup") this.#send(socket, this.greeting);
    if (type === "P") this.#isExecuting = false;
    if (type === "E") this.#isExecuting = true;
    if (type === "S" && !this.#isExecuting) {
      this.#send(socket, concat(message("1"), message("t", int16(0)), message("n"), ready()));
    }
    if (type !== "S" || !this.#isExecuting) return;
    this.executions += 1;
    const answer = this.#answer(socket, this.executions);
    if (answer !== undefined) this.#send(socket, answer);
  }
}

export function message(type: string, ...parts: readonly Uint8Array[]): Uint8Array {
  const body = concat(...parts);
  return concat(Buffer.from(type), int32(body.length + 4), body);
}

export const bindComplete: Uint8Array = message("2");

export function commandComplete(tag: string): Uint8Array {
  return message("C", Buffer.from(`${tag}\0`));
}

export function ready(status = "I"): Uint8Array {
  return message("Z", Buffer.from(status));
}

export function dataRow(bytes: number): Uint8Array {
  // Looks like CommandComplete.
  return message("D", int16(1), int32(bytes), Buffer.alloc(bytes, 0x43));
}

export function errorResponse(code: string, text: string, severity = "ERROR"): Uint8Array {
  return message("E", Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${text}\0\0`));
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

export function int32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value | 0);
  return bytes;
}

export function int16(value: number): Uint8Array {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}
