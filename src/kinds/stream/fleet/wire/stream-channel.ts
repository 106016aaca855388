/** The channel of streams on the control session: converts its frames to commands and reports. */
import type {
  ChannelOffer,
  WorkerChannel,
  WorkerEndpoint,
  WorkerPool,
} from "../../../../ground/cluster/index.ts";
import { parseWorkerId } from "../../../../ground/kernel/ids.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";
import type { FleetPort, StreamCommand, StreamReport } from "../core/index.ts";
import type { StatesReport } from "../worker/stream-worker.ts";
import { decodeCommand, decodeReport, encodeCommand, encodeReport } from "./codec.ts";

export const streamChannel: ChannelOffer = { name: "stream", oldest: 1, newest: 2 };
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

export interface CommandedWorker {
  /** Executes commands. `session` is the key to answer under. */
  readonly worker: { obey(session: string, command: StreamCommand): void };
  /** The sessions that are open now. */
  readonly sessions: () => ReturnType<WorkerEndpoint["sessions"]>;
  readonly logger: Logger;
}

/** Carries commands of coordinators to fragments, which stay when a session ends (SD2). */
export function streamChannelOf({ worker, sessions, logger }: CommandedWorker): WorkerChannel {
  return {
    ...streamChannel,
    receive(session, payload) {
      const command = decodeCommand(payload);
      const asker = sessions().find(({ key }) => key === session);
      if (asker?.role === "coordinator") worker.obey(session, command);
      else logger.warn({ query_id: command.query }, "only a coordinator commands fragments");
    },
    sessionLost: () => undefined,
  };
}

/** Tells every coordinator whose session knows of it (SD30). */
export function tellStates(endpoint: WorkerEndpoint, report: StatesReport): void {
  for (const { key, role, channels } of endpoint.sessions()) {
    if (role !== "coordinator" || (channels.get(channel) ?? 0) < statesVersion) continue;
    sendReport(endpoint, key, report);
  }
}

const statesVersion = 2;

/** Carries reports back; those of a session that is gone are lost. */
export function sendReport(endpoint: WorkerEndpoint, session: string, report: StreamReport): void {
  endpoint.send(session, channel, encodeReport(report));
}
