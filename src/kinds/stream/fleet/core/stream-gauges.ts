/**
 * The numbers about all continuous queries for those who watch them: metrics, alerts, autoscalers.
 * Made from the catalog's rows and from what workers have told. The number of queries and fragments
 * that are listed is bounded, and queries that do not run come first (SD66). Pure.
 */
import type { FragmentRow, QueryRow, QueryState } from "../../catalog/core/index.ts";
import { isDeployTimeout } from "./decide-query.ts";
import { watermarkLagMs } from "./live-body.ts";
import { type LiveFragment, rowsInOf, rowsOutOf } from "./live-figures.ts";

export interface WatchedRows {
  readonly queries: readonly QueryRow[];
  readonly fragments: readonly FragmentRow[];
  /** The newest one of each query. */
  readonly checkpoints: ReadonlyMap<string, NewestCheckpoint>;
  /** CHECKPOINT_INTERVAL, by query. */
  readonly intervals: ReadonlyMap<string, number>;
  readonly slots: number;
  readonly slotsUsed: number;
  /** By the store's clock, as every time in the rows. */
  readonly nowMs: number;
}

export interface NewestCheckpoint {
  readonly durationMs: number;
  readonly sizeBytes: number;
  readonly completedAtMs: number;
}

export interface QueryGauges {
  readonly query: string;
  readonly state: QueryState;
  readonly stateSeconds: number;
  readonly failure: "deploy_timeout" | "error" | undefined;
  /** Deployments after the first. */
  readonly restarts: number;
  readonly checkpoint: NewestCheckpoint | undefined;
  /** The time since its last checkpoint, or since its creation if it has none. */
  readonly checkpointAgeSeconds: number | undefined;
  readonly checkpointIntervalSeconds: number | undefined;
}

export interface FragmentGauges {
  readonly query: string;
  readonly fragment: string;
  readonly worker: string;
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly lateRows: number;
  readonly malformed: number;
  readonly stateBytes: number;
  readonly backlogBytes: number;
  readonly watermarkLagSeconds: number | undefined;
  readonly busyRatio: number | undefined;
  readonly backpressureRatio: number | undefined;
}

export interface StreamGauges {
  readonly queryCounts: Readonly<Partial<Record<QueryState, number>>>;
  readonly queries: readonly QueryGauges[];
  readonly fragments: readonly FragmentGauges[];
  readonly unlistedQueries: number;
  readonly load: StreamLoad;
}

/** How much work there is, for autoscalers. */
export interface StreamLoad {
  /** Fragments of queries that are to run. */
  readonly fragments: number;
  /** How many of those fragments do not run. */
  readonly waitingFragments: number;
  readonly slots: number;
  readonly slotsUsed: number;
  /** The largest one of any fragment; 0 where none is known. */
  readonly watermarkLagSeconds: number;
  readonly backlogBytes: number;
  readonly busyRatio: number;
  readonly backpressureRatio: number;
}

export type LiveOf = (query: string, epoch: number, fragment: string) => LiveFragment | undefined;

export const queriesListedMax = 100;
export const fragmentsListedMax = 1_000;

const quiet: ReadonlySet<QueryState> = new Set(["RUNNING", "PAUSED", "TERMINATED"]);
const wanted: ReadonlySet<QueryState> = new Set(["PENDING", "DEPLOYING", "RUNNING"]);

export function gaugesOf(rows: WatchedRows, liveOf: LiveOf, wallMs: number): StreamGauges {
  const current = rows.queries.filter(({ superseded_by }) => superseded_by === null);
  const ordered = [...current].sort(
    (one, other) =>
      Number(quiet.has(one.state)) - Number(quiet.has(other.state)) ||
      Number(one.query_id) - Number(other.query_id),
  );
  const listed = ordered.slice(0, queriesListedMax);
  const named = new Map(listed.map((row) => [row.query_id, row]));
  const queryCounts: Partial<Record<QueryState, number>> = {};
  for (const { state } of current) queryCounts[state] = (queryCounts[state] ?? 0) + 1;
  return {
    queryCounts,
    queries: listed.map((row) => queryGauges(row, rows)),
    fragments: rows.fragments
      .flatMap((row) => fragmentGauges(row, named.get(row.query_id), liveOf, wallMs))
      .slice(0, fragmentsListedMax),
    unlistedQueries: current.length - listed.length,
    load: loadOf(rows, liveOf, wallMs),
  };
}

