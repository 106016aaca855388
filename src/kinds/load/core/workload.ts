/** A scenario, compiled for one worker: operations, their weights, and what makes their values. */
import type { Operation, ParameterValue } from "./operation.ts";

export interface WorkloadOperation {
  readonly operation: Operation;
  readonly weight: number;
  /**
   * Fills `values`, one for each parameter. Deterministic in the worker's seed and the number of
   * calls.
   */
  fill(values: ParameterValue[]): void;
}

export interface Workload {
  readonly operations: readonly WorkloadOperation[];
  /** The next operation's index, by weight. */
  choose(): number;
}
