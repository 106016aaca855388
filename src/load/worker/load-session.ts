/** One worker's load: the generator, what it measures, and what is recorded. It knows nothing of the store. */
import type { Clock } from "../../kernel/clock.ts";
import type { Prng } from "../../kernel/prng.ts";
import type { WakeTimer } from "../../kernel/wake-timer.ts";
import { compileWorkload } from "../core/compile-workload.ts";
import type { Operation, ParameterValue } from "../core/operation.ts";
import type { RunPhase, WorkerStatus } from "../core/run-state.ts";
import type { Scenario } from "../core/scenario.ts";
import { type MeasuredPhase, SeriesBook } from "../core/series-book.ts";
import type { OperationFailure, Target } from "../core/target.ts";
import type { WorkerIdentity, WorkerTarget } from "../core/worker-control.ts";
import type { GeneratorHealth, WorkerSnapshot } from "../core/worker-snapshot.ts";
import type { Workload } from "../core/workload.ts";
import { type Executed, LoadGenerator } from "../generator/load-generator.ts";

/** What the process says of itself since it was last asked. */
export interface ProcessMeter {
  take(): Pick<
    GeneratorHealth,
    "event_loop_delay_ms_p99" | "cpu_percent" | "memory_percent" | "rss_bytes"
  >;
}

export interface LoadSessionOptions {
  readonly identity: WorkerIdentity;
  readonly scenario: Scenario;
  readonly pools: ReadonlyMap<string, readonly ParameterValue[]>;
  readonly target: Target;
  readonly clock: Clock;
  readonly wake: WakeTimer;
  readonly prng: Prng;
  readonly meter: ProcessMeter;
  readonly onExecuted: (executed: Executed) => void;
  readonly onTrouble: (failure: OperationFailure) => void;
}

export class LoadSession {
  readonly #options: LoadSessionOptions;
  readonly #workload: Workload;
  readonly #book: SeriesBook;
  #generator: LoadGenerator;
  #startedMs: number | undefined;
  #sequence = 0;
  #step = 0;
  #last = { atMs: 0, ops: 0 };

  /** Throws `bad_request` for a scenario that cannot be. */
  constructor(options: LoadSessionOptions) {
    const { scenario, identity, pools, clock } = options;
    this.#options = options;
    this.#workload = compileWorkload(scenario.workload, {
      groupId: identity.groupId,
      pools,
      wallMs: () => clock.wallMs(),
    });
    this.#book = new SeriesBook(this.operations, "WARMUP");
    this.#generator = this.#newGenerator();
  }

  get operations(): readonly Operation[] {
    return this.#workload.operations.map(({ operation }) => operation);
  }

  get activeConnections(): number {
    return this.#generator.activeConnections;
  }

  get hasStarted(): boolean {
    return this.#startedMs !== undefined;
  }

  /** Opens what it will begin with, every statement prepared. May be tried again. */
  async prepare({ target_connections }: WorkerTarget, signal: AbortSignal): Promise<void> {
    const { load_mode: mode, ramp_seconds: ramp } = this.#options.scenario.workload;
    // A closed loop that grows by a ramp begins with one.
    const connections = mode !== "QPS" && ramp > 0 ? 1 : target_connections;
    try {
      await this.#generator.warmUp(Math.max(1, connections), signal);
    } catch (thrown) {
      await this.#generator.close();
      this.#generator = this.#newGenerator();
      throw thrown;
    }
  }

  start(phase: MeasuredPhase, target: WorkerTarget): void {
    const { clock, scenario, meter } = this.#options;
    meter.take(); // What it took to get ready is not the load's.
    this.#startedMs = clock.nowMs();
    this.#last = { atMs: this.#startedMs, ops: 0 };
    this.#step = target.step_number ?? 0;
    this.#book.enter(phase, this.#step);
    this.setTarget(target, scenario.workload.ramp_seconds * 1000);
  }

  enterPhase(phase: MeasuredPhase): void {
    this.#generator.enter(phase, this.#step);
  }

  setTarget(target: WorkerTarget, rampMs: number): void {
    this.#step = target.step_number ?? 0;
    this.#generator.enter(this.#book.phase, this.#step);
    const { target_connections: connections, target_qps: qps } = target;
    this.#generator.setTarget({ connections, qps: qps ?? 0, rampMs });
  }

  drain(timeoutMs: number): Promise<void> {
    return this.#generator.drain(timeoutMs);
  }

  close(): Promise<void> {
    return this.#generator.close();
  }

  /** Each call is another sequence. */
  snapshot(status: WorkerStatus, phase: RunPhase, target: WorkerTarget): WorkerSnapshot {
    const { identity, clock, meter } = this.#options;
    const nowMs = clock.nowMs();
    const { ops } = this.#book;
    const seconds = (nowMs - this.#last.atMs) / 1000;
    const qps = seconds > 0 ? (ops - this.#last.ops) / seconds : 0;
    this.#last = { atMs: nowMs, ops };
    this.#sequence += 1;
    const { waiting, dropped, unsent } = this.#generator;
    const lagUs = this.#generator.takeLag().percentileUs(0.99) ?? 0;
    return {
      run_id: identity.runId,
      test_id: identity.testId,
      worker_id: identity.workerId,
      worker_group_id: identity.groupId,
      sequence: this.#sequence,
      status,
      phase,
      step: this.#step,
      elapsed_seconds: (nowMs - (this.#startedMs ?? nowMs)) / 1000,
      target_connections: target.target_connections,
      target_qps: target.target_qps,
      active_connections: this.#generator.activeConnections,
      qps,
      health: { ...meter.take(), schedule_lag_ms_p99: lagUs / 1000, waiting, dropped, unsent },
      series: this.#book.snapshot(),
    };
  }

  #newGenerator(): LoadGenerator {
    const { scenario, target, clock, wake, prng, identity, onExecuted, onTrouble } = this.#options;
    const { workload } = scenario;
    return new LoadGenerator({
      target,
      workload: this.#workload,
      book: this.#book,
      clock,
      wake,
      prng: prng.fork("generator"),
      loop: workload.load_mode === "QPS" ? "open" : "closed",
      arrivals: workload.arrivals,
      turn: { index: identity.groupId, count: identity.groupCount },
      depth: Math.min(workload.pipeline_depth, target.capabilities.depthMax),
      thinkTimeMs: workload.think_time_ms,
      operationTimeoutMs: workload.operation_timeout_ms,
      onExecuted,
      onTrouble,
    });
  }
}
