/** The events, effects and snapshots of a `WorkBoard`. */
import type { Admission } from "../../../cluster/core/index.ts";
import type { ErrorCode, ErrorDetails } from "../../../kernel/errors.ts";
import type { Incarnation, QueryId, WorkerId } from "../../../kernel/ids.ts";
import type { WorkAttempt, WorkKey, WorkReport, WorkSpec } from "./messages.ts";
import type { WorkEffect, WorkEvent, WorkLimits, WorkState } from "./work.ts";

export interface BoardLimits extends WorkLimits {
  /** The limit of work items of all live queries, including committed ones. */
  readonly worksMax: number;
  readonly queriesMax: number;
  /** The limit of items assigned to or running on one worker. The rest waits here. */
  readonly worksPerWorkerMax: number;
}

export type BoardEvent =
  /** A session opened. It ends an earlier session of this worker that is still open here. */
  | {
      readonly kind: "workerUp";
      readonly workerId: WorkerId;
      readonly incarnation: Incarnation;
      readonly admission: Admission;
    }
  | {
      readonly kind: "workerAdmission";
      readonly workerId: WorkerId;
      readonly admission: Admission;
    }
  | { readonly kind: "workerDown"; readonly workerId: WorkerId }
  /** The id must not be in use; ids are never reused. */
  | { readonly kind: "submit"; readonly queryId: QueryId; readonly works: readonly WorkSpec[] }
  | { readonly kind: "report"; readonly workerId: WorkerId; readonly report: WorkReport }
  | (Extract<WorkEvent, { readonly kind: "fetched" | "fetchFailed" }> & { readonly key: WorkKey })
  /** `code` and `message` say why; they come back in `queryCancelled`. */
  | {
      readonly kind: "cancel";
      readonly queryId: QueryId;
      readonly code: ErrorCode;
      readonly message: string;
    }
  /**
   * Sent now and then. Forgets rejections, so that a worker that says it accepts is tried again.
   */
  | { readonly kind: "resync" };

export type BoardEffect =
  | WorkEffect
  /** An observation. `affinityHit`: no worker that is up ranks higher for the work. */
  | (WorkAttempt & {
      readonly kind: "assigned";
      readonly workerId: WorkerId;
      readonly affinityHit: boolean;
    })
  /** Every work item of the query was committed. */
  | { readonly kind: "queryDone"; readonly queryId: QueryId }
  | ({
      readonly kind: "queryFailed";
      readonly queryId: QueryId;
      /** An `ErrorCode`, or a code of a worker of another version. */
      readonly code: string;
      readonly message: string;
    } & ErrorDetails)
  | {
      readonly kind: "queryCancelled";
      readonly queryId: QueryId;
      readonly code: ErrorCode;
      readonly message: string;
    };

export interface BoardCounts {
  readonly queued: number;
  readonly assigned: number;
  readonly running: number;
  readonly ready: number;
  readonly queries: number;
}

export interface WorkerOnBoard {
  readonly workerId: WorkerId;
  readonly incarnation: Incarnation;
  readonly admission: Admission;
  /** The worker rejected work and has not reported its admission since. */
  readonly rejecting: boolean;
  /** Items assigned to the worker or running on it. */
  readonly load: number;
}

export interface WorkOnBoard {
  readonly key: WorkKey;
  readonly state: WorkState;
  /** Queued, but not assigned before it is known whether two workers died of it. */
  readonly heldBack: boolean;
  /** 0 before the first assignment. */
  readonly attempt: number;
  readonly workerId: WorkerId | undefined;
}

export interface BoardSnapshot {
  readonly workers: readonly WorkerOnBoard[];
  /** Works of live queries, in the order of submission. */
  readonly works: readonly WorkOnBoard[];
  readonly queries: readonly QueryId[];
  /** Live items with a loss that a worker which is down may still be forgiven for. */
  readonly suspectCount: number;
}
