/**
 * One run of a simulated process, and the clock of its objects. A crashed life does nothing any
 * more. A paused life (SIGSTOP) handles nothing while its clock goes on; when it resumes,
 * everything due comes at once, in an order that the seed decides. A frozen life (suspended
 * machine) is paused, and its clock and timers stand still. Clocks start anywhere and drift a
 * little; a wall clock may be set.
 */
import type { Clock, Timer } from "../../src/ground/kernel/clock.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { Timeline, TimelineEvent } from "./timeline.ts";

interface Deferred {
  readonly input: boolean;
  readonly run: () => void;
}

/** Called with every exception that escaped a process's own code. */
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
  /** When the life last started or resumed. */
  #runningSinceMs: number;
  /** Since when it is frozen; and how long it was frozen in total. */
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
    // Node's timers have whole milliseconds, at least one, so they may fire up to 1 ms early.
    const wholeMs = Math.max(1, Math.trunc(delayMs));
    let event: TimelineEvent;
    const arm = (afterMs: number): void => {
      const frozenMs = this.#frozenUpToNowMs();
      event = this.#timeline.after(afterMs, () => {
        // The frozen time does not count.
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

  /** Delivers an event from outside: at once, after the pause, or never. */
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
      // Negative tiebreaks: the backlog comes before anything new of this moment, in its own order.
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