/** A query without a name is called by its id, of which there is one for each statement. */
function nameOf({ name, query_id }: QueryRow): string {
  return name ?? query_id;
}

function queryGauges(row: QueryRow, rows: WatchedRows): QueryGauges {
  const { query_id, state, state_reason, epoch, created_at_ms } = row;
  const checkpoint = rows.checkpoints.get(query_id);
  const since = checkpoint?.completedAtMs ?? created_at_ms;
  const intervalMs = rows.intervals.get(query_id);
  const failure = isDeployTimeout(state_reason) ? "deploy_timeout" : "error";
  return {
    ...{ query: nameOf(row), state, checkpoint },
    stateSeconds: seconds(rows.nowMs - row.state_changed_at_ms),
    failure: state === "FAILED" ? failure : undefined,
    restarts: Math.max(0, epoch - 1),
    checkpointAgeSeconds: wanted.has(state) ? seconds(rows.nowMs - since) : undefined,
    checkpointIntervalSeconds: intervalMs === undefined ? undefined : intervalMs / 1_000,
  };
}

function fragmentGauges(
  { query_id, fragment, epoch }: FragmentRow,
  query: QueryRow | undefined,
  liveOf: LiveOf,
  wallMs: number,
): readonly FragmentGauges[] {
  const live = liveOf(query_id, epoch, fragment);
  if (query === undefined || live === undefined) return [];
  const { figures, rates } = live;
  const lagMs = watermarkLagMs(figures.watermarkMs, wallMs);
  return [
    {
      ...{ query: nameOf(query), fragment, worker: live.workerId },
      rowsIn: rowsInOf(figures),
      rowsOut: rowsOutOf(figures),
      bytesIn: figures.bytesIn,
      bytesOut: figures.bytesOut,
      lateRows: figures.lateRows,
      malformed: figures.malformed,
      stateBytes: figures.stateBytes,
      backlogBytes: backlogOf(live),
      watermarkLagSeconds: lagMs === undefined ? undefined : lagMs / 1_000,
      busyRatio: rates?.busyRatio,
      backpressureRatio: rates?.backpressureRatio,
    },
  ];
}

/** Of all queries, listed or not. */
export function loadOf(rows: WatchedRows, liveOf: LiveOf, wallMs: number): StreamLoad {
  const { slots, slotsUsed } = rows;
  const queries = new Map(rows.queries.map((row) => [row.query_id, row]));
  const load = { fragments: 0, waitingFragments: 0, slots, slotsUsed, backlogBytes: 0 };
  let [lagMs, busyRatio, backpressureRatio] = [0, 0, 0];
  for (const { query_id, epoch, fragment, state } of rows.fragments) {
    const query = queries.get(query_id);
    if (query === undefined || !wanted.has(query.state)) continue;
    load.fragments += 1;
    if (state !== "RUNNING" && state !== "TERMINATED") load.waitingFragments += 1;
    const live = liveOf(query_id, epoch, fragment);
    if (live === undefined) continue;
    load.backlogBytes += backlogOf(live);
    lagMs = Math.max(lagMs, watermarkLagMs(live.figures.watermarkMs, wallMs) ?? 0);
    busyRatio = Math.max(busyRatio, live.rates?.busyRatio ?? 0);
    backpressureRatio = Math.max(backpressureRatio, live.rates?.backpressureRatio ?? 0);
  }
  return { ...load, watermarkLagSeconds: lagMs / 1_000, busyRatio, backpressureRatio };
}

function backlogOf({ figures }: LiveFragment): number {
  return figures.edges.reduce((sum, { backlogBytes }) => sum + backlogBytes, 0);
}

function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000;
}
