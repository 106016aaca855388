/** Queries as decisions see them, written shortly. */
import {
  type FragmentRow,
  type FragmentState,
  hasEnded,
  type QueryRow,
} from "../../catalog/core/index.ts";
import type { FragmentError, FragmentReport } from "../core/commands.ts";
import type { QueryView, WorkerView } from "../core/query-view.ts";

export function queryRow(changes: Partial<QueryRow> = {}): QueryRow {
  return {
    query_id: "q1",
    name: "one",
    name_key: "ONE",
    state: "DEPLOYING",
    previous_state: "PENDING",
    desired_state: "RUNNING",
    stop_mode: null,
    epoch: 1,
    state_reason: "",
    error_code: null,
    error_number: null,
    error_worker_id: null,
    guarantee: "exactly once",
    failures_in_a_row: 0,
    is_preview: 0,
    savepoints_asked: 0,
    savepoints_taken: 0,
    superseded_by: null,
    created_at_ms: 1,
    state_changed_at_ms: 1,
    ...changes,
  };
}

/** `f0@w1` in a state, of the query's epoch. */
export function fragmentRow(
  place: string,
  state: FragmentState,
  changes: Partial<FragmentRow> = {},
): FragmentRow {
  const [fragment = "", worker_id = ""] = place.split("@");
  return {
    fragment_id: `q1/${fragment}`,
    query_id: "q1",
    fragment,
    worker_id,
    is_pinned: 0,
    epoch: 1,
    state,
    previous_state: "PENDING",
    state_reason: "",
    holds_slot: hasEnded(state) ? 0 : 1,
    state_changed_at_ms: 1,
    ...changes,
  };
}

export function report(
  fragment: string,
  state: FragmentReport["state"],
  changes: Partial<FragmentReport> = {},
): FragmentReport {
  return { fragment, epoch: 1, state, error: undefined, ...changes };
}

export function failure(changes: Partial<FragmentError> = {}): FragmentError {
  return {
    code: "query_failed",
    number: undefined,
    message: "it broke",
    retry: "backoff",
    ...changes,
  };
}

export function up(workerId: string, ...reports: readonly FragmentReport[]): WorkerView {
  return {
    workerId,
    isUp: true,
    unreachableMs: 0,
    reports,
    isBusy: false,
    refusal: undefined,
    isDraining: false,
  };
}

export function away(workerId: string, unreachableMs: number): WorkerView {
  return { ...up(workerId), isUp: false, unreachableMs };
}

export function view(
  query: QueryRow,
  fragments: readonly FragmentRow[],
  workers: readonly WorkerView[],
  changes: Partial<QueryView> = {},
): QueryView {
  return {
    query,
    fragments,
    cleanups: [],
    predecessor: undefined,
    workers: new Map(workers.map((worker) => [worker.workerId, worker])),
    leaving: new Set(),
    mayMove: true,
    endingMs: 0,
    checkpoint: { isFinal: true, fault: undefined },
    sourceFragments: new Set(["f0"]),
    reachableMs: 0,
    nowMs: 30_001,
    isJudged: true,
    ...changes,
  };
}
