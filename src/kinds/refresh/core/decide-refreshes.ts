/**
 * Decides which tables are brought to which snapshot. All of the scheduler's reasoning is here;
 * `src/kinds/refresh/store` reads the state and writes the decision in one transaction.
 *
 * SPEC.md says what a dynamic table's contents mean and why chains and diamonds are consistent.
 * Rules: TS4, TS5, TS7 to TS12, TS18, TC20, TC22. A table with a target of its own gets no other
 * before it has reached it, so a pending target never changes while a worker computes it, and at
 * most one target is queued for each downstream table.
 */
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import { dueAtMs, joinsAtMs, lateAtMs } from "./due-time.ts";
import { TableGraph } from "./graph.ts";
import {
  priorities,
  type ScheduleDecision,
  type ScheduledTable,
  type ScheduledTarget,
  type ScheduleState,
} from "./schedule-state.ts";

export interface ScheduleOptions {
  readonly targetIdleMsMax: number;
}

export const defaultScheduleOptions: ScheduleOptions = { targetIdleMsMax: 600_000 };

type Wish = Pick<ScheduledTarget, "trigger" | "priority" | "dueMs">;

export function decideRefreshes(
  state: ScheduleState,
  nowMs: number,
  options: ScheduleOptions = defaultScheduleOptions,
): ScheduleDecision {
  return new Round(state, nowMs, options).decide();
}

class Round {
  readonly #state: ScheduleState;
  readonly #nowMs: number;
  readonly #options: ScheduleOptions;
  readonly #graph: TableGraph<ScheduledTable>;
  readonly #abandoned = new Set<TableId>();
  readonly #wakes: number[] = [];

  constructor(state: ScheduleState, nowMs: number, options: ScheduleOptions) {
    this.#state = state;
    this.#nowMs = nowMs;
    this.#options = options;
    this.#graph = new TableGraph(state.tables);
  }

