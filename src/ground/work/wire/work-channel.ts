/** Work's channel on the control session: converts its frames to messages of the managers. */
import type {
  ChannelOffer,
  WorkerChannel,
  WorkerEndpoint,
  WorkerPool,
} from "../../cluster/index.ts";
import type { WorkerWorkManager, WorkPool, WorkReporter } from "../core/index.ts";
import { decodeCommand, decodeReport, encodeCommand, encodeReport } from "./codec.ts";

export const workChannel: ChannelOffer = { name: "work", oldest: 1, newest: 1 };
const channel = workChannel.name;

/** The workers with this channel, for the controller's manager. */
export function workPoolOf(pool: WorkerPool): WorkPool {
  return {
    listen: (listener) =>
      pool.listen({
        channel,
        workerUp: ({ workerId, incarnation, admission }) =>
          listener({ kind: "workerUp", workerId, incarnation, admission }),
        workerAdmission: (workerId, admission) =>
          listener({ kind: "workerAdmission", workerId, admission }),
        workerFrame: (workerId, payload) =>
          listener({ kind: "report", workerId, report: decodeReport(payload) }),
        workerDown: (workerId) => listener({ kind: "workerDown", workerId }),
      }),
    send: (workerId, command) => pool.send(workerId, channel, encodeCommand(command)),
  };
}

/** Carries commands to the worker's manager. */
export function workChannelOf(
  manager: Pick<WorkerWorkManager, "obey" | "sessionLost">,
): WorkerChannel {
  return {
    ...workChannel,
    receive: (session, payload) => manager.obey(session, decodeCommand(payload)),
    sessionLost: (session) => manager.sessionLost(session),
  };
}

/** Carries the reports of the worker's manager back. */
export function workReporterOf(endpoint: WorkerEndpoint): WorkReporter {
  return {
    report: (session, report) => endpoint.send(session, channel, encodeReport(report)),
    setAdmission: (admission) => endpoint.setAdmission(admission),
  };
}
