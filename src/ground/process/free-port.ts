import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { listenError } from "./bind.ts";

/**
 * Chooses an unused port, for a server that must know its address before it listens. If another
 * process takes the port in between, listening fails in the usual way.
 */
export async function chooseFreePort(host: string): Promise<number> {
  const server = createServer();
  server.listen(0, host);
  try {
    await once(server, "listening");
  } catch (thrown) {
    throw listenError(thrown, host, 0, "--port");
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
