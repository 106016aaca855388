/**
 * How a running query leaves workers that drain, so that no row is read twice: its sources read no
 * more, every fragment ends with its windows open, a last checkpoint holds all of that, and the
 * query goes on from there under a new epoch, elsewhere where it may. Pure. Rules: SD23, SD31.
 */
import type { QueryChange, QueryCommand, QueryDecision } from "./decide-query.ts";
import type { FleetLimits, QueryView } from "./query-view.ts";
import type { SeenFragment } from "./seen-fragment.ts";

type Redeploy = Extract<QueryChange, { readonly kind: "redeploy" }>;

/**
 * Whether a fragment of the running query has to leave its worker, or some have ended for that
 * already: also when the drain is over meanwhile, or another coordinator began it.
 */
export function isLeaving(view: QueryView, seen: readonly SeenFragment[]): boolean {
  if (view.query.state !== "RUNNING") return false;
  // These fragments have ended by themselves.
  if (seen.every(({ state }) => state === "TERMINATED")) return false;
  return seen.some(({ row, state }) => state === "STOPPED" || view.leaving.has(row.worker_id));
}

export function decideLeaving(
  view: QueryView,
  seen: readonly SeenFragment[],
  { softStopMs }: FleetLimits,
): QueryDecision {
  const isOver = seen.every(({ state }) => state === "STOPPED" || state === "TERMINATED");
  const isSaved = isOver && view.checkpoint?.isFinal === true;
  if (isSaved || view.endingMs >= softStopMs) {
    return { changes: [redeploy(view, seen)], commands: [], waitMs: undefined };
  }
  const commands = endSources(view, seen, "suspend");
  return { changes: [], commands, waitMs: Math.max(softStopMs - view.endingMs, lookMsMin) };
}

const lookMsMin = 100;

/** One command to each worker whose sources still read. */
export function endSources(
  { query, sourceFragments }: QueryView,
  seen: readonly SeenFragment[],
  kind: "stopSoft" | "suspend",
): readonly QueryCommand[] {
  const commands = seen.flatMap(({ row, state, worker }): QueryCommand[] => {
    const isAsked = sourceFragments.has(row.fragment) && state === "RUNNING";
    if (!isAsked || worker === undefined || worker.isBusy || worker.isDraining) return [];
    return [{ workerId: row.worker_id, kind, epoch: query.epoch }];
  });
  return [...new Map(commands.map((command) => [command.workerId, command])).values()];
}

/** A fragment that is pinned to a draining worker, or fits nowhere else, waits there. */
function redeploy(view: QueryView, seen: readonly SeenFragment[]): QueryChange {
  const left = seen.filter(({ row }) => view.leaving.has(row.worker_id));
  const moved = left.filter(({ row }) => view.mayMove && row.is_pinned === 0);
  const waiting = left
    .filter((each) => !moved.includes(each))
    .map(({ row }) => `${row.fragment} waits for ${row.worker_id}, which drains`);
  if (moved.length > 0) {
    const change = moveAway(moved, "drains");
    return { ...change, reason: [change.reason, ...waiting].join("; ") };
  }
  const reason = left.length === 0 ? "its workers take fragments again" : waiting.join("; ");
  return { kind: "redeploy", reason, lostWorkers: [], isFailure: false };
}

/** Deploys the query again, with these fragments on other workers. */
export function moveAway(fragments: readonly SeenFragment[], why: string): Redeploy {
  const lostWorkers = [...new Set(fragments.map(({ row }) => row.worker_id))];
  const names = fragments.map(({ row }) => row.fragment);
  const reason = `${lostWorkers.join(", ")} ${why}: moving ${names.join(", ")}`;
  return { kind: "redeploy", reason, lostWorkers, isFailure: false };
}
