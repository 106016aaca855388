/**
 * The port to the system under test. Each kind of database has an implementation; all pass the same
 * contract tests. Rules: TT1 to TT4.
 */
import type { Operation, ParameterValue } from "./operation.ts";

/** The kinds of failure that are counted. */
export type FailureKind =
  | "connection"
  | "timeout"
  | "constraint"
  | "serialization"
  | "deadlock"
  | "permission"
  | "resources"
  | "syntax"
  /** For HTTP, a redirect. */
  | "redirect"
  | "other";

/** The outcome of a failed operation; `code` is the target's own (an SQLSTATE, a number). */
export interface OperationFailure {
  readonly kind: FailureKind;
  readonly code: string;
  readonly message: string;
}

/**
 * `resent` counts requests that were sent again because the server had closed the socket before
 * reading them (HT5).
 */
export type Done = (
  failure: OperationFailure | undefined,
  rowCount: number,
  resent?: number,
) => void;

/** An operation, ready on one connection. */
export interface PreparedOperation {
  /** `values` may be changed as soon as it returns. */
  execute(values: readonly ParameterValue[], done: Done): void;
}

export interface TargetConnection {
  /** Rejects with `bad_sql` what the target refuses, with its words and position. */
  prepare(operation: Operation): Promise<PreparedOperation>;
  /** The number of operations without an answer. */
  readonly inFlight: number;
  /** Calls the listener at most once, when the connection breaks (TT2). Never after `close`. */
  onBroken(listener: (failure: OperationFailure) => void): void;
  /** Closes the connection; operations in flight fail. Idempotent. */
  close(): Promise<void>;
}

export interface TargetCapabilities {
  /** Maximum operations in flight on one connection; 1 means no pipelining. */
  readonly depthMax: number;
  readonly pollsServer: boolean;
  readonly enrichment: "perQuery" | "aggregate" | "none";
  readonly transactions: boolean;
}

/** The server's own figures; null where it gives none. */
export interface ServerPoll {
  /** The specification's warehouse: the database's name, or the warehouse's. */
  readonly name: string;
  readonly startedClusters: number | null;
  readonly running: number | null;
  readonly queued: number | null;
  readonly minClusterCount: number | null;
  readonly maxClusterCount: number | null;
  readonly scalingPolicy: string | null;
  /** The server's answer, unchanged, for display. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** A statement pattern's figures between two moments, from the server. */
export interface StatementFigures {
  readonly text: string;
  readonly calls: number;
  readonly totalMs: number;
  readonly rows: number;
}

/** By the target's clock, both ends inclusive. */
export interface HistoryWindow {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * One query in the target's own history. Times are in milliseconds; null where the target gives
 * none.
 */
export interface ExecutedQuery {
  readonly queryId: string;
  readonly text: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly status: string;
  readonly errorCode: string | null;
  readonly warehouse: string | null;
  readonly clusterNumber: number | null;
  readonly totalElapsedMs: number;
  readonly executionMs: number;
  readonly compilationMs: number;
  readonly queuedMs: number;
  readonly rowsProduced: number | null;
  readonly bytesScanned: number | null;
}

export interface Target {
  readonly kind: string;
  readonly capabilities: TargetCapabilities;
  /**
   * `depth`: at most `depthMax`. Rejects with an `OperatingError`: `target_unreachable`,
   * `target_refused`.
   */
  connect(depth: number, signal: AbortSignal): Promise<TargetConnection>;
  /** For data loads, resets and checks: one statement, its rows as JSON values. */
  run(
    sql: string,
    values: readonly ParameterValue[],
    signal: AbortSignal,
  ): Promise<readonly (readonly unknown[])[]>;
  /** Only with `pollsServer`. On a connection of its own. */
  pollServer(signal: AbortSignal): Promise<ServerPoll>;
  /** Only with `enrichment: "aggregate"`: figures since the server began to count. */
  statementFigures(signal: AbortSignal): Promise<readonly StatementFigures[]>;
  /**
   * Only with `enrichment: "perQuery"`: what the target's history has under its tag, in pages, no
   * query twice.
   */
  queryHistory?(
    window: HistoryWindow,
    signal: AbortSignal,
  ): AsyncIterable<readonly ExecutedQuery[]>;
  close(): Promise<void>;
}
