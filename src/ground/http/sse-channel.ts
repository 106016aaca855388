/**
 * Sends events to one client, as the text of server-sent events: in the body of an answer, or as
 * one WebSocket message for each event.
 *
 * At most one event waits for the client, besides the kernel's buffers. A client that takes nothing
 * for `stallMsMax` is dropped; it can resume from the last id it saw. Something is sent at least
 * every `keepAliveMs`, so that proxies and clients see a live stream.
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
    // The client sees that it is connected before the first event.
    response.write(": capstan\n\n");
    this.#armKeepAlive();
    // The client may have left before the stream began, when nobody listened for `close`.
    if (response.destroyed) this.#close();
  }

  /** Aborts when the client is gone or was dropped. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** Whether the client has not taken the last event yet. */
  get blocked(): boolean {
    return this.#blocked;
  }

  /** Resolves when there is room for the next event, or the client is gone. One call at a time. */
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
    // A client that takes nothing is dropped.
    const stalled = this.#clock.after(this.#timing.stallMsMax, () => this.#response.destroy());
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
