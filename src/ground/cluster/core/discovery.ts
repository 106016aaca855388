/** Finds the workers that a pool should dial. */
import type { WorkerId } from "../../kernel/ids.ts";
import type { WorkerAddress } from "./link.ts";

export interface Target {
  readonly address: WorkerAddress;
  /** The worker that must answer there; undefined where the discovery knows only addresses. */
  readonly workerId?: WorkerId;
  /** Opaque. A new value means that the worker registered anew, so it is dialled at once. */
  readonly registration?: string;
}

export interface Discovery {
  /**
   * True when workers are found without registration: the coordinator writes their row when they
   * answer. False when only the store's rows count: a worker without one does not belong here.
   */
  readonly adopts: boolean;
  /**
   * Calls `onTargets` with the whole list, soon and after every change, until `stop`. Call it once.
   */
  start(onTargets: (targets: readonly Target[]) => void): void;
  stop(): void;
}
