/**
 * Makes one worker's load. Closed loop: every slot begins its next operation when the one before has ended, and think time is over.
 * Open loop: operations are due by a schedule and begin on the first slot that is free.
 *
 *   GE1  In an open loop latency counts from the moment an operation was due, whatever held it up: the target, or the way to it.
 *   GE2  An arrival that finds no free slot waits, in order. Beyond `waitingMax` arrivals are dropped, and counted as that.
 *   GE3  An operation belongs to the phase and step in which it was due.
 *   GE4  A connection that breaks is opened again, after a pause that grows. Operations that it had fail, once each; a slot of a closed
 *        loop that has no connection fails an operation for each attempt, so that a target that is gone shows as errors.
 *   GE5  An operation that takes longer than its timeout fails as `timeout`, and its connection is replaced.
 *   GE6  Draining begins nothing new and waits for what is in flight, as long as it may.
 *   GE7  The same seed gives the same operations and values, in the same order, whatever the target does.
 *   GE8  Until it has a target nothing begins, however many connections are open.
 */
import type { Clock, Timer } from "../../kernel/clock.ts";
import type { Prng } from "../../kernel/prng.ts";
import type { WakeTimer } from "../../kernel/wake-timer.ts";
import { Arrivals } from "../core/arrivals.ts";
import { Histogram } from "../core/histogram.ts";
import type { ParameterValue } from "../core/operation.ts";
import type { MeasuredPhase, SeriesBook } from "../core/series-book.ts";
import type { FailureKind, OperationFailure, Target } from "../core/target.ts";
import type { Workload } from "../core/workload.ts";
import { ConnectionSet, type Slot } from "./connection-set.ts";
import { WaitingLine } from "./waiting-line.ts";

export interface LoadGeneratorOptions {
  readonly target: Target;
  readonly workload: Workload;
  readonly book: SeriesBook;
  readonly clock: Clock;
  readonly wake: WakeTimer;
  readonly prng: Prng;
  readonly loop: "closed" | "open";
  readonly arrivals: "uniform" | "poisson";
  readonly turn: { readonly index: number; readonly count: number };
  readonly depth: number;
  readonly thinkTimeMs: number;
  readonly operationTimeoutMs: number;
  readonly waitingMax?: number;
  /** After each operation; must be quick. */
  readonly onExecuted?: (execution: Executed) => void;
  /** A connection could not be opened, or broke. */
  readonly onTrouble?: (failure: OperationFailure) => void;
}

/** What became of one operation. Times are the clock's milliseconds. */
export interface Executed {
  readonly operation: number;
  /** 0: none was there. */
  readonly connection: number;
  readonly phase: MeasuredPhase;
  readonly step: number;
  readonly intendedMs: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly failure: OperationFailure | undefined;
  readonly rowCount: number;
}

export interface GeneratorTarget {
  readonly connections: number;
  /** Only open loop. */
  readonly qps: number;
  readonly rampMs: number;
}

const waitingMaxDefault = 1_000_000;
const sweepMs = 50;
const neverSent: OperationFailure = { kind: "timeout", code: "", message: "no connection in time" };
/** Arrivals that are begun before anything else gets a turn. */
const burstMax = 512;

export class LoadGenerator {
  readonly #options: LoadGeneratorOptions;
  readonly #connections: ConnectionSet;
  readonly #arrivals: Arrivals;
  readonly #waiting: WaitingLine;
  readonly #lag = new Histogram();
  readonly #free: Slot[] = [];
  readonly #values: ParameterValue[][];
  #state: "idle" | "running" | "draining" | "closed" = "idle";
  #inFlight = 0;
  #dropped = 0;
  #unsent = 0;
  #growing: Timer | undefined;
  #sweep: Timer | undefined;
  #drained: (() => void) | undefined;

