/** Workers, from the store if there is one, and from this process's sessions. */

import { getWorker, listWorkers } from "../../../ground/cluster/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { type Incarnation, parseWorkerId, type WorkerId } from "../../../ground/kernel/ids.ts";
import type { WorkersPort } from "../ports.ts";
import type { WorkerBody } from "../schemas.ts";
import type { StatusSources } from "./status.ts";
import { workerBody, workerBodyOfView } from "./worker-bodies.ts";

export type WorkersSources = Pick<StatusSources, "node" | "store" | "leadership" | "clock">;

export function createWorkersPort({ node, store, leadership, clock }: WorkersSources): WorkersPort {
  const viewsAsBodies = (): WorkerBody[] =>
    node.pool
      .views()
      .map((view) => workerBodyOfView(view, clock.nowMs()))
      .sort((left, right) => (left.worker_id < right.worker_id ? -1 : 1));
  return {
    async list({ limit, after }) {
      if (store === undefined) {
        return viewsAsBodies()
          .filter(({ worker_id }) => after === undefined || worker_id > after)
          .slice(0, limit);
      }
      const afterId = after === undefined ? undefined : parseWorkerId(after);
      if (after !== undefined && afterId === undefined) {
        throw new OperatingError("bad_request", "never", "page_token: is not one of ours");
      }
      const page = afterId === undefined ? { limit } : { limit, after: afterId };
      const { workers } = await listWorkers(store, page);
      return workers.map((row) =>
        workerBody(row, node.pool.view(row.worker_id as WorkerId), clock.nowMs()),
      );
    },
    async get(workerId) {
      if (store === undefined) {
        return viewsAsBodies().find(({ worker_id }) => worker_id === workerId);
      }
      const row = await getWorker(store, workerId);
      if (row === undefined) return undefined;
      return workerBody(row, node.pool.view(workerId), clock.nowMs());
    },
    async register(body) {
      await leadership.asLeader(async () => {
        await node.registerWorker({
          workerId: body.worker_id as WorkerId, // The schema checked both formats.
          incarnation: body.incarnation as Incarnation,
          hostName: body.host_name,
          grpcPort: body.grpc_port,
          dataPort: body.data_port,
          capacity: body.capacity,
          softwareVersion: body.software_version,
        });
      });
    },
    async setDrainRequested(workerId, draining) {
      await leadership.asLeader(async () => {
        await (draining ? node.requestDrain(workerId) : node.cancelDrain(workerId));
      });
    },
    async drop(workerId) {
      await leadership.asLeader(async () => {
        await node.dropWorker(workerId);
      });
    },
  };
}
