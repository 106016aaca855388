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
  stop(drainMs: number, reason: string): void;
  enterPhase(phase: RunPhase): void;
  setTarget(target: WorkerTarget, rampMs: number): void;
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

export class EventInbox {
  readonly #options: EventInboxOptions;
  /** By topic: what waits for its moment. */
  readonly #pending: Readonly<Record<Topic, Map<number, Timer>>> = {
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
      for (const timer of pending.values()) timer.cancel();
      pending.clear();
    }
  }

  #apply(event: SequencedEvent): void {
    const { effects, clock, storeClock } = this.#options;
    const { sequence_id: sequence } = event;
    switch (event.event_type) {
      case "START":
        effects.start();
        return;
      case "STOP":
        effects.stop(event.event_data.drain_timeout_seconds * 1000, event.event_data.reason);
        return;
      case "SET_PHASE": {
        const { phase, effective_at: at } = event.event_data;
        this.#at("phase", sequence, at, () => this.#enter(phase));
        return;
      }
      case "SET_WORKER_TARGET": {
        const data = event.event_data;
        const beginMs =
          data.effective_at === null
            ? clock.nowMs()
            : storeClock.toLocalMs(Date.parse(data.effective_at));
        this.#at("target", sequence, data.effective_at, () => {
          const restMs = beginMs + data.ramp_seconds * 1000 - clock.nowMs();
          this.#set(data, Math.max(0, restMs));
        });
        return;
      }
    }
  }

  /** Now, or when it is time. */
  #at(topic: Topic, sequence: number, effectiveAt: string | null, act: () => void): void {
    const { clock, storeClock } = this.#options;
    const pending = this.#pending[topic];
    const perform = (): void => {
      pending.delete(sequence);
      if (sequence < this.#applied[topic]) return; // 2
      this.#applied[topic] = sequence;
      act();
    };
    const waitMs =
      effectiveAt === null ? 0 : storeClock.toLocalMs(Date.parse(effectiveAt)) - clock.nowMs();
    if (waitMs > 0) pending.set(sequence, clock.after(waitMs, perform));
    else perform();
  }

  /** 4 */
  #reconcile(view: RunView, fresh: ReadonlySet<Topic>): void {
    const { effects, identity } = this.#options;
    const { status, phase } = view;
    if (status === "STOPPING" || status === "CANCELLING") {
      effects.stop(drainTimeoutMs, `the run is ${status}`);
      return;
    }
    if (status === "RUNNING" && (phase === "WARMUP" || phase === "MEASUREMENT")) effects.start();
    if (!fresh.has("phase") && this.#pending.phase.size === 0) this.#enter(phase);
    const target = view.targets[identity.workerId];
    if (target === undefined || fresh.has("target") || this.#pending.target.size > 0) return;
    if (!isSameTarget(target, this.#target)) this.#set(target, 0);
  }

  #enter(phase: RunPhase): void {
    if (runPhases.indexOf(phase) <= runPhases.indexOf(this.#phase)) return; // 3
    this.#phase = phase;
    this.#options.effects.enterPhase(phase);
  }

  #set(target: WorkerTarget, rampMs: number): void {
    const { target_connections, target_qps, step_id, step_number } = target;
    this.#target = { target_connections, target_qps, step_id, step_number };
    this.#options.effects.setTarget(this.#target, rampMs);
  }
}

function isSameTarget(left: WorkerTarget, right: WorkerTarget): boolean {
  return (
    left.target_connections === right.target_connections &&
    left.target_qps === right.target_qps &&
    left.step_number === right.step_number
  );
}
