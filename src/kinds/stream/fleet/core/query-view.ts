/** What a decision about a query is made from: the catalog's rows and what the workers say. */
import type { FragmentRow, QueryRow } from "../../catalog/core/index.ts";
import type { FragmentError, FragmentReport } from "./commands.ts";

export interface QueryView {
  readonly query: QueryRow;
  readonly fragments: readonly FragmentRow[];
  readonly cleanups: readonly CleanupOwed[];
  /** The query that it replaces, until that one is removed. */
  readonly predecessor: string | undefined;
  /** Every worker that has a fragment, owes a cleanup, or reports a fragment of the query. */
  readonly workers: ReadonlyMap<string, WorkerView>;
  /** Draining workers: they get no new fragments, and give up those they have (SD23). */
  readonly leaving: ReadonlySet<string>;
  /** `false`: no other worker takes fragments, as was found a moment ago. */
  readonly mayMove: boolean;
  /** How long ago this leader first told a worker to end this epoch softly; 0: it told none. */
  readonly endingMs: number;
  /** Of a query that runs, or ends softly, in this epoch. */
  readonly checkpoint: CheckpointView | undefined;
  /** The fragments that read sources. */
  readonly sourceFragments: ReadonlySet<string>;
  /** Its setting REPLACE_AFTER; absent where nobody is away, and in plans of older versions. */
  readonly replaceAfterMs?: number | undefined;
  /** How long the deployment has been under way while all its workers could be reached. */
  readonly reachableMs: number;
  /** By the store's clock, as the times of the rows are. */
  readonly nowMs: number;
  /**
   * Whether this leader has led for the detection bound: a worker without a session is lost, and
   * not only unheard (SD18).
   */
  readonly isJudged: boolean;
}

export interface CheckpointView {
  /** Whether a checkpoint holds the end of every fragment (SD26). */
  readonly isFinal: boolean;
  /** Why there can be no checkpoint in this epoch. */
  readonly fault: FragmentError | undefined;
}

/** Fragments of this epoch or an older one may still run on the worker. */
export interface CleanupOwed {
  readonly workerId: string;
  readonly epoch: number;
}

export interface WorkerView {
  readonly workerId: string;
  /** Whether it has a session that carries streams; without one its reports are unknown. */
  readonly isUp: boolean;
  /** How long it has been without one, as far as this leader knows. */
  readonly unreachableMs: number;
  /** Of this query, as of now. */
  readonly reports: readonly FragmentReport[];
  /** Whether a command for this query is under way. Until its answer nothing is concluded. */
  readonly isBusy: boolean;
  /** Why the last command for this query in its epoch was not done. */
  readonly refusal: Refusal | undefined;
  /** Whether it was told to stop softly in this epoch. */
  readonly isDraining: boolean;
}

export interface Refusal {
  readonly error: FragmentError;
  /** How long to wait before the command is sent again. */
  readonly retryInMs: number;
}

export interface FleetLimits {
  readonly deployTimeoutMs: number;
  /** The default for queries whose plan does not set it. */
  readonly replaceAfterMs: number;
  readonly softStopMs: number;
  readonly failuresMax: number;
}

export const fleetLimits: FleetLimits = {
  deployTimeoutMs: 600_000,
  replaceAfterMs: 10_000,
  softStopMs: 60_000,
  failuresMax: 3,
};
