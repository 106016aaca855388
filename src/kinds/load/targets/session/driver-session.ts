/**
 * What a kind of target has to bring when its client is a library: one session. The rest is
 * `SessionTarget`'s.
 */
import type { Operation, ParameterValue } from "../../core/operation.ts";
import type { Done, OperationFailure } from "../../core/target.ts";

export type Row = readonly unknown[];

/** One statement at a time. */
export interface RunSession {
  /**
   * Placeholders in the kind's own way, rows as JSON values. Nothing else is under way. Rejects
   * when it is closed.
   */
  run(sql: string, values: readonly ParameterValue[]): Promise<readonly Row[]>;
  /** The one listener is told at most once, at any time after it was set. Not after `close`. */
  onLost(listener: (failure: OperationFailure) => void): void;
  /** Stops what is under way. Idempotent, never rejects. */
  close(): Promise<void>;
}

/** `Plan` is what the kind makes of an operation. */
export interface DriverSession<Plan> extends RunSession {
  /** Rejects with `bad_sql`. May be called while executions are under way. */
  prepare(operation: Operation): Promise<Plan>;
  /**
   * Answers once, later; or never, when it is closed or lost before. `values` stay as they are
   * until then.
   */
  start(plan: Plan, values: readonly ParameterValue[], answer: Done): void;
}
