/** What goes into a `WorkBoard`, what comes out of it, and what it shows of itself. */
import type { Admission } from "../../../cluster/core/index.ts";
import type { ErrorCode } from "../../../kernel/errors.ts";
import type { Incarnation, QueryId, WorkerId } from "../../../kernel/ids.ts";
import type { WorkAttempt, WorkKey, WorkReport, WorkSpec } from "./messages.ts";
import type { WorkEffect, WorkEvent, WorkLimits, WorkState } from "./work.ts";

export interface BoardLimits extends WorkLimits {
  /** Work items of all live queries together, committed ones included. */
  readonly worksMax: number;
  readonly queriesMax: number;
  /** Items assigned to or running on one worker; the rest waits here, where it can still go elsewhere. */
  readonly worksPerWorkerMax: number;
}

export type BoardEvent =
  /** A session opened. An earlier one of this worker, if it is still open here, ends with it. */
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
  /** An id that is in use is the caller's bug; ids are never used again. */
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
  /** Now and then: forgets rejections, so that a worker which says that it accepts is tried again. */
  | { readonly kind: "resync" };

export type BoardEffect =
  | WorkEffect
  /** An observation. `affinityHit`: it went to the worker that wants it most of all that are up. */
  | (WorkAttempt & {
      readonly kind: "assigned";
      readonly workerId: WorkerId;
      readonly affinityHit: boolean;
    })
  /** Every work item of the query was committed. */
  | { readonly kind: "queryDone"; readonly queryId: QueryId }
  | {
      readonly kind: "queryFailed";
      readonly queryId: QueryId;
      /** An `ErrorCode`, or what a worker of another version named. */
      readonly code: string;
      readonly message: string;
    }
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
  /** It rejected work and has not spoken of its admission since. */
  readonly rejecting: boolean;
  /** Items assigned to it or running on it. */
  readonly load: number;
}

export interface WorkOnBoard {
  readonly key: WorkKey;
  readonly state: WorkState;
  /** Queued, but not to be assigned before it is known whether two workers died of it. */
  readonly heldBack: boolean;
  /** 0 before the first assignment. */
  readonly attempt: number;
  readonly workerId: WorkerId | undefined;
}

export interface BoardSnapshot {
  readonly workers: readonly WorkerOnBoard[];
  /** Of live queries only, in the order of submission. */
  readonly works: readonly WorkOnBoard[];
  readonly queries: readonly QueryId[];
  /** Live items that a worker which is down may yet be forgiven for. */
  readonly suspectCount: number;
}
