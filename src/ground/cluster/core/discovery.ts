/** Where the workers are: what a pool should dial. */
import type { WorkerId } from "../../kernel/ids.ts";
import type { WorkerAddress } from "./link.ts";

export interface Target {
  readonly address: WorkerAddress;
  /** Who must answer there; `undefined` where the discovery knows addresses only. */
  readonly workerId?: WorkerId;
  /** Opaque; another value means that the worker registered anew, so that dialling it is worth while at once. */
  readonly registration?: string;
}

export interface Discovery {
  /**
   * `true`: workers are found without having registered, so the coordinator writes their row when they
   * answer. `false`: the store's rows are the only truth, and a worker without one does not belong here.
   */
  readonly adopts: boolean;
  /** Calls `onTargets` with the whole list, soon and after every change, until `stop`. Started once. */
  start(onTargets: (targets: readonly Target[]) => void): void;
  stop(): void;
}
