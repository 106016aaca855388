/**
 * Sends the dashboard one frame a second, built once for all viewers and not at all without
 * viewers. A viewer that has not taken the last frame misses this one, because only the newest
 * matters.
 */
import type { Clock, Timer } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { SseChannel } from "./sse-channel.ts";

export class LiveFeed {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #frame: () => Promise<unknown>;
  readonly #intervalMs: number;
  readonly #viewers = new Set<SseChannel>();
  #timer: Timer | undefined;

  constructor(
    clock: Clock,
    logger: Logger,
    frame: () => Promise<unknown>,
    intervalMs: number = 1_000,
  ) {
    this.#clock = clock;
    this.#logger = logger;
    this.#frame = frame;
    this.#intervalMs = intervalMs;
  }

  async add(viewer: SseChannel): Promise<void> {
    this.#viewers.add(viewer);
    viewer.signal.addEventListener("abort", () => this.#viewers.delete(viewer), { once: true });
    await this.#show([viewer]);
    this.#arm();
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#viewers.size === 0) return;
    this.#timer = this.#clock.after(this.#intervalMs, () => {
      void this.#show([...this.#viewers]).finally(() => {
        this.#timer = undefined;
        this.#arm();
      });
    });
  }

  async #show(viewers: readonly SseChannel[]): Promise<void> {
    try {
      const data = JSON.stringify(await this.#frame());
      // Not awaited, so that one slow viewer does not delay the others. `send` does not reject.
      for (const viewer of viewers) if (!viewer.blocked) void viewer.send({ event: "live", data });
    } catch (thrown) {
      // The store may be unavailable for a moment; viewers get the next frame when it is back.
      this.#logger.warn({ error: messageOf(thrown) }, "no live frame this time");
    }
  }
}
