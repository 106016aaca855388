/** Sends records to a server. What was sent before a failure may be sent again (SU7). */
import { type RecordWriter, selectedCount } from "../../engine/core/index.ts";
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
    failure ??= error;
  });
  const failed = (error: Error): DialectError =>
    new DialectError(4004, `the sink at ${host}:${port} failed: ${error.message}; ${outlet.fate}`, {
      hint: "Rows that were written shortly before may not have arrived either.",
    });
  const outlet = new ByteOutlet({
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) reject(failed(failure));
        socket.write(bytes, (error) => {
          if (error == null) resolve();
          else reject(failed(failure ?? error));
        });
      }),
  });
  return {
    write: (batch) => outlet.add(writer.write(batch), selectedCount(batch)),
    position: () => undefined,
    get bytesWritten() {
      return outlet.addedBytes;
    },
    flush: () => outlet.flush(),
    end: async () => {
      await outlet.flush();
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.end();
      await closed;
      if (failure !== undefined) throw failed(failure);
    },
    close: () => {
      socket.destroy();
      return Promise.resolve();
    },
  };
}
