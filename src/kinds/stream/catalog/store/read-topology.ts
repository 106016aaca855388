/** The workers, their slots and their links, as placement sees them (SC22). */
import type { Tx } from "../../../../ground/store/index.ts";
import type { Topology } from "../core/planner.ts";
import { streamSlotsDefault } from "./move-rows.ts";

export async function readTopology({ db }: Tx): Promise<Topology> {
  const workers = await db
    .selectFrom("workers")
    .leftJoin("stream_workers", "stream_workers.worker_id", "workers.worker_id")
    .select(["workers.worker_id", "host_name", "grpc_port", "label", "slots", "slots_used"])
    .select(["state", "state_reason", "draining", "drain_requested"])
    .orderBy("workers.worker_id")
    .execute();
  const links = await db
    .selectFrom("network_links")
    .selectAll()
    .orderBy("src_worker_id")
    .orderBy("dst_worker_id")
    .execute();
  return {
    workers: workers.map((row) => {
      const reason =
        row.state !== "ACTIVE"
          ? `it is ${row.state}: ${row.state_reason}`
          : row.draining === 1 || row.drain_requested === 1
            ? "it is draining"
            : "";
      return {
        workerId: row.worker_id,
        label: row.label ?? undefined,
        host: row.host_name,
        grpcPort: row.grpc_port,
        slots: row.slots ?? streamSlotsDefault,
        slotsUsed: row.slots_used ?? 0,
        takesFragments: reason === "",
        reason,
      };
    }),
    links: links.map(({ src_worker_id: from, dst_worker_id: to }) => ({ from, to })),
  };
}
