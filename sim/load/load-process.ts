/** One load worker's process: the real `LoadWorker`, and what it truly did. */
import { messageOf, OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Logger } from "../../src/ground/kernel/logger.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import { clockWakeTimer } from "../../src/ground/kernel/wake-timer.ts";
import type { Store } from "../../src/ground/store/index.ts";
import type { SequencedEvent } from "../../src/kinds/load/core/control-events.ts";
import type { WorkerEnd } from "../../src/kinds/load/core/load-worker-state.ts";
import type { WorkerControl, WorkerIdentity } from "../../src/kinds/load/core/worker-control.ts";
import type { WorkerSnapshot } from "../../src/kinds/load/core/worker-snapshot.ts";
import type { SpawnRequest } from "../../src/kinds/load/host/worker-spawner.ts";
import { idle } from "../../src/kinds/load/orchestrator/testing/real-workers.ts";
import type { LoadWorker } from "../../src/kinds/load/worker/load-worker.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { LoadSeams } from "./load-seams.ts";
import { type SimServers, SimTarget } from "./sim-target.ts";

export interface LoadProcessOptions {
  readonly request: SpawnRequest;
  readonly processId: number;
  /** The machine that it runs on. */
  readonly hostName: string;
  readonly life: Life;
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly store: Store;
  readonly seams: LoadSeams;
  /** Shared by all workers of its run. */
  readonly servers: SimServers;
  readonly logger: Logger;
  readonly post: (process: LoadProcess, snapshot: WorkerSnapshot) => void;
  /** Called when it has ended by itself. */
  readonly exited: (process: LoadProcess, end: WorkerEnd | undefined) => void;
  /** Called when the store acknowledged a report. */
  readonly acknowledged: (process: LoadProcess, snapshot: WorkerSnapshot) => void;
  readonly failed: (life: Life, thrown: unknown) => void;
}

export class LoadProcess {
  readonly processId: number;
  readonly hostName: string;
  readonly runId: string;
  readonly workerId: string;
  readonly incarnation: string;
  readonly life: Life;
  /** Operations of MEASUREMENT that ended, and for which no stop can turn up. */
  executed = 0;
  #recorded = 0;
  end: WorkerEnd | undefined;
  target: SimTarget | undefined;
  /** How many more events it never sees, and before which time it sees none. */
  eventsLost = 0;
  eventsFromMs = 0;
  readonly #options: LoadProcessOptions;
  #worker: LoadWorker | undefined;

  constructor(options: LoadProcessOptions) {
    const { request, processId, hostName, life } = options;
    this.#options = options;
    this.processId = processId;
    this.hostName = hostName;
    this.runId = request.runId;
    this.workerId = request.workerId;
    this.incarnation = `i-${processId}`;
    this.life = life;
  }

  /** As `src/kinds/load/worker/main.ts` does it, `bootMs` after the process began. */
  start(bootMs: number): void {
    const { life, failed } = this.#options;
    life.after(bootMs, () => {
      const run = async (): Promise<void> => {
        let end: WorkerEnd | undefined;
        try {
          this.#worker = this.#build();
          end = await this.#worker.run();
        } catch (thrown) {
          // What the store or the target refuses for good ends a process with its words.
          if (!(thrown instanceof OperatingError)) failed(life, thrown);
          this.#options.logger.error({}, messageOf(thrown));
        }
        this.end = end;
        this.#options.exited(this, end);
      };
      void run();
    });
  }

  /**
   * Operations of MEASUREMENT that may have ended: the worker waits for a stop before it records
   * them.
   */
  get executedMax(): number {
    return this.executed + Math.max(0, (this.target?.begun ?? 0) - this.#recorded);
  }

  terminate(): void {
    this.life.receive(() => {
      if (this.#worker === undefined) this.#options.exited(this, undefined);
      else this.#worker.terminate();
    });
  }

  #build(): LoadWorker {
    const { seams, life, timeline, prng, servers, logger, post } = this.#options;
    const identity = this.#identity();
    return new seams.LoadWorker({
      identity,
      control: this.#control(),
      openTarget: async () => {
        this.target = new SimTarget(servers, life, timeline);
        return this.target;
      },
      readPools: async () => new Map(),
      openRecorder: () => ({
        record: ({ phase }) => {
          this.#recorded += 1;
          if (phase === "MEASUREMENT") this.executed += 1;
        },
        finish: async () => undefined,
      }),
      live: ({ metrics }) => post(this, metrics),
      meter: { take: () => idle },
      wake: clockWakeTimer(life),
      clock: life,
      prng: prng.fork("worker"),
      logger,
    });
  }

  #identity(): WorkerIdentity {
    const { request } = this.#options;
    return {
      ...request,
      testId: `${request.runId}-${request.workerId}-${this.processId}`,
      incarnation: this.incarnation,
      hostName: this.hostName,
      processId: this.processId,
    };
  }

  /** The real one, except that events get lost or come late, as the faults say. */
  #control(): WorkerControl {
    const { seams, store, acknowledged } = this.#options;
    const control = new seams.StoreWorkerControl(store, { leaseName: "coordinator" });
    return {
      register: (worker) => control.register(worker),
      read: (runId) => control.read(runId),
      events: async (runId, after) => this.#seen(await control.events(runId, after)),
      beat: (worker, beat) => control.beat(worker, beat),
      writeSnapshot: async (worker, snapshot) => {
        const answer = await control.writeSnapshot(worker, snapshot);
        if (answer === "ok") acknowledged(this, snapshot);
        return answer;
      },
      finish: (worker, snapshot, status) => control.finish(worker, snapshot, status),
      log: (runId, lines) => control.log(runId, lines),
    };
  }

  #seen(events: readonly SequencedEvent[]): readonly SequencedEvent[] {
    if (this.#options.timeline.nowMs < this.eventsFromMs) return [];
    const lost = Math.min(this.eventsLost, events.length);
    this.eventsLost -= lost;
    return events.slice(lost);
  }
}
