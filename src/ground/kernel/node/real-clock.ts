import type { Clock, Timer } from "../clock.ts";

/** Node fires a timer with a longer delay at once. */
const timeoutMsMax = 2 ** 31 - 1;

/** The machine's clock. */
export const realClock: Clock = clockOf({ keepsAlive: true });
/** The same clock, but its timers do not keep the process from ending. */
export const backgroundClock: Clock = clockOf({ keepsAlive: false });

function clockOf({ keepsAlive }: { readonly keepsAlive: boolean }): Clock {
  return {
    nowMs: () => performance.now(),
    wallMs: () => Date.now(),
    after(delayMs: number, fire: () => void): Timer {
      let handle: NodeJS.Timeout;
      let leftMs = Math.max(0, delayMs); // A deadline that has passed is a negative delay.
      const arm = (): void => {
        const partMs = Math.min(leftMs, timeoutMsMax);
        leftMs -= partMs;
        handle = setTimeout(leftMs > 0 ? arm : fire, partMs);
        if (!keepsAlive) handle.unref();
      };
      arm();
      return { cancel: () => clearTimeout(handle) };
    },
  };
}
