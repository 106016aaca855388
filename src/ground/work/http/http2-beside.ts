/**
 * HTTP/2 on the port of an HTTP/1 server. Over TLS the two sides agree on one of them (ALPN).
 * Without TLS a client of HTTP/2 says so by its first bytes, which begin no request of HTTP/1.
 * Node's HTTP/2 server could answer HTTP/1 itself (`allowHTTP1`), but only over TLS, and without
 * the limits that this server's HTTP/1 connections have.
 */
import type { Server } from "node:http";
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { realClock } from "../../kernel/node/real-clock.ts";

/** Answers a stream, or closes it. */
export type Http2Handler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

export interface Http2Beside {
  /** Ends every HTTP/2 connection, and those that have said nothing. */
  close(): void;
}

/** What `createServer` of HTTPS has to be told. */
export const alpnProtocols: string[] = ["h2", "http/1.1"];

const windowBytes = 4 * 1024 * 1024;
const sessionMegabytesMax = 256;
const firstBytesMsMax = 5_000;
const preface = Buffer.from("PRI * HTTP/2.0");

/** Call it before anybody else listens to the server's connections. */
export function takeHttp2(server: Server, isTls: boolean, handler: Http2Handler): Http2Beside {
  const sessions = new Set<ServerHttp2Session>();
  const undecided = new Set<Socket>();
  const http2: Http2Server = createServer({
    settings: { initialWindowSize: windowBytes },
    maxSessionMemory: sessionMegabytesMax,
  });
  http2.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => undefined); // It is closed then.
    session.on("close", () => sessions.delete(session));
  });
  http2.on("stream", handler);
  const event = isTls ? "secureConnection" : "connection";
  const listeners = server.listeners(event) as ((socket: Socket) => void)[];
  server.removeAllListeners(event);
  const toHttp1 = (socket: Socket): void => {
    for (const listener of listeners) listener.call(server, socket);
  };
  server.on(event, (socket: Socket | TLSSocket) => {
    if (isTls) {
      if ((socket as TLSSocket).alpnProtocol === "h2") http2.emit("connection", socket);
      else toHttp1(socket);
      return;
    }
    undecided.add(socket);
    socket.once("close", () => undecided.delete(socket));
    look(socket, (isHttp2) => {
      undecided.delete(socket);
      if (isHttp2) http2.emit("connection", socket);
      else {
        toHttp1(socket);
        socket.resume();
      }
    });
  });
  return {
    close: () => {
      for (const session of sessions) session.destroy();
      for (const socket of undecided) socket.destroy();
    },
  };
}

/** Reads the first bytes of a connection, and puts them back. */
function look(socket: Socket, decided: (isHttp2: boolean) => void): void {
  let bytes = Buffer.alloc(0);
  const end = (): void => void socket.destroy();
  const timer = realClock.after(firstBytesMsMax, end);
  const take = (chunk: Buffer): void => {
    bytes = Buffer.concat([bytes, chunk]);
    const length = Math.min(bytes.length, preface.length);
    const isHttp2 = bytes.subarray(0, length).equals(preface.subarray(0, length));
    if (isHttp2 && length < preface.length) return; // The rest is still to come.
    done();
    socket.pause();
    socket.unshift(bytes);
    decided(isHttp2);
  };
  const done = (): void => {
    timer.cancel();
    socket.off("data", take);
    socket.off("error", end);
    socket.off("close", done);
  };
  socket.on("data", take);
  socket.on("error", end);
  socket.on("close", done);
}
