/** I13: what must be true once faults have healed and time has passed. */
import type { World } from "../world/world.ts";
import type { Invariant } from "./verdict.ts";

export interface Finding {
  readonly invariant: Invariant;
  readonly detail: string;
}

/** Returns the first thing that has not converged; undefined when everything has. */
export function findUnconverged(world: World): Finding | undefined {
  const { audit, workers, controllers, clients } = world;
  const finding = (detail: string): Finding => ({ invariant: "I13", detail });
  if (world.leader === undefined) return finding("no coordinator holds the lease");
  for (const { name } of workers) {
    const row = audit.rows.get(name);
    if (row === undefined) return finding(`${name} is up, but not registered`);
    if (row.state !== "ACTIVE")
      return finding(`${name} is up, but ${row.state}: ${row.state_reason}`);
    if (row.accepting_work === 0 || row.draining === 1) {
      return finding(`${name} is idle, but not in rotation`);
    }
  }
  if (audit.rows.size !== workers.length) {
    return finding(`${audit.rows.size} rows for ${workers.length} workers`);
  }
  for (const { name, subscriber } of controllers) {
    if (subscriber === undefined || subscriber.isCaughtUp()) continue;
    return { invariant: "I7", detail: `the watch of ${name} has fallen behind` };
  }
  if (clients.openCount === 0) return undefined;
  return { invariant: "I8", detail: `${clients.openCount} queries never ended` };
}

/** Returns the first thing that a query left behind; undefined when nothing is left. */
export function findLeftovers(world: World): Finding | undefined {
  const { workers, controllers, clients, executions } = world;
  const finding = (detail: string): Finding => ({ invariant: "I13", detail });
  if (clients.openCount > 0) {
    return { invariant: "I8", detail: `${clients.openCount} queries never ended` };
  }
  if (executions.runningCount > 0) {
    return { invariant: "I5", detail: `${executions.runningCount} executions for nobody` };
  }
  for (const { name, boardCheck, disk } of controllers) {
    if (boardCheck.workCount > 0) return finding(`${name} still has work on its board`);
    if (disk.fileCount > 0) return finding(`${name} kept ${disk.paths().join(", ")}`);
  }
  for (const { name, spool, disk } of workers) {
    const kept = (spool?.entryCount ?? 0) + disk.fileCount;
    if (kept > 0) return finding(`${name} kept ${disk.paths().join(", ")}`);
  }
  return undefined;
}
