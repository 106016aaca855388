/**
 * An HTTP server under test; with PromQL in its requests, Capstan or Prometheus itself. Redirects
 * are not followed.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { Target } from "../../core/target.ts";
import { SessionTarget } from "../session/session-target.ts";
import { HttpSession } from "./http-session.ts";
import { connectMsMax, openSocket, RoundTrip } from "./http-socket.ts";
import { httpPlace, parseHttpUrl } from "./parse-http-url.ts";

/** Throws `bad_request` for an invalid URL. Connects to nothing yet. */
export function createHttpTarget(url: string, secret: string | null, clock: Clock): Target {
  const address = parseHttpUrl(url, secret);
  const roundTrip = new RoundTrip();
  return new SessionTarget(
    {
      kind: "http",
      capabilities: { depthMax: 1, pollsServer: false, enrichment: "none", transactions: false },
      place: httpPlace(address),
      connectMsMax,
      open: async () => {
        const socket = await openSocket(address, clock, roundTrip);
        return new HttpSession(address, socket, clock, roundTrip);
      },
    },
    clock,
  );
}
