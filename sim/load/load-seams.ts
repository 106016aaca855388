/** The classes that load tests are made of; a planted bug puts another in the place of one. */
import { RunOrchestrator } from "../../src/kinds/load/orchestrator/run-orchestrator.ts";
import { StoreWorkerControl } from "../../src/kinds/load/store/store-worker-control.ts";
import { LoadWorker } from "../../src/kinds/load/worker/load-worker.ts";

export interface LoadSeams {
  readonly RunOrchestrator: typeof RunOrchestrator;
  readonly StoreWorkerControl: typeof StoreWorkerControl;
  readonly LoadWorker: typeof LoadWorker;
}

export const productionLoadSeams: LoadSeams = { RunOrchestrator, StoreWorkerControl, LoadWorker };
