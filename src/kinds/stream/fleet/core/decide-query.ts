/**
 * What happens next to a query: changes of the catalog, or commands for workers. Changes come first
 * and alone, so that what is commanded follows from what is stored; whoever performs them looks
 * again at once. Pure. Rules: SD10 to SD22.
 */

import type { FragmentRow, FragmentState, QueryState } from "../../catalog/core/index.ts";
import { hasEnded } from "../../catalog/core/index.ts";
import { decideLeaving, endSources, isLeaving, moveAway } from "./leave-workers.ts";
import type { FleetLimits, QueryView, WorkerView } from "./query-view.ts";
import { lookAt, type SeenFragment } from "./seen-fragment.ts";

export type QueryChange =
  | {
      readonly kind: "fragment";
      readonly fragment: string;
      readonly state: FragmentState;
      readonly reason: string;
    }
  | {
      readonly kind: "query";
      readonly state: QueryState;
      readonly reason: string;
      readonly error?: QueryError;
    }
  /** Deploys the query anew, under a new epoch. */
  | {
      readonly kind: "redeploy";
      readonly reason: string;
      /** Workers that no fragment may stay on, unless it is pinned. */
      readonly lostWorkers: readonly string[];
      /** Whether it counts towards `failuresMax`. */
      readonly isFailure: boolean;
    }
  /** Places all fragments of a paused query again. */
  | { readonly kind: "resume" }
  | { readonly kind: "owe"; readonly workerId: string; readonly epoch: number }
  | { readonly kind: "cleanedUp"; readonly workerId: string }
  /** Removes the row; the query is STOPPED. */
  | { readonly kind: "remove" };

export interface QueryError {
  readonly code: string;
  readonly number: number | undefined;
  readonly workerId: string | undefined;
}

export interface QueryCommand {
  readonly workerId: string;
  /** `suspend`: a soft stop that leaves windows open, for PAUSE. */
  readonly kind: "register" | "start" | "stopSoft" | "suspend" | "unregister";
  readonly epoch: number;
}

export interface QueryDecision {
  readonly changes: readonly QueryChange[];
  /** Only without changes. */
  readonly commands: readonly QueryCommand[];
  /** When to look again though nothing has happened. */
  readonly waitMs: number | undefined;
}

export function decideQuery(view: QueryView, limits: FleetLimits): QueryDecision {
  const seen = view.fragments.map((row) => lookAt(row, view));
  switch (view.query.state) {
    case "PENDING":
      if (view.query.desired_state !== "RUNNING") return changed(stopping(view));
      // The removal of the older query changes this row, which brings it back here (SD29).
      if (view.predecessor !== undefined) return nothing;
      return changed(toState("DEPLOYING", "its fragments are being deployed"));
    case "DEPLOYING":
    case "RUNNING":
      return decideLive(view, seen, limits);
    case "STOPPING":
      return decideStopping(view, seen, limits);
    case "TERMINATING":
      return decideTerminating(view, seen);
    case "PAUSED":
      if (view.query.desired_state === "STOPPED") return changed(stopping(view));
      if (view.query.desired_state === "RUNNING") return changed({ kind: "resume" });
      return cleanUp(view);
    case "TERMINATED":
    case "FAILED":
      return view.query.desired_state === "STOPPED" ? changed(stopping(view)) : cleanUp(view);
    case "STOPPED":
      return view.predecessor === undefined ? changed({ kind: "remove" }) : nothing;
  }
}

/** Of a query whose row is gone: whatever a worker still reports of it is stopped (SD15). */
export function decideGone(workers: Iterable<WorkerView>): QueryDecision {
  return commanded([...workers].flatMap((worker) => forget(worker)));
}

// Deploying and running

function decideLive(
  view: QueryView,
  seen: readonly SeenFragment[],
  limits: FleetLimits,
): QueryDecision {
  if (view.query.desired_state !== "RUNNING") return changed(stopping(view));
  const fault = faultOf(view, seen, limits);
  if (fault !== undefined) return changed(...absorbed(seen), fault);
  const news = absorbed(seen);
  const lost = lossOf(view, seen, limits);
  if (lost !== undefined) return changed(...news, lost);
  const hidden = seen.find(({ state, row }) => state === "unknown" && !hasEnded(row.state));
  if (hidden !== undefined) return decideHidden(view, hidden, news, limits);
  if (isLeaving(view, seen)) return decideLeaving(view, seen, limits);
  const [next, reason] = liveState(seen);
  // Its sinks have everything only when the last checkpoint is recorded (SD26).
  const isOpen = next === "TERMINATED" && view.checkpoint?.isFinal !== true;
  if (next === "TERMINATED" && view.query.state === "DEPLOYING") {
    return changed(...news, toState("RUNNING", "every fragment has been running"));
  }
  if (next !== view.query.state && !isOpen) return changed(...news, toState(next, reason));
  if (news.length > 0) return changed(...news);
  if (isOpen) return nothing;
  if (next !== "DEPLOYING") return cleanUp(view);
  if (view.reachableMs > limits.deployTimeoutMs) {
    return changed(timedOut(view, seen, limits));
  }
  const waits = whyWaiting(seen);
  if (waits !== undefined && waits !== view.query.state_reason) {
    return changed(toState("DEPLOYING", waits));
  }
  return deploy(view, seen);
}

