/**
 * Load workers, the real ones, in virtual time: what a machine with their processes is to the
 * orchestrator.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import type { Prng } from "../../../../ground/kernel/prng.ts";
import { clockWakeTimer } from "../../../../ground/kernel/wake-timer.ts";
import type { WorkerEnd } from "../../core/load-worker-state.ts";
import type { Target } from "../../core/target.ts";
import type { WorkerControl } from "../../core/worker-control.ts";
import type { Executed } from "../../generator/load-generator.ts";
import type { SpawnRequest, WorkerPlace, WorkerSpawner } from "../../host/worker-spawner.ts";
import { LoadWorker } from "../../worker/load-worker.ts";

export interface RealWorkersOptions {
  readonly clock: Clock;
  readonly control: WorkerControl;
  readonly target: Target;
  readonly prng: Prng;
  /** Every operation, and where the store's time begins on the worker's clock. */
  readonly onExecuted?: (executed: Executed, originMs: number) => void;
}

export class RealWorkers implements WorkerSpawner {
  readonly ends: WorkerEnd[] = [];
  readonly #options: RealWorkersOptions;
  readonly #running = new Map<string, LoadWorker>();

  constructor(options: RealWorkersOptions) {
    this.#options = options;
  }

  async spawn({ runId, workerId, groupId, groupCount }: SpawnRequest): Promise<void> {
    const { clock, control, target, prng } = this.#options;
    const worker = new LoadWorker({
      identity: {
        runId,
        workerId,
        groupId,
        groupCount,
        testId: `${runId}-${workerId}`,
        incarnation: `i-${workerId}`,
        hostName: "here",
        processId: groupId + 1,
      },
      control,
      openTarget: async () => target,
      readPools: async () => new Map(),
      openRecorder: (_view, _session, _source, originMs) => ({
        record: (executed) => this.#options.onExecuted?.(executed, originMs()),
        finish: async () => undefined,
      }),
      live: () => undefined,
      meter: { take: () => idle },
      wake: clockWakeTimer(clock),
      clock,
      prng: prng.fork(workerId),
      logger: silentLogger,
    });
    this.#running.set(workerId, worker);
    void worker.run().then((end) => {
      this.ends.push(end);
      this.#running.delete(workerId);
    });
  }

  isAlive({ workerId }: WorkerPlace): boolean | undefined {
    return this.#running.has(workerId) ? true : undefined;
  }

  see(): void {}

  signal({ workerId }: WorkerPlace): void {
    this.#running.get(workerId)?.terminate();
  }

  forget(): void {}
}

/** What a worker says of a process that has little to do. */
export const idle = {
  event_loop_delay_ms_p99: 0,
  event_loop_delay_ms_mean: 0,
  cpu_percent: 5,
  memory_percent: 1,
  rss_bytes: 1,
};
