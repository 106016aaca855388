import type { Clock, Timer } from "../clock.ts";

/** The machine's clock. */
export const realClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  after(delayMs: number, fire: () => void): Timer {
    const handle = setTimeout(fire, delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
};