/** What a worker refused and is asked again; the first one's, so that the reason does not waver. */
function whyWaiting(seen: readonly SeenFragment[]): string | undefined {
  for (const { row, worker } of seen) {
    if (worker?.refusal === undefined) continue;
    return `${row.worker_id} cannot begin yet and is asked again: ${worker.refusal.error.message}`;
  }
  return undefined;
}

/** A fragment that failed, or a command that can never be done. */
function faultOf(
  view: QueryView,
  seen: readonly SeenFragment[],
  { failuresMax }: FleetLimits,
): QueryChange | undefined {
  const failed = seen.flatMap(({ row, state, error }) =>
    state === "FAILED" && error !== undefined ? [{ row, error }] : [],
  );
  const refused = seen.flatMap(({ row, worker }) =>
    worker?.refusal?.error.retry === "never" ? [{ row, error: worker.refusal.error }] : [],
  );
  const faults = [...refused, ...failed];
  // That an edge broke is the effect of something else, where anything else is known.
  const cause = faults.find(({ error }) => error.number !== brokenEdge) ?? faults[0];
  if (cause === undefined) return checkpointFault(view, failuresMax);
  const { row, error } = cause;
  const isLast = view.query.failures_in_a_row + 1 >= failuresMax;
  const isEffect = error.number === brokenEdge && seen.some(({ state }) => state === "unknown");
  if (error.retry === "never" || (isLast && !isEffect)) {
    const often = error.retry === "never" ? "" : `; ${failuresMax} failures in a row`;
    return {
      kind: "query",
      state: "TERMINATING",
      reason: `the fragment ${row.fragment} failed on ${row.worker_id}: ${error.message}${often}`,
      error: { code: error.code, number: error.number, workerId: row.worker_id },
    };
  }
  return {
    kind: "redeploy",
    reason: `the fragment ${row.fragment} failed on ${row.worker_id}: ${error.message}`,
    lostWorkers: [],
    isFailure: !isEffect,
  };
}

const brokenEdge = 4001;

/** A checkpoint that cannot be recorded: what sinks prepared for it has to be made again. */
function checkpointFault(
  { query, checkpoint }: QueryView,
  failuresMax: number,
): QueryChange | undefined {
  const error = checkpoint?.fault;
  if (error === undefined) return undefined;
  const reason = `a checkpoint failed: ${error.message}`;
  if (error.retry === "backoff" && query.failures_in_a_row + 1 < failuresMax) {
    return { kind: "redeploy", reason, lostWorkers: [], isFailure: true };
  }
  const { code, number } = error;
  return {
    kind: "query",
    state: "TERMINATING",
    reason,
    error: { code, number, workerId: undefined },
  };
}

/** A fragment that was deployed and is not there any more, or whose worker leaves or is gone. */
function lossOf(
  view: QueryView,
  seen: readonly SeenFragment[],
  limits: FleetLimits,
): QueryChange | undefined {
  const vanished = seen.find(
    ({ row, state, worker }) =>
      worker?.isBusy === false &&
      row.state !== "PENDING" &&
      ((state === "STOPPED" && !isLeaving(view, seen)) ||
        (state === "absent" && !(hasEnded(row.state) && view.checkpoint?.isFinal === true))),
  );
  if (vanished !== undefined) {
    const { row } = vanished;
    const reason = `the worker ${row.worker_id} has lost the fragment ${row.fragment}`;
    return { kind: "redeploy", reason, lostWorkers: [], isFailure: false };
  }
  if (!view.mayMove) return undefined;
  const movable = seen.filter(({ row }) => row.is_pinned === 0 && !hasEnded(row.state));
  const left = movable.filter(({ row }) => view.leaving.has(row.worker_id));
  if (left.length > 0 && view.query.state === "DEPLOYING" && !isStarting(seen)) {
    return moveAway(left, "drains");
  }
  if (!view.isJudged) return undefined;
  const lost = movable.filter(
    ({ row, state, worker }) =>
      state === "unknown" && missedMs(view, row, worker) >= patienceMs(view, row, limits),
  );
  return lost.length > 0 ? moveAway(lost, "cannot be reached") : undefined;
}

