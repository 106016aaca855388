/** Opens a TCP connection for a source or a sink, within a time limit. */
import { connect, type Socket } from "node:net";
import { DialectError } from "../../language/core/index.ts";

export interface SocketAddress {
  readonly host: string;
  readonly port: number;
  readonly connectMsMax: number;
}

export function connectSocket(
  { host, port, connectMsMax }: SocketAddress,
  role: "source" | "sink",
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: connectMsMax });
    const fail = (why: string): void => {
      socket.destroy();
      const number = role === "source" ? 4002 : 4004;
      reject(new DialectError(number, `the ${role} at ${host}:${port} cannot be reached: ${why}`));
    };
    socket.once("timeout", () => fail(`no connection within ${connectMsMax} ms`));
    socket.once("error", (error) => fail(error.message));
    socket.once("connect", () => {
      socket.removeAllListeners("timeout").removeAllListeners("error");
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}
