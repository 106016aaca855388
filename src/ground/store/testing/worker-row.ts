import type { WorkersTable } from "../core/schema.ts";

/** A row of `workers`, valid unless the overrides change that. */
export function workerRow(id: string, overrides: Partial<WorkersTable> = {}): WorkersTable {
  return {
    worker_id: id,
    host_name: "127.0.0.1",
    grpc_port: 4_601,
    data_port: 4_602,
    capacity: 4,
    state: "ACTIVE",
    state_reason: "",
    state_changed_at_ms: 1_000,
    drain_requested: 0,
    accepting_work: 1,
    draining: 0,
    incarnation: "i1",
    software_version: "0.1.0",
    registered_at_ms: 1_000,
    ...overrides,
  };
}
