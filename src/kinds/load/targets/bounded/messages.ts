/**
 * What goes between a target and the bounded process that has its database: a `DriverSession`, call
 * by call.
 */
import type { AnswerOf, ArgumentOf, RequestOf } from "../../../../ground/threads/index.ts";
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

interface InSession {
  readonly session: number;
}

/** The number of a session or a plan. */
type Id = number;

export interface TargetService {
  readonly requests: {
    open(): Id;
    prepare(request: InSession & { readonly operation: Operation }): Id;
    /** Answers `undefined` when the session was lost or closed first. */
    start(
      request: InSession & { readonly plan: Id; readonly values: readonly ParameterValue[] },
    ): { readonly failure: OperationFailure | undefined; readonly rowCount: number } | undefined;
    run(
      request: InSession & { readonly sql: string; readonly values: readonly ParameterValue[] },
    ): readonly Row[];
    /** Answers when the session is lost, or closed. */
    untilLost(session: Id): OperationFailure | undefined;
    close(session: Id): void;
  };
  readonly notes: Record<never, never>;
}

/**
 * What threads of such a process reserve, those of SQLite's sessions: each about twice its code.
 */
export const targetScriptBytes: number = 8 * 32 * 1024 ** 2;

/** The port to a process under the bounds of workers' SQL. */
export interface TargetProcess {
  readonly lost: boolean;
  /**
   * Rejects with what the process says; when it is lost with `statement_too_large` or
   * `query_failed`.
   */
  ask<N extends RequestOf<TargetService>>(
    name: N,
    argument: ArgumentOf<TargetService, N>,
    signal?: AbortSignal,
  ): Promise<AnswerOf<TargetService, N>>;
  end(): Promise<void>;
}

/** `module`: what runs in it. */
export type StartTargetProcess = (module: URL, open: TargetOpen) => TargetProcess;
