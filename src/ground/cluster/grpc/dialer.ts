/**
 * Dials workers over gRPC, with one HTTP/2 connection for each session. So losing the connection is
 * losing the session, which is noticed at once when the peer's machine closes its socket.
 */
import { createClient } from "@connectrpc/connect";
import { createTransport } from "@connectrpc/connect/protocol-grpc";
import { createNodeHttpClient, Http2SessionManager } from "@connectrpc/connect-node";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { assert } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Dialer, Envelope, LinkHandlers, WorkerAddress, WorkerFrame } from "../core/index.ts";
import { authorizationHeader, bearer } from "./bearer-token.ts";
import { closeReasonOf, tokenRefused } from "./close-reason.ts";
import { decodeWorkerEnvelope, encodeControllerEnvelope } from "./codec.ts";
import { ControlService } from "./gen/control_pb.ts";
import { frameBytesMaxDefault, GrpcLink } from "./grpc-link.ts";
import { joiningChunks } from "./join-chunks.ts";

/** PEM texts. With `cert` and `key` the dialer authenticates itself (mutual TLS). */
export interface DialerTls {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name in the workers' certificates, if it is not the dialled host. */
  readonly serverName?: string;
}

export interface GrpcDialerOptions {
  /** The cluster token; `undefined` only with mutual TLS. */
  readonly token: string | undefined;
  readonly tls?: DialerTls;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default 4 MiB. */
  readonly frameBytesMax?: number;
}

/** How long an ended link may take to send its last frames, usually a goodbye. */
const lingerMs = 1_000;

export function createGrpcDialer(options: GrpcDialerOptions): Dialer {
  const { token, tls } = options;
  assert(token !== undefined || tls?.cert !== undefined, "a dialer can show who it is");
  return { dial: (address, handlers) => dial(options, address, handlers) };
}

function dial(
  options: GrpcDialerOptions,
  address: WorkerAddress,
  handlers: LinkHandlers<Envelope<WorkerFrame>>,
): ControllerLink {
  const { tls, clock, token, frameBytesMax = frameBytesMaxDefault } = options;
  const baseUrl = urlOf(address, tls !== undefined);
  const connection = new Http2SessionManager(baseUrl, {}, tls === undefined ? {} : tlsOptions(tls));
  const client = createNodeHttpClient({ httpVersion: "2", sessionProvider: () => connection });
  const transport = createTransport({
    baseUrl,
    httpClient: joiningChunks(client),
    useBinaryFormat: true,
    interceptors: [],
    readMaxBytes: frameBytesMax,
    writeMaxBytes: frameBytesMax,
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: 0, // Nothing is compressed.
  });
  let linger: Timer | undefined;
  const link: ControllerLink = new GrpcLink({
    encode: encodeControllerEnvelope,
    decode: decodeWorkerEnvelope,
    onEnded: () => {
      linger = clock.after(lingerMs, () => connection.abort());
    },
  });
  link.attach(handlers);
  const headers = token === undefined ? {} : { [authorizationHeader]: bearer(token) };
  const incoming = createClient(ControlService, transport).session(link.outgoing, { headers });
  void pump(link, incoming, options.logger.with({ address: baseUrl })).then(() => {
    linger?.cancel();
    connection.abort();
  });
  return link;
}

type ControllerLink = GrpcLink<
  ReturnType<typeof decodeWorkerEnvelope>,
  Parameters<typeof encodeControllerEnvelope>[0],
  Parameters<typeof decodeWorkerEnvelope>[0],
  ReturnType<typeof encodeControllerEnvelope>
>;

/** Never rejects: any end of the stream is the end of the link. */
async function pump(
  link: ControllerLink,
  incoming: AsyncIterable<Parameters<typeof decodeWorkerEnvelope>[0]>,
  logger: Logger,
): Promise<void> {
  try {
    for await (const message of incoming) link.receive(message);
    link.lose("the worker ended the session");
  } catch (error) {
    const reason = closeReasonOf(error);
    if (reason === tokenRefused) logger.warn({}, "the worker refused our cluster token");
    link.lose(reason);
  }
}

function tlsOptions({ ca, cert, key, serverName }: DialerTls) {
  return {
    ca,
    minVersion: "TLSv1.2",
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  } as const;
}

function urlOf({ host, grpcPort }: WorkerAddress, secure: boolean): string {
  const authority = host.includes(":") ? `[${host}]` : host;
  return `${secure ? "https" : "http"}://${authority}:${grpcPort}`;
}
