/**
 * The store of one run in memory, as a worker's port to it: with its own clock, and outages on
 * demand.
 */

import type { Clock } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { ControlEvent, SequencedEvent } from "../core/control-events.ts";
import type { WorkerStatus } from "../core/run-state.ts";
import type { Scenario } from "../core/scenario.ts";
import type {
  LogLine,
  RunView,
  WorkerBeat,
  WorkerControl,
  WorkerIdentity,
} from "../core/worker-control.ts";
import type { WorkerSnapshot } from "../core/worker-snapshot.ts";
import { testRun, testWorker } from "./ids.ts";

export interface MemoryControlOptions {
  readonly clock: Clock;
  readonly scenario: Scenario;
  /** The store's time when the worker's clock is 0. */
  readonly offsetMs?: number;
}

export class MemoryControl implements WorkerControl {
  readonly #clock: Clock;
  readonly #offsetMs: number;
  readonly events_: SequencedEvent[] = [];
  readonly beats: (WorkerBeat & { readonly atMs: number })[] = [];
  readonly snapshots: WorkerSnapshot[] = [];
  readonly finished: { readonly snapshot: WorkerSnapshot; readonly status: WorkerStatus }[] = [];
  readonly logs: LogLine[] = [];
  row: Omit<RunView, "nowMs">;
  isAway = false;
  incarnation: string | undefined;
  isDeleted = false;

  constructor({ clock, scenario, offsetMs = 1_000_000 }: MemoryControlOptions) {
    this.#clock = clock;
    this.#offsetMs = offsetMs;
    this.row = {
      runId: testRun("run"),
      status: "RUNNING",
      phase: "PREPARING",
      scenario,
      targetSecret: null,
      targets: {},
      startTimeMs: null,
      warmupStartTimeMs: null,
      warmupEndTimeMs: null,
      stopTimeMs: null,
      leaseLapsedMs: 0,
    };
  }

  get nowMs(): number {
    return this.#clock.nowMs() + this.#offsetMs;
  }

  change(row: Partial<Omit<RunView, "nowMs">>): void {
    this.row = { ...this.row, ...row };
  }

  emit(event: ControlEvent): void {
    this.events_.push({ ...event, sequence: this.events_.length + 1 });
  }

  /** Events that nobody will get: only the row says what they said. */
  skipSequence(): void {
    this.emit({
      type: "START",
      to: { scope: "WORKER", workerId: testWorker("nobody") },
      expectedWorkers: 0,
    });
  }

  async register(worker: WorkerIdentity): Promise<RunView | undefined> {
    this.#answer();
    this.incarnation = worker.incarnation;
    return this.#view();
  }

  async read(): Promise<RunView | undefined> {
    this.#answer();
    return this.#view();
  }

  async events(_runId: string, after: number): Promise<readonly SequencedEvent[]> {
    this.#answer();
    return this.events_.filter(({ sequence }) => sequence > after);
  }

  async beat(worker: WorkerIdentity, beat: WorkerBeat): Promise<"ok" | "superseded" | "gone"> {
    this.#answer();
    if (this.isDeleted) return "gone";
    if (worker.incarnation !== this.incarnation) return "superseded";
    this.beats.push({ ...beat, atMs: this.#clock.nowMs() });
    return "ok";
  }

  async writeSnapshot(
    worker: WorkerIdentity,
    snapshot: WorkerSnapshot,
  ): Promise<"ok" | "superseded"> {
    this.#answer();
    if (worker.incarnation !== this.incarnation) return "superseded";
    this.snapshots.push(snapshot);
    return "ok";
  }

  async finish(
    _worker: WorkerIdentity,
    snapshot: WorkerSnapshot,
    status: WorkerStatus,
  ): Promise<void> {
    this.#answer();
    this.finished.push({ snapshot, status });
  }

  async log(_runId: string, lines: readonly LogLine[]): Promise<void> {
    this.#answer();
    this.logs.push(...lines);
  }

  #view(): RunView | undefined {
    return this.isDeleted ? undefined : { ...this.row, nowMs: this.nowMs };
  }

  #answer(): void {
    if (this.isAway) throw new OperatingError("store_unavailable", "backoff", "it is away");
  }
}
