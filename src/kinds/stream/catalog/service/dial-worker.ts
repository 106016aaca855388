/** One dial to a worker that is about to be created, to ask who it is (SC16). */
import { type Dialer, protocolVersions } from "../../../../ground/cluster/index.ts";
import { type Clock, sleep } from "../../../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import {
  parseControllerId,
  parseLeaseEpoch,
  parseSessionEpoch,
} from "../../../../ground/kernel/ids.ts";
import { type Prng, randomText } from "../../../../ground/kernel/prng.ts";
import type { DialledWorker } from "../store/applying.ts";

export interface WorkerToDial {
  readonly host: string;
  readonly grpcPort: number;
}

export type DialWorker = (worker: WorkerToDial) => Promise<DialledWorker>;

const dialMsMax = 2_000;

export function createWorkerDial(deps: {
  readonly dialer: Dialer;
  readonly clock: Clock;
  readonly prng: Prng;
}): DialWorker {
  return async (worker) => {
    checkAddress(worker);
    return await dialOnce(deps, worker);
  };
}

function checkAddress({ host, grpcPort }: WorkerToDial): void {
  const isHost = /^[A-Za-z0-9.:_-]{1,255}$/.test(host);
  if (isHost && Number.isInteger(grpcPort) && grpcPort > 0 && grpcPort <= 65_535) return;
  throw new OperatingError("InvalidAddress", "never", `${host}:${grpcPort} is no address`, {
    hint: "An address is host:port, with a port from 1 to 65535.",
  });
}

export function unreachable({ host, grpcPort }: WorkerToDial, why: string): OperatingError {
  const message = `the worker at ${host}:${grpcPort} cannot be reached: ${why}`;
  const hint = "Start it first, and give the address of its control session.";
  return new OperatingError("NetworkError", "backoff", message, { hint });
}

async function dialOnce(
  { dialer, clock, prng }: Parameters<typeof createWorkerDial>[0],
  worker: WorkerToDial,
): Promise<DialledWorker> {
  const controllerId = parseControllerId(`asking-${randomText(prng, 12)}`);
  const epoch = parseSessionEpoch(1);
  const leaseEpoch = parseLeaseEpoch(0);
  assert(
    controllerId !== undefined && epoch !== undefined && leaseEpoch !== undefined,
    "constants",
  );
  const answered = Promise.withResolvers<DialledWorker | string>();
  const link = dialer.dial(worker, {
    onFrame({ frame }) {
      if (frame.kind === "refused") answered.resolve(`it refused: ${frame.message}`);
      if (frame.kind !== "welcome") return;
      const { workerId, incarnation, capacity, softwareVersion } = frame;
      const dataPort = Number(new URL(frame.dataUrl).port);
      answered.resolve({ workerId, incarnation, capacity, softwareVersion, dataPort });
    },
    onClose: (reason) => answered.resolve(reason),
  });
  const over = new AbortController();
  try {
    // As a query-api: such a session commands nothing and orders no coordinators.
    link.send({
      epoch,
      frame: {
        kind: "hello",
        controllerId,
        role: "query_api",
        leaseEpoch,
        versions: protocolVersions,
        channels: [],
      },
    });
    const late = sleep(clock, dialMsMax, over.signal).then(() => "it did not answer within 2 s");
    const answer = await Promise.race([answered.promise, late]);
    if (typeof answer !== "string") return answer;
    throw unreachable(worker, answer);
  } finally {
    over.abort();
    link.send({ epoch, frame: { kind: "goodbye", reason: "shutting_down" } });
    link.close("asked");
  }
}
