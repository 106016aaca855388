/**
 * One worker's load: the generator, what it measures, and what is recorded. It knows nothing of the
 * store.
 */
import type { Clock } from "../../../ground/kernel/clock.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { WakeTimer } from "../../../ground/kernel/wake-timer.ts";
import { compileWorkload } from "../core/compile-workload.ts";
import type { WorkerTarget } from "../core/control-events.ts";
import type { TargetAhead } from "../core/event-inbox.ts";
import { toMs } from "../core/figures.ts";
import { Histogram } from "../core/histogram.ts";
import type { Operation, ParameterValue } from "../core/operation.ts";
import type { RunPhase, WorkerStatus } from "../core/run-state.ts";
import type { Scenario } from "../core/scenario.ts";
import { type MeasuredPhase, SeriesBook } from "../core/series-book.ts";
import type { OperationFailure, Target } from "../core/target.ts";
import type { WorkerIdentity } from "../core/worker-control.ts";
import {
  identityFields,
  type ProcessHealth,
  type WorkerSnapshot,
} from "../core/worker-snapshot.ts";
import type { Workload } from "../core/workload.ts";
import { type Executed, LoadGenerator } from "../generator/load-generator.ts";
import { UnsettledOperations } from "./unsettled-operations.ts";

const exampleCharsMax = 300;

