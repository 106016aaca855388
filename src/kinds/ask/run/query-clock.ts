/**
 * A query's deadline: its signal aborts when its caller leaves or its time is over, and carries the
 * reason to report.
 */
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { canceled, timedOut } from "./query-errors.ts";

/** The work manager's own deadline comes first: it knows whether there is a worker at all. */
const afterManagerMs = 25;

export class QueryClock {
  readonly startedMs: number;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #controller = new AbortController();
  readonly #timer: Timer;
  readonly #caller: AbortSignal;
  readonly #onAbort: () => void;
  #where = "query queue";

  constructor(clock: Clock, timeoutMs: number, caller: AbortSignal) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.startedMs = clock.nowMs();
    this.#caller = caller;
    this.#onAbort = () => this.#controller.abort(canceled());
    caller.addEventListener("abort", this.#onAbort, { once: true });
    this.#timer = clock.after(timeoutMs + afterManagerMs, () =>
      this.#controller.abort(timedOut(this.#where)),
    );
    if (caller.aborted) this.#onAbort();
    if (timeoutMs <= 0) this.#controller.abort(timedOut(this.#where));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get elapsedMs(): number {
    return this.#clock.nowMs() - this.startedMs;
  }

  get leftMs(): number {
    return Math.max(1, this.#timeoutMs - this.elapsedMs);
  }

  /** Call it when the query leaves the queue. */
  started(): void {
    this.#where = "expression evaluation";
  }

  cancel(): void {
    this.#controller.abort(canceled());
  }

  /** Call it in every case when the query ends. */
  stop(): void {
    this.#timer.cancel();
    this.#caller.removeEventListener("abort", this.#onAbort);
  }
}