  decide(): ScheduleDecision {
    for (const table of this.#graph.inOrder) this.#abandonIdle(table);
    for (const table of this.#graph.inOrder) this.#abandonFailed(table);
    const wishes = new Map<TableId, Wish>();
    const waits = new Map<TableId, string>();
    for (const table of this.#graph.inOrder) {
      const obstacle = this.#obstacle(table);
      waits.set(table.tableId, isRunning(table) ? (obstacle ?? this.#troubleAbove(table)) : "");
      const wish = isRunning(table) ? this.#wish(table) : this.#healingWish(table);
      if (wish !== undefined && obstacle === undefined) this.#take(table, wish, wishes);
    }
    this.#takeAlong(wishes);
    const { targets, unchanged } = this.#plan(wishes);
    return {
      abandoned: [...this.#abandoned],
      targets,
      unchanged,
      lateness: this.#lateness(),
      waits: this.#graph.inOrder.flatMap(({ tableId, waitReason }) => {
        const reason = waits.get(tableId) ?? "";
        return reason === waitReason ? [] : [{ tableId, reason }];
      }),
      wakeAtMs: this.#wakes.length === 0 ? undefined : Math.min(...this.#wakes),
    };
  }

  /** Adds a table and all dynamic tables that it reads to the round (TS4). */
  #take(table: ScheduledTable, wish: Wish, wishes: Map<TableId, Wish>): void {
    merge(wishes, table.tableId, wish);
    for (const { tableId } of this.#graph.upstreamOf(table.tableId)) {
      merge(wishes, tableId, { ...wish, trigger: "DOWNSTREAM" });
    }
  }

  /** Adds tables that are due soon (TS18), with their sources, which others may read too. */
  #takeAlong(wishes: Map<TableId, Wish>): void {
    let soon = this.#graph.inOrder.filter((table) => this.#isDueSoon(table));
    for (let joined = 1; joined > 0; ) {
      const near = soon.filter(({ tableId }) =>
        this.#graph.upstreamOf(tableId).some((above) => wishes.has(above.tableId)),
      );
      for (const table of near) {
        const dueMs = dueAtMs(this.#graph, table) ?? this.#nowMs;
        this.#take(table, { trigger: "SCHEDULED", priority: priorities.SCHEDULED, dueMs }, wishes);
      }
      joined = near.length;
      soon = soon.filter((table) => !near.includes(table));
    }
  }

  #isDueSoon(table: ScheduledTable): boolean {
    if (!isRunning(table) || this.#hasTarget(table) || this.#obstacle(table) !== undefined)
      return false;
    return (joinsAtMs(this.#graph, table) ?? Infinity) <= this.#nowMs;
  }

  /** Abandons targets that no worker claimed for `targetIdleMsMax` (TS10). */
  #abandonIdle(table: ScheduledTable): void {
    const { pending, isClaimed } = table;
    if (pending?.readyAtMs === undefined || isClaimed || this.#abandoned.has(table.tableId)) return;
    if (pending.targetSnapshot === this.#state.snapshot) return; // No newer snapshot exists.
    const idleFromMs = Math.max(pending.readyAtMs, pending.notBeforeMs);
    const untilMs = idleFromMs + this.#options.targetIdleMsMax;
    if (untilMs > this.#nowMs) {
      this.#wakes.push(untilMs);
      return;
    }
    for (const { tableId } of this.#graph.componentOf(table.tableId)) this.#abandoned.add(tableId);
  }

  /** Abandons a failed target (TC22). Other branches of the graph keep their targets. */
  #abandonFailed(table: ScheduledTable): void {
    const { pending, isClaimed, tableId } = table;
    if (pending?.targetSnapshot === undefined || pending.attempts === 0 || isClaimed) return;
    if (pending.targetSnapshot === this.#state.snapshot || !this.#mayBeCured(table)) return;
    this.#abandoned.add(tableId);
    for (const below of this.#graph.downstreamOf(tableId)) this.#abandoned.add(below.tableId);
  }

  /** Tries a failing table again (TC20). */
  #healingWish(table: ScheduledTable): Wish | undefined {
    const { failing, pending } = table;
    if (failing === undefined || this.#hasTarget(table)) return undefined;
    const dueMs = this.#nowMs;
    if (pending !== undefined && this.#isRequested(table) && this.#isTimely(table)) {
      return { trigger: pending.trigger, priority: pending.priority, dueMs };
    }
    const { retryAtMs = Infinity } = failing;
    if (retryAtMs > dueMs && retryAtMs < Infinity) this.#wakes.push(retryAtMs);
    if (!this.#mayBeCured(table) && retryAtMs > dueMs) return undefined;
    return { trigger: "SCHEDULED", priority: priorities.SCHEDULED, dueMs };
  }

  /** Whether a refresh would read something else now than the last attempt did. */
  #mayBeCured({ failing, sources }: ScheduledTable): boolean {
    if (failing === undefined) return false;
    const { missingPath, readSnapshots, changedRetryAtMs } = failing;
    const isBack = missingPath !== undefined && this.#state.isThere(missingPath);
    const isChanged = sources.some((source) => {
      const read = readSnapshots.get(source);
      if (read === undefined) return true;
      const above = this.#graph.get(source);
      if (above === undefined) return this.#state.hasChanged(source, read);
      return (above.publishedSnapshot ?? 0) > read;
    });
    if (!isBack && !isChanged) return false;
    if (changedRetryAtMs <= this.#nowMs) return true;
    this.#wakes.push(changedRetryAtMs);
    return false;
  }

  /** Undefined when the table needs no refresh now. */
  #wish(table: ScheduledTable): Wish | undefined {
    if (this.#hasTarget(table)) return undefined; // TS7: targets are reached in order.
    const dueMs = dueAtMs(this.#graph, table);
    const { pending } = table;
    if (pending !== undefined && this.#isRequested(table) && this.#isTimely(table)) {
      const { trigger, priority } = this.#abandoned.has(table.tableId) ? again : pending;
      return { trigger, priority, dueMs: Math.min(dueMs ?? this.#nowMs, this.#nowMs) };
    }
    if (dueMs === undefined) return undefined;
    if (dueMs > this.#nowMs) {
      this.#wakes.push(dueMs);
      return undefined;
    }
    return { trigger: "SCHEDULED", priority: priorities.SCHEDULED, dueMs };
  }

  #isRequested({ tableId, pending }: ScheduledTable): boolean {
    return (this.#abandoned.has(tableId) ? pending?.isOwed : pending?.isRequested) ?? false;
  }

  /** A request counts only if it was made before the snapshot's moment (TS11). */
  #isTimely({ requestedAtMs, pending }: ScheduledTable): boolean {
    const fromMs = Math.max((requestedAtMs ?? 0) + 1, pending?.notBeforeMs ?? 0);
    if (fromMs <= this.#nowMs) return true;
    this.#wakes.push(fromMs);
    return false;
  }

  /** A worker that claimed an abandoned target still computes it. */
  #hasTarget(table: ScheduledTable): boolean {
    if (this.#abandoned.has(table.tableId) && !table.isClaimed) return false;
    return table.pending?.targetSnapshot !== undefined;
  }

  #lastTarget(table: ScheduledTable): SnapshotId | undefined {
    if (!this.#hasTarget(table)) return undefined;
    const { pending } = table;
    if (this.#abandoned.has(table.tableId)) return pending?.targetSnapshot;
    return pending?.lastQueuedSnapshot ?? pending?.targetSnapshot;
  }

  /** Names the nearest stopped table that this one reads (TS9). */
  #obstacle(table: ScheduledTable): string | undefined {
    const blocking = this.#graph.upstreamOf(table.tableId).findLast((above) => !isRunning(above));
    if (blocking === undefined) return undefined;
    const why = blocking.statusReason === "" ? "" : `: ${blocking.statusReason}`;
    return `waits for ${blocking.label}, which is ${blocking.status}${why}`;
  }

  #troubleAbove(table: ScheduledTable): string {
    if (!isRunning(table) || table.pending?.targetSnapshot === undefined) return "";
    const failing = this.#graph
      .upstreamOf(table.tableId)
      .findLast(({ pending }) => (pending?.attempts ?? 0) > 0);
    if (failing === undefined) return "";
    return `waits for ${failing.label}, whose refresh failed: ${failing.lastError ?? "no reason given"}`;
  }

  #plan(wishes: ReadonlyMap<TableId, Wish>): Pick<ScheduleDecision, "targets" | "unchanged"> {
    const targets: ScheduledTarget[] = [];
    const unchanged: ScheduledTarget[] = [];
    const same = new Set<TableId>();
    const { snapshot } = this.#state;
    for (const table of this.#graph.inOrder) {
      const wish = wishes.get(table.tableId);
      const isThere = table.dataSnapshot === snapshot && !this.#hasTarget(table);
      if (isThere) same.add(table.tableId);
      if (wish === undefined) continue;
      const newest = this.#lastTarget(table) ?? table.dataSnapshot;
      // A newer snapshot was scheduled since the state was read. The next look reads the state
      // again.
      if (newest !== undefined && newest > snapshot) return { targets: [], unchanged: [] };
      if (this.#lastTarget(table) === snapshot) continue;
      if (isThere && wish.trigger === "DOWNSTREAM") continue;
      const target = { tableId: table.tableId, ...wish, satisfiesRequests: this.#satisfies(table) };
      if (this.#isUnchanged(table, same)) {
        same.add(table.tableId);
        unchanged.push(target); // TS8: no worker is needed.
      } else {
        targets.push(target);
      }
    }
    return { targets, unchanged };
  }

  #satisfies({ requestedAtMs }: ScheduledTable): boolean {
    return (requestedAtMs ?? 0) < this.#nowMs;
  }

  #isUnchanged(table: ScheduledTable, same: ReadonlySet<TableId>): boolean {
    if (table.dataSnapshot === undefined || table.isVolatile) return false;
    if (table.failing !== undefined) return false; // Only a successful refresh ends a failure.
    if (table.isClaimed || this.#hasTarget(table)) return false;
    return table.sources.every((source) => {
      const cursor = table.cursors.get(source);
      if (cursor === undefined) return false;
      const above = this.#graph.get(source);
      if (above === undefined) return !this.#state.mayHaveChanged(source, cursor);
      return same.has(source) && (above.publishedSnapshot ?? Infinity) <= cursor;
    });
  }

  #lateness(): ScheduleDecision["lateness"] {
    return this.#graph.inOrder.flatMap((table) => {
      const { tableId, lateSinceMs } = table;
      const lateFromMs = isRunning(table) ? lateAtMs(table) : undefined;
      const isLate = lateFromMs !== undefined && lateFromMs < this.#nowMs;
      if (lateFromMs !== undefined && !isLate) this.#wakes.push(lateFromMs + 1);
      if (isLate === (lateSinceMs !== undefined)) return [];
      return [{ tableId, lateSinceMs: isLate ? lateFromMs : undefined }];
    });
  }
}

/** The trigger and priority of a request whose target was abandoned. */
const again = { trigger: "MANUAL", priority: priorities.MANUAL } as const;

function isRunning({ status }: ScheduledTable): boolean {
  return status === "ACTIVE" || status === "INITIALIZING";
}

/** Keeps the more urgent of two wishes. A table's own trigger takes precedence over a reader's. */
function merge(wishes: Map<TableId, Wish>, tableId: TableId, wish: Wish): void {
  const before = wishes.get(tableId);
  if (before === undefined) {
    wishes.set(tableId, wish);
    return;
  }
  const trigger = before.trigger === "DOWNSTREAM" ? wish.trigger : before.trigger;
  wishes.set(tableId, {
    trigger,
    priority: Math.max(before.priority, wish.priority),
    dueMs: Math.min(before.dueMs, wish.dueMs),
  });
}
