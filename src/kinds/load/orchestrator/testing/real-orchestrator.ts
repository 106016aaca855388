/**
 * An orchestrator over a store in memory and real load workers, all in virtual time; its target is
 * the test's.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import type { Prng } from "../../../../ground/kernel/prng.ts";
import { createSharedSqlite, openSimStore, type Store } from "../../../../ground/store/index.ts";
import type { Target } from "../../core/target.ts";
import type { WorkerControl } from "../../core/worker-control.ts";
import { StoreWorkerControl } from "../../store/store-worker-control.ts";
import { leaseName, takeLease } from "../../store/testing/load-fixture.ts";
import { RunOrchestrator } from "../run-orchestrator.ts";
import { RealWorkers, type RealWorkersOptions } from "./real-workers.ts";

export interface RealOrchestratorOptions {
  readonly clock: Clock;
  readonly prng: Prng;
  readonly target: Target;
  /** What the workers have instead of the orchestrator's own clock, and so on. */
  readonly workers?: Partial<Pick<RealWorkersOptions, "clock" | "onExecuted">>;
  /** Between the workers and the store; nothing unless given. */
  readonly throughControl?: (control: WorkerControl) => WorkerControl;
}

export async function openRealOrchestrator(
  options: RealOrchestratorOptions,
): Promise<{ readonly orchestrator: RunOrchestrator; readonly store: Store }> {
  const { clock, prng, target, throughControl = (control) => control } = options;
  const store = openSimStore({ database: createSharedSqlite(() => clock.wallMs()) });
  const lease = await takeLease(store, 1, 1e9);
  const control = throughControl(new StoreWorkerControl(store, { leaseName }));
  const workers = { clock, control, target, prng: prng.fork("workers"), ...options.workers };
  const orchestrator = new RunOrchestrator({
    store,
    spawner: new RealWorkers(workers),
    openTarget: async () => target,
    records: {
      percentiles: async () => undefined,
      enrich: async () => ({ ratio: 0 }),
      remove: async () => undefined,
    },
    clusterToken: "",
    lease: () => lease,
    clock,
    prng: prng.fork("orchestrator"),
    logger: silentLogger,
  });
  orchestrator.open();
  return { orchestrator, store };
}