/** Some read already, and the others will in a moment: then the query leaves as a running one. */
function isStarting(seen: readonly SeenFragment[]): boolean {
  const isHere = ({ state }: SeenFragment): boolean =>
    state === "REGISTERED" || state === "RUNNING" || state === "TERMINATED";
  return seen.every(isHere) && seen.some(({ state }) => state === "RUNNING");
}

/**
 * How long a fragment has been where nobody can be asked of it. One that was placed there a moment
 * ago is not lost yet, whatever is known of its worker: it would be placed again and again.
 */
function missedMs({ nowMs }: QueryView, row: FragmentRow, worker: WorkerView | undefined): number {
  return Math.min(worker?.unreachableMs ?? 0, nowMs - row.state_changed_at_ms);
}

/**
 * How long a fragment waits for its worker. Where it never was, it waits a moment at least: with
 * REPLACE_AFTER 0 it would else be moved to and fro between two workers that are gone.
 */
function patienceMs(
  { replaceAfterMs }: QueryView,
  { state }: FragmentRow,
  limits: FleetLimits,
): number {
  const askedMs = replaceAfterMs ?? limits.replaceAfterMs;
  return state === "PENDING" ? Math.max(askedMs, pendingMsMin) : askedMs;
}

const pendingMsMin = 1_000;

/** Somebody cannot be asked. What was running is being recovered, not running. */
function decideHidden(
  view: QueryView,
  { row, worker }: SeenFragment,
  news: readonly QueryChange[],
  limits: FleetLimits,
): QueryDecision {
  if (view.query.state === "RUNNING" && view.isJudged) {
    const reason = `${row.worker_id} cannot be reached: waiting for it`;
    return changed(...news, toState("DEPLOYING", reason));
  }
  if (news.length > 0) return changed(...news);
  const leftMs = patienceMs(view, row, limits) - missedMs(view, row, worker);
  const waitMs = row.is_pinned === 1 && leftMs <= 0 ? undefined : Math.max(leftMs, lookMsMin);
  const known =
    view.query.state === "DEPLOYING"
      ? deploy(
          view,
          view.fragments.map((each) => lookAt(each, view)),
        )
      : nothing;
  return { ...known, waitMs: least(known.waitMs, waitMs) };
}

const lookMsMin = 100;

/** What the fragments' states make of a query that is wanted to run (SD11). */
function liveState(seen: readonly SeenFragment[]): [state: QueryState, reason: string] {
  if (seen.every(({ state }) => state === "TERMINATED")) {
    return ["TERMINATED", "its sources have ended"];
  }
  const isRunning = seen.every(({ state }) => state === "RUNNING" || state === "TERMINATED");
  return isRunning
    ? ["RUNNING", "every fragment is running"]
    : ["DEPLOYING", "its fragments are being deployed"];
}

/** Registers what is missing; starts when everything is registered (SD10). */
function deploy(view: QueryView, seen: readonly SeenFragment[]): QueryDecision {
  const byWorker = Map.groupBy(seen, ({ row }) => row.worker_id);
  const isRegistered = seen.every(({ state }) => state !== "absent" && state !== "unknown");
  const commands: QueryCommand[] = [];
  let waitMs: number | undefined;
  for (const [workerId, here] of byWorker) {
    const worker = here[0]?.worker;
    if (worker?.isUp !== true || worker.isBusy) continue;
    const kind = here.some(({ state }) => state === "absent")
      ? "register"
      : isRegistered && here.some(({ state }) => state === "REGISTERED")
        ? "start"
        : undefined;
    if (kind === undefined || (kind === "register" && view.leaving.has(workerId))) continue;
    const pauseMs = worker.refusal?.retryInMs ?? 0;
    if (pauseMs > 0) waitMs = least(waitMs, pauseMs);
    else commands.push({ workerId, kind, epoch: view.query.epoch });
  }
  return { changes: [], commands: [...commands, ...strays(view)], waitMs };
}

/** The start of the reason of a query whose deployment took too long (SD13). */
const notDeployed = "not deployed within";

export function isDeployTimeout(reason: string): boolean {
  return reason.startsWith(notDeployed);
}

