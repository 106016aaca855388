/**
 * One run of a simulated process, and the clock that its objects are given.
 *
 *   P1  A crashed life does nothing any more: its timers, its links and its pending calls are dead.
 *   P2  A paused life (SIGSTOP) handles nothing; what was due or arrived meanwhile floods in when it resumes,
 *       timers before input or in the order of arrival, as the seed decides. Its clock goes on.
 *   P3  Clocks of different processes start anywhere and drift a little. A wall clock may be set.
 *   P4  A frozen life (its machine is suspended) is paused, and its clock and timers go on where they were when it is back.
 */
import type { Clock, Timer } from "../../src/ground/kernel/clock.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { Timeline, TimelineEvent } from "./timeline.ts";

interface Deferred {
  readonly input: boolean;
  readonly run: () => void;
}

/** Told of every exception that a process's own code let escape. */
export type CrashReport = (life: Life, thrown: unknown) => void;

export class Life implements Clock {
  readonly name: string;
  /** 1 for the first run of a process, and so on. */
  readonly number: number;
  readonly #timeline: Timeline;
  readonly #prng: Prng;
  readonly #report: CrashReport;
  readonly #startMs: number;
  readonly #originMs: number;
  readonly #rate: number;
  readonly #endings: (() => void)[] = [];
  #state: "up" | "paused" | "down" = "up";
  #backlog: Deferred[] = [];
  /** When it last came up or resumed. */
  #runningSinceMs: number;
  /** Since when it is frozen, and how long it has been in all. */
  #frozenSinceMs: number | undefined;
  #frozenMs = 0;
  #wallOffsetMs = 0;

  constructor(name: string, number: number, timeline: Timeline, prng: Prng, report: CrashReport) {
    this.name = name;
    this.number = number;
    this.#timeline = timeline;
    this.#prng = prng;
    this.#report = report;
    this.#startMs = timeline.nowMs;
    this.#runningSinceMs = timeline.nowMs;
    this.#originMs = prng.below(1_000_000);
    this.#rate = 1 + (prng.next() - 0.5) * 0.002;
  }

  get isUp(): boolean {
    return this.#state === "up";
  }

  get isDown(): boolean {
    return this.#state === "down";
  }

  get isPaused(): boolean {
    return this.#state === "paused";
  }

  get runningSinceMs(): number {
    return this.#runningSinceMs;
  }

  nowMs(): number {
    return this.#originMs + (this.#timeline.nowMs - this.#startMs - this.#frozenMs) * this.#rate;
  }

  wallMs(): number {
    return 1_700_000_000_000 + Math.round(this.nowMs() + this.#wallOffsetMs);
  }

  setWallClock(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  after(delayMs: number, fire: () => void): Timer {
    // As Node's timers do: whole milliseconds, at least one, and so up to one too early.
    const wholeMs = Math.max(1, Math.trunc(delayMs));
    let event: TimelineEvent;
    const arm = (afterMs: number): void => {
      const frozenMs = this.#frozenUpToNowMs();
      event = this.#timeline.after(afterMs, () => {
        // What was frozen of its time is still to come. P4
        const missedMs = this.#frozenUpToNowMs() - frozenMs;
        const due = missedMs > 0 ? (): void => arm(missedMs) : fire;
        if (this.#state === "up") this.#run(due);
        else if (this.#state === "paused") {
          // A timer that is cancelled while it waits in the backlog must still not fire.
          const waiting = event;
          waiting.fire = due;
          this.#defer(false, () => {
            if (waiting.fire !== undefined) due();
          });
        }
      });
    };
    arm(wholeMs / this.#rate);
    return {
      cancel: () => {
        event.fire = undefined;
      },
    };
  }

  /** Something from outside reaches this life: at once, after the pause, or never. */
  receive(handle: () => void): void {
    if (this.#state === "up") this.#run(handle);
    else if (this.#state === "paused") this.#defer(true, handle);
  }

  /** Called when this life ends, however it ends. */
  onEnd(ending: () => void): void {
    this.#endings.push(ending);
  }

  pause(): void {
    if (this.#state === "up") this.#state = "paused";
  }

  freeze(): void {
    if (this.#state !== "up") return;
    this.#state = "paused";
    this.#frozenSinceMs = this.#timeline.nowMs;
  }

  resume(): void {
    if (this.#state !== "paused") return;
    this.#state = "up";
    this.#runningSinceMs = this.#timeline.nowMs;
    if (this.#frozenSinceMs !== undefined) {
      this.#frozenMs += this.#timeline.nowMs - this.#frozenSinceMs;
      this.#frozenSinceMs = undefined;
    }
    const backlog = this.#backlog;
    this.#backlog = [];
    const timersFirst = this.#prng.next() < 0.5;
    const ordered = timersFirst
      ? [...backlog.filter(({ input }) => !input), ...backlog.filter(({ input }) => input)]
      : backlog;
    ordered.forEach((deferred, index) => {
      const run = (): void => {
        if (this.#state === "up") this.#run(deferred.run);
        else if (this.#state === "paused") this.#defer(deferred.input, deferred.run);
      };
      // Negative tiebreaks: the flood comes before anything new of this moment, in its own order.
      this.#timeline.at(this.#timeline.nowMs, run, -1 + index / (ordered.length + 1));
    });
  }

  /** Crash or exit: the same from outside. */
  end(): void {
    if (this.#state === "down") return;
    this.#state = "down";
    this.#backlog = [];
    for (const ending of this.#endings) ending();
  }

  #frozenUpToNowMs(): number {
    const sinceMs = this.#frozenSinceMs;
    return this.#frozenMs + (sinceMs === undefined ? 0 : this.#timeline.nowMs - sinceMs);
  }

  #defer(input: boolean, run: () => void): void {
    this.#backlog.push({ input, run });
  }

  #run(handle: () => void): void {
    try {
      handle();
    } catch (thrown) {
      this.#report(this, thrown);
    }
  }
}
