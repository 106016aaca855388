/** The moment of a head that another process owns, for replicas that answer queries. */
import { Agent as HttpAgent, type IncomingMessage, request } from "node:http";
import { Agent as HttpsAgent, request as tlsRequest } from "node:https";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { type HeadSnapshot, parseHeadSnapshot } from "../../metrics/index.ts";
import { bearerOf } from "../http/cluster-token.ts";

export interface RemoteHeadOptions {
  readonly clock: Clock;
  /** Who owns it, by the store; `undefined`: nobody ever did. */
  readonly owner: () => Promise<{ readonly url: string } | undefined>;
  readonly clusterToken: string;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

export interface RemoteHead {
  snapshot(): Promise<HeadSnapshot | undefined>;
  close(): void;
}

const silenceMsMax = 3_000;
/** An owner that restarts, or another that takes over, is there again soon. */
const patienceMs = 8_000;
const retryMs = 200;

export function createRemoteHead(options: RemoteHeadOptions): RemoteHead {
  const pooling = { keepAlive: true, maxSockets: 4 };
  const httpAgent = new HttpAgent(pooling);
  const httpsAgent = new HttpsAgent({ ...pooling, ...options.tls });
  const read = async (): Promise<HeadSnapshot | undefined> => {
    const owner = await options.owner();
    if (owner === undefined || owner.url === "") return undefined;
    const url = new URL("/head/snapshot", owner.url);
    const response = await get(url, options.clusterToken, { httpAgent, httpsAgent });
    const text = Buffer.concat((await response.toArray()) as Uint8Array[]).toString();
    if (response.statusCode !== 200) throw new Error(`it answered ${response.statusCode}`);
    return parseHeadSnapshot(text);
  };
  return {
    async snapshot() {
      const { clock } = options;
      const untilMs = clock.nowMs() + patienceMs;
      for (;;) {
        try {
          return await read();
        } catch (thrown) {
          if (thrown instanceof OperatingError) throw thrown; // The store's.
          if (clock.nowMs() > untilMs) throw notReached(messageOf(thrown));
        }
        await sleep(clock, retryMs);
      }
    },
    close() {
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

function notReached(why: string): OperatingError {
  const message = `the process that takes samples in was not reached: ${why}`;
  return new OperatingError("worker_unreachable", "backoff", message, {
    hint: "Without it the newest samples would be missing; try again when a coordinator leads.",
  });
}

function get(
  url: URL,
  token: string,
  { httpAgent, httpsAgent }: { readonly httpAgent: HttpAgent; readonly httpsAgent: HttpsAgent },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { headers: { authorization: bearerOf(token) }, timeout: silenceMsMax };
    const sent =
      url.protocol === "https:"
        ? tlsRequest(url, { ...options, agent: httpsAgent }, resolve)
        : request(url, { ...options, agent: httpAgent }, resolve);
    sent.on("timeout", () => sent.destroy(new Error(`it was silent for ${silenceMsMax} ms`)));
    sent.on("error", reject);
    sent.end();
  });
}
