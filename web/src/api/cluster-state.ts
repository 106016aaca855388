/**
 * What the page knows of the cluster, and how each message changes it. Pure.
 * A worker's row is the last state from the change log; revisions never go back. The live frame
 * adds what a row does not hold (facts, round trips), and provides rows only until the first
 * snapshot. Lists that grow with time are bounded.
 */

import type { LiveFrame, WatchMessage, Worker } from "./gen/types.ts";
import type { LinkStatus } from "./link.ts";
import { type Condition, conditionOf, type WorkerRow } from "./worker-condition.ts";

/** A change of a worker's condition that this page saw happen. */
export interface ConditionChange {
  readonly workerId: string;
  readonly seenAtMs: number;
  readonly condition: Condition | "registered" | "dropped" | "restarted";
  readonly reason: string;
}

export interface ClusterState {
  readonly rows: ReadonlyMap<string, WorkerRow> | undefined;
  readonly revision: number | undefined;
  readonly live: LiveFrame | undefined;
  readonly watchLink: LinkStatus;
  readonly liveLink: LinkStatus;
  /**
   * `refused`: the API wants a token, or another one. `changing`: the user wants to enter another
   * one.
   */
  readonly tokenPrompt: "closed" | "refused" | "changing";
  /** Newest first. */
  readonly changes: readonly ConditionChange[];
  /** CPU ratios by worker, oldest first, one a second. */
  readonly cpuSamples: ReadonlyMap<string, readonly number[]>;
  /** Queries that ended in each second, oldest first. */
  readonly endedSamples: readonly number[];
}

export type ClusterEvent =
  | { readonly kind: "watched"; readonly event: WatchMessage; readonly nowMs: number }
  | { readonly kind: "watchRefused" }
  | { readonly kind: "live"; readonly frame: LiveFrame }
  | { readonly kind: "link"; readonly stream: "watch" | "live"; readonly status: LinkStatus }
  | { readonly kind: "tokenPrompt"; readonly prompt: ClusterState["tokenPrompt"] };

export const changesMax = 200;
export const samplesMax = 90;

export const initialCluster: ClusterState = {
  rows: undefined,
  revision: undefined,
  live: undefined,
  watchLink: { kind: "connecting" },
  liveLink: { kind: "connecting" },
  tokenPrompt: "closed",
  changes: [],
  cpuSamples: new Map(),
  endedSamples: [],
};

export function stepCluster(state: ClusterState, event: ClusterEvent): ClusterState {
  switch (event.kind) {
    case "watched":
      return stepWatched(state, event.event, event.nowMs);
    case "watchRefused":
      return { ...state, revision: undefined }; // A snapshot is right even after a failed resume.
    case "live":
      return {
        ...state,
        live: event.frame,
        cpuSamples: sampleCpu(state, event.frame),
        endedSamples: sampleEnded(state, event.frame),
      };
    case "link":
      return event.stream === "watch"
        ? { ...state, watchLink: event.status }
        : { ...state, liveLink: event.status };
    case "tokenPrompt":
      return { ...state, tokenPrompt: event.prompt };
  }
}

function stepWatched(state: ClusterState, event: WatchMessage, nowMs: number): ClusterState {
  // A snapshot always counts: a new store starts its revisions again.
  if (event.type === "EVENT" && event.revision <= (state.revision ?? -1)) return state;
  const before = state.rows ?? new Map<string, WorkerRow>();
  const rows =
    event.type === "SNAPSHOT"
      ? new Map(event.data.map(workerOf).map((row) => [row.worker_id, row]))
      : new Map(before);
  if (event.type === "EVENT") {
    if (event.op === "DROP" || event.data === undefined) rows.delete(event.key);
    else rows.set(event.key, workerOf(event.data));
  }
  // The first snapshot is the initial state; only later differences are changes.
  const changes = state.rows === undefined ? [] : differences(before, rows, nowMs);
  return {
    ...state,
    rows,
    revision: event.revision,
    changes: [...changes, ...state.changes].slice(0, changesMax),
  };
}

function differences(
  before: ReadonlyMap<string, WorkerRow>,
  after: ReadonlyMap<string, WorkerRow>,
  seenAtMs: number,
): ConditionChange[] {
  const changes: ConditionChange[] = [];
  for (const [workerId, row] of after) {
    const old = before.get(workerId);
    const reason = row.state_reason;
    if (old === undefined) {
      changes.push({ workerId, seenAtMs, condition: "registered", reason });
      continue;
    }
    if (old.incarnation !== row.incarnation) {
      changes.push({ workerId, seenAtMs, condition: "restarted", reason: "a new process" });
    }
    const condition = conditionOf(row);
    if (condition !== conditionOf(old)) {
      changes.unshift({ workerId, seenAtMs, condition, reason });
    }
  }
  for (const workerId of before.keys()) {
    if (!after.has(workerId)) {
      changes.push({ workerId, seenAtMs, condition: "dropped", reason: "" });
    }
  }
  return changes;
}

/** All workers by name, each row with what the last live frame says about it. */
export function workersOf(state: ClusterState): readonly Worker[] | undefined {
  const frames = new Map(state.live?.workers.map((worker) => [worker.worker_id, worker]));
  if (state.rows === undefined) {
    return state.live?.workers.map((worker) => ({ ...worker, ...workerOf(worker) }));
  }
  return [...state.rows.values()]
    .map((row) => ({ ...row, live: frames.get(row.worker_id)?.live ?? null }))
    .sort((a, b) => a.worker_id.localeCompare(b.worker_id, "en", { numeric: true }));
}

/** Parses a row of the watched table `workers`. */
function workerOf(row: Readonly<Record<string, unknown>>): WorkerRow {
  return row as unknown as WorkerRow;
}

function sampleCpu(state: ClusterState, frame: LiveFrame): ClusterState["cpuSamples"] {
  return new Map(
    frame.workers.map(({ worker_id, live }) => {
      const ratio = Number(live?.session === true ? (live.facts.cpu_ratio ?? 0) : 0);
      return [worker_id, appended(state.cpuSamples.get(worker_id) ?? [], ratio)];
    }),
  );
}

function sampleEnded(state: ClusterState, frame: LiveFrame): readonly number[] {
  const before = state.live?.status.queries;
  if (before === undefined) return [];
  const now = frame.status.queries;
  const ended =
    now.completed_total + now.failed_total - before.completed_total - before.failed_total;
  return appended(state.endedSamples, Math.max(0, ended)); // Totals fall when the process restarts.
}

function appended(samples: readonly number[], sample: number): readonly number[] {
  return [...samples, sample].slice(-samplesMax);
}
