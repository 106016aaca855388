/** A `Target` over sessions of a library, which has no time limit of its own for opening one. */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { DriverSession } from "./driver-session.ts";
import { type PooledKind, PooledTarget } from "./pooled-target.ts";
import { QueuedConnection } from "./queued-connection.ts";

export interface TargetKind<Plan> extends Omit<PooledKind, "open" | "connect"> {
  /** For messages: no password in it. */
  readonly place: string;
  readonly connectMsMax: number;
  /** A session that nobody waits for any more is closed by the caller. */
  open(): Promise<DriverSession<Plan>>;
}

export class SessionTarget<Plan> extends PooledTarget {
  constructor(of: TargetKind<Plan>, clock: Clock) {
    super({
      ...of,
      open: (signal) => openWithin(of, clock, signal),
      connect: async (depth, signal, onOver) =>
        new QueuedConnection(await openWithin(of, clock, signal), depth, onOver),
    });
  }
}

async function openWithin<Plan>(
  of: TargetKind<Plan>,
  clock: Clock,
  signal: AbortSignal,
): Promise<DriverSession<Plan>> {
  const { place, connectMsMax } = of;
  const cancelled = (): OperatingError =>
    new OperatingError("cancelled", "never", `connecting to ${place}`);
  if (signal.aborted) throw cancelled();
  const givenUp = Promise.withResolvers<never>();
  const abort = (): void => givenUp.reject(cancelled());
  signal.addEventListener("abort", abort, { once: true });
  const timer = clock.after(connectMsMax, () => {
    const message = `${place}: no answer in ${connectMsMax} ms`;
    givenUp.reject(new OperatingError("target_unreachable", "backoff", message));
  });
  const opening = of.open();
  try {
    return await Promise.race([opening, givenUp.promise]);
  } catch (error) {
    // The session may still open later.
    void opening.then((session) => session.close()).catch(() => undefined);
    throw error;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", abort);
  }
}