  constructor(options: LoadGeneratorOptions) {
    const { clock, target, depth, workload, prng } = options;
    this.#options = options;
    this.#values = workload.operations.map(({ operation }) =>
      new Array(operation.parameters.length).fill(null),
    );
    this.#waiting = new WaitingLine(options.waitingMax ?? waitingMaxDefault);
    this.#arrivals = new Arrivals({
      pattern: options.arrivals,
      prng: prng.fork("arrivals"),
      startMs: clock.nowMs(),
      turn: options.turn,
    });
    this.#connections = new ConnectionSet({
      target,
      depth,
      operations: workload.operations.map(({ operation }) => operation),
      clock,
      prng: prng.fork("connections"),
      onSlot: (slot) => this.#slotFree(slot),
      onDone: (slot, failure, rowCount) => this.#done(slot, failure, rowCount),
      onTrouble: (failure, isAttempt) => this.#trouble(failure, isAttempt),
    });
    this.#sweep = clock.after(sweepMs, () => this.#sweepSlots());
  }

  /** Opens connections without load, so that a start costs nothing; rejects with the first that fails. */
  async warmUp(connections: number, signal: AbortSignal): Promise<void> {
    await this.#connections.openAll(connections, signal);
  }

  setTarget({ connections, qps, rampMs }: GeneratorTarget): void {
    if (this.#state === "draining" || this.#state === "closed") return;
    this.#state = "running";
    this.#growing?.cancel();
    const { clock, loop } = this.#options;
    if (loop === "open") {
      this.#connections.resize(connections);
      this.#arrivals.setRate(clock.nowMs(), qps, rampMs);
      this.#pump();
    } else {
      this.#grow(this.#connections.wanted, connections, clock.nowMs(), rampMs);
      for (const slot of this.#free.splice(0)) if (slot.isUsable) this.#slotFree(slot); // GE8
    }
  }

  enter(phase: MeasuredPhase, step: number): void {
    this.#options.book.enter(phase, step);
  }

  /** Resolves when nothing is in flight, or `timeoutMs` is over. Nothing begins any more. */
  async drain(timeoutMs: number): Promise<void> {
    if (this.#state === "draining" || this.#state === "closed") return;
    this.#state = "draining";
    this.#growing?.cancel();
    this.#options.wake.clear();
    this.#unsent += this.#waiting.length;
    this.#waiting.clear();
    if (this.#inFlight > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#drained = resolve;
      const timer = this.#options.clock.after(timeoutMs, resolve);
      await promise;
      timer.cancel();
    }
    await this.close();
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#growing?.cancel();
    this.#sweep?.cancel();
    this.#options.wake.clear();
    await this.#connections.close();
  }

  get activeConnections(): number {
    return this.#connections.live;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Arrivals that were due and still waited when draining began. */
  get unsent(): number {
    return this.#unsent;
  }

  /** How late arrivals were begun though a slot was free, since the last call. */
  takeLag(): Histogram {
    const lag = new Histogram();
    lag.merge(this.#lag);
    this.#lag.clear();
    return lag;
  }

  /** Closed loop: as many connections as a line from here to there has at this moment. */
  #grow(from: number, to: number, startMs: number, rampMs: number): void {
    const { clock } = this.#options;
    const share = rampMs <= 0 ? 1 : Math.min(1, (clock.nowMs() - startMs) / rampMs);
    this.#connections.resize(Math.round(from + (to - from) * share));
    if (share >= 1) return;
    const stepMs = Math.max(10, rampMs / Math.max(1, Math.abs(to - from)));
    this.#growing = clock.after(stepMs, () => this.#grow(from, to, startMs, rampMs));
  }

  #slotFree(slot: Slot): void {
    if (this.#state === "draining" || this.#state === "closed") return;
    if (this.#options.loop === "open" || this.#state === "idle") {
      this.#free.push(slot);
      this.#pump();
      return;
    }
    const { thinkTimeMs, clock, workload, book } = this.#options;
    if (slot.ended === 0) {
      const nowMs = clock.nowMs();
      this.#begin(slot, nowMs, workload.choose(), book.token, nowMs);
    } else if (thinkTimeMs === 0) {
      // It begins when the one before has ended: a clock that is read again costs more than all that lies between.
      const { endMs } = slot;
      this.#begin(slot, endMs, workload.choose(), book.token, endMs);
    } else {
      clock.after(thinkTimeMs, () => {
        if (this.#state !== "running" || !slot.isUsable) return;
        const nowMs = clock.nowMs();
        this.#begin(slot, nowMs, workload.choose(), book.token, nowMs);
      });
    }
  }

  /** Open loop: lines up what is due, begins what can be, and sees to the next wake. */
  #pump(): void {
    if (this.#state !== "running") return;
    const { clock, workload, book, wake } = this.#options;
    let nowMs = clock.nowMs();
    for (let begun = 0; ; ) {
      const dueMs = this.#arrivals.peek();
      const isDue = dueMs !== undefined && dueMs <= nowMs;
      if (isDue) {
        this.#arrivals.take();
        const wasFree = this.#waiting.length === 0 && this.#free.length > 0;
        if (wasFree) this.#lag.record((nowMs - dueMs) * 1000);
        if (!this.#waiting.push(dueMs, workload.choose(), book.token)) this.#dropped += 1; // GE2
      }
      const slot = this.#waiting.length > 0 ? this.#takeFree() : undefined;
      if (slot !== undefined) {
        const { intendedMs, operation, token } = this.#waiting.shift();
        this.#begin(slot, intendedMs, operation, token, clock.nowMs());
        begun += 1;
        if (begun % burstMax === 0) nowMs = clock.nowMs();
        continue;
      }
      if (isDue) continue;
      if (dueMs !== undefined) wake.set(dueMs, () => this.#pump());
      return;
    }
  }

  #takeFree(): Slot | undefined {
    for (;;) {
      const slot = this.#free.pop();
      if (slot === undefined || slot.isUsable) return slot;
    }
  }

  #begin(slot: Slot, intendedMs: number, operation: number, token: number, nowMs: number): void {
    const values = this.#values[operation] ?? [];
    this.#options.workload.operations[operation]?.fill(values);
    slot.intendedMs = intendedMs;
    slot.token = token;
    this.#inFlight += 1;
    slot.begin(operation, values, nowMs);
  }

  #done(slot: Slot, failure: OperationFailure | undefined, rowCount: number): void {
    const endMs = this.#options.clock.nowMs();
    slot.endMs = endMs;
    this.#inFlight -= 1;
    this.#note(slot, failure, rowCount, endMs);
    if (this.#state === "draining" && this.#inFlight === 0) this.#drained?.();
  }

  #note(slot: Slot, failure: OperationFailure | undefined, rowCount: number, endMs: number): void {
    const { book, loop, onExecuted } = this.#options;
    const { operation, token, startMs } = slot;
    const intendedMs = loop === "open" ? slot.intendedMs : startMs; // GE1
    const kind: FailureKind | undefined = failure?.kind;
    book.record(
      token,
      operation,
      (endMs - intendedMs) * 1000,
      (endMs - startMs) * 1000,
      kind,
      rowCount,
    );
    if (onExecuted === undefined) return;
    const { phase, step } = book.pageOf(token);
    onExecuted({
      operation,
      connection: slot.connection,
      phase,
      step,
      intendedMs,
      startMs,
      endMs,
      failure,
      rowCount,
    });
  }

  /** What failed without a connection. */
  #tell(
    token: number,
    operation: number,
    intendedMs: number,
    startMs: number,
    endMs: number,
    failure: OperationFailure,
  ): void {
    const { book, onExecuted } = this.#options;
    const { phase, step } = book.pageOf(token);
    const times = { intendedMs, startMs, endMs };
    onExecuted?.({ operation, connection: 0, phase, step, ...times, failure, rowCount: 0 });
  }

  /** GE4. */
  #trouble(failure: OperationFailure, isAttempt: boolean): void {
    this.#options.onTrouble?.(failure);
    if (!isAttempt || this.#options.loop === "open" || this.#state !== "running") return;
    const { book, workload, clock } = this.#options;
    const operation = workload.choose();
    const nowMs = clock.nowMs();
    book.record(book.token, operation, 0, 0, failure.kind, 0);
    this.#tell(book.token, operation, nowMs, nowMs, nowMs, failure);
  }

  /** GE5; and arrivals that have waited for longer than an operation may take have failed. */
  #sweepSlots(): void {
    if (this.#state === "closed") return;
    const { clock, operationTimeoutMs, book } = this.#options;
    const nowMs = clock.nowMs();
    this.#connections.expire(nowMs - operationTimeoutMs, {
      kind: "timeout",
      code: "",
      message: `no answer within ${operationTimeoutMs} ms`,
    });
    while (
      this.#connections.live === 0 &&
      this.#waiting.length > 0 &&
      this.#waiting.firstMs + operationTimeoutMs <= nowMs
    ) {
      const { intendedMs, operation, token } = this.#waiting.shift();
      book.record(token, operation, (nowMs - intendedMs) * 1000, 0, "timeout", 0);
      this.#tell(token, operation, intendedMs, nowMs, nowMs, neverSent);
    }
    this.#sweep = clock.after(sweepMs, () => this.#sweepSlots());
  }
}
