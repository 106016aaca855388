/** Wakes more precisely than a millisecond timer, for open-loop load generators. */
import type { Clock } from "./clock.ts";

export interface WakeTimer {
  /** Calls `fire` once, at `atMs` of the clock or later. A second call replaces the first. */
  set(atMs: number, fire: () => void): void;
  clear(): void;
  close(): Promise<void>;
}

/** A wake timer that is as precise as the clock's own timers, for virtual time. */
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
