/** A port of its own for exchanges, on loopback, for processes without a data port. */
import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import type { EdgeHub } from "./edge-hub.ts";
import { serveExchange } from "./exchange-server.ts";

export interface ExchangePort {
  /** `http://127.0.0.1:PORT`. */
  readonly address: string;
  close(): Promise<void>;
}

export async function openExchangePort(hub: EdgeHub, token: string): Promise<ExchangePort> {
  const server: Http2Server = createServer({ settings: { initialWindowSize: 4 * 1024 * 1024 } });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => undefined);
    session.on("close", () => sessions.delete(session));
  });
  const isAllowed = ({ authorization }: { authorization?: string | undefined }): boolean =>
    authorization === `Bearer ${token}`;
  server.on("stream", (stream, headers) => {
    if (!serveExchange(stream, headers, { hub, isAllowed })) stream.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    close: async () => {
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
