/**
 * Events to one client, as the text of server-sent events: the body of an answer, or one message of
 * a WebSocket for each event.
 *
 *   SE1  What is not yet taken by the client is at most one event and what the kernel buffers.
 *   SE2  A client that takes nothing for `stallMsMax` is dropped; it can resume by the last id it saw.
 *   SE3  Something is sent at least every `keepAliveMs`, so that proxies and clients see a live stream.
 */
import type { Writable } from "node:stream";
import type { Clock, Timer } from "../kernel/clock.ts";

export interface SseEvent {
  readonly event: string;
  readonly id?: string;
  /** One line of JSON. */
  readonly data: string;
}

export interface SseTiming {
  readonly keepAliveMs: number;
  readonly stallMsMax: number;
}

export const defaultSseTiming: SseTiming = { keepAliveMs: 15_000, stallMsMax: 10_000 };

export class SseChannel {
  readonly #response: Writable;
  readonly #clock: Clock;
  readonly #timing: SseTiming;
  readonly #gone = new AbortController();
  #keepAlive: Timer | undefined;
  #blocked: boolean;

  constructor(response: Writable, clock: Clock, timing: SseTiming = defaultSseTiming) {
    this.#response = response;
    this.#clock = clock;
    this.#timing = timing;
    this.#blocked = false;
    response.once("close", () => this.#close());
    response.on("error", () => this.#close());
    response.write(": capstan\n\n"); // The client sees that it is connected before the first event.
    this.#armKeepAlive();
    if (response.destroyed) this.#close(); // The client left before the stream began: `close` was then.
  }

  /** Aborts when the client is gone or was dropped. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** `true`: the last event has not been taken yet. */
  get blocked(): boolean {
    return this.#blocked;
  }

  /** Resolves when there is room for the next event, or the client is gone. One at a time. */
  async send(event: SseEvent): Promise<void> {
    if (this.#gone.signal.aborted) return;
    const taken = this.#response.write(textOf(event));
    this.#armKeepAlive();
    if (!taken) await this.#room();
  }

  end(): void {
    if (!this.#gone.signal.aborted) this.#response.end();
    this.#close();
  }

  async #room(): Promise<void> {
    this.#blocked = true;
    const stalled = this.#clock.after(this.#timing.stallMsMax, () => this.#response.destroy()); // SE2
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#response.off("drain", done);
        this.#gone.signal.removeEventListener("abort", done);
        resolve();
      };
      this.#response.once("drain", done);
      this.#gone.signal.addEventListener("abort", done, { once: true });
      if (this.#gone.signal.aborted) done();
    });
    stalled.cancel();
    this.#blocked = false;
  }

  #armKeepAlive(): void {
    this.#keepAlive?.cancel();
    if (this.#gone.signal.aborted) return;
    this.#keepAlive = this.#clock.after(this.#timing.keepAliveMs, () => {
      if (!this.#blocked) this.#response.write(": keep-alive\n\n");
      this.#armKeepAlive();
    });
  }

  #close(): void {
    this.#keepAlive?.cancel();
    this.#gone.abort();
  }
}

export function textOf({ event, id, data }: SseEvent): string {
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  return `event: ${event}\n${idLine}data: ${data}\n\n`;
}
