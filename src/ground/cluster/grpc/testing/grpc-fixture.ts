/** Real sockets on loopback, with the real clock. */

import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { silentLogger } from "../../../kernel/logger.ts";
import { realClock } from "../../../kernel/node/real-clock.ts";
import type { AcceptLink, Dialer, WorkerAddress } from "../../core/index.ts";
import {
  type ControlServer,
  type ControlServerOptions,
  startControlServer,
} from "../control-server.ts";
import { createGrpcDialer, type GrpcDialerOptions } from "../dialer.ts";

export const token = "a-token-for-tests";

export class GrpcFixture {
  readonly #servers: ControlServer[] = [];

  async listen(
    accept: AcceptLink,
    options: Partial<ControlServerOptions> = {},
  ): Promise<WorkerAddress> {
    const server = await startControlServer({
      host: "127.0.0.1",
      port: 0,
      token,
      accept,
      clock: realClock,
      logger: silentLogger,
      ...options,
    });
    this.#servers.push(server);
    return { host: "127.0.0.1", grpcPort: server.port };
  }

  dialer(options: Partial<GrpcDialerOptions> = {}): Dialer {
    return createGrpcDialer({ token, clock: realClock, logger: silentLogger, ...options });
  }

  /** An address whose port was free a moment ago. */
  async nowhere(): Promise<WorkerAddress> {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => {
      server.close(resolve);
    });
    return { host: "127.0.0.1", grpcPort: port };
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}
