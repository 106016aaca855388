/** The data that a script attaches to a source: its bytes, and a server that sends them. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import type { Attached } from "./parse-script.ts";

export async function readAttached(suiteDir: string, attached: Attached): Promise<Buffer> {
  if (attached.kind === "inline") return Buffer.from(attached.text);
  return await readFile(join(suiteDir, "testdata", attached.path));
}

/** Sends all of it to everyone who connects, and hangs up. The caller closes the server. */
export async function serveContent(
  content: Buffer,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end(content);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}
