/** Broken parts of load tests. */
import { sql } from "kysely";
import type { CatalogTx, LeaseGrant, Store } from "../../src/ground/store/index.ts";
import type { WorkerControl } from "../../src/kinds/load/core/worker-control.ts";
import { RunOrchestrator } from "../../src/kinds/load/orchestrator/run-orchestrator.ts";
import { StoreWorkerControl } from "../../src/kinds/load/store/store-worker-control.ts";
import { LoadWorker, type LoadWorkerDeps } from "../../src/kinds/load/worker/load-worker.ts";
import { storeWith } from "./broken-stores.ts";

/** Appends `statement` to every transaction of a coordinator. */
export function storeEndingWith(statement: string): (store: Store) => Store {
  return storeWith((store) => ({
    catalogTransaction: <T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant) =>
      store.catalogTransaction(async (tx) => {
        const result = await body(tx);
        await sql.raw(statement).execute(tx.db);
        return result;
      }, lease),
  }));
}

/** Skips sequence ids. */
export const skipSequences = `
  UPDATE run_status SET next_sequence_id = next_sequence_id + 1 WHERE phase = 'WARMUP'`;

export const goBack = `
  UPDATE run_status SET phase = 'PREPARING' WHERE phase = 'WARMUP' AND status = 'RUNNING' AND total_ops > 0`;

/** The share of a lost worker is lost with it. */
export const loseShares = `
  UPDATE run_status
     SET worker_targets = json_remove(worker_targets, '$."' || (SELECT min(worker_id) FROM worker_heartbeats AS h
                                                                 WHERE h.run_id = run_status.run_id AND h.status = 'DEAD') || '"')
   WHERE status = 'RUNNING'
     AND EXISTS (SELECT 1 FROM worker_heartbeats AS h WHERE h.run_id = run_status.run_id AND h.status = 'DEAD')`;

/** Dead workers are missing in the final count. */
export const forgetTheDead = `
  UPDATE test_results
     SET total_operations = (SELECT coalesce(sum(s.ops), 0)
                               FROM worker_series AS s JOIN worker_heartbeats AS h USING (run_id, worker_id)
                              WHERE s.run_id = test_results.run_id AND s.phase = 'MEASUREMENT' AND h.status <> 'DEAD')
   WHERE worker_id IS NULL AND status IN ('COMPLETED', 'FAILED', 'CANCELLED')`;

/** Gives a worker up after 20 s of silence. */
export const giveUpEarly = `
  UPDATE worker_heartbeats SET status = 'DEAD'
   WHERE status = 'RUNNING' AND last_heartbeat_ms < now_ms() - 20000`;

/** Says that figures are stored, and does not store them. */
export class NoddingControl extends StoreWorkerControl {
  override async writeSnapshot(): Promise<"ok"> {
    return "ok";
  }
}

/** A leader that does not take over runs that others began. */
export class DeafOrchestrator extends RunOrchestrator {
  override leaseChanged(): void {}
}

/** Ignores what it is told. */
export class StubbornWorker extends LoadWorker {
  constructor(deps: LoadWorkerDeps) {
    super({ ...deps, control: stubborn(deps.control) });
  }

  override terminate(): void {}
}

function stubborn(control: WorkerControl): WorkerControl {
  return {
    register: (worker) => control.register(worker),
    read: async (runId) => {
      const view = await control.read(runId);
      if (view === undefined) return undefined;
      const phase =
        view.phase === "COOLDOWN" || view.phase === "PROCESSING" ? "MEASUREMENT" : view.phase;
      return { ...view, phase, status: "RUNNING", leaseLapsedMs: 0 };
    },
    events: async (runId, after) =>
      (await control.events(runId, after)).filter(({ type }) => type !== "STOP"),
    beat: async (worker, beat) => {
      await control.beat(worker, beat);
      return "ok";
    },
    writeSnapshot: async (worker, snapshot) => {
      await control.writeSnapshot(worker, snapshot);
      return "ok";
    },
    finish: (worker, snapshot, status) => control.finish(worker, snapshot, status),
    log: (runId, lines) => control.log(runId, lines),
  };
}
