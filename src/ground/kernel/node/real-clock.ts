import type { Clock, Timer } from "../clock.ts";

/** Node fires a timer that is set for longer at once. */
const timeoutMsMax = 2 ** 31 - 1;

/** The machine's clock. */
export const realClock: Clock = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  after(delayMs: number, fire: () => void): Timer {
    let handle: NodeJS.Timeout;
    let leftMs = Math.max(0, delayMs); // A deadline that has passed is a negative delay.
    const arm = (): void => {
      const partMs = Math.min(leftMs, timeoutMsMax);
      leftMs -= partMs;
      handle = setTimeout(leftMs > 0 ? arm : fire, partMs);
    };
    arm();
    return { cancel: () => clearTimeout(handle) };
  },
};
