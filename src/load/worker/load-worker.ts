/**
 * A load worker from its registration to its end. It makes load for as long as somebody controls it, tells what it measured, and ends
 * by itself when it has to (`worker-watchdog.ts`).
 *
 *   1  Nothing begins before START, or a run that is in WARMUP or MEASUREMENT. Nothing begins after STOP.
 *   2  The store is asked once a second; one that does not answer is asked again with growing pauses, and the load goes on meanwhile.
 *   3  The first end counts; a harder one that comes while it drains cuts the draining short.
 *   4  Once superseded it writes nothing.
 */
import { type Clock, sleep, type Timer } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import type { WakeTimer } from "../../kernel/wake-timer.ts";
import { generatorBoundReason } from "../core/generator-health.ts";
import type { ParameterValue } from "../core/operation.ts";
import {
  drainTimeoutMs,
  heartbeatMs,
  type RunPhase,
  storeLossMsMax,
  type WorkerStatus,
} from "../core/run-state.ts";
import type { Scenario } from "../core/scenario.ts";
import type { MeasuredPhase } from "../core/series-book.ts";
import { StoreClock } from "../core/store-clock.ts";
import type { OperationFailure, Target } from "../core/target.ts";
import type {
  RunView,
  WorkerBeat,
  WorkerControl,
  WorkerIdentity,
  WorkerTarget,
} from "../core/worker-control.ts";
import type { WorkerSnapshot } from "../core/worker-snapshot.ts";
import { initialTarget } from "../core/worker-targets.ts";
import { deadlineOf, decideWorkerEnd, type WorkerEndKind } from "../core/worker-watchdog.ts";
import type { ExecutionSource } from "../executions/execution-rows.ts";
import type { Executed } from "../generator/load-generator.ts";
import { EventInbox } from "./event-inbox.ts";
import type { LivePost } from "./live-poster.ts";
import { LoadSession, type ProcessMeter, type TargetAhead } from "./load-session.ts";
import { WorkerLog } from "./worker-log.ts";

/** Where executions are recorded. */
export interface Recorder {
  record(executed: Executed): void;
  finish(timeoutMs: number): Promise<void>;
}

export interface LoadWorkerDeps {
  readonly identity: WorkerIdentity;
  readonly control: WorkerControl;
  /** Rejects with `bad_request` what cannot be a target. Connects to nothing yet. */
  readonly openTarget: (view: RunView) => Promise<Target>;
  readonly readPools: (view: RunView) => Promise<ReadonlyMap<string, readonly ParameterValue[]>>;
  readonly openRecorder: (
    view: RunView,
    session: LoadSession,
    source: Omit<ExecutionSource, "operations">,
    /** The store's time when the worker's clock was 0, as it is known now. */
    originMs: () => number,
  ) => Recorder;
  readonly live: (post: LivePost) => void;
  readonly meter: ProcessMeter;
  readonly wake: WakeTimer;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
}

export interface WorkerEnd {
  readonly kind: WorkerEndKind;
  readonly status: Extract<WorkerStatus, "COMPLETED" | "FAILED">;
  readonly message: string;
}

interface Ending {
  readonly kind: WorkerEndKind;
  readonly message: string;
  /** 0: at once. */
  readonly drainMs: number;
}

const reconcileMs = 5_000;
/** How often the store's clock is asked in a row at first, and how well it is known well enough. */
const pingsMax = 10;
const errorMsFine = 2;
const watchMs = 250;
const storePauseMsMax = 5_000;
/** How long after its moment a STOP may be in the store. */
const stopWrittenMsMax = 2_000;
/** SIGKILL comes ten seconds after SIGTERM. */
const terminateDrainMs = 5_000;
const lapsedDrainMs = 10_000;
/** How long a target that refuses connections is asked again before a run begins. */
const prepareMsMax = 30_000;
const preparePauseMs = 1_000;
const recordsMsMax = 8_000;
const hardRecordsMsMax = 2_000;
const unstored = "the last figures could not be stored";