function timedOut(
  { query }: QueryView,
  seen: readonly SeenFragment[],
  { deployTimeoutMs }: FleetLimits,
): QueryChange {
  const late = seen.filter(({ state }) => state !== "RUNNING" && state !== "TERMINATED");
  const names = late.map(({ row }) => `${row.fragment} on ${row.worker_id}`);
  const told = late.find(({ worker }) => worker?.refusal !== undefined)?.worker;
  const why = told?.refusal === undefined ? "" : `: ${told.refusal.error.message}`;
  const minutes = Math.round(deployTimeoutMs / 6_000) / 10;
  return {
    kind: "query",
    state: "TERMINATING",
    reason: `${notDeployed} ${minutes} min (epoch ${query.epoch}): ${names.join(", ")}${why}`,
    error: {
      code: told?.refusal?.error.code ?? "NetworkError",
      number: told?.refusal?.error.number,
      workerId: late[0]?.row.worker_id,
    },
  };
}

// Stopping

function decideStopping(
  view: QueryView,
  seen: readonly SeenFragment[],
  limits: FleetLimits,
): QueryDecision {
  const isSoft = isStoppedSoftly(view, limits);
  const news = [...absorbed(seen), ...confirmedGone(seen), ...neverDeployed(view, seen)];
  if (news.length > 0) return changed(...news);
  const live = seen.filter(({ row }) => !hasEnded(row.state));
  if (live.length === 0) {
    // Its sinks have everything when the last checkpoint is recorded (SD26).
    const isOpen =
      view.checkpoint?.isFinal !== true && seen.every(({ state }) => state !== "absent");
    if (isSoft && isOpen) return { ...nothing, waitMs: leftOf(view, limits) };
    const cleaning = cleanUp(view);
    if (cleaning.changes.length > 0 || cleaning.commands.length > 0) return cleaning;
    if (view.cleanups.length > 0 || hasReports(view)) return cleaning;
    const state = view.query.desired_state === "STOPPED" ? "STOPPED" : "PAUSED";
    return changed(toState(state, `every fragment is confirmed stopped${waiting(view)}`));
  }
  if (!isSoft) return commanded(stopAll(view));
  const kind = view.query.desired_state === "PAUSED" ? "suspend" : "stopSoft";
  return { changes: [], commands: endSources(view, live, kind), waitMs: leftOf(view, limits) };
}

/** Until a soft stop becomes a hard one. */
function leftOf(view: QueryView, { softStopMs }: FleetLimits): number {
  return Math.max(softStopMs - inStateMs(view), lookMsMin);
}

/** A query that was running, and has time left, lets everything reach its sinks (SD22). */
function isStoppedSoftly(view: QueryView, { softStopMs }: FleetLimits): boolean {
  const { query } = view;
  const isWanted = query.stop_mode === "SOFT" || query.desired_state === "PAUSED";
  return isWanted && query.previous_state === "RUNNING" && inStateMs(view) < softStopMs;
}

function inStateMs({ query, nowMs }: QueryView): number {
  return nowMs - query.state_changed_at_ms;
}

/** Failing: what cannot be confirmed is owed, and the query is FAILED (SD12, SD17). */
function decideTerminating(view: QueryView, seen: readonly SeenFragment[]): QueryDecision {
  if (view.query.desired_state === "STOPPED") return changed(stopping(view));
  const owed = seen.flatMap(({ row, state }): QueryChange[] => {
    if (state !== "unknown" || !view.isJudged || hasEnded(row.state)) return [];
    const reason = `${row.worker_id} could not be reached to stop it`;
    return [
      { kind: "fragment", fragment: row.fragment, state: "FAILED", reason },
      { kind: "owe", workerId: row.worker_id, epoch: row.epoch },
    ];
  });
  const news = [...absorbed(seen), ...confirmedGone(seen), ...owed];
  if (news.length > 0) return changed(...news);
  if (seen.every(({ row }) => hasEnded(row.state))) {
    return changed(toState("FAILED", view.query.state_reason));
  }
  return commanded(stopAll(view));
}

/** Every worker that has, or may have, something of the query forgets it. */
function stopAll(view: QueryView): readonly QueryCommand[] {
  return [...view.workers.values()].flatMap((worker) => {
    const hasRows = view.fragments.some(
      ({ worker_id, state }) => worker_id === worker.workerId && !hasEnded(state),
    );
    return forget(worker, hasRows ? view.query.epoch : undefined);
  });
}

// What is left on workers

