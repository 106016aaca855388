/**
 * Time as an argument. Production passes the real clock (`kernel/node/real-clock.ts`), simulation a
 * virtual one; nothing else may read or wait for time.
 */
export interface Timer {
  /** Idempotent; a cancelled timer never fires. */
  cancel(): void;
}

export interface Clock {
  /**
   * Monotonic milliseconds since an arbitrary start: for deadlines and durations of this process.
   */
  nowMs(): number;
  /** Milliseconds since 1970, for people only. Never compared with a time that the store wrote. */
  wallMs(): number;
  /** Calls `fire` once, `delayMs` from now, never synchronously. */
  after(delayMs: number, fire: () => void): Timer;
}

/** Resolves after `delayMs`, or at once when `signal` aborts. It never rejects. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", wake);
      resolve();
    });
    const wake = (): void => {
      timer.cancel();
      resolve();
    };
    signal?.addEventListener("abort", wake, { once: true });
  });
}

/** Calls `act` every `everyMs`, first after one interval, until it is cancelled. */
export function repeat(clock: Clock, everyMs: number, act: () => void): Timer {
  const again = (): void => {
    timer = clock.after(everyMs, () => {
      again();
      act();
    });
  };
  let timer: Timer;
  again();
  return { cancel: () => timer.cancel() };
}

/**
 * Waits for `work`, at most `msMax`, and then returns `late`. The work itself goes on, and what it
 * rejects with afterwards is ignored.
 */
export async function waitAtMost<T, Late = undefined>(
  clock: Clock,
  msMax: number,
  work: Promise<T>,
  late?: Late,
): Promise<T | Late> {
  const patience = Promise.withResolvers<Late>();
  const timer = clock.after(msMax, () => patience.resolve(late as Late));
  try {
    return await Promise.race([work, patience.promise]);
  } finally {
    timer.cancel();
  }
}

/** Calls `act` with a signal that aborts after `msMax`, or when `signal` does. */
export async function within<T>(
  clock: Clock,
  msMax: number,
  act: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const late = new AbortController();
  const timer = clock.after(msMax, () => late.abort());
  try {
    return await act(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]));
  } finally {
    timer.cancel();
  }
}