export class LoadWorker {
  readonly #deps: LoadWorkerDeps;
  readonly #log: WorkerLog;
  readonly #ending = Promise.withResolvers<Ending>();
  /** What cuts draining short. */
  readonly #hard = Promise.withResolvers<Ending>();
  readonly #over = new AbortController();
  #end: Ending | undefined;
  #drainUntilMs = 0;
  #status: WorkerStatus = "STARTING";
  #lastError: string | null = null;
  #contactMs = 0;
  #registeredMs = 0;
  #deadlineMs: number | undefined;
  #view: RunView | undefined;
  #storeClock: StoreClock | undefined;
  #inbox: EventInbox | undefined;
  #session: LoadSession | undefined;
  #recorder: Recorder | undefined;
  #isReady = false;
  #mayStart = false;
  /** It registered when MEASUREMENT had begun. */
  #isLate = false;
  /** When the load was to begin, where that was announced. */
  #startMs: number | undefined;
  /** Targets that came before it began. */
  readonly #told: TargetAhead[] = [];
  #latest: WorkerSnapshot | undefined;
  #storedSequence = 0;
  #readAtMs = 0;
  #wakeTick: (() => void) | undefined;
  #timers = new Set<Timer>();

  constructor(deps: LoadWorkerDeps) {
    this.#deps = deps;
    this.#log = new WorkerLog(
      deps.identity,
      deps.logger,
      () => this.#storeNowMs(),
      deps.prng.fork("log"),
    );
  }

  /** SIGTERM: drains for a little, whatever else is under way. */
  terminate(): void {
    const message = "told to end by a signal";
    this.#stop({ kind: "terminated", message, drainMs: terminateDrainMs });
  }

  /** What is under test takes more of this process than it may: at once. */
  fail(message: string): void {
    this.#stop({ kind: "target_failed", message, drainMs: 0 });
  }

  async run(): Promise<WorkerEnd> {
    const { clock } = this.#deps;
    this.#contactMs = clock.nowMs();
    const view = await this.#register();
    if (view === undefined) return await this.#conclude(undefined);
    const ticking = this.#tickUntilOver().catch((thrown: unknown) => this.#ending.reject(thrown));
    this.#watch();
    if (this.#end === undefined) await Promise.race([this.#prepare(view), this.#ending.promise]);
    const first = await this.#ending.promise;
    await this.#drain(first);
    return await this.#conclude(ticking);
  }

  async #register(): Promise<RunView | undefined> {
    const { clock, control, identity } = this.#deps;
    for (let failures = 0; this.#end === undefined; failures += 1) {
      const sentMs = clock.nowMs();
      try {
        const view = await control.register(identity);
        if (view === undefined) {
          this.#stop({ kind: "run_gone", message: "there is no such run", drainMs: 0 });
          return undefined;
        }
        this.#registeredMs = clock.nowMs();
        this.#storeClock = new StoreClock(sentMs, clock.nowMs(), view.nowMs);
        await this.#tuneClock(this.#storeClock);
        this.#noteView(view);
        this.#isLate = view.phase === "MEASUREMENT";
        const target = view.targets[identity.workerId] ?? this.#firstTarget(view.scenario);
        this.#told.push({ target, rampMs: 0, fromMs: -Infinity });
        this.#inbox = this.#newInbox(view, target, this.#storeClock);
        this.#inbox.receive([], view);
        return view;
      } catch (thrown) {
        if (isLasting(thrown)) throw thrown;
        if (clock.nowMs() - this.#contactMs >= storeLossMsMax) {
          this.#stop({ kind: "store_lost", message: messageOf(thrown), drainMs: 0 });
          return undefined;
        }
        await this.#pause(failures);
      }
    }
    return undefined;
  }

  /**
   * LW3: the first answer includes starting a thread and opening the store, so its way says nothing
   * of the clock's.
   */
  async #tuneClock(storeClock: StoreClock): Promise<void> {
    const { clock, control, identity } = this.#deps;
    for (let ping = 0; ping < pingsMax && storeClock.errorMs > errorMsFine; ping += 1) {
      const sentMs = clock.nowMs();
      try {
        const view = await control.read(identity.runId);
        if (view !== undefined) storeClock.note(sentMs, clock.nowMs(), view.nowMs);
      } catch (thrown) {
        if (isLasting(thrown)) throw thrown;
        return; // The ticks go on with it.
      }
    }
  }

  #newInbox(view: RunView, target: WorkerTarget, storeClock: StoreClock): EventInbox {
    return new EventInbox({
      identity: this.#deps.identity,
      clock: this.#deps.clock,
      storeClock,
      phase: view.phase,
      target,
      effects: {
        start: () => {
          this.#mayStart = true; // All that came with it counts first.
        },
        stop: (drainMs, reason, atMs) => {
          this.#session?.stopAt(atMs);
          this.#stop({ kind: "stopped", message: `told to stop: ${reason}`, drainMs });
        },
        enterPhase: (phase, atMs) => this.#enterPhase(phase, atMs),
        setTarget: (next, rampMs, fromMs) => {
          if (this.#session?.hasStarted === true) this.#session.setTarget(next, rampMs, fromMs);
          else this.#told.push({ target: next, rampMs, fromMs });
        },
        announcePhase: (phase, atMs) => {
          const next = measured(phase);
          if (next === undefined || this.#session?.hasStarted !== true) return;
          this.#session.announcePhase(next, atMs);
          if (next === "MEASUREMENT") this.#limitMeasurement(atMs);
        },
        announceTarget: (next, rampMs, fromMs) => {
          if (this.#session?.hasStarted === true) {
            this.#session.announceTarget({ target: next, rampMs, fromMs });
          }
        },
      },
    });
  }

  /** Connects, and prepares every statement, so that START costs nothing. */
  async #prepare(view: RunView): Promise<void> {
    const { clock } = this.#deps;
    try {
      const session = await this.#openSession(view);
      const deadlineMs = clock.nowMs() + prepareMsMax;
      while (this.#end === undefined) {
        try {
          await session.prepare(this.#targetNow(), this.#over.signal);
          break;
        } catch (thrown) {
          if (this.#end !== undefined) return;
          if (isLasting(thrown) || clock.nowMs() >= deadlineMs) throw thrown;
          this.#trouble({ kind: "connection", code: "", message: messageOf(thrown) });
          await sleep(clock, preparePauseMs, this.#over.signal);
        }
      }
    } catch (thrown) {
      if (!(thrown instanceof OperatingError)) throw thrown;
      this.#stop({ kind: "target_failed", message: thrown.message, drainMs: 0 });
      return;
    }
    if (this.#end !== undefined) return;
    this.#isReady = true;
    this.#setStatus("READY");
    this.#log.info("connected and ready");
    this.#startIfReady();
  }

  async #openSession(view: RunView): Promise<LoadSession> {
    const { identity, clock, prng, wake, meter } = this.#deps;
    const target = await this.#deps.openTarget(view);
    const session: LoadSession = new LoadSession({
      identity,
      scenario: view.scenario,
      pools: await this.#deps.readPools(view),
      target,
      clock,
      wake,
      prng,
      meter,
      onExecuted: (executed) => {
        if (executed.phase !== "COOLDOWN") this.#recorder?.record(executed); // LW19
      },
      onTrouble: (failure) => this.#trouble(failure),
    });
    this.#session = session;
    const { runId, testId, workerId } = identity;
    const originMs = (): number => this.#storeClock?.offsetMs ?? 0;
    this.#recorder = this.#deps.openRecorder(view, session, { runId, testId, workerId }, originMs);
    return session;
  }

  #startIfReady(): void {
    const session = this.#session;
    if (!this.#isReady || !this.#mayStart || session === undefined || session.hasStarted) return;
    if (this.#end !== undefined || this.#view === undefined) return;
    if (this.#storeClock === undefined) return;
    const { scenario, warmupStartTimeMs: begunMs } = this.#view;
    const nowMs = this.#deps.clock.nowMs();
    const beginMs = begunMs === null ? nowMs : this.#storeClock.toLocalMs(begunMs);
    this.#deadlineMs = deadlineOf(scenario, Math.min(nowMs, beginMs));
    const first = scenario.workload.warmup_seconds > 0 ? "WARMUP" : "MEASUREMENT";
    const known = measured(this.#phaseNow());
    // Without a warm-up the load itself waits for the moment that was announced.
    if (known === undefined && first === "MEASUREMENT" && this.#inbox?.isPhasePending) return;
    const phase = known ?? first;
    const startMs = this.#startMs ?? nowMs;
    // What was to change with the start, or later, comes after what the run starts with.
    const before = this.#told.findLast(({ fromMs }) => fromMs < startMs)?.target;
    const after = this.#told.filter(({ fromMs }) => fromMs >= startMs);
    const initial =
      after.length === 0 ? this.#targetNow() : (before ?? this.#firstTarget(scenario));
    session.start(phase, initial, startMs, [...after, ...(this.#inbox?.targetsAhead ?? [])]);
    this.#setStatus("RUNNING");
    this.#log.info(`started in ${phase}`);
    if (phase === "MEASUREMENT") this.#limitMeasurement(startMs);
    this.#inbox?.announceAgain();
    this.#measure();
  }

  #enterPhase(phase: RunPhase, atMs: number): void {
    const next = measured(phase);
    if (next === "COOLDOWN" || phase === "PROCESSING") {
      this.#stop({ kind: "stopped", message: `the run is in ${phase}`, drainMs: drainTimeoutMs });
    } else if (next !== undefined && this.#session?.hasStarted === true) {
      this.#session.enterPhase(next, atMs);
      this.#log.info(`entered ${phase}`);
      if (next === "MEASUREMENT") this.#limitMeasurement(atMs);
    } else if (next === "MEASUREMENT" && this.#isReady && this.#mayStart) {
      this.#startMs = atMs;
      this.#startIfReady();
    }
  }

  /** LW19: STOP is up to a second late, and what is begun until then would be counted beyond the time that rates are of. */
  #limitMeasurement(begunMs: number): void {
    if (this.#view === undefined || this.#storeClock === undefined) return;
    const { scenario, warmupEndTimeMs } = this.#view;
    const { load_mode: mode, duration_seconds: seconds } = scenario.workload;
    if (mode === "FIND_MAX_CONCURRENCY") return;
    const fromMs =
      this.#isLate && warmupEndTimeMs !== null
        ? this.#storeClock.toLocalMs(warmupEndTimeMs)
        : begunMs;
    this.#session?.announcePhase("COOLDOWN", fromMs + seconds * 1000);
  }

  /** A snapshot a second: to the coordinator at once, to the store with the next tick. */
  #measure(): void {
    this.#after(heartbeatMs, () => {
      if (this.#over.signal.aborted) return;
      this.#takeSnapshot();
      this.#measure();
    });
  }

  #takeSnapshot(): WorkerSnapshot | undefined {
    const { identity } = this.#deps;
    const target = this.#targetNow();
    const phase = this.#phaseNow();
    this.#latest = this.#session?.snapshot(this.#status, phase, target);
    if (this.#latest === undefined) return undefined;
    const bound = generatorBoundReason(this.#latest.health);
    if (bound !== null && this.#status === "RUNNING") this.#log.trouble(bound, "generator");
    this.#deps.live({
      test_id: identity.testId,
      worker_id: identity.workerId,
      worker_group_id: identity.groupId,
      worker_group_count: identity.groupCount,
      phase,
      status: this.#status,
      target_connections: target.target_connections,
      metrics: this.#latest,
    });
    return this.#latest;
  }

  async #tickUntilOver(): Promise<void> {
    const { clock } = this.#deps;
    let failures = 0;
    while (!this.#over.signal.aborted) {
      const startMs = clock.nowMs();
      try {
        await this.#tick();
        failures = 0;
      } catch (thrown) {
        if (!(thrown instanceof OperatingError)) throw thrown;
        if (isLasting(thrown)) {
          this.#stop({ kind: "store_lost", message: thrown.message, drainMs: 0 });
          return;
        }
        failures += 1;
        this.#deps.logger.warn({ error: messageOf(thrown) }, "the store does not answer");
      }
      if (failures > 0) await this.#pause(failures - 1);
      else await this.#untilWoken(heartbeatMs - (clock.nowMs() - startMs));
    }
  }

  /** The row is read before the events: what it says that they do not was missed. */
  async #tick(): Promise<void> {
    const { clock, control, identity } = this.#deps;
    const { runId } = identity;
    let view: RunView | undefined;
    const isFine = (this.#storeClock?.errorMs ?? Infinity) <= errorMsFine;
    if (!isFine || clock.nowMs() - this.#readAtMs >= reconcileMs) {
      const sentMs = clock.nowMs();
      view = await control.read(runId);
      if (view === undefined) {
        this.#stop({ kind: "run_gone", message: "the run was deleted", drainMs: 0 });
        return;
      }
      this.#storeClock?.note(sentMs, clock.nowMs(), view.nowMs);
      this.#noteView(view);
    }
    const askedMs = clock.nowMs();
    const events = await control.events(runId, this.#inbox?.lastSequence ?? 0);
    this.#contact();
    this.#inbox?.receive(events, view);
    this.#session?.settle(askedMs - stopWrittenMsMax);
    this.#startIfReady();
    const answer = await control.beat(identity, this.#beat());
    this.#contact();
    if (answer !== "ok") {
      this.#stop({
        kind: answer === "gone" ? "run_gone" : "superseded",
        message: answer === "gone" ? "the run was deleted" : "another process has taken its place",
        drainMs: 0,
      });
      return;
    }
    await this.#storeSnapshot(this.#latest);
    await this.#log.flush(control);
  }

  async #storeSnapshot(snapshot: WorkerSnapshot | undefined): Promise<void> {
    if (snapshot === undefined || snapshot.sequence <= this.#storedSequence) return;
    const { control, identity } = this.#deps;
    const answer = await control.writeSnapshot(identity, snapshot);
    this.#contact();
    this.#storedSequence = snapshot.sequence;
    if (answer === "superseded") {
      this.#stop({
        kind: "superseded",
        message: "another process has taken its place",
        drainMs: 0,
      });
    }
  }

  #watch(): void {
    if (this.#over.signal.aborted || this.#view === undefined) return;
    const kind = decideWorkerEnd({
      nowMs: this.#deps.clock.nowMs(),
      registeredMs: this.#registeredMs,
      hasStarted: this.#session?.hasStarted ?? false,
      contactMs: this.#contactMs,
      runStatus: this.#view.status,
      leaseLapsedMs: this.#view.leaseLapsedMs,
      deadlineMs: this.#deadlineMs,
    });
    if (kind !== undefined) {
      const drainMs = kind === "lease_lapsed" ? lapsedDrainMs : 0;
      this.#stop({ kind, message: endMessages[kind] ?? kind, drainMs });
    }
    this.#after(watchMs, () => this.#watch());
  }

  /** 3 */
  #stop(ending: Ending): void {
    const { drainMs } = ending;
    const untilMs = this.#deps.clock.nowMs() + drainMs;
    if (this.#end === undefined) {
      this.#end = ending;
      this.#drainUntilMs = untilMs;
      this.#lastError = ending.kind === "stopped" ? this.#lastError : ending.message;
      this.#setStatus("DRAINING");
      this.#log.info(ending.message);
      this.#ending.resolve(ending);
    } else if (drainMs > 0 && untilMs < this.#drainUntilMs) {
      this.#drainUntilMs = untilMs;
      this.#after(drainMs, () => this.#hard.resolve(ending));
    }
    if (drainMs === 0) this.#hard.resolve(ending);
  }

  async #drain({ drainMs }: Ending): Promise<void> {
    const session = this.#session;
    if (session !== undefined) {
      if (drainMs > 0) await Promise.race([session.drain(drainMs), this.#hard.promise]);
      await session.close();
    }
    const isHard = await isSettled(this.#hard.promise);
    await this.#recorder?.finish(isHard ? hardRecordsMsMax : recordsMsMax);
  }

  /** Says the last word to the store, where it may and can. */
  async #conclude(ticking: Promise<void> | undefined): Promise<WorkerEnd> {
    this.#over.abort();
    this.#wakeTick?.();
    this.#inbox?.close();
    for (const timer of this.#timers) timer.cancel();
    const ending = this.#end ?? { kind: "stopped", message: "stopped", drainMs: 0 };
    const hard = (await isSettled(this.#hard.promise)) ? await this.#hard.promise : ending;
    const mute = [ending, hard].find(({ kind }) => muteEnds.has(kind));
    if (mute !== undefined) {
      this.#status = "FAILED"; // Also of one that was stopping: nobody has its last figures.
      return { kind: mute.kind, status: "FAILED", message: mute.message };
    }
    await ticking;
    const status =
      ending.kind === "stopped" || ending.kind === "run_ended" ? "COMPLETED" : "FAILED";
    this.#status = status;
    if (ticking !== undefined && !(await this.#finish(status))) {
      return { kind: "store_lost", status: "FAILED", message: unstored };
    }
    return { kind: ending.kind, status, message: ending.message };
  }

  /** `false`: nobody has its last figures. */
  async #finish(status: "COMPLETED" | "FAILED"): Promise<boolean> {
    const { control, identity, clock, logger } = this.#deps;
    const snapshot = this.#takeSnapshot() ?? this.#emptySnapshot(status);
    for (let failures = 0; ; failures += 1) {
      try {
        await this.#storeSnapshot(snapshot);
        await this.#log.flush(control);
        if (status === "FAILED") await control.beat(identity, this.#beat());
        await control.finish(identity, snapshot, status);
        return true;
      } catch (thrown) {
        if (isLasting(thrown)) throw thrown;
        if (clock.nowMs() - this.#contactMs >= storeLossMsMax) {
          logger.error({ error: messageOf(thrown) }, unstored);
          return false;
        }
        await sleep(clock, pauseOf(failures, this.#deps.prng));
      }
    }
  }

  #beat(): WorkerBeat {
    return {
      status: this.#status,
      phase: this.#phaseNow(),
      lastSequenceId: this.#inbox?.lastSequence ?? 0,
      targetConnections: this.#targetNow().target_connections,
      activeConnections: this.#session?.activeConnections ?? 0,
      lastError: this.#lastError,
    };
  }

  /** Of one that never got as far as to measure. */
  #emptySnapshot(status: WorkerStatus): WorkerSnapshot {
    const { identity, meter } = this.#deps;
    const none = { latency_ms_p50: null, latency_ms_p95: null, waiting: 0, dropped: 0, unsent: 0 };
    const nothing = { schedule_lag_ms_p99: 0, schedule_lag_ms_p95: 0, ...none };
    return {
      run_id: identity.runId,
      test_id: identity.testId,
      worker_id: identity.workerId,
      worker_group_id: identity.groupId,
      sequence: 1,
      status,
      phase: this.#phaseNow(),
      step: 0,
      elapsed_seconds: 0,
      target_connections: this.#targetNow().target_connections,
      target_qps: this.#targetNow().target_qps,
      active_connections: 0,
      qps: 0,
      health: { ...meter.take(), ...nothing },
      answering: { measured_ms: 0, silences: "" },
      error_examples: {},
      series: [],
      step_response: null,
    };
  }

  #setStatus(status: WorkerStatus): void {
    this.#status = status;
    this.#wakeTick?.(); // The store hears of it now, not in a second.
  }

  #noteView(view: RunView): void {
    this.#view = view;
    this.#readAtMs = this.#deps.clock.nowMs();
    this.#contact();
  }

  #contact(): void {
    this.#contactMs = this.#deps.clock.nowMs();
  }

  #trouble(failure: OperationFailure): void {
    this.#lastError = failure.message;
    this.#log.trouble(failure.message);
  }

  /** Who drains is in COOLDOWN, whatever the run's row says yet. */
  #phaseNow(): RunPhase {
    const isDraining = this.#end !== undefined && this.#session?.hasStarted === true;
    return isDraining ? "COOLDOWN" : (this.#inbox?.phase ?? "");
  }

  /** What it does until it hears otherwise. */
  #firstTarget(scenario: Scenario): WorkerTarget {
    return initialTarget(scenario, this.#deps.identity);
  }

  #targetNow(): WorkerTarget {
    const none = { target_connections: 0, target_qps: null, step_id: null, step_number: null };
    return this.#inbox?.target ?? none;
  }

  #storeNowMs(): number {
    return this.#deps.clock.nowMs() + (this.#storeClock?.offsetMs ?? 0);
  }

  #after(delayMs: number, fire: () => void): void {
    const timer = this.#deps.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      fire();
    });
    this.#timers.add(timer);
  }

  async #pause(failures: number): Promise<void> {
    await sleep(this.#deps.clock, pauseOf(failures, this.#deps.prng), this.#over.signal);
  }

  async #untilWoken(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakeTick = resolve;
    const timer = this.#deps.clock.after(Math.max(0, delayMs), resolve);
    await promise;
    timer.cancel();
    this.#wakeTick = undefined;
  }
}

/** 4, and where nobody would hear it. */
const muteEnds: ReadonlySet<WorkerEndKind> = new Set(["superseded", "run_gone", "store_lost"]);

const endMessages: Partial<Record<WorkerEndKind, string>> = {
  no_start: "no START within 120 s",
  store_lost: "the store has not answered for 60 s",
  run_ended: "the run has ended",
  lease_lapsed: "no coordinator has led for 60 s",
  deadline: "the planned end and the time for draining are over",
};

/** `undefined`: nothing is measured in it. */
function measured(phase: RunPhase): MeasuredPhase | undefined {
  return phase === "WARMUP" || phase === "MEASUREMENT" || phase === "COOLDOWN" ? phase : undefined;
}

function isLasting(thrown: unknown): boolean {
  return !(thrown instanceof OperatingError) || thrown.retry === "never";
}

function pauseOf(failures: number, prng: Prng): number {
  const fullMs = Math.min(storePauseMsMax, heartbeatMs * 2 ** Math.min(5, failures));
  return fullMs * (0.5 + prng.next() / 2);
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = {};
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}
