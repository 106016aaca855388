/**
 * What the dashboard sees, once a second: made once for all viewers, and not at all when there are none.
 * A viewer that has not taken the last frame misses this one: only the newest matters.
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
      // Not awaited together: one slow viewer does not hold up the others. `send` does not reject.
      for (const viewer of viewers) if (!viewer.blocked) void viewer.send({ event: "live", data });
    } catch (thrown) {
      // The store may be away for a moment; viewers see the next frame when it is back.
      this.#logger.warn({ error: messageOf(thrown) }, "no live frame this time");
    }
  }
}
