/** A connected and authenticated wire, within the address's time, or an `OperatingError`. */
import { connect } from "node:net";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { type CancelKey, cancelFrame } from "./frames.ts";
import { openWire, unreachableTarget } from "./open-wire.ts";
import { type PostgresAddress, postgresPlace } from "./parse-postgres-url.ts";
import { SessionStart } from "./start-session.ts";
import type { Wire } from "./wire.ts";

export interface Session {
  /** Its receiver is nobody yet: set one before anything else happens. */
  readonly wire: Wire;
  readonly cancelKey: CancelKey | undefined;
}

export async function openSession(
  address: PostgresAddress,
  clock: Clock,
  signal: AbortSignal,
  options: { readonly keepsRows: boolean },
): Promise<Session> {
  const limit = new AbortController();
  const abort = (): void => limit.abort();
  const timer = clock.after(address.connectMsMax, abort);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    const start = new SessionStart(address);
    const wire = await openWire(address, clock, limit.signal, start, options);
    limit.signal.addEventListener("abort", () => {
      start.broken("it took too long");
      wire.destroy();
    });
    return { wire, cancelKey: await start.run(wire) };
  } catch (error) {
    if (signal.aborted) {
      throw new OperatingError("cancelled", "never", `connecting to ${postgresPlace(address)}`);
    }
    if (limit.signal.aborted) {
      throw unreachableTarget(address, `no answer in ${address.connectMsMax} ms`);
    }
    throw error;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", abort);
  }
}

/**
 * Asks the server to give up what that session does. Best effort: it may be over before that is
 * heard.
 */
export function requestCancel({ host, port }: PostgresAddress, key: CancelKey): void {
  const place = host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
  const socket = connect(place);
  socket.setTimeout(cancelMsMax, () => socket.destroy());
  socket.on("error", () => undefined);
  socket.end(cancelFrame(key));
  socket.resume();
  socket.unref();
}

const cancelMsMax = 2000;
