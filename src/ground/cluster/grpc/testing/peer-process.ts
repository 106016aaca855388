/**
 * A peer in a process of its own, for tests that kill it. `node peer-process.ts worker` listens and
 * prints its port; `node peer-process.ts controller PORT` dials and prints `up`;
 * `controller-with-bug` has a handler that throws.
 */

import type {
  ControllerId,
  Incarnation,
  LeaseEpoch,
  SessionEpoch,
  WorkerId,
} from "../../../kernel/ids.ts";
import { silentLogger } from "../../../kernel/logger.ts";
import { realClock } from "../../../kernel/node/real-clock.ts";
import { protocolVersions, WorkerEndpoint } from "../../core/index.ts";
import { startControlServer } from "../control-server.ts";
import { createGrpcDialer } from "../dialer.ts";
import { token } from "./grpc-fixture.ts";

const [role, port] = process.argv.slice(2);
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

if (role === "worker") {
  const endpoint = new WorkerEndpoint({
    clock: realClock,
    workerId: "worker-1" as WorkerId,
    incarnation: `pid-${process.pid}` as Incarnation,
    dataUrl: () => "http://127.0.0.1:1",
    capacity: 1,
    softwareVersion: "test",
    channels: [],
    logger: silentLogger,
  });
  const server = await startControlServer({
    host: "127.0.0.1",
    port: 0,
    token,
    accept: endpoint.accept,
    clock: realClock,
    logger: silentLogger,
  });
  say(String(server.port));
} else {
  const dialer = createGrpcDialer({ token, clock: realClock, logger: silentLogger });
  const link = dialer.dial(
    { host: "127.0.0.1", grpcPort: Number(port) },
    {
      onFrame: () => {
        say("up");
        if (role === "controller-with-bug") throw new Error("our bug");
      },
      onClose: (reason) => say(`closed ${reason}`),
    },
  );
  link.send({
    epoch: 1 as SessionEpoch,
    frame: {
      kind: "hello",
      controllerId: "child" as ControllerId,
      role: "query_api",
      leaseEpoch: 0 as LeaseEpoch,
      versions: protocolVersions,
      channels: [],
    },
  });
}
