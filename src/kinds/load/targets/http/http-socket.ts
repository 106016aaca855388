/**
 * The sockets of one HTTP connection: the first is open before any request, later ones are opened
 * when a request needs one.
 */
import { type ClientRequestArgs, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { guardedLookup } from "../guarded-lookup.ts";
import { type HttpAddress, httpPlace } from "./parse-http-url.ts";

export const connectMsMax = 10_000;

/** The way to one server, shared by all connections to it. */
export class RoundTrip {
  #leastMs = Infinity;

  /** The shortest time that opening a socket took: a round trip, or a little more. */
  get leastMs(): number {
    return this.#leastMs;
  }

  note(tookMs: number): void {
    this.#leastMs = Math.min(this.#leastMs, tookMs);
  }
}

/** Rejects with `target_unreachable`. */
export function openSocket(
  address: HttpAddress,
  clock: Clock,
  roundTrip: RoundTrip,
): Promise<Socket> {
  const { host, port, socketPath } = address;
  return new Promise((resolve, reject) => {
    let sinceMs = clock.nowMs();
    const socket = connect(
      socketPath === undefined ? { host, port, lookup: guardedLookup } : { path: socketPath },
    );
    const timer = clock.after(connectMsMax, () => socket.destroy(new Error("no answer")));
    socket.once("lookup", () => {
      sinceMs = clock.nowMs();
    });
    socket.once("connect", () => {
      timer.cancel();
      roundTrip.note(clock.nowMs() - sinceMs);
      resolve(socket);
    });
    socket.once("error", (error) => {
      timer.cancel();
      if (error instanceof OperatingError) reject(error);
      const { code } = error as { readonly code?: string };
      const message = `${httpPlace(address)}: ${code ?? "no answer"}`;
      reject(new OperatingError("target_unreachable", "backoff", message));
    });
    socket.on("error", () => undefined); // Whoever uses it has its own listener.
  });
}

/**
 * One socket at a time, kept alive. The first request uses `opened`, unless the server has closed
 * it meanwhile.
 */
export function createAgent(isTls: boolean, opened: Socket): HttpAgent {
  const options = { keepAlive: true, maxSockets: 1, maxFreeSockets: 1 };
  const agent = isTls ? new HttpsAgent(options) : new HttpAgent(options);
  const connectAnew = agent.createConnection.bind(agent);
  let idle: Socket | undefined = opened;
  const discard = (): void => {
    opened.destroy();
  };
  // A server that speaks before it is asked is about to close: 408, or TLS where none was expected.
  opened.once("data", discard).once("close", () => {
    idle = undefined;
  });
  agent.createConnection = (
    options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ) => {
    const first = idle;
    idle = undefined;
    if (first === undefined || first.destroyed) return connectAnew(options, callback);
    first.off("data", discard);
    return isTls
      ? connectAnew({ ...options, socket: first } as ClientRequestArgs, callback)
      : first;
  };
  const destroyPooled = agent.destroy.bind(agent);
  agent.destroy = () => {
    idle?.destroy();
    destroyPooled();
  };
  return agent;
}
