/** The coordinator's own streams, and the data port where fragments on workers read them. */
import { hostname } from "node:os";
import type { CoordinatorContext } from "../../../data/parts/index.ts";
import { isBearer } from "../../../ground/kernel/node/cluster-token.ts";
import { randomText } from "../../../ground/kernel/prng.ts";
import { hostPort } from "../../../ground/process/index.ts";
import { startArtifactServer } from "../../../ground/work/index.ts";
import { CoordinatorStreams, serveStreams } from "../fleet/index.ts";

export interface OwnStreamsPort {
  /** As workers reach it. */
  readonly url: string;
  start(): void;
  close(): Promise<void>;
}

export async function openOwnStreams(context: CoordinatorContext): Promise<OwnStreamsPort> {
  const { host, clusterToken, tls, store, node, clock, logger } = context;
  const streams = new CoordinatorStreams({
    ...{ store, pool: node.pool, clock },
    lease: () => node.lease?.grant(),
    series: randomText(context.prng.fork("own streams"), 12),
  });
  const server = await startArtifactServer({
    ...{ host, port: 0, token: clusterToken, logger, ...tls },
    spool: { stat: () => undefined }, // What work makes is on workers.
    http2: (stream, headers) =>
      serveStreams(stream, headers, {
        rows: (asked) => streams.rows(asked),
        isAllowed: ({ authorization }) => isBearer(authorization, clusterToken),
      }),
  });
  const isAny = host === "0.0.0.0" || host === "::";
  const scheme = tls.tls === undefined ? "http" : "https";
  return {
    url: `${scheme}://${hostPort(isAny ? hostname() : host, server.port)}`,
    start: () => streams.start(),
    async close() {
      streams.stop();
      await server.close();
    },
  };
}
