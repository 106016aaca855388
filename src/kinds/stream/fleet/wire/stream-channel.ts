/** The channel of streams on the control session: converts its frames to commands and reports. */
import type {
  ChannelOffer,
  WorkerChannel,
  WorkerEndpoint,
  WorkerPool,
} from "../../../../ground/cluster/index.ts";
import { parseWorkerId } from "../../../../ground/kernel/ids.ts";
import type { FleetPort, StreamCommand, StreamReport } from "../core/index.ts";
import { decodeCommand, decodeReport, encodeCommand, encodeReport } from "./codec.ts";

export const streamChannel: ChannelOffer = { name: "stream", oldest: 1, newest: 1 };
const channel = streamChannel.name;

/** The workers with this channel, for the reconcilers. */
export function fleetOf(pool: WorkerPool): FleetPort {
  return {
    listen: (events) =>
      pool.listen({
        channel,
        workerUp: ({ workerId }) => events.workerUp(workerId),
        workerFacts: (workerId, facts, version) => events.facts(workerId, facts, version),
        workerFrame: (workerId, payload) => events.report(workerId, decodeReport(payload)),
        workerDown: (workerId, reason) => events.workerDown(workerId, reason),
      }),
    send: (name, command) => {
      const workerId = parseWorkerId(name);
      return workerId !== undefined && pool.send(workerId, channel, encodeCommand(command));
    },
  };
}

/** What obeys commands on a worker. `session` is a key to answer under. */
export interface StreamWorker {
  obey(session: string, command: StreamCommand): void;
}

/** Carries commands to the worker's fragments, which stay when a session ends (SD2). */
export function streamChannelOf(worker: StreamWorker): WorkerChannel {
  return {
    ...streamChannel,
    receive: (session, payload) => worker.obey(session, decodeCommand(payload)),
    sessionLost: () => undefined,
  };
}

/** Carries reports back; those of a session that is gone are lost. */
export function sendReport(endpoint: WorkerEndpoint, session: string, report: StreamReport): void {
  endpoint.send(session, channel, encodeReport(report));
}
