/** Sends records to a server. What was sent before a failure may be sent again (SU7). */
import { once } from "node:events";
import type { RecordWriter } from "../../engine/core/index.ts";
import { DialectError } from "../../language/core/index.ts";
import type { SinkWriter } from "../core/connector.ts";
import { connectSocket, type SocketAddress } from "../net/connect-socket.ts";
import { ByteOutlet } from "./byte-outlet.ts";

export interface TcpWriterOptions extends SocketAddress {
  readonly writer: RecordWriter;
}

export async function openTcpWriter(options: TcpWriterOptions): Promise<SinkWriter> {
  const { host, port, writer } = options;
  const socket = await connectSocket(options, "sink");
  socket.resume(); // Whatever the server says is nobody's concern.
  let failure: Error | undefined;
  socket.on("error", (error) => {
    failure = new DialectError(4004, `the sink at ${host}:${port} failed: ${error.message}`);
  });
  const outlet = new ByteOutlet({
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) reject(failure);
        socket.write(bytes, (error) => {
          if (error == null) resolve();
          else reject(failure ?? new DialectError(4004, `${host}:${port}: ${error.message}`));
        });
      }),
  });
  return {
    write: (batch) => outlet.add(writer.write(batch)),
    position: () => undefined,
    flush: () => outlet.flush(),
    end: async () => {
      await outlet.flush();
      const ended = once(socket, "close");
      socket.end();
      await ended;
    },
    close: () => {
      socket.destroy();
      return Promise.resolve();
    },
  };
}
