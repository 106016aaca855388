/** The target of a load test: servers that all processes of a run share, and their connections. */
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import { QueueTarget } from "../../src/kinds/load/testing/queue-target.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";

export interface SimServers {
  readonly queue: QueueTarget;
  /** Whether it refuses connections. */
  isDown: boolean;
}

export function createServers(timeline: Timeline, servers: number, serviceMs: number): SimServers {
  const clock = {
    nowMs: () => timeline.nowMs,
    wallMs: () => timeline.nowMs,
    after: (delayMs: number, fire: () => void) => {
      const event = timeline.after(delayMs, fire);
      return {
        cancel: () => {
          event.fire = undefined;
        },
      };
    },
  };
  return { queue: new QueueTarget({ clock, servers, serviceMs }), isDown: false };
}

export class SimTarget extends QueueTarget {
  readonly #servers: SimServers;
  /** Operations that came to it, and those that could not. */
  begun = 0;

  constructor(servers: SimServers, life: Life, timeline: Timeline) {
    const clock = {
      nowMs: () => timeline.nowMs,
      wallMs: () => life.wallMs(),
      after: (delayMs: number, fire: () => void) => life.after(delayMs, fire),
    };
    super({ clock, servers: 1, serviceMs: 0 });
    this.#servers = servers;
  }

  override admit(atMs: number): number {
    this.begun += 1;
    return this.#servers.queue.admit(atMs);
  }

  override async connect(depth: number, signal: AbortSignal) {
    if (this.#servers.isDown) {
      this.begun += 1; // One that was due fails with it.
      throw new OperatingError("target_refused", "backoff", "it takes no connections");
    }
    return await super.connect(depth, signal);
  }
}
