/**
 * The worker's gRPC server over HTTP/2, with one stream for each session. Nothing is read from a
 * caller without the cluster token or a certificate, and everything that a caller could increase is
 * limited.
 */
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from "node:http2";
import type { AddressInfo } from "node:net";
import {
  Code,
  ConnectError,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import {
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { assert, messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { AcceptLink } from "../core/index.ts";
import { authorizationHeader, checkBearer } from "./bearer-token.ts";
import { closeReasonOf } from "./close-reason.ts";
import { decodeControllerEnvelope, encodeWorkerEnvelope } from "./codec.ts";
import { type ControllerEnvelope, ControlService, type WorkerEnvelope } from "./gen/control_pb.ts";
import { escalate, frameBytesMaxDefault, GrpcLink } from "./grpc-link.ts";

/** PEM texts. With `ca`, controllers need a certificate that it signed (mutual TLS). */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

export interface ControlServerOptions {
  readonly host: string;
  /** 0 chooses any free port. */
  readonly port: number;
  /** The cluster token; `undefined` only with `tls.ca`. */
  readonly token: string | undefined;
  readonly tls?: ServerTls;
  readonly accept: AcceptLink;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default 4 MiB. */
  readonly frameBytesMax?: number;
  /** The limit of TCP connections. Default 256. */
  readonly connectionsMax?: number;
}

export interface ControlServer {
  readonly port: number;
  /** Bounded: streams that do not close within 1 s are terminated. */
  close(): Promise<void>;
}

/**
 * Throws `port_in_use`, and `unsafe_bind` when neither a token nor mutual TLS protects the server.
 */
export async function startControlServer(options: ControlServerOptions): Promise<ControlServer> {
  if (options.token === undefined && options.tls?.ca === undefined) {
    const message = "the control port needs a cluster token or mutual TLS";
    throw new OperatingError("unsafe_bind", "never", message);
  }
  const server = new GrpcControlServer(options);
  await server.listen();
  return server;
}

type UniversalHandler = ReturnType<typeof createConnectRouter>["handlers"][number];

type WorkerLink = GrpcLink<
  ReturnType<typeof decodeControllerEnvelope>,
  Parameters<typeof encodeWorkerEnvelope>[0],
  ControllerEnvelope,
  WorkerEnvelope
>;

/** What the handler of a stream needs to know about its connection. */
interface Caller {
  readonly address: string;
  readonly connection: Http2Session | undefined;
  /** Ends the stream without waiting for the other side. */
  readonly cut: () => void;
}
const nobody: Caller = { address: "nowhere", connection: undefined, cut: () => undefined };
const callerKey = createContextKey<Caller>(nobody);

const lingerMs = 1_000;
/** A connection that has not authenticated by then is closed. */
const anonymousMsMax = 5_000;
const streamsPerConnectionMax = 8;
/** During a burst, Node still counts the connections that were closed to make room for it. */
const burstMax = 256;

class GrpcControlServer implements ControlServer {
  readonly #options: ControlServerOptions;
  readonly #server: Http2Server;
  /** Each with the timer that closes it unless it authenticates. */
  readonly #connections = new Map<Http2Session, Timer>();
  readonly #anonymous = new Set<Http2Session>();
  readonly #links = new Set<WorkerLink>();
  #port: number | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ControlServerOptions) {
    this.#options = options;
    this.#server = createHttp2Server(options.tls);
    this.#server.maxConnections = this.#connectionsMax + burstMax;
    this.#server.on("error", (error) => {
      options.logger.warn({ error: messageOf(error) }, "the control port had trouble");
    });
    this.#server.on("session", (connection) => this.#watch(connection));
    this.#server.on("tlsClientError", (error: unknown) => {
      options.logger.warn({ reason: closeReasonOf(error) }, "refused a control connection");
    });
    this.#serve();
  }

  get #connectionsMax(): number {
    return this.#options.connectionsMax ?? 256;
  }

  get port(): number {
    assert(this.#port !== undefined, "the server listens");
    return this.#port;
  }

  async listen(): Promise<void> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (error) => reject(listenError(error, host, port)));
      this.#server.listen({ host, port }, resolve);
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const link of this.#links) link.close("the worker is shutting down");
    for (const connection of this.#connections.keys()) connection.close();
    const force = this.#options.clock.after(lingerMs, () => {
      for (const connection of this.#connections.keys()) connection.destroy();
    });
    await closed;
    force.cancel();
  }

  #watch(connection: Http2Session): void {
    const { clock, logger } = this.#options;
    if (this.#connections.size >= this.#connectionsMax) this.#makeRoom(connection);
    const anonymous = clock.after(anonymousMsMax, () => connection.destroy());
    this.#connections.set(connection, anonymous);
    this.#anonymous.add(connection);
    connection.on("error", (error) => {
      logger.debug({ error: messageOf(error) }, "a control connection failed");
    });
    connection.once("close", () => {
      anonymous.cancel();
      this.#forget(connection);
    });
  }

  /** Closes the oldest connection that has not authenticated, or else the newest. */
  #makeRoom(connection: Http2Session): void {
    const [longest = connection] = this.#anonymous;
    this.#forget(longest);
    longest.destroy();
  }

  #forget(connection: Http2Session): void {
    this.#connections.delete(connection);
    this.#anonymous.delete(connection);
  }

  #serve(): void {
    const { frameBytesMax = frameBytesMaxDefault } = this.#options;
    const router = createConnectRouter({
      grpc: true,
      grpcWeb: false,
      connect: false,
      readMaxBytes: frameBytesMax,
      writeMaxBytes: frameBytesMax,
      acceptCompression: [],
    });
    router.service(ControlService, {
      session: (requests, context) => this.#session(requests, context),
    });
    const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
    this.#server.on("request", (request, response) => {
      const handler = handlers.get(request.url);
      if (handler === undefined) response.writeHead(404).end();
      else void this.#respond(handler, request, response);
    });
  }

  /** Never rejects: a caller can only break its own stream. */
  async #respond(
    handler: UniversalHandler,
    request: Http2ServerRequest,
    response: Http2ServerResponse,
  ): Promise<void> {
    const { stream } = request;
    const connection = stream.session;
    const caller: Caller = {
      address: request.socket.remoteAddress ?? nobody.address,
      connection,
      cut: () => stream.close(),
    };
    // A connection carries one session and closes with it.
    stream.once("close", () => connection?.close());
    try {
      const values = createContextValues().set(callerKey, caller);
      const answer = await handler(
        universalRequestFromNodeRequest(request, response, undefined, values),
      );
      await universalResponseToNodeResponse(answer, response);
    } catch (error) {
      this.#options.logger.debug({ error: messageOf(error) }, "a control stream broke");
      stream.close();
    }
  }

  /** One control session, from the first frame to the last. */
  async *#session(
    requests: AsyncIterable<ControllerEnvelope>,
    context: HandlerContext,
  ): AsyncGenerator<WorkerEnvelope> {
    const caller = context.values.get(callerKey);
    this.#authenticate(context.requestHeader.get(authorizationHeader), caller);
    let linger: Timer | undefined;
    const link: WorkerLink = new GrpcLink({
      encode: encodeWorkerEnvelope,
      decode: decodeControllerEnvelope,
      onEnded: () => {
        linger = this.#options.clock.after(lingerMs, caller.cut);
      },
    });
    this.#links.add(link);
    link.attach(this.#accept(link));
    void pump(link, requests);
    try {
      yield* link.outgoing;
      throw new ConnectError(link.closeReason ?? "the session is over", Code.Unavailable);
    } finally {
      link.lose("connection lost");
      linger?.cancel();
      this.#links.delete(link);
    }
  }

  #accept(link: WorkerLink): ReturnType<AcceptLink> {
    try {
      return this.#options.accept(link);
    } catch (error) {
      escalate(error);
      throw error;
    }
  }

  #authenticate(header: string | null, { address, connection }: Caller): void {
    const { token, logger } = this.#options;
    // Without a token, the TLS handshake has authenticated the caller.
    const verdict = token === undefined ? "accepted" : checkBearer(header, token);
    if (verdict === "accepted") {
      if (connection !== undefined) {
        this.#connections.get(connection)?.cancel();
        this.#anonymous.delete(connection);
      }
      return;
    }
    logger.warn({ peer: address, token: verdict }, "refused a control session: cluster token");
    throw new ConnectError(`the cluster token is ${verdict}`, Code.Unauthenticated);
  }
}

/** Never rejects: any end of the stream is the end of the link. */
async function pump(link: WorkerLink, requests: AsyncIterable<ControllerEnvelope>): Promise<void> {
  try {
    for await (const message of requests) link.receive(message);
    link.lose("the controller ended the session");
  } catch (error) {
    link.lose(closeReasonOf(error));
  }
}

function createHttp2Server(tls: ServerTls | undefined): Http2Server {
  const settings = { maxConcurrentStreams: streamsPerConnectionMax };
  if (tls === undefined) return createServer({ settings });
  const { cert, key, ca } = tls;
  return createSecureServer({
    settings,
    cert,
    key,
    minVersion: "TLSv1.2",
    handshakeTimeout: anonymousMsMax,
    ...(ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true }),
  });
}

function listenError(error: Error & { readonly code?: string }, host: string, port: number): Error {
  if (error.code !== "EADDRINUSE" && error.code !== "EACCES") return error;
  const message = `cannot listen on ${host}:${port} for control sessions (${error.code})`;
  return new OperatingError("port_in_use", "never", message, { cause: error });
}
