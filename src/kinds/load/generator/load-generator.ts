/**
 * Makes one worker's load. Closed loop: every slot begins its next operation when the one before
 * has ended, and think time is over. Open loop: operations are due by a schedule and begin on the
 * first slot that is free. Rules: GE1 to GE9.
 */
import { type Clock, type Timer, waitAtMost } from "../../../ground/kernel/clock.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { WakeTimer } from "../../../ground/kernel/wake-timer.ts";
import { Arrivals } from "../core/arrivals.ts";
import { Histogram } from "../core/histogram.ts";
import type { ParameterValue } from "../core/operation.ts";
import type { MeasuredPhase, PendingArrival, SeriesBook } from "../core/series-book.ts";
import type { FailureKind, OperationFailure, Target } from "../core/target.ts";
import type { Answering } from "../core/worker-snapshot.ts";
import type { Workload } from "../core/workload.ts";
import { ConnectionSet, type Slot } from "./connection-set.ts";
import { FreezeWatch, freezeMsMin } from "./freeze-watch.ts";
import { SilenceWatch } from "./silence-watch.ts";
import { StallWatch } from "./stall-watch.ts";
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
  /** Called after each operation; must be quick. */
  readonly onExecuted?: (execution: Executed) => void;
  /** Called when a connection could not be opened, or broke. */
  readonly onTrouble?: (failure: OperationFailure) => void;
}

/** The outcome of one operation. Times are the clock's milliseconds. */
export interface Executed {
  readonly operation: number;
  /** The connection's number; 0 when there was none. */
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
  /** Only in an open loop. */
  readonly qps: number;
  readonly rampMs: number;
  /** When the target begins; now by default. */
  readonly fromMs?: number;
  /** Later targets that are already known; arrivals follow them from the start. */
  readonly ahead?: readonly RateAhead[];
}

export interface RateAhead {
  readonly qps: number;
  readonly rampMs: number;
  readonly fromMs: number;
}

const waitingMaxDefault = 1_000_000;
const overflowMs = 100;
const sweepMs = 50;
/** A sweep that is later than this shows that the generator did not run. */
const sleepMsMin = 250;
/** An arrival that has waited longer is reported as unserved while it waits. */
const pendingMsMin = 1_000;
const neverSent: OperationFailure = { kind: "timeout", code: "", message: "no connection in time" };
/** Maximum arrivals begun in one turn of the event loop. */
const burstMax = 512;

interface Overflow {
  readonly dueMs: number;
  readonly operation: number;
  readonly token: number;
  readonly count: number;
}

export class LoadGenerator {
  readonly #options: LoadGeneratorOptions;
  readonly #connections: ConnectionSet;
  readonly #arrivals: Arrivals;
  readonly #waiting: WaitingLine;
  readonly #lag = new Histogram();
  readonly #silence: SilenceWatch;
  readonly #stalls: StallWatch;
  readonly #freezes: FreezeWatch;
  /** The last moment at which the generator is known to have run. */
  #ranMs: number;
  /** How far the wall clock was ahead of our clock at the last sweep. */
  #wallAheadMs: number;
  /** Arrivals that did not fit in the line, grouped by due time: `dueMs` or up to 100 ms before. */
  readonly #overflow = new Map<string, Overflow>();
  readonly #free: Slot[] = [];
  readonly #values: ParameterValue[][];
  #state: "idle" | "running" | "draining" | "closed" = "idle";
  #inFlight = 0;
  #dropped = 0;
  #resent = 0;
  #unsent = 0;
  #growing: Timer | undefined;
  #sweep: Timer | undefined;
  #sweepDueMs = 0;
  /** The page of the book that is open, and since when. */
  #page: number;
  #enteredMs: number;
  #drained: (() => void) | undefined;

