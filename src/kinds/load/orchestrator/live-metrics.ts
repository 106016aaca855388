/**
 * The workers' newest snapshots in memory, for the update of each second. Best effort: the store
 * gets the same a little later. Rules: LV1 to LV3.
 */

import type { Clock } from "../../../ground/kernel/clock.ts";
import type { RunId } from "../core/ids.ts";
import type { WorkerSnapshot } from "../core/worker-snapshot.ts";

export interface LiveMetricsOptions {
  readonly clock: Clock;
  readonly ttlMs?: number;
  readonly workersMax?: number;
}

interface Entry {
  readonly snapshot: WorkerSnapshot;
  readonly atMs: number;
}

export class LiveMetrics {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #workersMax: number;
  readonly #runs = new Map<string, Map<string, Entry>>();

  constructor({ clock, ttlMs = 5_000, workersMax = 1_000 }: LiveMetricsOptions) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#workersMax = workersMax;
  }

  /** Returns `false` when a newer snapshot is known, or there is no room. */
  accept(snapshot: WorkerSnapshot): boolean {
    const { run_id: runId, worker_id: workerId } = snapshot;
    const workers = this.#runs.get(runId) ?? new Map<string, Entry>();
    const known = workers.get(workerId);
    const isSameProcess = known?.snapshot.test_id === snapshot.test_id;
    if (known !== undefined && isSameProcess && known.snapshot.sequence >= snapshot.sequence) {
      return false; // LV1
    }
    if (known === undefined && this.#size() >= this.#workersMax) this.#dropOld();
    if (known === undefined && this.#size() >= this.#workersMax) return false; // LV3
    workers.set(workerId, { snapshot, atMs: this.#clock.nowMs() });
    this.#runs.set(runId, workers);
    return true;
  }

  /** Fresh snapshots by worker, with their age (LV2). */
  fresh(
    runId: RunId,
  ): ReadonlyMap<string, { readonly snapshot: WorkerSnapshot; readonly ageMs: number }> {
    const nowMs = this.#clock.nowMs();
    const entries = [...(this.#runs.get(runId) ?? [])].flatMap(([workerId, entry]) => {
      const ageMs = nowMs - entry.atMs;
      return ageMs > this.#ttlMs ? [] : [[workerId, { snapshot: entry.snapshot, ageMs }] as const];
    });
    return new Map(entries);
  }

  forget(runId: RunId): void {
    this.#runs.delete(runId);
  }

  #size(): number {
    let size = 0;
    for (const workers of this.#runs.values()) size += workers.size;
    return size;
  }

  #dropOld(): void {
    const nowMs = this.#clock.nowMs();
    for (const [runId, workers] of this.#runs) {
      for (const [workerId, { atMs }] of workers) {
        if (nowMs - atMs > this.#ttlMs) workers.delete(workerId);
      }
      if (workers.size === 0) this.#runs.delete(runId);
    }
  }
}
