/**
 * A load worker: does what `core/load-worker-machine.ts` says, and tells it what came of it. It has
 * one timer, one store, one target and one log; what is to happen when is the machine's.
 */
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { WakeTimer } from "../../../ground/kernel/wake-timer.ts";
import { generatorBoundReason } from "../core/generator-health.ts";
import { newLoadWorker, step, storeOffsetMsOf, wakeMsOf } from "../core/load-worker-machine.ts";
import type {
  LoadWorkerEffect,
  LoadWorkerEvent,
  LoadWorkerState,
  WorkerEnd,
} from "../core/load-worker-state.ts";
import type { ParameterValue } from "../core/operation.ts";
import type { Target } from "../core/target.ts";
import type { RunView, WorkerControl, WorkerIdentity } from "../core/worker-control.ts";
import {
  emptySnapshot,
  identityFields,
  type LivePost,
  type WorkerSnapshot,
} from "../core/worker-snapshot.ts";
import type { ExecutionSource } from "../executions/execution-rows.ts";
import type { Executed } from "../generator/load-generator.ts";
import { LoadSession, type ProcessMeter } from "./load-session.ts";
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

type WithoutTime<Event> = Event extends unknown ? Omit<Event, "nowMs"> : never;
type Happened = WithoutTime<LoadWorkerEvent>;
type Effect<Kind> = LoadWorkerEffect & { readonly kind: Kind };

export class LoadWorker {
  readonly #deps: LoadWorkerDeps;
  readonly #log: WorkerLog;
  readonly #over = Promise.withResolvers<WorkerEnd>();
  readonly #ended = new AbortController();
  readonly #happened: Happened[] = [];
  #isStepping = false;
  #state: LoadWorkerState;
  #timer: Timer | undefined;
  #session: LoadSession | undefined;
  #recorder: Recorder | undefined;
  #trouble: string | null = null;
  #latest: WorkerSnapshot | undefined;
  #storedSequence = 0;