/** What the process says of itself since it was last asked. */
export interface ProcessMeter {
  take(): ProcessHealth;
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
  readonly #unsettled: UnsettledOperations;
  #generator: LoadGenerator;
  #startedMs: number | undefined;
  #sequence = 0;
  #step = 0;
  #phase: MeasuredPhase = "WARMUP";
  #last = { atMs: 0, responses: new Histogram() };
  #stepBefore = { token: -1, response: new Histogram() };
  readonly #errorExamples = new Map<string, string>();

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
    this.#unsettled = new UnsettledOperations(this.#dueMsOf, options.onExecuted);
    this.#generator = this.#newGenerator();
  }

  get operations(): readonly Operation[] {
    return this.#workload.operations.map(({ operation }) => operation);
  }

  get activeConnections(): number {
    return this.#generator.activeConnections;
  }

  /** Opens what it will begin with, every statement prepared. May be tried again. */
  async prepare(target: WorkerTarget, signal: AbortSignal): Promise<void> {
    const { loadMode: mode, rampSeconds: ramp } = this.#options.scenario.workload;
    // A closed loop that grows by a ramp begins with one.
    const connections = mode !== "QPS" && ramp > 0 ? 1 : target.connections;
    try {
      await this.#generator.warmUp(Math.max(1, connections), signal);
    } catch (thrown) {
      await this.#generator.close();
      this.#generator = this.#newGenerator();
      throw thrown;
    }
  }

  /** `atMs`: when it was to start; `ahead`: what follows the target. */
  start(
    phase: MeasuredPhase,
    target: WorkerTarget,
    atMs: number,
    ahead: readonly TargetAhead[],
  ): void {
    const { clock, scenario, meter } = this.#options;
    meter.take(); // Preparation is not part of the load.
    this.#startedMs = clock.nowMs();
    this.#last = { atMs: this.#startedMs, responses: new Histogram() };
    this.#step = target.stepNumber ?? 0;
    this.#phase = phase;
    this.#book.enter(phase, this.#step);
    const rampMs = scenario.workload.rampSeconds * 1000;
    this.setTarget({ target, rampMs, fromMs: atMs }, ahead);
  }

  /** Operations due at `atMs` or later belong to this phase (GE3). */
  enterPhase(phase: MeasuredPhase, atMs: number): void {
    this.#phase = phase;
    this.#book.cut(phase, atMs);
  }

  /** The same for a phase that is not entered yet. */
  announcePhase(phase: MeasuredPhase, atMs: number): void {
    this.#book.cut(phase, atMs);
  }

  setTarget({ target, rampMs, fromMs }: TargetAhead, ahead: readonly TargetAhead[] = []): void {
    const step = target.stepNumber ?? 0;
    if (step !== this.#step) this.#book.enter(this.#phase, step);
    this.#step = step;
    const { connections, qps } = target;
    const rates = ahead.map((next) => ({ ...next, qps: next.target.qps ?? 0 }));
    this.#generator.setTarget({ connections, qps: qps ?? 0, rampMs, fromMs, ahead: rates });
  }

  announceTarget({ target, rampMs, fromMs }: TargetAhead): void {
    this.#generator.announce({ qps: target.qps ?? 0, rampMs, fromMs });
  }

  /** Removes operations due at `atMs` or later from figures and records (LW20). */
  stopAt(atMs: number): void {
    this.#book.stopAt(atMs);
    const taken = this.#unsettled.takeSince(atMs);
    this.#book.takeBack(
      taken.map(({ phase, step, operation, intendedMs, startMs, endMs, failure, rowCount }) => ({
        phase,
        step,
        operation,
        responseUs: (endMs - intendedMs) * 1000,
        serviceUs: (endMs - startMs) * 1000,
        failure: failure?.kind,
        rowCount,
      })),
    );
  }

  /** What was due before cannot have begun after a stop that is not heard of yet. */
  settle(beforeMs: number): void {
    this.#unsettled.settle(beforeMs);
  }

  drain(timeoutMs: number): Promise<void> {
    return this.#generator.drain(timeoutMs);
  }

  async close(): Promise<void> {
    await this.#generator.close();
    this.#unsettled.settle(Infinity);
  }

  /** Each call increases the sequence. */
  snapshot(status: WorkerStatus, phase: RunPhase, target: WorkerTarget): WorkerSnapshot {
    const { identity, clock, meter } = this.#options;
    const nowMs = clock.nowMs();
    const responses = this.#book.responses();
    const seconds = (nowMs - this.#last.atMs) / 1000;
    const latest = responses.since(this.#last.responses);
    const qps = seconds > 0 ? latest.count / seconds : 0;
    this.#last = { atMs: nowMs, responses };
    this.#sequence += 1;
    const { waiting, dropped, unsent, answering } = this.#generator;
    const lag = this.#generator.takeLag();
    this.#book.setPending(this.#generator.pending());
    return {
      run_id: identity.runId,
      ...identityFields(identity),
      sequence: this.#sequence,
      status,
      phase,
      step: this.#step,
      elapsed_seconds: (nowMs - (this.#startedMs ?? nowMs)) / 1000,
      target_connections: target.connections,
      target_qps: target.qps,
      active_connections: this.#generator.activeConnections,
      qps,
      health: {
        ...meter.take(),
        schedule_lag_ms_p99: (lag.percentileUs(0.99) ?? 0) / 1000,
        schedule_lag_ms_p95: (lag.percentileUs(0.95) ?? 0) / 1000,
        latency_ms_p50: toMs(latest.percentileUs(0.5)),
        latency_ms_p95: toMs(latest.percentileUs(0.95)),
        waiting,
        dropped,
        unsent,
      },
      answering,
      error_examples: Object.fromEntries(this.#errorExamples),
      series: this.#book.snapshot(),
      step_response: this.#step === 0 ? null : this.#takeStepResponse().encode(),
    };
  }

  /** What the open step's operations took since the last call. */
  #takeStepResponse(): Histogram {
    const { token } = this.#book;
    const response = this.#book.openResponse();
    const { token: tokenBefore, response: before } = this.#stepBefore;
    this.#stepBefore = { token, response };
    return token === tokenBefore ? response.since(before) : response;
  }

  #newGenerator(): LoadGenerator {
    const { scenario, target, clock, wake, prng, identity, onTrouble } = this.#options;
    const { workload } = scenario;
    return new LoadGenerator({
      target,
      workload: this.#workload,
      book: this.#book,
      clock,
      wake,
      prng: prng.fork("generator"),
      loop: workload.loadMode === "QPS" ? "open" : "closed",
      arrivals: workload.arrivals,
      turn: { index: identity.groupId, count: identity.groupCount },
      depth: Math.min(workload.pipelineDepth, target.capabilities.depthMax),
      thinkTimeMs: workload.thinkTimeMs,
      operationTimeoutMs: workload.operationTimeoutMs,
      onExecuted: (executed) => {
        if (executed.failure !== undefined) this.#noteExample(executed.failure);
        this.#unsettled.add(executed);
      },
      onTrouble,
    });
  }

  /** By what an operation belongs to its phase (GE3). */
  readonly #dueMsOf = ({ intendedMs, startMs }: Executed): number =>
    this.#options.scenario.workload.loadMode === "QPS" ? intendedMs : startMs;

  #noteExample({ kind, code, message }: OperationFailure): void {
    if (this.#errorExamples.has(kind)) return;
    const said = code === "" ? message : `${code}: ${message}`;
    this.#errorExamples.set(kind, said.slice(0, exampleCharsMax));
  }
}
