/** What the last seconds were like, from cumulative figures: for guardrails, and for the second's own histogram. */
import { type Figures, figuresOf, figuresSince } from "../core/figures.ts";
import type { RunUpdateWorker } from "../core/run-update.ts";
import type { SeriesSnapshot } from "../core/worker-snapshot.ts";

interface Moment {
  readonly atMs: number;
  readonly phase: string;
  readonly series: readonly SeriesSnapshot[];
}

const windowMs = 5_000;

export class LoadWindow {
  readonly #moments: Moment[] = [];

  /** Workers that are lost, too: their figures stay what they were, and nothing seems to be taken back. */
  add(atMs: number, phase: string, workers: readonly RunUpdateWorker[]): void {
    if (this.#moments.at(-1)?.phase !== phase) this.#moments.length = 0;
    const series = workers.flatMap(
      ({ snapshot }) => snapshot?.series.filter((each) => each.phase === phase) ?? [],
    );
    this.#moments.push({ atMs, phase, series });
    while ((this.#moments[1]?.atMs ?? atMs) <= atMs - windowMs) this.#moments.shift();
  }

  /** Since the moment before. */
  lastInterval(): Figures {
    return this.#since(this.#moments.at(-2), () => true);
  }

  /** Of an operation, a kind, or `ALL`. */
  figures(of: string): Figures {
    return this.#since(
      this.#moments[0],
      ({ operation, kind }) => of === "ALL" || of === operation || of === kind,
    );
  }

  get seconds(): number {
    return ((this.#moments.at(-1)?.atMs ?? 0) - (this.#moments[0]?.atMs ?? 0)) / 1000;
  }

  #since(from: Moment | undefined, isOf: (series: SeriesSnapshot) => boolean): Figures {
    const now = figuresOf((this.#moments.at(-1)?.series ?? []).filter(isOf));
    return figuresSince(now, figuresOf((from?.series ?? []).filter(isOf)));
  }
}