  constructor(deps: LoadWorkerDeps) {
    const { identity, logger, clock, prng } = deps;
    this.#deps = deps;
    this.#state = newLoadWorker(identity, clock.nowMs());
    const storeNowMs = (): number => clock.nowMs() + storeOffsetMsOf(this.#state);
    this.#log = new WorkerLog(identity, logger, storeNowMs, prng.fork("log"));
  }

  /** SIGTERM: drains for a little, whatever else is under way. */
  terminate(): void {
    this.#tell({ kind: "terminated" });
  }

  /** Ends at once: the database in this process exceeds its memory limit. */
  fail(message: string): void {
    this.#tell({ kind: "targetFailed", message });
  }

  run(): Promise<WorkerEnd> {
    this.#tell({ kind: "time" });
    return this.#over.promise;
  }

  /** One at a time: what happens while effects are performed comes after them. */
  #tell(happened: Happened): void {
    this.#happened.push(happened);
    if (this.#isStepping) return;
    this.#isStepping = true;
    for (let next = this.#happened.shift(); next !== undefined; next = this.#happened.shift()) {
      const event = { ...next, nowMs: this.#deps.clock.nowMs() } as LoadWorkerEvent;
      const [state, effects] = step(this.#state, event);
      this.#state = state;
      for (const effect of effects) {
        const perform = this.#perform[effect.kind] as (each: LoadWorkerEffect) => void;
        perform(effect);
      }
    }
    this.#isStepping = false;
    this.#wake();
  }

  #wake(): void {
    const { clock } = this.#deps;
    this.#timer?.cancel();
    const { state } = this.#state;
    if (state === "over" || state === "broken") {
      this.#ended.abort();
      if (state === "over") this.#over.resolve(this.#state.end);
      else this.#over.reject(this.#state.thrown);
      return;
    }
    const wakeMs = wakeMsOf(this.#state);
    if (wakeMs === Infinity) return;
    const delayMs = Math.max(0, wakeMs - clock.nowMs());
    this.#timer = clock.after(delayMs, () => this.#tell({ kind: "time" }));
  }

  /** What each effect is here. Those of the load are nothing to one that has none yet. */
  readonly #perform: {
    readonly [Kind in LoadWorkerEffect["kind"]]: (effect: Effect<Kind>) => void;
  } = {
    register: () =>
      this.#call(async ({ control, identity }, sentMs) => ({
        kind: "rowRead",
        sentMs,
        view: await control.register(identity),
      })),
    readRow: () =>
      this.#call(async ({ control, identity }, sentMs) => ({
        kind: "rowRead",
        sentMs,
        view: await control.read(identity.runId),
      })),
    readEvents: ({ afterSequence }) =>
      this.#call(async ({ control, identity }, sentMs) => ({
        kind: "eventsRead",
        sentMs,
        events: await control.events(identity.runId, afterSequence),
      })),
    beat: ({ beat }) =>
      this.#call(async ({ control, identity }) => {
        const activeConnections = this.#session?.activeConnections ?? 0;
        const lastError = beat.lastError ?? this.#trouble;
        const answer = await control.beat(identity, { ...beat, activeConnections, lastError });
        return { kind: "beaten", answer };
      }),
    storeSnapshot: () => this.#call(() => this.#storeSnapshot()),
    flushLog: () =>
      this.#call(async ({ control }) => {
        await this.#log.flush(control);
        return { kind: "logged" };
      }),
    finish: ({ status }) =>
      this.#call(async ({ control, identity }) => {
        if (this.#latest !== undefined) await control.finish(identity, this.#latest, status);
        return { kind: "finished" };
      }),
    open: ({ view }) => this.#connect(() => this.#open(view)),
    connect: ({ target }) =>
      this.#connect(async () => {
        await this.#session?.prepare(target, this.#ended.signal);
        return { kind: "connected" };
      }),
    start: ({ phase, target, atMs, ahead }) => this.#session?.start(phase, target, atMs, ahead),
    enterPhase: ({ phase, atMs }) => this.#session?.enterPhase(phase, atMs),
    announcePhase: ({ phase, atMs }) => this.#session?.announcePhase(phase, atMs),
    setTarget: ({ ahead }) => this.#session?.setTarget(ahead),
    announceTarget: ({ ahead }) => this.#session?.announceTarget(ahead),
    stopAt: ({ atMs }) => this.#session?.stopAt(atMs),
    settle: ({ beforeMs }) => this.#session?.settle(beforeMs),
    takeSnapshot: (effect) => this.#takeSnapshot(effect),
    drain: ({ timeoutMs }) => this.#await(this.#session?.drain(timeoutMs), { kind: "drained" }),
    close: () => this.#await(this.#session?.close(), { kind: "closed" }),
    finishRecords: ({ timeoutMs }) =>
      this.#await(this.#recorder?.finish(timeoutMs), { kind: "recorded" }),
    say: ({ message }) => this.#log.info(message),
    trouble: ({ message }) => this.#noteTrouble(message),
    warn: ({ message }) => this.#deps.logger.warn({}, message),
  };

  /** A call to the store. */
  #call(perform: (deps: LoadWorkerDeps, sentMs: number) => Promise<Happened>): void {
    const sentMs = this.#deps.clock.nowMs();
    this.#try(
      () => perform(this.#deps, sentMs),
      (thrown) => {
        const { message, retry } = thrown;
        const random = this.#deps.prng.next();
        return { kind: "callFailed", message, isLasting: retry === "never", thrown, random };
      },
    );
  }

  /** A way to the target. */
  #connect(perform: () => Promise<Happened>): void {
    this.#try(perform, ({ message, retry }) => {
      return { kind: "connectFailed", message, isLasting: retry === "never" };
    });
  }

  #await(done: Promise<void> | undefined, then: Happened): void {
    this.#try(async () => {
      await done;
      return then;
    });
  }

  /** What is no `OperatingError` is a bug, and ends the worker as one. */
  #try(perform: () => Promise<Happened>, failed?: (error: OperatingError) => Happened): void {
    void perform()
      .catch((thrown: unknown): Happened => {
        const isExpected = thrown instanceof OperatingError && failed !== undefined;
        return isExpected ? failed(thrown) : { kind: "broke", thrown };
      })
      .then((happened) => this.#tell(happened));
  }

  async #open(view: RunView): Promise<Happened> {
    const { identity, clock, prng, wake, meter } = this.#deps;
    const target = await this.#deps.openTarget(view);
    const session = new LoadSession({
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
      onTrouble: ({ message }) => this.#noteTrouble(message),
    });
    if (this.#state.state !== "preparing") {
      await session.close();
    } else {
      const { runId, testId, workerId } = identity;
      const originMs = (): number => storeOffsetMsOf(this.#state);
      this.#session = session;
      this.#recorder = this.#deps.openRecorder(
        view,
        session,
        { runId, testId, workerId },
        originMs,
      );
    }
    return { kind: "opened" };
  }

  /** The snapshot of a worker that never measured is empty. */
  #takeSnapshot({ status, phase, target }: Effect<"takeSnapshot">): void {
    const { identity, meter } = this.#deps;
    const session = this.#session;
    if (session === undefined) {
      this.#latest = emptySnapshot(identity, status, phase, target, meter.take());
      return;
    }
    const latest = session.snapshot(status, phase, target);
    this.#latest = latest;
    const bound = generatorBoundReason(latest.health);
    if (bound !== null && status === "RUNNING") this.#log.trouble(bound, "generator");
    this.#deps.live({
      ...identityFields(identity),
      worker_group_count: identity.groupCount,
      phase,
      status,
      target_connections: target.connections,
      metrics: latest,
    });
  }

  async #storeSnapshot(): Promise<Happened> {
    const { control, identity } = this.#deps;
    const snapshot = this.#latest;
    if (snapshot === undefined || snapshot.sequence <= this.#storedSequence) {
      return { kind: "snapshotStored", answer: "nothing" };
    }
    const answer = await control.writeSnapshot(identity, snapshot);
    this.#storedSequence = snapshot.sequence;
    return { kind: "snapshotStored", answer };
  }

  #noteTrouble(message: string): void {
    this.#trouble = message;
    this.#log.trouble(message);
  }
}
