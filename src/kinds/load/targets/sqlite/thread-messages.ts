/** What goes between a connection and its thread. */
import type { ParameterType, ParameterValue } from "../../core/operation.ts";
import type { OperationFailure } from "../../core/target.ts";

export interface SqliteThreadOptions {
  readonly path: string;
  readonly busyMsMax: number;
  readonly synchronous: string;
  /** Of a text or a BLOB. */
  readonly valueBytesMax: number;
}

export interface StatementRequest {
  readonly sql: string;
  readonly parameters: readonly { readonly index: number; readonly type: ParameterType }[];
}

export interface PlanRequest {
  /** Chosen by the connection. */
  readonly plan: number;
  readonly statements: readonly StatementRequest[];
  readonly isTransaction: boolean;
}

export interface RefusedStatement {
  /** Its place in the operation. */
  readonly statement: number;
  readonly message: string;
}

export type Execution = readonly [plan: number, values: readonly ParameterValue[]];

export interface SqliteThread {
  readonly requests: {
    prepare(request: PlanRequest): RefusedStatement | undefined;
    run(request: {
      readonly sql: string;
      readonly values: readonly ParameterValue[];
    }): readonly (readonly unknown[])[];
  };
  /** The executions that were given in one turn of the event loop. */
  readonly notes: { execute: readonly Execution[] };
}

export interface SqliteOwner {
  readonly requests: Record<never, never>;
  /** One for each execution, in their order: how many rows it had, or why it failed. */
  readonly notes: { done: number | OperationFailure };
}
