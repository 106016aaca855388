/**
 * Writes what was due on lost workers into their series (FI6), so that whatever is read of the run
 * has it: counts, limits, percentiles, the parent's row and the children's.
 */

import type { Tx } from "../../../ground/store/index.ts";
import type { LoadWorkerId, RunId } from "../core/ids.ts";
import { lostArrivals, type ToldRate } from "../core/lost-arrivals.ts";
import type { RunRecord } from "../core/run-record.ts";
import { decodeEvent } from "./control-event-codec.ts";
import { measuredSecondsOf } from "./final-record.ts";
import { readWorkers } from "./run-rows.ts";
import { addUnserved, lastFiguresMs } from "./worker-series.ts";

/** Workers ask for events once a second: this is how late they hear of one on average. */
const heardMs = 500;

interface Told extends ToldRate {
  readonly workerId: LoadWorkerId;
  readonly toldMs: number;
}

export async function settleLostArrivals(tx: Tx, run: RunRecord, endTimeMs: number): Promise<void> {
  const { runId, warmupEndTimeMs: beginMs, scenario } = run;
  const { loadMode: mode, operations } = scenario.workload;
  if (mode !== "QPS" || beginMs === null) return;
  const lost = (await readWorkers(tx, runId)).filter(
    ({ status }) => status === "DEAD" || status === "FAILED",
  );
  if (lost.length === 0) return;
  const endMs = beginMs + measuredSecondsOf(run, endTimeMs) * 1000;
  const told = await readTold(tx, runId);
  for (const { workerId, lastHeartbeatMs } of lost) {
    const own = told.filter((each) => each.workerId === workerId);
    const fromMs = Math.max(beginMs, (await lastFiguresMs(tx, runId, workerId)) ?? 0);
    const isHanded = run.targets[workerId] === undefined;
    const handedMs = isHanded ? handedOver(told, own, lastHeartbeatMs) : endMs;
    const span = { rates: own, fromMs, toMs: Math.min(handedMs, endMs), endMs };
    for (const [operation, waits] of lostArrivals(span, operations)) {
      await addUnserved(tx, { runId, workerId }, operation, waits);
    }
  }
}

/** When the others got its share: the first event sent to them and not to it. */
function handedOver(told: readonly Told[], own: readonly Told[], lastSeenMs: number): number {
  const isOwn = new Set(own.map(({ toldMs }) => toldMs));
  const first = told.find(({ toldMs }) => toldMs > lastSeenMs && !isOwn.has(toldMs));
  return first === undefined ? Infinity : Math.max(first.toldMs + heardMs, first.atMs);
}

/** Targets sent to workers, in order. */
async function readTold({ db }: Tx, runId: RunId): Promise<readonly Told[]> {
  const rows = await db
    .selectFrom("run_control_events")
    .select(["event_type", "event_data", "created_at_ms"])
    .where("run_id", "=", runId)
    .where("event_type", "=", "SET_WORKER_TARGET")
    .orderBy("sequence_id")
    .execute();
  return rows.flatMap((row): Told[] => {
    const event = decodeEvent(row);
    if (event.type !== "SET_WORKER_TARGET" || event.to.scope !== "WORKER") return [];
    const { to, target, rampSeconds, atMs } = event;
    const toldMs = row.created_at_ms;
    const rate = { atMs: atMs ?? toldMs, qps: target.qps ?? 0, rampMs: rampSeconds * 1000 };
    return [{ ...rate, workerId: to.workerId, toldMs }];
  });
}
