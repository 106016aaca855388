/**
 * One socket to a server, plain or TLS, and the messages that come over it.
 *
 *   1  The receiver hears of the end exactly once, unless we ended it: by `broken`, whatever ended
 *      it.
 *   2  Nothing is received after that.
 */
import type { Socket } from "node:net";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import { MessageScanner, type OnMessage } from "./message-scanner.ts";

export interface WireReceiver {
  /** As `OnMessage`. May throw `MalformedStream`. */
  message: OnMessage;
  /** All of what came at once has been handed over. */
  pieceEnded(): void;
  broken(why: string): void;
}

const endMsMax = 1000;

export class Wire {
  receiver: WireReceiver;
  /** Messages are being handed over; `pieceEnded` comes afterwards, to whoever receives then. */
  isReceiving = false;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #scanner: MessageScanner;
  #isOver = false;

  /** `socket` is connected; its bytes are given to `receive`. */
  constructor(
    socket: Socket,
    clock: Clock,
    receiver: WireReceiver,
    options: { readonly keepsRows: boolean },
  ) {
    this.#socket = socket;
    this.#clock = clock;
    this.receiver = receiver;
    this.#scanner = new MessageScanner(
      (type, bytes, start, end) => this.receiver.message(type, bytes, start, end),
      options,
    );
    socket.on("error", (error) => this.#break(messageOf(error)));
    socket.on("end", () => this.#break("the server closed the connection"));
    socket.on("close", () => this.#break("the connection was closed"));
  }

  receive(bytes: Buffer, length: number): void {
    if (this.#isOver) return;
    this.isReceiving = true;
    try {
      this.#scanner.push(bytes, length);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "MalformedStream") throw error;
      this.#break(`the server does not speak Postgres's protocol: ${error.message}`);
      return;
    } finally {
      this.isReceiving = false;
    }
    this.receiver.pieceEnded();
  }

  /** `bytes` may be changed afterwards iff `isDrained`. */
  write(bytes: Buffer): void {
    if (!this.#isOver) this.#socket.write(bytes);
  }

  get isDrained(): boolean {
    return this.#socket.writableLength === 0;
  }

  /** Says a last thing and waits, not for long, until the server has hung up. */
  end(last: Buffer): Promise<void> {
    this.#stop();
    const socket = this.#socket;
    if (socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.after(endMsMax, () => socket.destroy());
      socket.once("close", () => {
        timer.cancel();
        resolve();
      });
      socket.end(last);
    });
  }

  destroy(): void {
    this.#stop();
    this.#socket.destroy();
  }

  #break(why: string): void {
    if (this.#isOver) return;
    this.destroy();
    this.receiver.broken(why);
  }

  #stop(): void {
    this.#isOver = true;
    this.#scanner.stop();
  }
}
