/** A raw HTTP/2 client, for requests that our own dialer never sends. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import type { WorkerAddress } from "../../core/index.ts";

export class RawClient {
  readonly connection: ClientHttp2Session;
  readonly stream: ClientHttp2Stream;
  status: string | undefined;
  message: string | undefined;
  closed: boolean = false;

  constructor({ host, grpcPort }: WorkerAddress, headers: Readonly<Record<string, string>>) {
    this.connection = connect(`http://${host}:${grpcPort}`);
    this.connection.on("error", () => undefined);
    this.connection.on("close", () => {
      this.closed = true;
    });
    this.stream = this.connection.request({
      ":method": "POST",
      ":path": "/capstan.control.v1.ControlService/Session",
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    this.stream.on("error", () => undefined);
    this.stream.on("response", (response) => this.#note(response));
    this.stream.on("trailers", (trailers) => this.#note(trailers));
  }

  /** Sends one gRPC message: a flag, the length, the bytes. */
  write(bytes: Uint8Array, claimedLength = bytes.length): void {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(claimedLength, 1);
    this.stream.write(Buffer.concat([prefix, bytes]));
  }

  close(): void {
    this.connection.destroy();
  }

  #note(headers: Record<string, unknown>): void {
    const { "grpc-status": status, "grpc-message": message } = headers;
    if (typeof status === "string") this.status = status;
    if (typeof message === "string") this.message = decodeURIComponent(message);
  }
}