/** Fragments that ended, and those of older epochs, are forgotten where they are reported. */
function cleanUp(view: QueryView): QueryDecision {
  const done = view.cleanups.flatMap(({ workerId, epoch }): QueryChange[] => {
    const worker = view.workers.get(workerId);
    if (worker?.isUp !== true || worker.isBusy) return [];
    const isThere = worker.reports.some((report) => report.epoch <= epoch);
    return isThere ? [] : [{ kind: "cleanedUp", workerId }];
  });
  return done.length > 0 ? changed(...done) : commanded(strays(view));
}

/** On workers where nothing of the query should run now. */
function strays(view: QueryView): readonly QueryCommand[] {
  // While others run, those that have ended keep their last state for the checkpoints (SD26).
  const isLive = view.query.state === "DEPLOYING" || view.query.state === "RUNNING";
  const wanted = new Set(
    view.fragments.flatMap(({ worker_id, state }) => (hasEnded(state) && !isLive ? [] : worker_id)),
  );
  return [...view.workers.values()].flatMap((worker) =>
    wanted.has(worker.workerId) && !isLeft(view, worker) ? [] : forget(worker),
  );
}

/** A draining worker gets nothing new, so nothing supersedes the fragments it still has. */
function isLeft({ query, leaving }: QueryView, { workerId, reports }: WorkerView): boolean {
  return leaving.has(workerId) && reports.every(({ epoch }) => epoch < query.epoch);
}

/** With `epoch` also where the worker reports nothing, since a command may be under way. */
function forget(worker: WorkerView, epoch?: number): readonly QueryCommand[] {
  if (!worker.isUp || worker.isBusy) return [];
  const epochs = worker.reports.map((report) => report.epoch);
  if (epoch === undefined && epochs.length === 0) return [];
  const newest = Math.max(epoch ?? 0, ...epochs);
  return [{ workerId: worker.workerId, kind: "unregister", epoch: newest }];
}

function hasReports({ workers }: QueryView): boolean {
  return [...workers.values()].some(({ reports }) => reports.length > 0);
}

// Changes

/** What the workers report and the catalog does not say yet. */
function absorbed(seen: readonly SeenFragment[]): QueryChange[] {
  return seen.flatMap(({ row, state, error }): QueryChange[] => {
    if (state === "absent" || state === "unknown" || hasEnded(row.state)) return [];
    if (state === row.state || (state === "REGISTERED" && row.state !== "PENDING")) return [];
    const reason = error?.message ?? "as its worker reports";
    return [{ kind: "fragment", fragment: row.fragment, state, reason }];
  });
}

/** Of a query that stops: what its worker does not have is confirmed gone. */
function confirmedGone(seen: readonly SeenFragment[]): QueryChange[] {
  return seen.flatMap(({ row, state, worker }): QueryChange[] => {
    if (state !== "absent" || worker?.isBusy !== false || hasEnded(row.state)) return [];
    const reason = "its worker does not have it";
    return [{ kind: "fragment", fragment: row.fragment, state: "STOPPED", reason }];
  });
}

/** A query that stops before any command of its epoch was sent: no worker can have it. */
function neverDeployed({ query }: QueryView, seen: readonly SeenFragment[]): QueryChange[] {
  if (query.previous_state !== "PENDING") return [];
  return seen.flatMap(({ row, state }): QueryChange[] => {
    if (state !== "unknown" || hasEnded(row.state)) return [];
    const reason = "it was never deployed";
    return [{ kind: "fragment", fragment: row.fragment, state: "STOPPED", reason }];
  });
}

function waiting({ query, predecessor }: QueryView): string {
  if (predecessor === undefined) return "";
  const what = query.desired_state === "STOPPED" ? "its name is free" : "it may run";
  return `; ${what} when the query ${predecessor}, which it replaces, is gone`;
}

function stopping({ query }: QueryView): QueryChange {
  const { query_id, superseded_by } = query;
  if (superseded_by !== null && superseded_by !== query_id) {
    return toState("STOPPING", `the query ${superseded_by} replaces it`);
  }
  const what = query.desired_state === "PAUSED" ? "paused" : "dropped";
  return toState("STOPPING", `${what} by request`);
}

function toState(state: QueryState, reason: string): QueryChange {
  return { kind: "query", state, reason };
}

const nothing: QueryDecision = { changes: [], commands: [], waitMs: undefined };

function changed(...changes: readonly QueryChange[]): QueryDecision {
  return { ...nothing, changes };
}

function commanded(commands: readonly QueryCommand[]): QueryDecision {
  return { ...nothing, commands };
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : other === undefined ? one : Math.min(one, other);
}
