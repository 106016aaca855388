/** What goes between a target and the bounded process that has its database: a `DriverSession`, call by call. */
import type { Operation, ParameterValue } from "../../core/operation.ts";
import type { TargetConfig } from "../../core/scenario.ts";
import type { OperationFailure } from "../../core/target.ts";
import type { Row } from "../session/driver-session.ts";
import type { TargetFilesConfig } from "../target-files.ts";

/** Kinds whose database runs in the process that opens it. */
export type FileKind = Extract<TargetConfig["kind"], "duckdb" | "sqlite">;

export interface TargetOpen {
  readonly kind: FileKind;
  readonly url: string;
  readonly files: TargetFilesConfig;
  /** What the process may take. */
  readonly processBytes: number;
}

export type TargetRequest =
  | { readonly kind: "open" }
  | { readonly kind: "prepare"; readonly session: number; readonly operation: Operation }
  | {
      readonly kind: "start";
      readonly session: number;
      readonly plan: number;
      readonly values: readonly ParameterValue[];
    }
  | {
      readonly kind: "run";
      readonly session: number;
      readonly sql: string;
      readonly values: readonly ParameterValue[];
    }
  /** Answered when the session is lost, or closed. */
  | { readonly kind: "untilLost"; readonly session: number }
  | { readonly kind: "close"; readonly session: number };

export interface TargetAnswer {
  /** Of a session or a plan. */
  readonly id?: number;
  readonly failure?: OperationFailure | undefined;
  readonly rowCount?: number;
  readonly rows?: readonly Row[];
}

/** What threads of such a process reserve, those of SQLite's sessions: each about twice its code. */
export const targetScriptBytes: number = 8 * 32 * 1024 ** 2;

/** The port to a process under the bounds of workers' SQL. */
export interface TargetProcess {
  readonly lost: boolean;
  /** Rejects with what the process says; when it is lost with `statement_too_large` or `query_failed`. */
  ask(request: TargetRequest, signal?: AbortSignal): Promise<TargetAnswer>;
  end(): Promise<void>;
}

/** `module`: what runs in it. */
export type StartTargetProcess = (module: URL, open: TargetOpen) => TargetProcess;
