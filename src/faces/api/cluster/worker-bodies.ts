/** Workers as the API shows them: the store's row and this process's view of the session. */

import type { SessionView, WorkerRow } from "../../../ground/cluster/index.ts";
import type { LiveBody, WorkerBody } from "../schemas.ts";

export function workerBody(
  row: WorkerRow,
  view: SessionView | undefined,
  nowMs: number,
): WorkerBody {
  return {
    ...row,
    drain_requested: row.drain_requested === 1,
    accepting_work: row.accepting_work === 1,
    draining: row.draining === 1,
    live: liveBody(view, nowMs),
  };
}

/** For a process without a store, which knows only its sessions. */
export function workerBodyOfView(view: SessionView, nowMs: number): WorkerBody {
  const { live, address } = view;
  const dataPort = live === undefined ? 0 : Number(new URL(live.dataUrl).port);
  return {
    worker_id: view.workerId ?? `${address.host}:${address.grpcPort}`,
    host_name: address.host,
    grpc_port: address.grpcPort,
    data_port: dataPort,
    capacity: live?.capacity ?? 0,
    state: live === undefined ? "UNREACHABLE" : "ACTIVE",
    state_reason: view.downReason ?? "",
    state_changed_at_ms: 0,
    drain_requested: false,
    accepting_work: live?.admission.accepting ?? false,
    draining: live?.admission.draining ?? false,
    incarnation: live?.incarnation ?? "",
    software_version: live?.softwareVersion ?? "",
    registered_at_ms: 0,
    live: liveBody(view, nowMs),
  };
}

function liveBody(view: SessionView | undefined, nowMs: number): LiveBody | null {
  if (view === undefined) return null;
  const { live } = view;
  if (live === undefined) {
    return { session: false, rtt_ms: null, last_answer_ms_ago: null, facts: {} };
  }
  return {
    session: true,
    rtt_ms: live.rttMs ?? null,
    last_answer_ms_ago: Math.max(0, Math.round(nowMs - live.lastAnswerMs)),
    facts: { ...live.facts },
  };
}
