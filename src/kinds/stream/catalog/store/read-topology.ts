/** The workers, their slots and their links, as placement sees them (SC22). */
import type { Tx } from "../../../../ground/store/index.ts";
import type { Topology } from "../core/planner.ts";
import { streamSlotsDefault } from "./move-rows.ts";

/**
 * Whether the worker's session speaks of streams: one of an older version does not, and one of a
 * much newer version may not. `undefined`: there is no session to tell.
 */
export type SpeaksStreams = (workerId: string) => boolean | undefined;

export async function readTopology({ db }: Tx, speaks: SpeaksStreams): Promise<Topology> {
  const workers = await db
    .selectFrom("workers")
    .leftJoin("stream_workers", "stream_workers.worker_id", "workers.worker_id")
    .select(["workers.worker_id", "host_name", "grpc_port", "label", "slots", "slots_used"])
    .select(["state", "state_reason", "draining", "drain_requested", "software_version"])
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
      const reason = whyNone(row, speaks(row.worker_id));
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

interface Standing {
  readonly state: string;
  readonly state_reason: string;
  readonly draining: number;
  readonly drain_requested: number;
  readonly software_version: string;
}

/** For people: why the worker takes no fragments. Empty: it does. */
function whyNone(row: Standing, isSpoken: boolean | undefined): string {
  if (row.state !== "ACTIVE") return `it is ${row.state}: ${row.state_reason}`;
  if (row.draining === 1 || row.drain_requested === 1) return "it is draining";
  if (isSpoken !== false) return "";
  return `its Capstan ${row.software_version} and this one have no version of continuous queries in common; start the same on both`;
}
