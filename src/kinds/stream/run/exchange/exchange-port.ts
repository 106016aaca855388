/** A port of its own for exchanges, on loopback, for processes without a data port. */
import { once } from "node:events";
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { isBearer } from "../../../../ground/kernel/node/cluster-token.ts";
import type { TlsFiles } from "../../../../ground/kernel/tls.ts";
import type { EdgeHub } from "./edge-hub.ts";
import { serveExchange } from "./exchange-server.ts";

export interface ExchangePort {
  /** `http://127.0.0.1:PORT`, or `https:`. */
  readonly address: string;
  close(): Promise<void>;
}

/** With `tls`, senders need a certificate that its `ca` signed, besides the token. */
export async function openExchangePort(
  hub: EdgeHub,
  token: string,
  tls?: TlsFiles,
): Promise<ExchangePort> {
  const server = createHttpServer(tls);
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => undefined);
    session.on("close", () => sessions.delete(session));
  });
  const isAllowed = ({ authorization }: { authorization?: string | undefined }): boolean =>
    isBearer(authorization, token);
  server.on("stream", (stream, headers) => {
    if (!serveExchange(stream, headers, { hub, isAllowed })) stream.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    close: async () => {
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function createHttpServer(tls: TlsFiles | undefined): Http2Server | Http2SecureServer {
  const settings = { initialWindowSize: 4 * 1024 * 1024 };
  if (tls === undefined) return createServer({ settings });
  const { cert, key, ca } = tls;
  const mutual = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true };
  return createSecureServer({ settings, cert, key, ...mutual });
}
