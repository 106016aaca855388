/**
 * What a worker is told, in order and in time: events of the store, and the run's row for those that were missed.
 *
 *   1  Events apply in the order of their sequence, each once, those of others' scope never.
 *   2  `effective_at` is the store's time; one that has passed is now. What a later event has set an earlier one does not undo.
 *   3  Phases never go back.
 *   4  The row counts where it is ahead of the events, and no event that would say the same is waited for.
 */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { appliesTo, type SequencedEvent } from "../core/control-events.ts";
import { drainTimeoutMs, type RunPhase, runPhases } from "../core/run-state.ts";
import type { StoreClock } from "../core/store-clock.ts";
import type { RunView, WorkerIdentity, WorkerTarget } from "../core/worker-control.ts";

export interface InboxEffects {
  start(): void;
  /** `atMs`: when the run stopped, by the worker's clock. */
  stop(drainMs: number, reason: string, atMs: number): void;
  /** `atMs`, `fromMs`: when it was to begin, by the worker's clock. */
  enterPhase(phase: RunPhase, atMs: number): void;
  setTarget(target: WorkerTarget, rampMs: number, fromMs: number): void;
  /** What lies ahead, as soon as it is known: at its moment the calls above follow. */
  announcePhase(phase: RunPhase, atMs: number): void;
  announceTarget(target: WorkerTarget, rampMs: number, fromMs: number): void;
}

export interface EventInboxOptions {
  readonly identity: WorkerIdentity;
  readonly clock: Clock;
  readonly storeClock: StoreClock;
  readonly effects: InboxEffects;
  readonly phase: RunPhase;
  readonly target: WorkerTarget;
}

type Topic = "phase" | "target";

interface Pending {
  readonly timer: Timer;
  readonly event: Announced;
}

type Announced =
  | { readonly phase: RunPhase; readonly atMs: number }
  | { readonly target: WorkerTarget; readonly rampMs: number; readonly fromMs: number };

