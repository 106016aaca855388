/** Waking at a moment more exact than a timer's millisecond: an open loop that is late by itself would measure itself. */
import type { Clock } from "./clock.ts";

export interface WakeTimer {
  /** Calls `fire` once, not before `atMs` of the clock. Setting it again forgets the earlier moment. */
  set(atMs: number, fire: () => void): void;
  clear(): void;
  close(): Promise<void>;
}

/** As exact as the clock's own timers: virtual time. */
export function clockWakeTimer(clock: Clock): WakeTimer {
  let timer: { cancel(): void } | undefined;
  return {
    set(atMs, fire) {
      timer?.cancel();
      timer = clock.after(atMs - clock.nowMs(), fire);
    },
    clear: () => timer?.cancel(),
    async close() {
      timer?.cancel();
    },
  };
}
