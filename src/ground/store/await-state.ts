/** Waits for a state in the store: looks after every poke, and from time to time. */
import { type Clock, sleep } from "../kernel/clock.ts";
import { OperatingError } from "../kernel/errors.ts";
import type { Store, Tx } from "./core/index.ts";

const lookMs = 250;

export interface AwaitState {
  readonly waitMsMax: number;
  readonly signal: AbortSignal;
  /** The error for a caller that cannot wait longer. Undefined when the state is reached. */
  readonly look: (tx: Tx) => Promise<OperatingError | undefined>;
}

/** Whether it had to wait. Throws what `look` throws, or what it returned when the time is over. */
export async function awaitState(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { waitMsMax, signal, look }: AwaitState,
): Promise<boolean> {
  const endMs = clock.nowMs() + waitMsMax;
  for (let hasWaited = false; ; hasWaited = true) {
    const poked = Promise.withResolvers<void>();
    const leave = store.onPoke(poked.resolve); // Before looking, so that no commit is missed.
    try {
      const missing = await store.read(look);
      if (missing === undefined) return hasWaited;
      if (signal.aborted) throw new OperatingError("cancelled", "never", "the statement");
      const leftMs = endMs - clock.nowMs();
      if (leftMs <= 0) throw missing;
      await Promise.race([poked.promise, sleep(clock, Math.min(lookMs, leftMs), signal)]);
    } finally {
      leave();
    }
  }
}