export class EventInbox {
  readonly #options: EventInboxOptions;
  /** By topic: what waits for its moment. */
  readonly #pending: Readonly<Record<Topic, Map<number, Pending>>> = {
    phase: new Map(),
    target: new Map(),
  };
  readonly #applied: Record<Topic, number> = { phase: 0, target: 0 };
  #lastSequence = 0;
  #phase: RunPhase;
  #target: WorkerTarget;

  constructor(options: EventInboxOptions) {
    this.#options = options;
    this.#phase = options.phase;
    this.#target = options.target;
  }

  get lastSequence(): number {
    return this.#lastSequence;
  }

  get phase(): RunPhase {
    return this.#phase;
  }

  get target(): WorkerTarget {
    return this.#target;
  }

  /** `view`: the row as it was read before the events were asked for. */
  receive(events: readonly SequencedEvent[], view: RunView | undefined): void {
    const fresh = new Set<Topic>();
    for (const event of events) {
      if (event.sequence_id <= this.#lastSequence) continue;
      this.#lastSequence = event.sequence_id;
      if (!appliesTo(event, this.#options.identity)) continue;
      if (event.event_type === "SET_PHASE") fresh.add("phase");
      if (event.event_type === "SET_WORKER_TARGET") fresh.add("target");
      this.#apply(event);
    }
    if (view !== undefined) this.#reconcile(view, fresh);
  }

  close(): void {
    for (const pending of Object.values(this.#pending)) {
      for (const { timer } of pending.values()) timer.cancel();
      pending.clear();
    }
  }

  #apply(event: SequencedEvent): void {
    const { effects } = this.#options;
    const { sequence_id: sequence } = event;
    switch (event.event_type) {
      case "START":
        effects.start();
        return;
      case "STOP": {
        const {
          drain_timeout_seconds: seconds,
          reason,
          effective_at: stoppedAt,
        } = event.event_data;
        effects.stop(seconds * 1000, reason, this.#momentOf(stoppedAt ?? null));
        return;
      }
      case "SET_PHASE": {
        const { phase, effective_at: effectiveAt } = event.event_data;
        const atMs = this.#momentOf(effectiveAt);
        this.#at("phase", sequence, atMs, { phase, atMs }, () => this.#enter(phase, atMs));
        return;
      }
      case "SET_WORKER_TARGET": {
        const data = event.event_data;
        const atMs = this.#momentOf(data.effective_at);
        const rampMs = data.ramp_seconds * 1000;
        const ahead = { target: data, rampMs, fromMs: atMs };
        this.#at("target", sequence, atMs, ahead, () => this.#set(data, rampMs, atMs));
        return;
      }
    }
  }

  /** What waits for its moment, for who could not hear it when it came. */
  announceAgain(): void {
    for (const pending of Object.values(this.#pending)) {
      for (const { event } of pending.values()) this.#announce(event);
    }
  }

  /** Targets that wait for their moment, in order. */
  get targetsAhead(): readonly Extract<Announced, { readonly target: WorkerTarget }>[] {
    return [...this.#pending.target.values()].flatMap(({ event }) =>
      "target" in event ? [event] : [],
    );
  }

  #announce(event: Announced): void {
    const { effects } = this.#options;
    if ("phase" in event) effects.announcePhase(event.phase, event.atMs);
    else effects.announceTarget(event.target, event.rampMs, event.fromMs);
  }

  /** Whether a phase waits for its moment. */
  get isPhasePending(): boolean {
    return this.#pending.phase.size > 0;
  }

  #momentOf(effectiveAt: string | null): number {
    const { clock, storeClock } = this.#options;
    return effectiveAt === null ? clock.nowMs() : storeClock.toLocalMs(Date.parse(effectiveAt));
  }

  /** Now, or when it is time. */
  #at(topic: Topic, sequence: number, atMs: number, event: Announced, act: () => void): void {
    const pending = this.#pending[topic];
    const perform = (): void => {
      pending.delete(sequence);
      if (sequence < this.#applied[topic]) return; // 2
      this.#applied[topic] = sequence;
      act();
    };
    const waitMs = atMs - this.#options.clock.nowMs();
    if (waitMs <= 0) {
      perform();
      return;
    }
    pending.set(sequence, { timer: this.#options.clock.after(waitMs, perform), event });
    this.#announce(event);
  }

  /** 4 */
  #reconcile(view: RunView, fresh: ReadonlySet<Topic>): void {
    const { effects, identity, clock, storeClock } = this.#options;
    const { status, phase, stopTimeMs } = view;
    if (status === "STOPPING" || status === "CANCELLING") {
      const atMs = stopTimeMs === null ? clock.nowMs() : storeClock.toLocalMs(stopTimeMs);
      effects.stop(drainTimeoutMs, `the run is ${status}`, atMs);
      return;
    }
    // What was announced is heard of in time.
    if (this.#begunMs(view) > clock.nowMs()) return;
    if (status === "RUNNING" && (phase === "WARMUP" || phase === "MEASUREMENT")) effects.start();
    if (!fresh.has("phase") && this.#pending.phase.size === 0) {
      this.#enter(phase, this.#begunMs(view));
    }
    const target = view.targets[identity.workerId];
    if (target === undefined || fresh.has("target") || this.#pending.target.size > 0) return;
    if (!isSameTarget(target, this.#target)) this.#set(target, 0, this.#options.clock.nowMs());
  }

  /** The row says when MEASUREMENT began. */
  #begunMs({ phase, warmupEndTimeMs: begunMs }: RunView): number {
    const { clock, storeClock } = this.#options;
    if (phase !== "MEASUREMENT" || begunMs === null) return clock.nowMs();
    return storeClock.toLocalMs(begunMs);
  }

  #enter(phase: RunPhase, atMs: number): void {
    if (runPhases.indexOf(phase) <= runPhases.indexOf(this.#phase)) return; // 3
    this.#phase = phase;
    this.#options.effects.enterPhase(phase, atMs);
  }

  #set(target: WorkerTarget, rampMs: number, fromMs: number): void {
    const { target_connections, target_qps, step_id, step_number } = target;
    this.#target = { target_connections, target_qps, step_id, step_number };
    this.#options.effects.setTarget(this.#target, rampMs, fromMs);
  }
}

function isSameTarget(left: WorkerTarget, right: WorkerTarget): boolean {
  return (
    left.target_connections === right.target_connections &&
    left.target_qps === right.target_qps &&
    left.step_number === right.step_number
  );
}
