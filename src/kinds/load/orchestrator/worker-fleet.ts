/**
 * A run's processes: those that are there, those that should be, and those that should not be any
 * more. Rules: WF1 and WF2.
 */

import type { Clock } from "../../../ground/kernel/clock.ts";
import { AssertionError, messageOf } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { placementOf } from "../core/decide-host.ts";
import { decideSignal } from "../core/decide-reap.ts";
import type { RunWorkerFacts } from "../core/decide-run.ts";
import { type LoadWorkerId, type RunId, workerIdOf } from "../core/ids.ts";
import type { WorkerSpawner } from "../host/worker-spawner.ts";
import type { RunLook } from "../store/run-store.ts";

/** Time limit for the first heartbeat of a worker that another coordinator started. */
const strangerMs = 15_000;

export interface WorkerFleetOptions {
  readonly runId: RunId;
  readonly spawner: WorkerSpawner;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class WorkerFleet {
  readonly #options: WorkerFleetOptions;
  readonly #sinceMs: number;
  readonly #spawned = new Set<LoadWorkerId>();
  readonly #notStarted = new Map<LoadWorkerId, string>();
  readonly #signalled = new Set<string>();
  readonly #owned = new Set<LoadWorkerId>();
  /** The process in each worker's last heartbeat. */
  readonly #seen = new Map<LoadWorkerId, string>();
  #expected = 0;

  constructor(options: WorkerFleetOptions) {
    this.#options = options;
    this.#sinceMs = options.clock.nowMs();
  }

  /** This coordinator starts these groups, because it decided to add them. */
  own(from: number, to: number): void {
    for (let group = from; group < to; group += 1) this.#owned.add(workerIdOf(group));
    this.#expected = Math.max(this.#expected, to);
  }

  /** The workers whose process has ended (WF2). */
  gone(): ReadonlySet<LoadWorkerId> {
    const gone = new Set(this.#notStarted.keys());
    for (let group = 0; group < this.#expected; group += 1) {
      const workerId = workerIdOf(group);
      if (this.#isAlive(workerId) === false) gone.add(workerId);
    }
    return gone;
  }

  factsOf(look: RunLook, gone: ReadonlySet<LoadWorkerId>): readonly RunWorkerFacts[] {
    const { run, workers, nowMs } = look;
    this.#expected = Math.max(this.#expected, run.expectedWorkers);
    for (const { workerId, hostName, processId } of workers) {
      this.#options.spawner.see({ runId: run.runId, workerId, hostName, processId });
    }
    const registered = workers.map(({ workerId, status, lastHeartbeatMs, hostName, processId }) => {
      // A worker that registered since then was not checked: another process of this name may have
      // ended.
      const isNew = this.#seen.get(workerId) !== `${hostName}/${processId}`;
      this.#seen.set(workerId, `${hostName}/${processId}`);
      return { workerId, status, lastHeartbeatMs, isGone: gone.has(workerId) && !isNew };
    });
    const known = new Set(workers.map(({ workerId }) => workerId));
    const missing: RunWorkerFacts[] = [];
    for (let group = 0; group < run.expectedWorkers; group += 1) {
      const workerId = workerIdOf(group);
      if (known.has(workerId)) continue;
      const isComing = run.status === "RUNNING" || this.#isAlive(workerId) === true;
      // The worker was never started, and will not be.
      if (!isComing && !gone.has(workerId)) continue;
      const isGone = gone.has(workerId);
      missing.push({ workerId, status: "STARTING", lastHeartbeatMs: nowMs, isGone });
    }
    return [...registered, ...missing];
  }

  /** Starts missing workers (WF1). `announce` rejects when this process no longer leads. */
  async spawnMissing(
    look: RunLook,
    announce: (workerIds: readonly LoadWorkerId[]) => Promise<void>,
  ): Promise<void> {
    const { run } = look;
    const { spawner, logger } = this.#options;
    const groupCount = run.scenario.scaling.workerGroupCount ?? run.expectedWorkers;
    const placement = placementOf(run.scenario);
    const missing = this.#missing(look);
    if (missing.length > 0) await announce(missing.map(workerIdOf));
    for (const groupId of missing) {
      const workerId = workerIdOf(groupId);
      this.#spawned.add(workerId);
      try {
        await spawner.spawn({ runId: run.runId, workerId, groupId, groupCount, placement });
      } catch (thrown) {
        if (thrown instanceof AssertionError) throw thrown;
        logger.error({ run_id: run.runId, worker_id: workerId }, messageOf(thrown));
        this.#notStarted.set(workerId, messageOf(thrown));
      }
    }
  }

  #missing({ run, workers }: RunLook): readonly number[] {
    const known = new Set(workers.map(({ workerId }) => workerId));
    const mayAll = this.#options.clock.nowMs() - this.#sinceMs >= strangerMs;
    const groups = Array.from({ length: run.expectedWorkers }, (_, group) => group);
    return groups.filter((group) => {
      const workerId = workerIdOf(group);
      if (known.has(workerId) || this.#spawned.has(workerId)) return false;
      return (mayAll || this.#owned.has(workerId)) && this.#isAlive(workerId) === undefined;
    });
  }

  /** Ends processes that should have ended. Returns `true` when some are left. */
  reap({ run, workers, nowMs }: RunLook): boolean {
    const { stopTimeMs, endTimeMs } = run;
    let isAnybodyLeft = false;
    for (let group = 0; group < this.#expected; group += 1) {
      const workerId = workerIdOf(group);
      if (this.#isAlive(workerId) !== true) continue;
      isAnybodyLeft = true;
      const row = workers.find((worker) => worker.workerId === workerId);
      const { status = "STARTING", lastHeartbeatMs = nowMs } = row ?? {};
      const signal = decideSignal({ nowMs, status, lastHeartbeatMs, stopTimeMs, endTimeMs });
      if (signal === undefined || this.#signalled.has(`${workerId}/${signal}`)) continue;
      this.#signalled.add(`${workerId}/${signal}`);
      this.#options.logger.warn(
        { run_id: run.runId, worker_id: workerId },
        `it should be gone: ${signal}`,
      );
      this.#options.spawner.signal({ runId: run.runId, workerId }, signal);
    }
    return isAnybodyLeft;
  }

  #isAlive(workerId: LoadWorkerId): boolean | undefined {
    return this.#options.spawner.isAlive({ runId: this.#options.runId, workerId });
  }
}
