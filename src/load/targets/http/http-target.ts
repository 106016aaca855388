/** An HTTP server under test; with PromQL in its requests, Capstan or Prometheus itself. Redirects are answers, not followed. */
import { connect } from "node:net";
import type { Clock } from "../../../kernel/clock.ts";
import { OperatingError } from "../../../kernel/errors.ts";
import type { Target } from "../../core/target.ts";
import { SessionTarget } from "../session/session-target.ts";
import { HttpSession } from "./http-session.ts";
import { type HttpAddress, httpPlace, parseHttpUrl } from "./parse-http-url.ts";

const connectMsMax = 10_000;

/** Throws `bad_request` for a URL that is none. Nothing is connected yet. */
export function createHttpTarget(url: string, secret: string | null, clock: Clock): Target {
  const address = parseHttpUrl(url, secret);
  const place = httpPlace(address);
  return new SessionTarget(
    {
      kind: "http",
      capabilities: { depthMax: 1, pollsServer: false, enrichment: "none", transactions: false },
      place,
      connectMsMax,
      open: async () => {
        await knock(address, place);
        return new HttpSession(address);
      },
    },
    clock,
  );
}

/** A request opens its own socket; whether anybody is there is known now. */
function knock({ host, port, socketPath }: HttpAddress, place: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath === undefined ? { host, port } : { path: socketPath });
    socket.setTimeout(connectMsMax, () => socket.destroy(new Error("no answer")));
    socket.on("connect", () => {
      socket.destroy();
      resolve();
    });
    socket.on("error", (error) => {
      const { code } = error as { readonly code?: string };
      const message = `${place}: ${code ?? "no answer"}`;
      reject(new OperatingError("target_unreachable", "backoff", message));
    });
  });
}
