/** What goes between a connection and its thread. Answers to executions come in the order of the executions. */
import type { ErrorData } from "../../../../ground/kernel/error-codec.ts";
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

export type Execution = readonly [plan: number, values: readonly ParameterValue[]];

export type ToThread =
  | {
      readonly kind: "prepare";
      readonly id: number;
      readonly statements: readonly StatementRequest[];
      readonly isTransaction: boolean;
    }
  /** Those that were given in one turn of the event loop. */
  | { readonly kind: "execute"; readonly batch: readonly Execution[] }
  | {
      readonly kind: "run";
      readonly id: number;
      readonly sql: string;
      readonly values: readonly ParameterValue[];
    };

export type FromThread =
  | { readonly kind: "ready" }
  | { readonly kind: "unopened"; readonly error: ErrorData }
  /** `id` is also the plan's. */
  | { readonly kind: "prepared"; readonly id: number }
  | {
      readonly kind: "refused";
      readonly id: number;
      readonly statement: number;
      readonly message: string;
    }
  | { readonly kind: "rows"; readonly id: number; readonly rows: readonly (readonly unknown[])[] }
  | {
      readonly kind: "failed";
      readonly id: number;
      readonly failure: OperationFailure;
      readonly isSyntax: boolean;
    }
  | {
      readonly kind: "done";
      readonly failure: OperationFailure | undefined;
      readonly rowCount: number;
    };