  constructor(options: LoadGeneratorOptions) {
    const { clock, target, depth, workload, prng, book } = options;
    this.#options = options;
    this.#page = book.token;
    this.#enteredMs = clock.nowMs();
    const isMeasuring = book.phase === "MEASUREMENT";
    this.#silence = new SilenceWatch(clock.nowMs(), isMeasuring);
    const names = workload.operations.map(({ operation }) => operation.name);
    this.#stalls = new StallWatch(names, clock.nowMs(), isMeasuring);
    this.#freezes = new FreezeWatch(isMeasuring);
    this.#ranMs = clock.nowMs();
    this.#wallAheadMs = clock.wallMs() - clock.nowMs();
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
      onDone: (slot, failure, rowCount, resent) => this.#done(slot, failure, rowCount, resent),
      onTrouble: (failure, isAttempt) => this.#trouble(failure, isAttempt),
    });
    this.#armSweep();
  }

  /**
   * Opens connections without load, so that a start takes no time. Rejects with the first failure.
   */
  async warmUp(connections: number, signal: AbortSignal): Promise<void> {
    await this.#connections.openAll(connections, signal);
  }

  setTarget({ connections, qps, rampMs, fromMs, ahead = [] }: GeneratorTarget): void {
    if (this.#state === "draining" || this.#state === "closed") return;
    this.#state = "running";
    this.#growing?.cancel();
    const { clock, loop } = this.#options;
    this.#wakeAt(clock.nowMs());
    const startMs = fromMs ?? clock.nowMs();
    if (loop === "open") {
      this.#connections.resize(connections);
      this.#arrivals.setRate(startMs, qps, rampMs);
      for (const next of ahead) this.#arrivals.setRate(next.fromMs, next.qps, next.rampMs);
      this.#pump();
    } else {
      this.#grow(this.#connections.wanted, connections, startMs, rampMs);
      for (const slot of this.#free.splice(0)) if (slot.isUsable) this.#slotFree(slot); // GE8
    }
  }

  /**
   * Announces a future target, so that arrivals follow it from its moment on, even when `setTarget`
   * comes late.
   */
  announce({ qps, rampMs, fromMs }: RateAhead): void {
    if (this.#options.loop !== "open" || this.#state !== "running") return;
    this.#arrivals.setRate(fromMs, qps, rampMs);
    this.#pump();
  }

  /** Resolves when nothing is in flight, or `timeoutMs` is over. Nothing begins any more. */
  async drain(timeoutMs: number): Promise<void> {
    if (this.#state === "draining" || this.#state === "closed") return;
    this.#wakeAt(this.#options.clock.nowMs());
    this.#state = "draining";
    this.#growing?.cancel();
    this.#giveUpWaiting();
    if (this.#inFlight > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#drained = resolve;
      await waitAtMost(this.#options.clock, timeoutMs, promise);
    }
    this.#silence.drained();
    await this.close();
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    if (this.#state === "running") {
      this.#wakeAt(this.#options.clock.nowMs());
      this.#giveUpWaiting();
    }
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

  get answering(): Answering {
    const nowMs = this.#options.clock.nowMs();
    this.#wakeAt(nowMs);
    const heard = {
      ...this.#silence.answering(nowMs),
      ...this.#freezes.figures(),
      resent: this.#resent,
    };
    if (this.#options.loop === "open") return heard;
    return { ...heard, ...this.#stalls.answering(nowMs, this.#connections.unanswered()) };
  }

  /** Arrivals due a second ago or earlier without an answer. A closed loop has none. */
  *pending(): Iterable<PendingArrival> {
    if (this.#options.loop !== "open") return;
    const nowMs = this.#options.clock.nowMs();
    const untilMs = nowMs - pendingMsMin;
    yield* this.#unsentUntil(untilMs, nowMs);
    const { book } = this.#options;
    for (const { intendedMs, operation, token: before } of this.#connections.busySlots()) {
      if (intendedMs > untilMs) continue;
      const token = book.settled(before, intendedMs);
      yield { token, operation, waitedUs: (nowMs - intendedMs) * 1000, count: 1 };
    }
  }

  *#unsentUntil(untilMs: number, nowMs: number): Iterable<PendingArrival> {
    const { book } = this.#options;
    for (const { intendedMs, operation, token: before } of this.#waiting) {
      if (intendedMs > untilMs) break;
      const token = book.settled(before, intendedMs);
      yield { token, operation, waitedUs: (nowMs - intendedMs) * 1000, count: 1 };
    }
    for (const { dueMs, operation, token: before, count } of this.#overflow.values()) {
      const token = book.settled(before, dueMs);
      yield { token, operation, waitedUs: (nowMs - dueMs) * 1000, count };
    }
  }

  /** How late arrivals were begun although a slot was free, since the last call. */
  takeLag(): Histogram {
    const lag = new Histogram();
    lag.merge(this.#lag);
    this.#lag.clear();
    return lag;
  }

  /** Gives up waiting arrivals, including those due that were not lined up yet (GE9). */
  #giveUpWaiting(): void {
    const { wake, clock, book } = this.#options;
    wake.clear();
    const nowMs = clock.nowMs();
    if (this.#options.loop === "open" && this.#state !== "idle") {
      for (let dueMs = this.#arrivals.peek(); dueMs !== undefined && dueMs <= nowMs; ) {
        this.#lineUp(dueMs);
        dueMs = this.#arrivals.peek();
      }
    }
    this.#unsent += this.#waiting.length;
    for (const arrival of this.#unsentUntil(nowMs, nowMs)) book.giveUp(arrival);
    this.#waiting.clear();
    this.#overflow.clear();
    this.#enter(nowMs, false);
  }

  /** GE2 */
  #lineUp(dueMs: number): void {
    const { workload, book } = this.#options;
    this.#arrivals.take();
    const operation = workload.choose();
    const token = book.tokenAt(dueMs);
    this.#follow(dueMs);
    if (this.#freezes.covers(dueMs)) {
      this.#freezes.skip(book.pageOf(book.settled(token, dueMs)).phase === "MEASUREMENT"); // GE10
      return;
    }
    this.#silence.want(dueMs);
    if (this.#waiting.push(dueMs, operation, token)) return;
    this.#dropped += 1;
    const lastMs = Math.ceil(dueMs / overflowMs) * overflowMs;
    const key = `${token}/${operation}/${lastMs}`;
    const { count = 0 } = this.#overflow.get(key) ?? {};
    this.#overflow.set(key, { dueMs: lastMs, operation, token, count: count + 1 });
  }

  /** Closed loop: sets the number of connections on the linear ramp at this moment. */
  #grow(from: number, to: number, startMs: number, rampMs: number): void {
    const { clock } = this.#options;
    const share = rampMs <= 0 ? 1 : Math.min(1, (clock.nowMs() - startMs) / rampMs);
    this.#connections.resize(Math.round(from + (to - from) * share));
    this.#stalls.want(clock.nowMs(), this.#connections.wanted * this.#options.depth);
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
      this.#follow(nowMs);
      const { waitingSinceMs = nowMs } = slot;
      const intendedMs = Math.max(waitingSinceMs, this.#enteredMs);
      this.#begin(slot, intendedMs, workload.choose(), book.tokenAt(nowMs), nowMs);
    } else if (thinkTimeMs === 0) {
      // The operation begins when the one before ended: reading the clock again costs more than the
      // time between.
      const { endMs } = slot;
      this.#begin(slot, endMs, workload.choose(), book.tokenAt(endMs), endMs);
    } else {
      clock.after(thinkTimeMs, () => {
        if (this.#state !== "running" || !slot.isUsable) return;
        const nowMs = clock.nowMs();
        this.#begin(slot, nowMs, workload.choose(), book.tokenAt(nowMs), nowMs);
      });
    }
  }

  /** Open loop: lines up due arrivals, begins those that find a slot, and sets the next timer. */
  #pump(): void {
    if (this.#state !== "running") return;
    const { clock, wake } = this.#options;
    let nowMs = clock.nowMs();
    this.#noteSleep(nowMs);
    // A slot was free, so every arrival due since the last look is late because of the generator.
    const wasFree = this.#waiting.length === 0 && this.#free.length > 0;
    for (let begun = 0; ; ) {
      const dueMs = this.#arrivals.peek();
      const isDue = dueMs !== undefined && dueMs <= nowMs;
      if (isDue) {
        if (wasFree) this.#lag.record((nowMs - dueMs) * 1000);
        this.#lineUp(dueMs);
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
    if (this.#options.loop === "closed") slot.unansweredMs ??= intendedMs; // SI5
    if (this.#inFlight === 0) this.#silence.want(nowMs);
    this.#inFlight += 1;
    slot.begin(operation, values, nowMs);
  }

  #done(slot: Slot, failure: OperationFailure | undefined, rowCount: number, resent: number): void {
    const { clock, book } = this.#options;
    const endMs = clock.nowMs();
    if (resent > 0 && book.pageOf(slot.token).phase === "MEASUREMENT") this.#resent += resent;
    slot.endMs = endMs;
    this.#inFlight -= 1;
    this.#hear(failure, endMs);
    if (failure === undefined && slot.unansweredMs !== undefined) {
      this.#stalls.answered(slot.unansweredMs, slot.operation, endMs);
      slot.unansweredMs = undefined;
    }
    this.#note(slot, failure, rowCount, endMs);
    if (this.#state === "draining" && this.#inFlight === 0) this.#drained?.();
  }

  #note(slot: Slot, failure: OperationFailure | undefined, rowCount: number, endMs: number): void {
    const { book, onExecuted } = this.#options;
    const { operation, startMs, failedMs } = slot;
    const { intendedMs: dueMs } = slot; // GE1
    const token = book.settled(slot.token, this.#options.loop === "open" ? dueMs : startMs);
    // The wait before the last failure is counted there, not here.
    const isAgain = failure !== undefined && slot.ended === 1 && failedMs !== undefined;
    const intendedMs =
      isAgain && this.#options.loop === "closed" ? Math.max(dueMs, failedMs) : dueMs;
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

  /** Reports an operation that failed without a connection. */
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

  /** Handles a lost connection or a failed attempt (GE4). */
  #trouble(failure: OperationFailure, isAttempt: boolean): void {
    this.#options.onTrouble?.(failure);
    if (isAttempt) this.#silence.refused();
    if (!isAttempt || this.#options.loop === "open" || this.#state !== "running") return;
    const { book, workload, clock } = this.#options;
    const operation = workload.choose();
    const nowMs = clock.nowMs();
    this.#hear(failure, nowMs);
    const token = book.tokenAt(nowMs);
    book.record(token, operation, 0, 0, failure.kind, 0);
    this.#tell(token, operation, nowMs, nowMs, nowMs, failure);
  }

  /** Fails operations, and waiting arrivals, that exceed the operation's timeout (GE5). */
  #sweepSlots(): void {
    if (this.#state === "closed") return;
    const { clock, operationTimeoutMs, book } = this.#options;
    const nowMs = clock.nowMs();
    this.#wakeAt(nowMs);
    this.#noteSuspension(nowMs);
    // Answers that came during a sleep have not been read yet.
    if (nowMs - this.#freezes.awakeMs < sweepMs) {
      this.#armSweep();
      return;
    }
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
      this.#hear(neverSent, nowMs);
      book.record(token, operation, (nowMs - intendedMs) * 1000, 0, "timeout", 0);
      this.#tell(token, operation, intendedMs, nowMs, nowMs, neverSent);
    }
    this.#armSweep();
  }

  #armSweep(): void {
    const { clock } = this.#options;
    this.#sweepDueMs = clock.nowMs() + sweepMs;
    this.#sweep = clock.after(sweepMs, () => this.#sweepSlots());
  }

  /** Silences and waits for a connection belong to a phase: cuts both where the book was cut. */
  #follow(nowMs: number): void {
    if (this.#state === "draining" || this.#state === "closed") return;
    const { book } = this.#options;
    book.tokenAt(nowMs);
    if (book.token === this.#page) return;
    this.#page = book.token;
    this.#enteredMs = Math.min(nowMs, Math.max(book.openedMs ?? nowMs, this.#enteredMs));
    this.#enter(this.#enteredMs, book.phase === "MEASUREMENT");
  }

  #enter(nowMs: number, isMeasuring: boolean): void {
    this.#freezes.enter(nowMs, isMeasuring);
    this.#silence.enter(nowMs, isMeasuring);
    this.#stalls.enter(nowMs, isMeasuring, this.#connections.unanswered());
  }

  #hear(failure: OperationFailure | undefined, nowMs: number): void {
    this.#wakeAt(nowMs);
    const isWanted = this.#inFlight > 0 || this.#waiting.length > 0 || this.#isReconnecting();
    if (failure === undefined) this.#silence.answered(nowMs, isWanted);
    else this.#silence.failed(nowMs, isWanted);
  }

  #isReconnecting(): boolean {
    return this.#options.loop === "closed" && this.#connections.waiting > 0;
  }

  /** Notes a sleep before cutting a phase that may lie within it. */
  #wakeAt(nowMs: number): void {
    this.#noteSleep(nowMs);
    this.#follow(nowMs);
  }

  /** Notes a sleep; called by whatever runs first after it: sweep, arrival or answer. */
  #noteSleep(nowMs: number): void {
    const [ranMs, dueMs] = [this.#ranMs, this.#sweepDueMs];
    this.#ranMs = nowMs;
    if (nowMs - dueMs < sleepMsMin) return;
    this.#silence.slept(dueMs, nowMs);
    this.#connections.slept(dueMs, nowMs);
    this.#freezes.slept(ranMs, dueMs, nowMs);
    this.#sweepDueMs = nowMs;
  }

  /** On many systems our clock stops while the machine sleeps; the wall clock goes on. */
  #noteSuspension(nowMs: number): void {
    const aheadMs = this.#options.clock.wallMs() - nowMs;
    const jumpMs = aheadMs - this.#wallAheadMs;
    this.#wallAheadMs = aheadMs;
    if (jumpMs >= freezeMsMin) this.#freezes.suspended(jumpMs);
  }
}
