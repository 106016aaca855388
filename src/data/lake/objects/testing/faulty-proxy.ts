/** A proxy between client and server that injects a fault into each request that the test names. */
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
  request as sendRequest,
} from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
}

export type Fault =
  | "none"
  /** The server never receives the request. */
  | "refuse"
  /** The server handles the request, and the client gets no answer. */
  | "loseAnswer"
  /** The connection breaks after half of the answer's body. */
  | "cutAnswer"
  /** The connection stalls after half of the answer's body. */
  | "stallAnswer"
  /** One bit of the answer's body is flipped. */
  | "flipBit"
  /** Answers that the server is overloaded. */
  | "busy"
  /** Answers that access is denied. */
  | "deny";

export interface FaultyProxy {
  readonly endpoint: string;
  readonly seen: readonly SeenRequest[];
  /** Sets the fault of each request from now on. */
  decide(fault: (request: SeenRequest) => Fault): void;
  close(): Promise<void>;
}

export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const seen: SeenRequest[] = [];
  let decide: (request: SeenRequest) => Fault = () => "none";
  const server = createServer((incoming, outgoing) => {
    const { method = "", url = "", headers } = incoming;
    const request = { method, url, headers };
    seen.push(request);
    const fault = decide(request);
    if (fault === "refuse") incoming.socket.destroy();
    else if (fault === "busy") answerError(outgoing, 503, "SlowDown");
    else if (fault === "deny") answerError(outgoing, 403, "AccessDenied");
    else forward(target, incoming, outgoing, fault);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    decide: (next) => {
      decide = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function forward(
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  fault: Fault,
): void {
  const { method, url = "", headers } = incoming;
  const upstream = sendRequest(target + url, { method, headers, agent: false }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on("data", (chunk: Buffer) => chunks.push(chunk));
    answer.on("end", () => {
      if (fault === "loseAnswer") incoming.socket.destroy();
      else respond(outgoing, answer, Buffer.concat(chunks), fault);
    });
  });
  upstream.on("error", () => incoming.socket.destroy());
  incoming.on("error", () => upstream.destroy());
  incoming.pipe(upstream);
}

function respond(
  outgoing: ServerResponse,
  from: IncomingMessage,
  body: Buffer,
  fault: Fault,
): void {
  outgoing.writeHead(from.statusCode ?? 500, from.headers);
  const half = Math.floor(body.length / 2);
  if (fault === "cutAnswer") {
    outgoing.write(body.subarray(0, half), () => outgoing.socket?.destroy());
  } else if (fault === "stallAnswer") {
    outgoing.write(body.subarray(0, half));
  } else {
    if (fault === "flipBit") body[half] = (body[half] ?? 0) ^ 1;
    outgoing.end(body);
  }
}

function answerError(outgoing: ServerResponse, status: number, code: string): void {
  outgoing.writeHead(status, { "content-type": "application/xml" });
  outgoing.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
}
